"""Cohen's kappa of many tables at once, its interval, and the mean over several raters; plain statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from orderbias.inference.means import Estimate
from orderbias.inference.proportions import check_level, unseen_share

Floats = NDArray[np.float64]


def cohen_kappa(tables: NDArray[np.number]) -> Floats:
    """Return ``(p_o - p_e) / (1 - p_e)`` of each square table of counts, ``(..., c, c)`` (Cohen 1960).

    ``p_o`` is the share on the diagonal, ``p_e`` what independent raters with the same margins would have there. NaN
    for an empty table, and where both raters always gave one and the same answer.

    Examples
    --------
    >>> cohen_kappa(np.array([[20, 5], [10, 15]])).round(6).item()
    0.4
    """
    return _parts(np.asarray(tables, np.float64))[0]


def kappa_estimates(tables: NDArray[np.number], level: float = 0.95) -> list[Estimate]:
    """Return kappa of each table ``(n_tables, c, c)`` with an interval.

    The interval is the delta method on the scale ``log(1 - kappa)``, which never passes 1. Raters who never disagreed
    show no variance; the lower end is then what disagreement the exact binomial bound leaves, at the margins that make
    it weigh most.

    Examples
    --------
    >>> (perfect,) = kappa_estimates(np.array([[[10, 0], [0, 10]]]))
    >>> perfect.value, [round(end, 3) for end in perfect.interval]
    (1.0, [0.663, 1.0])
    """
    check_level(level)
    counts = np.asarray(tables, np.float64)
    kappa, influence, shares = _parts(counts)
    n = counts.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt((shares * influence**2).sum(axis=(-2, -1)) / n)
    found = []
    for value, spread, size, share in zip(kappa.tolist(), error.tolist(), n.tolist(), shares, strict=True):
        if np.isnan(value):
            found.append(Estimate(None, None, round(size)))
            continue
        interval = _perfect(share, round(size), level) if value == 1 else _interval(value, spread, level)
        found.append(Estimate(value, interval, round(size)))
    return found


def mean_kappa(pairs: Sequence[tuple[NDArray[np.integer], NDArray[np.integer]]], level: float = 0.95) -> Estimate:
    """Return the mean kappa of several pairs of raters of the same units, with an interval over units.

    Parameters
    ----------
    pairs
        For each pair of raters their codes ``(n_units,)``, negative where unknown. Pairs without a kappa do not count.
    level
        Of the interval: delta method over units on the scale ``log(1 - mean)``; None where no unit differs.
    """
    check_level(level)
    values: list[float] = []
    spread = np.zeros(len(pairs[0][0]) if pairs else 0)
    for left, right in pairs:
        known = np.flatnonzero((left >= 0) & (right >= 0))
        table = cross_table(left[known], right[known])
        kappa, influence, _ = _parts(table)
        if not np.isnan(kappa):
            values.append(float(kappa))
            spread[known] += influence[left[known], right[known]] / len(known)
    if not values:
        return Estimate(None, None, 0)
    mean = float(np.mean(values))
    error = float(np.sqrt((spread**2).sum())) / len(values)
    return Estimate(mean, None if mean == 1 else _interval(mean, error, level), len(values))


def cross_table(left: NDArray[np.integer], right: NDArray[np.integer], size: int = 0) -> NDArray[np.int64]:
    """Count pairs of codes ``0 .. c - 1``: ``(c, c)``, rows of ``left``; ``size`` is the least ``c``.

    Examples
    --------
    >>> cross_table(np.array([0, 1, 1]), np.array([0, 1, 0])).tolist()
    [[1, 0], [1, 1]]
    """
    c = max(size, 1 + int(max(left.max(initial=0), right.max(initial=0))))
    return np.bincount(left.astype(np.int64) * c + right, minlength=c * c).reshape(c, c)


def _parts(counts: Floats | NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Return kappa ``(...)``; for each cell ``(..., c, c)`` the influence of a unit in it, and its share."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = counts / counts.sum(axis=(-2, -1), keepdims=True)
        left, right = shares.sum(axis=-1), shares.sum(axis=-2)
        observed = np.einsum("...ii->...", shares)
        expected = (left * right).sum(axis=-1)
        room = np.where(1 - expected > 1e-12, 1 - expected, np.nan)
        kappa = np.asarray((observed - expected) / room)
    agree = np.eye(counts.shape[-1]) - observed[..., None, None]
    # A unit in row i and column j moves the expected share by right[i] + left[j] less twice its mean.
    chance = right[..., :, None] + left[..., None, :] - 2 * expected[..., None, None]
    influence = (agree - (1 - kappa)[..., None, None] * chance) / room[..., None, None]
    perfect = np.einsum("...ii->...", counts) == counts.sum(axis=(-2, -1))  # by shares it may be 1 only up to rounding
    return np.where(perfect & ~np.isnan(room), 1.0, kappa), influence, shares


def _interval(value: float, error: float, level: float) -> tuple[float, float] | None:
    if not error > 1e-12:
        return None
    factor = float(np.exp(min(700.0, -ndtri((1 - level) / 2) * error / (1 - value))))
    return max(-1.0, 1 - (1 - value) * factor), 1 - (1 - value) / factor


def _perfect(shares: Floats, n: int, level: float) -> tuple[float, float]:
    """Bound kappa of raters who agreed on all of ``n`` units.

    Of the population a share ``q`` at most disagrees. With the rest as observed, chance agreement is then at most
    ``(1-q)^2 sum p^2 + q (1-q) (p_1 + p_2) + q^2 / 2``, ``p_1`` and ``p_2`` the two largest shares: disagreement that
    is between the two commonest answers, in both directions, makes chance look best and so kappa worst.
    """
    q = unseen_share(n, level)
    p = np.sort(np.diag(shares))[::-1]
    expected = (1 - q) ** 2 * float(p @ p) + q * (1 - q) * float(p[0] + p[1]) + q**2 / 2
    return max(-1.0, 1 - q / (1 - expected)), 1.0
