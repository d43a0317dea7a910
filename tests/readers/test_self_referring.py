"""Self-referring options: the published counts, the phrases on both sides of the line, and the three treatments."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from orderbias.errors import ArgumentError
from orderbias.items import Item
from orderbias.readers.self_referring import KINDS, kind, self_referring_options, treat

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"

REFERRING = [
    ("none of the above", "none of the above"),
    ("NONE OF THE ABOVE.", "none of the above"),
    (" All  of the\nabove", "all of the above"),
    ("Both A and C", "both A and B"),
    ("A and B", "A and B"),
    ("A, B and C", "A, B and C"),
    ("a, b, and c.", "A, B and C"),
    ("A nor B", "neither A nor B"),
    ("Neither A nor B", "neither A nor B"),
    ("neither (a) nor (b)", "neither A nor B"),
    ("None of these", "none of these"),
    ("Neither of these.", "none of these"),
    ("all of these", "all of these"),
    ("All of these options.", "all of these"),
    ("All of the above are correct.", "all of these"),
    ("Either A or B", "either A or B"),
    ("both (a) & (b)", "both of A and B"),
    ("A and C only", "A and B only"),
    ("Options A and B", "A and B only"),
    ("(B), (C), and (D)", "A, B and C only"),
    ("any of the above", "some of these"),
]

PLAIN = [
    "Iron and B12 deficiency",
    "Country A and B have identical living standards",
    "A and B are equally good athletes",
    "vitamin A and D",
    "A and T",  # no option is labelled T
    "B",
    "None",
    "Both",
    "all of the preconditions in the program are correct",
    "none of the above average earners",
    "neither accurate nor precise",
    "above all of the others",
    "Iron",
    "",
]


@pytest.mark.parametrize(("text", "expected"), REFERRING)
def test_whole_phrases_about_other_options_are_found(text: str, expected: str) -> None:
    assert kind(text, 4) == expected
    assert expected in KINDS


@pytest.mark.parametrize("text", PLAIN)
def test_texts_that_only_contain_such_words_are_not(text: str) -> None:
    assert kind(text, 4) is None


def test_letters_count_only_up_to_the_number_of_options() -> None:
    assert kind("D and E", 4) is None
    assert kind("D and E", 5) == "A and B"


@pytest.mark.skipif(not (DATA / "mmlu").is_dir(), reason="the shared data are not here")
def test_the_published_counts_of_mmlu() -> None:
    published = {
        "all of the above": 215,
        "none of the above": 140,
        "both A and B": 59,
        "A and B": 11,
        "A, B and C": 1,
    }
    found: Counter[str] = Counter()
    for path in sorted((DATA / "mmlu" / "test").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                kinds = [kind(option, 4) for option in row[1:5]]
                found.update([next(k for k in kinds if k in published)] if {*kinds} & {*published} else [])
    assert found == published
    assert found.total() == 426


ITEMS = (
    Item("1", "?", ("x", "y", "none of these"), 0),
    Item("2", "?", ("x", "y", "z"), 0, pinned=(1,)),
    Item("3", "?", ("x", "all of the above", "both A and C"), 1, pinned=(0,)),
)


def test_keep_pin_and_drop() -> None:
    kept, notices = treat(ITEMS, "keep")
    assert kept == ITEMS
    assert "2 items have" in notices[0]
    pinned, _ = treat(ITEMS, "pin")
    assert [item.pinned for item in pinned] == [(2,), (1,), (0, 1, 2)]
    dropped, notices = treat(ITEMS, "drop")
    assert [item.id for item in dropped] == ["2"]
    assert notices[0].endswith("dropped.")
    assert self_referring_options(ITEMS[2]) == (1, 2)


def test_nothing_found_says_nothing() -> None:
    assert treat(ITEMS[1:2], "drop") == (ITEMS[1:2], ())


def test_an_unknown_treatment_is_refused() -> None:
    with pytest.raises(ArgumentError, match="keep, pin, drop"):
        treat(ITEMS, "remove")
