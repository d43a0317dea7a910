"""The fast division of a prior against the operations and measures that do the same for one prior at a time."""

import math
from dataclasses import replace

import numpy as np
import pytest
from bench.panel_laws import answered, simulated_panel

from orderbias.measures import MEASURES, build_columns, evaluate
from orderbias.operations import LetterPermuted, PriDe, estimate_prior, split, take_items
from orderbias.studies.panel import Checkpoint, panel_cell
from orderbias.studies.panel.answer_measures import centred_cosine
from orderbias.studies.panel.prior.letter_priors import (
    Factors,
    HeldOut,
    answer_factors,
    cosines,
    divided_out,
    held_out,
)


def predictions(k, n_items=60, seed=0, decimals=None, design="cyclic+reversals", **how):
    rng = np.random.default_rng(seed)
    scores, gold = rng.normal(size=(n_items, k)), rng.integers(0, k, n_items)
    p = answered(scores, gold, rng.normal(size=k), 0.5, design if k > 2 else "cyclic", rng)
    logprobs = p.logprobs if decimals is None else p.logprobs.round(decimals)
    return replace(p, logprobs=logprobs, **how)


def generally(p):
    """Return the measures by the general path."""
    values = evaluate(build_columns(p).sums, MEASURES.values())
    known = {name: float(values.get(name, math.nan)) for name in ("flip_rate", "positional_skew", "accuracy")}
    return (*known.values(), np.asarray(values["flip_share"]) if "flip_share" in values else None)


def assert_same(factors, index, p):
    flip_rate, skew, accuracy, share = generally(p)
    assert factors.flip_rate[index] == pytest.approx(flip_rate, nan_ok=True, abs=1e-14)
    assert factors.skew[index] == pytest.approx(skew, nan_ok=True, abs=1e-14)
    assert factors.accuracy[index] == pytest.approx(accuracy, nan_ok=True, abs=1e-14)
    if share is not None:
        assert factors.flip_share[index] == pytest.approx(share, nan_ok=True, abs=1e-14)


def same_text(k, n_items=60):
    """Every third item's last option has the text of its first."""
    same = np.tile(np.arange(k), (n_items, 1))
    same[::3, -1] = 0
    return same


def merged(p):
    """Return predictions whose answers follow ``same_text``."""
    return replace(p, choice=p.counted_as(p.choice), gold=p.counted_as(p.gold))


CASES = {
    "two options": predictions(2),
    "three": predictions(3),
    "four": predictions(4),
    "four, rotations alone": predictions(4, design="cyclic"),
    "ten": predictions(10),
    "four, rounded into ties": predictions(4, decimals=0),
    "four, golds unknown": predictions(4, gold=np.full(60, -1)),
    "four, options of one text": merged(predictions(4, same_text=same_text(4))),
    "five, not renormalised": replace(predictions(5), logprobs=predictions(5).logprobs - 3),
}


@pytest.mark.parametrize("name", CASES)
def test_dividing_out_is_the_operation_and_its_measures(name):
    p = CASES[name]
    cell = panel_cell(p, Checkpoint("m"))
    found = held_out(cell, seed=5)
    parts = split(p, seed=5)
    assert_same(found.before, 0, parts.evaluation)
    for alpha in (0.5, 1.0):
        fitted = PriDe(alpha).fit(parts.calibration)
        assert found.prior == pytest.approx(fitted.priors[0].values, abs=1e-14)
        assert_same(found.after[alpha], 0, fitted.apply(parts.evaluation))
        variants = LetterPermuted(alpha=alpha, seed=5).fit(parts.calibration).variants
        assert len(variants) == len(found.orders) == {2: 1, 3: 5}.get(p.n_options, 23)
        for n, variant in enumerate(variants):
            assert_same(found.after[alpha], n + 1, variant.apply(parts.evaluation))


def test_priors_by_loops():
    p = predictions(4)
    found, parts = held_out(panel_cell(p, Checkpoint("m")), seed=0), split(p)
    geometric, arithmetic = [], []
    for item in np.exp(parts.calibration.logprobs[:, :4]):
        product = np.prod(item, axis=0) ** (1 / 4)
        geometric.append(product / product.sum())
        arithmetic += list(item)
    assert len(geometric) == 3  # 5 % of 60
    assert found.prior == pytest.approx(np.mean(geometric, axis=0))
    assert found.profile == pytest.approx(np.mean(arithmetic, axis=0))


def test_a_prior_of_ones_own_logprobs_leaves_no_flip():
    """Where every item has the same label preference and nothing else, dividing it out settles every answer."""
    lean = np.log([0.5, 0.25, 0.15, 0.1])
    p = answered(np.random.default_rng(0).normal(size=(50, 4)), np.zeros(50, int), lean, 0.0, "cyclic", np.random)
    found = held_out(panel_cell(p, Checkpoint("m")), seed=0)
    assert found.before.flip_rate[0] > 0
    # The geometric mean over the rotations is the preference itself, whatever the contents' scores.
    assert found.prior == pytest.approx(np.exp(lean))
    assert found.after[1.0].flip_rate[0] == 0
    assert np.isnan(found.after[1.0].skew[0])


