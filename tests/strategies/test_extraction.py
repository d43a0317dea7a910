"""Reading a letter from a reply: the rule of two-factors A.3 held against a corpus and a plain reading of it."""

import json
import re
import string
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orderbias.errors import ArgumentError
from orderbias.strategies.extraction import EXPLICIT, OPENS, STANDALONE, LetterRule, after_thinking, declines

COT, DIRECT = LetterRule(), LetterRule(opening=True)
ALL = LetterRule(n_valid=None)


def read(text, k=4, rule=COT, finished=True):
    """The letter read, or the status."""
    found = rule.read(text, k, finished)
    assert (found.place is None) == (found.found is None) == (found.status != "ok")
    return found.status if found.place is None else string.ascii_uppercase[found.place]


# Each known trap: reply, answer under either rule.
TRAPS = {
    "a hard one": ("It is a hard one, but the answer is C", "C"),
    "another language": ("Antwort: C", "C"),
    "bold": ("Answer: **D**", "D"),
    "brackets": ("The answer is [B]", "B"),
    "boxed": (r"\boxed{A}", "A"),
    "article after the answer": ("The answer is B because a car moves.", "B"),
    "pronoun after the answer": ("The answer is C because I computed it", "C"),
    "seems to be": ("Answer seems to be A.  Answer: A", "A"),
    "the latest explicit answer": ("First I thought A, so the answer is A. No: the answer is D", "D"),
    "the B of Because": ("Because of this...", "unparsed"),
    "the C of Certainly": ("Certainly! None apply.", "unparsed"),
    "opens with the letter": ("C. 12", "C"),
    "opens with an article": ("A good choice is C", "C"),
    "denied": ("not A", "unparsed"),
    "alternatives": ("Maybe B or C", "unparsed"),
    "lower case after a cue": ("answer: c", "C"),
    "no such option": ("E", "unparsed"),
    "empty": ("", "unparsed"),
    "refused": ("I cannot answer that.", "refused"),
    "a thought before": ("<think> A or B? </think> Answer: C", "C"),
}


@pytest.mark.parametrize("rule", [COT, DIRECT, ALL], ids=["chain of thought", "direct", "all letters"])
@pytest.mark.parametrize("case", TRAPS)
def test_every_known_trap(case, rule):
    text, expected = TRAPS[case]
    assert read(text, rule=rule) == expected


# More of each kind, in a file: the rule, the answer, the reply as a JSON string.
LINES = [line.split("\t") for line in (Path(__file__).parent / "replies.tsv").read_text("utf-8").splitlines()[1:]]
CORPUS = [({"trace": COT, "direct": DIRECT}[rule], answer, json.loads(reply)) for rule, answer, reply in LINES]


@pytest.mark.parametrize(("rule", "expected", "text"), CORPUS, ids=range(len(CORPUS)))
def test_replies_of_every_kind(rule, expected, text):
    assert read(text, rule=rule) == expected


@pytest.mark.parametrize("k", range(2, 11))
def test_only_the_first_four_letters_are_valid_in_a_trace_and_all_in_an_opening(k):
    for place, letter in enumerate(string.ascii_uppercase[: k + 2]):
        explicit, bare = f"So the answer is {letter}.", f"It must be ({letter})"
        for text in (explicit, bare):
            assert read(text, k) == (letter if place < min(k, 4) else "unparsed")
            assert read(text, k, ALL) == (letter if place < k else "unparsed")
        assert read(f"{letter}. heat", k, DIRECT) == (letter if place < k else "unparsed")
        assert read(f"answer: {letter.lower()}", k, ALL) == (letter if place < k else "unparsed")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is I because it fits", "I"), ("I think so", "unparsed"), ("So I am sure. (I)", "I"), ("I.", "I"),
        ("Statement I is true", "unparsed"), ("option I", "I"), ("Answer: I", "I"),
        ("Answer: I cannot see", "unparsed"),
        ("as do I.", "unparsed"), ("I, as a model, take B", "B"), ("**I**", "I"),
    ],
)  # fmt: skip
def test_the_pronoun_is_no_ninth_option(text, expected):
    assert read(text, 10, ALL) == expected
    if expected != "B":
        assert read(text, 10, LetterRule(opening=True, n_valid=None)) == expected


def test_how_an_answer_was_found():
    found = {text: COT.read(text, 4).found for text in ("The answer is B", "B", "heat")}
    assert found == {"The answer is B": EXPLICIT, "B": STANDALONE, "heat": None}
    assert DIRECT.read("B", 4).found == OPENS
    assert DIRECT.read("heat, B", 4).found == STANDALONE


