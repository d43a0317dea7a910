"""The records of a panel's cells with all that building cells from them needs, from run directories or an export.

Both ways give the same values, row by row: the rows of an item together, items in the order in which they were drawn,
whatever the order in which answers came.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from orderbias.cells import same_text_groups
from orderbias.cli._panel_cells import CellPlace
from orderbias.cli._panel_file import PanelFile
from orderbias.cli._panel_folder import PanelFolder, state_of
from orderbias.errors import DataError, OrderbiasError, RunError
from orderbias.items import ItemSet
from orderbias.orderings import Design
from orderbias.records import Records, Words, from_parquet
from orderbias.signature import Signature
from orderbias.store import Run


@dataclass(frozen=True, slots=True, eq=False)
class CellSource:
    """What a cell is built from.

    ``records`` hold the panel's names of model and benchmark, and no reply; ``settings`` are those of the run.
    """

    place: CellPlace
    records: Records
    designs: Mapping[int, Design]
    same_text: Mapping[str, Sequence[int]]
    settings: Signature


def sources(folder: PanelFolder, panel: PanelFile, left_out: dict[CellPlace, str]) -> Iterator[CellSource]:
    """Yield every finished cell in the order of the panel; ``left_out`` gains a sentence for each that is not."""
    if panel.exported is not None:
        yield from _exported(folder, panel, panel.exported)
        return
    for place in panel.cells:
        with folder.read(place) as path:
            state = state_of(place, path, panel.sweep(place).orderings)
            if not state.whole:
                left_out[place] = str(state.left())
                continue
            try:
                found = _of_run(place, path)
            except OrderbiasError as error:
                left_out[place] = f"{place.named} cannot be read: {error}"
                continue
            yield found


def _of_run(place: CellPlace, path: Path) -> CellSource:
    run = Run.open(path)
    items = run.items()
    records = run.records()
    n_rows = len(records)
    records = replace(
        records.take(_item_order(records, items)),
        model=Words.constant(place.model, n_rows),
        benchmark=Words.constant(place.benchmark, n_rows),
        text=None,
        notices=(),
    )
    return CellSource(place, _numbered(records), run.manifest.designs, same_text_groups(items), run.manifest.settings)


def _numbered(records: Records) -> Records:
    """Number items in the order of their rows: cells have them in the order of their numbers."""
    codes, words = records.item_id.codes, records.item_id.words
    there, first = np.unique(codes, return_index=True)
    order = there[np.argsort(first)]
    number = np.zeros(len(words), np.int32)
    number[order] = np.arange(len(order))
    return replace(records, item_id=Words(number[codes], words[order]))


def _item_order(records: Records, items: ItemSet) -> Any:
    """Return the rows by item, as the items are drawn, and by ordering and repeat within."""
    number = {item.id: i for i, item in enumerate(items)}
    ids = np.array([number.get(str(word), len(number)) for word in records.item_id.words], np.int64)
    width = int(records.n_options.max(initial=0))
    table = np.full((len(records), width), -1, np.int8)
    table[np.arange(width) < records.n_options[:, None]] = records.positions
    return np.lexsort((records.repeat, *table.T[::-1], ids[records.item_id.codes]))


def _exported(folder: PanelFolder, panel: PanelFile, exported: Mapping[str, Any]) -> Iterator[CellSource]:
    """Yield the cells of an export.

    Raises
    ------
    RunError
        If a file of it is missing or damaged.
    """
    held: dict[str, Records] = {}
    try:
        entries = {CellPlace(e["sweep"], e["model"], e["benchmark"]): e for e in exported["cells"]}
        for place in (place for place in panel.cells if place in entries):
            entry = entries[place]
            if place.sweep not in held:
                held[place.sweep] = _sweep_records(folder, exported["files"][place.sweep])
            first, last = entry["rows"]
            if not first < last <= len(held[place.sweep]):
                raise ValueError(f"rows of {place.named} must be within the file's {len(held[place.sweep]):,}")
            yield CellSource(
                place,
                _own_rows(place, held[place.sweep].take(np.arange(first, last))),
                {int(k): _design(int(k), stored) for k, stored in exported["designs"][place.sweep].items()},
                exported["same_text"].get(place.benchmark, {}),
                Signature.from_mapping(entry["settings"]),
            )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, RunError):
            raise
        raise RunError(f"{folder.shown} must be what `orderbias panel export` wrote: {error}.") from error


def _own_rows(place: CellPlace, records: Records) -> Records:
    """Return the rows of a cell.

    Raises
    ------
    ValueError
        If one is of another cell.
    """
    for words, name in ((records.model, place.model), (records.benchmark, place.benchmark)):
        if set(words.words[np.unique(words.codes)].tolist()) != {name}:
            raise ValueError(f"the rows of {place.named} must all be its own")
    return _numbered(records)


def _design(n_options: int, stored: Mapping[str, Any]) -> Design:
    """Return a design.

    Raises
    ------
    ValueError
        If it is none of so many options.
    """
    positions, presented = stored["positions"], stored["presented"]
    if any(sorted(row) != list(range(n_options)) for row in positions) or len(presented) != len(positions):
        raise ValueError(f"designs of {n_options} options must show each option at one place")
    return Design(positions, presented)


def _sweep_records(folder: PanelFolder, entry: Mapping[str, str]) -> Records:
    data = folder.files.read(entry["name"])
    where = f"{folder.shown}/{entry['name']}"
    if data is None:
        raise RunError(f"{where} must be there: it holds a sweep's records. Export the panel again.")
    if sha(data) != entry["sha256"]:
        raise RunError(f"{where} must have the SHA-256 that panel.json says. It is damaged: export the panel again.")
    try:
        return from_parquet(data, where)
    except DataError as error:
        raise RunError(f"{where} cannot be read: {error}") from error


def sha(data: bytes) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(data).hexdigest()
