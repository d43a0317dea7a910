"""Whether a judge prefers the longer answer, with what people prefer held fixed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from orderbias.inference.means import Estimate
from orderbias.judge.logistic import LogisticFit, fit_logistic
from orderbias.judge.scoring import pair_verdicts
from orderbias.judge.values import SIGNS, Judgments, NotChecked
from orderbias.judge.win_rates import share
from orderbias.verdicts import TIE

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Answers whose lengths differ by no more than this part of the shorter are of matching length.
MATCHED = 0.10
#: Logarithms of lengths that match exactly may differ by this.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class LengthMatched:
    """Decisive pairs of answers of nearly one length, where length can decide little.

    ``win_rate`` is A's; ``agreement`` the share whose label, if it is known and no tie, is the judge's verdict.
    """

    win_rate: Estimate
    agreement: Estimate

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {"win_rate": self.win_rate.as_dict(), "agreement": self.agreement.as_dict()}


@dataclass(frozen=True, slots=True)
class LengthCheck:
    """How a judge's decisive verdicts go with length.

    ``n_pairs`` are the decisive pairs with both lengths, ``n_tied`` those with both lengths and a tie (left out).
    ``prefers_longer`` is the share of the longer answer among pairs of unequal lengths; ``where_people_longer`` and
    ``where_people_shorter`` the same among those of which people prefer the longer or the shorter. ``log_odds`` is what
    a doubling of A's length against B's adds to the log-odds of A, with the human label held fixed where there is one
    (``human_held_fixed``). ``win_rate`` is A's share of the decisive verdicts, and ``length_controlled`` the model's
    mean probability of A with every length difference set to 0, without an interval where the rows are separated. In
    ``single_order`` files position is not held fixed.
    """

    n_pairs: int
    n_tied: int
    prefers_longer: Estimate
    where_people_longer: Estimate
    where_people_shorter: Estimate
    matched: LengthMatched
    human_held_fixed: bool
    log_odds: float | None
    interval: tuple[float, float] | None
    p_value: float | None
    win_rate: Estimate
    length_controlled: Estimate
    fit: LogisticFit | NotChecked
    single_order: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        shares = ("prefers_longer", "where_people_longer", "where_people_shorter", "win_rate", "length_controlled")
        return {
            "n_pairs": self.n_pairs, "n_tied": self.n_tied,
            **{name: getattr(self, name).as_dict() for name in shares},
            "matched": self.matched.as_dict(), "single_order": self.single_order,
            "human_held_fixed": self.human_held_fixed,
            "not_checked": {} if self.human_held_fixed else {"human preference held fixed": "needs `human`"},
            "log_odds_per_doubling": self.log_odds,
            "odds_ratio_per_doubling": None if self.log_odds is None else math.exp(self.log_odds),
            "interval": None if self.interval is None else list(self.interval), "p_value": self.p_value,
            "model": self.fit.as_dict() if isinstance(self.fit, LogisticFit) else {"not_fitted": self.fit.why},
        }  # fmt: skip


def length(judgments: Judgments, *, level: float = 0.95, matched: float = MATCHED) -> LengthCheck | NotChecked:
    """Model the judge's verdicts by the lengths of the answers, with the human label held fixed.

    The model is ``logit P(A) = b0 + b1 log2(len_a / len_b) + b2 human`` over decisive collapsed verdicts (single
    ones where each pair was shown in one order), with ``human`` 1 for A, -1 for B, 0 for a tie; pairs without a label
    are left out where any pair has one. An empty answer counts as one unit long.

    Parameters
    ----------
    judgments
        With ``len_a`` and ``len_b``.
    level
        Of the intervals.
    matched
        Lengths that differ by no more than this part of the shorter match.

    Returns
    -------
    LengthCheck or NotChecked
        The latter names the columns that are missing.
    """
    if judgments.len_a is None or judgments.len_b is None:
        return NotChecked("needs `len_a` and `len_b`, or the texts")
    verdicts, single = pair_verdicts(judgments)
    known = ~np.isnan(judgments.len_a) & ~np.isnan(judgments.len_b) & (verdicts >= 0)
    decisive = known & (verdicts != TIE)
    if not decisive.any():
        return NotChecked("needs decisive verdicts on pairs with both lengths")
    ratio = np.log2(np.maximum(judgments.len_a[decisive], 1)) - np.log2(np.maximum(judgments.len_b[decisive], 1))
    won = verdicts[decisive] == 0
    human = np.full(len(won), -1) if judgments.human is None else judgments.human[decisive]
    fixed = bool((human >= 0).any())
    rows = human >= 0 if fixed else np.ones(len(won), bool)
    fit = _fit(ratio[rows], won[rows], human[rows], fixed, level)
    row = fit.coefficient("length") if isinstance(fit, LogisticFit) and "length" in fit.names else None
    longer = _longer(ratio, won, human, level)
    return LengthCheck(
        len(won), int(known.sum() - decisive.sum()), *longer,
        _matched(np.abs(ratio) <= math.log2(1 + matched) + _ROUNDING, won, human, level), fixed,
        None if row is None else row.estimate, None if row is None else row.interval,
        None if row is None else row.p_value,
        share(int(won.sum()), len(won), level), _controlled(fit, ratio[rows], human[rows], level), fit,
        single,
    )  # fmt: skip


def _longer(ratio: Floats, won: Mask, human: NDArray[np.integer], level: float) -> tuple[Estimate, Estimate, Estimate]:
    """Return the share of the longer answer: of all unequal pairs, where people prefer it, and where they do not."""
    took_longer = won == (ratio > 0)
    of_people = human == np.where(ratio > 0, 0, 1)
    labelled = (human == 0) | (human == 1)
    unequal = ratio != 0
    masks = (unequal, unequal & labelled & of_people, unequal & labelled & ~of_people)
    found = [share(int(took_longer[mask].sum()), int(mask.sum()), level) for mask in masks]
    return found[0], found[1], found[2]


def _matched(close: Mask, won: Mask, human: NDArray[np.integer], level: float) -> LengthMatched:
    labelled = close & ((human == 0) | (human == 1))
    agreed = won[labelled] == (human[labelled] == 0)
    return LengthMatched(
        share(int(won[close].sum()), int(close.sum()), level), share(int(agreed.sum()), int(labelled.sum()), level)
    )


def _design(ratio: Floats, human: NDArray[np.integer], names: tuple[str, ...]) -> Floats:
    columns = {
        "intercept": np.ones(len(ratio)), "length": ratio,
        "human": SIGNS[human],  # code -1 is never used: no label, no column
    }  # fmt: skip
    return np.stack([columns[name] for name in names], axis=1)


def _fit(ratio: Floats, won: Mask, human: NDArray[np.integer], fixed: bool, level: float) -> LogisticFit | NotChecked:
    if not np.ptp(ratio) > 0:
        return NotChecked("needs pairs whose lengths differ")
    # A label that never varies is the intercept.
    names = ("intercept", "length", *(("human",) if fixed and np.ptp(human) > 0 else ()))
    return fit_logistic(won.astype(np.float64), _design(ratio, human, names), names, level=level, wanted=["length"])


def _controlled(fit: LogisticFit | NotChecked, ratio: Floats, human: NDArray[np.integer], level: float) -> Estimate:
    """Return the mean predicted probability of A at equal lengths, with a delta-method interval on the logit."""
    if isinstance(fit, NotChecked):
        return Estimate(None, None, 0)
    design = _design(np.zeros_like(ratio), human, tuple(fit.names))
    p = expit(design @ np.asarray(fit.estimates))
    mean = float(p.mean())
    if fit.separated or not 0 < mean < 1:  # the likelihood is then no parabola, and the covariance too small
        return Estimate(mean, None, len(p))
    slope = ((p * (1 - p))[:, None] * design).mean(axis=0) / (mean * (1 - mean))
    half = float(ndtri((1 + level) / 2)) * math.sqrt(float(slope @ fit.covariance @ slope))
    logit = math.log(mean / (1 - mean))
    return Estimate(mean, (float(expit(logit - half)), float(expit(logit + half))), len(p))
