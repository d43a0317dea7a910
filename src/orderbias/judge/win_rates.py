"""Who wins, with ties counted half: as the calls said it, and after both orders had to agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.means import Estimate
from orderbias.inference.proportions import clopper_pearson
from orderbias.inference.weighing import weighed_mean
from orderbias.judge.values import SCORES, Ints, Judgments, collapsed, in_pair_terms


@dataclass(frozen=True, slots=True)
class WinRate:
    """How often a model (or A) wins, over the complete pairs that it takes part in.

    ``before``: mean over both calls, a tie counting half. ``after``: the same of the collapsed verdicts.
    ``decisive``: wins among the collapsed verdicts that are no tie, with an exact interval.
    """

    model: str
    wins: int
    ties: int
    losses: int
    before: Estimate
    after: Estimate
    decisive: Estimate

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "model": self.model, "wins": self.wins, "ties": self.ties, "losses": self.losses,
            "before": self.before.as_dict(), "after": self.after.as_dict(), "decisive": self.decisive.as_dict(),
        }  # fmt: skip


def win_rates(
    judgments: Judgments, *, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> tuple[WinRate, ...]:
    """Return the win rate of every model, most pairs first; of A where models are not named or no pair has two.

    Intervals are of pairs whole. Incomplete pairs do not count; nor do, among named models, members without a name.

    Examples
    --------
    >>> calls = np.array([[0, 1], [0, 0], [1, 0]])[:, :, None].astype(np.int8)
    >>> (a,) = win_rates(Judgments(np.array(["1", "2", "3"], object), calls))
    >>> a.model, a.wins, a.ties, a.losses, a.before.value
    ('A', 1, 1, 1, 0.5)
    """
    rows = judgments.complete
    judged = judgments.take(rows)
    before = SCORES[in_pair_terms(judged.calls)].mean(axis=1) if judged.n_pairs else np.empty(0)
    after = collapsed(judged)
    rng = np.random.default_rng(seed)

    def rate(model: str, scores: NDArray[np.float64], verdicts: Ints) -> WinRate:
        options = {"low": 0.0, "high": 1.0, "level": level, "draws": resamples}
        wins, losses, ties = (int((verdicts == code).sum()) for code in range(3))
        return WinRate(
            model, wins, ties, losses,
            weighed_mean(scores, rng=rng, **options), weighed_mean(SCORES[verdicts], rng=rng, **options),  # type: ignore[arg-type]
            share(wins, wins + losses, level),
        )  # fmt: skip

    if judged.model_a is None or judged.model_b is None or not (judgments.model_a != judgments.model_b).any():  # type: ignore[union-attr]
        return (rate("A", before, after),)
    # Codes of texts once, so that a model costs a comparison of numbers a pair; -1 for no name.
    members = np.concatenate([judged.model_a, judged.model_b])
    named = np.array([member is not None for member in members], bool)
    names, of_named = np.unique(members[named].astype(str), return_inverse=True)
    codes = np.full(len(members), -1)
    codes[named] = of_named
    of_a, of_b = codes[: judged.n_pairs], codes[judged.n_pairs :]
    swapped = np.array([1, 0, 2], np.int8)
    found = []
    for code, name in enumerate(names):
        as_a, as_b = (of_a == code) & (of_b != code), (of_b == code) & (of_a != code)
        scores = np.concatenate([before[as_a], 1 - before[as_b]])
        if len(scores):
            found.append(rate(str(name), scores, np.concatenate([after[as_a], swapped[after[as_b]]])))
    return tuple(sorted(found, key=lambda r: (-r.after.n, r.model)))


def share(successes: int, trials: int, level: float) -> Estimate:
    """Return a share of counts with its Clopper-Pearson interval; undefined for no trial.

    Examples
    --------
    >>> share(0, 0, 0.95).value is None
    True
    """
    if not trials:
        return Estimate(None, None, 0)
    low, high = clopper_pearson(successes, trials, level)
    return Estimate(successes / trials, (float(low), float(high)), trials)
