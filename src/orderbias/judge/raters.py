"""People against each other, and a judge against each of them: what agreement there is to be had."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from orderbias.inference.kappa import cross_table, kappa_estimates, mean_kappa
from orderbias.inference.means import Estimate
from orderbias.judge.values import Ints, Judgments, NotChecked


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Cohen's kappa where several people rated the same pairs.

    ``people`` holds kappa of each two raters that share pairs, by their 0-based numbers; ``people_mean`` its mean.
    ``judge`` holds the judge's kappa against each rater, None for a rater without a pair that the judge decided;
    ``judge_mean`` its mean. The intervals of the means are over pairs of answers, with these raters.
    """

    people: dict[tuple[int, int], Estimate]
    people_mean: Estimate
    judge: tuple[Estimate, ...]
    judge_mean: Estimate

    def as_dict(self) -> dict[str, object]:
        """Return plain values; raters are counted from 1."""
        return {
            "people": [{"raters": [i + 1, j + 1], "kappa": kappa.as_dict()} for (i, j), kappa in self.people.items()],
            "people_mean": self.people_mean.as_dict(),
            "judge": [kappa.as_dict() for kappa in self.judge],
            "judge_mean": self.judge_mean.as_dict(),
        }


def rater_agreement(judgments: Judgments, verdicts: Ints, level: float = 0.95) -> RaterAgreement | NotChecked:
    """Compare raters with each other and with the judge's verdicts.

    Parameters
    ----------
    judgments
        With ``raters``.
    verdicts
        Int8 ``(n_pairs,)`` in pair terms, negative where there is none.
    level
        Of the intervals.
    """
    raters = judgments.raters
    if raters is None or raters.shape[1] < 2:
        return NotChecked("needs two or more `raters`")
    columns, known = list(raters.T), raters >= 0
    together = [(i, j) for i, j in combinations(range(len(columns)), 2) if (known[:, i] & known[:, j]).any()]
    pairs = [(columns[i], columns[j]) for i, j in together]
    with_judge = [(verdicts, column) for column in columns]
    return RaterAgreement(
        dict(zip(together, _kappas(pairs, level), strict=True)), mean_kappa(pairs, level),
        tuple(_kappas(with_judge, level)), mean_kappa(with_judge, level),
    )  # fmt: skip


def _kappas(pairs: list[tuple[Ints, Ints]], level: float) -> list[Estimate]:
    tables = []
    for left, right in pairs:
        known = (left >= 0) & (right >= 0)
        tables.append(cross_table(left[known], right[known], 3))
    return kappa_estimates(np.array(tables).reshape(-1, 3, 3), level)
