"""Logistic models of verdicts, with separation handled; must not know what the columns mean.

Maximum likelihood and its covariance are statsmodels'. Where rows are separated there is no maximum, and Firth's
penalised likelihood takes its place. Equal rows are counted first, so the cost depends on the different ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from orderbias.errors import ArgumentError
from orderbias.inference.firth import fit_firth
from orderbias.inference.proportions import check_level
from orderbias.inference.separation import is_separated
from orderbias.inference.sign import SMALLEST_P
from orderbias.judge.values import NotChecked
from orderbias.measures.distinct import distinct_rows

Floats = NDArray[np.float64]

#: A column adds nothing when less than this part of it lies outside the columns before it.
_DEPENDENT = 1e-9


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient: a log odds ratio per unit of its column, with interval (None where unbounded) and p-value."""

    estimate: float
    interval: tuple[float, float] | None
    p_value: float | None


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """A fitted logistic model.

    Parameters
    ----------
    names
        Of the columns.
    estimates, low, high, p_values
        Of each coefficient, on the scale of log-odds; NaN where there is none. The p-values test 0.
    covariance
        ``(k, k)`` of the estimates.
    n, n_positive
        Rows, and those with the outcome 1.
    separated
        Whether the likelihood has no maximum.
    method
        How estimates were found: ``maximum likelihood``, or ``penalised likelihood (Firth)``.
    intervals
        How intervals were: ``Wald``, ``cluster-robust Wald``, ``profile``, or ``profile, a cluster as one row``.
    level
        Of the intervals.
    n_clusters
        Number of clusters, None where rows are independent.
    """

    names: tuple[str, ...]
    estimates: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    p_values: tuple[float, ...]
    covariance: Floats
    n: int
    n_positive: int
    separated: bool
    method: str
    intervals: str
    level: float
    n_clusters: int | None = None

    def coefficient(self, name: str) -> Coefficient:
        """Return the coefficient of one column."""
        if name not in self.names:
            raise ArgumentError(f"A column must be one of {', '.join(self.names)}. Got {name!r}.")
        i = self.names.index(name)
        ends = (self.low[i], self.high[i])
        p_value = None if np.isnan(self.p_values[i]) else self.p_values[i]
        return Coefficient(self.estimates[i], None if np.isnan(ends).any() else ends, p_value)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values; ``None`` for what is not defined."""
        rows = {name: self.coefficient(name) for name in self.names}
        return {
            "coefficients": {
                name: {
                    "estimate": row.estimate,
                    "interval": None if row.interval is None else list(row.interval),
                    "p_value": row.p_value,
                }
                for name, row in rows.items()
            },
            "n": self.n, "n_positive": self.n_positive, "n_clusters": self.n_clusters,
            "separated": self.separated, "method": self.method, "intervals": self.intervals, "level": self.level,
        }  # fmt: skip


def fit_logistic(
    y: ArrayLike,
    X: ArrayLike,
    names: Sequence[str],
    *,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
    penalised: bool | None = None,
    wanted: Sequence[str] | None = None,
) -> LogisticFit | NotChecked:
    """Fit ``logit P(y = 1) = X b``; ``X`` holds every column, an intercept included.

    Parameters
    ----------
    y
        ``(n,)`` of 0 and 1.
    X
        ``(n, k)`` finite numbers.
    names
        Of the ``k`` columns.
    level
        Of the intervals.
    clusters
        ``(n,)`` labels of rows that belong together. The covariance is then the sandwich over clusters, with the small
        sample factor of statsmodels. Of separated rows no sandwich is to be had; each cluster then counts as one row,
        which bounds the variance whatever the dependence within clusters.
    penalised
        Whether to use Firth's penalised likelihood. Default: only where the rows are separated.
    wanted
        Columns whose profile intervals are wanted, which take time where many rows differ. Default: all.

    Returns
    -------
    LogisticFit or NotChecked
        The latter names the columns that are combinations of those before them, or says that there is no row.

    Raises
    ------
    ArgumentError
        If shapes do not fit, ``y`` is not 0 or 1, or a number is not finite.

    Examples
    --------
    >>> fit = fit_logistic([1, 1, 1, 0], np.ones((4, 1)), ["intercept"])
    >>> round(fit.estimates[0], 4) == round(np.log(3).item(), 4), fit.separated
    (True, False)
    >>> fit_logistic([1, 1, 1], np.ones((3, 1)), ["intercept"]).method
    'penalised likelihood (Firth)'
    """
    outcome, columns = _cleaned(y, X, names, level)
    if not len(outcome):
        return NotChecked("needs rows to fit; there is none")
    dependent = [names[i] for i in dependent_columns(columns)]
    if dependent:
        return NotChecked(f"needs columns that vary on their own; not so {', '.join(dependent)}")
    table = distinct_rows(columns)
    trials = table.counts.astype(np.float64)
    successes = np.asarray(np.bincount(table.inverse, outcome, len(trials)), np.float64)
    labels = None if clusters is None else _cluster_codes(clusters, len(outcome))
    separated = is_separated(table.rows, successes, trials)
    if penalised or (penalised is None and separated):
        share = 1.0 if labels is None else 1 / np.bincount(labels).max()
        profiled = None if wanted is None else [list(names).index(name) for name in wanted]
        fit = fit_firth(table.rows, successes * share, trials * share, level, profiled)
        found = (fit.estimates, fit.low, fit.high, fit.p_values, fit.covariance)
        method, intervals = "penalised likelihood (Firth)", "profile" + ("" if share == 1 else ", a cluster as one row")
    else:
        if separated:
            raise ArgumentError("`penalised` must not be False for separated rows: they have no other estimate.")
        estimates, covariance = _maximum_likelihood(table.rows, successes, trials)
        if labels is not None:
            covariance = _sandwich(outcome, columns, labels, estimates, covariance)
        found = (estimates, *_wald(estimates, covariance, level), covariance)
        method, intervals = "maximum likelihood", "Wald" if labels is None else "cluster-robust Wald"
    b, low, high, p_values = (tuple(map(float, values)) for values in found[:4])
    return LogisticFit(
        tuple(names), b, low, high, tuple(max(p, SMALLEST_P) for p in p_values), found[4], len(outcome),
        int(outcome.sum()), separated, method, intervals, level, None if labels is None else int(labels.max()) + 1,
    )  # fmt: skip


def _cleaned(y: ArrayLike, X: ArrayLike, names: Sequence[str], level: float) -> tuple[Floats, Floats]:
    check_level(level)
    outcome, columns = np.asarray(y, np.float64), np.asarray(X, np.float64)
    if outcome.ndim != 1 or columns.shape != (len(outcome), len(names)):
        raise ArgumentError(
            f"`X` must have the shape ({outcome.size}, {len(names)}): rows of `y`, columns of `names`. "
            f"Got {columns.shape}."
        )
    if not np.isin(outcome, (0.0, 1.0)).all():
        raise ArgumentError(f"`y` must hold 0 and 1. Got {np.unique(outcome)[:5]}.")
    if not np.isfinite(columns).all():
        raise ArgumentError("`X` must hold finite numbers. Leave out the rows that have others.")
    return outcome, columns


def dependent_columns(columns: Floats) -> list[int]:
    """Return the columns that are combinations of those before them, a column of zeros included.

    Examples
    --------
    >>> dependent_columns(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]]))
    [1]
    """
    gram = columns.T @ columns  # as good as the rows themselves for telling 0 from what matters
    scale = np.sqrt(np.diag(gram))
    gram = gram / np.where(np.outer(scale, scale) > 0, np.outer(scale, scale), 1)
    kept: list[int] = []
    dependent: list[int] = []
    for j in range(len(gram)):
        inside = gram[np.ix_(kept, kept)]
        left = gram[j, j] - (gram[j, kept] @ np.linalg.solve(inside, gram[kept, j]) if kept else 0.0)
        (kept if left > _DEPENDENT else dependent).append(j)
    return dependent


def _cluster_codes(clusters: ArrayLike, n: int) -> NDArray[np.int64]:
    labels = np.asarray(clusters)
    if labels.shape != (n,):
        raise ArgumentError(f"`clusters` must hold {n} labels, one a row. Got {labels.shape}.")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _maximum_likelihood(rows: Floats, successes: Floats, trials: Floats) -> tuple[Floats, Floats]:
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    model = GLM(np.stack([successes, trials - successes], axis=1), rows, family=Binomial())
    # As many columns as counted rows leave a scale undefined that is not used, and shares predicted without error,
    # which is taken for separation: that there is none is known here.
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PerfectSeparationWarning)
        fit = model.fit(tol=1e-10)
    return np.asarray(fit.params, np.float64), np.asarray(fit.cov_params(), np.float64)


def _sandwich(
    outcome: Floats, columns: Floats, labels: NDArray[np.int64], estimates: Floats, covariance: Floats
) -> Floats:
    """Return the covariance that allows any dependence within clusters (Liang and Zeger 1986); NaN for one cluster."""
    n, k = columns.shape
    residuals = outcome - 1 / (1 + np.exp(-np.clip(columns @ estimates, -700, 700)))
    scores = np.stack([np.bincount(labels, residuals * column) for column in columns.T], axis=1)
    groups = len(scores)
    if groups < 2 or n <= k:
        return np.full((k, k), np.nan)
    factor = groups / (groups - 1) * (n - 1) / (n - k)
    return np.asarray(factor * covariance @ (scores.T @ scores) @ covariance)


def _wald(estimates: Floats, covariance: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    error = np.sqrt(np.diag(covariance))
    half = float(ndtri((1 + level) / 2)) * error
    with np.errstate(invalid="ignore", divide="ignore"):
        p_values = 2 * ndtr(-np.abs(estimates) / error)
    # Two coefficients on so few clusters may leave no variance at all: that is no certainty.
    gone = ~(error > 1e-12)
    low, high = (np.where(gone, np.nan, ends) for ends in (estimates - half, estimates + half))
    return low, high, np.where(gone, np.nan, p_values)
