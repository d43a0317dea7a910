"""The fast path from log-probabilities to answers and measures, against the operations and columns one at a time."""

from dataclasses import replace

import numpy as np
import pytest

from orderbias.measures import MEASURES, build_columns, evaluate
from orderbias.operations import chain, estimate_prior, letter_preference, mirror_split, parse_operation, split
from orderbias.operations.interventions import AddPreference, preference
from orderbias.operations.scores import log_softmax, pick
from orderbias.orderings import inverse, parse_design
from orderbias.predictions import Predictions
from orderbias.studies.panel import Checkpoint, panel_cell
from orderbias.studies.panel.operated_cells import (
    CORRECTIONS,
    OPERATIONS,
    PRODUCT,
    answers,
    best_places,
    cell_scores,
    log_priors,
    operate,
)


def random_cell(k, seed, *, n=60, rounded=False, holes=0.0, same_text=False, design="cyclic+reversals", zeros=False):
    """A cell of noisy scores; ``rounded`` makes exact ties, ``holes`` leaves reversals unanswered."""
    rng = np.random.default_rng(seed)
    orderings = parse_design(design).design(k)
    positions = np.asarray(orderings.positions)
    gold = rng.integers(0, k, n)
    shown = inverse(positions).astype(int)
    scores = rng.normal(0, 1, (n, k))
    scores[np.arange(n), gold] += 1
    logits = scores[:, shown] + rng.normal(0, 1, k) + 0.7 * rng.normal(0, 1, (n, len(positions), k))
    logprobs = np.log(np.round(np.exp(log_softmax(logits)), 1) + 0.05) if rounded else logits
    if zeros:
        logprobs = np.where(logprobs < logprobs.max(-1, keepdims=True) - 3, -np.inf, logprobs)
    place = pick(logprobs).place
    choice = np.take_along_axis(np.broadcast_to(shown, logprobs.shape), place[..., None].astype(int), -1)[..., 0]
    missing = rng.random(choice.shape) < holes
    missing[:, orderings.presented] = rng.random((n, k)) < holes / 10
    texts = None
    if same_text:
        texts = np.tile(np.arange(k), (n, 1))
        texts[::3, 1] = 0
        choice, gold = np.take_along_axis(texts, choice, 1), texts[np.arange(n), gold]
    p = Predictions(
        np.where(missing, -1, choice), positions, gold, presented=orderings.presented, same_text=texts,
        logprobs=np.where(missing[..., None], np.nan, logprobs), model="m", benchmark="b", readout="first-token",
    )  # fmt: skip
    return panel_cell(p, Checkpoint("m"))


CASES = [
    {"k": 3, "seed": 0},
    {"k": 4, "seed": 1},
    {"k": 4, "seed": 2, "rounded": True},
    {"k": 4, "seed": 3, "holes": 0.05},
    {"k": 4, "seed": 4, "same_text": True},
    {"k": 5, "seed": 5, "rounded": True, "holes": 0.02, "same_text": True},
    {"k": 4, "seed": 6, "zeros": True, "n": 200},
    {"k": 10, "seed": 7, "n": 40},
    {"k": 4, "seed": 8, "n": 2},
]


def one_at_a_time(cell, names, first=None):
    """Fit and apply every operation as ``mitigate`` does; the items usable under all of them."""
    parts = split(cell.predictions)
    outputs = []
    for name in names:
        operation = parse_operation(name)
        outputs.append((chain(first, operation) if first else operation).fit(parts.calibration).apply(parts.evaluation))
    usable = np.logical_and.reduce([o.usable for o in outputs])
    rows = np.flatnonzero(~parts.chosen)[usable]
    return rows, [o.choice[usable][:, o.presented] for o in outputs]


@pytest.mark.parametrize("case", CASES)
def test_answers_are_those_of_the_operations(case):
    cell = random_cell(**case)
    operated = operate(cell, 0)
    rows, choices = one_at_a_time(cell, OPERATIONS)
    assert operated.rows.tolist() == rows.tolist()
    for name, expected in zip(OPERATIONS, choices, strict=True):
        assert (operated.choice[operated.at(name)] == expected).all(), name
    held_out = cell.n_items - split(cell.predictions).chosen.sum()
    assert operated.n_left_out == held_out - len(rows)


