"""How often two checkpoints change places on a benchmark when the ordering changes (two-factors, section 7 and D.1).

A pair of checkpoints reverses if one has more right answers under some presented ordering and the other under another,
on the same items. Equal numbers are no sign: a pair that ties under every ordering but one does not reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.measures.sums import ratio
from orderbias.studies.findings import Column, Entry, Style, Table
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws, Estimates
from orderbias.studies.panel.operated_cells import OperatedCell
from orderbias.studies.panel.shared_items import shared_items

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Reversals:
    """Which pairs of checkpoints reverse, by benchmark.

    Parameters
    ----------
    reversed
        ``(n_benchmarks, n_operations, n_blocks, n_blocks)``: 1 where the pair reverses; symmetric.
    pairs
        ``(n_benchmarks, n_blocks, n_blocks)``: 1 where both answered, and they share an item.
    """

    reversed: Floats
    pairs: Floats

    @property
    def n_pairs(self) -> int:
        """Pairs of checkpoints, over all benchmarks."""
        return int(self.pairs.sum() / 2)

    @property
    def n_benchmarks(self) -> int:
        """Benchmarks with a pair."""
        return int((self.pairs.sum(axis=(1, 2)) > 0).sum())

    def shares(self, draws: Draws) -> Estimates:
        """Return the share of reversing pairs under every operation, all benchmarks' pairs together."""
        return _shares(self.reversed.sum(axis=0), self.pairs.sum(axis=0), draws)

    def benchmark_means(self, draws: Draws) -> Estimates:
        """Return the same, a share for each benchmark and the mean of these."""
        n = len(self.reversed)
        each = [_shares(self.reversed[b], self.pairs[b], draws) for b in range(n) if self.pairs[b].any()]
        if not each:
            return _shares(self.reversed.sum(axis=0), self.pairs.sum(axis=0), draws)
        return Estimates(
            np.mean([e.values for e in each], axis=0), _mean_of_defined([e.draws for e in each]), draws.level
        )


def _mean_of_defined(parts: Sequence[Floats]) -> Floats:
    total = np.sum([np.nan_to_num(part) for part in parts], axis=0)
    return ratio(total, np.sum([~np.isnan(part) for part in parts], axis=0).astype(np.float64))


def _shares(reverse: Floats, pairs: Floats, draws: Draws) -> Estimates:
    """Weigh every pair by the product of its members' multiplicities: a checkpoint is no pair with itself."""

    def weigh(matrix: Floats, weights: Floats) -> Floats:
        return np.asarray(((weights @ matrix) * weights).sum(axis=-1))

    once = np.ones((1, draws.n_blocks))
    values, drawn = (
        np.stack([ratio(weigh(r, weights), weigh(pairs, weights)) for r in reverse], axis=1)
        for weights in (once, draws.weights)
    )
    return Estimates(values[0], drawn, draws.level)


def find_reversals(cells: Sequence[OperatedCell], draws: Draws, *, shared_by_all: bool) -> Reversals:
    """Compare every pair of checkpoints on every benchmark.

    Parameters
    ----------
    cells
        Cells under the same operations; one without a gold for every item is left out.
    draws
        The checkpoint of every cell.
    shared_by_all
        Compare on the items that all checkpoints of the benchmark share; else on those the pair shares.
    """
    groups: dict[tuple[str, int], list[int]] = {}
    for i, operated in enumerate(cells):
        if (operated.gold >= 0).all():
            groups.setdefault((operated.cell.benchmark, operated.cell.n_options), []).append(i)
    n, n_operations = draws.n_blocks, len(cells[0].names) if cells else 0
    reverse = np.zeros((len(groups), n_operations, n, n))
    pairs = np.zeros((len(groups), n, n))
    for b, members in enumerate(groups.values()):
        who = draws.block_of[members]
        block = np.ix_(who, who)
        found, pairs[b][block] = _compare([cells[i] for i in members], shared_by_all)
        for o in range(n_operations):
            reverse[b, o][block] = found[o]
    return Reversals(reverse, pairs)


def _compare(cells: Sequence[OperatedCell], shared_by_all: bool) -> tuple[Floats, Floats]:
    """Return which pairs reverse, ``(n_operations, m, m)``, and which are pairs, ``(m, m)``."""
    items = shared_items([c.item_ids for c in cells])
    # Single precision holds every whole number up to 16 million, and halves the memory.
    there = items.there.astype(np.float32)
    if shared_by_all:
        there *= there.all(axis=0)
    pairs = (there @ there.T > 0) & ~np.eye(len(cells), dtype=bool)
    found = np.stack([_reverse(cells, items.numbers, there, o) for o in range(len(cells[0].names))])
    return (found & pairs).astype(np.float64), pairs.astype(np.float64)


def _reverse(
    cells: Sequence[OperatedCell], where: Sequence[NDArray[np.integer]], there: NDArray[np.float32], operation: int
) -> NDArray[np.bool_]:
    ahead = np.zeros((len(cells), len(cells)), bool)
    right = np.zeros_like(there)
    for ordering in range(cells[0].choice.shape[2]):
        right[:] = 0
        for i, (cell, columns) in enumerate(zip(cells, where, strict=True)):
            right[i, columns] = cell.choice[operation, :, ordering] == cell.gold
        # Right answers of each on the items that it shares with each other one.
        counts = (right * there) @ there.T
        ahead |= counts > counts.T
    return ahead & ahead.T


def reversals_tables(
    common: Reversals,
    pairwise: Reversals,
    draws: Draws,
    names: Sequence[str],
    contrasts: Sequence[tuple[str, str]] = (),
) -> tuple[Table, Table]:
    """Return the shares of reversing pairs under every operation, on both counts, and their paired differences."""
    estimates = (common.shares(draws), pairwise.shares(draws), common.benchmark_means(draws))
    at = {name: i for i, name in enumerate(names)}
    levels: list[tuple[Entry, ...]] = [(name, *(e.number(at[name]) for e in estimates)) for name in names]
    differences: list[tuple[Entry, ...]] = [
        (after, before, *((e.take([at[after]]) - e.take([at[before]])).number() for e in estimates))
        for after, before in (*((name, "none") for name in names if name != "none"), *contrasts)
    ]

    def columns(style: Style) -> tuple[Column, ...]:
        return (
            Column("shared_by_all", "Items shared by all checkpoints", style),
            Column("shared_by_pair", "Items that a pair shares", style),
            Column("benchmark_mean", "Shared by all, mean of benchmarks' shares", style),
        )

    operation, minus = Column("operation", "Operation", "text"), Column("minus", "Minus", "text")
    source = "two-factors, section 7 and D.1"
    note = (
        f"{common.n_pairs} pairs on {common.n_benchmarks} benchmarks with items shared by all, {pairwise.n_pairs} "
        "pairs with items that the pair shares. A pair reverses if one checkpoint has more right answers under one "
        "ordering and the other under another; equal numbers are no sign. In a draw a pair counts with the product "
        "of its members' multiplicities; a checkpoint drawn twice is no pair with itself."
    )
    return (
        Table("rank-reversals", "Pairs of checkpoints whose order by accuracy changes with the ordering",
              (operation, *columns("percent")), tuple(levels), CHECKPOINTS, draws.level, source, (note,)),
        Table("rank-reversal-differences", "Rank reversals: paired differences between operations",
              (operation, minus, *columns("points")), tuple(differences), CHECKPOINTS, draws.level, source),
    )  # fmt: skip
