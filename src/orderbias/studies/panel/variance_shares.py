"""How two factors share the variance of the log of their product over cells; knows no table but its columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orderbias.studies.findings import Column
from orderbias.studies.panel.estimates import Draws, Estimates

Floats = NDArray[np.float64]

#: In the order of the last axis of :func:`variance_shares`.
SHARES = ("flip_rate", "positional_skew", "covariance")
COLUMNS = (
    Column("flip_rate", "Log flip rate", "percent"), Column("positional_skew", "Log skew", "percent"),
    Column("covariance", "Twice their covariance", "percent"),
)  # fmt: skip


def variance_shares(log_flip: Floats, log_skew: Floats, weights: Floats) -> Floats:
    """Return the shares of the variance of ``log_flip + log_skew``: either's variance and twice their covariance.

    Population moments; natural logs or any other, as shares have no unit.

    Parameters
    ----------
    log_flip, log_skew
        ``(n_cells,)``.
    weights
        ``(..., n_cells)``, multiplicities.

    Returns
    -------
    numpy.ndarray
        ``(..., 3)``: sum to 1; the third may be negative. NaN where the sum does not vary.

    Examples
    --------
    >>> variance_shares(np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.0, 3.0]), np.ones(3)).round(3).tolist()
    [0.143, 0.429, 0.429]
    """
    x, y = log_flip - log_flip.mean(), log_skew - log_skew.mean()
    total = weights.sum(axis=-1, keepdims=True)
    moments = weights @ np.stack([x, y, x * x, y * y, x * y], axis=-1)
    mx, my, xx, yy, xy = np.moveaxis(
        np.divide(moments, total, out=np.full(moments.shape, np.nan), where=total > 0), -1, 0
    )
    parts = np.stack([xx - mx * mx, yy - my * my, 2 * (xy - mx * my)], axis=-1)
    whole = parts.sum(axis=-1, keepdims=True)
    # Logs are of order one: a variance below this is none, rounded.
    return np.asarray(np.divide(parts, whole, out=np.full(parts.shape, np.nan), where=whole > 1e-12))


def drawn_shares(log_flip: Floats, log_skew: Floats, draws: Draws) -> Estimates:
    """Return the three shares on draws of the cells."""
    return draws.estimates(lambda weights: variance_shares(log_flip, log_skew, weights))
