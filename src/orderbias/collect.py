"""Have the queries of a plan answered and stored; the only concurrent module.

Knows strategies and backends by their protocols and a store as something that lists and appends records; knows
nothing of what a record will be used for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Protocol

from orderbias.backends import Backend, Concurrent, Reply, Request, Workload
from orderbias.errors import AskingStopped, OrderbiasError
from orderbias.items import Item
from orderbias.planning import Plan, Query, QueryKey, all_queries, orderings_of, plan
from orderbias.prompts import Prompter
from orderbias.records import Record
from orderbias.strategies import Answer, Asking, Strategy

__all__ = [
    "Asker",
    "Plan",
    "Progress",
    "Query",
    "QueryKey",
    "Sink",
    "all_queries",
    "collect",
    "orderings_of",
    "plan",
]

#: Items whose queries are put to a backend together. Enough to fill batches, few enough to lose little to a kill.
ITEMS_AT_ONCE = 32
#: Seconds of answers that may wait in memory before they are written.
FLUSH_SECONDS = 2.0
#: Requests tokenised to estimate the tokens of a whole plan.
SAMPLED_REQUESTS = 1024


class Sink(Protocol):
    """Where records go; ``append`` returns when they are safe."""

    def append(self, records: Sequence[Record]) -> object:
        """Store records."""
        ...


@dataclass(frozen=True, slots=True)
class Asker:
    """All that turns a query into a record: a backend, what it is asked and how it is put."""

    backend: Backend
    strategy: Strategy
    template: Prompter
    shots: tuple[Item, ...] = ()
    benchmark: str = ""
    readout: str = ""

    def requests(self, queries: Iterable[Query]) -> list[Request]:
        """Return the first request of each query, without asking it."""
        return [next(self.begin(query)) for query in queries]

    def workload(self, queries: Sequence[Query]) -> Workload:
        """Count the tokens of queries; those of a long plan are estimated from its first thousand queries."""
        sample = queries[:SAMPLED_REQUESTS]
        if not sample:
            return Workload(0, 0)
        counted = self.backend.workload(self.requests(sample))
        scale = len(queries) / len(sample)
        return Workload(*(round(getattr(counted, f.name) * scale) for f in fields(counted)))

    def answer(self, queries: Sequence[Query]) -> list[Record]:
        """Ask queries, all that can be asked at a time together, and return their records in order."""
        answers: list[Answer | None] = [None] * len(queries)
        asking = {i: self.begin(query) for i, query in enumerate(queries)}
        pending = {i: next(generator) for i, generator in asking.items()}
        while pending:
            replies = self.backend.ask(list(pending.values()))
            following = {}
            for i, reply in zip(pending, replies, strict=True):
                try:
                    following[i] = asking[i].send(reply)
                except StopIteration as done:
                    answers[i] = done.value
            pending = following
        return [self.record(q, a) for q, a in zip(queries, answers, strict=True) if a is not None]

    def begin(self, query: Query) -> Asking:
        """Return the generator that asks one query."""
        return self.strategy(query.item, query.positions, self.template, self.shots, query.repeat)

    def record(self, query: Query, answer: Answer) -> Record:
        """Return what is stored of an answer."""
        return Record(
            model=self.backend.identity["model"],
            benchmark=self.benchmark,
            readout=self.readout,
            item_id=query.item.id,
            group=query.item.group,
            positions=query.positions,
            gold=query.item.gold,
            place=answer.place,
            logprobs=answer.logprobs,
            mass=answer.mass,
            status=answer.status,
            repeat=query.repeat,
            text=_writable(answer.text),
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
        )


def _writable(text: str | None) -> str | None:
    """Write out what no file can hold, half of a character's pair: a model may end within one, and its reply counts."""
    return None if text is None else text.encode(errors="backslashreplace").decode()


@dataclass(slots=True)
class Progress:
    """How far a run is; handed to the caller after every batch. ``seconds`` counts asking only."""

    n_done: int = 0
    n_left: int = 0
    n_failed: int = 0
    n_unparsed: int = 0
    seconds: float = 0.0
    #: Why asking ended before everything was answered.
    stopped: str | None = None

    @property
    def seconds_left(self) -> float:
        """Time for the rest at the rate so far; infinite before anything is done."""
        return self.seconds / self.n_done * self.n_left if self.n_done else math.inf


@dataclass(slots=True)
class _Buffer:
    """Records on their way to a sink, written at least every ``FLUSH_SECONDS``."""

    sink: Sink
    waiting: list[Record] = field(default_factory=list)
    since: float = field(default_factory=time.monotonic)

    def add(self, records: Sequence[Record]) -> None:
        self.waiting.extend(records)
        if time.monotonic() - self.since >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self.waiting:
            self.sink.append(self.waiting)
        self.waiting, self.since = [], time.monotonic()


