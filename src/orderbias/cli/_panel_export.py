"""``orderbias panel export``: the answers of a panel without items and replies, to be passed on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orderbias.cli._panel_cells import CellPlace
from orderbias.cli._panel_file import NAME
from orderbias.cli._panel_folder import PanelFolder
from orderbias.cli._panel_sources import CellSource, sha, sources
from orderbias.cli._running import check_out
from orderbias.cli._saying import say
from orderbias.cli._study_settings import folder as folder_name
from orderbias.errors import ArgumentError, RunError
from orderbias.records import concatenate, to_parquet

#: Some cells are not finished, and are no part of the export.
PARTLY = 2


def export_panel(folder: str, out: str) -> int:
    """Write one file of records a sweep, then the ``panel.json`` that names them; returns the exit code.

    An earlier export at ``out`` is whole until the last moment, and is replaced then.

    Raises
    ------
    ArgumentError
        If ``out`` holds something else.
    RunError
        If no cell is finished, or a folder cannot be read or written.
    """
    check_out(out)
    source, target = PanelFolder.of(folder), PanelFolder.of(out)
    panel = source.known_panel()
    if panel.exported is not None:
        raise ArgumentError(f"FOLDER must hold runs. {source.shown} was exported already: copy it.")
    before = _names_before(target)
    exported: dict[str, Any] = {"files": {}, "designs": {}, "same_text": {}, "cells": [], "left_out": []}
    left_out: dict[CellPlace, str] = {}
    for sweep in panel.sweeps:
        part = replace(panel, cells=tuple(place for place in panel.cells if place.sweep == sweep.name))
        found = list(sources(source, part, left_out))
        if found:
            data = to_parquet(concatenate([cell.records for cell in found]))
            name = f"{folder_name(sweep.name)}-{sha(data)[:12]}.parquet"
            target.files.write(name, data)
            exported["files"][sweep.name] = {"name": name, "sha256": sha(data)}
            _describe(exported, sweep.name, found)
    exported["left_out"] = [left_out[place] for place in panel.cells if place in left_out]
    if not exported["cells"]:
        raise RunError(
            f"{source.shown} must have a finished cell. It has none. {' '.join(exported['left_out'][:3])}".strip()
        )
    target.files.write(NAME, replace(panel, exported=exported).to_json())
    for name in set(before) - {entry["name"] for entry in exported["files"].values()} - {NAME}:
        target.files.delete(name)
    for line in exported["left_out"]:
        say(f"Left out: {line}")
    say(f"{len(exported['cells']):,} cells of {len(panel.cells):,} exported to {target.shown}.")
    return PARTLY if left_out else 0


def _describe(exported: dict[str, Any], sweep: str, found: Sequence[CellSource]) -> None:
    """Add what panel.json says of a sweep's cells: their rows in the file, settings, designs, options of one text."""
    exported["designs"][sweep] = {
        str(k): {"positions": design.positions.tolist(), "presented": design.presented.tolist()}
        for cell in found
        for k, design in cell.designs.items()
    }
    first = 0
    for cell in found:
        place, last = cell.place, first + len(cell.records)
        exported["cells"].append(
            {"sweep": place.sweep, "model": place.model, "benchmark": place.benchmark, "rows": [first, last],
             "settings": cell.settings.as_dict()}
        )  # fmt: skip
        doubles = exported["same_text"].setdefault(place.benchmark, {})
        doubles |= {item_id: list(contents) for item_id, contents in cell.same_text.items()}
        first = last


def _names_before(target: PanelFolder) -> list[str]:
    """Return the files of an earlier export.

    Raises
    ------
    ArgumentError
        If there is something else.
    """
    names = target.files.names()
    earlier = target.panel()
    if (names and earlier is None) or (earlier is not None and earlier.exported is None):
        raise ArgumentError(f"OUT must be new, empty or an earlier export. {target.shown} holds other files.")
    return names
