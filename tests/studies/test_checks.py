"""What accuracy hangs on besides the strategy: lots among ties, the fallback, the type of item."""

import numpy as np
import pytest
from scipy.stats import binomtest

from orderbias.errors import ArgumentError
from orderbias.items import OF_THE_FOLLOWING, SELF_CONTAINED
from orderbias.orderings import cyclic
from orderbias.predictions import Predictions
from orderbias.studies.checks import Lots, fallback, strata, tie_range
from orderbias.studies.label_free_cell import CellData, analyse


def arm(first, gold, n_options=4):
    choice = np.repeat(np.array(first)[:, None], n_options, axis=1)
    return Predictions(choice, cyclic(n_options).positions, np.array(gold))


def test_the_range_of_ties_by_loops():
    rng = np.random.default_rng(5)
    gold = rng.integers(0, 4, 50)
    choices = rng.integers(-1, 4, (10, 50))
    tied = rng.random(50) < 0.3
    found = tie_range("vote", arm(gold, gold), Lots(choices, tied))
    expected = [sum(int(c == g) for c, g in zip(row, gold, strict=True)) / 50 for row in choices]
    assert found.accuracies == pytest.approx(expected)
    assert (found.low, found.high, found.accuracy) == (min(expected), max(expected), 1)
    assert found.n_tied == tied.sum()


def test_contents_of_one_text_count_as_one_among_ties():
    same = Predictions([[0, 0]], [[0, 1], [1, 0]], [0], same_text=[[0, 0]])
    assert tie_range("vote", same, Lots(np.array([[1]]), np.array([True]))).accuracies == (1.0,)


def test_shapes_are_checked():
    with pytest.raises(ArgumentError, match="choices"):
        Lots(np.zeros((10, 2), int), np.zeros(1, bool))
    with pytest.raises(ArgumentError, match="choices"):
        Lots(np.zeros((0, 1), int), np.zeros(1, bool))
    with pytest.raises(ArgumentError, match="lots"):
        tie_range("vote", arm([0], [0]), Lots(np.zeros((10, 2), int), np.zeros(2, bool)))
    with pytest.raises(ArgumentError, match="types"):
        strata({"direct": arm([0], [0])}, ["a", "b"])


def test_without_the_fallback_an_answer_is_wrong():
    found = fallback("direct", arm([0, 1, 2], [0, 1, 1]), arm([0, -1, 2], [0, 1, 1]))
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
    assert [s.item_type for s in found] == [SELF_CONTAINED, OF_THE_FOLLOWING]
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
    assert part.every.grid is None  # a cell is missing
    whole = analyse(CellData("m", "b", arms | {"visible+match": arm((gold + 1) % 4, gold)}, types), resamples=50)
    assert whole.every.grid is not None
    assert whole.every.grid.accuracy["visible", "match"] == 0
    assert whole.as_dict()["signature"].count("visible+match") == 1
