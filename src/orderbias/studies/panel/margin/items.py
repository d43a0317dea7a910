"""The canonical margin of every item of a cell, and what it is to tell apart; computes no statistic over cells.

Margins are read from the canonical ordering alone, states from all the cyclic orderings (two-factors, 5.1 and C.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from orderbias.operations.scores import log_softmax
from orderbias.studies.panel.cells import PanelCell
from orderbias.studies.panel.shared_items import shared_items
from orderbias.studies.panel.values import Pool

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: The other checkpoints' accuracy on an item is cut into this many bins of equal width.
BINS = 5
#: An item is compared within bins only where at least so many other checkpoints answered it.
OTHERS = 3

#: Names of the comparisons.
STABLE = "flipping against stable"
STABLE_WRONG = "flipping against stable-wrong"
STABLE_CORRECT = "flipping against stable-correct"
LEFT_OUT = "left out: the other answers disagree against agree"
LEFT_OUT_CORRECT = "left out, canonical answer correct"
LEFT_OUT_WRONG = "left out, canonical answer wrong"
WRONG_EVERYWHERE = "wrong under every ordering: moving against one wrong answer"
LEFT_OUT_STRATA = "left out, within strata of own correctness and others' accuracy"
STRATA = "flipping against stable, within strata of own correctness and others' accuracy"


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Two classes of items within a cell.

    Parameters
    ----------
    kept
        Bool ``(n_items,)``: in one of the two classes.
    positive
        Bool ``(n_items,)``: in the first.
    strata
        Int ``(n_items,)``: items are compared within one alone; None compares all.
    """

    kept: Bools
    positive: Bools
    strata: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class MarginItems:
    """The items of a cell whose label probabilities under the canonical ordering are known.

    Parameters
    ----------
    gap, entropy
        ``(n_items,)``: the two largest letter probabilities' difference, 0..1; entropy of all, 0..log2(K) bits.
    flip, others_flip
        Bool ``(n_items,)``: the answers differ over all orderings, and over those but the canonical one.
    known
        Whether every item has a gold; where not, the next three are all False.
    stable_correct, never_correct, canonical_correct
        Bool ``(n_items,)``: right under every ordering, under none, under the canonical one.
    elsewhere
        ``(n_items,)``: the other checkpoints' mean accuracy on the item; NaN where fewer than three answered it.
    """

    gap: Floats
    entropy: Floats
    flip: Bools
    others_flip: Bools
    known: bool
    stable_correct: Bools
    never_correct: Bools
    canonical_correct: Bools
    elsewhere: Floats

    @property
    def n_items(self) -> int:
        """Items with a margin."""
        return len(self.gap)

    @property
    def states(self) -> Floats:
        """Float ``(3, n_items)``: stable-correct, flipping, stable-wrong."""
        wrong = ~self.flip & ~self.stable_correct
        return np.stack([self.stable_correct, self.flip, wrong]).astype(np.float64)

    def main(self) -> dict[str, Comparison]:
        """Return flipping items against stable ones and either kind of these (two-factors, Table 5)."""
        gold = np.full(self.n_items, self.known)
        return {
            STABLE: Comparison(np.ones(self.n_items, bool), self.flip),
            STABLE_WRONG: Comparison(gold & ~self.stable_correct, self.flip),
            STABLE_CORRECT: Comparison(gold & (self.flip | self.stable_correct), self.flip),
        }

    def controls(self) -> dict[str, Comparison]:
        """Return the comparisons that the canonical answer and accuracy are taken out of (two-factors, Table 7)."""
        everything, gold = np.ones(self.n_items, bool), np.full(self.n_items, self.known)
        strata = self._strata()
        return {
            STABLE: Comparison(everything, self.flip),
            LEFT_OUT: Comparison(everything, self.others_flip),
            LEFT_OUT_CORRECT: Comparison(gold & self.canonical_correct, self.others_flip),
            LEFT_OUT_WRONG: Comparison(gold & ~self.canonical_correct, self.others_flip),
            WRONG_EVERYWHERE: Comparison(gold & self.never_correct, self.flip),
            LEFT_OUT_STRATA: Comparison(gold & (strata >= 0), self.others_flip, strata),
            STRATA: Comparison(gold & (strata >= 0), self.flip, strata),
        }

    def _strata(self) -> NDArray[np.int64]:
        """Number own canonical correctness x bin of the others' accuracy; -1 where too few others answered."""
        # Rounding keeps 0.6 in the bin that begins there, however it was summed.
        bins = np.minimum(np.floor(np.nan_to_num(self.elsewhere, nan=0.0) * BINS + 1e-9), BINS - 1)
        strata = bins.astype(np.int64) + BINS * self.canonical_correct
        return np.where(np.isnan(self.elsewhere), -1, strata)


