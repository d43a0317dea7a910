"""The swap check of judge-swap.md, and the counts behind it; must not know how they are read or shown.

A judge sees each pair in both orders. Of the nine outcomes three are consistent, two are contradictions (the judge
took the same place twice, so both members once) and four are half shifts (a tie in one order only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.sign import sign_test_p
from orderbias.judge.values import Ints, Judgments, collapsed, in_pair_terms
from orderbias.predictions import Predictions
from orderbias.row_files import shown
from orderbias.verdicts import FIRST, NOT_ASKED, SECOND, TIE

Judge = Callable[[str, str], str]

#: Names of the verdicts in shown terms, and of the collapsed ones, by code.
SHOWN_NAMES = ("first", "second", "tie")
PAIR_NAMES = ("A", "B", "tie")

_CODES = {name: code for code, name in enumerate(SHOWN_NAMES)}


def position_bias_report(pairs: Sequence[tuple[str, str]], judge: Judge) -> dict[str, object]:
    """Ask a judge for each pair in both orders, and report how consistent it is and what it prefers.

    Both verdicts of a pair are mapped back to its members; where they disagree the pair is a tie (judge-swap, 01).

    Parameters
    ----------
    pairs
        Pairs of answers ``(a, b)``.
    judge
        ``judge(first, second)`` returns ``"first"``, ``"second"`` or ``"tie"``; called twice a pair, ``(a, b)`` first.

    Returns
    -------
    dict
        ``consistency``: share of pairs whose two verdicts agree (1.0 for no pair). ``first_position_rate``: share of
        the decisive calls that took the first place (0.5 for none). ``p_value``: two-sided exact sign test of that
        rate against 1/2, as the source has it; the two calls of a pair are not independent, for which see
        :func:`orderbias.judge.judge_report`. ``verdicts``: ``"A"``, ``"B"`` or ``"tie"`` for each pair.

    Raises
    ------
    ArgumentError
        If ``pairs`` holds something else, the judge cannot be called, or it returns another word.

    Examples
    --------
    >>> position_bias_report([("aa", "b"), ("a", "b")], lambda first, second: "first")
    {'consistency': 0.0, 'first_position_rate': 1.0, 'p_value': 0.125, 'verdicts': ['tie', 'tie']}
    """
    if not callable(judge):
        raise ArgumentError(f"`judge` must be a function of two answers. Got {shown(judge)}.")
    texts = _pairs(pairs)
    calls = np.empty((len(texts), 2, 1), np.int8)
    for i, (a, b) in enumerate(texts):
        calls[i, :, 0] = _code(judge(a, b)), _code(judge(b, a))
    judgments = Judgments(np.array([str(i) for i in range(len(texts))], object), calls)
    counts = outcome_counts(judgments)
    n_first, n_decisive = counts.n_first, counts.n_decisive
    return {
        "consistency": counts.n_consistent / counts.n_complete if counts.n_complete else 1.0,
        "first_position_rate": n_first / n_decisive if n_decisive else 0.5,
        "p_value": sign_test_p(n_first, n_decisive),
        "verdicts": [PAIR_NAMES[code] for code in collapsed(judgments)],
    }


def _pairs(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return pairs of answers, whatever they are held in; a text is no pair of two letters."""
    rule = "`pairs` must hold pairs of answers (a, b)."
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ArgumentError(f"{rule} Got {shown(pairs)}.")
    found = []
    for i, pair in enumerate(pairs):
        members = () if isinstance(pair, str) or not isinstance(pair, Iterable) else tuple(pair)
        if len(members) != 2:
            raise ArgumentError(f"{rule} Got {shown(pair)} at {i}.")
        found.append((members[0], members[1]))
    return found


