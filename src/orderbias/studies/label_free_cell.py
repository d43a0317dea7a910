"""One model on one benchmark in the label-free study: all of its tables as one value; computes nothing of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.provenance import analysis_signature
from orderbias.operations.slices import take_items
from orderbias.predictions import Predictions
from orderbias.signature import Signature
from orderbias.studies.checks import Fallback, Lots, Stratum, TieRange, fallback, strata, tie_range
from orderbias.studies.grid import CELLS, Grid, attribute
from orderbias.studies.label_free import BASELINE, ArmRow, compare_arms

#: The arm that is each cell of the grid. Hidden options and a model in stage two are two-stage prompting itself.
GRID_ARMS = dict(zip(CELLS, ("two-stage", "hidden+match", "visible+model", "visible+match"), strict=True))


@dataclass(frozen=True, slots=True)
class RunState:
    """How far a run is: its queries, those left or failed, how answers were found, and the strategies it is for.

    ``n_scores`` of its replies were to hold a score of one option, of which ``n_unread`` held none and count 0.
    """

    name: str
    n_queries: int
    n_left: int
    found: Mapping[str, int] = field(default_factory=dict)
    n_scores: int = 0
    n_unread: int = 0
    strategies: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        told = {
            "run": self.name, "strategies": list(self.strategies), "n_queries": self.n_queries, "n_left": self.n_left,
            "found": dict(self.found),
        }  # fmt: skip
        scores = {"n_scores": self.n_scores, "n_unread_scores": self.n_unread} if self.n_scores else {}
        return told | scores


@dataclass(frozen=True, slots=True)
class Tables:
    """Everything that is said of the arms on one set of questions."""

    rows: tuple[ArmRow, ...]
    grid: Grid | None
    ties: tuple[TieRange, ...]
    fallbacks: tuple[Fallback, ...]
    strata: tuple[Stratum, ...]

    @property
    def n_items(self) -> int:
        """How many questions there are."""
        return self.rows[0].n_items

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "n_items": self.n_items,
            "arms": [row.as_dict() for row in self.rows],
            "grid": None if self.grid is None else self.grid.as_dict(),
            "tie_ranges": [row.as_dict() for row in self.ties],
            "fallback": [row.as_dict() for row in self.fallbacks],
            "item_types": [stratum.as_dict() for stratum in self.strata],
        }


@dataclass(frozen=True, slots=True)
class StudyCell:
    """Everything that is said of one model on one benchmark at one number of options.

    ``every`` is of all questions, ``common`` of those that every arm answered under every ordering; None where there is
    none. ``skipped`` gives the reason why a strategy has no arm, ``runs`` what the numbers were read from, ``notices``
    what must be kept in mind with them.
    """

    model: str
    benchmark: str
    n_options: int
    every: Tables
    common: Tables | None
    runs: tuple[RunState, ...]
    skipped: Mapping[str, str]
    notices: tuple[str, ...]
    signature: Signature

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "model": self.model,
            "benchmark": self.benchmark,
            "n_options": self.n_options,
            **self.every.as_dict(),
            "common": None if self.common is None else self.common.as_dict(),
            "runs": [run.as_dict() for run in self.runs],
            "skipped": dict(self.skipped),
            "notices": list(self.notices),
            "signature": str(self.signature),
        }


@dataclass(frozen=True, slots=True)
class CellData:
    """What a cell is computed from: predictions by arm, and what was found out beside them.

    Parameters
    ----------
    arms
        Of the same questions in the same order, ``direct`` among them.
    types
        The type of each question.
    lots
        By arm: what its ties would have become under other seeds.
    without
        By arm: the same with the answers that merely stand in a reply as unparsed.
    repeats
        The contents of the arms that were asked again, as :class:`orderbias.cells.Cells` holds them.
    """

    model: str
    benchmark: str
    arms: Mapping[str, Predictions]
    types: Sequence[str]
    lots: Mapping[str, Lots] = field(default_factory=dict)
    without: Mapping[str, Predictions] = field(default_factory=dict)
    repeats: Mapping[str, NDArray[np.int8]] = field(default_factory=dict)
    runs: tuple[RunState, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def of(self, rows: NDArray[np.bool_]) -> CellData:
        """Return what there is of some questions."""
        return replace(
            self,
            arms={name: take_items(arm, rows) for name, arm in self.arms.items()},
            types=[kind for kind, kept in zip(self.types, rows, strict=True) if kept],
            lots={name: lots.of(rows) for name, lots in self.lots.items()},
            without={name: take_items(arm, rows) for name, arm in self.without.items()},
            repeats={name: contents[rows] for name, contents in self.repeats.items()},
        )


def analyse(data: CellData, *, level: float = 0.95, resamples: int = 10_000, seed: int = 0) -> StudyCell:
    """Compare the arms of one cell, on all questions and on those that every arm answered.

    Parameters
    ----------
    data
        At least the baseline.
    level, resamples, seed
        Of the intervals.

    Raises
    ------
    ArgumentError
        As :func:`compare_arms`.
    """
    drawing: dict[str, Any] = {"level": level, "resamples": resamples, "seed": seed}
    every = _tables(data, drawing)
    answered = np.logical_and.reduce([arm.usable for arm in data.arms.values()])
    common = every if answered.all() else _tables(data.of(answered), drawing) if answered.any() else None
    direct = data.arms[BASELINE]
    return StudyCell(
        data.model,
        data.benchmark,
        direct.n_options,
        every,
        common,
        data.runs,
        data.skipped,
        data.notices,
        analysis_signature(direct, cluster=None, **drawing).extended(operations=", ".join(data.arms)),
    )


def _tables(data: CellData, drawing: dict[str, Any]) -> Tables:
    arms = data.arms
    cells = {cell: arms[name] for cell, name in GRID_ARMS.items() if name in arms}
    return Tables(
        compare_arms(arms, baseline=BASELINE, repeats=data.repeats, **drawing),
        attribute(cells, **drawing) if len(cells) == len(CELLS) else None,
        tuple(tie_range(name, arms[name], lots) for name, lots in data.lots.items()),
        tuple(fallback(name, arms[name], without) for name, without in data.without.items()),
        strata(arms, data.types, level=drawing["level"]),
    )
