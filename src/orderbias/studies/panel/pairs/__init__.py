"""Whether a comparison read off the pooled SD points where the flip rate does (two-factors, D.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.studies.findings import Column, Finding, Series, Table
from orderbias.studies.panel.pairs.paired_changes import STATISTICS, Changes, changes, side
from orderbias.studies.panel.pairs.pride import PrideCells, attribution_table, pride_cells
from orderbias.studies.panel.pairs.trends import LEAST_SIZES, directions, scale_trends
from orderbias.studies.panel.values import Panel, Pool, Settings
from orderbias.studies.panel.wording import capitalised

#: All pairs of checkpoints are many, and only whether an interval excludes zero is read: so many draws do.
ALL_PAIRS_DRAWS = 2_000
FLIPS, POOLED, KL = (STATISTICS.index(name) for name in ("flip_rate", "pooled_sd", "per_item_kl"))
_TITLE = "Does a lower pooled SD mean fewer flips?"
_LACKING = {
    "post-training pairs": "no checkpoint has its base on the same benchmark, with two items that both answered.",
    "checkpoint pairs": "no benchmark has two checkpoints with two items that both answered.",
    "PriDe cells": "no cell has label log-probabilities that PriDe can be applied to.",
    "scale trends": f"no family has checkpoints of {LEAST_SIZES} known sizes and one known training status on a "
    "benchmark.",
}

Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """Comparisons of one kind: the directions of ``STATISTICS``, ``(n, 3)``, and which changes are resolved."""

    name: str
    direction: NDArray[np.int64]
    resolved: NDArray[np.bool_] | None = None
    n_left_out: int = 0

    def opposite(self, statistic: int) -> NDArray[np.bool_]:
        """Whether the statistic moves against the flip rate, ``(n,)``."""
        return np.asarray(self.direction[:, statistic] * self.direction[:, FLIPS] < 0)

    def both_resolved(self, statistic: int) -> NDArray[np.bool_]:
        """Whether its change and that of the flip rate are both resolved, ``(n,)``; nowhere, where none can be."""
        if self.resolved is None:
            return np.zeros(len(self.direction), bool)
        return np.asarray(self.resolved[:, statistic] & self.resolved[:, FLIPS])


def pairs(panel: Panel) -> Finding:
    """Compare the direction of the pooled SD, and of the per-item KL, with that of the flip rate.

    Changes are those from a base checkpoint to its post-trained one on a benchmark, between any two checkpoints on
    it, and of a cell under PriDe. A comparison is opposite when the two changes differ in sign, and resolved when the
    item-bootstrap intervals of both exclude zero. Items are those that both sides answered. A scale trend compares
    rank correlations with the number of parameters, and has no resolved changes.
    """
    pool = panel.pool(panel.main_readout)
    settings = panel.settings
    groups = pool.by_benchmark
    trained = post_training_pairs(pool, groups)
    everyone = [list(combinations(group, 2)) for group in groups]
    moved = compared(pool, trained, settings, "post-training", settings.resamples)
    apart = compared(pool, everyone, settings, "checkpoints", min(settings.resamples, ALL_PAIRS_DRAWS))
    pride = pride_cells(pool, groups, settings)
    asked = (
        _kind("post-training pairs", moved),
        _kind("checkpoint pairs", apart),
        Kind("PriDe cells", pride.changes.direction, pride.changes.resolved, len(pride.left_out)),
        Kind("scale trends", directions(scale_trends(pool))),
    )
    kinds = [kind for kind in asked if len(kind.direction)]
    lacking = tuple(f"{capitalised(kind.name)}: {_LACKING[kind.name]}" for kind in asked if not len(kind.direction))
    if not kinds:
        why = "needs two checkpoints on a benchmark, or label log-probabilities, under the cyclic orderings; there are "
        return Finding("pairs", _TITLE, skipped=f"{why}{len(pool)} cells without either.")
    points = _points(pool, [pair for part in trained for pair in part], moved)
    tables = [opposite_table(kinds, panel)]
    if points:
        tables.append(sizes_table(kinds[0], moved, settings))
    if len(pride.cells):
        tables.append(attribution_table(pride, settings))
    series = {"post-training": points} if points else {}
    sentences = (*map(_sentence, kinds), *_post_training_sentences(moved), *_pride_sentence(pride))
    return Finding("pairs", _TITLE, tuple(tables), series, sentences, None, (*lacking, *pride.left_out))


def post_training_pairs(pool: Pool, groups: Sequence[NDArray[np.intp]]) -> list[list[tuple[int, int]]]:
    """Return, for each benchmark, the cells of each base checkpoint and of the one post-trained from it."""
    found = []
    for group in groups:
        cell_of = {pool.cells[i].checkpoint.name: i for i in group}
        bases = [(pool.cells[i].checkpoint.base, i) for i in group]
        found.append([(cell_of[base], i) for base, i in bases if base is not None and base in cell_of])
    return found


def compared(pool: Pool, parts: Sequence[Pairs], settings: Settings, name: str, resamples: int) -> Changes:
    """Return the changes of pairs of cells, given benchmark by benchmark."""
    rng = settings.rng(f"pairs {name}")
    found = []
    for part in parts:
        used = sorted({i for pair in part for i in pair})
        if used:
            sides = [side(pool.cells[i].predictions.item_ids, pool.cells[i].columns) for i in used]
            local = [(used.index(i), used.index(j)) for i, j in part]
            found.append(changes(sides, local, resamples=resamples, level=settings.level, rng=rng))
    return Changes.joined(found)


def _kind(name: str, found: Changes) -> Kind:
    there = found.n_items > 1
    return Kind(name, found.direction[there], found.resolved[there], int((~there).sum()))


def opposite_table(kinds: Sequence[Kind], panel: Panel) -> Table:
    """Return the share of comparisons in which a statistic moves opposite to the flip rate."""
    columns = [Column("comparison", "Comparison", "text"), Column("n", "Number", "count"),
               Column("n_left_out", "Left out", "count")]  # fmt: skip
    for key, head in (("pooled_sd", "pooled SD"), ("per_item_kl", "per-item KL")):
        columns += [
            Column(f"opposite_{key}", f"Opposite, {head}", "percent"),
            Column(f"n_resolved_{key}", f"Both resolved, {head}", "count"),
            Column(f"opposite_resolved_{key}", f"Opposite of the resolved, {head}", "percent"),
        ]
    return Table(
        "opposite", "Comparisons in which a statistic moves opposite to the flip rate", tuple(columns),
        tuple(_opposite_row(kind) for kind in kinds), "items", panel.settings.level, "two-factors, Table 16",
        ("Opposite: the two changes differ in sign; a change of exactly zero has none.",
         "Resolved: the item-bootstrap intervals of both changes exclude zero. Scale trends are rank correlations with "
         "the number of parameters within a family, training status and benchmark, and have no resolved changes.",
         f"Readout: {panel.main_readout}. Checkpoint pairs rest on {min(panel.settings.resamples, ALL_PAIRS_DRAWS):,} "
         f"draws of items, the other intervals on {panel.settings.resamples:,}."),
    )  # fmt: skip


def _opposite_row(kind: Kind) -> tuple[Any, ...]:
    row: list[Any] = [kind.name, len(kind.direction), kind.n_left_out]
    for statistic in (POOLED, KL):
        opposite, resolved = kind.opposite(statistic), kind.both_resolved(statistic)
        among = float(opposite[resolved].mean()) if resolved.any() else None
        row += [float(opposite.mean()), None if kind.resolved is None else int(resolved.sum()), among]
    return tuple(row)


def sizes_table(kind: Kind, moved: Changes, settings: Settings) -> Table:
    """Return how large the changes in pooled SD are, where post-training moves the two apart and elsewhere."""
    size = np.abs(moved.value[moved.n_items > 1, POOLED])
    opposite, resolved = kind.opposite(POOLED), kind.both_resolved(POOLED)
    rows = (
        ("all", np.ones(len(size), bool)),
        ("opposite, both resolved", opposite & resolved),
        ("opposite, not both resolved", opposite & ~resolved),
    )
    return Table(
        "post-training-sizes", "Sizes of the change in pooled SD between base and post-trained checkpoints",
        (Column("pairs", "Pairs", "text"), Column("n", "Number", "count"),
         Column("median_change", "Median change in pooled SD, either way")),
        tuple((name, int(here.sum()), float(np.median(size[here])) if here.any() else None) for name, here in rows),
        "", settings.level, "two-factors, D.5",
    )  # fmt: skip


def _points(pool: Pool, flat: Pairs, moved: Changes) -> Series:
    """Return Figure 9: a point a pair."""
    resolved, direction = moved.resolved, moved.direction
    points: list[Mapping[str, float | int | str | bool | None]] = []
    for row, (base, post) in enumerate(flat):
        if moved.n_items[row] < 2:
            continue
        named = {f"{name}_change": float(moved.value[row, i]) for i, name in enumerate(STATISTICS)}
        ends = {
            f"{name}_{end}": float(array[row, i])
            for i, name in enumerate(STATISTICS)
            for end, array in (("low", moved.low), ("high", moved.high))
        }
        first, second = pool.cells[base], pool.cells[post]
        points.append(
            {"name": f"{first.checkpoint.name} to {second.name}", "base": first.checkpoint.name,
             "post_trained": second.checkpoint.name, "benchmark": first.benchmark, "n_items": int(moved.n_items[row]),
             **named, **ends, "resolved": bool(resolved[row, FLIPS] and resolved[row, POOLED]),
             "opposite": bool(direction[row, FLIPS] * direction[row, POOLED] < 0)}
        )  # fmt: skip
    return tuple(points)


def _sentence(kind: Kind) -> str:
    opposite, resolved = kind.opposite(POOLED), kind.both_resolved(POOLED)
    said = f"The pooled SD moves opposite to the flip rate in {opposite.sum():,} of {len(opposite):,} {kind.name}"
    if kind.resolved is None:
        return f"{said}."
    return f"{said}, and in {(opposite & resolved).sum():,} of the {resolved.sum():,} with both changes resolved."


def _post_training_sentences(moved: Changes) -> tuple[str, ...]:
    there = moved.n_items > 1
    if not there.any():
        return ()
    direction, resolved = moved.direction[there], moved.resolved[there, FLIPS]
    fewer, more = direction[:, FLIPS] < 0, direction[:, FLIPS] > 0
    rises = fewer & (direction[:, POOLED] > 0)
    return (
        f"The post-trained checkpoint flips less than its base in {fewer.sum():,} of {there.sum():,} pairs "
        f"({(fewer & resolved).sum():,} resolved) and more in {more.sum():,} ({(more & resolved).sum():,} resolved).",
        *_rising(int(rises.sum())),
    )


def _rising(n: int) -> tuple[str, ...]:
    if not n:
        return ()
    return (f"In {n:,} of those with fewer flips the pooled SD rises, as the skew of the flips left rises by more.",)


def _pride_sentence(pride: PrideCells) -> tuple[str, ...]:
    lower = pride.changes.direction[:, POOLED] < 0
    if not lower.any():
        return ()
    not_fewer = lower & (pride.changes.direction[:, FLIPS] >= 0)
    return (
        f"PriDe lowers the pooled SD in {lower.sum():,} of {len(lower):,} cells; in {not_fewer.sum():,} of these the "
        "flip rate does not fall.",
    )
