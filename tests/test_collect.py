"""Collecting: every query of a plan is answered once, in batches of whole items, and stored also when interrupted."""

import asyncio
import signal
import threading

import pytest

from orderbias import collect as c
from orderbias.backends import LabelReply
from orderbias.backends.simulated import SimulatedBackend
from orderbias.items import Item, ItemSet
from orderbias.orderings import parse_design
from orderbias.prompts import Template
from orderbias.records import from_rows
from orderbias.strategies.first_token import first_token

ITEMS = ItemSet("toy", tuple(Item(str(i), f"Q{i}?", ("w", "x", "y", "z"), i % 4) for i in range(70)))
DESIGN = parse_design("cyclic+reversals")


class ListSink(list):
    append = list.extend


def asker(backend):
    return c.Asker(backend, first_token, Template(), benchmark="toy", readout="first-token")


class Watching:
    """Wraps a backend and notes what it was asked."""

    def __init__(self, backend, fail_after=None):
        self.backend, self.batches, self.fail_after = backend, [], fail_after
        self.identity = backend.identity

    def workload(self, requests):
        return self.backend.workload(requests)

    def ask(self, requests):
        if self.fail_after is not None and len(self.batches) >= self.fail_after:
            raise KeyboardInterrupt
        self.batches.append([r.item_id for r in requests])
        return self.backend.ask(requests)


def simulated(**laws):
    return SimulatedBackend(ITEMS.items, (1, 0, 0, -1), **laws)


def test_every_query_is_answered_once_and_items_are_kept_whole():
    sink, backend = ListSink(), Watching(simulated())
    plan = c.plan(ITEMS, DESIGN)
    done = c.collect(asker(backend), plan.queries, sink)
    assert len({(r.item_id, r.positions, r.repeat) for r in sink}) == len(sink) == plan.n_total == 70 * 8
    assert (done.n_done, done.n_left, done.n_failed) == (560, 0, 0)
    for before, after in zip(backend.batches, backend.batches[1:], strict=False):
        assert not set(before) & set(after)
    assert len(set(backend.batches[0])) == 1


def test_what_was_answered_before_an_interrupt_is_stored_and_the_rest_is_planned_again():
    sink = ListSink()
    first = c.plan(ITEMS, DESIGN)
    with pytest.raises(KeyboardInterrupt):
        c.collect(asker(Watching(simulated(), fail_after=2)), first.queries, sink)
    assert 0 < len(sink) < first.n_total
    rest = c.plan(ITEMS, DESIGN, {(r.item_id, r.positions, r.repeat) for r in sink})
    assert rest.n_stored == len(sink)
    c.collect(asker(simulated()), rest.queries, sink)
    assert len({(r.item_id, r.positions) for r in sink}) == len(sink) == first.n_total


def test_the_answers_follow_the_planted_laws():
    sink, backend = ListSink(), simulated()
    c.collect(asker(backend), c.plan(ITEMS, DESIGN).queries, sink)
    for record in sink:
        by_place = [0.0] * 4
        for content, place in enumerate(record.positions):
            by_place[place] = backend.strengths(record.item_id)[content] + (1, 0, 0, -1)[place]
        assert record.place == by_place.index(max(by_place))
        assert record.mass == pytest.approx(0.9)
        differences = [record.logprobs[r] - by_place[r] for r in range(4)]
        assert max(differences) - min(differences) < 1e-9


def test_a_failed_reply_is_a_counted_status_and_the_rest_is_kept():
    class Broken(Watching):
        def ask(self, requests):
            replies = super().ask(requests)
            return [LabelReply(None, status="error", text="no"), *replies[1:]]

    sink = ListSink()
    done = c.collect(asker(Broken(simulated())), c.plan(ITEMS, DESIGN).queries, sink)
    failed = [r for r in sink if r.status == "error"]
    assert done.n_failed == len(failed) == 4
    assert all(r.place is None and r.logprobs is None and r.text == "no" for r in failed)


def test_a_reply_that_ends_within_a_character_is_kept():
    class Halved(Watching):
        def ask(self, requests):
            return [LabelReply(None, status="unparsed", text="x\ud83d") for _ in requests]

    sink = ListSink()
    c.collect(asker(Halved(simulated())), c.plan(ITEMS, DESIGN).queries[:8], sink)
    assert {r.text for r in sink} == {"x\\ud83d"}
    assert len(from_rows(sink)) == 8


def test_pinned_items_rotate_their_free_contents_only():
    item = Item("p", "?", ("w", "x", "y", "none of the above"), 0, pinned=(3,))
    assert c.orderings_of(item, DESIGN) == [(0, 1, 2, 3), (1, 2, 0, 3), (2, 0, 1, 3)]
    assert c.orderings_of(item, parse_design("canonical")) == [(0, 1, 2, 3)]


