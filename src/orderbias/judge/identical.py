"""Pairs of identical answers: a control group in which every decisive verdict is about the place."""

from __future__ import annotations

from dataclasses import dataclass

from orderbias.inference.means import Estimate
from orderbias.inference.sign import sign_test_p
from orderbias.judge.swap import outcome_counts
from orderbias.judge.values import Judgments, NotChecked
from orderbias.judge.win_rates import share


@dataclass(frozen=True, slots=True)
class IdenticalPairs:
    """How a judge treats two equal answers.

    ``decisive``: share of the pairs read in both orders of which at least one verdict was no tie. ``lean``: share of
    the first place among the pairs that took the same place in both orders, with its exact sign test.
    """

    n_pairs: int
    decisive: Estimate
    lean: Estimate
    lean_p_value: float | None

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "n_pairs": self.n_pairs, "decisive": self.decisive.as_dict(), "lean": self.lean.as_dict(),
            "lean_p_value": self.lean_p_value,
        }  # fmt: skip


def identical_pairs(judgments: Judgments, *, level: float = 0.95) -> IdenticalPairs | NotChecked:
    """Report the pairs whose answers are the same text; they are in no other figure of a report.

    Examples
    --------
    >>> import numpy as np
    >>> calls = np.array([[0, 0], [2, 2]])[:, :, None].astype(np.int8)
    >>> same = Judgments(np.array(["1", "2"], object), calls, identical=np.array([True, True]))
    >>> found = identical_pairs(same)
    >>> found.decisive.value, found.lean.value
    (0.5, 1.0)
    """
    if judgments.identical is None:
        return NotChecked("needs the texts of the answers")
    if not judgments.identical.any():
        return NotChecked("needs pairs of identical answers; there is none")
    same = judgments.take(judgments.identical)
    counts = outcome_counts(same)
    n_tied = int(counts.table[2, 2])
    first, second = counts.contradictions
    return IdenticalPairs(
        same.n_pairs,
        share(counts.n_complete - n_tied, counts.n_complete, level),
        share(first, first + second, level),
        sign_test_p(first, first + second) if first + second else None,
    )
