"""The models of a benchmark ranked by accuracy under each rotation and each operation, on the same items.

Knows arrays and cells; writes no table. Right answers are counted in whole numbers, so that a tie is a tie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from orderbias.inference.resampling import resampled_sums
from orderbias.studies.panel.cells import PanelCell
from orderbias.studies.panel.operated_cells import OperatedCell, operate
from orderbias.studies.panel.shared_items import shared_items
from orderbias.studies.panel.values import Settings

Floats = NDArray[np.float64]

#: Operations that a ranking is shown under, by the names that ``mitigate`` takes.
OPERATIONS = ("pride", "batch-calibration", "reversal-product", "pride>reversal-product")
#: Multiplicities multiplied at once.
_DRAWS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """Right answers of the models of a benchmark.

    Parameters
    ----------
    benchmark, readout, n_options
        Which.
    checkpoints
        The models, in the order of the panel.
    conditions
        ``canonical``, ``rotation 1`` ..., then ``none`` (all rotations together) and operations.
    right
        Rotations with a right answer: ``(n_checkpoints, n_conditions, n_items)``, 0 or 1 for a rotation, 0..K else.
    """

    benchmark: str
    readout: str
    n_options: int
    checkpoints: tuple[str, ...]
    conditions: tuple[str, ...]
    right: NDArray[np.int16]

    @property
    def n_items(self) -> int:
        """Items that all models answered under all conditions, calibration items not among them."""
        return int(self.right.shape[2])

    @property
    def accuracy(self) -> Floats:
        """Share of right answers, ``(n_checkpoints, n_conditions)``."""
        times = np.where(np.arange(len(self.conditions)) < self.n_options, 1, self.n_options)
        return np.asarray(self.right.sum(axis=2, dtype=np.int64) / (times * self.n_items))

    @property
    def by_rotation(self) -> NDArray[np.int64]:
        """Right answers under each rotation, ``(n_checkpoints, K)``."""
        return np.asarray(self.right[:, : self.n_options].sum(axis=2, dtype=np.int64))

    @property
    def averaged(self) -> NDArray[np.int16]:
        """Rotations with a right answer, without an operation, ``(n_checkpoints, n_items)``."""
        return self.right[:, self.n_options]


def build_board(cells: Sequence[PanelCell], seed: int) -> Board | None:
    """Lay out the cells of a benchmark; None where fewer than two items are shared by all.

    Operations are those that every cell allows. The items are then those held out from calibration, which the seed
    chooses.
    """
    operated = [operate(cell, seed) if cell.predictions.logprobs is not None else None for cell in cells]
    common = [o for o in operated if o is not None]
    if len(common) == len(cells):
        names = tuple(name for name in OPERATIONS if all(name in o.names for o in common))
        parts = [_operated(o, names) for o in common]
    else:
        names = ()
        parts = [_as_asked(cell) for cell in cells]
    items = shared_items([ids for ids, _ in parts])
    by_all = np.flatnonzero(items.there.all(axis=0))
    if len(by_all) < 2:
        return None
    right = np.zeros((len(parts), len(parts[0][1]), items.n_items), np.int16)
    for rows, numbers, (_, table) in zip(right, items.numbers, parts, strict=True):
        rows[:, numbers] = table
    right = right[:, :, by_all]
    k = cells[0].n_options
    conditions = ("canonical", *(f"rotation {s}" for s in range(1, k)), "none", *names)
    return Board(
        cells[0].benchmark, cells[0].readout, k, tuple(cell.checkpoint.name for cell in cells), conditions, right
    )


def _operated(operated: OperatedCell, names: Sequence[str]) -> tuple[NDArray[np.object_], NDArray[np.int16]]:
    right = operated.choice == operated.gold[:, None]
    table = [*right[operated.at("none")].T, *(right[operated.at(name)].sum(axis=1) for name in ("none", *names))]
    return operated.item_ids, np.array(table, np.int16)


def _as_asked(cell: PanelCell) -> tuple[NDArray[np.object_], NDArray[np.int16]]:
    p = cell.predictions
    right = p.choice[:, p.presented] == p.gold[:, None]
    return p.item_ids, np.array([*right.T, right.sum(axis=1)], np.int16)


def ranks(right: NDArray[np.integer]) -> Floats:
    """Return ranks along the first axis, 1 for most right answers, average ranks for equal ones.

    Examples
    --------
    >>> ranks(np.array([5, 9, 5])).tolist()
    [2.5, 1.0, 2.5]
    """
    twice = np.zeros(right.shape, np.int32)
    for theirs in right:
        twice += theirs > right
        twice += theirs >= right
    return np.asarray((twice + 1) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Ranks of a board, ``(n_checkpoints, n_conditions)`` each, and draws of the difference of neighbours.

    Parameters
    ----------
    rank, low, high
        The rank, and its percentile interval over item draws.
    order
        The models as the canonical ranking lists them; models that tie are listed by all rotations together.
    gap_low, gap_high
        Interval of the difference in accuracy over all rotations, of each model of ``order`` and the next.
    """

    rank: Floats
    low: Floats
    high: Floats
    order: NDArray[np.intp]
    gap_low: Floats
    gap_high: Floats


