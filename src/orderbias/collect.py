"""Plan queries (items x orderings, minus what is stored) and have them answered; the only concurrent module.

Knows strategies and backends by their protocols and a store as something that lists and appends records; knows
nothing of what a record will be used for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Protocol

from orderbias.backends import Backend, Request, Workload
from orderbias.items import Item, ItemSet
from orderbias.orderings import DesignSpec, SwapSample, cyclic, pinned
from orderbias.prompts import Prompter
from orderbias.records import Record
from orderbias.strategies import Answer, Asking, Strategy

#: Items whose queries are put to a backend together. Enough to fill batches, few enough to lose little to a kill.
ITEMS_AT_ONCE = 32
#: Seconds of answers that may wait in memory before they are written.
FLUSH_SECONDS = 2.0
#: Requests tokenised to estimate the tokens of a whole plan.
SAMPLED_REQUESTS = 1024

QueryKey = tuple[str, tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Query:
    """One item under one ordering, asked for the ``repeat``-th time."""

    item: Item
    positions: tuple[int, ...]
    repeat: int = 0

    @property
    def key(self) -> QueryKey:
        """What a store knows it by."""
        return self.item.id, self.positions, self.repeat


@dataclass(frozen=True, slots=True)
class Plan:
    """What is left to ask, of how many queries in all."""

    queries: tuple[Query, ...]
    n_total: int

    @property
    def n_stored(self) -> int:
        """Queries that are answered already."""
        return self.n_total - len(self.queries)


class Sink(Protocol):
    """Where records go; ``append`` returns when they are safe."""

    def append(self, records: Sequence[Record]) -> object:
        """Store records."""
        ...


def all_queries(items: ItemSet, design: DesignSpec | SwapSample, repeats: int = 1) -> Iterator[Query]:
    """Yield every query of a design, the queries of an item together and items in their order.

    An item with pinned contents is asked under the rotations of its free contents (itself alone where fewer than
    two are free); it is no part of a balanced design. Each ordering is asked ``repeats`` times.
    """
    for item in items:
        for row in orderings_of(item, design):
            for repeat in range(repeats):
                yield Query(item, row, repeat)


def orderings_of(item: Item, design: DesignSpec | SwapSample) -> list[tuple[int, ...]]:
    """Return the orderings under which an item is asked."""
    n_options = len(item.options)
    if isinstance(design, SwapSample):
        return design.positions(n_options, item.id)
    if not item.pinned:
        chosen = design.design(n_options, item.id, item.gold)
    elif n_options - len(item.pinned) < 2 or design.kind == "canonical":
        return [tuple(range(n_options))]
    else:
        chosen = pinned(cyclic(n_options - len(item.pinned)), item.pinned, n_options)
    return [tuple(row) for row in chosen.positions.tolist()]


def plan(
    items: ItemSet,
    design: DesignSpec | SwapSample,
    stored: AbstractSet[QueryKey] = frozenset(),
    repeats: int = 1,
) -> Plan:
    """Return the queries of a design that are not stored yet.

    Examples
    --------
    >>> from orderbias.orderings import parse_design
    >>> items = ItemSet("two", (Item("1", "?", ("x", "y")), Item("2", "?", ("x", "y"))))
    >>> left = plan(items, parse_design("cyclic"), {("1", (0, 1), 0)})
    >>> len(left.queries), left.n_stored
    (3, 1)
    """
    every = list(all_queries(items, design, repeats))
    return Plan(tuple(q for q in every if q.key not in stored), len(every))


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
        return [next(self._start(query)) for query in queries]

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
        asking = {i: self._start(query) for i, query in enumerate(queries)}
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
        return [self._record(q, a) for q, a in zip(queries, answers, strict=True) if a is not None]

    def _start(self, query: Query) -> Asking:
        return self.strategy(query.item, query.positions, self.template, self.shots, query.repeat)

    def _record(self, query: Query, answer: Answer) -> Record:
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
    try:
        for batch in _batches(queries):
            started = time.monotonic()
            records = asker.answer(batch)
            buffer.add(records)
            progress.seconds += time.monotonic() - started
            progress.n_done += len(batch)
            progress.n_left -= len(batch)
            progress.n_failed += sum(record.status == "error" for record in records)
            progress.n_unparsed += sum(record.status == "unparsed" for record in records)
            report(progress)
    finally:
        buffer.flush()
    return progress


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
