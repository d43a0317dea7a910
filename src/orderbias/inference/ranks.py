"""Rank correlation, partial rank correlation and the area under the ROC curve, of many draws at once.

Plain statistics. ``weights`` are the multiplicities of :mod:`orderbias.inference.blocks`; without them each unit counts
once and a single number comes back. Ties have average ranks. Whatever has no spread gives NaN.

Values that agree to 12 decimals are tied: equal counts may have been added up in another order, and a rank must not
depend on that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
#: Decimals beyond which two values are the same.
DECIMALS = 12


def average_ranks(values: ArrayLike, weights: Floats) -> Floats:
    """Return the average rank of each unit in each draw.

    Parameters
    ----------
    values
        ``(n_units,)``, without NaN.
    weights
        ``(..., n_units)``, multiplicities.

    Returns
    -------
    numpy.ndarray
        ``(..., n_units)``: ``sum_j w_j [x_j < x_i] + (sum_j w_j [x_j = x_i] + 1) / 2``.

    Examples
    --------
    >>> average_ranks([0.3, 0.1, 0.1 + 0.2], np.ones(3)).tolist()
    [2.5, 1.0, 2.5]
    """
    _, code = np.unique(np.round(np.asarray(values, np.float64), DECIMALS), return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    mass = np.add.reduceat(weights[..., order], starts, axis=-1)
    below = np.cumsum(mass, axis=-1) - mass
    return np.asarray((below + (mass + 1) / 2)[..., code])


def pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return the weighted correlation over the last axis; NaN where one side has no spread."""
    total = weights.sum(axis=-1, keepdims=True)
    total = np.where(total > 0, total, np.nan)
    dx = x - (weights * x).sum(axis=-1, keepdims=True) / total
    dy = y - (weights * y).sum(axis=-1, keepdims=True) / total
    xx, yy, xy = ((weights * a * b).sum(axis=-1) for a, b in ((dx, dx), (dy, dy), (dx, dy)))
    scale = np.sqrt(xx * yy)
    # Ranks are multiples of a half: a spread below this is none, rounded.
    varies = scale > 1e-9
    return np.asarray(np.clip(np.divide(xy, scale, out=np.full(np.shape(xy), np.nan), where=varies), -1, 1))


def spearman(x: ArrayLike, y: ArrayLike, weights: Floats | None = None) -> Floats:
    """Return Spearman's correlation; units with a NaN on either side are left out.

    Parameters
    ----------
    x, y
        ``(n_units,)``.
    weights
        ``(..., n_units)``; None counts each once.

    Returns
    -------
    numpy.ndarray
        ``(...)``, -1..1 or NaN.

    Examples
    --------
    >>> float(spearman([1, 2, 3, 4], [1, 3, 2, 4]).round(3))
    0.8
    """
    (a, b), w = _complete((x, y), weights)
    return pearson(average_ranks(a, w), average_ranks(b, w), w)


def partial_spearman(x: ArrayLike, y: ArrayLike, given: ArrayLike, weights: Floats | None = None) -> Floats:
    """Return the correlation of the ranks of x and y less what the rank of ``given`` says linearly of each.

    ``(r_xy - r_xz r_yz) / sqrt((1 - r_xz^2) (1 - r_yz^2))``; NaN where ``given`` says all.

    Examples
    --------
    >>> bool(np.isnan(partial_spearman([1, 2, 3], [1, 3, 2], [1, 2, 3])))
    True
    """
    (a, b, c), w = _complete((x, y, given), weights)
    ranks = [average_ranks(values, w) for values in (a, b, c)]
    xy, xz, yz = (pearson(ranks[i], ranks[j], w) for i, j in ((0, 1), (0, 2), (1, 2)))
    left = (1 - xz**2) * (1 - yz**2)
    scale = np.sqrt(np.maximum(left, 0))
    found = np.divide(xy - xz * yz, scale, out=np.full(np.shape(xy), np.nan), where=scale > 1e-9)
    return np.asarray(np.clip(found, -1, 1))


def _complete(arrays: tuple[ArrayLike, ...], weights: Floats | None) -> tuple[list[Floats], Floats]:
    values = [np.asarray(array, np.float64) for array in arrays]
    there = ~np.isnan(values).any(axis=0)
    w = np.ones(int(there.sum())) if weights is None else weights[..., there]
    return [array[there] for array in values], w


def auc(scores: ArrayLike, positive: ArrayLike) -> float:
    """Return the chance that a positive unit scores above a negative one, ties counting one half.

    Parameters
    ----------
    scores
        ``(n,)``.
    positive
        Bool ``(n,)``.

    Returns
    -------
    float
        0..1; NaN where one of the classes is empty.

    Examples
    --------
    >>> auc([0.1, 0.4, 0.4, 0.8], [False, False, True, True])
    0.875
    """
    values, positives = np.asarray(scores, np.float64), np.asarray(positive, bool)
    n_positive = int(positives.sum())
    n_negative = len(values) - n_positive
    if not n_positive or not n_negative:
        return float("nan")
    ranks = average_ranks(values, np.ones(len(values)))
    return float((ranks[positives].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def stratified_auc(scores: ArrayLike, positive: ArrayLike, strata: NDArray[np.integer]) -> float:
    """Return the AUC over the pairs of a positive and a negative unit of the same stratum alone.

    Each stratum counts with its number of such pairs; NaN where no stratum has both.

    Examples
    --------
    >>> stratified_auc([0, 1, 5, 4], [False, True, False, True], np.array([0, 0, 1, 1]))
    0.5
    """
    values, positives = np.asarray(scores, np.float64), np.asarray(positive, bool)
    won = pairs = 0.0
    for stratum in np.unique(strata):
        here = strata == stratum
        n_positive = float(positives[here].sum())
        n_pairs = n_positive * (here.sum() - n_positive)
        if n_pairs:
            won += n_pairs * auc(values[here], positives[here])
            pairs += n_pairs
    return float(won / pairs) if pairs else float("nan")
