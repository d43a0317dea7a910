"""Logistic regression by Firth's penalised likelihood, which has a finite maximum even where rows are separated.

The penalty is Jeffreys' prior: half the log determinant of the Fisher information is added to the log-likelihood
(Firth 1993; Heinze and Schemper 2002). Intervals follow the profile of the penalised likelihood.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, expit

from orderbias.errors import ArgumentError

Floats = NDArray[np.float64]

_STEPS = 200
_HALVINGS = 40
#: The top is reached when a step would gain less than this, or none and no more than rounding of the value explains.
_REACHED = 1e-14
_ROUNDING = 1e-9
#: A limit is found when the root of the fall is right to this: about as many standard errors.
_END = 1e-6
_LIMIT_STEPS = 60
#: Rows with a linear predictor beyond this weigh less than the last bit of those that matter.
_FAR = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class FirthFit:
    """Estimates, profile limits and penalised likelihood ratio p-values ``(k,)``; covariance ``(k, k)``.

    A limit is NaN where the profile does not fall far enough. ``covariance`` is the inverse information.
    """

    estimates: Floats
    low: Floats
    high: Floats
    p_values: Floats
    covariance: Floats
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """The penalised likelihood at ``beta``: its value, gradient and curvature, and the Fisher information."""

    beta: Floats
    value: float
    gradient: Floats
    information: Floats
    curvature: Floats


def fit_firth(rows: Floats, successes: Floats, trials: Floats, level: float = 0.95) -> FirthFit:
    """Maximise ``sum(s eta - m log(1 + exp(eta))) + log|X'WX| / 2`` with ``eta = X beta``, ``W = m p (1 - p)``.

    The gradient is ``X'(s - m p + h (1/2 - p))``, h the diagonal of the hat matrix: as if each row had h more trials,
    half of them successes.

    Parameters
    ----------
    rows
        ``(n_rows, k)`` of full column rank.
    successes, trials
        ``(n_rows,)``, ``0 <= successes <= trials``; need not be whole.
    level
        Of the intervals.

    Examples
    --------
    >>> fit = fit_firth(np.ones((1, 1)), np.array([5.0]), np.array([5.0]))
    >>> round(float(expit(fit.estimates[0])), 6) == round(5.5 / 6, 6)
    True
    """
    scale = np.abs(rows).max(axis=0)  # the maximum is the same in any units; steps are better in like ones
    likelihood = _Likelihood(rows / scale, np.asarray(successes, np.float64), np.asarray(trials, np.float64))
    every = np.arange(rows.shape[1])
    start = likelihood.at(np.zeros(len(every)))
    if start is None:
        raise ArgumentError("`rows` must have linearly independent columns. Leave one of the columns out.")
    best, converged = likelihood.maximise(start, every)
    covariance = np.linalg.inv(best.information)
    drop = float(chdtri(1, 1 - level))
    limits = np.array([[_limit(likelihood, best, j, side, drop) for side in (-1, 1)] for j in range(len(every))])
    p_values = np.array([_p_value(likelihood, best, j) for j in range(len(every))])
    low, high = limits[:, 0] / scale, limits[:, 1] / scale
    return FirthFit(best.beta / scale, low, high, p_values, covariance / np.outer(scale, scale), converged)


class _Likelihood:
    """The penalised likelihood of one table of rows."""

    def __init__(self, rows: Floats, successes: Floats, trials: Floats) -> None:
        self.rows, self.successes, self.trials = rows, successes, trials

    def at(self, beta: Floats) -> _Point | None:
        """Evaluate at ``beta``; None so far out that the information is not positive definite in doubles."""
        eta = np.einsum("rk,k->r", self.rows, beta)
        residuals = self.successes - self.trials * (eta > 0)  # as if each row were certain
        value = float(self.successes @ eta - self.trials @ np.maximum(eta, 0))
        near = np.flatnonzero(np.abs(eta) < _FAR)  # the others are, up to rounding, and carry no information
        rows, p, trials = self.rows[near], expit(eta[near]), self.trials[near]
        value -= float(trials @ np.log1p(np.exp(-np.abs(eta[near]))))
        residuals[near] = self.successes[near] - trials * p
        weights = trials * p * expit(-eta[near])
        information = _product(rows * weights[:, None], rows)
        try:
            factor = np.linalg.cholesky(information)
            inverse = np.asarray(np.linalg.inv(information), np.float64)
        except np.linalg.LinAlgError:
            return None
        value += float(np.log(np.diag(factor)).sum())
        leverage = np.einsum("rj,rj->r", np.einsum("rk,kj->rj", rows, inverse), rows)
        residuals[near] += weights * leverage * (0.5 - p)
        curvature = _penalty_curvature(rows, p, weights, leverage, inverse) - information
        gradient = np.einsum("rk,r->k", self.rows, residuals)
        return _Point(beta, value, gradient, information, curvature)

    def maximise(self, start: _Point, free: NDArray[np.intp]) -> tuple[_Point, bool]:
        """Climb from ``start`` in the coefficients ``free``; return the top and whether it was reached."""
        here = start
        for _ in range(_STEPS if free.size else 0):
            step = np.zeros_like(here.beta)
            step[free] = _uphill(here, free)
            gain = float(step @ here.gradient)
            if gain < _REACHED:
                return here, True
            ahead = self._shortened(here, step)
            if ahead is None:  # no step climbs: the top, up to rounding
                return here, gain < _ROUNDING * max(1.0, abs(here.value))
            here = ahead
        return here, not free.size

    def _shortened(self, here: _Point, step: Floats) -> _Point | None:
        """Return the first point at a full, half, quarter... step that lies higher."""
        for halving in range(_HALVINGS):
            ahead = self.at(here.beta + step / 2**halving)
            if ahead is not None and ahead.value > here.value:
                return ahead
        return None

    def constrained(self, near: _Point, j: int, value: float) -> _Point | None:
        """Maximise with coefficient ``j`` held at ``value``, starting along the ridge from a maximum nearby."""
        free = np.delete(np.arange(len(near.beta)), j)
        start = near.beta.copy()
        start[j] = value
        if free.size:
            slope = np.linalg.solve(near.information[np.ix_(free, free)], near.information[free, j])
            start[free] -= slope * (value - near.beta[j])
        point = self.at(start)
        return None if point is None else self.maximise(point, free)[0]


def _product(left: Floats, right: Floats) -> Floats:
    """Return ``left' right`` of tall tables. BLAS would start threads, which costs more than so few columns gain."""
    return np.asarray(np.einsum("rj,rk->jk", left, right), np.float64)


