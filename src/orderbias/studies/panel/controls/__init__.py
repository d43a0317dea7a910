"""Whether the flip rate follows accuracy for reasons other than that both are read off the same answers.

Sources: two-factors, C.4, Tables 11 and 12, Figure 8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orderbias.studies.findings import Column, Entry, Finding, Number, Series, Table
from orderbias.studies.panel.controls.cap_null import CapNull, cap_nulls, capped, figure, null_table, scaled_table
from orderbias.studies.panel.controls.disjoint import (
    COUNTS,
    GAPS,
    STATISTICS,
    Control,
    gaps,
    other_benchmarks,
    other_items,
    other_orderings,
)
from orderbias.studies.panel.estimates import CHECKPOINTS, FEWEST_DRAWN
from orderbias.studies.panel.values import Panel, Settings, need
from orderbias.studies.panel.wording import WORDS, written

TITLE = "Why the flip rate follows accuracy: its cap, and accuracy scored on other answers"


def controls(panel: Panel) -> Finding:
    """Compare the flip rate's association with accuracy with the null of its cap, and on disjoint answers.

    Parameters
    ----------
    panel
        Any panel.

    Returns
    -------
    Finding
        Tables ``cap_null``, ``scaled_flip_rate``, ``disjoint``, ``disjoint_cells`` and ``gaps``; series ``cap_null``.
    """
    pool = panel.pool(panel.main_readout)
    known = pool.where(~np.isnan(pool["accuracy"]))
    tables: list[Table] = []
    sentences: list[str] = []
    left: list[str] = []
    series: dict[str, Series] = {}
    short = need(capped(known), 3, "cells with known answers, some of them wrong, to build the null of the cap")
    if short:
        left.append(short)
    else:
        cells = capped(known)
        nulls = cap_nulls(cells, panel.settings)
        tables += [
            null_table(nulls, panel.settings, len(known) - len(cells)), scaled_table(cells, panel.settings)
        ]  # fmt: skip
        series["cap_null"] = figure(nulls)
        sentences += _say_null(nulls)
    found = [other_items(pool, panel.settings), other_benchmarks(pool, panel.settings), other_orderings(panel)]
    left += [why for why in found if isinstance(why, str)]
    parted = [control for some in found for control in _listed(some)]
    if parted:
        tables += [
            _disjoint(parted, panel.settings), _described(parted), _gaps(parted, panel.settings)
        ]  # fmt: skip
        sentences += _say_disjoint(parted)
    if not tables:
        return Finding("controls", TITLE, skipped=left[0])
    return Finding("controls", TITLE, tuple(tables), series, tuple(sentences), parts_skipped=tuple(left))


def _listed(found: Control | list[Control] | str) -> list[Control]:
    if isinstance(found, str):
        return []
    return found if isinstance(found, list) else [found]


def _disjoint(parted: Sequence[Control], settings: Settings) -> Table:
    columns = (
        Column("statistic", "Statistic", "text"),
        *(Column(control.name, f"On {control.scored}") for control in parted),
    )
    rows: list[tuple[Entry, ...]] = [
        (WORDS[name], *(control.of(name).number() for control in parted)) for name in STATISTICS
    ]
    return Table(
        "disjoint", "Spearman correlations with accuracy scored on answers that the statistic does not read", columns,
        tuple(rows), resampled=CHECKPOINTS, level=settings.level, source="two-factors, Table 12",
        notes=_notes(parted),
    )  # fmt: skip


def _notes(parted: Sequence[Control]) -> tuple[str, ...]:
    notes = ["Items and benchmarks are held fixed, so the intervals do not account for them."]
    if any(control.name == "own_orderings" for control in parted):
        notes.append("The last column reads accuracy off the same answers, for comparison with the one before it.")
    numbers = [number for control in parted for number in control.found.numbers]
    if any(number.value is not None and number.low is None for number in numbers):
        notes.append(f"No interval with one checkpoint, fewer than {FEWEST_DRAWN} cells to correlate, or equal draws.")
    return tuple(notes)


def _described(parted: Sequence[Control]) -> Table:
    """Say what each control compares, and the range of the other count-based statistics."""
    columns = (
        Column("control", "Control", "text"), Column("scored", "Accuracy scored on", "text"),
        Column("n_cells", "Cells", "count"), Column("n_checkpoints", "Checkpoints", "count"),
        Column("lowest", "Count-based, lowest r_s"), Column("highest", "Count-based, highest r_s"),
    )  # fmt: skip
    rows: list[tuple[Entry, ...]] = []
    for control in parted:
        ends = control.of(*COUNTS).values
        ends = ends[~np.isnan(ends)]
        ranged = (Number.of(ends.min()), Number.of(ends.max())) if len(ends) else (Number(None),) * 2
        rows.append((control.name, control.scored, control.n_cells, control.n_checkpoints, *ranged))
    note = f"The other count-based statistics are {', '.join(WORDS[name] for name in COUNTS)}."
    return Table("disjoint_cells", "What each control compares", columns, tuple(rows), source="two-factors, Table 12",
                 notes=(note,))  # fmt: skip


def _gaps(parted: Sequence[Control], settings: Settings) -> Table:
    columns = (
        Column("control", "Control", "text"), Column("gap", "Gap", "text"), Column("sd", "Of SDs"),
        Column("kl", "Of KLs"),
    )  # fmt: skip
    rows: list[tuple[Entry, ...]] = []
    for control in parted:
        for name, pairs in GAPS.items():
            rows.append((control.name, name, *gaps(control, pairs).joint_numbers))
    note = (
        "Intervals hold jointly over the two gaps of a row. The pooled statistics are the pooled SD and the forward KL."
    )
    return Table(
        "gaps", "How much larger a correlation with accuracy is in size than that of the pooled statistic", columns,
        tuple(rows), resampled=CHECKPOINTS, level=settings.level, source="two-factors, Table 12", notes=(note,),
    )  # fmt: skip


def _say_null(nulls: Sequence[CapNull]) -> list[str]:
    where = {"cap below one": "Where the cap binds", "cap one": "Where the cap restricts nothing"}
    return [
        f"{where[found.subset]} ({found.n_cells} cells), the flip rate's correlation with accuracy is "
        f"{written(found.observed)}; the cap alone gives {written(found.null)}, median and central 95 % "
        f"(P = {found.p:.2g})."
        for found in nulls
        if found.options == "all" and found.subset in where and found.p is not None
    ]


def _say_disjoint(parted: Sequence[Control]) -> list[str]:
    numbers = {control: control.of("flip_rate").number() for control in parted if control.name != "own_orderings"}
    return [
        f"With accuracy scored on {control.scored}, the flip rate has r_s = {written(number)}."
        for control, number in numbers.items()
        if number.value is not None
    ]
