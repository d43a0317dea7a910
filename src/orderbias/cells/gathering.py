"""A cell's rows cut out of the records, and what is known of its items; knows no design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import DataError
from orderbias.records import Records, Words
from orderbias.records.values import block


class ItemLike(Protocol):
    """What a cell needs to know of an item beyond its records."""

    @property
    def id(self) -> str:
        """The item's id."""
        ...

    @property
    def options(self) -> Sequence[str]:
        """Its contents, in canonical order."""
        ...

    @property
    def gold(self) -> int | None:
        """The right content."""
        ...

    @property
    def group(self) -> str | None:
        """Its subject or category."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Answers of a cell as arrays; one entry or line a row."""

    table: NDArray[np.int8]
    item: NDArray[np.int64]
    place: NDArray[np.int8]
    status: NDArray[np.int8]
    ties: NDArray[np.bool_]
    gold: NDArray[np.int8]
    group: NDArray[np.int32]
    logprobs: NDArray[np.float64] | None
    mass: NDArray[np.float64] | None
    repeat: NDArray[np.int32]


def gather(
    records: Records, k: int, rows: NDArray[np.int64] | slice, listed: Mapping[str, ItemLike] | None
) -> tuple[NDArray[Any], Rows, Rows | None, list[str]]:
    """Cut a cell's first answers out, and those to repeats; number its items in order of first appearance."""
    codes = records.item_id.codes[rows]
    present = np.flatnonzero(np.bincount(codes, minlength=len(records.item_id.words)))
    number = np.full(len(records.item_id.words), -1, np.int64)
    number[present] = np.arange(len(present))
    ids = records.item_id.words[present]
    notices = []
    if listed is not None:
        seen = set(ids)
        silent = [i for i, item in listed.items() if len(item.options) == k and i not in seen]
        if silent:
            notices.append(f"{len(silent)} of {len(listed)} items have no record yet; they count as unusable.")
            ids = np.concatenate([ids, np.array(silent, object)])
    later = records.repeat[rows] > 0
    if later.all():
        raise DataError(f"The first answer to a query must have `repeat` 0. All {len(later)} rows of a cell have more.")
    if not later.any():
        return ids, _rows(records, k, rows, number), None, notices
    notices.append(
        f"{int(later.sum())} answers are repeats of a query; measures are of the first answers (repeat 0) alone, and "
        "the noise table of all."
    )
    at = np.arange(len(records))[rows]
    return ids, _rows(records, k, at[~later], number), _rows(records, k, at[later], number), notices


def _rows(records: Records, k: int, rows: NDArray[np.int64] | slice, number: NDArray[np.int64]) -> Rows:
    flat = None
    if (records.n_options != k).any() or not isinstance(rows, slice):
        flat = records.offsets[:-1][rows][:, None] + np.arange(k)
    return Rows(
        table=block(records.positions, k, flat),
        item=number[records.item_id.codes[rows]],
        place=records.place[rows],
        status=records.status[rows],
        ties=records.ties[rows],
        gold=records.gold[rows],
        group=records.group.codes[rows],
        logprobs=None if records.logprobs is None else block(records.logprobs, k, flat),
        mass=None if records.mass is None else records.mass[rows],
        repeat=records.repeat[rows],
    )


def known_of_items(
    answers: Rows, ids: NDArray[Any], groups: Words, listed: Mapping[str, ItemLike] | None
) -> tuple[NDArray[np.int8], NDArray[Any] | None]:
    """Return gold and group of each item, from any of its rows that knows them, else from the items."""
    gold = np.full(len(ids), -1, np.int8)
    known = answers.gold >= 0
    gold[answers.item[known]] = answers.gold[known]
    codes = np.full(len(ids), -1, np.int32)
    known = answers.group >= 0
    codes[answers.item[known]] = answers.group[known]
    group = np.array([*groups.words, None], object)[codes]
    if listed is not None:
        faults = []
        for i, item_id in enumerate(ids):
            item = listed.get(item_id)
            if item is None:
                continue
            if gold[i] >= 0 and item.gold is not None and item.gold != gold[i]:
                faults.append(f"Item {item_id!r} must have one gold. Got {gold[i]} in records, {item.gold} in items.")
            gold[i] = gold[i] if item.gold is None else item.gold
            group[i] = item.group if group[i] is None else group[i]
        if faults:
            raise DataError(faults)
    return gold, None if all(g is None for g in group) else group
