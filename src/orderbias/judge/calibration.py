"""What people say where a judge says something: by its verdict, and by its averaged probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from orderbias.inference.means import Estimate
from orderbias.inference.proportions import clopper_pearson
from orderbias.judge.probabilities import preference_for_a
from orderbias.judge.scoring import ScoredPairs
from orderbias.judge.values import Ints, Judgments, NotChecked
from orderbias.judge.win_rates import share

#: Probabilities are told apart in so many bins of equal width.
BINS = 10


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """Labels of the pairs with one verdict.

    ``verdict`` is ``A``, ``B``, ``tie``, ``tie in both orders``, ``orders disagree`` (the last two make up ``tie``) or
    ``unreadable``; ``people`` counts labels A, B and tie; ``agree`` is the share of labels that are the verdict.
    """

    verdict: str
    people: tuple[int, int, int]
    agree: Estimate

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        people = dict(zip(("A", "B", "tie"), self.people, strict=True))
        return {"verdict": self.verdict, "people": people, "agree": self.agree.as_dict()}


def verdict_table(pairs: ScoredPairs, level: float = 0.95) -> tuple[VerdictRow, ...]:
    """Count the labels of each verdict."""
    masks = {name: (pairs.verdicts == code, code) for code, name in enumerate(("A", "B", "tie"))}
    if not pairs.single:
        tie = pairs.verdicts == 2
        masks |= {"tie in both orders": (tie & pairs.consistent, 2), "orders disagree": (tie & ~pairs.consistent, 2)}
    if (pairs.verdicts < 0).any():
        masks["unreadable"] = (pairs.verdicts < 0, -1)
    found = []
    for name, (rows, code) in masks.items():
        a, b, tied = np.bincount(pairs.human[rows], minlength=3).tolist()
        agreed = (a, b, tied)[code] if code >= 0 else 0
        found.append(VerdictRow(name, (a, b, tied), share(agreed, a + b + tied, level)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Pairs whose averaged probability of A lies in ``[low, high)``: its mean, and the share of labels that are A."""

    low: float
    high: float
    mean: float
    people: Estimate

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {"low": self.low, "high": self.high, "mean_probability": self.mean, "people": self.people.as_dict()}


@dataclass(frozen=True, slots=True)
class Reliability:
    """Averaged probabilities of A against labels that are no tie.

    ``expected_calibration_error`` is the mean over pairs of how far the label share of their bin lies from its mean
    probability. It is above 0 even for a perfectly calibrated judge; ``error_by_chance`` is about what that would be.
    """

    n_pairs: int
    bins: tuple[ReliabilityBin, ...]
    expected_calibration_error: float
    error_by_chance: float

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "n_pairs": self.n_pairs, "bins": [one.as_dict() for one in self.bins],
            "expected_calibration_error": self.expected_calibration_error, "error_by_chance": self.error_by_chance,
        }  # fmt: skip


def reliability(judgments: Judgments, human: Ints, level: float = 0.95, n_bins: int = BINS) -> Reliability | NotChecked:
    """Compare the probability of A, averaged over both orders in log-odds, with what people prefer.

    Parameters
    ----------
    judgments
        With ``logprobs``.
    human
        Int8 ``(n_pairs,)`` labels; ties and unknown ones are left out.
    level
        Of the exact intervals of the label shares.
    n_bins
        Bins of equal width; empty ones are left out.
    """
    if judgments.logprobs is None:
        return NotChecked("needs the probabilities of the verdicts")
    preference = preference_for_a(judgments)
    rows = ~np.isnan(preference) & ((human == 0) | (human == 1))
    if not rows.any():
        return NotChecked("needs labelled pairs with the probabilities of the verdicts in both orders")
    return _reliability(expit(preference[rows]), human[rows] == 0, level, n_bins)


def _reliability(p: NDArray[np.float64], is_a: NDArray[np.bool_], level: float, n_bins: int) -> Reliability:
    which = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    size = np.bincount(which, minlength=n_bins)
    filled = np.flatnonzero(size)
    n = size[filled].astype(np.float64)
    mean = np.bincount(which, p, n_bins)[filled] / n
    chosen = np.bincount(which, is_a, n_bins)[filled].round()
    variance = np.bincount(which, p * (1 - p), n_bins)[filled] / n**2
    low, high = clopper_pearson(chosen, n, level)
    bins = tuple(
        ReliabilityBin(b / n_bins, (b + 1) / n_bins, float(mean[i]),
                       Estimate(float(chosen[i] / n[i]), (float(low[i]), float(high[i])), int(n[i])))
        for i, b in enumerate(filled.tolist())
    )  # fmt: skip
    weights = n / n.sum()
    # The mean distance of a normal variable from its mean is sqrt(2 / pi) standard deviations.
    by_chance = float(weights @ np.sqrt(2 / np.pi * variance))
    return Reliability(len(p), bins, float(weights @ np.abs(chosen / n - mean)), by_chance)
