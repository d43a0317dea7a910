"""Each cell before and after PriDe, on the items that its prior was not estimated on (two-factors, D.5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.measures import ItemColumns, build_columns
from orderbias.operations import PriDe, presented_alone, take_items
from orderbias.studies.findings import Column, Number, Table
from orderbias.studies.panel.calibration import calibration_split
from orderbias.studies.panel.cells import PanelCell
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws, checkpoint_draws
from orderbias.studies.panel.pairs.paired_changes import NOTHING, STATISTICS, Changes, Side, changes, side
from orderbias.studies.panel.values import Pool, Settings

Floats = NDArray[np.float64]


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


def pride_cells(pool: Pool, groups: Sequence[NDArray[np.intp]], settings: Settings) -> PrideCells:
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
    parts = calibration_split(presented_alone(cell.predictions), seed)
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
    draws = checkpoint_draws(found.cells, settings, "pairs pride")
    direction = found.changes.direction[:, STATISTICS.index("pooled_sd")]
    rows = [
        (name, *_attributed(found, direction == sign, draws))
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
        ), tuple(rows), CHECKPOINTS, settings.level, "two-factors, D.5",
        ("The share of the skew is its change in log over that of the pooled SD; that of the flip rate is one less it. "
         "Either can be below 0 or above 1, where the factors move in opposite directions.",
         "The cells are chosen by the direction in which their pooled SD moved; the choice is not resampled."),
    )  # fmt: skip


def _attributed(found: PrideCells, here: NDArray[np.bool_], draws: Draws) -> tuple[int, int, Number, Number, Number]:
    defined = here & ~np.isnan(found.attribution).any(axis=1)
    shares = np.where(defined, skew_shares(found.attribution), np.nan)
    not_lower = found.changes.direction[:, STATISTICS.index("flip_rate")] >= 0
    kept = draws.means(np.where(here, not_lower, np.nan))
    medians = draws.median(shares), draws.median(1 - shares)
    return int(here.sum()), int((here & ~defined).sum()), medians[0].number(), medians[1].number(), kept.number()


def skew_shares(attribution: Floats) -> Floats:
    """Return ``dlog std(g) / dlog std(f)`` of each row of :attr:`PrideCells.attribution`."""
    pooled, skew = attribution[:, 0], attribution[:, 1]
    return np.asarray(np.divide(skew, pooled, out=np.full(len(pooled), np.nan), where=pooled != 0))
