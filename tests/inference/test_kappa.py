"""Cohen's kappa against statsmodels, textbook numbers, a bootstrap and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from statsmodels.stats.inter_rater import cohens_kappa

from orderbias.inference.kappa import cohen_kappa, cross_table, kappa_estimates, mean_kappa

TABLES = npst.arrays(np.int64, (3, 3), elements=st.integers(0, 30)).filter(lambda t: t.sum() > 1)


@given(TABLES)
def test_value_and_variance_are_those_of_statsmodels(table):
    margins = table.sum(axis=0), table.sum(axis=1)
    if margins[0] @ margins[1] == table.sum() ** 2:
        assert np.isnan(cohen_kappa(table))
        return
    with np.errstate(all="ignore"):  # of tests that we do not use
        theirs = cohens_kappa(table)
    (ours,) = kappa_estimates(table[None])
    assert ours.value == pytest.approx(theirs.kappa, abs=1e-12)
    assert ours.n == table.sum()
    if ours.interval is None or ours.value == 1:
        assert theirs.var_kappa < 1e-12
        return
    low, high = ours.interval
    if low > -1:  # on the scale of log(1 - kappa) the interval reaches as far both ways: 1.96 of its errors
        reach = np.log((1 - low) / (1 - high)) / 2
        assert reach == pytest.approx(1.959964 * np.sqrt(theirs.var_kappa) / (1 - theirs.kappa), rel=1e-5)


def test_a_textbook_table():
    assert cohen_kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)


def test_no_interval_claims_certainty_of_raters_who_never_disagreed():
    for n in (2, 10, 100):
        (found,) = kappa_estimates(np.diag([n, n, 0])[None])
        assert found.value == 1
        assert found.interval is not None
        assert found.interval[0] < 1 == found.interval[1]


def test_the_bound_of_perfect_agreement_holds_for_every_population_it_speaks_of():
    """Whatever the disagreement beside the observed agreement is, of the largest share it can have."""
    rng = np.random.default_rng(0)
    q = 1 - 0.025 ** (1 / 30)
    p = np.array([20, 7, 3]) / 30
    (found,) = kappa_estimates(np.diag([20, 7, 3])[None])
    off = rng.dirichlet(np.full(6, 0.3), 20_000)
    tables = np.zeros((len(off) + 1, 3, 3))
    tables[:-1, ~np.eye(3, dtype=bool)] = q * off
    tables[-1, 0, 1] = tables[-1, 1, 0] = q / 2
    tables += (1 - q) * np.diag(p)
    worst = cohen_kappa(tables)
    assert worst.min() >= found.interval[0] - 1e-12
    assert worst[-1] == pytest.approx(found.interval[0])


def test_one_answer_throughout_has_no_kappa():
    never, empty = kappa_estimates(np.array([np.diag([9, 0, 0]), np.zeros((3, 3))]))
    assert (never.value, never.interval, never.n) == (None, None, 9)
    assert (empty.value, empty.interval, empty.n) == (None, None, 0)


def test_intervals_cover():
    rng = np.random.default_rng(4)
    margin = np.array([0.45, 0.45, 0.1])
    shares = 0.9 * np.diag(margin) + 0.1 * np.outer(margin, margin)
    tables = rng.multinomial(60, shares.ravel(), 2_000).reshape(-1, 3, 3)
    found = kappa_estimates(tables)
    covered = np.mean([e.interval is not None and e.interval[0] <= 0.9 <= e.interval[1] for e in found])
    assert 0.935 <= covered <= 0.985


def test_mean_of_pairs_of_raters_with_gaps_against_a_bootstrap():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 400)
    raters = np.where(rng.random((3, 400)) < 0.8, truth, rng.integers(0, 3, (3, 400)))
    raters[0, :100] = -1
    pairs = [(0, 1), (0, 2), (1, 2)]

    def mean(columns):
        known = [(columns[[i, j]] >= 0).all(axis=0) for i, j in pairs]
        return np.mean([
            cohens_kappa(cross_table(columns[i, k], columns[j, k], 3)).kappa
            for (i, j), k in zip(pairs, known, strict=True)
        ])  # fmt: skip

    found = mean_kappa([(raters[i], raters[j]) for i, j in pairs])
    assert found.value == pytest.approx(mean(raters))
    draws = [mean(raters[:, rng.integers(0, 400, 400)]) for _ in range(300)]
    assert found.interval == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.015)
