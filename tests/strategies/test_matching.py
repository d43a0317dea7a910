"""Finding a content in a free text: the three steps of label-free, each held against a plain reading of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import distance

from orderbias.errors import ArgumentError
from orderbias.strategies.matching import Matcher, cosines_to_first, normal

OPTIONS = ("carbon", "carbon dioxide", "an acid", "4")


def never(texts):
    raise AssertionError("no step before this one should have failed")


@pytest.mark.parametrize(
    ("text", "content", "found"),
    [
        ("carbon dioxide", 1, "exact"), ("Carbon  Dioxide.", 1, "exact"), ("**an acid**", 2, "exact"),
        ("4", 3, "exact"),
        ("\n4.\n", 3, "exact"), ("“Carbon”", 0, "exact"), ("It is an acid!", 2, "substring"),
        ("dioxide", 1, "substring"),
        ("some carbon here", 0, "substring"),
    ],
)  # fmt: skip
def test_what_needs_no_embedder(text, content, found):
    match = Matcher(never).find(text, OPTIONS)
    assert (match.content, match.found, match.cosines) == (content, found, None)


@pytest.mark.parametrize("text", ["the answer is 4", "It is carbon dioxide", "aci", "helium", "carbon or an acid"])
def test_what_is_too_short_or_fits_several_goes_on_to_the_next_step(text):
    assert Matcher().find(text, OPTIONS).content is None
    rows = {text: [1.0, 0.0], "an acid": [0.8, 0.6]}
    match = Matcher(lambda texts: np.array([rows.get(t, [0.0, 1.0]) for t in texts])).find(text, OPTIONS)
    assert (match.content, match.found) == (2, "cosine")
    assert match.cosines == pytest.approx((0, 0, 0.8, 0))


@pytest.mark.parametrize("text", ["", "  ", "\n", None])
def test_nothing_means_nothing(text):
    assert Matcher(never).find(text or "", OPTIONS).content is None


def test_the_cosine_must_reach_the_least():
    def embed(texts):
        return np.array([[1.0, 0.0]] + [[c, np.sqrt(1 - c * c)] for c in (0.1, 0.299, 0.2)])

    options = ("one", "two", "three")
    assert Matcher(embed).find("x", options).content is None
    assert Matcher(embed).find("x", options).cosines == pytest.approx((0.1, 0.299, 0.2))
    assert Matcher(embed, min_cosine=0.29).find("x", options).content == 1
    assert Matcher(lambda t: embed(t) * 1e-3, min_cosine=0.29).find("x", options).content == 1


def test_options_of_one_text_are_never_found():
    options = ("four", "five", "Four ", "six")
    assert Matcher(never).find("four", options).content is None
    rows = {"It is four.": [1.0, 0.0], "four": [0.9, 0.1], "Four ": [0.9, 0.1], "five": [0.5, 0.5]}
    embed = Matcher(lambda texts: np.array([rows.get(t, [0.0, 1.0]) for t in texts]))
    assert embed.find("It is four.", options).content is None
    assert embed.find("five", options).content == 1


@pytest.mark.parametrize(("name", "value"), [("min_characters", 0), ("min_cosine", 1.1), ("min_cosine", float("nan"))])
def test_a_rule_that_cannot_be(name, value):
    with pytest.raises(ArgumentError, match=f"`{name}`"):
        Matcher(**{name: value})


def plainly(text, options, least):
    """The first two steps by their words, for texts of letters and spaces in lower case."""
    for j, option in enumerate(options):
        if option == text:
            return j, "exact"
    inside = [j for j, o in enumerate(options) if (len(o) >= least and o in text) or (len(text) >= least and text in o)]
    return (inside[0], "substring") if len(inside) == 1 else (None, None)


WORDS = st.lists(st.sampled_from(["ab", "abc", "abcd", "b", "cd", "abcde"]), min_size=1, max_size=3).map(" ".join)


@given(WORDS, st.lists(WORDS, min_size=2, max_size=5, unique=True), st.integers(1, 6))
def test_the_first_steps_by_their_words(text, options, least):
    match = Matcher(min_characters=least).find(text, options)
    assert (match.content, match.found) == plainly(text, options, least)


@given(WORDS, st.lists(WORDS, min_size=2, max_size=5), st.randoms())
def test_the_content_does_not_depend_on_the_order_of_the_options(text, options, random):
    def embed(texts):
        return np.array([[sum(map(ord, t)) % 7 + 1, len(t) % 5, t.count("a")] for t in texts], float)

    order = list(range(len(options)))
    random.shuffle(order)
    matcher = Matcher(embed)
    one, two = matcher.find(text, options), matcher.find(text, [options[j] for j in order])
    assert one.found == two.found
    assert one.content == (None if two.content is None else order[two.content])


@given(st.lists(st.lists(st.floats(-5, 5), min_size=3, max_size=3), min_size=2, max_size=5))
def test_cosines_are_those_of_scipy(rows):
    vectors = np.array(rows)
    for row, found in zip(vectors[1:], cosines_to_first(vectors), strict=True):
        if min(np.linalg.norm(row), np.linalg.norm(vectors[0])) > 1e-3:
            assert found == pytest.approx(1 - distance.cosine(vectors[0], row), abs=1e-9)
        assert -1 <= found <= 1


@given(st.text(max_size=12))
def test_a_text_is_compared_as_often_as_one_likes(text):
    assert normal(normal(text)) == normal(text)
