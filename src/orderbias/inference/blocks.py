"""Resampling of units that come in blocks, and of statistics whose units count several times; plain statistics.

A draw is a row of multiplicities: how often each unit is in it. Statistics that take ``weights`` read such rows, all at
once, and give each unit its multiplicity, so that no draw is ever laid out as a sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def block_draws(block_of: NDArray[np.integer], resamples: int, rng: np.random.Generator) -> Floats:
    """Draw whole blocks with replacement, as many as there are.

    Parameters
    ----------
    block_of
        ``(n_units,)``: the 0-based block of each unit.
    resamples
        How many draws.
    rng
        Source of randomness.

    Returns
    -------
    numpy.ndarray
        ``(resamples, n_units)``: how often each unit is drawn; the units of a block alike.

    Examples
    --------
    >>> draws = block_draws(np.array([0, 0, 1]), 5, np.random.default_rng(0))
    >>> bool((draws[:, 0] == draws[:, 1]).all()), (draws[:, 0] + draws[:, 2]).tolist()
    (True, [2.0, 2.0, 2.0, 2.0, 2.0])
    """
    n_blocks = int(block_of.max()) + 1 if len(block_of) else 0
    if not n_blocks:
        return np.zeros((resamples, 0))
    drawn = rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), size=resamples)
    return np.asarray(drawn[:, block_of], np.float64)


def weighted_means(values: ArrayLike, weights: Floats) -> Floats:
    """Return the mean of each draw; NaN values are left out, and a draw without a value is NaN.

    Parameters
    ----------
    values
        ``(n_units,)``.
    weights
        ``(..., n_units)``, multiplicities.

    Examples
    --------
    >>> weighted_means([1.0, np.nan, 4.0], np.array([[1.0, 5.0, 1.0], [0.0, 1.0, 0.0]])).tolist()
    [2.5, nan]
    """
    array = np.asarray(values, np.float64)
    there = ~np.isnan(array)
    totals = weights[..., there].sum(axis=-1)
    sums = weights[..., there] @ array[there]
    return np.asarray(np.divide(sums, totals, out=np.full(np.shape(sums), np.nan), where=totals > 0))


def weighted_medians(values: ArrayLike, weights: Floats) -> Floats:
    """Return the median of each draw, the mean of the middle two where there is an even number; NaN is left out.

    Parameters
    ----------
    values
        ``(n_units,)``.
    weights
        ``(n_draws, n_units)``, whole multiplicities.

    Examples
    --------
    >>> weighted_medians([1.0, 5.0, 2.0], np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 0.0], [1.0, 1.0, 0.0]])).tolist()
    [2.0, 5.0, 3.0]
    """
    array = np.asarray(values, np.float64)
    there = np.flatnonzero(~np.isnan(array))
    order = there[np.argsort(array[there], kind="stable")]
    if not len(order):
        return np.full(len(weights), np.nan)
    reached = np.cumsum(weights[:, order], axis=1)
    total = reached[:, -1]
    # Units numbered 1..n in order of value: the middle ones are those first reached by (n + 1) // 2 and n // 2 + 1.
    low = (reached < np.floor((total + 1) / 2)[:, None]).sum(axis=1)
    high = (reached < (np.floor(total / 2) + 1)[:, None]).sum(axis=1)
    last = len(order) - 1
    medians = (array[order[np.minimum(low, last)]] + array[order[np.minimum(high, last)]]) / 2
    return np.where(total > 0, medians, np.nan)


def simultaneous_intervals(observed: ArrayLike, draws: Floats, level: float) -> list[tuple[float, float] | None]:
    """Return intervals that hold jointly: each estimate plus or minus the same number of its standard deviations.

    The number is the ``level`` quantile over draws of the largest standardised deviation from the estimates.

    Parameters
    ----------
    observed
        ``(n,)`` estimates.
    draws
        ``(resamples, n)``; a draw with an undefined entry is left out.
    level
        Joint confidence level.

    Returns
    -------
    list
        ``(low, high)`` of each estimate; None where its draws have no spread or there are none.
    """
    values = np.asarray(observed, np.float64)
    kept = draws[~np.isnan(draws).any(axis=1)]
    if len(kept) < 2:
        return [None] * len(values)
    spread = kept.std(axis=0, ddof=1)
    varies = spread > 0
    if not varies.any():
        return [None] * len(values)
    deviation = np.abs(kept[:, varies] - values[varies]) / spread[varies]
    times = float(np.quantile(deviation.max(axis=1), level))
    return [
        (float(v - times * s), float(v + times * s)) if ok else None
        for v, s, ok in zip(values, spread, varies, strict=True)
    ]