@pytest.mark.parametrize("case", CASES)
def test_measures_are_those_of_the_columns(case):
    cell = random_cell(**case)
    operated = operate(cell, 0)
    p = cell.predictions
    for o, choice in enumerate(operated.choice):
        columns = build_columns(Predictions(choice, p.positions[p.presented], p.gold[operated.rows], same_text=None))
        expected = evaluate(columns.sums, MEASURES.values())
        for name, values in operated.measures.items():
            np.testing.assert_allclose(values[o], expected[name], atol=1e-12, err_msg=name)


@pytest.mark.parametrize("case", CASES[:6])
@pytest.mark.parametrize(("shape", "strength"), [("outer-inner", 1.0), ("first-only", -0.5)])
def test_an_added_preference_is_the_first_step_of_a_chain(case, shape, strength):
    cell = random_cell(**case)
    added = AddPreference(shape, strength)
    rows, choices = one_at_a_time(cell, OPERATIONS[1:], added)
    scores = cell_scores(cell, 0, reversals=True)
    d = strength * preference(shape, cell.n_options)
    offsets = np.stack([log_priors(name, scores.calibration + d) for name in OPERATIONS[1:]])
    found = answers(scores, OPERATIONS[1:], offsets, np.tile(d, (len(offsets), 1)))
    assert scores.rows.tolist() == rows.tolist()
    assert all((a == b).all() for a, b in zip(found, choices, strict=True))


def test_pride_and_the_product_by_plain_loops():
    cell = random_cell(4, 11, n=30)
    p = cell.predictions
    chosen = split(p).chosen
    probabilities = np.exp(p.logprobs) / np.exp(p.logprobs).sum(-1, keepdims=True)
    slot = {tuple(row): s for s, row in enumerate(p.positions.tolist())}
    prior = np.zeros(4)
    for i in np.flatnonzero(chosen):
        means = [np.prod([probabilities[i, s, r] for s in range(4)]) ** 0.25 for r in range(4)]
        prior += np.array(means) / sum(means) / chosen.sum()
    operated = operate(cell, 0)
    for row, i in enumerate(operated.rows):
        for s in range(4):
            places = [(j + s) % 4 for j in range(4)]
            back = slot[tuple(3 - r for r in places)]
            corrected = [probabilities[i, s, places[j]] / prior[places[j]] for j in range(4)]
            product = [probabilities[i, s, places[j]] * probabilities[i, back, 3 - places[j]] for j in range(4)]
            both = [product[j] / prior[places[j]] / prior[3 - places[j]] for j in range(4)]
            for name, scores in (("pride", corrected), (PRODUCT, product), (f"pride>{PRODUCT}", both)):
                assert operated.choice[operated.at(name), row, s] == int(np.argmax(scores))


def test_the_prior_and_the_preference_are_those_of_the_calibration_items():
    cell = random_cell(4, 12, n=100)
    calibration = split(cell.predictions).calibration
    operated = operate(cell, 0)
    assert operated.top_place == estimate_prior(calibration).top_place
    np.testing.assert_allclose(operated.preference, letter_preference(calibration), atol=1e-12)
    assert operated.surviving_share == pytest.approx(mirror_split(letter_preference(calibration)).surviving_share)


def test_two_options_and_cells_without_reversals_have_the_corrections_alone():
    for cell in (random_cell(2, 13, design="cyclic"), random_cell(4, 14, design="cyclic")):
        operated = operate(cell, 0)
        rows, choices = one_at_a_time(cell, CORRECTIONS)
        assert operated.names == CORRECTIONS
        assert operated.rows.tolist() == rows.tolist()
        assert all((a == b).all() for a, b in zip(operated.choice, choices, strict=True))


def test_nothing_is_made_up_where_nothing_can_be_had():
    cell = random_cell(4, 15)
    p = cell.predictions
    assert operate(replace(cell, predictions=replace(p, logprobs=None)), 0) is None
    never = p.logprobs.copy()
    never[..., 2] = -np.inf
    assert operate(replace(cell, predictions=replace(p, logprobs=never)), 0) is None
    unknown = operate(replace(cell, predictions=replace(p, gold=np.full(p.n_items, -1))), 0)
    assert np.isnan(unknown.measures["accuracy"]).all()
    assert np.isnan(unknown.measures["placement_range"]).all()
    assert (unknown.measures["flip_rate"] == operate(cell, 0).measures["flip_rate"]).all()


def test_equal_scores_go_to_the_lowest_place():
    scores = np.array([[0.1, 0.0], [0.1 + 1e-13, 1.0], [0.0, 1.0]])
    assert best_places(scores).tolist() == [0, 1]
