"""What is said of known judges: the traps of judging pairs, and error rates by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from orderbias.judge.conclusion import conclude
from orderbias.judge.swap import OutcomeCounts, outcome_counts
from orderbias.judge.values import Judgments

FF, FS, FT, SF, SS, ST, TF, TS, TT = range(9)


def outcomes(**counts: int) -> OutcomeCounts:
    table = np.zeros(9, np.int64)
    for name, n in counts.items():
        table[globals()[name]] = n
    return OutcomeCounts(table.reshape(3, 3))


def simulated(rng: np.random.Generator, n: int, first: float, tie: float = 0.0) -> OutcomeCounts:
    """A judge blind to the answers: each call is a tie, or takes the first place with a given probability."""
    calls = np.where(rng.random((n, 2)) < tie, 2, np.where(rng.random((n, 2)) < first, 0, 1)).astype(np.int8)
    return outcome_counts(Judgments(np.array([str(i) for i in range(n)], object), calls[:, :, None]))


@pytest.mark.parametrize(
    ("counts", "kind", "words"),
    [
        (outcomes(FF=3), "undecided", "Not enough data: 3 pairs in both orders"),
        (outcomes(), "undecided", "not identifiable: no pair has a verdict in both orders"),
        (outcomes(TT=50), "none", "No position effect seen: the order moved none of 50 verdicts"),
        (outcomes(FS=60, SF=40), "none", "moved none of 100 verdicts"),
        (outcomes(FF=50, FS=30, SF=20), "first", "50 of 50 contradictions went there (p = 1.8e-15)"),
        (outcomes(SS=41, FF=9), "second", "leans to the answer shown second: 41 of 50"),
        (outcomes(FF=25, SS=25, FS=50), "noise", "to neither place more than chance would"),
        (outcomes(FF=4, SS=3, FS=20), "undecided", "Not enough data to tell noise from a lean"),
        (outcomes(FF=3, SS=2, FS=20), "undecided", "too few to show any lean"),
        (outcomes(FF=1, FS=500, SF=499), "none", "No position effect to speak of"),
        (outcomes(FT=40, TF=40, TT=20), "first", "80 of 80 half shifts went there"),
        (outcomes(FF=60, SS=10, TS=40), "first", "half shifts lean the other way: 0 to first, 40 to second"),
    ],
)  # fmt: skip
def test_each_answer_that_can_be_given(counts: OutcomeCounts, kind: str, words: str) -> None:
    found = conclude(counts)
    assert found.kind == kind
    assert words in found.text


def test_three_contradictions_are_undecided_whatever_they_say() -> None:
    assert conclude(outcomes(FF=3)).lean_p_value == 0.25
    assert conclude(outcomes(FF=5)).kind == "undecided"
    assert conclude(outcomes(FF=6)).kind == "first"


def test_ties_and_half_shifts_are_out_of_the_direction() -> None:
    found = conclude(outcomes(FF=10, SS=10, FT=30, TF=30, TT=5))
    assert found.lean_p_value == 1.0
    assert found.half_shift_p_value == pytest.approx(2 / 2**60)


def test_a_lean_is_called_in_at_most_one_of_twenty_fair_judges() -> None:
    rng = np.random.default_rng(0)
    for tie in (0.0, 0.4):
        kinds = [conclude(simulated(rng, 150, 0.5, tie)).kind for _ in range(600)]
        called = sum(kind in ("first", "second") for kind in kinds)
        assert called / 600 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)
        assert kinds.count("noise") > 500  # a fair coin is noise, and there is enough data to say so


def test_a_lean_as_strong_as_the_smallest_shown_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(1)
    n_contradicting = 80
    share = conclude(outcomes(FF=40, SS=40)).smallest_lean
    assert share is not None
    found = [
        conclude(outcomes(FF=int(k), SS=int(n_contradicting - k))).kind == "first"
        for k in rng.binomial(n_contradicting, share, 2000)
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.03)
