"""The propositions of two-factors as properties, K from 2 to 10, at a residual of at most 1e-12."""

import numpy as np
from by_hand import cells, predictions
from hypothesis import given, settings

from orderbias.measures import build_columns, chosen_measures, evaluate
from orderbias.measures.factors import stable_deviation

RESIDUAL = 1e-12
many = settings(max_examples=200, deadline=None)


def measured(cell):
    items, K, shared = cell
    columns = build_columns(predictions(items, K, shared=shared))
    values = {m.name: np.nan for m in chosen_measures(None)}
    return values | evaluate(columns.sums, chosen_measures(None)), columns


def product(found):
    """FL * std(g), with g uniform where nothing flips (B.1)."""
    return np.nan_to_num(found["flip_rate"] * found["positional_skew"])


@given(cells(kinds=("cyclic", "doubled", "mixed")))
@many
def test_pooling_identity_on_balanced_designs(cell):
    found, columns = measured(cell)
    assert columns.layout.balanced
    assert abs(found["pooled_sd"] - product(found)) <= RESIDUAL  # Eq. 6
    assert found["design_deviation_sd"] == 0
    assert found["forward_kl"] <= found["forward_kl_bound"] + RESIDUAL  # Eq. 18


@given(cells())
@many
def test_proposition_1_on_any_design(cell):
    found, columns = measured(cell)
    if np.isnan(found["flip_rate"]):
        return
    K, rate = cell[1], found["flip_rate"]
    b = stable_deviation(columns.sums)
    g = np.where(rate > 0, found["flip_share"], 1 / K)
    decomposed = (1 - rate) / K + rate * g + b
    assert np.abs(found["selection_share"] - decomposed).max() <= RESIDUAL  # Eq. 10
    assert abs(found["corrected_pooled_sd"] - product(found)) <= RESIDUAL  # Eq. 11
    gap = abs(found["pooled_sd"] - product(found))
    assert gap <= found["design_deviation_sd"] + RESIDUAL  # Eq. 12, and 16 for designs per item
    assert found["design_deviation_sd"] <= found["design_deviation_bound"] + RESIDUAL


@given(cells(kinds=("cyclic", "doubled", "mixed")))
@many
def test_proposition_2_on_balanced_designs(cell):
    found, _ = measured(cell)
    rate, h = found["flip_rate"], np.nan_to_num(found["placement_factor"])
    assert np.abs(found["accuracy_by_place"] - (found["stable_correct"] + rate * h)).max() <= RESIDUAL  # Eq. 17
    assert abs(found["balanced_rstd"] - rate * np.std(h)) <= RESIDUAL
    assert abs(found["placement_range"] - rate * np.ptp(h)) <= RESIDUAL
    assert abs(np.mean(found["accuracy_by_place"]) - found["accuracy"]) <= RESIDUAL
    if cell[1] == 2 and rate > 0 and all(len(a) == 2 for _, a in cell[0]):
        assert np.abs(found["flip_share"] - h).max() <= RESIDUAL  # B.4: h = g with two options


@given(cells())
@many
def test_proposition_3_and_the_flip_cap(cell):
    found, _ = measured(cell)
    if np.isnan(found["flip_rate"]):
        return
    items = cell[0]
    rate = found["flip_rate"]
    assert rate <= found["flip_cap"] + RESIDUAL  # Eq. 3
    assert not found["scaled_flip_rate"] > 1
    assert not found["fluctuation_rate"] > rate + RESIDUAL
    assert not found["pairwise_disagreement"] > rate + RESIDUAL
    if cell[2]:  # any two presented orderings: disagreement and accuracy differ by at most the flip rate
        answers = np.array([[z for _, z in a] for _, a in items])
        right = (answers == np.array([[gold] for gold, _ in items])).mean(axis=0)
        assert np.ptp(right) <= rate + RESIDUAL
        for column in answers.T:
            assert (answers != column[:, None]).mean(axis=0).max() <= rate + RESIDUAL


@given(cells())
@many
def test_shares_of_items_add_up(cell):
    found, _ = measured(cell)
    if not np.isnan(found["flip_rate"]):
        assert abs(found["flip_rate"] + found["stable_correct"] + found["stable_wrong"] - 1) <= RESIDUAL


@given(cells())
@many
def test_sums_are_functions_batched_over_leading_axes(cell):
    _, columns = measured(cell)
    sums = columns.sums
    twice = type(sums)(np.stack([sums.totals, 3 * sums.totals]), sums.layout)
    one = evaluate(sums, chosen_measures(None))
    for name, value in evaluate(twice, chosen_measures(None)).items():
        for copy in value:  # the same cell three times over has the same measures
            np.testing.assert_allclose(copy, one[name], rtol=0, atol=RESIDUAL)