def _code(verdict: str) -> int:
    if not isinstance(verdict, str) or verdict not in _CODES:
        raise ArgumentError(f"A judge must return one of {', '.join(map(repr, _CODES))}. Got {shown(verdict)}.")
    return _CODES[verdict]


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeCounts:
    """How often each of the nine outcomes of a pair occurred.

    ``table[v, w]`` counts the complete pairs whose verdict was ``v`` when A was shown first and ``w`` when B was, both
    in shown terms (0 first, 1 second, 2 tie). Int64 ``(3, 3)``.
    """

    table: NDArray[np.int64]

    @property
    def n_complete(self) -> int:
        """Pairs with a verdict in both orders."""
        return int(self.table.sum())

    @property
    def n_consistent(self) -> int:
        """Pairs whose verdicts agree: A twice, B twice or a tie twice."""
        return int(self.table[FIRST, SECOND] + self.table[SECOND, FIRST] + self.table[TIE, TIE])

    @property
    def contradictions(self) -> tuple[int, int]:
        """Pairs in which the same place won twice: the first place, the second."""
        return int(self.table[FIRST, FIRST]), int(self.table[SECOND, SECOND])

    @property
    def half_shifts(self) -> tuple[int, int]:
        """Pairs that were a tie in one order only, by what the other order took: the first place, the second."""
        tied = self.table[TIE] + self.table[:, TIE]
        return int(tied[FIRST]), int(tied[SECOND])

    @property
    def n_first(self) -> int:
        """Calls, two a pair, that took the first place."""
        return int(self.table[FIRST].sum() + self.table[:, FIRST].sum())

    @property
    def n_decisive(self) -> int:
        """Calls, two a pair, that were no tie."""
        return 2 * self.n_complete - int(self.table[TIE].sum() + self.table[:, TIE].sum())

    def as_dict(self) -> dict[str, int]:
        """Return the nine counts by name, as ``first_then_tie``: A shown first gave ``first``, B first a tie."""
        return {f"{SHOWN_NAMES[v]}_then_{SHOWN_NAMES[w]}": int(self.table[v, w]) for v in range(3) for w in range(3)}


def outcome_counts(judgments: Judgments) -> OutcomeCounts:
    """Count the nine outcomes over the complete pairs.

    Examples
    --------
    >>> calls = np.array([[0, 1], [0, 0], [0, 2]])[:, :, None].astype(np.int8)
    >>> counts = outcome_counts(Judgments(np.array(["1", "2", "3"], object), calls))
    >>> counts.n_consistent, counts.contradictions, counts.half_shifts
    (1, (1, 0), (1, 0))
    """
    calls = judgments.calls[judgments.complete].astype(np.int64)
    return OutcomeCounts(np.bincount(3 * calls[:, 0] + calls[:, 1], minlength=9).reshape(3, 3))


#: What becomes of a verdict that was asked for and cannot be read.
UNREADABLE = ("exclude", "consistent", "wrong")


def pair_consistency(judgments: Judgments, unreadable: str = "exclude") -> tuple[int, int]:
    """Count consistent units, and units, under a rule for unreadable verdicts.

    Parameters
    ----------
    judgments
        Verdicts.
    unreadable
        ``exclude`` (default): units are complete pairs. ``wrong``: units are the pairs asked in both orders, and an
        unreadable verdict agrees with nothing (LLMBar's rule). ``consistent``: units are the readable calls of those
        pairs, and a call is consistent unless its partner was read and disagrees (the rule of Shi et al. 2024).

    Returns
    -------
    consistent, units

    Examples
    --------
    >>> calls = np.array([[0, 1], [0, -1], [0, 0]])[:, :, None].astype(np.int8)
    >>> judgments = Judgments(np.array(["1", "2", "3"], object), calls)
    >>> [pair_consistency(judgments, rule) for rule in UNREADABLE]
    [(1, 2), (3, 5), (1, 3)]
    """
    if unreadable not in UNREADABLE:
        raise ArgumentError(f"`unreadable` must be one of {', '.join(UNREADABLE)}. Got {unreadable!r}.")
    counts = outcome_counts(judgments)
    asked = (judgments.calls != NOT_ASKED).all(axis=1)
    if unreadable == "consistent":
        readable = int((judgments.calls[asked] >= 0).sum())
        return readable - 2 * (counts.n_complete - counts.n_consistent), readable
    return counts.n_consistent, counts.n_complete if unreadable == "exclude" else int(asked.sum())


def to_predictions(judgments: Judgments) -> Predictions:
    """Return the pairs as items of two options, A and B, under both orders; every measure then applies.

    A verdict that is a tie or cannot be read is no choice, so its pair is not usable. The flip rate is then the share
    of contradictions among pairs without a tie, and the pooled SD is half of ``|raw fairness| / pairs`` of Shi et al.
    (two-factors, G).

    Examples
    --------
    >>> from orderbias import measure
    >>> calls = np.array([[0, 1], [0, 0], [0, 2]])[:, :, None].astype(np.int8)
    >>> m = measure(to_predictions(Judgments(np.array(["1", "2", "3"], object), calls)), resamples=0)
    >>> m.n_items, m.flip_rate, m.pooled_sd
    (2, 0.5, 0.25)
    """
    members = in_pair_terms(judgments.calls)
    return Predictions(
        choice=_decisive(members),
        positions=np.array([[0, 1], [1, 0]]),
        gold=np.full(judgments.n_pairs, -1) if judgments.human is None else _decisive(judgments.human),
        model=judgments.judge,
        readout="verdict",
    )


def _decisive(members: Ints) -> Ints:
    return np.where((members == 0) | (members == 1), members, -1).astype(np.int8)
