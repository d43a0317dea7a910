"""Statistics on draws of whole checkpoints, against samples laid out one by one."""

import numpy as np
import pytest
from bench.panel_laws import simulated_panel
from scipy.stats import spearmanr

from orderbias.studies.findings import Number
from orderbias.studies.panel.checkpoint_means import BlockDraws, Estimates, cell_draws, checkpoint_draws
from orderbias.studies.panel.values import Settings


@pytest.fixture
def draws():
    return checkpoint_draws(simulated_panel(5, 3, 20).pool().cells, Settings(resamples=200, seed=1), "test")


def laid_out(draws, row, values):
    """The cells of a draw, as often as their checkpoint was drawn."""
    return np.repeat(values, draws.weights[row].astype(int)[draws.block_of], axis=0)


def test_draws_are_those_of_the_pool(draws):
    pool = simulated_panel(5, 3, 20).pool()
    settings = Settings(resamples=200, seed=1)
    assert (draws.weights[:, draws.block_of] == pool.checkpoint_draws(settings, "test")).all()
    single = cell_draws(len(pool), settings, "test")
    assert (single.weights[:, single.block_of] == pool.cell_draws(settings, "test")).all()


def test_means_leave_undefined_cells_out_one_statistic_at_a_time(draws):
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(15, 4)), rng.random((15, 4))
    values[2, 0] = values[:6, 1] = values[:, 3] = np.nan
    plain, weighted = draws.means(values), draws.means(values, weights)
    np.testing.assert_allclose(plain.values[:3], np.nanmean(values[:, :3], axis=0))
    assert np.isnan(plain.values[3])
    for row in range(0, 200, 17):
        sample, w = laid_out(draws, row, values), laid_out(draws, row, weights)
        for i in range(4):
            there = ~np.isnan(sample[:, i])
            expected = sample[there, i].mean() if there.any() else np.nan
            np.testing.assert_allclose(plain.draws[row, i], expected)
            expected = np.average(sample[there, i], weights=w[there, i]) if there.any() else np.nan
            np.testing.assert_allclose(weighted.draws[row, i], expected)


def test_rank_correlations_are_scipys_on_every_draw(draws):
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 6, 15).astype(float), rng.normal(size=15)
    y[4] = np.nan
    found = draws.rank_correlation(x, y)
    kept = ~np.isnan(y)
    assert found.values[0] == pytest.approx(spearmanr(x[kept], y[kept])[0])
    for row in range(0, 200, 13):
        a, b = laid_out(draws, row, np.stack([x, y], axis=1)).T
        there = ~np.isnan(b)
        assert found.draws[row, 0] == pytest.approx(spearmanr(a[there], b[there])[0])


def test_differences_are_taken_within_draws():
    rng = np.random.default_rng(3)
    base, shift = rng.normal(size=(300, 1)), rng.normal(0, 0.01, (300, 1))
    difference = Estimates(np.ones(1), base + shift, 0.95) - Estimates(np.zeros(1), base, 0.95)
    number = difference.number(0)
    assert number.low == pytest.approx(np.quantile(shift, 0.025))
    assert number.high == pytest.approx(np.quantile(shift, 0.975))


def test_no_interval_where_draws_say_nothing():
    values = np.array([0.5, 0.5, 0.5, np.nan])
    drawn = np.random.default_rng(4).random((100, 4))
    drawn[:, 1] = 0.5  # no spread
    drawn[:10, 2] = np.nan  # undefined in a tenth of the draws
    found = Estimates(values, drawn, 0.95).numbers
    assert found[0].low is not None
    assert found[1:] == (Number(0.5), Number(0.5), Number(None))
    one = BlockDraws(np.zeros(3, int), np.zeros((0, 1)), 0.95)
    assert one.means(np.array([[1.0], [2.0], [6.0]])).numbers == (Number(3.0),)
    assert one.rank_correlation(np.arange(3.0), np.arange(3.0)).numbers == (Number(1.0),)
