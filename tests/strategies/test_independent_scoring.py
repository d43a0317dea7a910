"""Scoring each option alone: no order can matter, failures count 0 and are counted, ties go by (seed, item id)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scripted import Scripted, run

from orderbias.backends import TextReply
from orderbias.backends.simulated import SimulatedBackend
from orderbias.cells import cells
from orderbias.collect import Asker, collect, plan
from orderbias.errors import ArgumentError, DataError
from orderbias.items import Item, ItemSet
from orderbias.measurement import measure
from orderbias.orderings import parse_design
from orderbias.prompts import Template
from orderbias.records import from_rows
from orderbias.strategies.independent import Independent, Scores, break_tie, read_score

ITEM = Item("1", "What does a radiator give off?", ("warmth", "light", "sound"), 0)
ITEMS = ItemSet("toy", tuple(Item(str(i), f"Q{i}?", ("north", "east", "south", "west"), i % 4) for i in range(40)))


def collected(strategy, backend):
    sink = []
    asker = Asker(backend, strategy, Template(), benchmark="toy", readout="r")
    collect(asker, plan(ITEMS, parse_design("cyclic")).queries, type("Sink", (), {"append": sink.extend}))
    return sink


def scored(scores, positions=(2, 0, 1), **options):
    said = iter(f"<score>{score}</score>" for score in scores)
    return run(Independent(**options)(ITEM, positions, Template(), ()), lambda r: next(said))


@pytest.mark.parametrize("reasoning", [False, True])
def test_each_option_is_shown_alone(reasoning):
    answer, asked = scored((10, 90, 20), reasoning=reasoning)
    assert [r.shows for r in asked] == [(0,), (1,), (2,)]
    for j, request in enumerate(asked):
        assert [option in request.prompt for option in ITEM.options] == [i == j for i in range(3)]
        assert "<score>X</score>" in request.prompt
        assert ("step by step" in request.prompt) == reasoning
    assert (answer.place, answer.found) == (0, "score")
    assert Scores.split(answer.text).scores == (10, 90, 20)


def test_failures_count_zero_take_part_and_are_counted():
    said = iter(["no idea", "<score>0</score>", "<score>300</score>"])
    answer, _ = run(Independent()(ITEM, (2, 0, 1), Template(), ()), lambda r: next(said))
    held = Scores.split(answer.text)
    assert (held.scores, held.counted, held.n_failed, answer.found) == ((None, 0, None), (0, 0, 0), 2, "tie")
    assert answer.place == (2, 0, 1)[break_tie((0, 0, 0), 0, "1")]
    assert held.replies[0] == "no idea"


def test_an_answer_drawn_among_failures_alone_says_so():
    answer, _ = run(Independent()(ITEM, (2, 0, 1), Template(), ()), lambda r: "?")
    assert (answer.status, answer.found, Scores.split(answer.text).n_failed) == ("ok", "unscored", 3)


def test_a_call_that_fails_fails_the_query():
    said = iter([TextReply("<score>5</score>", 3, 1), TextReply(None, 4, status="error", reason="too long")])
    answer, asked = run(Independent()(ITEM, (2, 0, 1), Template(), ()), lambda r: next(said))
    assert (answer.status, answer.place, answer.text, answer.tokens_in, len(asked)) == ("error", None, "too long", 7, 2)


def test_the_simulated_model_is_blind_to_the_order_and_asked_once_an_option():
    backend = SimulatedBackend(ITEMS.items, (3, 0, 0, -2), seed=4)
    records = collected(Independent(), backend)
    (cell,) = cells(from_rows(records)).predictions
    assert measure(cell, resamples=0).flip_rate == 0
    for record in records:
        if record.found == "score":
            assert record.positions.index(record.place) == backend.strengths(record.item_id).argmax()
    watched = Scripted(lambda r: "<score>50</score>")
    records = collected(Independent(), watched)
    assert len(watched.asked) == 160
    assert sum(r.tokens_in for r in records) == sum(len(r.prompt.split()) for r in watched.asked)


def test_another_seed_follows_from_stored_scores_alone():
    watched = Scripted(lambda r: f"<score>{50 + len(r.prompt) % 2}</score>")
    first, second = collected(Independent(seed=1), watched), collected(Independent(seed=2), watched)
    again = [r.positions[break_tie(Scores.split(r.text).counted, 2, r.item_id)] for r in first]
    assert again == [r.place for r in second]
    assert again != [r.place for r in first]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=10), st.integers(0, 10**6), st.text(max_size=5))
def test_the_winner_has_the_highest_score_and_is_always_the_same(scores, seed, item_id):
    winner = break_tie(scores, seed, item_id)
    assert scores[winner] == max(scores)
    assert winner == break_tie(tuple(map(float, scores)), seed, item_id)


def test_ties_go_to_each_equally_often():
    drawn = [break_tie([7, 7, 1, 7], 42, str(i)) for i in range(3000)]
    observed = [drawn.count(j) for j in (0, 1, 3)]
    assert sum(observed) == 3000
    assert stats.chisquare(observed).pvalue > 0.001
    seeds = [break_tie([7, 7], seed, "q") for seed in range(2000)]
    assert stats.binomtest(sum(seeds), 2000).pvalue > 0.001


@pytest.mark.parametrize("scores", [[], [1.0, float("nan")]])
def test_scores_that_are_none(scores):
    with pytest.raises(ArgumentError, match="`scores`"):
        break_tie(scores, 0, "1")


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("<score>0</score>", 0), ("<score>100</score>", 100), ("<score>87.5</score>", 87.5),
        ("<score>87/100</score>", 87),
        ("<Score>\n 40\n</Score>.", 40),
        ("as <score>X</score>: <score>3</score>", 3),
        ("<score>3</score> of <score>X</score>", 3),
        ("<think><score>9</score></think><score>8</score>", 8), ("<think><score>9</score>", None), ("", None),
        ("95", None),
        ("score: 95", None), ("<score></score>", None), ("<score>1e2</score>", None), ("<score>nan</score>", None),
        ("<score>-5</score>", None), ("<score>1000</score>", None), ("<score>٣</score>", None), ("<score>87", None),
        ("<score>80-90</score>", None), ("<score>10</score><score>200</score>", 10),
    ],
)  # fmt: skip
def test_scores_of_every_kind(reply, score):
    assert read_score(reply) == score


@given(st.lists(st.none() | st.floats(0, 100), min_size=1, max_size=6), st.data())
def test_scores_come_back_exactly(scores, data):
    replies = tuple(data.draw(st.text()) for _ in scores)
    held = Scores(tuple(scores), replies)
    assert Scores.split(held.joined()) == held


@pytest.mark.parametrize("text", ["", "A", "[]", "{}", '{"scores": [1]}', '{"scores": ["x"], "replies": []}'])
def test_another_text_is_no_scores(text):
    with pytest.raises(DataError, match="scores"):
        Scores.split(text)
