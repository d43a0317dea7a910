"""What must hold between rows: one answer a query, one gold and one group an item; knows no file format."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import DataError
from orderbias.records.raw import FAULTS_PER_RULE, Source
from orderbias.records.values import Records, block, blocks

#: Orderings of so few options that K**K, the number of rows of places, makes a small table.
_TABLED_OPTIONS = 7


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Which file, and which line of it, each row came from."""

    starts: NDArray[np.int64]
    sources: tuple[Source, ...]

    @classmethod
    def of(cls, sizes: list[int], sources: list[Source]) -> Origin:
        """Build one from the number of rows of each source."""
        return cls(np.cumsum([0, *sizes[:-1]]), tuple(sources))

    def at(self, row: int) -> str:
        """Name a row, as ``answers.jsonl line 17``."""
        which = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.sources[which].at(row - int(self.starts[which]))


def check_across(records: Records, origin: Origin, duplicates: str) -> Records:
    """Raise DataError if rows contradict each other; drop later duplicates where ``duplicates`` is ``first``."""
    items = combine(records.benchmark.codes, records.item_id.codes)
    faults = _conflicts(items, records.gold, "gold", records, origin)
    faults += _conflicts(items, records.group.codes, "group", records, origin)
    faults += _conflicts(items, records.n_options, "positions", records, origin)
    later = _later_duplicates(records)
    if later.size and duplicates == "error":
        faults += _duplicate_faults(records, later, origin)
    if faults:
        raise DataError(faults)
    if not later.size:
        return records
    kept = np.ones(len(records), bool)
    kept[later] = False
    notice = (
        f"{later.size} rows repeat the cell, item, ordering and repeat of an earlier row (first {origin.at(later[0])}) "
        "and are left out."
    )
    return replace(records.take(np.flatnonzero(kept)), notices=(*records.notices, notice))


def combine(*columns: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return one integer per row, equal exactly where all columns are; values are non-negative."""
    key = np.zeros(len(columns[0]), np.int64)
    bound = 1
    for column in columns:
        size = int(column.max()) + 1 if column.size else 1
        if bound * size > 2**62:
            _, key = np.unique(key, return_inverse=True)
            bound = int(key.max()) + 1
        key = key * size + column
        bound *= size
    return key


def ordering_codes(records: Records) -> NDArray[np.int64]:
    """Return one integer per row, equal exactly where two orderings are; int64 ``(n_rows,)``.

    Among orderings of one K, codes stand in lexicographic order, so that the canonical one has the lowest.
    """
    codes = np.zeros(len(records), np.int64)
    base = 0
    for k, rows, flat in blocks(records.offsets):
        codes[rows] = base + lexicographic_codes(block(records.positions, k, flat))
        base = int(codes.max()) + 1
    return codes


def lexicographic_codes(table: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return for each ordering of ``(n, K)`` its rank or another integer that sorts as the orderings do."""
    k = table.shape[1]
    if k > 15:  # K**K leaves 64 bits
        _, ranks = np.unique(table, axis=0, return_inverse=True)
        return np.asarray(ranks.reshape(-1), np.int64)
    key = np.zeros(len(table), np.int64)
    for column in table.T:
        key *= k
        key += column
    if k > _TABLED_OPTIONS:
        _, key = np.unique(key, return_inverse=True)
    return key


def _conflicts(
    items: NDArray[np.int64], values: NDArray[np.integer], name: str, records: Records, origin: Origin
) -> list[str]:
    """Return a fault for each item with two known values of a column."""
    known = np.flatnonzero(values >= 0)
    if not known.size:
        return []
    dense = items if int(items.max()) < 4 * len(items) + 1024 else np.unique(items, return_inverse=True)[1]
    first = np.full(int(dense.max()) + 1, -1, np.int64)
    first[dense[known[::-1]]] = known[::-1]
    differs = known[values[known] != values[first[dense[known]]]]
    if not differs.size:
        return []
    _, where = np.unique(dense[differs], return_index=True)
    faults = []
    for row in np.sort(differs[where])[:FAULTS_PER_RULE].tolist():
        one, other = int(first[dense[row]]), row
        faults.append(
            f"Item {records.item_id[row]!r} must have one {_NOUNS[name]}. Got {_shown(records, name, one)} "
            f"({origin.at(one)}) and {_shown(records, name, other)} ({origin.at(other)}). "
            "If these are two items, give them two ids."
        )
    if len(where) > FAULTS_PER_RULE:
        faults.append(f"{len(where) - FAULTS_PER_RULE} more items have more than one {_NOUNS[name]}.")
    return faults


_NOUNS = {"gold": "`gold`", "group": "`group`", "positions": "number of options"}


def _shown(records: Records, name: str, row: int) -> str:
    if name == "gold":
        return str(records.gold[row])
    return repr(records.group[row]) if name == "group" else str(records.n_options[row])


def query_keys(records: Records) -> NDArray[np.int64]:
    """Return one integer per row, equal exactly where cell, item, ordering and repeat are; int64 ``(n_rows,)``."""
    names = (records.benchmark.codes, records.item_id.codes, records.model.codes, records.readout.codes)
    return combine(*names, records.repeat, ordering_codes(records))


def _later_duplicates(records: Records) -> NDArray[np.int64]:
    """Return the rows whose query stands in an earlier row, in order."""
    keys = query_keys(records)
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.array([], np.int64)
    order = np.argsort(keys, kind="stable")
    return np.sort(order[1:][keys[order[1:]] == keys[order[:-1]]])


def _duplicate_faults(records: Records, later: NDArray[np.int64], origin: Origin) -> list[str]:
    keys = query_keys(records)
    values, first = np.unique(keys, return_index=True)
    faults = []
    for row in later[:FAULTS_PER_RULE].tolist():
        one = int(first[np.searchsorted(values, keys[row])])
        faults.append(
            f"A query must be answered once. Item {records.item_id[row]!r} with `positions` "
            f"{list(records.row(row).positions)} and `repeat` {records.repeat[row]} stands in {origin.at(one)} and in "
            f"{origin.at(row)}. Number the repeats 0, 1, 2 ..., or keep the first (duplicates: first)."
        )
    if len(later) > FAULTS_PER_RULE:
        faults.append(f"{len(later) - FAULTS_PER_RULE} more rows answer a query again.")
    return faults
