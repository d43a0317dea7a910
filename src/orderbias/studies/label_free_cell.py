"""One model on one benchmark in the label-free study: all of its tables as one value; computes nothing of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.provenance import analysis_signature
from orderbias.predictions import Predictions
from orderbias.signature import Signature
from orderbias.studies.checks import Fallback, Stratum, TieRange, strata
from orderbias.studies.grid import CELLS, Grid, attribute
from orderbias.studies.label_free import BASELINE, ArmTable, compare_arms

#: The arm that is each cell of the grid. Hidden options and a model in stage two are two-stage prompting itself.
GRID_ARMS = dict(zip(CELLS, ("two-stage", "hidden+match", "visible+model", "visible+match"), strict=True))


@dataclass(frozen=True, slots=True)
class RunState:
    """How far a run is: its queries, those answered without an error, and how answers were found."""

    name: str
    n_queries: int
    n_left: int
    found: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"run": self.name, "n_queries": self.n_queries, "n_left": self.n_left, "found": dict(self.found)}


@dataclass(frozen=True, slots=True)
class StudyCell:
    """Everything that is said of one model on one benchmark at one number of options.

    ``skipped`` gives the reason why a strategy has no arm, ``runs`` what the numbers were read from.
    """

    model: str
    benchmark: str
    n_options: int
    table: ArmTable
    grid: Grid | None
    ties: TieRange | None
    fallbacks: tuple[Fallback, ...]
    strata: tuple[Stratum, ...]
    runs: tuple[RunState, ...]
    skipped: Mapping[str, str]
    signature: Signature

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "model": self.model,
            "benchmark": self.benchmark,
            "n_options": self.n_options,
            **self.table.as_dict(),
            "grid": None if self.grid is None else self.grid.as_dict(),
            "tie_range": None if self.ties is None else self.ties.as_dict(),
            "fallback": [row.as_dict() for row in self.fallbacks],
            "item_types": [stratum.as_dict() for stratum in self.strata],
            "runs": [run.as_dict() for run in self.runs],
            "skipped": dict(self.skipped),
            "signature": str(self.signature),
        }


@dataclass(frozen=True, slots=True)
class CellData:
    """What a cell is computed from: predictions by arm, and what was found out beside them.

    ``repeats`` holds the contents of the arms that were asked again, as :class:`orderbias.cells.Cells` does.
    """

    model: str
    benchmark: str
    arms: Mapping[str, Predictions]
    types: Sequence[str]
    ties: TieRange | None = None
    fallbacks: tuple[Fallback, ...] = ()
    runs: tuple[RunState, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    repeats: Mapping[str, NDArray[np.int8]] = field(default_factory=dict)


def analyse(data: CellData, *, level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> StudyCell:
    """Compare the arms of one cell.

    Parameters
    ----------
    data
        Arms of the same questions in the same order, ``direct`` among them.
    level, resamples, seed
        Of the intervals.

    Raises
    ------
    ArgumentError
        As :func:`compare_arms`.
    """
    arms, drawing = data.arms, {"resamples": resamples, "seed": seed}
    table = compare_arms(arms, baseline=BASELINE, level=level, repeats=data.repeats, **drawing)
    cells = {cell: arms[name] for cell, name in GRID_ARMS.items() if name in arms}
    direct = arms[BASELINE]
    return StudyCell(
        data.model,
        data.benchmark,
        direct.n_options,
        table,
        attribute(cells, level=level, resamples=resamples, seed=seed) if len(cells) == len(CELLS) else None,
        data.ties,
        data.fallbacks,
        strata(arms, data.types, level=level),
        data.runs,
        data.skipped,
        analysis_signature(direct, level=level, cluster=None, **drawing).extended(operations=", ".join(arms)),
    )