def test_repeats_are_queries_of_their_own_and_stay_with_their_item():
    plan = c.plan(ITEMS, DESIGN, {("0", (0, 1, 2, 3), 1)}, repeats=3)
    assert (plan.n_total, plan.n_stored) == (70 * 8 * 3, 1)
    keys = [q.key for q in plan.queries]
    assert len(set(keys)) == len(keys)
    assert {q.repeat for q in plan.queries} == {0, 1, 2}
    ids = [q.item.id for q in plan.queries]
    assert ids == sorted(ids, key=int)
    sink = ListSink()
    c.collect(asker(simulated()), plan.queries, sink)
    assert {(r.item_id, r.positions, r.repeat) for r in sink} == set(keys)


def test_replies_that_cannot_be_read_are_counted_apart_from_failures():
    class Vague(Watching):
        def ask(self, requests):
            return [LabelReply(None, status="unparsed", text="well") for _ in requests]

    done = c.collect(asker(Vague(simulated())), c.plan(ITEMS, DESIGN).queries[:16], ListSink())
    assert (done.n_done, done.n_failed, done.n_unparsed) == (16, 0, 16)


def test_a_long_plan_is_priced_from_its_first_queries():
    many = ItemSet("many", tuple(Item(str(i), "a b", ("w", "x", "y", "z")) for i in range(1000)))
    backend = SimulatedBackend(many.items, (0, 0, 0, 0))
    queries = c.plan(many, parse_design("cyclic")).queries
    counted = c.Asker(backend, first_token, Template()).workload(queries)
    assert counted.tokens == sum(len(r.prompt.split()) for r in asker(backend).requests(queries))
    assert c.Asker(backend, first_token, Template()).workload(()).tokens == 0


def test_slow_items_are_asked_few_at_a_time(monkeypatch):
    """A kill loses what is under way, so that must not be half an hour."""
    clock, sizes = [0.0], []

    class Slow:
        def __init__(self, backend):
            self.identity, self.workload = backend.identity, backend.workload
            self._backend = backend

        def ask(self, requests):
            sizes.append(len({r.item_id for r in requests}))
            clock[0] += 10.0 * sizes[-1]
            return self._backend.ask(requests)

    monkeypatch.setattr(c.time, "monotonic", lambda: clock[0])
    queries = c.plan(ItemSet("made", ITEMS.items[:40]), DESIGN).queries
    c.collect(asker(Slow(simulated())), queries, ListSink())
    assert sizes == [1, 9, 9, 9, 9, 3]
    sizes.clear()
    monkeypatch.setattr(c, "SECONDS_AT_ONCE", 1.0)
    c.collect(asker(Slow(simulated())), queries, ListSink())
    assert sizes == [1, *[4] * 9, 3]


def test_an_interrupt_while_answers_are_stored_waits_until_they_are(monkeypatch):
    """Between a store that has them and a buffer that still holds them, they would be stored twice."""
    monkeypatch.setattr(c, "FLUSH_SECONDS", 0.0)
    asked = []

    class Interrupted(ListSink):
        def append(self, records):
            asked.append(len(records))
            if len(asked) == 2:
                signal.raise_signal(signal.SIGINT)
            self.extend(records)
            if len(asked) == 2:
                asked.append("stored")

    sink = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        c.collect(asker(simulated()), c.plan(ITEMS, DESIGN).queries, sink)
    assert asked[1:] == [32 * 8, "stored"]
    assert len({(r.item_id, r.positions) for r in sink}) == len(sink) == 33 * 8
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class OneAtATime:
    """A server of one slot, in a thread of its own; the calls wait for it in turn and never end."""

    at_once = 6

    def __init__(self, backend):
        self.identity, self.workload, self._backend = backend.identity, backend.workload, backend
        self.called = []
        self.busy = threading.Event()
        self._slot = asyncio.Semaphore(1)
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()

    def ask(self, requests):
        return self._backend.ask(requests)

    def submit(self, request):
        return asyncio.run_coroutine_threadsafe(self._call(request), self.loop)

    async def _call(self, request):
        async with self._slot:
            self.called.append(request)
            self.busy.set()
            await asyncio.sleep(60)


def test_what_waits_for_a_server_is_given_up_before_what_it_waits_for():
    """The other way round, each call that is given up lets out the next, which may have to be paid for."""
    for _ in range(50):
        backend = OneAtATime(simulated())
        window = c._Window(asker(backend), backend, c.plan(ITEMS, DESIGN).queries)
        next(window.answers())
        assert backend.busy.wait(10)
        window.cancel()
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.01), backend.loop).result(10)
        backend.close()
        assert len(backend.called) == 1
