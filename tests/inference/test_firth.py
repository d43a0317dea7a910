"""Firth's likelihood against its definition, maximised by a general optimiser, and against closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.special import expit
from scipy.stats import chi2

from orderbias.errors import ArgumentError
from orderbias.inference.firth import fit_firth


def penalised(beta, rows, successes, trials):
    eta = rows @ beta
    weights = trials * expit(eta) * expit(-eta)
    likelihood = -successes @ np.logaddexp(0, -eta) - (trials - successes) @ np.logaddexp(0, eta)
    return likelihood + np.linalg.slogdet((rows.T * weights) @ rows)[1] / 2


def climbed(rows, successes, trials, fixed=()):
    """Maximise by simplex search, some coefficients held at values: ``fixed`` is a list of (index, value)."""
    free = [i for i in range(rows.shape[1]) if i not in dict(fixed)]

    def full(part):
        beta = np.zeros(rows.shape[1])
        beta[free] = part
        for i, value in fixed:
            beta[i] = value
        return beta

    options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000}
    found = minimize(lambda b: -penalised(full(b), rows, successes, trials), np.zeros(len(free)),
                     method="Nelder-Mead", options=options)  # fmt: skip
    return full(found.x), -found.fun


def sample(kind, rng):
    x = rng.normal(size=40).round(1)
    rows = np.stack([np.ones(40), x, rng.integers(-1, 2, 40)], axis=1)
    if kind == "overlapping":
        y = (rng.random(40) < expit(x)).astype(float)
    elif kind == "separated":
        y = (x > 0.2).astype(float)
    else:  # quasi-complete: one level of the last column decides
        y = np.where(rows[:, 2] == 1, 1.0, rng.integers(0, 2, 40))
    return rows, y, np.ones(40)


KINDS = ("overlapping", "separated", "quasi-complete")


@pytest.mark.parametrize("kind", KINDS)
def test_estimates_and_profiles_against_a_general_optimiser(kind):
    table = sample(kind, np.random.default_rng(3))
    fit = fit_firth(*table)
    beta, top = climbed(*table)
    assert fit.converged
    assert fit.estimates == pytest.approx(beta, abs=2e-5)
    drop = chi2.ppf(0.95, 1)
    for j in range(3):
        fall = [2 * (top - climbed(*table, fixed=[(j, end)])[1]) for end in (fit.low[j], fit.high[j])]
        assert fall == pytest.approx([drop, drop], abs=1e-3)
        assert fit.p_values[j] == pytest.approx(chi2.sf(2 * (top - climbed(*table, fixed=[(j, 0.0)])[1]), 1), rel=1e-3)


@given(st.integers(0, 60), st.integers(1, 60))
def test_one_share_is_as_if_half_a_success_and_half_a_failure_were_added(k, n):
    k = min(k, n)
    fit = fit_firth(np.ones((1, 1)), np.array([float(k)]), np.array([float(n)]))
    assert expit(fit.estimates[0]) == pytest.approx((k + 0.5) / (n + 1), rel=1e-7)
    assert fit.low[0] < fit.estimates[0] < fit.high[0]


def test_limits_of_one_share_by_root_finding():
    rows, k, n = np.ones((1, 1)), np.array([12.0]), np.array([12.0])
    top = penalised(np.log([25.0]), rows, k, n)  # (12 + 1/2) : 1/2

    def short(beta):
        return 2 * (top - penalised(np.array([beta]), rows, k, n)) - chi2.ppf(0.9, 1)

    fit = fit_firth(rows, k, n, level=0.9)
    assert fit.low[0] == pytest.approx(brentq(short, 0, np.log(25)), abs=1e-4)
    assert fit.high[0] == pytest.approx(brentq(short, np.log(25), 30), abs=1e-4)


def test_a_two_by_two_table_with_an_empty_cell_is_the_log_odds_ratio_with_halves_added():
    rows = np.array([[1.0, 0.0], [1.0, 1.0]])
    fit = fit_firth(rows, np.array([7.0, 10.0]), np.array([15.0, 10.0]))
    assert fit.estimates[1] == pytest.approx(np.log((10.5 / 0.5) / (7.5 / 8.5)))


def test_counted_rows_are_rows_repeated_and_units_only_scale():
    rows, y, ones = sample("separated", np.random.default_rng(5))
    once = fit_firth(rows, y, ones)
    twice = fit_firth(np.repeat(rows, 2, axis=0), np.repeat(y, 2), np.ones(80))
    counted = fit_firth(rows, 2 * y, 2 * ones)
    assert counted.estimates == pytest.approx(twice.estimates)
    assert counted.low == pytest.approx(twice.low, abs=1e-4)
    scaled = fit_firth(rows * [1, 1e6, 1], y, ones)
    assert scaled.estimates * [1, 1e6, 1] == pytest.approx(once.estimates, rel=1e-6)
    assert scaled.high * [1, 1e6, 1] == pytest.approx(once.high, rel=1e-4)


def test_only_the_profiles_asked_for():
    table = sample("separated", np.random.default_rng(5))
    some, every = fit_firth(*table, wanted=[1]), fit_firth(*table)
    assert some.low[1] == every.low[1]
    assert np.isnan(some.low[[0, 2]]).all()


def test_columns_that_depend_on_each_other_are_refused():
    with pytest.raises(ArgumentError, match="independent"):
        fit_firth(np.ones((3, 2)), np.ones(3), np.ones(3))


def test_profile_intervals_cover():
    """Two groups of 20 with probabilities 0.9 and 0.97: separated in half of the samples, where Wald would fail."""
    rng = np.random.default_rng(11)
    rows, trials = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([20.0, 20.0])
    p = np.array([0.9, 0.97])
    truth = np.log(p[1] / (1 - p[1])) - np.log(p[0] / (1 - p[0]))
    fits = [fit_firth(rows, rng.binomial(20, p).astype(float), trials, wanted=[1]) for _ in range(600)]
    covered = np.mean([fit.low[1] <= truth <= fit.high[1] for fit in fits])
    assert 0.93 <= covered <= 0.995


def test_many_rows_end_where_few_do_however_the_climb_starts():
    rng = np.random.default_rng(8)
    x = rng.normal(size=9_000)
    rows = np.stack([np.ones(9_000), x], axis=1)
    for y in (np.ones(9_000), (x > 0).astype(float)):
        fit = fit_firth(rows, y, np.ones(9_000))
        assert fit.converged
        top = penalised(fit.estimates, rows, y, np.ones(9_000))
        error = np.sqrt(np.diag(fit.covariance))
        for j in range(2):
            for side in (-0.1, 0.1):
                moved = fit.estimates + side * error * (np.arange(2) == j)
                assert penalised(moved, rows, y, np.ones(9_000)) < top
