"""How the pooled SD and the flip rate move with the number of parameters within a family (two-factors, Table 16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.ranks import spearman
from orderbias.studies.panel.cells import PanelCell
from orderbias.studies.panel.pairs.paired_changes import STATISTICS
from orderbias.studies.panel.values import Pool

#: Sizes that a trend needs.
LEAST_SIZES = 3


@dataclass(frozen=True, slots=True, eq=False)
class Trend:
    """Rank correlations with the number of parameters, in the order of ``STATISTICS``; NaN without spread."""

    family: str
    post_trained: bool
    benchmark: str
    n_checkpoints: int
    n_sizes: int
    correlations: NDArray[np.float64]


def scale_trends(pool: Pool) -> tuple[Trend, ...]:
    """Correlate by ranks within each family, training status and benchmark that has at least three sizes.

    Checkpoints whose family, size or training status is unknown belong to no trend.
    """
    groups: dict[tuple[object, ...], list[PanelCell]] = {}
    for cell in pool.cells:
        c = cell.checkpoint
        if c.family is not None and c.parameters is not None and c.post_trained is not None:
            groups.setdefault((c.family, c.post_trained, cell.benchmark, cell.n_options), []).append(cell)
    return tuple(trend for cells in groups.values() if (trend := _trend(cells)).n_sizes >= LEAST_SIZES)


def _trend(cells: list[PanelCell]) -> Trend:
    sizes = [float(cell.checkpoint.parameters or 0) for cell in cells]
    first = cells[0].checkpoint
    # A difference in the last bits is none, and must not make a rank.
    values = [np.round([cell.measures[name] for cell in cells], 12) for name in STATISTICS]
    return Trend(
        first.family or "", bool(first.post_trained), cells[0].benchmark, len(cells), len(set(sizes)),
        np.array([float(spearman(sizes, v)) for v in values]),
    )  # fmt: skip


def directions(trends: tuple[Trend, ...]) -> NDArray[np.int64]:
    """Return the directions of the trends, -1, 0 or 1, ``(n_trends, 3)``; 0 where there is none."""
    found = np.array([trend.correlations for trend in trends]).reshape(len(trends), len(STATISTICS))
    return np.where(np.abs(found) > 1e-9, np.sign(np.nan_to_num(found)), 0).astype(np.int64)
