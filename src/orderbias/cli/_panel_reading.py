"""A panel read back from the folder of its runs or from an export: cells with their measures; never a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orderbias.cells import cell_filter, cells
from orderbias.cli._panel_cells import CellPlace
from orderbias.cli._panel_file import PanelFile, SweepEntry
from orderbias.cli._panel_folder import PanelFolder
from orderbias.cli._panel_sources import CellSource, sources
from orderbias.errors import RunError
from orderbias.predictions import Predictions
from orderbias.strategies.one_letter import READOUT as ONE_LETTER
from orderbias.studies.panel import Panel, PanelCell, Settings, panel_cell
from orderbias.studies.panel.values import FIRST_TOKEN


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A cell before the filter."""

    place: CellPlace
    sweep: SweepEntry
    predictions: Predictions
    repeats: NDArray[np.int8] | None

    @property
    def readout(self) -> str:
        """The sweep's, unless the model showed no log-probabilities and wrote a letter instead."""
        if not self.predictions.readout.startswith(ONE_LETTER):
            return self.sweep.readout
        return ONE_LETTER if self.sweep.readout == FIRST_TOKEN else f"{ONE_LETTER} {self.sweep.readout}"

    @property
    def named(self) -> str:
        """The cell as a reader knows it."""
        return f"{self.predictions.model} on {self.predictions.benchmark} ({self.place.sweep})"


def read_panel(folder: str, settings: Settings | None = None) -> Panel:
    """Read the finished cells of a panel that pass the filter of two-factors, A.1.

    A cell is finished when every query has an answer or a failure; it passes when it has at least 90 % of the usable
    items that most cells of its benchmark have. What is left out is named in ``left_out``, and so are cells of drawn
    answers, which only ``repeats`` reads.

    Parameters
    ----------
    folder
        What ``orderbias panel run`` filled or ``orderbias panel export`` wrote, here or on another filesystem.
    settings
        How intervals are drawn.

    Raises
    ------
    RunError
        If there is no panel, it is damaged, or no cell is left.
    """
    opened = PanelFolder.of(folder)
    panel = opened.known_panel()
    unfinished: dict[CellPlace, str] = {}
    found = [cell for source in sources(opened, panel, unfinished) for cell in _built(source, panel)]
    left_out = list(panel.exported["left_out"]) if panel.exported is not None else []
    left_out += [unfinished[place] for place in panel.cells if place in unfinished]
    kept = _filtered(_told_apart(found), panel, left_out)
    if not kept:
        raise RunError(
            f"{opened.shown} must have a finished cell with usable items. It has none. {' '.join(left_out[:3])}"
        )
    read = tuple(_cell(cell, panel) for cell in kept)
    left_out += [_drawn(cell) for cell in read if cell.drawn]
    return Panel(read, tuple(left_out), settings or Settings())


def _drawn(cell: PanelCell) -> str:
    """Say who reads a cell of drawn answers: its flips are noise in part (two-factors, A.4)."""
    reads = "asked for once, and no analysis reads them" if cell.repeats is None else "only `repeats` reads them"
    return f"{cell.name} ({cell.readout}): its answers were drawn; {reads}."


def _built(source: CellSource, panel: PanelFile) -> list[_Found]:
    sweep = panel.sweep(source.place)
    built = cells(
        source.records, design=sweep.orderings, designs=source.designs, same_text=source.same_text,
        source=source.settings,
    )  # fmt: skip
    pairs = zip(built.predictions, built.repeats, strict=True)
    return [_Found(source.place, sweep, predictions, repeats) for predictions, repeats in pairs]


def _told_apart(found: Sequence[_Found]) -> list[_Found]:
    """Name a benchmark with its number of options where it has several."""
    sizes: dict[str, set[int]] = {}
    for cell in found:
        sizes.setdefault(cell.place.benchmark, set()).add(cell.predictions.n_options)
    return [
        cell
        if len(sizes[cell.place.benchmark]) == 1
        else replace(
            cell,
            predictions=replace(
                cell.predictions, benchmark=f"{cell.place.benchmark} (K = {cell.predictions.n_options})"
            ),
        )
        for cell in found
    ]


def _filtered(found: Sequence[_Found], panel: PanelFile, left_out: list[str]) -> list[_Found]:
    """Keep the cells with enough usable items; ``left_out`` gains a sentence for each other.

    Counts are compared with those of the first-token sweep, as in the paper, where that asked the same items.
    """
    whole = [s.name for s in panel.sweeps if s.readout == FIRST_TOKEN and s.n_items is None]
    kept = []
    for sweep in panel.sweeps:
        own = [cell.predictions for cell in found if cell.place.sweep == sweep.name]
        compared = list(own)
        if sweep.n_items is None and sweep.name not in whole:
            compared += [cell.predictions for cell in found if cell.place.sweep in whole[:1]]
        passing = {id(p) for p in cell_filter(compared)}
        for cell in (cell for cell in found if cell.place.sweep == sweep.name):
            usable = int(cell.predictions.usable.sum())
            if not usable:
                left_out.append(f"{cell.named} has no usable item.")
            elif id(cell.predictions) not in passing:
                left_out.append(f"{cell.named} has {usable:,} usable items, under 90 % of what most models have.")
            else:
                kept.append(cell)
    order = {id(cell): i for i, cell in enumerate(found)}
    return sorted(kept, key=lambda cell: order[id(cell)])


def _cell(cell: _Found, panel: PanelFile) -> PanelCell:
    return panel_cell(cell.predictions, panel.checkpoint(cell.place), readout=cell.readout, repeats=cell.repeats)
