"""Whether a benchmark's ranking of models survives a reordering of the options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from orderbias.studies.findings import Column, Finding, Number, Series, Table
from orderbias.studies.panel.cells import PanelCell
from orderbias.studies.panel.leaderboard.standings import (
    OPERATIONS,
    Board,
    Standing,
    build_board,
    items_to_resolve,
    kendall,
    reversing,
    stand,
)
from orderbias.studies.panel.values import FIRST_TOKEN, Panel
from orderbias.studies.panel.wording import capitalised

_TITLE = "Does the ranking of models survive a reordering of the options?"
#: Pairs that a sentence names.
_NAMED = 6


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """A benchmark's ranking under a label of its own, and which pairs of models change order, ``(n, n)``."""

    label: str
    board: Board
    standing: Standing
    reverses: NDArray[np.bool_]

    @property
    def neighbours(self) -> list[tuple[int, int]]:
        """Each model of the canonical ranking and the next."""
        order = self.standing.order.tolist()
        return list(pairwise(order))

    @property
    def unstable(self) -> list[int]:
        """Places among ``neighbours`` of those that change order between some two rotations."""
        return [place for place, pair in enumerate(self.neighbours) if self.reverses[pair]]


def leaderboard(panel: Panel) -> Finding:
    """Rank the models of each benchmark by accuracy, canonically, under each rotation and under each operation.

    A pair changes order when one model has more right answers under some rotation and the other under another. All
    conditions of a benchmark are scored on the same items: those that every model answered under all of them and, where
    operations are compared, that calibrate for none.
    """
    found: list[Ranked] = []
    lacking: list[str] = []
    rng = panel.settings.rng("leaderboard")
    for label, cells in _benchmarks(panel).items():
        why = _unfit(cells)
        board = None if why else build_board(cells, panel.settings.seed)
        if board is None:
            lacking.append(f"{label}: {why or 'its models share fewer than two items.'}")
            continue
        found.append(Ranked(label, board, stand(board, panel.settings, rng), reversing(board.by_rotation)))
        gone = [name for name in OPERATIONS if name not in board.conditions]
        if gone:
            lacking.append(f"{label}: without {', '.join(gone)}, which not all of its models' answers allow.")
    if not found:
        why = "needs a benchmark that two checkpoints answered under the cyclic orderings; there is none. "
        return Finding("leaderboard", _TITLE, skipped=(why + " ".join(lacking)).strip())
    tables = (
        _summary(found), _neighbour_table(found, panel.settings.level), _agreement(found),
        *(_rank_table(r, panel.settings.level) for r in found),
    )  # fmt: skip
    return Finding(
        "leaderboard", _TITLE, tables, {"ranks": _points(found)}, (_overall(found), *map(_sentence, found)), None,
        tuple(lacking),
    )  # fmt: skip


def _benchmarks(panel: Panel) -> dict[str, list[PanelCell]]:
    """Return the cells that are ranked together, under the name that a reader knows them by."""
    cells = [cell for readout in panel.readouts for cell in panel.pool(readout).cells]
    sizes: dict[str, set[int]] = {}
    for cell in cells:
        sizes.setdefault(cell.benchmark, set()).add(cell.n_options)
    groups: dict[str, list[PanelCell]] = {}
    for cell in cells:
        label = cell.benchmark if cell.readout == FIRST_TOKEN else f"{cell.benchmark} ({cell.readout})"
        if len(sizes[cell.benchmark]) > 1:
            label += f", {cell.n_options} options"
        groups.setdefault(label, []).append(cell)
    return groups


def _unfit(cells: Sequence[PanelCell]) -> str | None:
    if len(cells) < 2:
        return "only one model answered it."
    if any((cell.predictions.gold < 0).any() for cell in cells):
        return "not every item has a gold answer."
    return None


def _summary(found: Sequence[Ranked]) -> Table:
    rows = []
    for r in found:
        n = len(r.board.checkpoints)
        rotations = r.standing.rank[:, : r.board.n_options]
        taus = [kendall(r.board.by_rotation[:, 0], other) for other in r.board.by_rotation.T[1:]]
        n_reversed = int(r.reverses.sum()) // 2
        rows.append(
            (r.label, n, r.board.n_items, n - 1, len(r.unstable), n * (n - 1) // 2, n_reversed,
             2 * n_reversed / (n * (n - 1)), int((rotations != rotations[:, :1]).any(axis=1).sum()),
             Number.of(float(np.min(taus))).value, "no" if r.unstable else "yes")
        )  # fmt: skip
    return Table(
        "benchmarks", "How far the ranking of each benchmark depends on the order of the options", (
            Column("benchmark", "Benchmark", "text"), Column("n_models", "Models", "count"),
            Column("n_items", "Items", "count"), Column("n_adjacent", "Adjacent pairs", "count"),
            Column("n_adjacent_changing", "of them change order", "count"), Column("n_pairs", "All pairs", "count"),
            Column("n_pairs_changing", "of them change order", "count"),
            Column("rank_reversals", "Rank reversals", "percent"),
            Column("n_rank_changes", "Models whose rank changes", "count"),
            Column("lowest_tau", "Lowest Kendall tau with the canonical order"),
            Column("survives", "Ranking survives", "text"),
        ), tuple(rows), notes=(
            "Adjacent in the ranking of the canonical order. A pair changes order when one model has more right "
            "answers under one rotation and the other under another; a tie is no order.",
            "If no adjacent pair changes order, no pair does, and the ranking is the same under every rotation but for "
            "ties.",
        ),
    )  # fmt: skip


