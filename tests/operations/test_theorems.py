"""What theory says of each operation, on random scores, on a planted law and on a real run."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operation_cells import answered, flip_rate, logits, placement_range, planted, skew

from orderbias.backends import LabelRequest
from orderbias.backends.simulated import SimulatedBackend
from orderbias.items import Item
from orderbias.operations import (
    SHAPES,
    AddPreference,
    BatchCalibration,
    MajorityVote,
    MeanLogprob,
    PriDe,
    ReversalProduct,
    chain,
    estimate_prior,
    letter_preference,
    mirror_split,
    preference,
    split,
)
from orderbias.orderings import cyclic, cyclic_with_reversals

REAL = Path(__file__).parent / "smollm2_mmlu.npz"


@pytest.fixture(scope="module")
def real():
    """SmolLM2-135M-Instruct, 150 MMLU items, cyclic orderings and their reversals.

    Zero-shot first-token readout through the chat template, float32: global_facts and the first 50 items of
    college_computer_science (test). Log-probabilities are not renormalised over the labels.
    """
    with np.load(REAL) as data:
        return answered(
            data["logprobs"],
            data["positions"],
            presented=data["presented"],
            gold=data["gold"],
            item_ids=data["item_ids"].astype(object),
        )


def product(cell):
    return ReversalProduct().fit(cell).apply(cell)


def added(cell, shape, strength):
    operation = AddPreference(shape, strength)
    return operation.fit(cell).apply(cell)


seeds = st.integers(0, 2**32 - 1)
#: Array work has no steady time on a busy machine, so no deadline.
many = settings(deadline=None, max_examples=40)


@many
@given(seeds, st.integers(3, 10), st.floats(-30, 30), st.integers(1, 25))
def test_product_answers_do_not_change_under_antisymmetric_preferences(seed, k, strength, n_items):
    rng = np.random.default_rng(seed)
    cell = planted(n_items, k, rng.normal(size=k), noise=1.0, seed=seed)
    b = rng.normal(size=k)
    for shape in ("front-to-back", "drift", b - b[::-1]):
        moved = product(added(cell, shape if isinstance(shape, str) else tuple(shape), strength))
        assert np.array_equal(moved.choice, product(cell).choice)


@many
@given(seeds, st.floats(-30, 30), st.sampled_from([4, 6, 8, 10]))
def test_alternating_cancels_for_an_even_number_of_options(seed, strength, k):
    cell = planted(12, k, noise=1.0, seed=seed)
    assert np.array_equal(product(added(cell, "alternating", strength)).choice, product(cell).choice)


@many
@given(seeds, st.integers(3, 10))
def test_product_sees_only_the_symmetric_part(seed, k):
    rng = np.random.default_rng(seed)
    cell = planted(12, k, noise=1.0, seed=seed)
    b = tuple(rng.normal(size=k))
    mirrored = mirror_split(preference(b, k)).symmetric
    whole, kept = product(added(cell, b, 2.0)), replace(cell, logprobs=cell.logprobs + 2.0 * mirrored)
    assert np.array_equal(whole.choice, product(kept).choice)


def test_outer_inner_passes_the_product():
    cell = planted(2000, 4, noise=0.8)
    before, after = product(cell), product(added(cell, "outer-inner", 2.0))
    assert placement_range(after) > placement_range(before) + 0.2
    assert skew(after) > skew(before) + 0.1


def test_exact_ties_stay_ties_under_a_cancelling_preference():
    """Scores on a coarse grid, as half precision gives, tie often; rounding after an addition must not settle them."""
    rng = np.random.default_rng(0)
    design = cyclic_with_reversals(4)
    scores = np.round(rng.normal(size=(400, 8, 4)) * 4) / 4
    cell = answered(scores, design.positions, presented=design.presented)
    before, after = product(cell), product(added(cell, "front-to-back", 0.3))
    assert before.ties.mean() > 0.05
    assert np.array_equal(before.ties, after.ties)
    assert np.array_equal(before.choice, after.choice)


@many
@given(seeds, st.integers(2, 10), st.integers(1, 20))
def test_pride_removes_a_prior_that_no_ordering_changes(seed, k, n_items):
    rng = np.random.default_rng(seed)
    b = 2 * rng.normal(size=k)
    design = cyclic_with_reversals(k)
    strengths = rng.normal(size=(n_items, k))
    cell = answered(logits(strengths, design.positions, b), design.positions, presented=design.presented)
    assert estimate_prior(cell).values == pytest.approx(np.exp(b) / np.exp(b).sum(), rel=1e-9)
    out = PriDe().fit(cell).apply(cell)
    assert flip_rate(out) == 0
    assert np.array_equal(out.choice[:, 0], strengths.argmax(axis=1))


@many
@given(seeds, st.integers(2, 10))
def test_mean_logprob_over_a_balanced_set_cancels_every_preference(seed, k):
    rng = np.random.default_rng(seed)
    cell = planted(15, k, noise=1.0, seed=seed)
    moved = added(cell, tuple(rng.normal(size=k)), 3.0)
    pool = MeanLogprob().fit(cell)
    # Rows are normalised anew after the addition, which moves all contents of an ordering alike.
    assert np.array_equal(pool.apply(moved).choice, pool.apply(cell).choice)


@many
@given(seeds, st.integers(3, 6))
def test_corrections_reestimated_take_out_an_added_preference(seed, k):
    rng = np.random.default_rng(seed)
    cell = planted(12, k, noise=1.0, seed=seed)
    b = tuple(rng.normal(size=k))
    once = chain(AddPreference(b, 1.5), PriDe()).fit(cell).priors[0].log_values
    itself = estimate_prior(cell, "pride").log_values
    # PriDe averages item priors arithmetically, so removal is exact where they are alike; mean logs are exact always.
    centred = letter_preference(added(cell, b, 1.5)) - letter_preference(cell)
    assert centred == pytest.approx(1.5 * preference(b, k), abs=1e-9)
    assert np.corrcoef(once - itself, preference(b, k))[0, 1] > 0.9


def test_a_vote_has_no_flip():
    cell = planted(300, 5, noise=1.0)
    out = MajorityVote().fit(cell).apply(cell)
    assert flip_rate(out) == 0
    assert skew(out) is None


def test_a_second_correction_is_fitted_on_the_first_ones_output():
    cell = planted(300, 4, [1.5, 0, 0, -1.5], noise=0.8)
    fitted = chain(PriDe(), BatchCalibration()).fit(cell)
    first = PriDe().fit(cell)
    expected = estimate_prior(first.apply(cell), "batch-calibration").values
    assert fitted.priors[0].values == first.priors[0].values
    assert fitted.priors[1].values == expected
    assert np.std(expected) < 0.3 * np.std(estimate_prior(cell, "batch-calibration").values)


def test_planted_prior_is_recovered_within_its_sampling_error():
    """The simulated model's preference is found again; noise of SD s leaves an item prior an error of s / sqrt(K)."""
    b, noise, n_items = np.array([0.9, 0.1, -0.3, -0.7]), 0.5, 400
    items = [Item(f"i{i}", "?", ("w", "x", "y", "z"), i % 4) for i in range(n_items)]
    backend = SimulatedBackend(items, b.tolist(), skill=1.0, noise=noise, seed=3)
    positions = cyclic(4).positions
    asked = [LabelRequest(i.id, tuple(p.tolist()), "p", tuple("ABCD")) for i in items for p in positions]
    scores = np.array([reply.logprobs for reply in backend.ask(asked)]).reshape(n_items, 4, 4)
    cell = answered(scores, positions, gold=[i.gold for i in items], item_ids=np.array([i.id for i in items], object))
    found = estimate_prior(cell, "log-calibration").log_values
    error = (found - found.mean()) - (b - b.mean())
    sampling_sd = noise / math.sqrt(4 * n_items)
    assert np.abs(error).max() < 4 * sampling_sd
    assert np.abs(error).max() > 0
    pride = estimate_prior(cell).log_values
    assert np.abs((pride - pride.mean()) - (b - b.mean())).max() < 4 * sampling_sd + 0.02
    parts = split(cell)
    out = PriDe().fit(parts.calibration).apply(parts.evaluation)
    assert skew(out) < 0.5 * skew(parts.evaluation)


