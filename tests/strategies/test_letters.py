"""Direct answers and chain of thought: the prompts of two-factors A.2 and A.3, and what becomes of every reply."""

import pytest
from scripted import run

from orderbias.backends import TextReply
from orderbias.backends.simulated import SimulatedBackend
from orderbias.collect import Asker, collect, plan
from orderbias.errors import ArgumentError
from orderbias.items import Item, ItemSet
from orderbias.orderings import parse_design
from orderbias.prompts import Template
from orderbias.strategies.chain_of_thought import ChainOfThought
from orderbias.strategies.direct import Direct
from orderbias.strategies.extraction import LetterRule
from orderbias.strategies.first_token import first_token
from orderbias.strategies.writing import Writing

ITEM = Item("1", "Which type of energy does a radiator give off ?", ("heat", "light", "solar", "electrical"), 0)

A2 = """\
Question: Which type of energy does a radiator give off ?
A. heat
B. light
C. solar
D. electrical
Answer:"""

A3 = """\
Question: Which type of energy does a radiator give off ?
A. heat
B. light
C. solar
D. electrical

Let's think step by step, then provide your final answer as "The answer is [X]" where X is A, B, C, or D."""


def test_the_prompts_are_those_of_the_paper():
    assert run(Direct()(ITEM, (0, 1, 2, 3), Template(), ()), lambda r: "A")[1][0].prompt == A2
    assert run(ChainOfThought()(ITEM, (0, 1, 2, 3), Template(), ()), lambda r: "A")[1][0].prompt == A3
    two = Item("2", "Is it?", ("yes", "no"))
    (request,) = run(ChainOfThought()(two, (1, 0), Template(), ()), lambda r: "A")[1]
    assert request.prompt.endswith("A. no\nB. yes\n\nLet's think step by step, then provide your final answer as "
                                   '"The answer is [X]" where X is A or B.')  # fmt: skip


def test_the_cue_of_another_template_is_replaced_too_and_solved_examples_stay():
    shots = (Item("s", "1 + 1?", ("2", "3"), 0),)
    template = Template(n_shots=1, labels="parentheses")
    (request,) = run(ChainOfThought()(Item("1", "2 + 2?", ("3", "4")), (0, 1), template, shots), lambda r: "A")[1]
    assert request.prompt.startswith("Question: 1 + 1?\n(A) 2\n(B) 3\nAnswer: (A)\n\nQuestion: 2 + 2?")
    assert request.prompt.endswith("(B) 4\n\nLet's think step by step, then provide your final answer as "
                                   '"The answer is [X]" where X is A or B.')  # fmt: skip


@pytest.mark.parametrize("n_valid", [4, None])
def test_the_prompt_names_the_letters_that_count(n_valid):
    item = Item("1", "?", tuple("uvwxyz"))
    rule = LetterRule(n_valid=n_valid)
    answer, (request,) = run(ChainOfThought(rule=rule)(item, range(6), Template(), ()), lambda r: "The answer is E")
    assert request.prompt.endswith("where X is A, B, C, or D." if n_valid else "where X is A, B, C, D, E, or F.")
    assert answer.place == (None if n_valid else 4)


def test_an_answer_says_how_it_was_found_and_keeps_the_whole_reply():
    answer, _ = run(ChainOfThought()(ITEM, (1, 2, 3, 0), Template(), ()), lambda r: "<think>B</think> The answer is C.")
    assert (answer.place, answer.found, answer.status) == (2, "explicit", "ok")
    assert answer.text == "<think>B</think> The answer is C."
    assert answer.tokens_out == 5


@pytest.mark.parametrize(
    ("reply", "status", "text"),
    [
        (TextReply(None, 9, status="error", reason="too long"), "error", "too long"),
        (TextReply("It must be so", 9, 3, finished=False), "unparsed", "It must be so"),
        (TextReply("<think> B", 9, 3, finished=False), "unparsed", "<think> B"),
        (TextReply("I cannot answer that.", 9, 3), "refused", "I cannot answer that."),
        (TextReply("", 9, 0), "unparsed", ""),
    ],
)
@pytest.mark.parametrize("strategy", [Direct(), ChainOfThought()], ids=["direct", "chain of thought"])
def test_a_reply_without_an_answer_is_a_status(strategy, reply, status, text):
    answer, _ = run(strategy(ITEM, (0, 1, 2, 3), Template(), ()), lambda r: reply)
    assert (answer.place, answer.status, answer.text, answer.found) == (None, status, text, None)


def test_thinking_has_a_budget_of_its_own_and_draws_follow_the_query():
    writing = Writing(100, thinking_tokens=900, temperature=0.7, seed=5)
    requests = [
        run(Direct(writing)(item, positions, Template(), (), repeat), lambda r: "A")[1][0]
        for item, positions, repeat in ((ITEM, (0, 1, 2, 3), 0), (ITEM, (1, 2, 3, 0), 0), (ITEM, (0, 1, 2, 3), 1))
    ]
    assert {(r.max_tokens, r.temperature) for r in requests} == {(1000, 0.7)}
    assert len({r.seed for r in requests}) == 3
    assert run(Direct(Writing(9, seed=5))(ITEM, (0, 1, 2, 3), Template(), ()), lambda r: "A")[1][0].seed == 0


@pytest.mark.parametrize(("name", "value"), [("max_tokens", 0), ("thinking_tokens", -1), ("temperature", float("nan"))])
def test_a_way_of_writing_that_cannot_be(name, value):
    with pytest.raises(ArgumentError, match=f"`{name}`"):
        Writing(**{name: value})


@pytest.mark.parametrize("strategy", [Direct(), ChainOfThought()], ids=["direct", "chain of thought"])
def test_written_letters_of_the_simulated_model_are_its_most_probable_ones(strategy):
    items = ItemSet("toy", tuple(Item(str(i), "?", tuple("wxyz"[: 2 + i % 3]), i % 2) for i in range(60)))
    found = {}
    for name, asked in (("text", strategy), ("labels", first_token)):
        sink = []
        asker = Asker(SimulatedBackend(items.items, (1, 0.5, 0, -1)), asked, Template())
        collect(asker, plan(items, parse_design("cyclic")).queries, type("Sink", (), {"append": sink.extend}))
        found[name] = {(r.item_id, r.positions): r.place for r in sink}
        assert len(found[name]) == sum(len(i.options) for i in items)
    assert found["text"] == found["labels"]
