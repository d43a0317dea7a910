"""Split halves: against halves cut by hand, SciPy and a benchmark at a time; noise has no reliability."""

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel
from scipy.stats import spearmanr

from orderbias.operations import take_items
from orderbias.studies.panel import Settings, panel_cell
from orderbias.studies.panel.estimates import cell_draws
from orderbias.studies.panel.item_folds import item_folds
from orderbias.studies.panel.variance.reliability import STATISTICS, reliability_table, spearman_brown

SETTINGS = Settings(resamples=300, seed=6)


@pytest.fixture(scope="module")
def pool():
    return simulated_panel(9, 4, 101, options=(4, 2, 4)).pool()


def halves(cell):
    """Measure the two halves of a cell's items."""
    (folds,) = item_folds([cell.predictions.item_ids], 2, SETTINGS.seed)
    return [panel_cell(take_items(cell.predictions, folds == half), cell.checkpoint).measures for half in (0, 1)]


def by_name(table):
    return {row[:2]: dict(zip([c.key for c in table.columns], row, strict=True)) for row in table.rows}


def test_halves_are_correlated_over_all_cells_and_within_benchmarks(pool):
    rows = by_name(reliability_table(pool, SETTINGS))
    parts = [halves(cell) for cell in pool.cells]
    for i, name in enumerate(STATISTICS):
        words = list(dict.fromkeys(key[1] for key in rows))[i]
        first, second = (np.array([part[half][name] for part in parts]).round(12) for half in (0, 1))
        found = rows["all cells", words]
        r = spearmanr(first, second).statistic
        assert found["split_half"].value == pytest.approx(r)
        assert found["corrected"].value == pytest.approx(2 * r / (1 + r))
        assert found["with_accuracy"].value == pytest.approx(spearmanr(pool[name], pool["accuracy"]).statistic)
        of = [np.flatnonzero(pool.benchmarks == b) for b in range(4)]
        within = [spearmanr(first[cells], second[cells]).statistic for cells in of]
        found = rows["within benchmarks, median", words]
        assert found["n_benchmarks"] == 4
        assert found["split_half"].value == pytest.approx(np.median(within))
        assert found["corrected"].value == pytest.approx(np.median([2 * r / (1 + r) for r in within]))
        outer = [spearmanr(pool[name][cells], pool["accuracy"][cells]).statistic for cells in of]
        assert found["with_accuracy"].value == pytest.approx(np.median(outer))


def test_intervals_are_those_of_resampled_cells(pool):
    rows = by_name(reliability_table(pool, SETTINGS))
    parts = [halves(cell) for cell in pool.cells]
    first, second = (np.array([part[half]["flip_rate"] for part in parts]) for half in (0, 1))
    drawn = []
    for times in cell_draws(pool, SETTINGS, "variance reliability").cells.astype(int):
        cells = np.repeat(np.arange(len(pool)), times)
        drawn.append(spearmanr(first[cells], second[cells]).statistic)
    found = rows["all cells", "flip rate"]["split_half"]
    assert (found.low, found.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]))


def test_planted_lean_is_reliable_and_chance_is_not():
    laws = {"strength": (1.0, 1.0)}
    leaning = simulated_panel(30, 1, 400, laws=Laws(**laws), options=(4,)).pool()
    assert by_name(reliability_table(leaning, SETTINGS))["all cells", "positional skew"]["split_half"].low > 0.8
    fair = simulated_panel(30, 1, 400, laws=Laws(lean=0, **laws), options=(4,)).pool()
    found = by_name(reliability_table(fair, SETTINGS))["all cells", "positional skew"]["split_half"]
    assert found.low < 0 < found.high


def test_one_benchmark_has_no_median(pool):
    one = pool.where(pool.benchmarks == 0)
    assert {key[0] for key in by_name(reliability_table(one, SETTINGS))} == {"all cells"}


def test_few_cells_have_no_interval(pool):
    row = by_name(reliability_table(pool.where(np.arange(len(pool)) < 4), SETTINGS))["all cells", "flip rate"]
    assert row["with_accuracy"].value is not None
    assert row["with_accuracy"].low is None


def test_correction_stays_within_its_range():
    r = np.linspace(-1, 1, 21)
    assert (np.abs(spearman_brown(r)) <= 1).all()
    assert (np.diff(spearman_brown(r)) > 0).all()
