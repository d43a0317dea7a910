"""Logistic fits against statsmodels, and what happens where it has no estimate."""

import json

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from orderbias.errors import ArgumentError
from orderbias.inference.firth import fit_firth
from orderbias.judge.logistic import LogisticFit, dependent_columns, fit_logistic
from orderbias.judge.values import NotChecked

NAMES = ["intercept", "x", "h"]


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.stack([np.ones(n), rng.normal(size=n).round(1), rng.integers(-1, 2, n)], axis=1)
    y = (rng.random(n) < expit(rows @ [0.1, 1.0, 0.5])).astype(float)
    return y, rows, np.repeat(np.arange(n // 2), 2)


def assert_same(fit, theirs):
    assert fit.estimates == pytest.approx(theirs.params, abs=1e-8)
    assert np.stack([fit.low, fit.high], axis=1) == pytest.approx(theirs.conf_int(), abs=1e-6)
    assert fit.p_values == pytest.approx(theirs.pvalues, rel=1e-5, abs=1e-12)
    assert fit.covariance == pytest.approx(theirs.cov_params(), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_counted_rows_give_what_statsmodels_gives_row_by_row(seed):
    y, rows, _ = sample(seed=seed)
    fit = fit_logistic(y, rows, NAMES)
    assert_same(fit, sm.GLM(y, rows, family=sm.families.Binomial()).fit(tol=1e-12))
    assert (fit.separated, fit.method, fit.intervals) == (False, "maximum likelihood", "Wald")
    assert (fit.n, fit.n_positive) == (400, y.sum())


def test_clusters_give_the_sandwich_of_statsmodels():
    y, rows, pairs = sample()
    model = sm.GLM(y, rows, family=sm.families.Binomial())
    fit = fit_logistic(y, rows, NAMES, clusters=[f"pair {p}" for p in pairs])
    assert_same(fit, model.fit(tol=1e-12, cov_type="cluster", cov_kwds={"groups": pairs}))
    assert (fit.intervals, fit.n_clusters) == ("cluster-robust Wald", 200)


def test_separated_rows_are_fitted_by_the_penalised_likelihood_and_it_is_said():
    y, rows, _ = sample()
    y = (rows[:, 1] > 0.3).astype(float)
    fit = fit_logistic(y, rows, NAMES)
    direct = fit_firth(rows, y, np.ones(len(y)))
    assert (fit.separated, fit.method, fit.intervals) == (True, "penalised likelihood (Firth)", "profile")
    assert fit.estimates == pytest.approx(direct.estimates, rel=1e-6)
    assert fit.low == pytest.approx(direct.low, rel=1e-4, abs=1e-4)
    with pytest.raises(ArgumentError, match="penalised"):
        fit_logistic(y, rows, NAMES, penalised=False)


def test_separated_clusters_count_as_one_row_each():
    rows = np.ones((12, 1))
    once = fit_logistic(np.ones(6), rows[:6], ["intercept"])
    doubled = fit_logistic(np.ones(12), rows, ["intercept"], clusters=np.repeat(np.arange(6), 2))
    assert doubled.low == pytest.approx(once.low, abs=1e-4)
    assert doubled.intervals == "profile, a cluster as one row"


@given(st.integers(1, 80), st.data())
def test_one_share_of_any_counts_has_a_finite_estimate_inside_its_interval(n, data):
    k = data.draw(st.integers(0, n))
    fit = fit_logistic(np.repeat([1, 0], [k, n - k]), np.ones((n, 1)), ["intercept"])
    truth = (k + 0.5) / (n + 1) if k in (0, n) else k / n
    assert expit(fit.estimates[0]) == pytest.approx(truth, rel=1e-6)
    assert fit.separated == (k in (0, n))
    assert fit.low[0] < fit.estimates[0] < fit.high[0]


def test_dependent_columns_are_named():
    y, rows, _ = sample()
    wide = np.column_stack([rows, 2 * rows[:, 1] - rows[:, 2], np.full(400, 3.0), np.zeros(400)])
    found = fit_logistic(y, wide, [*NAMES, "sum", "constant", "zero"])
    assert found == NotChecked("needs columns that vary on their own; not so sum, constant, zero")
    assert dependent_columns(wide) == [3, 4, 5]
    assert dependent_columns(rows * [1, 1e-8, 1e8]) == []


def test_no_row():
    assert isinstance(fit_logistic([], np.empty((0, 1)), ["intercept"]), NotChecked)


@pytest.mark.parametrize(
    ("y", "X", "names", "message"),
    [
        ([0, 1, 2], np.ones((3, 1)), ["a"], "`y` must hold 0 and 1"),
        ([0, 1], np.ones((3, 1)), ["a"], "`X` must have the shape"),
        ([0, 1], np.ones((2, 1)), ["a", "b"], "`X` must have the shape"),
        ([0, 1], [[np.inf], [1]], ["a"], "finite"),
    ],
)
def test_bad_arguments(y, X, names, message):
    with pytest.raises(ArgumentError, match=message):
        fit_logistic(y, X, names)


def test_bad_clusters_and_level():
    with pytest.raises(ArgumentError, match="clusters"):
        fit_logistic([0, 1], np.ones((2, 1)), ["a"], clusters=[1])
    with pytest.raises(ArgumentError, match="level"):
        fit_logistic([0, 1], np.ones((2, 1)), ["a"], level=1.0)


def test_one_cluster_has_no_interval_and_json_says_none():
    fit = fit_logistic([0, 1, 1], np.ones((3, 1)), ["intercept"], clusters=[0, 0, 0])
    assert isinstance(fit, LogisticFit)
    written = json.loads(json.dumps(fit.as_dict(), allow_nan=False))
    assert written["coefficients"]["intercept"]["interval"] is None
    assert written["coefficients"]["intercept"]["p_value"] is None
    with pytest.raises(ArgumentError, match="intercept"):
        fit.coefficient("slope")
