"""The pooling identity under other designs: two-factors, Tables 19 and 20."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.ranks import spearman
from orderbias.inference.resampling import percentile_interval
from orderbias.studies.findings import Column, Entry, Number, Table
from orderbias.studies.panel.all_orderings.designs import (
    ALL,
    CYCLIC,
    DESIGNS,
    DRAWS,
    GOLD,
    LATIN,
    RANDOM,
    SHARED,
    DesignStatistics,
)
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws, complete, row_medians
from orderbias.studies.panel.wording import written

Floats = NDArray[np.float64]
#: Resamples of Table 19 at most: a Spearman correlation is taken of every resample of every draw of a design.
RESAMPLES = 1_000
#: Designs with nothing to draw; their medians over draws are one value.
FIXED = (CYCLIC, ALL)
BALANCED = (CYCLIC, ALL, LATIN)
UNBALANCED = (RANDOM, SHARED, GOLD)


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Cells of one number of options under every design.

    Parameters
    ----------
    n_options
        K.
    designs
        By name, ``(n_cells, n_draws)``; a design that not every cell has covers those that have it.
    members
        By name, ``(n_cells,)``: which cells of the group the design covers.
    draws
        Draws of the checkpoints of all cells of the group.
    """

    n_options: int
    designs: Mapping[str, DesignStatistics]
    members: Mapping[str, NDArray[np.bool_]]
    draws: Draws


def residual_table(group: Group) -> Table:
    """Return how far the pooled SD is off the product under each design, and the per-item SD's lead (Table 19)."""
    rows = tuple(_residual_row(group, name) for name in DESIGNS if name in group.designs)
    columns = (
        Column("n_options", "K", "count"), Column("design", "Orderings", "text"), Column("n_cells", "Cells", "count"),
        Column("n_draws", "Draws", "count"), Column("undefined", "Cells left out", "count"),
        Column("residual_median", "Relative residual, median over cells", "percent"),
        Column("residual_max", "Largest", "percent"),
        Column("per_item_lead", "|r_s(per-item SD, accuracy)| - |r_s(pooled SD, accuracy)|"),
    )  # fmt: skip
    notes = (
        "Relative residual: |std(f) - FL std(g)| / std(f), of each cell the median over the sets or draws whose std(f) "
        "is above 0; a cell without any is left out and counted.",
        "The last column is the median over sets or draws, each with the accuracy under the same design.",
        f"Random designs are drawn {DRAWS} times; a shared set is the same in every cell. Intervals rest on at most "
        f"{RESAMPLES:,} resamples.",
    )
    return Table(
        f"designs-{group.n_options}", f"The pooling identity under other designs, {group.n_options} options", columns,
        rows, resampled=CHECKPOINTS, level=group.draws.level, source="two-factors, Table 19",
        notes=(*notes, *group.draws.notes),
    )  # fmt: skip


def _residual_row(group: Group, name: str) -> tuple[Entry, ...]:
    found = group.designs[name]
    draws = group.draws.of(group.members[name]).first(RESAMPLES)
    residual = row_medians(found.relative_residual)
    defined = residual[~np.isnan(residual)]
    lead = draws.ranked(lambda w: per_item_lead(found, w), complete(found.per_item_sd[:, 0], found.accuracy[:, 0]))
    return (
        group.n_options, name, len(residual), found.pooled_sd.shape[1], len(residual) - len(defined),
        draws.median(residual).number(), Number.of(float(defined.max()) if len(defined) else np.nan), lead.number(),
    )  # fmt: skip


def per_item_lead(found: DesignStatistics, weights: Floats) -> Floats:
    """Return, for each resample, the median over a design's draws of ``|r_s(per-item)| - |r_s(pooled)|``.

    Parameters
    ----------
    found
        ``(n_cells, n_draws)``.
    weights
        ``(n_resamples, n_cells)``.
    """
    leads = np.stack(
        [
            np.abs(spearman(item, right, weights)) - np.abs(spearman(pooled, right, weights))
            for item, pooled, right in zip(found.per_item_sd.T, found.pooled_sd.T, found.accuracy.T, strict=True)
        ],
        axis=1,
    )
    return row_medians(leads)