def test_a_letter_of_a_reply_that_was_cut_off():
    """A.3 makes no difference; to count announced letters alone is an option."""
    assert read("We see that B", finished=False) == "B"
    assert read("We see that B", rule=LetterRule(fallback="finished"), finished=False) == "unparsed"
    assert read("We see that B", rule=LetterRule(fallback="finished")) == "B"
    assert read("The answer is B, as", rule=LetterRule(fallback="finished"), finished=False) == "B"
    assert read("B, as", rule=DIRECT, finished=False) == "B"
    assert read("We see that B", rule=LetterRule(fallback="never")) == "unparsed"


@pytest.mark.parametrize(("name", "value"), [("n_valid", 0), ("fallback", "sometimes")])
def test_a_rule_that_cannot_be(name, value):
    with pytest.raises(ArgumentError, match=f"`{name}`"):
        LetterRule(**{name: value})


def test_thoughts_and_refusals():
    assert after_thinking("x</think>y<think>z") == "y"
    assert after_thinking("no thought") == "no thought"
    assert declines("We must decline to answer.")
    assert not declines("The gas cannot help it: C")


# --- A.3 read plainly --------------------------------------------------------------------------------------------


def plainly(text, k):
    """A.3 by words: the latest 'answer is X' of the first min(K, 4) letters, else the last such letter by itself."""
    words = re.split(r"[ \n]+", text.strip())
    bare = [re.sub(r"^[(\[*]+|[.,)\]*!]+$", "", w) for w in words]
    valid = set(string.ascii_uppercase[: min(k, 4)])
    explicit = [
        c for a, b, c in zip(bare, bare[1:], bare[2:], strict=False) if (a, b) == ("answer", "is") and c in valid
    ]
    return (explicit or [w for w in bare if w in valid] or ["unparsed"])[-1]


# Words and letters in phrases none of which denies, offers alternatives or begins a sentence with an article.
PHRASES = st.sampled_from([
    "so it must be {}.", "the answer is {}.", "the answer is ({}),", "the answer is **{}**!", "we look at option {}.",
    "heat comes from ({}).", "one may take {} here.", "the answer is [{}] then.", "the light of [{}] is red.",
    "the answer is {} because of that.", "Because of cars it moves.", "Certainly, heat rises.", "and a cat sleeps.",
    "it is hot, says Anna.", "The answer is unclear.", "Bad Cats Dance.",
])  # fmt: skip


@settings(max_examples=400)
@given(st.lists(st.tuples(PHRASES, st.sampled_from("ABCDEFGHJ")), max_size=8), st.integers(2, 10), st.booleans())
def test_the_rule_agrees_with_a_plain_reading_of_the_paper(parts, k, lines):
    text = ("\n" if lines else " ").join(phrase.format(letter) for phrase, letter in parts)
    assert read(text, k, LetterRule(fallback="always"), finished=False) == plainly(text, k)


@given(
    st.text(alphabet=st.sampled_from("ABCDIaei .,:()[]*\\{}$'\n=/-is答案是ornot<>"), max_size=60), st.integers(2, 10)
)
def test_any_text_is_read_as_a_valid_place_or_none(text, k):
    for rule in (COT, DIRECT, ALL):
        found = rule.read(text, k)
        limit = k if rule is ALL or found.found == OPENS else min(k, 4)
        assert found.place is None or 0 <= found.place < limit
        assert found == rule.read(text, k)


MARKS = ["{}", "**{}**", "({})", "[{}]", "\\boxed{{{}}}", "${}$", "`{}`", "<{}>"]


@given(st.sampled_from("ABCD"), st.sampled_from(MARKS),
       st.sampled_from(["", ".", "\n", " because it is hot", ", as said"]))  # fmt: skip
def test_what_encloses_a_letter_does_not_change_it(letter, mark, tail):
    text = f"The answer is {mark.format(letter)}{tail}"
    assert COT.read(text, 4).place == "ABCD".index(letter)
    assert DIRECT.read(mark.format(letter) + tail, 4).found == OPENS


@pytest.mark.parametrize(
    "unit", ["answer ", "answer: (", "(", "A, ", "B or ", "\\boxed{", "not ", "<think>", "A.\n", "选", "I ", "is A"]
)
def test_a_long_reply_takes_no_longer_than_its_length_asks(unit):
    text = unit * (60_000 // len(unit))
    started = time.perf_counter()
    DIRECT.read(text, 4)
    assert time.perf_counter() - started < 5
