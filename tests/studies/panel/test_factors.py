"""The factor plane: correlations against plain loops, the two like cells by trying every pair, nothing made up."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel
from scipy.stats import spearmanr

from orderbias.studies.findings import Number
from orderbias.studies.panel import Panel, Settings, panel_cell
from orderbias.studies.panel.estimates import cell_draws
from orderbias.studies.panel.factors import STATISTICS, factors, iso_curves, like_pair

SETTINGS = Settings(resamples=300, seed=2)


def with_golds(panel, golds):
    """Return a panel whose golds are those that ``golds`` gives for a cell."""
    cells = [panel_cell(replace(c.predictions, gold=golds(c.predictions)), c.checkpoint) for c in panel.cells]
    return Panel(tuple(cells), settings=panel.settings)


@pytest.fixture(scope="module")
def panel():
    return simulated_panel(10, 4, 150, settings=SETTINGS, options=(4, 4, 2, 4))


def test_correlations_and_intervals_are_those_of_resampled_cells(panel):
    table = factors(panel).table("correlations")
    assert [row[0] for row in table.rows] == ["all", "2", "4"]
    keys = [c.key for c in table.columns]
    pool = panel.pool()
    row = dict(zip(keys, table.rows[0], strict=True))
    draws = cell_draws(pool, SETTINGS, "factors").cells.astype(int)
    drawn = {name: [] for name in STATISTICS}
    for name in STATISTICS:
        assert row[name].value == pytest.approx(spearmanr(pool[name], pool["accuracy"]).statistic)
        for times in draws:
            cells = np.repeat(np.arange(len(pool)), times)
            drawn[name].append(spearmanr(pool[name][cells], pool["accuracy"][cells]).statistic)
        assert (row[name].low, row[name].high) == pytest.approx(np.quantile(drawn[name], [0.025, 0.975]))
    gaps = np.abs(drawn["flip_rate"]) - np.abs(drawn["pooled_sd"])
    found = row["flip_rate_less_pooled_sd"]
    assert found.value == pytest.approx(abs(row["flip_rate"].value) - abs(row["pooled_sd"].value))
    assert (found.low, found.high) == pytest.approx(np.quantile(gaps, [0.025, 0.975]))
    assert table.resampled == "cells"


def test_planted_uncertainty_makes_flips_fall_with_accuracy(panel):
    finding = factors(panel)
    assert finding.table("correlations").rows[0][3].high < -0.5
    assert finding.sentences[0].startswith("The flip rate falls with accuracy")


def test_nothing_is_found_where_golds_are_drawn_at_random(panel):
    rng = np.random.default_rng(5)
    four = Panel(tuple(c for c in panel.cells if c.n_options == 4), settings=SETTINGS)
    finding = factors(with_golds(four, lambda p: rng.integers(0, p.n_options, p.n_items)))
    found = finding.table("correlations").rows[0][3]
    assert found.low < 0 < found.high
    assert "neither" in finding.sentences[0]


def every_pair(flips, pooled, alike):
    """Try all pairs."""
    kept = [i for i, p in enumerate(pooled) if p > 0]
    kept = [i for i in kept if pooled[i] >= np.median([pooled[j] for j in kept])]
    best, pair = 0.0, None
    for i in kept:
        for j in kept:
            if flips[i] >= flips[j] or max(pooled[i], pooled[j]) > min(pooled[i], pooled[j]) * (1 + alike):
                continue
            ratio = flips[j] / flips[i]
            if pooled[i] / flips[i] > pooled[j] / flips[j] and ratio > best:
                best, pair = ratio, (i, j)
    return pair


@pytest.mark.parametrize("seed", range(8))
def test_like_cells_are_the_best_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    flips, skew = rng.random(60), 0.5 * rng.random(60)
    flips[:5] = 0
    pooled = flips * skew
    assert like_pair(flips, pooled) == every_pair(flips, pooled, 0.02)


def test_no_like_cells_without_a_pair():
    assert like_pair(np.array([0.1, 0.2]), np.array([0.1, 0.2])) is None
    assert like_pair(np.array([0.0, 0.0]), np.array([0.0, np.nan])) is None
    # Two cells of one flip rate are no opposites.
    assert like_pair(np.array([0.1, 0.1]), np.array([0.1, 0.1001])) is None


def test_like_cells_are_named_and_marked(panel):
    finding = factors(panel)
    a, b = finding.table("like_cells").rows
    assert (a[0], b[0]) == ("A", "B")
    flips, skews, sizes = ([row[i].value for row in (a, b)] for i in (7, 8, 9))
    assert flips[0] < flips[1]
    assert skews[0] > skews[1]
    assert max(sizes) <= 1.02 * min(sizes)
    marked = {p["mark"]: p["checkpoint"] for p in finding.series["factor_plane"] if p["mark"]}
    assert marked == {"A": a[1], "B": b[1]}
    assert any(a[1] in said and b[1] in said for said in finding.sentences)


def test_curves_hold_the_pooled_sd():
    points = iso_curves(np.array([0.0, 0.008, 0.12, np.nan]))
    assert {p["pooled_sd"] for p in points} == {0.01, 0.02, 0.05, 0.1}
    for p in points:
        assert p["flip_rate"] * p["positional_skew"] == pytest.approx(p["pooled_sd"])
        assert p["flip_rate"] <= 1 + 1e-12
        assert p["positional_skew"] <= 0.5 + 1e-12


def test_cells_that_never_flip_have_no_skew():
    panel = simulated_panel(4, 2, 40, laws=Laws(lean=0, wobble=0), settings=SETTINGS)
    finding = factors(panel)
    table = finding.table("cells")
    assert all(row[7] == Number(None) and row[6] == Number(0.0) for row in table.rows)
    assert "8 cells of 8" in table.notes[1]
    assert finding.table("correlations").rows[0][2] == 0
    assert finding.table("correlations").rows[0][4] == Number(None)
    assert any("nearly equal pooled SD" in why for why in finding.parts_skipped)
    json.dumps(finding.as_dict(), allow_nan=False)


def test_without_golds_the_plane_is_still_drawn(panel):
    finding = factors(with_golds(panel, lambda p: np.full(p.n_items, -1)))
    assert [t.name for t in finding.tables] == ["cells", "like_cells"]
    assert "right answers are known" in finding.parts_skipped[0]
    assert finding.series["against_accuracy"] == ()
    assert len(finding.series["factor_plane"]) == len(panel.cells)
    json.dumps(finding.as_dict(), allow_nan=False)


def test_a_panel_without_cyclic_cells_is_skipped():
    finding = factors(Panel(()))
    assert finding.skipped == "needs cells under the cyclic orderings; there are none."
    assert not finding.tables


def test_one_checkpoint_is_enough():
    finding = factors(simulated_panel(1, 6, 60, settings=SETTINGS))
    assert not math.isnan(finding.table("correlations").rows[0][3].value)


def test_another_readout_is_read_where_there_is_no_first_token(panel):
    spoken = Panel(tuple(replace(c, readout="direct") for c in panel.cells), settings=SETTINGS)
    finding = factors(spoken)
    assert finding.table("correlations").rows == factors(panel).table("correlations").rows
    assert "direct readout" in finding.table("cells").notes[0]
