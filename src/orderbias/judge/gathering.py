"""Calls of judges -> one `Judgments` per judge, without ever holding the rows; must not know any file format.

Everything is kept in flat arrays that grow: a verdict is one byte and its line four, however long the reply was.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import DataError
from orderbias.judge.columns import Facts
from orderbias.judge.pairs import Pairs, Tally, encodable, fill
from orderbias.judge.terms import Evidence
from orderbias.judge.values import ORDERS, Judgments
from orderbias.row_files import shown
from orderbias.signature import Signature
from orderbias.verdicts import FIRST, NOT_ASKED, SECOND, UNREAD, Terms

_LONGEST_CALLED = 60
#: More than this and a column is not what its name says.
MOST_REPEATS, MOST_JUDGES = 100, 1000


class TooMany(DataError):
    """A column holds something else than its name says: there is no use in reading on."""


class Call(NamedTuple):
    """One verdict of one judge (a named tuple, since there is one per row of files of millions)."""

    pair_id: str
    order: int
    verdict: int
    judge: str
    facts: Facts
    word: object = None
    terms: Terms = Terms.EITHER
    repeat: int = 0
    logprobs: tuple[float, float, float] | None = None


class _Calls:
    """The calls of one judge with the same number of repeat: a verdict and a line for each pair and order."""

    __slots__ = ("lines", "verdicts")

    def __init__(self) -> None:
        self.verdicts = array("b")
        self.lines = array("i")

    def reach(self, slot: int) -> None:
        """Make room for the slots of one more pair."""
        missing = (slot | 1) + 1 - len(self.verdicts)
        if missing > 0:
            self.verdicts.frombytes(b"\xfe" * missing)  # NOT_ASKED
            self.lines.frombytes(bytes(missing * self.lines.itemsize))


class _Judge:
    """What one judge said, by the numbers of pairs in the order in which it met them."""

    def __init__(self, name: str) -> None:
        self.name = encodable(name)
        self.pairs: dict[int, int] = {}
        self.calls: dict[int, _Calls] = {0: _Calls()}
        self.logprobs: array[float] | None = None
        #: Which repeat they are of: the lowest that has any.
        self.logprobs_of: float = math.inf
        self.unread = Tally()
        self.repeated = Tally()

    def put_logprobs(self, slot: int, repeat: int, logprobs: tuple[float, float, float]) -> None:
        """Keep the probabilities of a call, if it is of the lowest repeat so far."""
        if repeat > self.logprobs_of:
            return
        if self.logprobs is None or repeat < self.logprobs_of:
            self.logprobs, self.logprobs_of = array("d"), repeat
        short = 3 * ((slot | 1) + 1) - len(self.logprobs)
        if short > 0:
            self.logprobs.extend([math.nan] * short)
        self.logprobs[3 * slot : 3 * slot + 3] = array("d", logprobs)


class Gathering:
    """Takes calls one after another; after the last of each file, its reading; after the last file, the result."""

    def __init__(self, *, keep_first: bool) -> None:
        self.pairs = Pairs()
        self.judges: dict[str, _Judge] = {}
        self.keep_first = keep_first
        self.evidence = Evidence()
        self._bases: list[int] = []
        self._where: list[str] = []
        self._end = 0
        self._last: tuple[str, Facts] | None = None
        self._last_row = 0

    def open(self, what: str) -> None:
        """Begin a file, of which ``what`` is the place of a line without its number, as in ``verdicts.csv line``."""
        self._bases.append(self._end)
        self._where.append(what)
        self.evidence = Evidence()

    def add(self, call: Call, where: str, line: int) -> None:
        """Take one call.

        Raises
        ------
        DataError
            If it repeats another call, or denies what is known of the pair.
        """
        number = self._bases[-1] + line
        self._end = number + 1  # lines only grow
        denied = self._learn(call, where)
        judge = self.judges.get(call.judge) or self._new_judge(call.judge)
        own = judge.pairs.setdefault(self._last_row, len(judge.pairs))
        slot = 2 * own + call.order
        calls = judge.calls.get(call.repeat) or self._new_repeat(judge, call.repeat)
        if slot >= len(calls.verdicts):
            calls.reach(slot)
        if calls.verdicts[slot] != NOT_ASKED:
            self._again(judge, call, calls.lines[slot], where)
        else:
            calls.verdicts[slot] = call.verdict
            calls.lines[slot] = number
            if call.verdict == UNREAD:
                judge.unread.add(where, call.word)
            elif call.terms is not Terms.EITHER or (call.order and call.verdict in (FIRST, SECOND)):
                self.evidence.add(call.terms, where, call.word)
            if call.logprobs is not None:
                judge.put_logprobs(slot, call.repeat, call.logprobs)
        if denied:
            raise DataError(denied)

    def _learn(self, call: Call, where: str) -> list[str]:
        """Find the pair's number and keep its facts; rows of one pair mostly follow one another."""
        last = self._last
        if last is not None and last[1] is call.facts and last[0] == call.pair_id:
            return []
        self._last_row = self.pairs.number(call.pair_id)
        self._last = (call.pair_id, call.facts)
        return self.pairs.learn(self._last_row, call.facts, where)

    def _new_judge(self, name: str) -> _Judge:
        if len(self.judges) == MOST_JUDGES:
            raise TooMany(f"more than {MOST_JUDGES} judges. `judge` must be the name of a judge. Got {shown(name)}.")
        judge = self.judges[name] = _Judge(name)
        return judge

    def _new_repeat(self, judge: _Judge, repeat: int) -> _Calls:
        if len(judge.calls) > MOST_REPEATS:
            raise TooMany(
                f"more than {MOST_REPEATS} different repeats. `repeat` numbers the calls of one pair in one order, "
                "from 0."
            )
        calls = judge.calls[repeat] = _Calls()
        return calls

    def _again(self, judge: _Judge, call: Call, number: int, where: str) -> None:
        if self.keep_first:
            judge.repeated.add(where, call.pair_id)
            return
        file = bisect_right(self._bases, number) - 1
        raise DataError(
            f"{_called(judge.name) or 'the judge'} has judged the pair {shown(call.pair_id)} in the order "
            f"{ORDERS[call.order]} before ({self._where[file]} {number - self._bases[file]}). Number calls of one kind "
            "with `repeat`, or pass --duplicates first to keep the first."
        )

    def settle(self, terms: Terms) -> None:
        """Turn the verdicts of the file that was just read into shown terms."""
        if terms is not Terms.PAIR:
            return
        for judge in self.judges.values():
            for calls in judge.calls.values():
                under_ba = np.frombuffer(calls.verdicts, np.int8)[1::2]
                here = np.frombuffer(calls.lines, np.intc)[1::2] >= self._bases[-1]
                here &= (under_ba == FIRST) | (under_ba == SECOND)
                under_ba[here] = 1 - under_ba[here]

    def finish(
        self, source: str, data_hash: str, settings: Signature, notices: Sequence[str], offered: Pairs | None
    ) -> Iterator[Judgments]:
        """Yield one value per judge, in the order in which they appeared."""
        ids = np.array(list(self.pairs.index), object)
        for judge in self.judges.values():
            rows = np.fromiter(judge.pairs, np.intp, len(judge.pairs))
            columns = self.pairs.take(rows)
            if offered is not None:
                fill(columns, ids[rows], offered)
            verdicts, logprobs = _verdicts(judge), _logprobs(judge)
            start = f"{_called(judge.name)}: " if len(self.judges) > 1 else ""
            said = (*_notices(judge), *_improbable(verdicts[:, :, 0], logprobs))
            yield Judgments(
                pair_ids=ids[rows],
                verdicts=verdicts,
                judge=judge.name,
                logprobs=logprobs,
                source=source,
                data_hash=data_hash,
                settings=settings,
                notices=(*notices, *(start + sentence for sentence in said)),
                **columns,
            )


