"""How well a judge agrees with people: accuracy by every rule in use, kappa, calibration, and by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.kappa import cross_table, kappa_estimates
from orderbias.inference.means import Estimate
from orderbias.inference.proportions import check_draws, check_level
from orderbias.inference.weighing import weighed_mean
from orderbias.judge.calibration import Reliability, VerdictRow, reliability, verdict_table
from orderbias.judge.raters import RaterAgreement, rater_agreement
from orderbias.judge.scoring import (
    ORDER_RULES,
    SCORINGS,
    SINGLE,
    ScoredPairs,
    accuracies,
    pair_verdicts,
    scored_pairs,
    scores,
)
from orderbias.judge.values import Ints, Judgments, NotChecked
from orderbias.judge.win_rates import share

#: In tables of kappa an unreadable verdict that counts as wrong is a fourth answer, which no person gives.
_UNREADABLE_ANSWER = 3


@dataclass(frozen=True, slots=True)
class GroupAgreement:
    """Agreement within one group of pairs."""

    group: str
    accuracy: Estimate
    kappa: Estimate

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {"group": self.group, "accuracy": self.accuracy.as_dict(), "kappa": self.kappa.as_dict()}


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge against human labels.

    Parameters
    ----------
    scoring
        The rule of ``accuracy`` and of the groups: one of ``collapsed``, ``sum``, ``average``, ``both``, or
        ``single-call`` where each pair was judged in one order.
    unreadable
        The rule for unreadable verdicts.
    n_pairs, n_unlabelled, n_left_out
        Pairs scored; pairs without a label; labelled pairs without the verdicts that scoring needs.
    accuracy
        Share of pairs that are right by ``scoring``.
    kappa
        Cohen's kappa of the collapsed (or single) verdict A, B or tie against the label.
    by_rule
        Accuracy by every rule, and of each order alone (``order_ab``, ``order_ba``); None where a rule needs both
        orders.
    verdicts
        What people say where the judge says A, B or tie.
    raters
        Raters against each other and the judge against each.
    reliability
        Averaged probabilities against labels.
    groups
        By group, in alphabetical order.
    """

    scoring: str
    unreadable: str
    n_pairs: int
    n_unlabelled: int
    n_left_out: int
    accuracy: Estimate
    kappa: Estimate
    by_rule: Mapping[str, Estimate | None]
    verdicts: tuple[VerdictRow, ...]
    raters: RaterAgreement | NotChecked
    reliability: Reliability | NotChecked
    groups: tuple[GroupAgreement, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values; what could not be checked is None and its need is in ``not_checked``."""
        parts = {"raters": self.raters, "reliability": self.reliability}
        return {
            "scoring": self.scoring, "unreadable": self.unreadable,
            "n_pairs": self.n_pairs, "n_unlabelled": self.n_unlabelled, "n_left_out": self.n_left_out,
            "accuracy": self.accuracy.as_dict(), "kappa": self.kappa.as_dict(),
            "by_rule": {rule: None if e is None else e.as_dict() for rule, e in self.by_rule.items()},
            "verdicts": [row.as_dict() for row in self.verdicts],
            **{name: None if isinstance(part, NotChecked) else part.as_dict() for name, part in parts.items()},
            "groups": [group.as_dict() for group in self.groups],
            "not_checked": {name: part.why for name, part in parts.items() if isinstance(part, NotChecked)},
        }  # fmt: skip


def agreement(
    judgments: Judgments,
    *,
    unreadable: str = "exclude",
    scoring: str = "collapsed",
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Agreement | NotChecked:
    """Compare a judge's verdicts with human labels.

    Parameters
    ----------
    judgments
        With ``human``.
    unreadable
        The rule for unreadable verdicts; see :func:`~orderbias.judge.scoring.scored_pairs`.
    scoring
        Which rule is the headline; all are in ``by_rule``. See :data:`~orderbias.judge.scoring.SCORINGS`.
    level, resamples, seed
        Of the intervals; only ``average`` needs draws, the other accuracies are shares with exact intervals.

    Returns
    -------
    Agreement or NotChecked
        The latter names what is missing.

    Raises
    ------
    ArgumentError
        If an option is not one of its values.

    Examples
    --------
    >>> calls = np.array([[0, 1], [0, 0], [1, 0], [0, 1]])[:, :, None].astype(np.int8)
    >>> labels = np.array([0, 0, 1, 1], np.int8)
    >>> found = agreement(Judgments(np.array(list("1234"), object), calls, human=labels))
    >>> found.accuracy.value, {rule: e.value for rule, e in found.by_rule.items()}["average"], found.kappa.value
    (0.5, 0.625, 0.2)
    """
    _check(scoring, level, resamples, seed)
    if judgments.human is None:
        return NotChecked("needs `human`")
    pairs = scored_pairs(judgments, judgments.human, unreadable)
    if pairs.single and scoring != "collapsed":
        return NotChecked(f"needs pairs judged in both orders for the scoring {scoring!r}")
    if not len(pairs.human):
        return NotChecked("needs pairs with a label in `human` and verdicts that can be read")
    by_score = scores(pairs)
    headline = SINGLE if pairs.single else scoring
    rules = accuracies(by_score, level, resamples, seed)
    every = dict.fromkeys((*SCORINGS, *ORDER_RULES)) | rules
    (kappa,) = kappa_estimates(cross_table(_answers(pairs), pairs.human, 3)[None], level)
    return Agreement(
        scoring=headline,
        unreadable=unreadable,
        n_pairs=len(pairs.human),
        n_unlabelled=int((judgments.human < 0).sum()),
        n_left_out=int((judgments.human >= 0).sum()) - len(pairs.human),
        accuracy=rules[headline],
        kappa=kappa,
        by_rule=every,
        verdicts=verdict_table(pairs, level),
        raters=rater_agreement(judgments, pair_verdicts(judgments, unreadable)[0], level),
        reliability=reliability(judgments, judgments.human, level),
        groups=_groups(judgments, pairs, by_score[headline], level, resamples, seed),
    )


def _check(scoring: str, level: float, resamples: int, seed: int) -> None:
    check_level(level)
    check_draws(resamples, seed)
    if scoring not in SCORINGS:
        raise ArgumentError(f"`scoring` must be one of {', '.join(SCORINGS)}. Got {scoring!r}.")


def _answers(pairs: ScoredPairs) -> Ints:
    return np.where(pairs.verdicts < 0, _UNREADABLE_ANSWER, pairs.verdicts).astype(np.int8)


def _groups(
    judgments: Judgments,
    pairs: ScoredPairs,
    values: NDArray[np.float64],
    level: float,
    resamples: int,
    seed: int,
) -> tuple[GroupAgreement, ...]:
    """Score each group; all tables of kappa are counted at once, however many groups there are."""
    if judgments.group is None:
        return ()
    labels = judgments.group[pairs.rows]
    named = np.array([label is not None for label in labels], bool)
    names, codes = np.unique(labels[named].astype(str), return_inverse=True)
    answers, human = _answers(pairs)[named].astype(np.int64), pairs.human[named]
    size = max(3, int(answers.max(initial=0)) + 1)
    cells = (codes * size + answers) * size + human
    tables = np.bincount(cells, minlength=len(names) * size**2).reshape(-1, size, size)
    kappas = kappa_estimates(tables, level)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(names) + 1))
    ordered = values[named][order]
    rng = np.random.default_rng(seed)
    found = []
    for i, name in enumerate(names.tolist()):
        own = ordered[starts[i] : starts[i + 1]]
        if np.isin(own, (0.0, 1.0)).all():
            accuracy = share(round(float(own.sum())), len(own), level)
        else:
            accuracy = weighed_mean(own, low=0, high=1, level=level, draws=resamples, rng=rng)
        found.append(GroupAgreement(name, accuracy, kappas[i]))
    return tuple(found)
