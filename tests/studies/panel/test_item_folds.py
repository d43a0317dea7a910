"""Balanced random parts of items: measures of a part are those of a cell cut to it."""

import numpy as np
import pytest
from bench.panel_laws import simulated_panel
from hypothesis import given
from hypothesis import strategies as st

from orderbias.operations import take_items
from orderbias.studies.panel import panel_cell
from orderbias.studies.panel.item_folds import fold_measures, item_folds


@given(st.integers(0, 60), st.integers(1, 7), st.integers(0, 99))
def test_folds_differ_by_one_item_and_ignore_the_order_of_items(n, n_folds, seed):
    ids = np.array([f"q{i}" for i in range(n)], object)
    shuffled = np.random.default_rng(seed).permutation(n)
    first, second = item_folds([ids, ids[shuffled]], n_folds, seed)
    np.testing.assert_array_equal(first[shuffled], second)
    sizes = np.bincount(first, minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1
    assert sizes.sum() == n


def test_another_seed_deals_anew():
    ids = [np.arange(100).astype(str)]
    assert (item_folds(ids, 2, 0)[0] != item_folds(ids, 2, 1)[0]).any()


def test_parts_measure_as_cells_cut_to_them():
    names = ("accuracy", "flip_rate", "positional_skew", "pooled_sd", "per_item_kl", "fluctuation_rate")
    cells = simulated_panel(2, 2, 37, options=(4, 2)).cells
    inside, outside = fold_measures(cells, names, 5, 4)
    for i, cell in enumerate(cells):
        (folds,) = item_folds([cell.predictions.item_ids], 5, 4)
        for fold in range(5):
            for found, rows in ((inside, folds == fold), (outside, folds != fold)):
                cut = panel_cell(take_items(cell.predictions, rows), cell.checkpoint)
                for name in names:
                    assert found[name][fold, i] == pytest.approx(cut.measures[name], abs=1e-12, nan_ok=True)


def test_a_part_without_items_or_golds_is_undefined():
    (cell,) = simulated_panel(1, 1, 3).cells
    inside, _ = fold_measures([cell], ("accuracy",), 5, 0)
    assert np.isnan(inside["accuracy"][:, 0]).sum() == 2
