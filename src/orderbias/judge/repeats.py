"""Contradiction by chance against contradiction by order: two calls against two calls (two-factors, C.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orderbias.inference.means import Estimate
from orderbias.judge.values import Judgments, NotChecked, in_pair_terms
from orderbias.measures.repeats import disagreements
from orderbias.noise import compared


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
    found = disagreements(members, np.ones(2, bool))
    if np.isnan(found.repeat).all():
        return NotChecked("needs pairs asked at least twice in each order")
    means = compared(found, level=level, resamples=resamples, seed=seed)
    return RepeatNoise(members.shape[2], means.repeat, means.reorder, means.excess)