def _asked(judge: _Judge) -> list[int]:
    return [number for number, calls in sorted(judge.calls.items()) if calls.verdicts] or [0]


def _verdicts(judge: _Judge) -> NDArray[np.int8]:
    """Put the calls side by side; repeats keep their order whatever their numbers are."""
    asked = _asked(judge)
    out = np.full((len(judge.pairs), 2, len(asked)), NOT_ASKED, np.int8)
    for place, repeat in enumerate(asked):
        found = np.frombuffer(judge.calls[repeat].verdicts, np.int8).reshape(-1, 2)
        out[: len(found), :, place] = found
    return out


def _logprobs(judge: _Judge) -> NDArray[np.float64] | None:
    if judge.logprobs is None or judge.logprobs_of != _asked(judge)[0]:  # those of other calls than the verdicts
        return None
    out = np.full((len(judge.pairs), 2, 3), math.nan)
    found = np.frombuffer(judge.logprobs, np.float64).reshape(-1, 2, 3)
    out[: len(found)] = found
    return out


def _called(name: str) -> str:
    """Return the name of a judge as a sentence has it."""
    return name if len(name) <= _LONGEST_CALLED else f"{name[:_LONGEST_CALLED]}..."


def _notices(judge: _Judge) -> Iterator[str]:
    if judge.unread.count:
        one = judge.unread.count == 1
        told = (
            "1 verdict cannot be read; it counts"
            if one
            else f"{judge.unread.count:,} verdicts cannot be read; they count"
        )
        yield f"{told} as unreadable, never as a choice ({judge.unread})."
    if judge.repeated.count:
        calls = "1 call" if judge.repeated.count == 1 else f"{judge.repeated.count:,} calls"
        yield f"{calls} of a pair and order that had been judged already left out ({judge.repeated})."


def _improbable(calls: NDArray[np.int8], logprobs: NDArray[np.float64] | None) -> Iterator[str]:
    """Tell of verdicts that are not the most probable ones: drawn, or probabilities of something else."""
    if logprobs is None:
        return
    known = (calls >= 0) & ~np.isnan(logprobs).any(axis=2)
    given = np.take_along_axis(logprobs, np.maximum(calls, 0)[:, :, None].astype(np.intp), axis=2)[:, :, 0]
    n = int((known & (given < np.nan_to_num(logprobs, nan=-np.inf).max(axis=2) - 1e-9)).sum())
    if n:
        yield (
            f"{n:,} of {int(known.sum()):,} verdicts are not the most probable one by their probabilities. Verdicts "
            "may have been drawn; else see that the probabilities are of the answers in the order shown."
        )
