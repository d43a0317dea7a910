"""Which orderings a cell's items were asked under, and the slot of each answer; knows no answer.

A file without a manifest says its design itself: where most items share one set of orderings that set is the design,
else each item's own orderings are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import DataError
from orderbias.orderings import (
    MAX_OPTIONS_ALL,
    Design,
    all_orderings,
    canonical,
    cyclic,
    cyclic_with_reversals,
    reversal,
)
from orderbias.records.across import combine, lexicographic_codes

#: Arrays of slots larger than this many numbers are refused where designs of very different size are the cause.
_MAX_PADDED = 2**29


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The answers of a cell, as far as layout is concerned.

    ``table`` holds the ordering of each row, int8 ``(n_rows, n_options)``; ``item`` the item of each row, ``0..n - 1``.
    """

    table: NDArray[np.int8]
    item: NDArray[np.int64]
    n_items: int

    @property
    def n_options(self) -> int:
        """K."""
        return int(self.table.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Slots of a cell.

    ``positions``, ``presented`` and ``asked`` are as in :class:`~orderbias.predictions.Predictions`; ``slot`` is the
    slot of each row, -1 where its ordering is no part of the design; ``name`` goes into the signature.
    """

    positions: NDArray[np.int8]
    presented: NDArray[np.bool_]
    asked: NDArray[np.bool_] | None
    slot: NDArray[np.int64]
    name: str
    notices: tuple[str, ...] = ()


def lay_out(rows: Asked, how: str) -> Layout:
    """Find the design in the rows.

    Parameters
    ----------
    rows
        The orderings asked.
    how
        ``auto``: the set of orderings that more than half of the items share, if there is one, else each item's own.
        ``shared``: the orderings that more than half of the items were asked under. ``per-item``: each item's own.

    Raises
    ------
    DataError
        If no ordering is shared by more than half of the items where ``how`` is ``shared``.
    """
    if how == "per-item":
        return each_its_own(rows)
    codes = lexicographic_codes(rows.table)
    found = _majority_set(rows, codes) if how == "auto" else _majority_orderings(rows, codes)
    if found is not None:
        return shared(rows, Design(found))
    if how == "shared":
        raise DataError(
            "A shared design must hold orderings that more than half of the items were asked under. There is none "
            f"among the orderings of {rows.n_items} items. Use design 'per-item'."
        )
    own = each_its_own(rows)
    notice = (
        f"No one set of orderings is shared by more than half of the items, so that each item's own are its design "
        f"({_sizes(own.asked)} orderings an item). Design 'shared' or 'per-item' decides otherwise."
    )
    return Layout(own.positions, own.presented, own.asked, own.slot, own.name, (notice, *own.notices))


def _majority_set(rows: Asked, codes: NDArray[np.int64]) -> NDArray[np.int8] | None:
    """Return the set of orderings that more than half of the items have, canonical first, then lexicographic."""
    sums = np.zeros(rows.n_items, np.uint64)
    np.add.at(sums, rows.item, _scramble(codes))  # the sum names the set: it does not depend on the order of rows
    there = np.flatnonzero(np.bincount(rows.item, minlength=rows.n_items))
    _, first, counts = np.unique(sums[there], return_index=True, return_counts=True)
    if 2 * counts.max() <= len(there):
        return None
    held = np.flatnonzero(rows.item == there[first[counts.argmax()]])
    return rows.table[held[np.argsort(codes[held])]]


def _majority_orderings(rows: Asked, codes: NDArray[np.int64]) -> NDArray[np.int8] | None:
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    common = first[2 * counts > len(np.unique(rows.item))]
    return rows.table[common] if common.size else None


def _scramble(codes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Spread integers over 64 bits (the finaliser of splitmix64), so that sums of different sets differ."""
    mixed = codes.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def shared(rows: Asked, design: Design) -> Layout:
    """Lay rows out under one design, in its order; rows under other orderings have no slot, and that is said."""
    codes = lexicographic_codes(np.concatenate([design.positions, rows.table]))
    ours, theirs = codes[: design.n_orderings], codes[design.n_orderings :]
    order = np.argsort(ours, kind="stable")
    near = order[np.minimum(np.searchsorted(ours[order], theirs), len(order) - 1)]
    slot = np.where(ours[near] == theirs, near, -1)
    notices = []
    outside = slot < 0
    if outside.any():
        notices.append(
            f"{int(outside.sum())} answers of {len(np.unique(rows.item[outside]))} items were given under orderings "
            "that are no part of the design; they are left out."
        )
    notices += _reversals_notice(design)
    return Layout(design.positions, design.presented, None, slot, design_name(design), tuple(notices))


def slots_in(layout: Layout, rows: Asked) -> NDArray[np.int64]:
    """Return the slots of other answers to the same items, -1 where an ordering is no part of the design."""
    if layout.asked is None:
        return shared(rows, Design(layout.positions, layout.presented)).slot
    item, slot = np.nonzero(layout.asked)
    return _find_slots(rows, layout.positions[item, slot], item, slot)


def each_its_own(rows: Asked, expected: Sequence[Design] | None = None) -> Layout:
    """Lay rows out item by item, canonical ordering first, then lexicographic.

    ``expected`` gives the design of each item, where it is known; orderings of it without a row are asked, too, and
    rows under others have no slot.
    """
    table, item, n_rows = rows.table, rows.item, len(rows.item)
    if expected is not None:
        table = np.concatenate([d.positions for d in expected])
        item = np.repeat(np.arange(rows.n_items), [d.n_orderings for d in expected])
    order = np.lexsort((lexicographic_codes(table), item))
    counts = np.bincount(item, minlength=rows.n_items)
    n_slots = int(counts.max())
    _refuse_padding(rows, n_slots)
    starts = np.cumsum(counts) - counts
    slots = np.empty(len(item), np.int64)
    slots[order] = np.arange(len(item)) - starts[item[order]]
    positions = np.tile(np.arange(rows.n_options, dtype=np.int8), (rows.n_items, n_slots, 1))
    positions[item, slots] = table
    asked = np.arange(n_slots) < counts[:, None]
    slot = slots if expected is None else _find_slots(rows, table, item, slots)
    outside = int((slot < 0).sum())
    notices = (f"{outside} of {n_rows} answers were given under orderings outside their item's design.",)
    return Layout(positions, np.ones(n_slots, bool), asked, slot, "per-item", notices if outside else ())


def _find_slots(
    rows: Asked, table: NDArray[np.int8], item: NDArray[np.int64], slots: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the slot of each row's ordering among those of its item, -1 where it is none of them."""
    codes = lexicographic_codes(np.concatenate([table, rows.table]))
    keys = combine(np.concatenate([item, rows.item]), codes)
    ours, theirs = keys[: len(item)], keys[len(item) :]
    order = np.argsort(ours, kind="stable")
    near = order[np.minimum(np.searchsorted(ours[order], theirs), len(order) - 1)]
    return np.where(ours[near] == theirs, slots[near], -1)


def _refuse_padding(rows: Asked, n_slots: int) -> None:
    size = rows.n_items * n_slots * rows.n_options
    if size > _MAX_PADDED and size > 4 * rows.table.size:
        raise DataError(
            f"The items' designs must be of like size: the largest has {n_slots} orderings, the average "
            f"{len(rows.item) / rows.n_items:.1f}. Measure the items with large designs in a file of their own, or use "
            "design 'shared'."
        )


def _sizes(asked: NDArray[np.bool_] | None) -> str:
    assert asked is not None
    sizes = asked.sum(axis=1)
    low, high = int(sizes.min()), int(sizes.max())
    return str(low) if low == high else f"{low} to {high}"


def design_name(design: Design) -> str:
    """Name a design as the command line does where it is a named one, else ``shared:M orderings``."""
    k, m = design.n_options, design.n_orderings
    named = {"canonical": canonical(k), "cyclic": cyclic(k), "cyclic+reversals": cyclic_with_reversals(k)}
    if k <= MAX_OPTIONS_ALL:
        named["all"] = all_orderings(k)
    for name, known in named.items():
        if known.n_orderings == m and _pairs(known) == _pairs(design):
            return name
    queried = "" if design.presented.all() else f", {int(design.presented.sum())} presented"
    return f"shared:{m} orderings{queried}"


def _pairs(design: Design) -> set[tuple[bytes, bool]]:
    return {(row.tobytes(), bool(shown)) for row, shown in zip(design.positions, design.presented, strict=True)}


def _reversals_notice(design: Design) -> list[str]:
    """Say so where rotations and their reversals are all scored: most runs ask reversals for an operation only."""
    k = design.n_options
    if k < 4 or design.n_orderings != 2 * k or not design.presented.all():
        return []
    rotations = cyclic(k).positions
    both = {row.tobytes() for row in (*rotations, *reversal(rotations))}
    if {row.tobytes() for row in design.positions} != both:
        return []
    return [
        f"The {2 * k} orderings are the {k} rotations and their reversals, and all of them are scored. If the "
        "reversals were queried only, to be averaged in, say design 'cyclic+reversals'."
    ]
