"""Conservative tests of a mean against a fixed value, and their adjustment for many tests; knows nothing of options."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.errors import ArgumentError


def hoeffding_uniformity(shares: ArrayLike, weights: ArrayLike) -> float:
    """Test that a pooled share is uniform, by a weighted Hoeffding bound and a union over its K entries.

    ``shares`` are ``f(r) = sum_q w_q f_q(r)`` with independent ``f_q(r)`` in [0, 1]; then with
    ``t = max_r |f(r) - 1/K|`` the p-value is ``min(1, 2 K exp(-2 t^2 / sum_q w_q^2))`` (two-factors, C.2).

    Parameters
    ----------
    shares
        ``(K,)``, summing to 1.
    weights
        Weights of the independent units, summing to 1.

    Examples
    --------
    >>> round(hoeffding_uniformity([0.75, 0.25], [0.01] * 100), 6)
    1.5e-05
    """
    f, w = np.asarray(shares, np.float64), np.asarray(weights, np.float64)
    largest = np.abs(f - 1 / len(f)).max()
    return float(min(1.0, 2 * len(f) * np.exp(-2 * largest**2 / (w**2).sum())))


def holm(p_values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Adjust p-values of several tests so that rejecting those at most alpha keeps the family-wise error at alpha.

    Holm's step-down rule: the i-th smallest of n is multiplied by ``n - i + 1``, made monotone, and capped at 1.

    Raises
    ------
    ArgumentError
        If a value is outside 0..1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ArgumentError(f"`p_values` must be a list of numbers from 0 to 1. Got {p_values!r}.")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
