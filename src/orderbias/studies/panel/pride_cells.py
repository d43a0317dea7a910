"""Each cell before and after PriDe, on the items that its prior was not estimated on (two-factors, D.5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.blocks import weighted_means, weighted_medians
from orderbias.inference.resampling import percentile_interval
from orderbias.measures import ItemColumns, build_columns
from orderbias.operations import PriDe, presented_alone, split, take_items
from orderbias.studies.findings import Column, Number, Table
from orderbias.studies.panel.paired_changes import NOTHING, STATISTICS, Changes, Side, changes, side
from orderbias.studies.panel.values import PanelCell, Pool, Settings

Floats = NDArray[np.float64]

SHARE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class PrideCells:
    """What PriDe does to cells.

    Parameters
    ----------
    cells
        Those that it can be applied to.
    changes
        Of these, after less before.
    attribution
        ``(n_cells, 3)``: the change in log pooled SD, in log skew and in log flip rate; NaN where one is undefined.
    left_out
        Cells with log-probabilities to which PriDe cannot be applied: a sentence each.
    """

    cells: Pool
    changes: Changes
    attribution: Floats
    left_out: tuple[str, ...] = field(default=())


def pride_cells(pool: Pool, groups: Sequence[Sequence[int]], settings: Settings) -> PrideCells:
    """Apply PriDe, its prior from 5 % of each cell's items, and compare both factors on the others.

    Parameters
    ----------
    pool
        Cells under the cyclic orderings; those without log-probabilities are passed over.
    groups
        Cells of one benchmark and one number of options.
    settings
        Draws of items; the seed also chooses the calibration items.
    """
    rng = settings.rng("pairs pride")
    kept: list[PanelCell] = []
    left_out: list[str] = []
    parts: list[Changes] = []
    logs: list[Floats] = []
    for group in groups:
        sides: list[Side] = []
        for cell in (pool.cells[i] for i in group if pool.cells[i].predictions.logprobs is not None):
            try:
                ids, before, after = before_and_after(cell, settings.seed)
            except ArgumentError as error:
                left_out.append(f"{cell.name}: PriDe cannot be applied. {error}")
                continue
            sides += [side(ids, before), side(ids, after)]
            kept.append(cell)
            logs.append(log_changes(before, after))
        if sides:
            pairs = [(i, i + 1) for i in range(0, len(sides), 2)]
            parts.append(changes(sides, pairs, resamples=settings.resamples, level=settings.level, rng=rng))
    attribution = np.array(logs) if logs else np.zeros((0, 3))
    return PrideCells(Pool(tuple(kept)), Changes.joined(parts), attribution, tuple(left_out))


def before_and_after(cell: PanelCell, seed: int) -> tuple[NDArray[np.object_], ItemColumns, ItemColumns]:
    """Return the ids of the evaluated items, and their columns before and after PriDe.

    Raises
    ------
    ArgumentError
        If there are too few items, or no prior can be estimated or divided out.
    """
    parts = split(presented_alone(cell.predictions), SHARE, seed)
    after = PriDe().fit(parts.calibration).apply(parts.evaluation)
    both = after.usable
    if not both.any():
        raise ArgumentError("No evaluated item has log-probabilities under every ordering.")
    before, after = take_items(parts.evaluation, both), take_items(after, both)
    return before.item_ids, build_columns(before), build_columns(after)


def log_changes(before: ItemColumns, after: ItemColumns) -> Floats:
    """Return the changes in log pooled SD, log skew and log flip rate, ``(3,)``; NaN where a factor is 0."""
    found = np.full((2, 3), np.nan)
    for row, columns in enumerate((before, after)):
        sums = columns.sums
        rate = float(sums.mean("flip"))
        spread = float(sums.mean("f").std())
        if rate > 0 and spread > NOTHING:
            found[row] = math.log(spread), math.log(spread / rate), math.log(rate)
    return np.asarray(found[1] - found[0])


def attribution_table(found: PrideCells, settings: Settings) -> Table:
    """Say which factor carries the change in the log pooled SD where PriDe lowers it, and where it raises it."""
    draws = found.cells.checkpoint_draws(settings, "pairs pride")
    if len(set(found.cells.checkpoints.tolist())) < 2:
        draws = draws[:0]
    direction = found.changes.direction[:, STATISTICS.index("pooled_sd")]
    rows = [
        (name, *_attributed(found, direction == sign, draws, settings.level))
        for name, sign in (("lowers the pooled SD", -1), ("raises the pooled SD", 1))
        if (direction == sign).any()
    ]
    return Table(
        "pride-attribution", "Which factor carries PriDe's change in the pooled SD", (
            Column("cells_where_pride", "Cells where PriDe", "text"),
            Column("n_cells", "Cells", "count"),
            Column("n_undefined", "Without a logarithm", "count"),
            Column("skew_share", "Median share of the skew", "number"),
            Column("flip_rate_share", "Median share of the flip rate", "number"),
            Column("flip_rate_not_lower", "Flip rate does not fall", "percent"),
        ), tuple(rows), "checkpoints, each with all its cells", settings.level, "two-factors, D.5",
        ("The share of the skew is its change in log over that of the pooled SD; that of the flip rate is one less it. "
         "Either can be below 0 or above 1, where the factors move in opposite directions.",
         "The cells are chosen by the direction in which their pooled SD moved; the choice is not resampled."),
    )  # fmt: skip


def _attributed(
    found: PrideCells, here: NDArray[np.bool_], draws: Floats, level: float
) -> tuple[int, int, Number, Number, Number]:
    defined = here & ~np.isnan(found.attribution).any(axis=1)
    shares = skew_shares(found.attribution[defined])
    not_lower = (found.changes.direction[here, STATISTICS.index("flip_rate")] >= 0).astype(float)
    medians = [
        Number.of(
            float(np.median(values)) if len(values) else math.nan,
            percentile_interval(weighted_medians(values, draws[:, defined]), level),
        )
        for values in (shares, 1 - shares)
    ]
    kept = Number.of(float(not_lower.mean()), percentile_interval(weighted_means(not_lower, draws[:, here]), level))
    return int(here.sum()), int((here & ~defined).sum()), medians[0], medians[1], kept


def skew_shares(attribution: Floats) -> Floats:
    """Return ``dlog std(g) / dlog std(f)`` of each row of :attr:`PrideCells.attribution`."""
    return np.asarray(attribution[:, 1] / attribution[:, 0])