def corrected_table(group: Group) -> Table:
    """Return what subtracting ``b_S`` restores under each design (Table 20)."""
    rows = tuple(_corrected_row(group, name) for name in DESIGNS if name in group.designs)
    columns = (
        Column("n_options", "K", "count"), Column("design", "Orderings", "text"), Column("n_cells", "Cells", "count"),
        Column("corrected_residual", "Corrected residual, largest"),
        Column("n_residuals", "Cells and draws", "count"),
        Column("n_within_bound", "Residual within std(b_S)", "count"),
        Column("bound", "std(b_S), median over cells"), Column("ratio", "Residual / std(b_S), median over cells"),
        Column("ratio_max", "Largest"),
        Column("pooled", "r_s of the pooled SD and accuracy"), Column("corrected", "r_s of the corrected pooled SD"),
    )  # fmt: skip
    notes = (
        "Corrected residual: |std(f - b_S) - FL std(g)|, the largest over cells and draws; 0 but for rounding "
        "(two-factors, Eq. 11).",
        "Bound and ratio are of each cell the median over draws; the ratio is undefined where std(b_S) is 0, as under "
        "a balanced design.",
        f"Correlations are with the accuracy under the same design: the median over draws with the central 95 % of "
        f"the draws ({DRAWS} of a random design, {group.designs[LATIN].pooled_sd.shape[1]} Latin-square sets); no "
        "range where there is one draw.",
    )
    return Table(
        f"corrected-{group.n_options}", f"The pooled SD less the design's own part, {group.n_options} options", columns,
        rows, resampled="draws of the design", level=0.95, source="two-factors, Table 20", notes=notes,
    )  # fmt: skip


def within_bound(found: DesignStatistics) -> tuple[int, int]:
    """Count the draws of all cells whose residual is at most ``std(b_S)`` (Eq. 12), and all of them."""
    # Both sides are sums of a few shares, rounded.
    held = found.residual <= found.deviation_sd + 1e-12
    return int(held.sum()), held.size


def _corrected_row(group: Group, name: str) -> tuple[Entry, ...]:
    found = group.designs[name]
    held, n = within_bound(found)
    ratio = found.residual_over_bound
    largest = float(np.nanmax(ratio)) if not np.isnan(ratio).all() else np.nan
    return (
        group.n_options, name, len(found.pooled_sd), float(found.corrected_residual.max()), n, held,
        Number.of(float(np.median(row_medians(found.deviation_sd)))),
        Number.of(float(row_medians(row_medians(ratio)))), Number.of(largest),
        over_draws(found.pooled_sd, found.accuracy), over_draws(found.corrected_sd, found.accuracy),
    )  # fmt: skip


def over_draws(statistic: Floats, accuracy: Floats) -> Number:
    """Return the median over draws of Spearman's correlation over cells, with the central 95 % of the draws.

    Parameters
    ----------
    statistic, accuracy
        ``(n_cells, n_draws)``.
    """
    found = np.array([float(spearman(x, y)) for x, y in zip(statistic.T, accuracy.T, strict=True)])
    return Number.of(float(row_medians(found)), percentile_interval(found, 0.95) if len(found) > 1 else None)


def design_sentences(group: Group, residuals: Table) -> tuple[str, ...]:
    """Say where the identity holds and where it does not."""
    rows = {row["design"]: row for row in residuals.as_dict()["rows"]}
    balanced = max(float(group.designs[name].residual.max()) for name in BALANCED)
    exact = "is exact" if balanced < 1e-12 else f"is off by up to {balanced:.2g}"
    off = [
        f"{name}: {written(Number(rows[name]['residual_median']['value']))} of the pooled SD"
        for name in UNBALANCED
        if name in rows and rows[name]["residual_median"]["value"] is not None
    ]
    corrected = max(float(found.corrected_residual.max()) for found in group.designs.values())
    restored = "restores it under every draw" if corrected < 1e-12 else f"leaves up to {corrected:.2g}"
    counts = [within_bound(group.designs[name]) for name in UNBALANCED if name in group.designs]
    held, n = sum(c[0] for c in counts), sum(c[1] for c in counts)
    return (
        f"With {group.n_options} options the pooling identity {exact} on every balanced design, and off at the median "
        f"on the others ({'; '.join(off) or 'no cell has a pooled SD above 0'}).",
        f"Subtracting the stable items' deviation {restored}; the uncorrected residual is within its bound in {held:,} "
        f"of {n:,} cells and draws of unbalanced designs.",
    )
