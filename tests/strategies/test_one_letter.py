"""A reply that is a label: read as it is meant, and as nothing where it is anything else."""

import pytest

from orderbias.backends import TextReply
from orderbias.items import Item
from orderbias.prompts import Template
from orderbias.strategies.one_letter import OneLetter, read_label

ITEM = Item("1", "2 + 2?", ("3", "4", "5", "6"), 1)


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("C", 2), (" C\n", 2), ("**D**", 3), ("(B)", 1), ("[B]", 1), ("C. 12", 2), ("A) three", 0), ("Answer: D", 3),
        ("The answer is C.", 2), ("answer: **C**", 2), ("B\n\nBecause it is.", 1), ("\\boxed{A}", None), ("c", None),
        ("E", None), ("", None), ("A B", None), ("A or B", None), ("A, B", None), ("A good choice is C", None),
        ("I cannot answer that.", None), ("А", None), ("Ａ", None), ("AB", None), ("Certainly! None apply.", None),
    ],
)  # fmt: skip
def test_replies(reply, place):
    assert read_label(reply, ("A", "B", "C", "D")) == place


def test_other_labels():
    assert read_label("2.", ("1", "2")) == 1
    assert read_label("(B)", ("(A)", "(B)")) == 1
    assert read_label("10", tuple(str(i + 1) for i in range(12))) == 9
    assert read_label("A", ("a", "b")) is None


def answered(reply, **options):
    asking = OneLetter(**options)(ITEM, (1, 0, 2, 3), Template(), ())
    request = next(asking)
    with pytest.raises(StopIteration) as done:
        asking.send(reply)
    return request, done.value.value


def test_what_is_asked_and_answered():
    request, answer = answered(TextReply("<think>A or B?</think> C", 9, 5), max_tokens=30)
    assert request.prompt == Template().render(ITEM, (1, 0, 2, 3)) + "\n\nReply with A, B, C or D and nothing else."
    assert (request.max_tokens, request.temperature) == (30, 0.0)
    assert (answer.place, answer.status, answer.logprobs, answer.tokens_in, answer.tokens_out) == (2, "ok", None, 9, 5)


@pytest.mark.parametrize(
    ("reply", "place", "status"),
    [("\\boxed{A}", 0, "ok"), ("A good choice is C", 2, "ok"), ("C. 12", 2, "ok"), ("Ａ", None, "unparsed"),
     ("b", None, "unparsed"), ("I cannot answer that.", None, "refused"), ("E", None, "unparsed")],
)  # fmt: skip
def test_letters_are_read_as_in_any_direct_answer(reply, place, status):
    answer = answered(TextReply(reply))[1]
    assert (answer.place, answer.status) == (place, status)


def test_no_answer_has_a_status():
    assert answered(TextReply("hm", 9, 1))[1].status == "unparsed"
    assert answered(TextReply(None, 9, status="error", reason="status 500"))[1].text == "status 500"
    assert answered(TextReply(None, 9, status="refused", reason="No."))[1].status == "refused"


def test_draws_are_the_querys_own():
    seeds = {answered(TextReply("A"), temperature=1.0, seed=s)[0].seed for s in range(5)}
    assert len(seeds) == 5
    assert answered(TextReply("A"), seed=3)[0].seed == 0
    assert answered(TextReply("A"), instruct=False)[0].prompt == Template().render(ITEM, (1, 0, 2, 3))
