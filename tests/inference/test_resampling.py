"""Bootstrap sums over counts: the exact distribution, SciPy's percentiles, closed forms."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from orderbias.inference.resampling import percentile_interval, resampled_sums


@pytest.mark.parametrize("heavy", [0, 1, 2, 99])
def test_draws_have_the_distribution_of_units_drawn_with_replacement(heavy):
    # Four units of three kinds: enumerate all 4^4 samples, and compare frequencies by chi-square.
    counts = np.array([2, 1, 1])
    codes = np.array([[1.0], [10.0], [100.0]])
    units = np.repeat(codes[:, 0], counts)
    values, ways = np.unique([sum(s) for s in product(units, repeat=4)], return_counts=True)
    drawn = resampled_sums(codes, counts, 40_000, np.random.default_rng(0), heavy=heavy)[:, 0]
    found, times = np.unique(drawn, return_counts=True)
    assert np.array_equal(found, values)
    assert stats.chisquare(times, ways / ways.sum() * 40_000).pvalue > 1e-3


@pytest.mark.parametrize("heavy", [0, 5, 1e9])
def test_every_sample_has_as_many_units_as_the_data(heavy):
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 30, 80)
    rows = np.ones((80, 1))
    assert (resampled_sums(rows, counts, 500, rng, heavy=heavy) == counts.sum()).all()


@pytest.mark.parametrize("heavy", [0, 8, 1e9])
def test_standard_errors_have_their_closed_form(heavy):
    rng = np.random.default_rng(2)
    rows, counts = rng.normal(size=(60, 3)), rng.integers(1, 20, 60)
    table = np.repeat(rows, counts, axis=0)
    n = len(table)
    means = resampled_sums(rows, counts, 40_000, rng, heavy=heavy) / n
    np.testing.assert_allclose(means.mean(axis=0), table.mean(axis=0), atol=5 * table.std() / np.sqrt(n * 40_000))
    np.testing.assert_allclose(np.cov(means.T) * n, np.cov(table.T, ddof=0), rtol=0.05, atol=0.03)


def test_percentiles_are_those_of_scipys_bootstrap():
    rng = np.random.default_rng(3)
    values = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], 120, p=[0.3, 0.2, 0.2, 0.2, 0.1])
    weights = rng.choice([1.0, 2.0], 120)
    rows, counts = np.unique(np.stack([values, weights], axis=1), axis=0, return_counts=True)
    sums = resampled_sums(rows, counts, 50_000, rng)
    ours = percentile_interval(sums[:, 0] / sums[:, 1], 0.9)

    def ratio(x, w, axis):
        return x.sum(axis=axis) / w.sum(axis=axis)

    theirs = stats.bootstrap((values, weights), ratio, paired=True, n_resamples=50_000, confidence_level=0.9,
                             method="percentile", vectorized=True, batch=1000, rng=rng)  # fmt: skip
    assert ours == pytest.approx(tuple(theirs.confidence_interval), abs=0.002)
    assert (sums[:, 0] / sums[:, 1]).std() == pytest.approx(theirs.standard_error, rel=0.03)


def test_undefined_draws_are_left_out():
    assert percentile_interval(np.array([np.nan, 1.0, 1.0, np.nan]), 0.95) == (1.0, 1.0)
    assert percentile_interval(np.full(3, np.nan), 0.95) is None


def test_the_same_seed_draws_the_same_numbers():
    rows, counts = np.arange(6.0)[:, None], np.array([1, 40, 3, 2, 90, 1])
    a, b, c = (resampled_sums(rows, counts, 50, np.random.default_rng(s)) for s in (7, 7, 8))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