def test_items_without_logprobs_are_on_neither_side():
    p = predictions(4)
    logprobs = p.logprobs.copy()
    logprobs[::4, 1] = np.nan
    holed = replace(p, logprobs=logprobs)
    found, parts = held_out(panel_cell(holed, Checkpoint("m")), seed=0), split(holed)
    kept = ~np.isnan(parts.evaluation.logprobs).any(axis=(1, 2))
    assert 0 < kept.sum() < len(kept)
    assert found.prior == pytest.approx(estimate_prior(parts.calibration).values, abs=1e-14)
    evaluated = take_items(parts.evaluation, kept)
    assert_same(found.before, 0, evaluated)
    assert_same(found.after[1.0], 0, PriDe().fit(parts.calibration).apply(evaluated))


def test_another_seed_holds_out_other_items():
    cell = simulated_panel(1, 1, 60).cells[0]
    assert held_out(cell, 0).prior != pytest.approx(held_out(cell, 1).prior)
    assert held_out(cell, 1).prior.tolist() == held_out(cell, 1).prior.tolist()


def test_what_has_no_prior():
    p = predictions(4, n_items=1)
    assert held_out(panel_cell(p, Checkpoint("m")), seed=0) is None
    never = np.tile(np.log([0.5, 0.3, 0.2, 1e-300]), (60, 8, 1))
    never[..., 3] = -np.inf
    assert held_out(panel_cell(replace(predictions(4), logprobs=never), Checkpoint("m")), seed=0) is None


def test_many_priors_are_divided_out_in_parts(monkeypatch):
    cell = panel_cell(predictions(4), Checkpoint("m"))
    whole = held_out(cell, 0)
    monkeypatch.setattr("orderbias.studies.panel.operated_cells.BLOCK", 2 * 60 * 4 * 4)
    parts = held_out(cell, 0)
    for name in Factors.__slots__:
        np.testing.assert_array_equal(getattr(whole.after[1.0], name), getattr(parts.after[1.0], name))


def test_even_counts_have_no_skew_not_a_rounded_one():
    # One item whose contents differ while every place is chosen once: g is uniform whatever K.
    for k in range(3, 27):
        places = np.arange(k) * 2 % k if k % 2 else np.arange(k)[::-1]
        contents = ((places - np.arange(k)) % k).reshape(1, k, 1).astype(np.int8)
        found = answer_factors(contents.reshape(1, 1, k), np.zeros(1, np.int8))
        assert (found.flip_rate.tolist(), found.skew.tolist()) == ([1.0], [0.0])


def test_a_prior_without_direction_has_no_cosine():
    even = HeldOut(np.full(4, 0.25), np.full(4, 0.25), ((1, 0, 2, 3), (3, 2, 1, 0)), values([0.5], [0.1], k=4), {})
    own, permuted = cosines([even])
    assert np.isnan([own[0], permuted[0]]).all()


def values(flip_rate, skew, accuracy=0.5, k=2):
    n = len(flip_rate)
    share = np.full((n, k), 0.25 / (k - 1))
    share[:, 0] = 0.75
    return Factors(np.array(flip_rate), np.array(skew), np.full(n, accuracy), share)


def test_log_changes_are_of_cells_where_the_factor_is_positive_throughout():
    prior, orders = np.array([0.6, 0.4]), ((1, 0),)

    def cell(before, own, swapped):
        after = values([own[0], swapped[0]], [own[1], swapped[1]])
        return HeldOut(prior, prior, orders, values([before[0]], [before[1]]), {1.0: after})

    cells = [
        cell((0.4, 0.2), (0.2, 0.1), (0.8, 0.2)),
        cell((0.4, 0.2), (0.2, 0.0), (0.4, 0.2)),  # no skew left
        cell((0.4, 0.2), (0.2, 0.1), (0.0, np.nan)),  # no flip left under the permuted prior
        cell((0.0, np.nan), (0.2, 0.1), (0.2, 0.1)),  # none before
    ]
    changes = divided_out(cells, 1.0)
    halved = -math.log(2)
    assert changes["log_skew"].estimated == pytest.approx([halved, *[np.nan] * 3], nan_ok=True)
    assert changes["log_skew"].permuted == pytest.approx([0, *[np.nan] * 3], nan_ok=True)
    assert changes["log_flip_rate"].estimated == pytest.approx([halved, halved, np.nan, np.nan], nan_ok=True)
    assert changes["log_flip_rate"].permuted == pytest.approx([-halved, 0, np.nan, np.nan], nan_ok=True)
    assert [changes[name].n_cells for name in ("log_skew", "log_flip_rate", "accuracy")] == [1, 2, 4]


def test_cosines_by_loops():
    panel = simulated_panel(3, 2, 60, options=(4, 10))
    found = [held_out(cell, 0) for cell in panel.cells]
    own, permuted = cosines(found)
    for n, h in enumerate(found):
        if len(h.prior) != 4:
            assert np.isnan([own[n], permuted[n]]).all()
            continue
        g = h.before.flip_share[0] - 0.25

        def cosine(prior, g=g):
            return float(np.dot(g, prior - 0.25) / np.linalg.norm(g) / np.linalg.norm(prior - 0.25))

        assert own[n] == pytest.approx(cosine(h.prior))
        assert permuted[n] == pytest.approx(np.median([cosine(h.prior[list(o)]) for o in h.orders]))
    assert np.isnan(centred_cosine(np.full(4, 0.25), np.array([0.4, 0.3, 0.2, 0.1])))
