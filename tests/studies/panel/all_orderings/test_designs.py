"""Statistics by vectorised counting against the measures of the sliced answers; the theorems of two-factors, B.1."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from orderbias.measures import MEASURES, build_columns, evaluate
from orderbias.orderings import all_orderings
from orderbias.predictions import Predictions
from orderbias.studies.panel.all_orderings.designs import (
    BLOCK,
    answer_statistics,
    cell_designs,
    design_statistics,
    gold_draws,
    item_draws,
    shared_draws,
)
from orderbias.studies.panel.all_orderings.full_orderings import expected_flip_rate

DATA = Path(__file__).resolve().parents[4].parent / "shared/data/base_rate_mmlu"


def full_cell(k, n_items, seed, sure=0.8):
    rng = np.random.default_rng(seed)
    rows = all_orderings(k).positions
    favourite = rng.integers(0, k, (n_items, 1))
    first = rows.argmin(axis=1)[None]  # what stands at place 0
    other = np.where(rng.random((n_items, len(rows))) < 0.6, first, rng.integers(0, k, (n_items, len(rows))))
    keep = rng.random((n_items, len(rows))) < np.where(rng.random((n_items, 1)) < 0.5, 1.0, sure)
    return Predictions(np.where(keep, favourite, other), rows, rng.integers(0, k, n_items))


def measured(p, orderings):
    """The measures of the answers under one draw: ``(m,)`` orderings, or ``(n_items, m)``."""
    if orderings.ndim == 1:
        sliced = Predictions(p.choice[:, orderings], p.positions[orderings], p.gold)
    else:
        choice = np.take_along_axis(p.choice, orderings, axis=1)
        sliced = Predictions(choice, p.positions[orderings], p.gold)
    values = evaluate(build_columns(sliced).sums, MEASURES.values())
    return {name: float(v) for name, v in values.items() if np.ndim(v) == 0}


def check(p, picks):
    found = design_statistics(p, picks)
    for i, orderings in enumerate(picks):
        values = measured(p, orderings)
        for ours, theirs in (
            ("flip_rate", "flip_rate"), ("accuracy", "accuracy"), ("per_item_sd", "per_item_sd"),
            ("pooled_sd", "pooled_sd"), ("deviation_sd", "design_deviation_sd"),
            ("corrected_sd", "corrected_pooled_sd"),
        ):  # fmt: skip
            assert getattr(found, ours)[i] == pytest.approx(values[theirs], abs=1e-12), (ours, i)
        skew = values["positional_skew"]
        assert found.product[i] == pytest.approx(0 if np.isnan(skew) else values["flip_rate"] * skew, abs=1e-12)
        # Corrected identity and deviation bound (Prop. 1), whatever the design.
        assert found.corrected_residual[i] < 1e-12
        assert found.residual[i] <= found.deviation_sd[i] + 1e-12
        assert found.deviation_sd[i] <= values["design_deviation_bound"] + 1e-12
    return found


@settings(max_examples=30, deadline=None)
@given(
    k=st.sampled_from([3, 4]), n_items=st.integers(1, 30), seed=st.integers(0, 2**32), m=st.integers(2, 6),
    per_item=st.booleans(), sure=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
)  # fmt: skip
def test_any_design_agrees_with_the_measures(k, n_items, seed, m, per_item, sure):
    rng = np.random.default_rng(seed)
    p = full_cell(k, n_items, seed, sure)
    shape = (3, n_items) if per_item else (3,)
    total = len(p.positions)
    picks = np.argsort(rng.random((*shape, total)), axis=-1)[..., :m]
    check(p, picks)


def test_each_design_of_the_table_agrees_with_the_measures():
    p = full_cell(4, 40, 0)
    rng = np.random.default_rng(0)
    for picks in (shared_draws(4, rng, 4), item_draws(4, 40, rng, 4), gold_draws(p.gold, 4, rng, 4)):
        found = check(p, picks)
        assert (found.residual > 1e-6).any()
    designs = cell_designs(p, shared_draws(4, rng, 5), np.random.default_rng(1), 5)
    for name in ("cyclic", "all", "latin-square sets"):
        assert designs[name].residual.max() < 1e-12
    assert designs["latin-square sets"].flip_rate.shape == (24,)
    assert designs["all"].flip_rate[0] == pytest.approx(measured(p, np.arange(24))["flip_rate"])
    assert designs["cyclic"].pooled_sd[0] == designs["latin-square sets"].pooled_sd[0]


def test_more_than_one_block_changes_nothing():
    p = full_cell(3, 900, 3)
    picks = item_draws(3, 900, np.random.default_rng(0), 400)
    assert picks.size > 2 * BLOCK
    whole = design_statistics(p, picks)
    for i in (0, 147, 148, 399):
        alone = design_statistics(p, picks[i : i + 1])
        assert whole.pooled_sd[i] == alone.pooled_sd[0]
        assert whole.accuracy[i] == alone.accuracy[0]


def test_drawn_orderings_are_what_they_say():
    rng = np.random.default_rng(0)
    rows = all_orderings(4).positions
    each = np.sort(item_draws(4, 50, rng, 20), axis=-1)
    assert (np.diff(each, axis=-1) > 0).all()
    gold = rng.integers(0, 4, 60)
    picks = gold_draws(gold, 4, rng, 200)
    places = rows[picks][:, np.arange(60)[:, None], np.arange(4), gold[:, None]]
    assert (places == np.arange(4)).all()
    # Each of the six orderings with the gold at a place is as likely as any other.
    counts = np.unique(picks[:, gold == 0, 1], return_counts=True)[1]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 1e-4
    used = np.bincount(shared_draws(4, rng, 3_000).ravel(), minlength=24)
    assert stats.chisquare(used).pvalue > 1e-4


def test_the_random_design_has_the_exact_expectation():
    p = full_cell(4, 300, 5)
    found = design_statistics(p, item_draws(4, 300, np.random.default_rng(0), 400)).flip_rate
    assert abs(found.mean() - expected_flip_rate(p.choice, 4, 4)) < 4 * found.std() / np.sqrt(len(found))


def test_undefined_is_nan():
    rows = all_orderings(3).positions
    p = Predictions(np.tile([[0], [1], [2]], (1, 6)), rows, [-1, 0, 0])
    found = design_statistics(p, np.arange(6)[None])
    assert np.isnan(found.accuracy).all()
    assert np.isnan(found.relative_residual).all()
    assert np.isnan(found.residual_over_bound).all()
    assert found.product[0] == 0


@pytest.mark.parametrize("name", ["cloze_GPT2", "cloze_Mistral-7B", "cloze_Phi-2", "cf_SOLAR-10-7B"])
def test_real_answers_under_unbalanced_orderings(name):
    """Five orderings of each of 535 items of MMLU, the gold moved about: only ``b_S`` restores the identity."""
    path = DATA / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("needs ../shared/data/base_rate_mmlu")
    items = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        items.setdefault((row["subject"], row["index"]), []).append(row)
    perm = np.array([[row["perm"] for row in rows] for rows in items.values()])
    shown = np.array([[int(np.argmax(row["logprobs"])) for row in rows] for rows in items.values()])
    gold = np.array([rows[0]["perm"][rows[0]["gold_pos"]] for rows in items.values()])
    chosen = np.take_along_axis(perm, shown[..., None], axis=-1)[..., 0]
    places = np.argsort(perm, axis=-1)
    first = np.take_along_axis(places, np.broadcast_to(chosen[:, :1, None], (*chosen.shape, 1)), axis=-1)[..., 0]
    found = answer_statistics(chosen[None], shown[None], first[None], gold, 4)
    assert chosen.shape == (535, 5)
    assert found.corrected_residual[0] < 1e-12
    assert found.deviation_sd[0] > 1e-3
    assert 1e-4 < found.residual[0] <= found.deviation_sd[0]
    # The same in plain loops, from the definitions.
    flipping = [q for q in range(535) if len(set(chosen[q].tolist())) > 1]
    g = np.zeros(4)
    for q in flipping:
        for s in range(5):
            g[shown[q, s]] += 1 / (5 * len(flipping))
    b = np.zeros(4)
    for q in set(range(535)) - set(flipping):
        for s in range(5):
            b[list(perm[q, s]).index(chosen[q, 0])] += 1 / 5 / 535
        b -= 1 / 4 / 535
    f = np.bincount(shown.ravel(), minlength=4) / shown.size
    assert found.product[0] == pytest.approx(len(flipping) / 535 * g.std(), abs=1e-12)
    assert (f - b).std() == pytest.approx(found.corrected_sd[0], abs=1e-12)
    assert found.deviation_sd[0] == pytest.approx(b.std(), abs=1e-12)
