"""Repeat noise of the cells of a panel: Table 13 by loops, planted noise and order effects, reasons to skip."""

from dataclasses import replace

import numpy as np
import pytest

from orderbias.inference.uniformity import hoeffding_uniformity, holm
from orderbias.orderings import parse_design
from orderbias.predictions import Predictions
from orderbias.studies.panel import Checkpoint, Panel, Settings, panel_cell
from orderbias.studies.panel.repeats import repeats

SETTINGS = Settings(resamples=1000, seed=1)


def cell(name, calls, gold=None, benchmark="quiz", readout="direct"):
    """A cell of contents ``(n_items, K, n_repeats)``, -1 where nothing was asked."""
    n, k, _ = calls.shape
    gold = np.zeros(n, int) if gold is None else gold
    p = Predictions(
        calls[:, :, 0], parse_design("cyclic").design(k).positions, gold, benchmark=benchmark, readout=readout
    )
    return panel_cell(p, Checkpoint(name), repeats=calls.astype(np.int8))


def first_again(first, again):
    """Calls with a second one on ordering 0 alone, as in the paper."""
    calls = np.full((*first.shape, 2), -1)
    calls[:, :, 0], calls[:, 0, 1] = first, again
    return calls


def rows(finding):
    t = finding.table("noise")
    return [dict(zip([c.key for c in t.columns], r, strict=True)) for r in t.rows]


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def test_the_table_is_that_of_the_paper_by_loops(rng):
    n, k = 150, 4
    gold = rng.integers(0, k, n)
    first = np.where(rng.random((n, k)) < 0.7, gold[:, None], rng.integers(0, k, (n, k)))
    again = np.where(rng.random(n) < 0.8, first[:, 0], rng.integers(0, k, n))
    calls = first_again(first, again)
    calls[5, 0, 1] = -1  # one second call without a usable answer
    (told,) = rows(repeats(Panel((cell("m", calls, gold),), settings=SETTINGS)))
    repeat = reorder = flips = right = 0.0
    for i in range(n):
        flips += len({int(first[i, s]) for s in range(k)}) > 1
        right += sum(first[i, s] == gold[i] for s in range(k)) / k
        if i != 5:
            repeat += first[i, 0] != again[i]
            reorder += sum(first[i, 0] != first[i, s] for s in range(1, k)) / (k - 1)
    places = np.array([[(first[i, s] + s) % k for s in range(k)] for i in range(n)])
    assert (told["n_items"], told["n_left_out"], told["n_repeats"], told["n_repeated"]) == (n - 1, 1, 2, 1)
    assert told["repeat"].value == pytest.approx(repeat / (n - 1))
    assert told["reorder"].value == pytest.approx(reorder / (n - 1))
    assert told["excess"].value == pytest.approx((reorder - repeat) / (n - 1))
    assert told["excess"].low < told["excess"].value < told["excess"].high
    assert told["flip_rate"].value == pytest.approx(flips / n)
    assert told["accuracy"].value == pytest.approx(right / n)
    assert told["pooled_sd"].value == pytest.approx((np.bincount(places.ravel(), minlength=k) / n / k).std())


def test_a_model_that_draws_and_one_that_reads_the_order_are_told_apart(rng):
    drawing = cell("drawing", rng.integers(0, 4, (400, 4, 2)))
    places = np.tile((0 - np.arange(4)) % 4, (400, 1))
    ordered = cell("ordered", first_again(places, places[:, 0]))
    steady = cell("steady", np.zeros((400, 4, 2), int))
    found = repeats(Panel((drawing, ordered, steady), settings=SETTINGS))
    told = {r["checkpoint"]: r for r in rows(found)}
    assert told["drawing"]["excess"].low < 0 < told["drawing"]["excess"].high
    assert told["drawing"]["flip_rate"].value > 0.9  # which is all noise
    assert (told["ordered"]["repeat"].value, told["ordered"]["excess"].value) == (0, 1)
    assert told["ordered"]["uniformity_p"] < 1e-6 < told["drawing"]["uniformity_p"]
    assert found.sentences[0] == (
        "Reordering changes answers more often than asking again in 1 of 3 cells, less often in 0, and in 2 the "
        "difference is not resolved."
    )
    assert found.sentences[2].startswith("ordered on quiz (direct): reordering changes answers more often than asking")
    assert "excess 100.0 [" in found.sentences[2]


def test_how_often_drawn_answers_are_called_an_order_effect(rng):
    cells = [cell(f"m{i}", rng.integers(0, 3, (80, 3, 2))) for i in range(150)]
    found = repeats(Panel(tuple(cells), settings=Settings(resamples=300)))
    wrong = sum(r["excess"].low > 0 or r["excess"].high < 0 for r in rows(found))
    assert wrong <= 15
    assert len(found.sentences) == 1  # of so many cells the table tells


def test_p_values_are_adjusted_over_the_cells(rng):
    cells = [cell(f"m{i}", rng.integers(0, 2, (60, 2, 2)) * rng.integers(0, 2)) for i in range(4)]
    expected = []
    for c in cells:
        f = c.lists["selection_share"]
        expected.append(hoeffding_uniformity(f, [1 / 60] * 60))
    assert [r["uniformity_p"] for r in rows(repeats(Panel(tuple(cells), settings=SETTINGS)))] == holm(expected).tolist()


def test_cells_without_repeats_are_no_rows_and_a_panel_without_any_is_skipped(rng):
    calls = rng.integers(0, 4, (30, 4, 2))
    asked, plain = cell("asked", calls), replace(cell("plain", calls), repeats=None)
    assert [r["checkpoint"] for r in rows(repeats(Panel((plain, asked), settings=SETTINGS)))] == ["asked"]
    assert repeats(Panel((plain,))).skipped.startswith("needs cells that were asked again (run --repeats 2)")
    once = cell("once", np.concatenate([calls[:, :, :1], np.full((30, 4, 1), -1)], axis=2))
    assert "no item has two usable answers" in repeats(Panel((once,), settings=SETTINGS)).skipped
    both = repeats(Panel((once, asked), settings=SETTINGS))
    assert both.parts_skipped == ("once on quiz (direct): no item has two usable answers under a repeated ordering.",)


def test_golds_that_are_unknown_leave_the_accuracy_alone_without_a_value(rng):
    (told,) = rows(repeats(Panel((cell("m", rng.integers(0, 4, (30, 4, 2)), np.full(30, -1)),), settings=SETTINGS)))
    assert told["accuracy"].value is None
    assert told["repeat"].value is not None


def test_one_ordering_knows_repeats_alone():
    calls = np.array([[[0, 0]], [[1, 0]], [[1, 1]]], np.int8)
    p = Predictions(calls[:, :, 0], [[0, 1]], [0, 0, 1], benchmark="quiz", readout="direct")
    found = repeats(Panel((panel_cell(p, Checkpoint("m"), repeats=calls),), settings=SETTINGS))
    (told,) = rows(found)
    assert told["repeat"].value == pytest.approx(1 / 3)
    assert told["reorder"].value is None
    assert told["excess"].value is None
    assert found.sentences[1] == "m on quiz (direct): the design has one ordering, so that nothing was reordered."
