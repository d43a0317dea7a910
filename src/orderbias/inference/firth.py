"""Logistic regression by Firth's penalised likelihood, which has a finite maximum even where rows are separated.

The penalty is Jeffreys' prior: half the log determinant of the Fisher information is added to the log-likelihood
(Firth 1993; Heinze and Schemper 2002). Intervals follow the profile of the penalised likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
#: The same of a top along a profile, whose height alone matters.
_RIDGE_REACHED = 1e-8
#: A direction whose curvature is above this part of the steepest one rises.
_SADDLE = 1e-6
#: A limit is found when the root of the fall is right to this: about as many standard errors.
_END = 1e-5
_LIMIT_STEPS = 60
#: So many rows show roughly where the maximum is.
_COARSE = 2_000
#: Rows with a linear predictor beyond this weigh less than the last bit of those that matter.
_FAR = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class FirthFit:
    """Estimates, profile limits and penalised likelihood ratio p-values ``(k,)``; covariance ``(k, k)``.

    A limit is where the profile, followed along its ridge from the maximum, first falls far enough; NaN where it does
    not. ``covariance`` is the inverse information.
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


def fit_firth(
    rows: Floats, successes: Floats, trials: Floats, level: float = 0.95, wanted: Sequence[int] | None = None
) -> FirthFit:
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
    wanted
        The coefficients whose limits and p-values are wanted; those of others are NaN. Default: all.

    Examples
    --------
    >>> fit = fit_firth(np.ones((1, 1)), np.array([5.0]), np.array([5.0]))
    >>> round(float(expit(fit.estimates[0])), 6) == round(5.5 / 6, 6)
    True
    """
    scale = np.abs(rows).max(axis=0)  # the maximum is the same in any units; steps are better in like ones
    likelihood = _Likelihood(rows / scale, np.asarray(successes, np.float64), np.asarray(trials, np.float64))
    every = np.arange(rows.shape[1])
    start = likelihood.at(_coarse_maximum(likelihood)) or likelihood.at(np.zeros(len(every)))
    if start is None:
        raise ArgumentError("`rows` must have linearly independent columns. Leave one of the columns out.")
    best, converged = likelihood.maximise(start, every)
    covariance = np.linalg.inv(best.information)
    drop = float(chdtri(1, 1 - level))
    found = np.full((3, len(every)), np.nan)
    for j in range(len(every)) if wanted is None else wanted:
        ends = (_limit(likelihood, best, j, side, drop) for side in (-1, 1))
        found[:, j] = (*ends, _p_value(likelihood, best, j))
    low, high = found[0] / scale, found[1] / scale
    return FirthFit(best.beta / scale, low, high, found[2], covariance / np.outer(scale, scale), converged)


class _Likelihood:
    """The penalised likelihood of one table of rows."""

    def __init__(self, rows: Floats, successes: Floats, trials: Floats) -> None:
        # One column after the other: sums over rows then run through memory in order.
        self.columns, self.successes, self.trials = np.ascontiguousarray(rows.T), successes, trials
        k = len(self.columns)
        left, right = np.triu_indices(k)
        #: Products of two columns, ``(k (k + 1) / 2, n_rows)``, and which of them belongs to each pair of columns.
        self.pairs = self.columns[left] * self.columns[right]
        self.pair_of = np.empty((k, k), np.int64)
        self.pair_of[left, right] = self.pair_of[right, left] = np.arange(len(left))

    def at(self, beta: Floats) -> _Point | None:
        """Evaluate at ``beta``; None so far out that the information is not positive definite in doubles.

        With ``I_r`` and ``I_rs`` the derivatives of the information, sums of ``x x'`` weighted by ``w (1 - 2p) x_r``
        and by ``w (1 - 6p + 6p^2) x_r x_s``, the penalty has the gradient ``tr(I^-1 I_r) / 2`` and the curvature
        ``(tr(I^-1 I_rs) - tr(I^-1 I_r I^-1 I_s)) / 2``.
        """
        eta = np.einsum("kr,k->r", self.columns, beta)
        residuals = self.successes - self.trials * (eta > 0)  # as if each row were certain
        value = float(self.successes @ eta - self.trials @ np.maximum(eta, 0))
        # The others are certain, up to rounding, and carry no information.
        near: Any = np.flatnonzero(np.abs(eta) < _FAR)
        near = slice(None) if len(near) == len(eta) else near
        columns, pairs, p, trials = self.columns[:, near], self.pairs[:, near], expit(eta[near]), self.trials[near]
        value -= float(trials @ np.log1p(np.exp(-np.abs(eta[near]))))
        residuals[near] = self.successes[near] - trials * p
        weights = trials * p * expit(-eta[near])
        information = np.einsum("mr,r->m", pairs, weights)[self.pair_of]
        try:
            factor = np.linalg.cholesky(information)
            inverse = np.linalg.inv(information)
        except np.linalg.LinAlgError:
            return None
        value += float(np.log(np.diag(factor)).sum())
        third = _product(columns * (weights * (1 - 2 * p)), pairs)[:, self.pair_of]
        fourth = _product(pairs * (weights * (1 - 6 * p * (1 - p))), pairs)
        gradient = np.einsum("kr,r->k", self.columns, residuals) + np.einsum("rab,ab->r", third, inverse) / 2
        turned = inverse @ third
        traces = np.bincount(self.pair_of.ravel(), inverse.ravel(), len(fourth)) @ fourth
        curvature = (traces[self.pair_of] - np.einsum("rab,sba->rs", turned, turned)) / 2 - information
        return _Point(beta, value, gradient, information, np.asarray(curvature, np.float64))

    def maximise(self, start: _Point, free: NDArray[np.intp], reached: float = _REACHED) -> tuple[_Point, bool]:
        """Climb from ``start`` in the coefficients ``free``; return the top and whether it was reached."""
        here = start
        for _ in range(_STEPS if free.size else 0):
            step = np.zeros_like(here.beta)
            step[free] = _uphill(here, free)
            gain = float(step @ here.gradient)
            ahead = self._shortened(here, step) if gain >= reached else self._off_saddle(here, free)
            if ahead is None:  # no step climbs: the top, up to rounding
                return here, gain < max(reached, _ROUNDING * max(1.0, abs(here.value)))
            here = ahead
        return here, not free.size

    def _off_saddle(self, here: _Point, free: NDArray[np.intp]) -> _Point | None:
        """Return a point above a level one from which some direction rises on both sides; None at a top.

        Of very few rows the ridge along which a coefficient is followed may fork: between the tops is a saddle.
        """
        values, directions = np.linalg.eigh(here.curvature[np.ix_(free, free)])
        if not values[-1] > _SADDLE * abs(values[0]):
            return None
        step = np.zeros_like(here.beta)
        step[free] = directions[:, -1] * max(1.0, float(np.abs(here.beta).max()))
        ahead = self._shortened(here, step)
        return ahead if ahead is not None and ahead.value > here.value + _RIDGE_REACHED else None

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
        return None if point is None else self.maximise(point, free, _RIDGE_REACHED)[0]


def _coarse_maximum(likelihood: _Likelihood) -> Floats:
    """Return where to start: the maximum over some of the rows, each for several, which is most of the way; or 0."""
    zero = np.zeros(len(likelihood.columns))
    step = len(likelihood.trials) // _COARSE
    if step < 2:
        return zero
    rows = likelihood.columns[:, ::step].T
    coarse = _Likelihood(rows, likelihood.successes[::step] * step, likelihood.trials[::step] * step)
    start = coarse.at(zero)
    return zero if start is None else coarse.maximise(start, np.arange(len(zero)))[0].beta


def _product(left: Floats, right: Floats) -> Floats:
    """Return ``left right'`` of long tables. BLAS would start threads, which costs more than so few rows gain."""
    return np.asarray(np.einsum("jr,kr->jk", left, right), np.float64)


def _uphill(here: _Point, free: NDArray[np.intp]) -> Floats:
    """Newton's step where the surface is concave, else the scoring step, which always climbs."""
    part, gradient = np.ix_(free, free), here.gradient[free]
    downwards = -here.curvature[part]
    try:
        np.linalg.cholesky(downwards)
    except np.linalg.LinAlgError:
        downwards = here.information[part]
    return np.asarray(np.linalg.solve(downwards, gradient))


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