def collect(
    asker: Asker, queries: Sequence[Query], sink: Sink, report: Callable[[Progress], None] = lambda progress: None
) -> Progress:
    """Have queries answered and stored; whatever was answered is stored also when this is interrupted.

    Parameters
    ----------
    asker
        What answers.
    queries
        In the order of :func:`plan`: an item's queries together.
    sink
        Where the records go.
    report
        Called after each batch.

    Returns
    -------
    Progress
        The final state.
    """
    progress = Progress(n_left=len(queries))
    buffer = _Buffer(sink)
    if isinstance(asker.backend, Concurrent):
        _stream(_Window(asker, asker.backend, queries), buffer, progress, report)
        return progress
    try:
        for batch in _batches(queries):
            started = time.monotonic()
            _keep(asker.answer(batch), buffer, progress)
            progress.seconds += time.monotonic() - started
            report(progress)
    finally:
        buffer.flush()
    return progress


def _keep(records: Sequence[Record], buffer: _Buffer, progress: Progress) -> None:
    buffer.add(records)
    progress.n_done += len(records)
    progress.n_left -= len(records)
    progress.n_failed += sum(record.status == "error" for record in records)
    progress.n_unparsed += sum(record.status == "unparsed" for record in records)


def _stream(window: _Window, buffer: _Buffer, progress: Progress, report: Callable[[Progress], None]) -> None:
    """Store answers as they come; also those that had come when this was interrupted."""
    started = time.monotonic()
    try:
        for records in window.answers():
            _keep(records, buffer, progress)
            progress.seconds = time.monotonic() - started
            report(progress)
    except AskingStopped as stop:
        progress.stopped = str(stop)
    except BaseException:
        _keep(window.arrived(), buffer, progress)
        raise
    finally:
        window.cancel()
        buffer.flush()


class _Window:
    """The queries of a run that are under way at a time: enough to keep a backend busy, an item's queries together."""

    def __init__(self, asker: Asker, backend: Concurrent, queries: Sequence[Query]) -> None:
        self._asker = asker
        self._backend = backend
        self._waiting = iter(queries)
        self._under_way: dict[Future[Reply], tuple[Query, Asking]] = {}
        self._error: OrderbiasError | None = None

    def answers(self) -> Iterator[list[Record]]:
        """Yield records as they are complete.

        Raises
        ------
        OrderbiasError
            What ended the asking, once everything that was under way has come to its end.
        """
        self._fill()
        while self._under_way:
            wait(self._under_way, timeout=FLUSH_SECONDS, return_when=FIRST_COMPLETED)
            yield self.arrived()
            self._fill()
        if self._error is not None:
            raise self._error

    def arrived(self) -> list[Record]:
        """Return the records of queries whose last reply is there, without waiting."""
        done = [future for future in self._under_way if future.done()]
        found = []
        for future in done:
            query, asking = self._under_way.pop(future)
            try:
                self._submit(query, asking, asking.send(future.result()))
            except StopIteration as last:
                found.append(self._asker.record(query, last.value))
            except CancelledError:
                continue
            except OrderbiasError as error:
                # The first error counts; one that is no mere stop counts more.
                if self._error is None or isinstance(self._error, AskingStopped):
                    self._error = error
        return found

    def cancel(self) -> None:
        """Give up what is under way."""
        for future in self._under_way:
            future.cancel()

    def _fill(self) -> None:
        room = self._backend.at_once - len(self._under_way)
        for query in islice(self._waiting, 0 if self._error else max(room, 0)):
            asking = self._asker.begin(query)
            self._submit(query, asking, next(asking))

    def _submit(self, query: Query, asking: Asking, request: Request) -> None:
        self._under_way[self._backend.submit(request)] = query, asking


def _batches(queries: Sequence[Query]) -> Iterator[list[Query]]:
    """Split queries after every ``ITEMS_AT_ONCE``-th item, never within one.

    The first batch holds a single item, so that the time of the rest is known soon.
    """
    rest = iter(_by_item(queries))
    size = 1
    while items := list(islice(rest, size)):
        yield [query for item in items for query in item]
        size = ITEMS_AT_ONCE


def _by_item(queries: Sequence[Query]) -> Iterator[list[Query]]:
    same: list[Query] = []
    for query in queries:
        if same and same[-1].item is not query.item:
            yield same
            same = []
        same.append(query)
    if same:
        yield same
