"""Contradiction by chance against contradiction by order: two calls against two calls (two-factors, C.5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.means import Estimate
from orderbias.inference.weighing import weighed_mean
from orderbias.judge.values import Judgments, NotChecked, in_pair_terms


@dataclass(frozen=True, slots=True)
class RepeatNoise:
    """Shares of pairs of calls that disagree about the winner.

    ``repeat``: two calls in the same order. ``reorder``: two calls in different orders. ``excess``: reorder minus
    repeat, the disagreement that the order adds; its interval is over pairs of answers.
    """

    n_repeats: int
    repeat: Estimate
    reorder: Estimate
    excess: Estimate

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "n_repeats": self.n_repeats, "repeat_disagreement": self.repeat.as_dict(),
            "reorder_disagreement": self.reorder.as_dict(), "excess": self.excess.as_dict(),
        }  # fmt: skip


def repeat_noise(
    judgments: Judgments, *, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> RepeatNoise | NotChecked:
    """Compare repeating an order with changing it, over the pairs of which each order was read at least twice.

    Of a pair, ``repeat`` is the mean over both orders of the share of disagreeing pairs of calls within it, and
    ``reorder`` the share of disagreeing pairs of calls across the orders.

    Examples
    --------
    >>> calls = np.array([[[0, 0], [0, 0]], [[0, 1], [1, 0]]], np.int8)
    >>> found = repeat_noise(Judgments(np.array(["1", "2"], object), calls))
    >>> found.repeat.value, found.reorder.value, found.excess.value
    (0.5, 0.75, 0.25)
    """
    members = in_pair_terms(judgments.verdicts)
    usable = ((members >= 0).sum(axis=2) >= 2).all(axis=1)
    if not usable.any():
        return NotChecked("needs pairs asked at least twice in each order")
    members = members[usable]
    n_repeats = members.shape[2]
    within = [
        _disagreement(members[:, order], members[:, order], list(combinations(range(n_repeats), 2))) for order in (0, 1)
    ]
    repeat = (within[0] + within[1]) / 2
    reorder = _disagreement(members[:, 0], members[:, 1], [(i, j) for i in range(n_repeats) for j in range(n_repeats)])
    rng = np.random.default_rng(seed)
    # Two calls apiece that disagree in the same way within both orders make the excess of a pair least: 1/2 less 1.
    ranges = ((repeat, 0.0, 1.0), (reorder, 0.0, 1.0), (reorder - repeat, -0.5, 1.0))
    found = [weighed_mean(v, low=a, high=b, level=level, draws=resamples, rng=rng) for v, a, b in ranges]
    return RepeatNoise(n_repeats, *found)


def _disagreement(left: NDArray[np.int8], right: NDArray[np.int8], calls: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Return each pair's share of disagreement over the pairs of calls of which both were read."""
    differ = np.zeros(len(left))
    n_read = np.zeros(len(left))
    for i, j in calls:
        read = (left[:, i] >= 0) & (right[:, j] >= 0)
        n_read += read
        differ += read & (left[:, i] != right[:, j])
    return differ / n_read