@pytest.mark.parametrize("shape", [(3, 1, -1, -3), (3, -1, -1, -1), (1, -1, -1, 1), (2, 0, 1, -3)])
def test_the_surviving_share_predicts_what_the_product_leaves(shape):
    """Over strong noise-free strengths the product's own letter preference is b_sym, of SD share * SD(b)."""
    b = preference(shape, 4)
    cell = planted(50, 4, b, noise=0.0)
    out = product(cell)
    # Halved, because the product adds two log scores.
    left = letter_preference(out) / 2
    assert left == pytest.approx(mirror_split(b).symmetric, abs=1e-9)
    assert left.std() / b.std() == pytest.approx(mirror_split(b).surviving_share, abs=1e-9)


def test_shapes_split_as_the_source_says():
    share = {shape: mirror_split(preference(shape, 4)).surviving_share for shape in SHAPES}
    assert share == pytest.approx(
        {"front-to-back": 0, "alternating": 0, "outer-inner": 1, "first-only": 1 / math.sqrt(3), "drift": 0}
    )


# --- a real run --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["front-to-back", "alternating", "drift"])
@pytest.mark.parametrize("strength", [-2.0, -0.5, 0.5, 1.0, 2.0])
def test_real_product_answers_do_not_change(real, shape, strength):
    moved = added(real, shape, strength)
    assert (moved.choice != real.choice).mean() > 0.02
    assert np.array_equal(product(moved).choice, product(real).choice)


