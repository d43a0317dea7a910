"""What accuracy hangs on besides the strategy: lots among ties, the fallback, the type of item."""

import numpy as np
import pytest
from scipy.stats import binomtest

from orderbias.errors import ArgumentError
from orderbias.orderings import cyclic
from orderbias.predictions import Predictions
from orderbias.studies.checks import OF_THE_FOLLOWING, SELF_CONTAINED, fallback, item_type, strata, tie_range
from orderbias.studies.label_free_cell import CellData, analyse


def arm(first, gold, n_options=4):
    choice = np.repeat(np.array(first)[:, None], n_options, axis=1)
    return Predictions(choice, cyclic(n_options).positions, np.array(gold))


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which of the following is a renewable resource?", OF_THE_FOLLOWING),
        ("WHICH OF THESE IS A MAMMAL?", OF_THE_FOLLOWING),
        ("All are planets except", OF_THE_FOLLOWING),
        ("Each is a vector, EXCEPT:", OF_THE_FOLLOWING),
        ("Which statement about cells is true?", OF_THE_FOLLOWING),
        ("Which two options hold?", OF_THE_FOLLOWING),
        ("One of the choices below is wrong. Name it.", OF_THE_FOLLOWING),
        ("What is the capital of France?", SELF_CONTAINED),
        ("Which planet is the largest?", SELF_CONTAINED),
        ("A dog follows a man. In the following minute it runs 30 m. How fast is it?", SELF_CONTAINED),
        ("Except for gold, which metals are noble and why do they matter to chemists?", SELF_CONTAINED),
        ("", SELF_CONTAINED),
    ],
)
def test_item_types(question, kind):
    assert item_type(question) == kind


def test_the_range_of_ties_by_loops():
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 4, 50)
    choices = rng.integers(-1, 4, (10, 50))
    tied = rng.random(50) < 0.3
    found = tie_range(arm(gold, gold), choices, tied)
    expected = [sum(int(c == g) for c, g in zip(row, gold, strict=True)) / 50 for row in choices]
    assert found.accuracies == pytest.approx(expected)
    assert (found.low, found.high, found.accuracy) == (min(expected), max(expected), 1)
    assert found.n_tied == tied.sum()


def test_contents_of_one_text_count_as_one_among_ties():
    same = Predictions([[0, 0]], [[0, 1], [1, 0]], [0], same_text=[[0, 0]])
    assert tie_range(same, np.array([[1]]), np.array([True])).accuracies == (1.0,)


def test_shapes_are_checked():
    with pytest.raises(ArgumentError, match="choices"):
        tie_range(arm([0], [0]), np.zeros((10, 2), int), np.zeros(1, bool))
    with pytest.raises(ArgumentError, match="choices"):
        tie_range(arm([0], [0]), np.zeros((0, 1), int), np.zeros(1, bool))
    with pytest.raises(ArgumentError, match="types"):
        strata({"direct": arm([0], [0])}, ["a", "b"])


def test_without_the_fallback_an_answer_is_wrong():
    found = fallback("direct", arm([0, 1, 2], [0, 1, 1]), arm([0, -1, 2], [0, 1, 1]), 4)
    assert found.as_dict() == {
        "strategy": "direct",
        "n_answers": 12,
        "n_standalone": 4,
        "accuracy": pytest.approx(2 / 3),
        "accuracy_without": pytest.approx(1 / 3),
    }


def test_strata_have_exact_intervals():
    gold = np.zeros(30, int)
    first = np.where(np.arange(30) < 12, 0, 1)
    types = [OF_THE_FOLLOWING if i % 2 else SELF_CONTAINED for i in range(30)]
    found = strata({"direct": arm(first, gold)}, types)
    assert [s.item_type for s in found] == [OF_THE_FOLLOWING, SELF_CONTAINED]
    for stratum in found:
        exact = binomtest(6, 15).proportion_ci(0.95, "exact")
        estimate = stratum.accuracy["direct"]
        assert estimate.value == 6 / 15
        assert estimate.interval == pytest.approx((exact.low, exact.high))


def test_a_cell_joins_the_tables():
    gold = np.arange(8) % 4
    arms = {name: arm(gold, gold) for name in ("direct", "two-stage", "hidden+match", "visible+model")}
    types = [SELF_CONTAINED] * 8
    part = analyse(CellData("m", "b", arms, types), resamples=50)
    assert part.grid is None  # a cell is missing
    whole = analyse(CellData("m", "b", arms | {"visible+match": arm((gold + 1) % 4, gold)}, types), resamples=50)
    assert whole.grid is not None
    assert whole.grid.accuracy["visible", "match"] == 0
    assert whole.as_dict()["signature"].count("visible+match") == 1