def _uphill(here: _Point, free: NDArray[np.intp]) -> Floats:
    """Newton's step where the surface is concave, else the scoring step, which always climbs."""
    part, gradient = np.ix_(free, free), here.gradient[free]
    downwards = -here.curvature[part]
    try:
        np.linalg.cholesky(downwards)
    except np.linalg.LinAlgError:
        downwards = here.information[part]
    return np.asarray(np.linalg.solve(downwards, gradient))


def _penalty_curvature(rows: Floats, p: Floats, weights: Floats, leverage: Floats, inverse: Floats) -> Floats:
    """Return the second derivative of ``log|I| / 2``: ``(tr(I^-1 I_rs) - tr(I^-1 I_r I^-1 I_s)) / 2``.

    ``I_r`` and ``I_rs`` are derivatives of the information: sums of ``x x'`` weighted by ``w (1 - 2p) x_r`` and by
    ``w (1 - 6p + 6p^2) x_r x_s``.
    """
    n, k = rows.shape
    products = (rows[:, :, None] * rows[:, None, :]).reshape(n, k * k)
    first = _product(rows * (weights * (1 - 2 * p))[:, None], products).reshape(k, k, k)
    turned = inverse @ first
    second = _product(rows * (weights * (1 - 6 * p * (1 - p)) * leverage)[:, None], rows)
    return np.asarray((second - np.einsum("rab,sba->rs", turned, turned)) / 2)


def _limit(likelihood: _Likelihood, best: _Point, j: int, side: int, drop: float) -> float:
    """Return where the profile of coefficient ``j`` has fallen by ``drop / 2`` on one side of the maximum.

    The root of twice the fall is nearly a straight line in the coefficient, and its slope is known: the gradient along
    ``j`` over the root. Newton's steps find the end, kept between what is too near and what is too far.
    """
    aim, centre = math.sqrt(drop), float(best.beta[j])
    distance = aim * math.sqrt(float(np.linalg.inv(best.information)[j, j]))
    near, too_near, too_far = best, 0.0, math.inf
    for _ in range(_LIMIT_STEPS):
        point = likelihood.constrained(near, j, centre + side * distance)
        fall = math.inf if point is None else math.sqrt(max(0.0, 2 * (best.value - point.value)))
        if abs(fall - aim) < _END:
            return centre + side * distance
        if fall > aim:
            too_far = distance
        else:
            too_near = distance
        slope = 0.0
        if point is not None and fall > 0:
            near, slope = point, -side * float(point.gradient[j]) / fall
        ahead = distance + (aim - fall) / slope if slope > 0 else math.inf
        if not too_near < ahead < min(too_far, 10 * distance):
            ahead = 2 * distance if too_far == math.inf else (too_near + too_far) / 2
        distance = ahead
    return math.nan


def _p_value(likelihood: _Likelihood, best: _Point, j: int) -> float:
    point = likelihood.constrained(best, j, 0.0)
    return math.nan if point is None else float(chdtrc(1, max(0.0, 2 * (best.value - point.value))))