def _neighbour_table(found: Sequence[Ranked], level: float) -> Table:
    rows = []
    for r in found:
        accuracies = r.board.by_rotation / r.board.n_items
        for place in r.unstable:
            better, other = r.neighbours[place]
            gaps = accuracies[better] - accuracies[other]
            mean = float(gaps.mean())
            ends = (float(r.standing.gap_low[place]), float(r.standing.gap_high[place]))
            needed = items_to_resolve(r.board.averaged[better], r.board.averaged[other], level)
            rows.append(
                (r.label, r.board.checkpoints[better], r.board.checkpoints[other], float(gaps[0]), float(gaps.min()),
                 float(gaps.max()), int((gaps < 0).sum()), Number.of(mean, ends), r.board.n_items, needed)
            )  # fmt: skip
    return Table(
        "order-dependent", "Adjacent pairs whose order changes between some two rotations", (
            Column("benchmark", "Benchmark", "text"), Column("ahead", "Ahead in the canonical order", "text"),
            Column("behind", "Behind", "text"), Column("difference_canonical", "Difference, canonical", "points"),
            Column("difference_lowest", "Lowest over rotations", "points"),
            Column("difference_highest", "Highest", "points"),
            Column("n_rotations_behind", "Rotations where it is behind", "count"),
            Column("difference", "Difference, all rotations", "points"), Column("n_items", "Items", "count"),
            Column("items_to_resolve", "Items that would resolve it", "count"),
        ), tuple(rows), "items", level, notes=(
            "Differences in accuracy, of the same items. The last column is how many items like these would make the "
            "interval of the difference over all rotations just exclude zero; none where there is no difference.",
        ),
    )  # fmt: skip


def _agreement(found: Sequence[Ranked]) -> Table:
    rows = []
    for r in found:
        totals = r.board.right.sum(axis=2, dtype=np.int64)
        rows += [
            (r.label, name, Number.of(kendall(totals[:, 0], totals[:, c])).value)
            for c, name in list(enumerate(r.board.conditions))[1:]
        ]
    return Table(
        "agreement", "Agreement of rankings with that of the canonical order",
        (Column("benchmark", "Benchmark", "text"), Column("condition", "Ranking", "text"),
         Column("tau", "Kendall tau")),
        tuple(rows), notes=("Kendall's tau-b: ties count as neither agreement nor disagreement.",
                            "none and the operations: accuracy over all rotations."),
    )  # fmt: skip


def _rank_table(r: Ranked, level: float) -> Table:
    standing, accuracy = r.standing, r.board.accuracy
    rows = []
    for m in standing.order.tolist():
        numbers = zip(standing.rank[m], standing.low[m], standing.high[m], strict=True)
        rows.append(
            (r.board.checkpoints[m], float(accuracy[m, 0]), float(accuracy[m, r.board.n_options]),
             *(Number.of(float(rank), (float(low), float(high))) for rank, low, high in numbers))
        )  # fmt: skip
    return Table(
        f"ranks-{r.label}", f"Ranks on {r.label}", (
            Column("checkpoint", "Model", "text"), Column("accuracy_canonical", "Accuracy, canonical", "percent"),
            Column("accuracy", "Accuracy, all rotations", "percent"),
            *(Column(f"rank_{_key(name)}", _head(name)) for name in r.board.conditions),
        ), tuple(rows), "items", level, notes=(
            f"1 is best; models that tie share the average rank. {r.board.n_items:,} items that all models share and "
            "on which no operation is calibrated. "
            "none and the operations rank by accuracy over all rotations.",
        ),
    )  # fmt: skip


def _head(condition: str) -> str:
    """Return a condition as a head: orders with a capital, operations by the name a command line knows."""
    return capitalised(condition) if condition.startswith(("canonical", "rotation")) else condition


def _points(found: Sequence[Ranked]) -> Series:
    """Return a point a model and condition."""
    return tuple(
        {"benchmark": r.label, "condition": condition, "checkpoint": checkpoint,
         "accuracy": float(accuracy[m, c]), "rank": float(r.standing.rank[m, c]), "low": float(r.standing.low[m, c]),
         "high": float(r.standing.high[m, c])}
        for r in found
        for accuracy in (r.board.accuracy,)
        for m, checkpoint in enumerate(r.board.checkpoints)
        for c, condition in enumerate(r.board.conditions)
    )  # fmt: skip


def _overall(found: Sequence[Ranked]) -> str:
    kept = [r.label for r in found if not r.unstable]
    names = f": {', '.join(kept)}" if kept else ""
    return f"But for ties, {len(kept)} of {len(found)} rankings are the same under every rotation{names}."


def _sentence(r: Ranked) -> str:
    n, unstable = len(r.neighbours), r.unstable
    if not unstable:
        return f"On {r.label} no adjacent pair of the {n + 1} models changes order under any rotation."
    pairs = [r.neighbours[place] for place in unstable]
    named = [" and ".join(r.board.checkpoints[m] for m in pair) for pair in pairs]
    more = f"; and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return (
        f"On {r.label} {len(named)} of {n} adjacent {'pair' if n == 1 else 'pairs'} "
        f"{'changes' if len(named) == 1 else 'change'} order between rotations: {'; '.join(named[:_NAMED])}{more}."
    )


def _key(name: str) -> str:
    return name.replace(" ", "_").replace("-", "_").replace(">", "_then_")
