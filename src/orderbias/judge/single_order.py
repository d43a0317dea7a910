"""What pairs shown in one order only can tell, alone or beside a sample shown in both: saving calls honestly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import fisher_exact

from orderbias.inference.means import Estimate, bounded_mean
from orderbias.inference.proportions import alike_mean, unseen_share
from orderbias.inference.resampling import percentile_interval, resampled_sums
from orderbias.judge.values import Judgments, NotChecked, in_pair_terms

_SCORES = np.array([1.0, 0.0, 0.5])


@dataclass(frozen=True, slots=True)
class SingleOrder:
    """Pairs with a verdict in one order, beside those with both.

    ``win_rate`` is A's, ties counting half, as the verdicts say it; ``corrected`` is what it would be with every pair
    in both orders, the position effect taken off each single verdict, its interval widened by how uncertain that
    effect is. ``position_effect`` is half the difference of A's win rate when it is shown first and when second.
    ``order_p_value`` is Fisher's exact test that the pairs shown as AB and those shown as BA have the same winner; it
    holds if the order of each pair was drawn at random. ``saved`` is the share of the calls of both orders for all.
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

    With ``w`` the score of A (1, 1/2, 0) and ``d`` the position effect, a pair in both orders counts as the mean of
    its two scores, one shown as AB as ``w - d`` and one shown as BA as ``w + d``. ``d`` is the mean of
    ``(w_AB - w_BA) / 2`` over the pairs in both orders; without such pairs, half the difference of the mean scores of
    those shown as AB and as BA.

    Returns
    -------
    SingleOrder or NotChecked
        The latter when every pair was judged in both orders, or none at all.

    Examples
    --------
    >>> calls = np.array([[0, 1], [0, 0], [0, -2], [-2, 1]])[:, :, None].astype(np.int8)
    >>> found = single_order(Judgments(np.array(list("1234"), object), calls))
    >>> found.position_effect.value, found.win_rate.value, found.corrected.value
    (0.25, 0.875, 0.875)
    """
    read = judgments.calls >= 0
    single = read.sum(axis=1) == 1
    if not single.any():
        return NotChecked("needs pairs judged in one order only")
    scores = np.where(read, _SCORES[np.maximum(in_pair_terms(judgments.calls), 0)], np.nan)
    rows, counts = np.unique(np.nan_to_num(scores[read.any(axis=1)], nan=-1.0), axis=0, return_counts=True)
    sums = _sums(np.where(rows < 0, np.nan, rows))
    point = _estimates(counts[None, :] @ sums)
    rng = np.random.default_rng(seed)
    draws = _estimates(resampled_sums(sums, counts, resamples, rng)) if resamples else None
    n = int(counts.sum())
    effect, corrected = (_estimate(point, draws, i, n, level) for i in (0, 1))
    plain = bounded_mean(
        np.nanmean(scores[read.any(axis=1)], axis=1), low=0, high=1, level=level, resamples=resamples, rng=rng
    )
    n_ab, n_ba = (int((single & read[:, order]).sum()) for order in (0, 1))
    n_both = int(judgments.complete.sum())
    return SingleOrder(
        n_ab, n_ba, n_both, plain, corrected, effect, _order_test(scores, single), 1 - float(read.sum()) / (2 * n)
    )


def _sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the estimates are functions of, one row a kind of pair.

    Columns: in both orders, sum of its two scores, difference; shown as AB, its score; shown as BA, its score.
    """
    has = ~np.isnan(rows)
    score = np.where(has, rows, 0.0)
    both, ab, ba = has.all(axis=1), has[:, 0] & ~has[:, 1], has[:, 1] & ~has[:, 0]
    total, difference = score.sum(axis=1), score[:, 0] - score[:, 1]
    return np.stack([both, both * total, both * difference, ab, ab * total, ba, ba * total], axis=1).astype(np.float64)


def _estimates(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the position effect and the corrected win rate, ``(..., 2)``; NaN where undefined."""
    both, both_sum, both_difference, ab, ab_sum, ba, ba_sum = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        between = (ab_sum / ab - ba_sum / ba) / 2
        effect = np.where(both > 0, both_difference / both / 2, between)
        win = (both_sum / 2 + ab_sum + ba_sum - (ab - ba) * effect) / (both + ab + ba)
    return np.stack([effect, win], axis=-1)


def _estimate(
    point: NDArray[np.float64], draws: NDArray[np.float64] | None, which: int, n: int, level: float
) -> Estimate:
    value = float(point[0, which])
    if np.isnan(value):
        return Estimate(None, None, n)
    found = None if draws is None else percentile_interval(draws[:, which], level)
    if found is not None and found[1] - found[0] < 1e-12:  # every pair alike: what has not been seen bounds it
        found = alike_mean(value, *((-0.5, 0.5) if which == 0 else (0.0, 1.0)), unseen_share(n, level))
    return Estimate(value, found, n)


def _order_test(scores: NDArray[np.float64], single: NDArray[np.bool_]) -> float | None:
    won = scores[single]
    table = np.array([[(won[:, order] == score).sum() for score in (1.0, 0.0)] for order in (0, 1)])
    if (table.sum(axis=1) == 0).any():
        return None
    return float(fisher_exact(table).pvalue)
