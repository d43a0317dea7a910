"""Whether a run is what its manifest says: hashes, counts, and every answer to a query of the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from orderbias.collect import orderings_of
from orderbias.errors import ArgumentError, RunError
from orderbias.items import Item, ItemSet
from orderbias.orderings import DesignSpec, SwapSample, parse_design
from orderbias.records import RECORD_STATUSES, Records
from orderbias.records.across import query_keys
from orderbias.records.answers import ERROR
from orderbias.store.manifest import Manifest, hash_faults, items_from_jsonl, shots_hash
from orderbias.store.parts import Shelf


@dataclass(frozen=True, slots=True)
class Verification:
    """What a check of a run found.

    ``n_queries`` are planned, ``n_answered`` have a record (of any status), ``n_left`` have none yet; ``statuses``
    counts records by status. ``hashes`` are those re-derived, ``parts`` maps each file to the start of its SHA-256.
    ``faults`` are sentences; a run with none is whole, though it may have queries left.
    """

    run: str
    n_items: int
    n_queries: int
    n_answered: int
    n_left: int
    n_duplicates: int
    statuses: Mapping[str, int] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return it as lines for a terminal."""
        statuses = ", ".join(f"{n:,} {status}" for status, n in self.statuses.items()) or "none"
        lines = [
            f"{self.run}: {self.n_items:,} items, {self.n_queries:,} queries planned, {self.n_answered:,} answered, "
            f"{self.n_left:,} left.",
            f"Records by status: {statuses}; in {len(self.parts):,} parts.",
            "Hashes: " + ", ".join(f"{name} {value}" for name, value in self.hashes.items()) + ".",
        ]
        if not self.faults:
            return [*lines, "Nothing is wrong."]
        return [*lines, f"{len(self.faults)} faults:", *(f"- {fault}" for fault in self.faults)]


def verify(
    run: str,
    manifest: Manifest,
    written: Mapping[str, str],
    derived: Mapping[str, str],
    items_path: Path,
    shelf: Shelf,
) -> Verification:
    """Check a run's files against its manifest; raises nothing, every fault is listed."""
    faults = [f"The part {part.path.name} is damaged; its queries will be asked again." for part in shelf.damaged]
    hashes = dict(derived)
    items: ItemSet | None = None
    try:
        items = items_from_jsonl(items_path.read_text(encoding="utf-8", errors="replace"), items_path.name)
        hashes |= {"data_hash": items.data_hash, "shots_hash": shots_hash(items)}
    except (RunError, OSError) as error:
        faults.append(f"The items cannot be read: {error}")
    faults += _hash_faults(hashes, written, manifest)
    records = shelf.all_records
    counts = Counter[str]()
    n_answered = n_duplicates = 0
    if records is not None:
        counts.update({s: int((records.status == i).sum()) for i, s in enumerate(RECORD_STATUSES)})
        n_answered, n_duplicates = _count_queries(records)
        faults += _cell_faults(records)
    if n_duplicates:
        faults.append(f"{n_duplicates} answers are of queries that were answered already.")
    if items is not None:
        faults += _plan_faults(items, manifest, records)
    return Verification(
        run=run,
        n_items=0 if items is None else len(items),
        n_queries=manifest.n_queries,
        n_answered=n_answered,
        n_left=max(0, manifest.n_queries - n_answered),
        n_duplicates=n_duplicates,
        statuses={status: n for status, n in counts.items() if n},
        hashes=hashes,
        parts={part.path.name: part.sha for part in shelf.parts},
        faults=tuple(faults),
    )


def _hash_faults(hashes: Mapping[str, str], written: Mapping[str, str], manifest: Manifest) -> list[str]:
    faults = hash_faults(hashes, written)
    data = manifest.settings.as_dict().get("data")
    if data is not None and written["data_hash"] not in data:
        faults.append(f"The setting `data` must be the data hash {written['data_hash']}. Got {data}.")
    return faults


def _count_queries(records: Records) -> tuple[int, int]:
    """Return the distinct queries with a record, and how many answers (failures apart) came on top of a first."""
    keys = query_keys(records)
    n_answered = len(np.unique(keys))
    good = keys[records.status != ERROR]
    return n_answered, len(good) - len(np.unique(good))


def _cell_faults(records: Records) -> list[str]:
    faults = []
    for name in ("model", "benchmark", "readout"):
        column = getattr(records, name)
        words = sorted({str(column.words[code]) for code in np.unique(column.codes)})
        if len(words) > 1:
            faults.append(f"All records of a run must have one `{name}`. Got {', '.join(words)}.")
    return faults


def _plan_faults(items: ItemSet, manifest: Manifest, records: Records | None) -> list[str]:
    spec = _spec(manifest, items)
    known = {item.id: item for item in items}
    planned = {item.id: _planned(item, manifest, spec) for item in items}
    faults = []
    sizes = [len(rows) for rows in planned.values() if rows is not None]
    if len(sizes) == len(planned) and manifest.n_queries % max(1, sum(sizes)):
        faults.append(f"The plan must have {sum(sizes)} queries a repeat. The manifest says {manifest.n_queries}.")
    if records is None:
        return faults
    strange: Counter[str] = Counter()
    for record in records:
        item = known.get(record.item_id)
        rows = planned.get(record.item_id)
        if item is None:
            strange["are of items that the run does not have"] += 1
        elif len(record.positions) != len(item.options):
            strange["have another number of options than their item"] += 1
        elif rows is not None and record.positions not in rows:
            strange["are under orderings that are no part of the plan"] += 1
        elif record.gold != item.gold:
            strange["have another gold than their item"] += 1
    return faults + [f"{n} records {what}." for what, n in strange.items()]


def _spec(manifest: Manifest, items: ItemSet) -> DesignSpec | SwapSample | None:
    name = manifest.settings.as_dict().get("design", "")
    try:
        return SwapSample.parse(name, (item.id for item in items)) or parse_design(name)
    except ArgumentError:
        return None


def _planned(item: Item, manifest: Manifest, spec: DesignSpec | SwapSample | None) -> set[tuple[int, ...]] | None:
    """Return the orderings of an item, from the stored arrays where they hold it; None if they cannot be known."""
    design = manifest.designs.get(len(item.options))
    if design is not None and not item.pinned:
        return {tuple(row) for row in design.positions.tolist()}
    return None if spec is None else set(orderings_of(item, spec))