def stand(board: Board, settings: Settings, rng: np.random.Generator) -> Standing:
    """Rank the models under every condition, with intervals from draws of the items."""
    n_models, n_conditions, n_items = board.right.shape
    totals = board.right.sum(axis=2, dtype=np.int64)
    order = listing(board)
    rows = np.ascontiguousarray(board.right.transpose(2, 1, 0).reshape(n_items, -1), np.float64)
    together = max(256, _DRAWS // n_items)
    drawn = resampled_sums(rows, np.ones(n_items, np.int64), settings.resamples, rng, samples=together)
    counts = drawn.reshape(-1, n_conditions, n_models)
    ends = [(1 - settings.level) / 2, (1 + settings.level) / 2]
    low, high = np.empty((2, n_models, n_conditions))
    for c in range(n_conditions):
        # Sums of whole numbers are whole, and whole numbers compare exactly.
        low[:, c], high[:, c] = np.quantile(ranks(counts[:, c].T.astype(np.int32, order="C")), ends, axis=1)
    together_right = counts[:, board.n_options][:, order] / (n_items * board.n_options)
    gap_low, gap_high = np.quantile(together_right[:, :-1] - together_right[:, 1:], ends, axis=0)
    return Standing(ranks(totals), low, high, order, gap_low, gap_high)


def listing(board: Board) -> NDArray[np.intp]:
    """Return the models from best to worst in the canonical order; those that tie by all rotations together.

    So listed, models of which no neighbours change order keep their whole ranking under every rotation.
    """
    return np.lexsort((-board.averaged.sum(axis=1, dtype=np.int64), -board.by_rotation[:, 0]))


def reversing(by_rotation: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which pairs of models change order between some two rotations, ``(n, n)``; a tie is no order.

    Examples
    --------
    >>> reversing(np.array([[3, 1], [2, 2], [2, 3]])).tolist()
    [[False, True, True], [True, False, False], [True, False, False]]
    """
    ahead = (by_rotation[:, None] > by_rotation[None]).any(axis=2)
    return np.asarray(ahead & ahead.T)


def items_to_resolve(first: NDArray[np.integer], second: NDArray[np.integer], level: float) -> int | None:
    """Return how many items like these would resolve a difference in right answers; None for no difference.

    ``ceil((z sd(d) / mean(d))^2)`` with d the difference of each item and z the normal quantile of the level: with so
    many the interval of the mean difference just excludes zero.

    Examples
    --------
    >>> items_to_resolve(np.array([1, 1, 1, 0]), np.array([0, 1, 0, 1]), 0.95)
    43
    """
    d = first.astype(np.float64) - second
    if d.sum() == 0:
        return None
    z = float(stats.norm.ppf((1 + level) / 2))
    return max(1, math.ceil((z * float(d.std()) / float(d.mean())) ** 2))


def kendall(first: NDArray[np.integer], second: NDArray[np.integer]) -> float:
    """Return Kendall's tau-b of two lists of right answers; NaN where all models of one tie."""
    return float(stats.kendalltau(first, second).statistic)
