"""Draws of blocks, and statistics of multiplicities against samples laid out unit by unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orderbias.inference.blocks import block_draws, simultaneous_intervals, weighted_means, weighted_medians


def test_blocks_are_drawn_whole_and_as_often_as_there_are_blocks() -> None:
    block_of = np.array([0, 1, 1, 2, 0, 2, 2])
    draws = block_draws(block_of, 4_000, np.random.default_rng(1))
    one_of_each = draws[:, [0, 1, 3]]
    assert (one_of_each.sum(axis=1) == 3).all()
    assert (draws == one_of_each[:, block_of]).all()
    # A multinomial of 3 over 3: mean 1, variance 3 * 1/3 * 2/3.
    assert one_of_each.mean(axis=0) == pytest.approx(1, abs=0.06)
    assert one_of_each.var(axis=0) == pytest.approx(2 / 3, abs=0.06)


def test_no_unit_is_no_draw() -> None:
    assert block_draws(np.array([], int), 5, np.random.default_rng(0)).shape == (5, 0)


@given(st.data())
def test_means_and_medians_are_those_of_the_sample_laid_out(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 9))
    values = np.array(data.draw(st.lists(st.sampled_from([np.nan, 0.0, 1.0, 2.0, 5.5]), min_size=n, max_size=n)))
    weights = np.array(data.draw(st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=1, max_size=4)))
    means, medians = weighted_means(values, weights.astype(float)), weighted_medians(values, weights.astype(float))
    for row, w in enumerate(weights):
        sample = np.repeat(values, w)
        sample = sample[~np.isnan(sample)]
        if len(sample):
            assert means[row] == pytest.approx(sample.mean())
            assert medians[row] == np.median(sample)
        else:
            assert np.isnan(means[row])
            assert np.isnan(medians[row])


def test_joint_intervals_hold_together() -> None:
    """Of many studies of two correlated means, the share in which both intervals hold is the level asked for."""
    rng = np.random.default_rng(3)
    mix = np.array([[1.0, 0.0], [0.6, 0.8]])
    held = 0
    for _ in range(400):
        sample = rng.normal(size=(60, 2)) @ mix.T
        weights = rng.multinomial(60, np.full(60, 1 / 60), size=300)
        found = simultaneous_intervals(sample.mean(axis=0), weights @ sample / 60, 0.9)
        held += all(ends is not None and ends[0] <= 0 <= ends[1] for ends in found)
    assert held / 400 == pytest.approx(0.9, abs=0.05)


def test_an_estimate_without_spread_has_no_joint_interval() -> None:
    draws = np.array([[0.5, 0.0], [0.5, 1.0], [0.5, 2.0], [np.nan, 9.0]])
    first, second = simultaneous_intervals([0.5, 1.0], draws, 0.95)
    assert first is None
    assert second == pytest.approx((0.0, 2.0), abs=0.2)
