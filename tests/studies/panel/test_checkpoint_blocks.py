"""Intervals that resample whole checkpoints, against samples laid out one by one."""

import numpy as np
import pytest
from bench.panel_laws import simulated_panel
from scipy.stats import spearmanr

from orderbias.inference.resampling import percentile_interval
from orderbias.studies.findings import Number
from orderbias.studies.panel.checkpoint_blocks import ONE_CHECKPOINT, CheckpointBlocks, said, sign
from orderbias.studies.panel.values import Settings


@pytest.fixture
def blocks():
    pool = simulated_panel(6, 3, 20, design="cyclic").pool()
    return CheckpointBlocks.of(pool, Settings(resamples=2300, seed=3), "test")


def laid_out(blocks, statistic, *values):
    """Apply a statistic to each draw as a sample, the cells of a checkpoint as often as it was drawn."""
    found = []
    for row in blocks.draws.astype(int):
        sample = [np.repeat(v, row) for v in values]
        kept = ~np.isnan(sample).any(axis=0)
        found.append(statistic(*(v[kept] for v in sample)))
    return percentile_interval(np.array(found), blocks.level)


def ends(number):
    return number.low, number.high


def test_every_draw_takes_checkpoints_whole(blocks):
    for checkpoint in range(6):
        assert (np.ptp(blocks.draws[:, blocks.checkpoints == checkpoint], axis=1) == 0).all()
    assert (blocks.draws.sum(axis=1) == 18).all()


def test_medians_means_and_correlations_by_samples_laid_out(blocks):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=18), rng.normal(size=18)
    x[4] = np.nan
    kept = ~np.isnan(x)
    assert blocks.median(x).value == np.median(x[kept])
    assert ends(blocks.median(x)) == pytest.approx(laid_out(blocks, np.median, x))
    assert blocks.mean(x).value == pytest.approx(np.nanmean(x))
    assert ends(blocks.mean(x)) == pytest.approx(laid_out(blocks, np.mean, x))
    assert blocks.spearman(x, y).value == pytest.approx(spearmanr(x[kept], y[kept]).statistic)
    expected = laid_out(blocks, lambda a, b: spearmanr(a, b).statistic, x, y)
    assert ends(blocks.spearman(x, y)) == pytest.approx(expected)


def test_the_difference_of_two_medians_is_paired_within_a_draw(blocks):
    x = np.random.default_rng(1).normal(size=18)
    shifted = blocks.median_difference(x + 0.25, x)
    assert (shifted.value, *ends(shifted)) == pytest.approx((0.25, 0.25, 0.25))


def test_no_interval_from_the_cells_of_one_checkpoint(blocks):
    x = np.where(blocks.checkpoints == 2, [*range(18)], np.nan)
    assert blocks.median(x) == Number(8.0)  # of cells 2, 8 and 14
    assert blocks.notes == ()
    alone = CheckpointBlocks.of(simulated_panel(1, 3, 20).pool(), Settings(resamples=200), "test")
    assert alone.mean(np.array([1.0, 2.0, 3.0])) == Number(2.0)
    assert alone.notes == (ONE_CHECKPOINT,)


def test_words():
    assert [sign(n) for n in (Number(-1, -2, -0.5), Number(0.1, 0, 1), Number(0.5, 0.1, 1), Number(3))] == [-1, 0, 1, 0]
    assert said(Number(0.5)) == "0.50"
    assert said(None) == "undefined"
