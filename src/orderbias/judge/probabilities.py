"""The effect of standing first, in log-odds: from probabilities, or from counts with each pair as its own control."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtr, stdtrit

from orderbias.inference.means import Estimate
from orderbias.inference.proportions import clopper_pearson
from orderbias.inference.sign import sign_test_p
from orderbias.judge.logistic import LogisticFit, fit_logistic
from orderbias.judge.swap import outcome_counts
from orderbias.judge.values import SIGNS, Judgments, NotChecked, collapsed, in_pair_terms
from orderbias.judge.win_rates import share
from orderbias.verdicts import TIE

Floats = NDArray[np.float64]

#: A spread below this part of the mean is rounding.
_ALIKE = 1e-12


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """The effect of standing first on the log-odds of winning, from verdicts alone.

    With ``logit P(A wins) = q + b`` when A of a pair stands first and ``q - b`` when B does, a contradicting pair is
    first-first with log-odds ``2 b`` whatever its ``q``: conditional logistic regression, one stratum a pair.
    ``log_odds`` is ``b`` by Firth's penalised likelihood, finite also where every contradiction is on one place;
    ``interval`` is exact, from the Clopper-Pearson ends, an end None where it is infinite. ``by_call`` models each
    call, if labels are known: A wins, on the order (+1, -1) and on what people prefer, clustered by pair.
    """

    n_pairs: int
    log_odds: float
    interval: tuple[float | None, float | None]
    p_value: float
    by_call: LogisticFit | NotChecked

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        fitted = isinstance(self.by_call, LogisticFit)
        by_call = self.by_call.as_dict() if fitted else {"not_fitted": self.by_call.why}  # type: ignore[union-attr]
        return {
            "n_pairs": self.n_pairs, "log_odds": self.log_odds, "interval": list(self.interval),
            "p_value": self.p_value, "by_call": by_call,
        }  # fmt: skip


def order_effect(judgments: Judgments, *, level: float = 0.95) -> OrderEffect | NotChecked:
    """Estimate the effect of standing first from contradicting pairs.

    Examples
    --------
    >>> calls = np.array([[0, 0]] * 3 + [[1, 1]])[:, :, None].astype(np.int8)
    >>> found = order_effect(Judgments(np.array(list("1234"), object), calls))
    >>> round(found.log_odds, 4) == round(math.log(3.5 / 1.5) / 2, 4)
    True
    """
    first, second = outcome_counts(judgments).contradictions
    n = first + second
    if not n:
        return NotChecked("needs contradicting pairs; there is none")
    fit = fit_logistic(
        np.repeat([1.0, 0.0], [first, second]), np.ones((n, 1)), ["intercept"], level=level, penalised=True
    )
    assert isinstance(fit, LogisticFit)
    ends = (_half_logit(float(end)) for end in clopper_pearson(first, n, level))
    return OrderEffect(n, fit.estimates[0] / 2, tuple(ends), sign_test_p(first, n), _by_call(judgments, level))  # type: ignore[arg-type]


def _half_logit(share: float) -> float | None:
    return math.log(share / (1 - share)) / 2 if 0 < share < 1 else None


def _by_call(judgments: Judgments, level: float) -> LogisticFit | NotChecked:
    if judgments.human is None:
        return NotChecked("needs `human`")
    members = in_pair_terms(judgments.calls)
    decisive = (members == 0) | (members == 1)
    pair, order = np.nonzero(decisive & (judgments.human >= 0)[:, None])
    if not len(pair):
        return NotChecked("needs decisive verdicts on pairs with a label")
    human = SIGNS[judgments.human[pair]]
    columns = {"intercept": np.ones(len(pair)), "order": np.where(order == 0, 1.0, -1.0)}
    if np.ptp(human) > 0:  # a label that never varies is the intercept
        columns["human"] = human
    return fit_logistic(
        (members[pair, order] == 0).astype(np.float64),
        np.stack(list(columns.values()), axis=1), list(columns), level=level, clusters=pair,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Probabilities:
    """What the probabilities of verdicts say, over the pairs that have them in both orders.

    ``order_effect`` is the mean over pairs of half the sum of the log-odds of first against second in the two orders,
    with a t interval; ``order_effect_sd`` its spread over pairs. ``verdicts`` counts the winners after averaging both
    orders in log-odds, a tie where its averaged probability is the largest; ``n_changed`` of the pairs with a collapsed
    verdict have another one; ``accuracy`` is the share of the labelled pairs whose winner is the label. ``n_censored``
    pairs have a probability of 0, and are in none of these.
    """

    n_pairs: int
    n_censored: int
    order_effect: Estimate
    order_effect_sd: float | None
    p_value: float | None
    tie_probability: float | None
    verdicts: tuple[int, int, int]
    n_changed: int
    accuracy: Estimate

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "n_pairs": self.n_pairs, "n_censored": self.n_censored, "order_effect": self.order_effect.as_dict(),
            "order_effect_sd": self.order_effect_sd, "p_value": self.p_value, "tie_probability": self.tie_probability,
            "verdicts": dict(zip(("A", "B", "tie"), self.verdicts, strict=True)), "n_changed": self.n_changed,
            "accuracy": self.accuracy.as_dict(),
        }  # fmt: skip


def preference_for_a(judgments: Judgments) -> Floats:
    """Return the log-odds of A against B averaged over both orders, ``(n_pairs,)``; NaN where they are not known.

    With ``l`` the log-odds of first against second, half of ``l_AB - l_BA``: what standing first adds to both cancels.
    """
    odds = _log_odds(judgments)
    return (odds[:, 0] - odds[:, 1]) / 2


def _log_odds(judgments: Judgments) -> Floats:
    """Return the log-odds of first against second, ``(n_pairs, 2)``; NaN where one has no probability."""
    if judgments.logprobs is None:
        return np.full((judgments.n_pairs, 2), np.nan)
    with np.errstate(invalid="ignore"):
        odds = judgments.logprobs[:, :, 0] - judgments.logprobs[:, :, 1]
    return np.where(np.isfinite(odds), odds, np.nan)


def probabilities(judgments: Judgments, *, level: float = 0.95) -> Probabilities | NotChecked:
    """Average the probabilities of both orders in log-odds, and estimate what standing first adds.

    Parameters
    ----------
    judgments
        With ``logprobs``.
    level
        Of the t interval.

    Examples
    --------
    >>> odds = np.log([[[0.8, 0.2, 1e-9], [0.6, 0.4, 1e-9]]])
    >>> calls = np.array([[[0], [0]]], np.int8)
    >>> found = probabilities(Judgments(np.array(["1"], object), calls, logprobs=odds))
    >>> round(found.order_effect.value, 3), found.verdicts, found.n_changed
    (0.896, (1, 0, 0), 1)
    """
    if judgments.logprobs is None:
        return NotChecked("needs the probabilities of the verdicts")
    given = ~np.isnan(judgments.logprobs[:, :, :2]).any(axis=(1, 2))
    odds = _log_odds(judgments)
    usable = given & ~np.isnan(odds).any(axis=1)
    if not usable.any():
        return NotChecked("needs the probabilities of the verdicts in both orders")
    effects = odds[usable].mean(axis=1)
    estimate, sd, p_value = _t_interval(effects, level)
    tie = _tie_probability(judgments.logprobs[usable])
    winners = _averaged_verdicts((odds[usable, 0] - odds[usable, 1]) / 2, tie)
    kept = collapsed(judgments)[usable]
    return Probabilities(
        n_pairs=len(effects),
        n_censored=int(given.sum() - usable.sum()),
        order_effect=estimate,
        order_effect_sd=sd,
        p_value=p_value,
        tie_probability=float(tie.mean()),
        verdicts=tuple(int((winners == code).sum()) for code in range(3)),  # type: ignore[arg-type]
        n_changed=int(((kept >= 0) & (kept != winners)).sum()),
        accuracy=_accuracy(winners, judgments.human, np.asarray(usable), level),
    )


def _accuracy(
    winners: NDArray[np.int8], human: NDArray[np.int8] | None, usable: NDArray[np.bool_], level: float
) -> Estimate:
    if human is None:
        return Estimate(None, None, 0)
    labels = human[usable]
    known = labels >= 0
    return share(int((winners[known] == labels[known]).sum()), int(known.sum()), level)


def _tie_probability(logprobs: Floats) -> Floats:
    """Return the probability of a tie averaged over both orders; 0 where it was not offered."""
    return np.asarray(np.exp(np.nan_to_num(logprobs[:, :, TIE], nan=-np.inf)).mean(axis=1))


def _averaged_verdicts(preference: Floats, tie: Floats) -> NDArray[np.int8]:
    """Return the winner by averaged probabilities: what is not the tie's is shared by the log-odds."""
    a = (1 - tie) * expit(preference)
    b = (1 - tie) * expit(-preference)
    return np.where((tie >= a) & (tie >= b) & (tie > 0), 2, np.where(a == b, 2, np.where(a > b, 0, 1))).astype(np.int8)


def _t_interval(values: Floats, level: float) -> tuple[Estimate, float | None, float | None]:
    n, mean = len(values), float(values.mean())
    if n < 2:
        return Estimate(mean, None, n), None, None
    sd = float(values.std(ddof=1))
    error = sd / math.sqrt(n)
    if sd < _ALIKE * max(1.0, abs(mean)):  # all alike: their spread is not known, and no interval is honest
        return Estimate(mean, None, n), sd, None
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    p_value = 2 * float(stdtr(n - 1, -abs(mean) / error))
    return Estimate(mean, (mean - half, mean + half), n), sd, min(1.0, p_value)