def test_real_outer_inner_passes(real):
    assert placement_range(product(added(real, "outer-inner", 2.0))) > placement_range(product(real)) + 0.1


@pytest.mark.parametrize("strength", [-2.0, -1.0, 1.0, 2.0])
@pytest.mark.parametrize("shape", ["front-to-back", "alternating", "outer-inner", "first-only"])
def test_real_pride_takes_out_most_of_what_was_added(real, shape, strength):
    """Most, not all: one prior for all items. The most that was left on these data is 0.36 (outer-inner, 2 logits)."""
    moved = added(real, shape, strength)
    raw = placement_range(moved) - placement_range(real)
    before, after = (PriDe().fit(c).apply(c) for c in (real, moved))
    assert raw > 0.2
    assert abs(placement_range(after) - placement_range(before)) < 0.5 * raw


def test_real_factors_of_a_model_that_hardly_reads_the_options(real):
    """PriDe lowers the skew, as in the source; the product does not lower the flip rate, unlike there.

    This model's letter depends on the question far more than on what the letters show, so all items flip under every
    operation that answers each ordering by itself, and the preference left over is the item's own.
    """
    cyclic_scores = real.logprobs[:, :4] - real.logprobs[:, :4].mean(axis=2, keepdims=True)
    letters = cyclic_scores.mean(axis=1)
    positions = np.broadcast_to(real.positions[:4], cyclic_scores.shape).astype(int)
    contents = np.take_along_axis(cyclic_scores, positions, axis=2).mean(axis=1)
    assert contents.std() < 0.2 * (letters - letters.mean(axis=0)).std()
    corrected = PriDe().fit(real).apply(real)
    assert skew(corrected) < 0.3 * skew(real)
    assert flip_rate(real) == flip_rate(corrected) == flip_rate(product(real)) == 1


def test_a_preference_that_is_rounding_alone_has_no_share():
    assert math.isnan(mirror_split([0.1 + 0.2, 0.3, 0.3, 0.3]).surviving_share)
