"""Statistics on draws of checkpoints and of cells, against samples laid out one by one and SciPy's."""

import numpy as np
import pytest
from bench.panel_laws import simulated_panel
from scipy.stats import spearmanr

from orderbias.inference.resampling import percentile_interval
from orderbias.studies.findings import Number
from orderbias.studies.panel import Settings
from orderbias.studies.panel.estimates import (
    ONE_CHECKPOINT,
    Draws,
    Estimates,
    cell_draws,
    checkpoint_draws,
    drawn_number,
    row_medians,
    wider,
)


@pytest.fixture
def draws():
    pool = simulated_panel(6, 3, 20, design="cyclic").pool()
    return checkpoint_draws(pool, Settings(resamples=300, seed=3), "test")


def each_draw(draws, statistic, *values):
    """Apply a statistic to each draw as a sample, the cells of a checkpoint as often as it was drawn."""
    found = []
    for row in draws.cells.astype(int):
        sample = [np.repeat(v, row) for v in values]
        kept = ~np.isnan(sample).any(axis=0)
        parts = [v[kept] for v in sample]
        found.append(statistic(*parts) if kept.any() and all(len(set(v)) > 1 for v in parts) else np.nan)
    return np.array(found)


def test_every_draw_takes_checkpoints_whole(draws):
    for checkpoint in range(6):
        assert (np.ptp(draws.cells[:, draws.block_of == checkpoint], axis=1) == 0).all()
    assert (draws.cells.sum(axis=1) == 18).all()


def test_an_analysis_draws_the_same_again_and_no_other_draws_it():
    pool = simulated_panel(4, 3, 20).pool()
    for draw in (checkpoint_draws, cell_draws):
        first = draw(pool, Settings(resamples=100), "one").weights
        assert (first == draw(pool, Settings(resamples=100), "one").weights).all()
        assert (first != draw(pool, Settings(resamples=100), "two").weights).any()
        assert (first != draw(pool, Settings(resamples=100, seed=1), "one").weights).any()


def test_medians_and_means_leave_undefined_cells_out_one_statistic_at_a_time(draws):
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(18, 3)), rng.random((18, 3))
    values[2, 0] = values[:4, 1] = values[:, 2] = np.nan
    plain, weighted = draws.means(values), draws.means(values, weights)
    np.testing.assert_allclose(plain.values, [*np.nanmean(values[:, :2], axis=0), np.nan])
    for i in range(2):
        np.testing.assert_allclose(plain.draws[:, i], each_draw(draws, np.mean, values[:, i]))
        kept = np.where(np.isnan(values[:, i]), np.nan, weights[:, i])
        expected = each_draw(draws, lambda v, w: np.average(v, weights=w), values[:, i], kept)
        np.testing.assert_allclose(weighted.draws[:, i], expected)
    assert np.isnan(plain.draws[:, 2]).all()
    found = draws.median(values[:, 0])
    assert found.values == np.nanmedian(values[:, 0])
    np.testing.assert_allclose(found.draws[:, 0], each_draw(draws, np.median, values[:, 0]))
    ends = percentile_interval(found.draws[:, 0], 0.95)
    assert found.number() == Number(found.values[0], *ends)


def test_rank_correlations_are_scipys_in_every_draw_with_ties_and_gaps(draws):
    rng = np.random.default_rng(3)
    xs, y = rng.integers(0, 6, (3, 18)).astype(float), rng.integers(0, 9, 18).astype(float)
    xs[1, [2, 5]] = np.nan
    for other in (y, np.where(np.arange(18) == 3, np.nan, y)):
        found = draws.spearman(xs, other)
        for i, x in enumerate(xs):
            kept = ~np.isnan(x) & ~np.isnan(other)
            assert found.values[i] == pytest.approx(spearmanr(x[kept], other[kept]).statistic)
            expected = each_draw(draws, lambda a, b: spearmanr(a, b).statistic, x, other)
            np.testing.assert_allclose(found.draws[:, i], expected, atol=1e-12)


def test_differences_and_sizes_are_taken_within_draws():
    rng = np.random.default_rng(3)
    base, shift = rng.normal(size=(300, 1)), rng.normal(0, 0.01, (300, 1))
    difference = Estimates(np.ones(1), base + shift, 0.95) - Estimates(np.zeros(1), base, 0.95)
    number = difference.number()
    assert (number.low, number.high) == pytest.approx(tuple(np.quantile(shift, [0.025, 0.975])))
    assert (abs(difference).draws == np.abs(difference.draws)).all()


def test_some_cells_of_the_same_draws(draws):
    x = np.random.default_rng(1).normal(size=18)
    kept = x > 0
    part = draws.of(kept).first(50).at(0.9)
    assert (part.cells == draws.cells[:50, kept]).all()
    np.testing.assert_allclose(part.means(x[kept]).draws, draws.means(np.where(kept, x, np.nan)).draws[:50])


def test_no_interval_where_draws_say_nothing(draws):
    drawn = np.random.default_rng(4).random(100)
    assert drawn_number(0.5, drawn, 0.95).low is not None
    assert drawn_number(0.5, np.full(100, 0.5), 0.95) == Number(0.5)  # no spread
    assert drawn_number(0.5, np.where(np.arange(100) < 10, np.nan, drawn), 0.95) == Number(0.5)  # a tenth undefined
    assert drawn_number(np.nan, drawn, 0.95) == Number(None)
    alone = np.where(draws.block_of == 2, np.arange(18.0), np.nan)
    assert draws.median(alone).number() == Number(8.0)  # of cells 2, 8 and 14, all of one checkpoint
    few = np.where(np.arange(18) < 4, np.arange(18.0), np.nan)
    assert draws.spearman(few, np.arange(18.0) ** 2 % 7).number().low is None
    assert draws.partial_spearman(few, np.arange(18.0) ** 2 % 7, np.arange(18.0) % 5).number().low is None


def test_one_checkpoint_cannot_be_resampled(draws):
    one = checkpoint_draws(simulated_panel(1, 3, 20).pool(), Settings(resamples=200), "test")
    assert one.means(np.array([1.0, 2.0, 6.0])).numbers == (Number(3.0),)
    assert one.median(np.array([1.0, 2.0, 6.0])).number() == Number(2.0)
    assert one.spearman(np.arange(3.0), np.arange(3.0)).numbers == (Number(1.0),)
    assert (draws.notes, one.notes) == ((), (ONE_CHECKPOINT,))


def test_joint_intervals_are_wider_than_single_ones():
    drawn = np.random.default_rng(5).normal(size=(4000, 3))
    found = Estimates(np.zeros(3), drawn, 0.9)
    within = np.logical_and.reduce(
        [(drawn[:, i] > n.low) & (drawn[:, i] < n.high) for i, n in enumerate(found.joint_numbers)]
    )
    assert within.mean() == pytest.approx(0.9, abs=0.005)
    assert all(j.high > n.high for j, n in zip(found.joint_numbers, found.numbers, strict=True))


def test_medians_of_rows_are_numpys():
    values = np.random.default_rng(0).normal(size=(50, 7))
    values[np.random.default_rng(1).random(values.shape) < 0.4] = np.nan
    expected = [np.median(row[~np.isnan(row)]) if not np.isnan(row).all() else np.nan for row in values]
    np.testing.assert_allclose(row_medians(values), expected)


def test_level_for_several_quantities():
    assert wider(0.9) == pytest.approx(0.95)
    assert Draws(np.zeros(1, int), np.zeros((0, 1)), 0.95).at(0.9).level == 0.9
