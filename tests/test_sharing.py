"""Equal requests are put once: the same replies and records as without, fewer calls, no token counted twice."""

import threading
from concurrent.futures import CancelledError, Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orderbias.backends import LabelRequest, TextReply, TextRequest, Workload
from orderbias.collect import Asker, collect, plan
from orderbias.items import Item, ItemSet
from orderbias.orderings import parse_design
from orderbias.prompts import Template
from orderbias.sharing import UnderWay, distinct, rehearsed, spread
from orderbias.strategies.first_token import first_token
from orderbias.strategies.independent import Independent
from orderbias.strategies.matching import Matcher
from orderbias.strategies.two_stage import FirstReply, TwoStage

ITEMS = ItemSet(
    "toy", tuple(Item(str(i), f"Q{i}?", ("north", "east", "south", "west")[: 2 + i % 3]) for i in range(30))
)

REQUESTS = st.builds(
    TextRequest, st.sampled_from("12"), st.just((0, 1)), st.sampled_from("ab"), temperature=st.sampled_from([0.0, 1.0])
) | st.builds(LabelRequest, st.just("1"), st.just((0, 1)), st.just("a"), st.just(("A", "B")))


@given(st.lists(st.tuples(REQUESTS, st.integers(0, 1)), max_size=12))
def test_every_request_has_a_reply_to_its_equal_and_only_repeatable_ones_share(pairs):
    requests, repeats = [r for r, _ in pairs], [n for _, n in pairs]
    asked, source = distinct(requests, repeats)
    assert [asked[i] for i in source] == requests
    sharing = {(r, n) for r, n in pairs if isinstance(r, TextRequest) and not r.temperature}
    alone = [r for r, _ in pairs if not isinstance(r, TextRequest) or r.temperature]
    assert len(asked) == len(sharing) + len(alone)
    replies = [TextReply(str(i), 3, 2) for i in range(len(asked))]
    told = spread(replies, source)
    assert [r.text for r in told] == [replies[i].text for i in source]
    assert sum(r.tokens_in for r in told) == 3 * len(asked)
    assert sum(r.tokens_out for r in told) == 2 * len(asked)


def test_a_reply_on_its_way_is_followed():
    request, under_way, first = TextRequest("1", (0, 1), "a"), UnderWay(), Future()
    assert under_way.earlier(request, 0) is None
    under_way.remember(request, 0, first)
    followers = [under_way.earlier(request, 0) for _ in range(2)]
    assert under_way.earlier(request, 1) is None
    first.set_result(TextReply("yes", 5, 4))
    late = under_way.earlier(request, 0)
    assert {f.result(0) for f in (*followers, late)} == {TextReply("yes", 0, 0)}


def test_what_ends_the_first_ends_its_followers():
    request, under_way, first = TextRequest("1", (0, 1), "a"), UnderWay(), Future()
    under_way.remember(request, 0, first)
    follower, given_up = under_way.earlier(request, 0), under_way.earlier(request, 0)
    given_up.cancel()
    first.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        follower.result(0)
    assert given_up.cancelled()
    cancelled = Future()
    under_way.remember(request, 2, cancelled)
    follower = under_way.earlier(request, 2)
    cancelled.cancel()
    with pytest.raises(CancelledError):
        follower.result(0)
    assert under_way.earlier(request, 2) is None


class Batches:
    """Answers requests together and notes them."""

    def __init__(self, answer):
        self.answer, self.asked, self.identity = answer, [], {"model": "noted"}

    def ask(self, requests):
        self.asked += requests
        return [TextReply(self.answer(r), 2, 1) for r in requests]

    def workload(self, requests):
        return Workload(sum(len(r.prompt) for r in requests), 0, len(requests))


class AtOnce(Batches):
    """Answers each request in a thread of its own, some later than others."""

    at_once = 7

    def submit(self, request):
        future = Future()
        self.asked.append(request)
        delay = (len(self.asked) % 5) / 500
        threading.Timer(delay, lambda: future.set_result(TextReply(self.answer(request), 2, 1))).start()
        return future


STRATEGIES = {
    "two stages": TwoStage(),
    "matched": TwoStage(second="match", matcher=Matcher()),
    "visible": TwoStage("visible", "model"),
    "scored": Independent(),
    "given": TwoStage(second="match", given={}),
}
#: Of 10 items each with 2, 3 and 4 options, under their rotations.
CALLS = {"two stages": 30 + 90, "matched": 30, "visible": 180, "scored": 90, "given": 0}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_backend_that_answers_at_once_gives_the_same_records_and_as_few_calls(name):
    def answer(request):
        return {"letter": "A", "content": "east", "score": f"<score>{len(request.prompt) % 9}</score>"}[request.wants]

    queries = plan(ITEMS, parse_design("cyclic")).queries
    found = []
    for kind in (Batches, AtOnce):
        backend, sink = kind(answer), []
        asker = Asker(backend, STRATEGIES[name], Template())
        done = collect(asker, queries, type("Sink", (), {"append": sink.extend}))
        assert (done.n_done, done.n_left) == (len(queries), 0)
        assert len(backend.asked) == CALLS[name]
        assert sum(r.tokens_in for r in sink) == 2 * CALLS[name]
        found.append({(r.item_id, r.positions): (r.place, r.status, r.text) for r in sink})
    assert found[0] == found[1]


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_plan_counts_the_calls_before_the_first(name):
    queries = plan(ITEMS, parse_design("cyclic")).queries
    work = Asker(Batches(None), STRATEGIES[name], Template()).workload(queries)
    assert work.calls == work.reply_tokens == CALLS[name]


def test_a_rehearsal_asks_nothing_and_makes_every_request():
    item = ITEMS.items[2]
    assert [r.shows for r in rehearsed(Independent()(item, range(4), Template(), ()), item)] == [(0,), (1,), (2,), (3,)]
    assert len(rehearsed(first_token(item, range(4), Template(), ()), item)) == 1
    stored = {("2", (0, 1, 2, 3), 0): FirstReply("east")}
    assert len(rehearsed(TwoStage(given=stored)(item, (0, 1, 2, 3), Template(), ()), item)) == 1
    assert rehearsed(TwoStage(given={})(item, (0, 1, 2, 3), Template(), ()), item) == []
