"""Items of cells in balanced random parts, and measures of a part or of all the others; from per-item columns."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.measures import MEASURES, ItemColumns, Sums
from orderbias.studies.panel.cells import PanelCell

Floats = NDArray[np.float64]


def item_folds(item_ids: Sequence[NDArray[Any]], n_folds: int, seed: int) -> list[NDArray[np.int64]]:
    """Deal the items of each cell into folds whose sizes differ by one at most.

    An item's rank among those of its cell is that of a hash of (seed, number of folds, item id), and items are dealt
    in turn. So the deal depends on the ids alone, and checkpoints that answered the same items have the same folds.

    Parameters
    ----------
    item_ids
        The ids of each cell's items, ``(n_items,)`` each.
    n_folds
        Number of folds.
    seed
        Another seed, another deal.

    Returns
    -------
    list of numpy.ndarray
        The 0-based fold of each item, for each cell.

    Examples
    --------
    >>> (folds,) = item_folds([np.array(["a", "b", "c", "d"])], 2, seed=0)
    >>> sorted(folds.tolist())
    [0, 0, 1, 1]
    """
    hashes: dict[str, int] = {}
    dealt: dict[tuple[str, ...], NDArray[np.int64]] = {}
    keys = [tuple(map(str, ids)) for ids in item_ids]
    for ids in dict.fromkeys(keys):
        hashes |= {item: _hash(seed, n_folds, item) for item in ids if item not in hashes}
        # Items of one id have one hash; the sort is stable, so their order in the cell decides.
        order = np.argsort(np.array([hashes[item] for item in ids], np.uint64), kind="stable")
        dealt[ids] = np.empty(len(order), np.int64)
        dealt[ids][order] = np.arange(len(order)) % n_folds
    return [dealt[ids] for ids in keys]


def _hash(seed: int, n_folds: int, item: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}\0{n_folds}\0{item}".encode(), digest_size=8).digest(), "little")


def fold_sums(columns: ItemColumns, fold_of: NDArray[np.integer], n_folds: int) -> tuple[Sums, Sums]:
    """Return the sums of each fold, and those of all items outside it; leading axis ``n_folds``.

    Items are counted before they are summed, so that a part without flips has sums of exactly 0.
    """
    n_rows = len(columns.rows)
    counts = np.bincount(fold_of * n_rows + columns.row_of, minlength=n_folds * n_rows).reshape(n_folds, n_rows)
    outside = counts.sum(axis=0) - counts
    return Sums(counts @ columns.rows, columns.layout), Sums(outside @ columns.rows, columns.layout)


def fold_measures(
    cells: Sequence[PanelCell], names: Sequence[str], n_folds: int, seed: int
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return measures of each fold, and of the items outside it.

    Parameters
    ----------
    cells
        Any cells.
    names
        Scalar measures.
    n_folds, seed
        As in :func:`item_folds`.

    Returns
    -------
    tuple of dict
        ``(n_folds, n_cells)`` a measure, NaN where undefined.
    """
    inside, outside = ({name: np.full((n_folds, len(cells)), np.nan) for name in names} for _ in range(2))
    folds = item_folds([cell.predictions.item_ids for cell in cells], n_folds, seed)
    for i, (cell, fold_of) in enumerate(zip(cells, folds, strict=True)):
        parts = fold_sums(cell.columns, fold_of, n_folds)
        for found, sums in zip((inside, outside), parts, strict=True):
            for name in names:
                if MEASURES[name].missing(sums.layout) is None:
                    found[name][:, i] = MEASURES[name].compute(sums)
    return inside, outside
