"""Items of several cells joined by their ids; knows nothing of what was answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class SharedItems:
    """Where the items of each cell stand among those of all.

    Parameters
    ----------
    numbers
        ``(n_items,)`` of each cell: the 0-based number of each of its items. Items are numbered in order of appearance.
    n_items
        Different items of all cells.
    """

    numbers: tuple[NDArray[np.intp], ...]
    n_items: int

    @property
    def there(self) -> NDArray[np.bool_]:
        """Which cell has which item, ``(n_cells, n_items)``."""
        found = np.zeros((len(self.numbers), self.n_items), bool)
        for row, numbers in zip(found, self.numbers, strict=True):
            row[numbers] = True
        return found


def shared_items(item_ids: Sequence[NDArray[Any]]) -> SharedItems:
    """Join the items of cells of one benchmark.

    Parameters
    ----------
    item_ids
        ``(n_items,)`` of each cell, unique within one.

    Examples
    --------
    >>> found = shared_items([np.array(["a", "b"]), np.array(["c", "b"])])
    >>> [n.tolist() for n in found.numbers], found.n_items
    ([[0, 1], [2, 1]], 3)
    """
    number: dict[str, int] = {}
    rows = tuple(np.array([number.setdefault(str(i), len(number)) for i in ids], np.intp) for ids in item_ids)
    return SharedItems(rows, len(number))
