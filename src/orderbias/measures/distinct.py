"""Equal rows found and counted, exactly; knows nothing of what the rows mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Codes stay below this, so that one more factor is checked before it can overflow.
_LIMIT = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """The different rows of a table.

    Parameters
    ----------
    first
        ``(n_rows,)``: a row of the table that shows each.
    inverse
        ``(n,)``: which of them each row of the table is.
    counts
        ``(n_rows,)``: how often each occurs, or the sum of the weights given.
    rows
        ``(n_rows, n_columns)``, where the table was of floats; else empty.
    """

    first: NDArray[np.int64]
    inverse: NDArray[np.int64]
    counts: NDArray[np.int64]
    rows: Floats


def distinct_codes(columns: Sequence[NDArray[np.integer | np.bool_]], sizes: Sequence[int]) -> Distinct:
    """Count the different rows of integer columns with values ``0 .. size - 1``.

    Columns are joined into one 64-bit code a row as long as they fit; then the codes are replaced by their ranks.

    Examples
    --------
    >>> d = distinct_codes([np.array([0, 1, 0]), np.array([2, 0, 2])], [2, 3])
    >>> d.counts.tolist(), d.inverse.tolist()
    ([2, 1], [0, 1, 0])
    """
    codes, reach = np.zeros(len(columns[0]), np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if reach * size > _LIMIT:
            values, codes = np.unique(codes, return_inverse=True)
            codes, reach = codes.astype(np.int64), len(values)
        codes = codes * size + column
        reach *= size
    _, first, inverse, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
    return Distinct(first, inverse, counts.astype(np.int64), np.empty((0, 0)))


def distinct_rows(table: Floats, weights: ArrayLike | None = None) -> Distinct:
    """Count the different rows of a table of floats, ``(n, n_columns)``; NaN equals NaN.

    Rows are compared by a 64-bit hash, then every row with the one that stands for it; should two different rows ever
    share a hash, whole rows are sorted instead. The order found depends on the rows alone, not on their order.
    """
    bits = np.ascontiguousarray(table + 0.0).view(np.uint64)  # adding 0 makes -0.0 equal 0.0
    _, first, inverse = np.unique(_hashes(bits), return_index=True, return_inverse=True)
    if not (bits[first][inverse] == bits).all():  # pragma: no cover - a chance of about n^2 / 2^65
        _, first, inverse = np.unique(bits, axis=0, return_index=True, return_inverse=True)
    counts = np.bincount(inverse, None if weights is None else np.asarray(weights, np.float64), len(first))
    return Distinct(first, inverse, counts.round().astype(np.int64), table[first] + 0.0)


def _hashes(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix each row into one word. Short fractions differ in their high bits only, hence the shifts."""
    odd = np.random.default_rng(0).integers(0, 2**63, bits.shape[1], np.uint64) * np.uint64(2) + np.uint64(1)
    total = np.zeros(len(bits), np.uint64)
    for column, factor in zip(bits.T, odd, strict=True):
        word = (column ^ (column >> np.uint64(32))) * factor
        word ^= word >> np.uint64(29)
        total += word * factor
    return total
