"""Intervals of means and ratios of bounded variables, honest also for few units; plain statistics.

Units are weighed at random, as in the Bayesian bootstrap, beside one more that was not seen: the least possible unit
for the lower end, the greatest for the upper. Of counts these are the Clopper-Pearson ends, and of units all alike
what an exact binomial bound leaves; a percentile bootstrap of few or nearly equal units is far too narrow in comparison
(Gaffke 2005; Learned-Miller and Thomas 2020). That the coverage is never below the level is a conjecture, to which no
counterexample is known.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.inference.means import Estimate
from orderbias.inference.proportions import alike_mean, clopper_pearson, unseen_share

Floats = NDArray[np.float64]


#: Weights drawn at once.
_BLOCK = 1_000_000


def weighed_sums(rows: Floats, counts: NDArray[np.integer], draws: int, rng: np.random.Generator) -> Floats:
    """Weigh every unit at random, each weight exponential, and return the weighed sums of each draw.

    Parameters
    ----------
    rows
        ``(n_rows, n_columns)``.
    counts
        ``(n_rows,)``: how many units have each row; their weights add up to a gamma variable.
    draws, rng
        How many draws, and their source.

    Returns
    -------
    numpy.ndarray
        ``(draws, n_columns)``.
    """
    shape = np.asarray(counts, np.float64)
    out = np.empty((draws, rows.shape[1]))
    step = max(1, _BLOCK // max(1, len(rows)))
    for start in range(0, draws, step):
        part = out[start : start + step]
        part[:] = rng.standard_gamma(shape, (len(part), len(shape))) @ rows
    return out


def weighed_ends(lows: Floats, highs: Floats, level: float) -> tuple[float, float]:
    """Return the lower quantile of draws with the least unseen unit, and the upper one of those with the greatest."""
    return float(np.quantile(lows, (1 - level) / 2)), float(np.quantile(highs, (1 + level) / 2))


def weighed_mean(
    values: ArrayLike,
    *,
    low: float,
    high: float,
    level: float = 0.95,
    draws: int = 2_000,
    rng: np.random.Generator,
) -> Estimate:
    """Estimate the mean of independent values in ``[low, high]``.

    Equal values are counted, so the cost does not grow with their number.

    Parameters
    ----------
    values
        ``(n,)``; NaN is left out.
    low, high
        The range that a value can have.
    level
        Of the interval.
    draws, rng
        Random weighings; without them there is no interval but where it is known exactly: of values all alike, or all
        at the ends of the range.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [round(end, 4) for end in weighed_mean([1.0] * 50, low=0, high=1, rng=rng).interval]
    [0.9289, 1.0]
    >>> low, high = weighed_mean([1, 0.5, 0.5, 1, 0, 1], low=0, high=1, rng=rng).interval
    >>> 0.2 < low < 0.67 < high < 0.97
    True
    """
    array = np.asarray(values, np.float64)
    distinct, counts = np.unique(array[~np.isnan(array)], return_counts=True)
    n = int(counts.sum())
    if not n:
        return Estimate(None, None, 0)
    mean = float(distinct @ counts / n)
    if len(distinct) == 1:
        return Estimate(mean, alike_mean(mean, low, high, unseen_share(n, level)), n)
    if np.isin(distinct, (low, high)).all():
        ends = clopper_pearson(counts[-1], n, level)
        return Estimate(mean, (low + (high - low) * float(ends[0]), low + (high - low) * float(ends[1])), n)
    if not draws:
        return Estimate(mean, None, n)
    columns = np.stack([np.ones(len(distinct)), distinct], axis=1)
    sums, more = weighed_sums(columns, counts, draws, rng), rng.standard_exponential(draws)
    total = sums[:, 0] + more
    return Estimate(mean, weighed_ends((sums[:, 1] + more * low) / total, (sums[:, 1] + more * high) / total, level), n)


def weighed_ratio(
    parts: ArrayLike,
    wholes: ArrayLike,
    counts: ArrayLike,
    *,
    most: float,
    level: float = 0.95,
    draws: int = 2_000,
    rng: np.random.Generator,
) -> Estimate:
    """Estimate the ratio of two sums over independent units, such as calls of one kind over all calls of the pairs.

    A ratio lies above ``r`` where the mean of ``part - r whole`` is above 0, so that the unseen unit that bounds it has
    the largest whole: none of it below, all of it above.

    Parameters
    ----------
    parts, wholes
        ``(n_rows,)``, ``0 <= part <= whole <= most``.
    counts
        ``(n_rows,)``: how many units have these. Units whose whole is 0 say nothing.
    most
        The largest whole that a unit can have.
    level, draws, rng
        Of the interval; no draws, no interval.

    Returns
    -------
    Estimate
        Its ``n`` is the sum of the wholes, rounded.

    Examples
    --------
    >>> found = weighed_ratio([1, 2], [2, 2], [40, 10], most=2, rng=np.random.default_rng(0))
    >>> found.value, found.n, 0.52 < found.interval[0] < 0.6 < found.interval[1] < 0.7
    (0.6, 100, True)
    """
    rows = np.stack([np.asarray(parts, np.float64), np.asarray(wholes, np.float64)], axis=1)
    units = np.asarray(counts, np.int64)
    said = (rows[:, 1] > 0) & (units > 0)
    rows, units = rows[said], units[said]
    part, whole = (units @ rows).tolist() if len(units) else (0.0, 0.0)
    if not whole:
        return Estimate(None, None, 0)
    if not draws:
        return Estimate(part / whole, None, round(whole))
    sums, more = weighed_sums(rows, units, draws, rng), rng.standard_exponential(draws)
    total = sums[:, 1] + more * most
    ends = weighed_ends(sums[:, 0] / total, (sums[:, 0] + more * most) / total, level)
    # Where nothing (or everything) was of the kind the end is known; draws only come near it.
    known = (0.0 if part == 0 else ends[0], 1.0 if math.isclose(part, whole) else ends[1])
    return Estimate(part / whole, known, round(whole))
