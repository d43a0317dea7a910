"""What pairs shown in one order only can tell, alone or beside a sample shown in both: saving calls honestly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.means import Estimate
from orderbias.inference.weighing import weighed_ends, weighed_mean, weighed_sums
from orderbias.judge.values import SCORES, Judgments, NotChecked, in_pair_terms
from orderbias.verdicts import NOT_ASKED

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SingleOrder:
    """Pairs with a verdict in one order, beside those with both.

    ``win_rate`` is A's, ties counting half, as the verdicts say it; ``corrected`` is what it would be with every pair
    in both orders, the position effect taken off each single verdict, its interval widened by how uncertain that
    effect is. ``position_effect`` is half the difference of A's win rate when it is shown first and when second.
    ``order_p_value`` is Fisher's exact test that the pairs asked in AB alone and those asked in BA alone have the same
    winner; it holds if the order of each was drawn at random. ``saved`` is the share of the calls of both orders for
    all that were not made.
    """

    n_ab: int
    n_ba: int
    n_both: int
    win_rate: Estimate
    corrected: Estimate
    position_effect: Estimate
    order_p_value: float | None
    saved: float

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "n_ab": self.n_ab, "n_ba": self.n_ba, "n_both": self.n_both,
            "win_rate": self.win_rate.as_dict(), "corrected": self.corrected.as_dict(),
            "position_effect": self.position_effect.as_dict(), "order_p_value": self.order_p_value,
            "saved": self.saved,
        }  # fmt: skip


def single_order(
    judgments: Judgments, *, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> SingleOrder | NotChecked:
    """Estimate A's win rate over both orders from pairs of which most were shown in one.

    With ``w`` the score of A (1, 1/2, 0) and ``d`` the position effect, a pair read in both orders counts as the mean
    of its two scores, one read as AB alone as ``w - d`` and one read as BA alone as ``w + d``. ``d`` is the mean of
    ``(w_AB - w_BA) / 2`` over the pairs in both orders; without such pairs, half the difference of the mean scores of
    those read as AB and as BA. The corrected rate is kept within 0..1.

    Returns
    -------
    SingleOrder or NotChecked
        The latter when every pair was asked in both orders, or no verdict can be read.

    Examples
    --------
    >>> calls = np.array([[0, 1], [0, 0], [0, -2], [-2, 1]])[:, :, None].astype(np.int8)
    >>> found = single_order(Judgments(np.array(list("1234"), object), calls))
    >>> found.position_effect.value, found.win_rate.value, found.corrected.value
    (0.25, 0.875, 0.875)
    """
    read, asked = judgments.calls >= 0, judgments.calls != NOT_ASKED
    alone = asked.sum(axis=1) == 1
    if not (read.any(axis=1) & alone).any():
        return NotChecked("needs pairs judged in one order only")
    scores = np.where(read, SCORES[np.maximum(in_pair_terms(judgments.calls), 0)], np.nan)
    known = scores[read.any(axis=1)]
    rows, counts = np.unique(np.nan_to_num(known, nan=-1.0), axis=0, return_counts=True)
    sums = _sums(np.where(rows < 0, np.nan, rows))
    rng = np.random.default_rng(seed)
    plain = weighed_mean(np.nanmean(known, axis=1), low=0, high=1, level=level, draws=resamples, rng=rng)
    effect, corrected = _estimates(sums, counts, level, resamples, rng)
    n_both, n_ab, n_ba = (int(counts @ sums[:, column]) for column in (_BOTH, _AB, _BA))
    saved = 1 - float(asked.sum()) / (2 * int(asked.any(axis=1).sum()))
    return SingleOrder(n_ab, n_ba, n_both, plain, corrected, effect, _order_test(scores[alone]), saved)


#: Columns of the sums: pairs read in both orders, their mean scores, half differences; those of one order, scores.
_BOTH, _BOTH_SCORE, _HALF_DIFFERENCE, _AB, _AB_SCORE, _BA, _BA_SCORE = range(7)


def _sums(rows: Floats) -> Floats:
    """Return what the estimates are functions of, one row a kind of pair."""
    has = ~np.isnan(rows)
    score = np.where(has, rows, 0.0)
    both, ab, ba = has.all(axis=1), has[:, 0] & ~has[:, 1], has[:, 1] & ~has[:, 0]
    total, difference = score.sum(axis=1), score[:, 0] - score[:, 1]
    columns = [both, both * total / 2, both * difference / 2, ab, ab * total, ba, ba * total]
    return np.stack(columns, axis=1).astype(np.float64)


def _estimates(
    sums: Floats, counts: NDArray[np.integer], level: float, draws: int, rng: np.random.Generator
) -> tuple[Estimate, Estimate]:
    """Return the position effect and the corrected win rate.

    Each end has unseen pairs of the least favourable kind: one among those that the effect is estimated from (one of
    each order where no pair is in both), and one more for the scores.
    """
    n = int(counts.sum())
    total = counts @ sums
    n_effect = int(total[_BOTH]) or n
    none = np.zeros(1)
    effect = _effect(total[None], none, none, 0)
    if np.isnan(effect[0]):
        return Estimate(None, None, n), Estimate(None, None, n)
    value = float(effect[0]), float(_corrected(total[None], effect, none, 0)[0])
    if not draws:
        return Estimate(value[0], None, n_effect), Estimate(value[1], None, n)
    weighed = weighed_sums(sums, counts, draws, rng)
    more, other, third = rng.standard_exponential((3, draws))
    low, high = (_effect(weighed, more, other, side) for side in (-1, 1))
    turned = weighed[:, _AB] > weighed[:, _BA]  # then a larger effect makes the corrected rate smaller
    least = _corrected(weighed, np.where(turned, high, low), third, 0.0)
    most = _corrected(weighed, np.where(turned, low, high), third, 1.0)
    return (
        Estimate(value[0], weighed_ends(low, high, level), n_effect),
        Estimate(value[1], weighed_ends(least, most, level), n),
    )


def _effect(sums: Floats, more: Floats, other: Floats, side: int) -> Floats:
    """Return the position effect, ``(...)``, with unseen pairs of the weights given that push it to one side."""
    if sums[0, _BOTH] > 0:
        return np.asarray((sums[:, _HALF_DIFFERENCE] + side * more / 2) / (sums[:, _BOTH] + more))
    if not (sums[0, _AB] > 0 and sums[0, _BA] > 0):
        return np.full(len(sums), np.nan)
    up, down = (1.0, 0.0) if side > 0 else (0.0, 1.0)
    ab = (sums[:, _AB_SCORE] + more * up) / (sums[:, _AB] + more)
    return np.asarray((ab - (sums[:, _BA_SCORE] + other * down) / (sums[:, _BA] + other)) / 2)


def _corrected(sums: Floats, effect: Floats, more: Floats, score: float) -> Floats:
    """Return the corrected win rate with an unseen pair of a given weight and score."""
    won = sums[:, _BOTH_SCORE] + sums[:, _AB_SCORE] + sums[:, _BA_SCORE] + more * score
    pairs = sums[:, _BOTH] + sums[:, _AB] + sums[:, _BA] + more
    return np.clip((won - (sums[:, _AB] - sums[:, _BA]) * effect) / pairs, 0.0, 1.0)


def _order_test(won: Floats) -> float | None:
    from scipy.stats import fisher_exact  # takes longer to import than all the rest

    table = np.array([[(won[:, order] == score).sum() for score in (1.0, 0.0)] for order in (0, 1)])
    if (table.sum(axis=1) == 0).any():
        return None
    return float(fisher_exact(table).pvalue)
