"""What each operation does to an added letter preference of known shape, over many cells (two-factors, D.3, Figure 6).

A preference is added to every query of a cell, calibration items included, and the priors are estimated anew. It is an
intervention on scores: it does not show that models form their preferences by addition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.mitigation.shapes import SHAPES
from orderbias.operations import preference
from orderbias.studies.findings import Column, Entry, Series, Table
from orderbias.studies.panel.answer_measures import operation_measures
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws, Estimates
from orderbias.studies.panel.operated_cells import (
    PRODUCT,
    OperatedCell,
    answers,
    cell_scores,
    log_priors,
)

Floats = NDArray[np.float64]

STRENGTHS = (-1.0, -0.5, 0.5, 1.0)
SHOWN = ("none", "pride", "batch-calibration", PRODUCT, f"pride>{PRODUCT}")
SETTINGS = tuple((shape, strength) for shape in SHAPES for strength in STRENGTHS)
_MMLU = "mmlu"


@dataclass(frozen=True, slots=True, eq=False)
class AddedPreferences:
    """Changes from the operation's own value without an addition, one row a setting, one column an operation.

    ``ranges`` is the mean over cells of the change in placement range and ``moved`` that of the share of answers that
    change, both ``(n_settings * n_operations,)``.
    """

    ranges: Estimates
    moved: Estimates


def chosen_cells(cells: Sequence[OperatedCell]) -> tuple[OperatedCell, ...]:
    """Return the four-option cells of one benchmark: MMLU if there, else that with most checkpoints.

    A benchmark is MMLU if its name starts so; of several, that with most checkpoints, then the shortest name.
    """
    found: dict[str, list[OperatedCell]] = {}
    for c in cells:
        if c.cell.n_options == 4 and (c.gold >= 0).all():
            found.setdefault(c.cell.benchmark, []).append(c)
    if not found:
        return ()

    def rank(benchmark: str) -> tuple[bool, int, int]:
        return not benchmark.lower().startswith(_MMLU), -len(found[benchmark]), len(benchmark)

    return tuple(found[min(found, key=rank)])


def preference_effects(
    operated: OperatedCell, settings: Sequence[tuple[str, float]] = SETTINGS
) -> Mapping[str, Floats]:
    """Add every preference to a cell and apply the operations again.

    Returns
    -------
    Mapping
        ``placement_range`` and ``moved``, each ``(n_settings, n_operations)``: the change from the operation without
        an addition, and the share of its answers that change.
    """
    scores = cell_scores(operated.cell, operated.seed, reversals=True)
    assert scores is not None
    k = operated.cell.n_options
    added = [strength * preference(shape, k) for shape, strength in settings]
    names = SHOWN * len(settings)
    offsets = [log_priors(name, scores.calibration + d) for d in added for name in SHOWN]
    choice = answers(scores, names, np.stack(offsets), np.repeat(added, len(SHOWN), axis=0))
    own = [operated.at(name) for name in SHOWN]
    before = operated.choice[own]
    ranges = operation_measures(choice, operated.gold, k)["placement_range"].reshape(len(settings), len(SHOWN))
    moved = (choice.reshape(len(settings), *before.shape) != before).mean(axis=(2, 3))
    return {"placement_range": ranges - operated.measures["placement_range"][own], "moved": moved}


def added_preferences(cells: Sequence[OperatedCell], draws: Draws) -> AddedPreferences:
    """Average the effects over the chosen cells."""
    effects = [preference_effects(c) for c in cells]
    ranges, moved = (np.stack([e[key].ravel() for e in effects]) for key in ("placement_range", "moved"))
    return AddedPreferences(draws.means(ranges), draws.means(moved))


def preferences_table(found: AddedPreferences, benchmark: str, n_cells: int) -> Table:
    """Return the points of Figure 6 as a table."""
    rows: list[tuple[Entry, ...]] = []
    product = SHOWN.index(PRODUCT)
    for s, (shape, strength) in enumerate(SETTINGS):
        at = s * len(SHOWN)
        changes = (found.ranges.number(at + o) for o in range(len(SHOWN)))
        rows.append((shape, strength, *changes, found.moved.number(at + product)))
    return Table(
        "added-preferences",
        "Change in placement range after adding a letter preference of known shape",
        (
            Column("shape", "Shape", "text"),
            Column("strength", "Strength (logits)", "number"),
            *(Column(name, name, "points") for name in SHOWN),
            Column("product_moved", "Answers of the product that change", "percent"),
        ),
        tuple(rows),
        resampled=CHECKPOINTS,
        level=found.ranges.level,
        source="two-factors, Figure 6",
        notes=(
            f"Mean over {n_cells} four-option cells of {benchmark}. A shape has mean zero and a root mean square of "
            "one over the letters; a negative strength reverses it. Priors are estimated after the addition.",
        ),
    )


def preferences_series(found: AddedPreferences) -> Series:
    """Return the points of Figure 6; strength 0 is where every change is 0."""
    points = []
    for shape in SHAPES:
        for strength in sorted({0.0, *STRENGTHS}):
            for o, operation in enumerate(SHOWN):
                point: dict[str, float | int | str | bool | None] = {
                    "operation": operation, "shape": shape, "strength": strength,
                }  # fmt: skip
                if strength:
                    number = found.ranges.number(SETTINGS.index((shape, strength)) * len(SHOWN) + o)
                    point |= {"placement_range": number.value, "low": number.low, "high": number.high}
                else:
                    point |= {"placement_range": 0.0, "low": None, "high": None}
                points.append(point)
    return tuple(points)
