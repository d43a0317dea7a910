"""Have the queries of a plan answered and stored; the only concurrent module.

Knows strategies and backends by their protocols and a store as something that lists and appends records; knows
nothing of what a record will be used for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field, fields, replace
from itertools import islice
from typing import Protocol

from orderbias.backends import Backend, Concurrent, Reply, Request, Workload
from orderbias.errors import AskingStopped, OrderbiasError
from orderbias.interrupts import HeldInterrupt
from orderbias.items import Item
from orderbias.planning import Plan, Query, QueryKey, all_queries, by_item, orderings_of, plan
from orderbias.prompts import Prompter
from orderbias.records import Record
from orderbias.sharing import UnderWay, distinct, rehearsed, spread
from orderbias.strategies import Answer, Asking, Strategy, advanced

__all__ = [
    "Asker", "Plan", "Progress", "Query", "QueryKey", "Sink", "all_queries", "collect", "orderings_of", "plan",
]  # fmt: skip

#: Items put to a backend together: enough to fill batches, fewer if they would take so many seconds. A kill loses them.
ITEMS_AT_ONCE, FEWEST_AT_ONCE, SECONDS_AT_ONCE = 32, 4, 90.0
#: Seconds of answers that may wait in memory before they are written, and after which a Ctrl-C is seen.
FLUSH_SECONDS, LOOK_SECONDS = 2.0, 0.2
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
        """Return the first request of each query that makes one, without asking it."""
        started = (advanced(self.begin(query)) for query in queries)
        return [request for request in started if not isinstance(request, Answer)]

    def workload(self, queries: Sequence[Query]) -> Workload:
        """Count calls and tokens of queries; those of a long plan are estimated from its first thousand queries.

        A later request holds a reply that is not there yet: it is counted with an option's text in its place.
        """
        sample = queries[:SAMPLED_REQUESTS]
        if not sample:
            return Workload(0, 0)
        asked = [(r, q.repeat) for q in sample for r in rehearsed(self.begin(q), q.item)]
        calls, _ = distinct([r for r, _ in asked], [repeat for _, repeat in asked])
        counted = replace(self.backend.workload(calls), calls=len(calls))
        scale = len(queries) / len(sample)
        return Workload(*(round(getattr(counted, f.name) * scale) for f in fields(counted)))

    def answer(self, queries: Sequence[Query]) -> list[Record]:
        """Ask queries, all that can be asked at a time together, and return their records in order."""
        asking = [self.begin(query) for query in queries]
        states = [advanced(generator) for generator in asking]
        while pending := {i: state for i, state in enumerate(states) if not isinstance(state, Answer)}:
            asked, source = distinct(list(pending.values()), [queries[i].repeat for i in pending])
            for i, reply in zip(pending, spread(self.backend.ask(asked), source), strict=True):
                states[i] = advanced(asking[i], reply)
        return [self.record(q, s) for q, s in zip(queries, states, strict=True) if isinstance(s, Answer)]

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
            found=answer.found,
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
        with HeldInterrupt():  # stored and no longer waiting are one step: between them, they would be stored twice
            waiting, self.waiting, self.since = self.waiting, [], time.monotonic()
            if waiting:
                self.sink.append(waiting)


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
        for batch in _batches(queries, progress):
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
    with HeldInterrupt() as interrupt:
        try:
            for records in window.answers():
                _keep(records, buffer, progress)
                progress.seconds = time.monotonic() - started
                report(progress)
                interrupt.check()
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
        self._shared = UnderWay()
        self._error: OrderbiasError | None = None

    def answers(self) -> Iterator[list[Record]]:
        """Yield records as they are complete.

        Raises
        ------
        OrderbiasError
            What ended the asking, once everything that was under way has come to its end.
        """
        yield self._fill()
        while self._under_way:
            wait(self._under_way, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            yield self.arrived()
            yield self._fill()
        if self._error is not None:
            raise self._error

    def arrived(self) -> list[Record]:
        """Return the records of queries whose last reply is there, without waiting."""
        done = [future for future in self._under_way if future.done()]
        found = []
        for future in done:
            query, asking = self._under_way.pop(future)
            try:
                found += self._go_on(query, asking, future.result())
            except CancelledError:
                continue
            except OrderbiasError as error:
                # The first error counts; one that is no mere stop counts more.
                if self._error is None or isinstance(self._error, AskingStopped):
                    self._error = error
        return found

    def cancel(self) -> None:
        """Give up what is under way, the last begun first: the end of one would let out what waits for it."""
        for future in reversed(self._under_way):
            future.cancel()

    def _fill(self) -> list[Record]:
        """Begin as many queries as there is room for; returns the records of those that asked nothing."""
        found: list[Record] = []
        while self._error is None and len(self._under_way) < self._backend.at_once:
            query = next(self._waiting, None)
            if query is None:
                break
            found += self._go_on(query, self._asker.begin(query))
        return found

    def _go_on(self, query: Query, asking: Asking, given: Reply | None = None) -> list[Record]:
        """Submit the next request of a query, or return its record."""
        request = advanced(asking, given)
        if isinstance(request, Answer):
            return [self._asker.record(query, request)]
        reply = self._shared.earlier(request, query.repeat)
        if reply is None:
            reply = self._backend.submit(request)
            self._shared.remember(request, query.repeat, reply)
        self._under_way[reply] = query, asking
        return []


def _batches(queries: Sequence[Query], progress: Progress) -> Iterator[list[Query]]:
    """Split queries between items. The first batch holds a single one, so that the time of the rest is known soon."""
    rest = iter(by_item(queries))
    size, n_asked = 1, 0
    while items := list(islice(rest, size)):
        yield [query for item in items for query in item]
        n_asked += len(items)
        fitting = SECONDS_AT_ONCE * n_asked / progress.seconds if progress.seconds else math.inf
        size = int(min(ITEMS_AT_ONCE, max(FEWEST_AT_ONCE, fitting)))
