"""Items: what is known of a single one, and of the golds of many."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from orderbias.items import Item, ItemSet, gold_place_counts, option_counts, question_kind, same_text_groups


@given(st.lists(st.sampled_from(["a", "b ", " b", "c", "A"]), min_size=2, max_size=8))
def test_same_text_groups_are_the_classes_of_equal_texts(options: list[str]) -> None:
    groups = same_text_groups(Item("1", "?", tuple(options)))
    together = {(i, j) for group in groups for i in group for j in group if i < j}
    expected = {
        (i, j)
        for i in range(len(options))
        for j in range(i + 1, len(options))
        if options[i].strip() == options[j].strip()
    }
    assert together == expected
    assert all(len(group) > 1 for group in groups)


def test_gold_places_are_counted_over_items_with_that_many_options_and_a_gold() -> None:
    items = [Item(str(i), "?", ("a", "b", "c"), g) for i, g in enumerate([0, 2, 2, None])] + [
        Item("x", "?", ("a", "b"), 1)
    ]
    np.testing.assert_array_equal(gold_place_counts(items, 3), [1, 0, 2])
    np.testing.assert_array_equal(gold_place_counts(items, 2), [0, 1])
    np.testing.assert_array_equal(gold_place_counts(items, 4), [0, 0, 0, 0])
    assert option_counts(items) == {2: 1, 3: 4}


def test_the_data_hash_sees_texts_golds_and_pins_but_not_shots() -> None:
    item = Item("1", "q", ("a", "b"), 0)
    base = ItemSet("n", (item,)).data_hash
    assert ItemSet("other name", (item,), shots=(item,)).data_hash == base
    changed = [
        Item("2", "q", ("a", "b"), 0),
        Item("1", "qa", ("b",), 0),
        Item("1", "q", ("b", "a"), 0),
        Item("1", "q", ("a", "b"), 1),
        Item("1", "q", ("a", "b"), 0, pinned=(1,)),
        Item("1", "q", ("a", "b"), 0, passage="p"),
    ]
    assert len({base, *(ItemSet("n", (c,)).data_hash for c in changed)}) == len(changed) + 1


# Labelled by hand; from ARC-Challenge and MMLU, and some made up.
NAMING = [
    "Which of these do all cells release?",
    "Which of the following is a valid food chain?",
    "Which statement is true about rocks?",
    "Which pair of instruments can be used to measure wind chill?",
    "All of the following are non-basic jobs in the city EXCEPT",
    "This may lead to which one of the following?",
    "Which two of the following are prime?",
    "Choose the best answer.",
    "Which among the following is the least strong encryption standard?",
    "The passage is consistent with which of the following?",
    "Which list presents the objects in order?",
    "Of the following, the largest is",
    "The following are metals, except:",
    "WHICH OF THE FOLLOWING?",
    "Which\nof  the\nfollowing is it?",
    "Which of the statements below is false?",
    "Which of the following is a renewable resource?",
    "WHICH OF THESE IS A MAMMAL?",
    "All are planets except",
    "Each is a vector, EXCEPT:",
    "Which two options hold?",
    "One of the choices below is wrong. Name it.",
    "Which is an example of a physical change?",
    "Which best describes an eclipse?",
    "A star grows old. Which most likely happens next?",
    "A metal is any of these but not",
]
NOT_NAMING = [
    "What is the capital of France?",
    "The real interest rate is",
    "In an adult human how long is the large intestine?",
    "Which part of a pond ecosystem gives small fish shelter?",
    "Which geologic process caused the volcano?",
    "",
    "Consider the following passage. Who wrote it?",
    "What is the sum of the following numbers: 3, 4 and 5?",
    "The language {ww | w in (0 + 1)*} is",
    "Which tool would a student use to measure the mass of a brick?",
    "A statement of the following kind was made. What is the project's NPV?",
    "Except for rain, what made the river rise?",
    "Which planet is the largest?",
    "What is the layer of the atmosphere in which most clouds form?",
    "What is the period in which most dinosaurs lived?",
    "Which least squares method is meant?",
    "Name the method by which best fits are found.",
    "A dog follows a man. In the following minute it runs 30 m. How fast is it?",
    "Except for gold, which metals are noble and why do they matter to chemists?",
]


@pytest.mark.parametrize("question", NAMING)
def test_questions_that_name_their_options(question: str) -> None:
    assert question_kind(question) == "which of the following"


@pytest.mark.parametrize("question", NOT_NAMING)
def test_questions_that_can_be_asked_without(question: str) -> None:
    assert question_kind(question) == "self-contained"
