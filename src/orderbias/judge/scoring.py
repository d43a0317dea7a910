"""When a pair's verdicts count as right against a label: the rules in use, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.means import Estimate
from orderbias.inference.weighing import weighed_mean
from orderbias.judge.swap import UNREADABLE
from orderbias.judge.values import Ints, Judgments, in_pair_terms
from orderbias.judge.win_rates import share
from orderbias.verdicts import NOT_ASKED, TIE, UNREAD

Floats = NDArray[np.float64]

#: How a pair judged in both orders is scored. ``collapsed``: the verdict that both orders agree in, else a tie, is the
#: label. ``sum``: more orders agree with the label than contradict it (JudgeBench). ``average``: share of the two calls
#: that are right (LLMBar). ``both``: both calls are right.
SCORINGS = ("collapsed", "sum", "average", "both")
#: The only rule for files that show each pair in one order.
SINGLE = "single-call"
#: The calls of each order on their own.
ORDER_RULES = ("order_ab", "order_ba")


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPairs:
    """The labelled pairs that can be scored.

    Parameters
    ----------
    rows
        Bool ``(n_pairs,)``: which they are.
    calls
        Int8 ``(n, 2)``: their verdicts in pair terms, by order; -1 unreadable and counted as wrong, -2 not asked.
    human
        Int8 ``(n,)``: their labels.
    verdicts
        Int8 ``(n,)``: the collapsed verdict, or the single one; -1 counted as wrong.
    consistent
        Bool ``(n,)``: both orders gave one verdict. All false where there is one order.
    single
        Whether no pair was asked in both orders.
    """

    rows: NDArray[np.bool_]
    calls: Ints
    human: Ints
    verdicts: Ints
    consistent: NDArray[np.bool_]
    single: bool


def scored_pairs(judgments: Judgments, human: Ints, unreadable: str = "exclude") -> ScoredPairs:
    """Select the labelled pairs that have verdicts, by a rule for the unreadable ones.

    Parameters
    ----------
    judgments
        Verdicts.
    human
        Int8 ``(n_pairs,)`` labels, negative where unknown.
    unreadable
        ``exclude``: both calls must be readable. ``wrong``: an unreadable call is a wrong one (LLMBar, PandaLM).
        ``consistent``: it is taken to agree with the other order, if that can be read. Where each pair was asked in one
        order, ``exclude`` and ``consistent`` leave an unreadable call out.

    Raises
    ------
    ArgumentError
        If there is no such rule.
    """
    if unreadable not in UNREADABLE:
        raise ArgumentError(f"`unreadable` must be one of {', '.join(UNREADABLE)}. Got {unreadable!r}.")
    calls = in_pair_terms(judgments.calls)
    asked, read = calls != NOT_ASKED, calls >= 0
    single = not asked.all(axis=1).any()
    if single:
        usable = asked.any(axis=1) if unreadable == "wrong" else read.any(axis=1)
    elif unreadable == "wrong":
        usable = asked.all(axis=1)
    elif unreadable == "consistent":
        usable = asked.all(axis=1) & read.any(axis=1)
        calls = np.where(read, calls, calls[:, ::-1])
    else:
        usable = read.all(axis=1)
    rows = usable & (human >= 0)
    kept = calls[rows]
    if single:
        given = kept.max(axis=1, initial=NOT_ASKED)
        return ScoredPairs(rows, kept, human[rows], given, np.zeros(len(kept), bool), True)
    same = kept[:, 0] == kept[:, 1]
    verdicts = np.where((kept < 0).any(axis=1), UNREAD, np.where(same, kept[:, 0], TIE)).astype(np.int8)
    return ScoredPairs(rows, kept, human[rows], verdicts, same & (verdicts >= 0), False)


def pair_verdicts(judgments: Judgments, unreadable: str = "exclude") -> tuple[Ints, bool]:
    """Return the verdict of every pair, int8 ``(n_pairs,)``, and whether it is of one order only.

    The collapsed verdicts; where no pair was asked in both orders the single ones. Negative where there is none.

    Examples
    --------
    >>> calls = np.array([[0, -2], [-2, 0], [-2, -1]])[:, :, None].astype(np.int8)
    >>> verdicts, single = pair_verdicts(Judgments(np.array(list("123"), object), calls))
    >>> verdicts.tolist(), single
    ([0, 1, -1], True)
    """
    every = scored_pairs(judgments, np.zeros(judgments.n_pairs, np.int8), unreadable)
    verdicts = np.full(judgments.n_pairs, UNREAD, np.int8)
    verdicts[every.rows] = every.verdicts
    return verdicts, every.single


def scores(pairs: ScoredPairs) -> dict[str, Floats]:
    """Return the score of each pair by each rule, ``(n,)`` of 0, 1/2 and 1; NaN where a pair has no such call.

    In ``sum`` a call adds 1 where it agrees with the label, takes 1 where it contradicts it or cannot be read, and a
    tie against a label that is none does neither.
    """
    right = (pairs.calls == pairs.human[:, None]).astype(np.float64)
    asked = pairs.calls != NOT_ASKED
    orders = {rule: np.where(asked[:, i], right[:, i], np.nan) for i, rule in enumerate(ORDER_RULES)}
    if pairs.single:
        return {SINGLE: (pairs.verdicts == pairs.human).astype(np.float64), **orders}
    neutral = (pairs.calls == TIE) & (pairs.human != TIE)[:, None]
    balance = np.where(right > 0, 1, np.where(neutral, 0, -1)).sum(axis=1)
    return {
        "collapsed": (pairs.verdicts == pairs.human).astype(np.float64),
        "sum": (balance > 0).astype(np.float64),
        "average": right.mean(axis=1),
        "both": right.min(axis=1, initial=1.0),
        **orders,
    }


def accuracies(by_rule: Mapping[str, Floats], level: float, resamples: int, seed: int) -> dict[str, Estimate]:
    """Return the mean score by each rule: exact intervals of shares, of pairs weighed at random for ``average``."""
    found = {}
    for rule, values in by_rule.items():
        known = values[~np.isnan(values)]
        if rule == "average":
            rng = np.random.default_rng(seed)
            found[rule] = weighed_mean(known, low=0, high=1, level=level, draws=resamples, rng=rng)
        else:
            found[rule] = share(round(float(known.sum())), len(known), level)
    return found