def margin_items(cell: PanelCell, elsewhere: Floats) -> MarginItems:
    """Read the margins and states of a cell scored under the cyclic orderings, with log-probabilities.

    Parameters
    ----------
    cell
        The cell.
    elsewhere
        The other checkpoints' accuracy on each of its items, ``(n_items,)``.
    """
    p, columns = cell.predictions, cell.columns
    assert p.logprobs is not None
    slots = np.flatnonzero(p.presented)
    log_p = log_softmax(p.logprobs[:, slots[0]])
    there = ~np.isnan(log_p).any(axis=1)
    others = p.choice[:, slots[1:]]
    known = "correct" not in columns.layout.absent
    correct = item_column(cell, "correct") if known else np.full(p.n_items, 0.5)
    gap, entropy = top_two_gap(log_p[there]), entropy_bits(log_p[there])
    return MarginItems(
        gap=gap,
        entropy=entropy,
        flip=item_column(cell, "flip")[there] > 0,
        others_flip=(others != others[:, :1]).any(axis=1)[there],
        known=known,
        stable_correct=correct[there] == 1,
        never_correct=correct[there] == 0,
        canonical_correct=((p.choice[:, slots[0]] == p.gold) & known)[there],
        elsewhere=elsewhere[there],
    )


def item_column(cell: PanelCell, name: str) -> Floats:
    """Return a per-item column of a cell, ``(n_items,)``."""
    values: Floats = cell.columns.rows[cell.columns.row_of, cell.columns.layout.index[name]]
    return values


def top_two_gap(log_p: Floats) -> Floats:
    """Return the difference of the two largest probabilities of each row.

    Examples
    --------
    >>> top_two_gap(np.log([[0.25, 0.5, 0.25]])).tolist()
    [0.25]
    """
    two = np.partition(np.exp(log_p), log_p.shape[1] - 2, axis=1)[:, -2:]
    return np.asarray(two[:, 1] - two[:, 0])


def entropy_bits(log_p: Floats) -> Floats:
    """Return the entropy of each row in bits.

    Examples
    --------
    >>> entropy_bits(np.log([[0.25, 0.5, 0.25]])).tolist()
    [1.5]
    """
    p = np.exp(log_p)
    return np.asarray(-xlogy(p, p).sum(axis=1) / np.log(2))


def others_accuracy(pool: Pool) -> list[Floats]:
    """Return, for each item of each cell, the mean of the other cells' accuracy on the item of that id.

    Items are joined by id within a benchmark and a number of options. An item's accuracy in a cell is the share of its
    scored orderings under which it was answered rightly; a cell without golds says nothing of others.

    Returns
    -------
    list of numpy.ndarray
        ``(n_items,)`` each, NaN where fewer than ``OTHERS`` other cells have the item.
    """
    found = [np.full(cell.n_items, np.nan) for cell in pool.cells]
    for benchmark in pool.by_benchmark:
        cells = [pool.cells[i] for i in benchmark]
        items = shared_items([cell.predictions.item_ids for cell in cells])
        known = ["correct" not in cell.columns.layout.absent for cell in cells]
        total, count = np.zeros(items.n_items), np.zeros(items.n_items)
        own = [item_column(c, "correct") if k else np.zeros(c.n_items) for c, k in zip(cells, known, strict=True)]
        for numbers, correct, k in zip(items.numbers, own, known, strict=True):
            # Ids are unique within a cell, so no addition is lost.
            total[numbers] += correct
            count[numbers] += k
        for i, numbers, correct, k in zip(benchmark, items.numbers, own, known, strict=True):
            n = count[numbers] - k
            np.divide(total[numbers] - correct, n, out=found[i], where=n >= OTHERS)
    return found
