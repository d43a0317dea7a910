"""Each measure against the same definition written with loops and exact fractions."""

import numpy as np
import pytest
from by_hand import all_measures, cells, predictions
from hypothesis import given, settings

from orderbias.measures import build_columns, chosen_measures, evaluate

TOLERANCE = 1e-12


def measured(items, K, shared):
    columns = build_columns(predictions(items, K, shared=shared))
    return evaluate(columns.sums, chosen_measures(None)), columns.layout


@given(cells())
@settings(max_examples=300, deadline=None)
def test_every_measure_equals_its_definition(cell):
    items, K, shared = cell
    found, _ = measured(items, K, shared)
    for name, expected in all_measures(items, K).items():
        if expected is None:
            assert name not in found or np.isnan(found[name]).any(), name
        else:
            assert np.abs(found[name] - expected).max() <= TOLERANCE, name


def test_the_definitions_reach_every_measure():
    items = [(0, [([0, 1], 0), ([1, 0], 1)]), (1, [([0, 1], 1), ([1, 0], 1)])]
    assert {m.name for m in chosen_measures(None)} - {"tie_share"} == set(all_measures(items, 2))


def cyclic_items(K, *rows, gold=0):
    orderings = [[(j + s) % K for j in range(K)] for s in range(K)]
    return [(gold, list(zip(orderings, row, strict=True))) for row in rows]


@pytest.mark.parametrize(("gold", "placement_range"), [(0, 1.0), (2, 0.0)])
def test_the_same_flips_can_carry_the_largest_or_no_placement_harm(gold, placement_range):
    # two-factors, B.4: contents (0, 1, 0, 1) over the four rotations.
    found, _ = measured(cyclic_items(4, (0, 1, 0, 1), gold=gold), 4, True)
    assert found["flip_rate"] == 1
    assert found["flip_share"].tolist() == [0.5, 0, 0.5, 0]
    assert found["placement_range"] == placement_range


def test_always_the_first_place_flips_and_scores_chance_wherever_the_gold_is():
    K = 4
    always_a = tuple((0 - s) % K for s in range(K))  # the content that rotation s shows at place 0
    items = [item for gold in (0, 0, 0, 3) for item in cyclic_items(K, always_a, gold=gold)]
    found, _ = measured(items, K, True)
    assert found["flip_rate"] == 1
    assert found["accuracy"] == 1 / K
    assert found["flip_share"].tolist() == [1, 0, 0, 0]
    assert found["stable_correct"] == found["stable_wrong"] == 0
    assert found["pooled_sd"] == pytest.approx(np.sqrt(3) / 4, abs=1e-15)


def test_always_the_same_wrong_content_is_stable_wrong():
    found, _ = measured(cyclic_items(4, (2, 2, 2, 2), (1, 1, 1, 1)), 4, True)
    assert found["flip_rate"] == 0
    assert found["stable_wrong"] == 1
    assert found["pooled_sd"] == 0
    assert np.isnan(found["positional_skew"])


def test_orders_drawn_with_one_seed_are_named_and_corrected():
    # Always the first place, identity never asked: accuracy depends on the gold, the corrected SD does not hide it.
    items = [(gold, [([1, 0], 1), ([1, 0], 1)]) for gold in (0, 0, 1)]
    found, layout = measured(items, 2, True)
    assert "flip_rate" not in found
    assert not layout.balanced
    assert "two different orderings" in layout.absent["flip"]
    items = [(gold, [([1, 0, 2], 1), ([1, 2, 0], 2)]) for gold in (0, 0, 1)]
    found, layout = measured(items, 3, True)
    assert not layout.balanced
    assert found["corrected_pooled_sd"] == pytest.approx(
        float(found["flip_rate"] * found["positional_skew"]), abs=1e-15
    )
    assert "balanced_rstd" not in found


def test_a_model_that_answers_at_random_leans_no_more_than_chance():
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 4, (4000, 4))
    found, _ = measured(cyclic_items(4, *rows.tolist()), 4, True)
    assert found["flip_rate"] == pytest.approx(1 - 4**-3, abs=4 * np.sqrt(4**-3 / 4000))
    assert found["positional_skew"] < 0.012  # its expectation without a lean is about sqrt(3/4/16000) = 0.0068
