"""Sums of per-item columns, by name: what every measure reads. Knows no answer, no item and no random number.

Every measure of this package is a function of the sums of a few per-item columns, so one function gives the point
value (sums over all items), the bootstrap (sums over resampled items) and an item's own value (a row is a sum of one).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Shares of a billion answers differ by more than this, or not at all.
ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where each named column stands, and what the design fixes.

    Parameters
    ----------
    index
        Column number of a scalar column, slice of a column with one entry a place.
    n_options
        K.
    n_orderings
        Presented orderings of an item; the largest number, where designs differ in size.
    balanced
        Whether every content is shown at every place equally often, for every item.
    max_deviation
        The largest standard deviation of ``u_j`` over contents and items (two-factors, Prop. 1); 0 when balanced.
    absent
        Why a column that some measure needs is not there.
    """

    index: Mapping[str, int | slice]
    n_options: int
    n_orderings: int
    balanced: bool
    max_deviation: float
    absent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums of the columns of a layout: ``totals`` has shape ``(..., n_columns)``; leading axes are batches."""

    totals: Floats
    layout: Layout

    def __getitem__(self, name: str) -> Floats:
        """Return the sum of a column, ``(...)``, or of a column with one entry a place, ``(..., n_options)``."""
        picked: Floats = self.totals[..., self.layout.index[name]]
        return picked

    def mean(self, name: str) -> Floats:
        """Return the mean of a column over items; NaN where there are none."""
        return self.ratio(name, "one")

    def ratio(self, name: str, over: str) -> Floats:
        """Return one sum over another, NaN where the other is 0."""
        return ratio(self[name], self[over])

    def replaced(self, **columns: Floats) -> Sums:
        """Return these sums with some columns exchanged; their leading axes are broadcast."""
        batch = np.broadcast_shapes(
            self.totals.shape[:-1],
            *(v.shape[:-1] if isinstance(self.layout.index[k], slice) else v.shape for k, v in columns.items()),
        )
        totals = np.broadcast_to(self.totals, (*batch, self.totals.shape[-1])).copy()
        for name, values in columns.items():
            totals[..., self.layout.index[name]] = values
        return Sums(totals, self.layout)


def sd(values: Floats) -> Floats:
    """Population standard deviation over the last axis; 0 where the values differ by rounding alone.

    Examples
    --------
    >>> float(sd(np.array([1.0, 0.0, 1.0, 0.0])))
    0.5
    >>> float(sd(np.array([0.3, 0.1 + 0.2])))
    0.0
    """
    spread = values.std(axis=-1)
    return np.asarray(np.where(spread < ROUNDING, 0.0, spread))


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Divide, giving NaN where ``bottom`` is 0; ``bottom`` may lack the last axis of ``top``.

    Examples
    --------
    >>> ratio(np.array([[1.0, 3.0], [0.0, 0.0]]), np.array([4.0, 0.0])).tolist()
    [[0.25, 0.75], [nan, nan]]
    """
    if bottom.ndim < top.ndim:
        bottom = bottom[..., None]
    shape = np.broadcast_shapes(top.shape, bottom.shape)
    out = np.full(shape, np.nan)
    np.divide(top, bottom, out=out, where=np.broadcast_to(bottom != 0, shape))
    return out
