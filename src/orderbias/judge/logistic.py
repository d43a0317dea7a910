"""Logistic regression with separation handled: maximum likelihood where it exists, Firth's where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.firth import fit_firth
from orderbias.inference.separation import is_separated
from orderbias.judge.values import NotChecked

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient, in log-odds; ``interval`` is None where it has no finite ends."""

    estimate: float
    interval: tuple[float, float] | None
    p_value: float | None


@dataclass(frozen=True, slots=True, eq=False)
class LogisticFit:
    """Coefficients of a logistic model.

    ``method`` is ``maximum likelihood`` (Wald intervals; ``clustered`` where they are robust to dependence within
    clusters) or ``Firth`` (penalised likelihood with profile intervals, which are finite also where rows are
    ``separated``). ``covariance`` is ``(k, k)``.
    """

    names: tuple[str, ...]
    coefficients: tuple[Coefficient, ...]
    n: int
    method: str
    separated: bool
    covariance: Floats

    @property
    def estimates(self) -> tuple[float, ...]:
        """The coefficients alone."""
        return tuple(c.estimate for c in self.coefficients)

    def coefficient(self, name: str) -> Coefficient:
        """Return one by its name."""
        return self.coefficients[self.names.index(name)]

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "method": self.method, "separated": self.separated, "n": self.n,
            "coefficients": {
                name: {
                    "log_odds": c.estimate, "interval": None if c.interval is None else list(c.interval),
                    "p_value": c.p_value,
                }
                for name, c in zip(self.names, self.coefficients, strict=True)
            },
        }  # fmt: skip


def fit_logistic(
    outcomes: ArrayLike,
    columns: ArrayLike,
    names: Sequence[str],
    *,
    level: float = 0.95,
    clusters: ArrayLike | None = None,
    penalised: bool = False,
) -> LogisticFit | NotChecked:
    """Fit ``logit P(outcome) = columns @ coefficients``.

    Equal rows are counted, so the cost grows with the distinct ones only.

    Parameters
    ----------
    outcomes
        ``(n,)`` of 0 and 1.
    columns
        ``(n, k)``, a column of ones among them for an intercept.
    names
        ``k`` names.
    level
        Of the intervals.
    clusters
        ``(n,)`` labels; errors are then robust to dependence within a cluster (maximum likelihood only).
    penalised
        Firth's penalised likelihood whether rows are separated or not.

    Returns
    -------
    LogisticFit or NotChecked
        The latter where columns are linearly dependent, so that coefficients cannot be told apart.

    Examples
    --------
    >>> found = fit_logistic([1, 1, 1, 0], np.ones((4, 1)), ["intercept"])
    >>> found.method, round(found.estimates[0], 6) == round(float(np.log(3)), 6)
    ('maximum likelihood', True)
    >>> fit_logistic([1, 1, 1, 1], np.ones((4, 1)), ["intercept"]).method
    'Firth'
    """
    y, x = np.asarray(outcomes, np.float64), np.asarray(columns, np.float64)
    names = tuple(names)
    if x.shape != (len(y), len(names)) or not np.isin(y, (0.0, 1.0)).all() or not np.isfinite(x).all():
        raise ArgumentError(
            f"`columns` must be finite, ({len(y)}, {len(names)}), and `outcomes` 0 or 1. Got {x.shape}."
        )
    rows, which = np.unique(x, axis=0, return_inverse=True)
    if len(y) == 0 or np.linalg.matrix_rank(rows) < len(names):
        return NotChecked(f"needs more varied pairs: {', '.join(names)} cannot be told apart on {len(y)} verdicts")
    trials = np.bincount(which.ravel(), minlength=len(rows)).astype(np.float64)
    successes = np.bincount(which.ravel(), weights=y, minlength=len(rows))
    separated = is_separated(rows, successes, trials)
    if separated or penalised:
        fit = fit_firth(rows, successes, trials, level)
        ends = list(zip(fit.estimates, fit.low, fit.high, fit.p_values, strict=True))
        return LogisticFit(names, tuple(_coefficient(*row) for row in ends), len(y), "Firth", separated, fit.covariance)
    return _maximum_likelihood(names, (y, x, clusters), (rows, successes, trials), level)


def _maximum_likelihood(
    names: tuple[str, ...],
    calls: tuple[Floats, Floats, ArrayLike | None],
    counted: tuple[Floats, Floats, Floats],
    level: float,
) -> LogisticFit:
    import statsmodels.api as sm

    y, x, clusters = calls
    if clusters is None:
        rows, successes, trials = counted
        model = sm.GLM(np.stack([successes, trials - successes], axis=1), rows, family=sm.families.Binomial())
        found = model.fit()
        method = "maximum likelihood"
    else:  # which cluster a row is of makes rows that are equal unequal
        groups = np.unique(np.asarray(clusters), return_inverse=True)[1].ravel()
        found = sm.GLM(y, x, family=sm.families.Binomial()).fit(cov_type="cluster", cov_kwds={"groups": groups})
        method = "maximum likelihood, clustered"
    ends = found.conf_int(alpha=1 - level)
    rows_of = zip(found.params, ends[:, 0], ends[:, 1], found.pvalues, strict=True)
    return LogisticFit(
        names, tuple(_coefficient(*row) for row in rows_of), len(y), method, False, np.asarray(found.cov_params())
    )


def _coefficient(estimate: float, low: float, high: float, p_value: float) -> Coefficient:
    finite = bool(np.isfinite([low, high]).all())
    return Coefficient(
        float(estimate), (float(low), float(high)) if finite else None, float(p_value) if np.isfinite(p_value) else None
    )
