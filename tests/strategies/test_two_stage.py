"""Two stages: what each of the four cells shows a model, and what must not depend on the order."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import Scripted, run

from orderbias.backends import TextReply
from orderbias.backends.simulated import SimulatedBackend
from orderbias.cells import cells
from orderbias.collect import Asker, Query, collect, plan
from orderbias.errors import ArgumentError, DataError
from orderbias.items import Item, ItemSet
from orderbias.measurement import measure
from orderbias.orderings import parse_design
from orderbias.prompts import Template
from orderbias.records import Record, from_rows
from orderbias.strategies.matching import Matcher
from orderbias.strategies.two_stage import FirstReply, Stages, TwoStage, final_phrase, first_replies

ITEM = Item("1", "What does a radiator give off?", ("warmth", "light", "sound"), 0, passage="A room.")
ITEMS = ItemSet("toy", tuple(Item(str(i), f"Q{i}?", ("north", "east", "south", "west"), i % 4) for i in range(40)))


def collected(strategy, backend, items=ITEMS):
    sink = []
    asker = Asker(backend, strategy, Template(), benchmark="toy", readout="r")
    collect(asker, plan(items, parse_design("cyclic")).queries, type("Sink", (), {"append": sink.extend}))
    return sink


@pytest.mark.parametrize("reasoning", [False, True])
def test_hidden_options_are_nowhere_in_the_first_prompt(reasoning):
    strategy = TwoStage(reasoning=reasoning)
    _, (first, second) = run(strategy(ITEM, (2, 0, 1), Template(), ()), lambda r: "heat, I think")
    assert first.prompt.startswith("A room.\nQuestion: What does a radiator give off?\n\n")
    assert not any(option in first.prompt for option in ITEM.options)
    assert "step by step" in first.prompt if reasoning else first.prompt.endswith("\nAnswer:")
    assert (first.positions, first.wants, first.shows) == ((0, 1, 2), "content", ())
    assert second.prompt.endswith("Write its letter and nothing else.\nAnswer:")
    assert "<reply>\nheat, I think\n</reply>\n\nOptions:\nA. light\nB. sound\nC. warmth\n" in second.prompt
    assert (second.positions, second.wants, second.shows, second.max_tokens) == ((2, 0, 1), "letter", None, 32)


@pytest.mark.parametrize("reasoning", [False, True])
def test_visible_options_stand_in_the_order_asked(reasoning):
    strategy = TwoStage("visible", "match", reasoning)
    _, (first,) = run(strategy(ITEM, (2, 0, 1), Template(), ()), lambda r: "warmth")
    assert first.prompt.startswith(
        "A room.\nQuestion: What does a radiator give off?\nA. light\nB. sound\nC. warmth\n\n"
    )
    assert ("step by step" in first.prompt) == reasoning
    assert (first.positions, first.shows) == ((2, 0, 1), None)


def test_what_is_matched_is_what_was_said_after_thinking():
    strategy = TwoStage(second="match")
    answer, _ = run(strategy(ITEM, (2, 0, 1), Template(), ()), lambda r: "<think>light? sound?</think> Warmth.")
    assert (answer.place, answer.found) == (2, "exact")
    assert Stages.split(answer.text).first.text == "<think>light? sound?</think> Warmth."


@pytest.mark.parametrize(
    ("reply", "place", "status"),
    [
        (TextReply("Not light or sound.\nAnswer: warmth"), 2, "ok"),
        (TextReply("Answer: light. No.\n**Answer:** warmth\n", finished=False), 2, "ok"),
        (TextReply("It is warmth"), 2, "ok"),
        (TextReply("It is warmth", finished=False), None, "unparsed"),
        (TextReply("I cannot answer that."), None, "refused"),
        (TextReply("<think> warmth", finished=False), None, "unparsed"),
        (TextReply(None, status="error", reason="broken"), None, "error"),
    ],
)
def test_where_the_first_stage_reasons_its_final_answer_is_matched(reply, place, status):
    strategy = TwoStage("visible", "match", True, matcher=Matcher(lambda texts: np.eye(len(texts))))
    answer, _ = run(strategy(ITEM, (2, 0, 1), Template(), ()), lambda r: reply)
    assert (answer.place, answer.status) == (place, status)


def test_both_replies_can_be_taken_apart_and_both_are_paid_for():
    said = iter(['warm\n"air" \\ {x}', " **C**, as \ud83d"])
    answer, asked = run(TwoStage()(ITEM, (2, 0, 1), Template(), ()), lambda r: next(said))
    assert (answer.place, answer.found) == (2, "opening")
    assert Stages.split(answer.text) == Stages(FirstReply('warm\n"air" \\ {x}'), " **C**, as \ud83d")
    assert answer.tokens_in == sum(len(r.prompt.split()) for r in asked)
    written = answer.text.encode(errors="backslashreplace").decode()
    assert Stages.split(written).second == " **C**, as \ud83d"


@given(st.text(), st.booleans(), st.none() | st.text(), st.none() | st.lists(st.floats(-1, 1), max_size=4))
def test_stages_come_back_exactly(first, finished, second, cosines):
    stages = Stages(FirstReply(first, finished), second, None if cosines is None else tuple(cosines))
    assert Stages.split(stages.joined()) == stages


@pytest.mark.parametrize("text", ["", "warmth", "[]", "{}", "null", '{"first": "x"}'])
def test_another_text_is_no_stages(text):
    with pytest.raises(DataError, match="two-stage"):
        Stages.split(text)


def test_hidden_options_and_matching_leave_nothing_to_the_order():
    backend = SimulatedBackend(ITEMS.items, (3, 0, 0, -2), seed=4)
    hidden = collected(TwoStage(second="match"), backend)
    (cell,) = cells(from_rows(hidden)).predictions
    assert measure(cell, resamples=0).flip_rate == 0
    assert {r.found for r in hidden} == {"exact"}
    best = {i.id: int(backend.strengths(i.id).argmax()) for i in ITEMS}
    assert all(r.positions.index(r.place) == best[r.item_id] for r in hidden)
    visible = collected(TwoStage("visible", "match"), backend)
    (cell,) = cells(from_rows(visible)).predictions
    assert measure(cell, resamples=0).flip_rate > 0.3


def test_the_first_stage_of_hidden_options_is_asked_once_an_item():
    backend = Scripted(lambda r: "north" if r.wants == "content" else "A")
    records = collected(TwoStage(), backend)
    firsts = [r for r in backend.asked if r.wants == "content"]
    assert (len(firsts), len(backend.asked), len(records)) == (40, 40 + 160, 160)
    assert sum(r.tokens_in for r in records) == sum(len(r.prompt.split()) for r in backend.asked)
    backend = Scripted(lambda r: "north")
    collected(TwoStage("visible", "match"), backend)
    assert len(backend.asked) == 160


def test_another_second_stage_is_given_the_same_first_replies():
    backend = SimulatedBackend(ITEMS.items, (1, 0, 0, -1), seed=4)
    matched = collected(TwoStage("visible", "match"), backend)
    given_again = first_replies(matched)
    assert len(given_again) == 160
    watched = Scripted(lambda r: "B")
    fourth = collected(TwoStage("visible", "model", given=given_again), watched)
    assert all(r.wants == "letter" for r in watched.asked)
    for before, after, request in zip(matched, fourth, watched.asked, strict=True):
        assert Stages.split(before.text).first == Stages.split(after.text).first
        assert f"<reply>\n{Stages.split(before.text).first.text}\n</reply>" in request.prompt
    again = collected(TwoStage("visible", "match", given=given_again), Scripted(None))
    assert [r.place for r in again] == [r.place for r in matched]


def test_a_query_that_the_earlier_run_did_not_answer_is_an_error():
    stored = [Record(item_id="1", positions=(0, 1, 2), status="error", text="broken")]
    strategy = TwoStage(given=first_replies(stored))
    assert first_replies(stored) == {}
    with pytest.raises(StopIteration) as done:
        next(strategy(ITEM, (0, 1, 2), Template(), ()))
    assert done.value.value.status == "error"


def test_records_of_another_readout_are_refused():
    with pytest.raises(DataError, match="two-stage"):
        first_replies([Record(item_id="1", positions=(0, 1), place=0, text="A")])


@pytest.mark.parametrize(("name", "value"), [("first", "shown"), ("second", "letter")])
def test_a_cell_that_is_not_in_the_grid(name, value):
    with pytest.raises(ArgumentError, match=f"`{name}`"):
        TwoStage(**{name: value})


def test_a_drawn_first_stage_is_asked_for_each_query():
    strategy = TwoStage(second="match")
    drawn = replace(strategy, writing=replace(strategy.writing, temperature=1.0))
    asker = Asker(backend := Scripted(lambda r: "north"), drawn, Template())
    asker.answer([Query(ITEMS.items[0], row) for row in ((0, 1, 2, 3), (1, 2, 3, 0))])
    assert len(backend.asked) == 2


@pytest.mark.parametrize(
    ("text", "phrase"),
    [("ANSWER: x\nrest", "x"), ("Answer : **x y**", "x y"), ("The answer: x\nAnswer:", "x"), ("answering: x", None),
     ("答案", None), ("Answer：x", "x")],
)  # fmt: skip
def test_final_phrases(text, phrase):
    assert final_phrase(text) == phrase


def test_cosines_are_kept_for_other_thresholds():
    rows = {"hot air": [1.0, 0], "warmth": [0.5, 0.5], "light": [0.1, 1], "sound": [0, 1]}
    matcher = Matcher(lambda texts: np.array([rows[t] for t in texts], float), min_cosine=0.9)
    answer, _ = run(TwoStage(second="match", matcher=matcher)(ITEM, (0, 1, 2), Template(), ()), lambda r: "hot air")
    assert answer.status == "unparsed"
    assert Stages.split(answer.text).cosines == pytest.approx((0.7071, 0.0995, 0), abs=1e-4)
    assert json.loads(answer.text)["first"] == "hot air"
