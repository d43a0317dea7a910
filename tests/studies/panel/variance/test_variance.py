"""Shares of the variance of the log pooled SD, readouts on common cells, uniformity: against plain loops."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from statsmodels.stats.multitest import multipletests

from orderbias.studies.findings import Number
from orderbias.studies.panel import Panel, Settings, panel_cell
from orderbias.studies.panel.estimates import checkpoint_draws
from orderbias.studies.panel.variance import common_pools, variance
from orderbias.studies.panel.variance_shares import variance_shares

SETTINGS = Settings(resamples=300, seed=4)


def shares_of(cells):
    """Share the variance of the log pooled SD in plain sums."""
    x = [math.log(c.measures["flip_rate"]) for c in cells]
    y = [math.log(c.measures["positional_skew"]) for c in cells]
    z = [math.log(c.measures["pooled_sd"]) for c in cells]
    n = len(cells)

    def cov(a, b):
        return sum(p * q for p, q in zip(a, b, strict=True)) / n - sum(a) / n * sum(b) / n

    return [cov(x, x) / cov(z, z), cov(y, y) / cov(z, z), 2 * cov(x, y) / cov(z, z)]


def renamed(panel, readout, keep=lambda cell: True):
    """Return cells of another panel under another readout."""
    return tuple(replace(c, readout=readout) for c in panel.cells if keep(c))


@pytest.fixture(scope="module")
def panel():
    return simulated_panel(8, 4, 120, settings=SETTINGS, options=(4, 4, 2, 4))


def test_shares_are_those_of_the_pooled_sd_itself(panel):
    table = variance(panel).table("shares")
    for row in table.rows:
        cells = [c for c in panel.cells if row[0] == "all" or c.n_options == int(row[0])]
        assert [n.value for n in row[3:]] == pytest.approx(shares_of(cells))
        assert sum(n.value for n in row[3:]) == pytest.approx(1)
    assert table.level == pytest.approx(0.975)


def test_intervals_resample_whole_checkpoints(panel):
    row = variance(panel).table("shares").rows[0]
    pool = panel.pool()
    draws = checkpoint_draws(pool, SETTINGS, "variance").cells.astype(int)
    drawn = [shares_of([c for c, n in zip(pool.cells, times, strict=True) for _ in range(n)]) for times in draws]
    for i, number in enumerate(row[3:]):
        ends = np.quantile([shares[i] for shares in drawn], [0.0125, 0.9875])
        assert (number.low, number.high) == pytest.approx(ends)


@given(st.lists(st.tuples(st.floats(-5, 0), st.floats(-5, 0)), min_size=2, max_size=12))
def test_shares_sum_to_one_or_are_undefined(logs):
    x, y = np.array(logs).T
    found = variance_shares(x, y, np.ones(len(x)))
    if np.isnan(found).any():
        assert np.isnan(found).all()
        assert np.var(x + y) < 1e-6
    else:
        assert found.sum() == pytest.approx(1)


def test_one_factor_alone_carries_all():
    skew = np.random.default_rng(0).normal(size=9)
    np.testing.assert_allclose(variance_shares(np.full(9, -1.0), skew, np.ones(9)), [0, 1, 0], atol=1e-12)


def test_planted_lean_carries_the_variance_where_uncertainty_is_alike():
    alike = simulated_panel(10, 2, 400, laws=Laws(strength=(1.0, 1.0), lean=0.25), settings=SETTINGS, options=(4,))
    skew = variance(alike).table("shares").rows[0][4]
    assert skew.low > 0.6


def test_readouts_are_compared_on_their_own_and_on_common_cells(panel):
    direct = simulated_panel(8, 4, 120, seed=1, options=(4, 4, 2, 4))
    thought = simulated_panel(6, 4, 120, seed=2, options=(4, 4, 2, 4))
    shots = simulated_panel(8, 4, 120, seed=3, options=(4, 4, 2, 4))
    names = [c.checkpoint.name for c in thought.cells]
    cells = (
        panel.cells + renamed(direct, "direct", lambda c: c.benchmark != "benchmark-3")
        + renamed(shots, "five-shot", lambda c: c.benchmark == "benchmark-1") + renamed(thought, "chain-of-thought")
    )  # fmt: skip
    whole = Panel(cells, settings=SETTINGS)
    pools = common_pools(whole)
    assert {name: len(pool) for name, pool in pools.items()} == {
        "first-token": 18, "chain-of-thought": 18, "direct": 18, "five-shot": 6,
    }  # fmt: skip
    assert all(c.checkpoint.name in names and c.benchmark != "benchmark-3" for c in pools["direct"].cells)
    rows = {row[:2]: row for row in variance(whole).table("readouts").rows}
    assert len(rows) == 8
    assert rows["first-token", "its own"][2] == 32
    for name, pool in pools.items():
        row = rows[name, "the common"]
        assert row[4].value == pytest.approx(shares_of(pool.cells)[1])
        assert row[5].value == pytest.approx(spearmanr(pool["positional_skew"], pool["accuracy"]).statistic)


def test_draws_of_common_cells_are_paired(panel):
    # The same answers under another name must have the same intervals, on the part that the other covers too.
    twice = Panel(panel.cells + renamed(panel, "direct"), settings=SETTINGS)
    rows = {row[:2]: row for row in variance(twice).table("readouts").rows}
    assert rows["first-token", "the common"][2:] == rows["direct", "the common"][2:]


def test_uniformity_is_rejected_as_statsmodels_adjusts(panel):
    finding = variance(panel)
    points = finding.series["uniformity"]
    for cell, point in zip(panel.cells, points, strict=True):
        places = cell.predictions.places[:, cell.predictions.presented]
        shares = [float((places == r).mean()) for r in range(cell.n_options)]
        largest = max(abs(s - 1 / cell.n_options) for s in shares)
        assert point["largest_deviation"] == pytest.approx(largest)
        bound = 2 * cell.n_options * math.exp(-2 * cell.n_items * largest**2)
        assert point["p"] == pytest.approx(min(1, bound))
    rejected, adjusted, *_ = multipletests([p["p"] for p in points], 0.05, "holm")
    assert [p["p_holm"] for p in points] == pytest.approx(list(adjusted))
    row = finding.table("uniformity").rows[0]
    assert row[:3] == ("all", len(panel.cells), int(rejected.sum()))
    assert row[3] == pytest.approx(rejected.mean())


def test_no_lean_is_found_where_none_is_planted():
    plain = simulated_panel(6, 3, 150, laws=Laws(lean=0), settings=SETTINGS)
    assert variance(plain).table("uniformity").rows[0][2] == 0
    leaning = simulated_panel(6, 3, 150, laws=Laws(lean=8, front=1), settings=SETTINGS)
    assert variance(leaning).table("uniformity").rows[0][2] > 9


def test_cells_without_flips_leave_the_shares_out():
    still = simulated_panel(4, 2, 40, laws=Laws(lean=0, wobble=0), settings=SETTINGS)
    finding = variance(still)
    assert "pooled SD is above 0" in finding.parts_skipped[0]
    assert [t.name for t in finding.tables] == ["reliability", "uniformity"]
    json.dumps(finding.as_dict(), allow_nan=False)
    mixed = Panel(simulated_panel(3, 2, 40, settings=SETTINGS).cells + still.cells, settings=SETTINGS)
    assert variance(mixed).table("shares").rows[0][1:3] == (6, 8)


def test_one_checkpoint_has_no_interval_and_says_so():
    finding = variance(simulated_panel(1, 6, 80, settings=SETTINGS, options=(4,)))
    row = finding.table("shares").rows[0]
    assert all(n.value is not None and n.low is None for n in row[3:])
    assert any("one checkpoint" in note for note in finding.table("shares").notes)


def test_unknown_golds_leave_the_correlation_undefined(panel):
    cells = [
        panel_cell(replace(c.predictions, gold=np.full(c.n_items, -1)), c.checkpoint, readout=c.readout)
        for c in panel.cells
    ]
    finding = variance(Panel(tuple(cells), settings=SETTINGS))
    assert finding.table("readouts").rows[0][5] == Number(None)
    assert finding.table("reliability").rows[0][5] == Number(None)
    assert finding.table("reliability").rows[0][6].value > 0.5
    json.dumps(finding.as_dict(), allow_nan=False)


def test_too_few_cells_or_readouts_are_said(panel):
    assert "needs at least 3" in variance(Panel(panel.cells[:2])).skipped
    assert "there are first-token." in variance(panel).parts_skipped[0]


def test_a_cell_without_lean_has_no_logarithm_but_a_rank(panel):
    """One flipping item whose answers fall on every place once: the skew is exactly 0, and so is the pooled SD."""
    cells = list(panel.pool().cells)
    k = cells[0].n_options
    p = cells[0].predictions
    choice = np.zeros_like(p.choice)
    choice[0, p.presented] = [(k - 1 - s - s) % k for s in range(k)]  # stands at place k - 1 - s under rotation s
    flat = panel_cell(replace(p, choice=choice, logprobs=None, ties=None, status=None), cells[0].checkpoint)
    assert flat.measures["flip_rate"] > 0
    assert flat.measures["positional_skew"] == flat.measures["pooled_sd"] == 0
    mixed = Panel((flat, *cells[1:]), settings=SETTINGS)
    rows = {row[1]: row for row in variance(mixed).table("readouts").rows}
    own = rows["its own"]
    assert (own[2], own[3]) == (len(cells) - 1, 1)
    skew = [c.measures["positional_skew"] for c in mixed.cells]
    right = [c.measures["accuracy"] for c in mixed.cells]
    assert own[5].value == pytest.approx(spearmanr(skew, right).statistic)
