"""The null of the cap: against every permutation listed, SciPy's p-value, and laws it must hold."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from orderbias.studies.findings import Number
from orderbias.studies.panel import Pool, Settings
from orderbias.studies.panel.controls.cap_null import (
    cap_null,
    cap_nulls,
    capped,
    figure,
    null_table,
    p_value,
    scaled_table,
)
from orderbias.studies.panel.estimates import checkpoint_draws

SETTINGS = Settings(resamples=400, seed=7)


def rng():
    return np.random.default_rng(11)


def every_deal(scaled, caps, accuracy, group):
    """Correlate every way of dealing scaled flip rates within groups."""
    sets = [[i for i, g in enumerate(group) if g == one] for one in sorted(set(group))]
    found = []
    for deal in product(*(permutations(cells) for cells in sets)):
        dealt = list(scaled)
        for cells, taken in zip(sets, deal, strict=True):
            for cell, other in zip(cells, taken, strict=True):
                dealt[cell] = scaled[other]
        found.append(spearmanr([round(d * c, 9) for d, c in zip(dealt, caps, strict=True)], accuracy).statistic)
    return found


def test_null_is_that_of_every_permutation_within_groups():
    accuracy = np.array([0.5, 0.8, 0.9, 0.6, 0.95, 0.85, 0.7])
    group = np.array([4, 4, 4, 4, 2, 2, 2])
    caps = np.minimum(1, group * (1 - accuracy))
    scaled = np.array([0.9, 0.2, 0.5, 0.7, 0.3, 1.0, 0.6])
    expected = every_deal(scaled, caps, accuracy, group)
    found = cap_null(scaled, caps, accuracy, group, 20_000, rng())
    assert len(found) == 20_000
    assert set(found.round(9)) == set(np.round(expected, 9))
    for value, share in zip(*np.unique(np.round(expected, 9), return_counts=True), strict=True):
        assert (found.round(9) == value).mean() == pytest.approx(share / len(expected), abs=0.015)


def test_where_the_cap_is_one_the_p_value_is_that_of_a_rank_correlation():
    draw = rng()
    accuracy, flips = draw.random(40), draw.random(40)
    flips -= 0.4 * accuracy
    null = cap_null(flips, np.ones(40), accuracy, np.ones(40, int), 20_000, rng())
    found = spearmanr(flips, accuracy)
    assert p_value(null, found.statistic) == pytest.approx(found.pvalue, abs=0.01)


@given(st.lists(st.integers(1, 99), min_size=3, max_size=20, unique=True), st.floats(0.05, 1))
def test_cells_that_all_fill_the_same_part_of_their_cap_have_no_other_deal(percents, scaled):
    accuracy = 0.75 + np.array(percents) / 400
    found = cap_null(
        np.full(len(accuracy), scaled), 4 * (1 - accuracy), accuracy, np.zeros(len(accuracy), int), 5, rng()
    )
    np.testing.assert_allclose(found, -1)


def test_p_counts_the_observed_one_and_either_sign():
    assert p_value(np.array([0.2, -0.5, 0.5, 0.1]), -0.5) == pytest.approx(3 / 5)
    assert p_value(np.array([0.2, np.nan]), 0.9) == pytest.approx(1 / 2)
    assert np.isnan(p_value(np.array([np.nan]), 0.9))
    assert np.isnan(p_value(np.array([0.1]), np.nan))


@pytest.fixture(scope="module")
def pool():
    # Strong enough that the cap binds in some cells of four options too.
    laws = Laws(strength=(0.2, 5.0))
    return capped(simulated_panel(14, 4, 150, laws=laws, settings=SETTINGS, options=(4, 4, 2, 10)).pool())


def test_rows_are_subsets_by_options_and_cap(pool):
    table = null_table(cap_nulls(pool, SETTINGS), SETTINGS, 3)
    keys = [c.key for c in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    assert {(r["options"], r["subset"]) for r in rows} >= {("all", "all"), ("4", "cap one"), ("4", "cap below one")}
    for row in rows:
        cells = [c for c in pool.cells if row["options"] in ("all", str(c.n_options))]
        if row["subset"] != "all":
            below = "below" in row["subset"]
            cells = [c for c in cells if (c.n_options * (1 - c.measures["accuracy"]) < 1) == below]
        assert row["n_cells"] == len(cells)
        flips, right = ([c.measures[m] for c in cells] for m in ("flip_rate", "accuracy"))
        assert row["observed"].value == pytest.approx(spearmanr(flips, right).statistic)
        assert row["null"].low <= row["null"].value <= row["null"].high
        assert 1 / 401 <= row["p"] <= 1
    assert any("cap is 0: 3 cells" in note for note in table.notes)
    assert [p["observed"] for p in figure(cap_nulls(pool, SETTINGS))] == [r["observed"].value for r in rows]


def test_planted_uncertainty_exceeds_the_null_where_the_cap_is_one(pool):
    rows = {row[:2]: row for row in null_table(cap_nulls(pool, SETTINGS), SETTINGS, 0).rows}
    assert rows["4", "cap one"][5] < 0.01
    assert rows["4", "cap one"][4].low < 0 < rows["4", "cap one"][4].high


def test_the_null_is_compatible_where_only_the_cap_ties_flips_to_accuracy(pool):
    draw = rng()
    cells = []
    for cell in pool.cells:
        scaled = draw.random()
        flips = scaled * cell.measures["flip_cap"]
        cells.append(replace(cell, measures={**cell.measures, "flip_rate": flips, "scaled_flip_rate": scaled}))
    dealt = Pool(tuple(cells))
    null = {row[:2]: row for row in null_table(cap_nulls(dealt, SETTINGS), SETTINGS, 0).rows}["all", "all"]
    assert null[5] > 0.05
    assert null[4].low <= null[3].value <= null[4].high
    scaled = {row[:2]: row for row in scaled_table(dealt, SETTINGS).rows}["all", "all"][3]
    assert scaled.low < 0 < scaled.high


def test_scaled_flip_rate_and_its_interval_resample_checkpoints(pool):
    row = scaled_table(pool, SETTINGS).rows[0]
    scaled, accuracy = pool["scaled_flip_rate"], pool["accuracy"]
    drawn = []
    for times in checkpoint_draws(pool, SETTINGS, "controls").cells.astype(int):
        cells = np.repeat(np.arange(len(pool)), times)
        drawn.append(spearmanr(scaled[cells], accuracy[cells]).statistic)
    assert row[3].value == pytest.approx(spearmanr(scaled, accuracy).statistic)
    assert (row[3].low, row[3].high) == pytest.approx(np.quantile(drawn, [0.0125, 0.9875]))


def test_two_cells_are_said_to_say_nothing(pool):
    two = Pool(tuple(c for c in pool.cells if c.n_options == 4 and c.measures["flip_cap"] == 1)[:2])
    table = null_table(cap_nulls(two, SETTINGS), SETTINGS, 0)
    assert abs(table.rows[0][3].value) == pytest.approx(1)
    assert table.rows[0][5] == 1
    assert any("two cells" in note for note in table.notes)


def test_equal_flip_rates_have_no_correlation_and_no_p():
    still = capped(simulated_panel(3, 2, 40, laws=Laws(lean=0, wobble=0), options=(4,)).pool())
    row = null_table(cap_nulls(still, SETTINGS), SETTINGS, 0).rows[0]
    assert row[3] == Number(None)
    assert row[4] == Number(None)
    assert row[5] is None
