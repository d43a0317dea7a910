"""Intervals by random weights, against the exact ones that they are in special cases."""

import numpy as np
import pytest
from scipy.stats import binomtest

from orderbias.inference.weighing import weighed_mean, weighed_ratio, weighed_sums


@pytest.mark.parametrize(("k", "n"), [(0, 6), (6, 6), (1, 7), (30, 80)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_counts_have_the_exact_interval(k, n, level):
    want = binomtest(k, n).proportion_ci(level, "exact")
    values = np.repeat([1.0, 0.0], [k, n - k])
    rng = np.random.default_rng(0)
    found = weighed_mean(values, low=0, high=1, level=level, draws=0, rng=rng)
    assert found.value == k / n
    assert found.interval == pytest.approx((want.low, want.high))
    ratio = weighed_ratio([2, 0], [2, 2], [k, n - k], most=2, level=level, draws=40_000, rng=rng)
    assert ratio.value == k / n
    assert ratio.n == 2 * n
    assert ratio.interval == pytest.approx((want.low, want.high), abs=0.006)


def test_a_range_that_is_not_reached_makes_no_exact_count():
    rng = np.random.default_rng(0)
    inner = weighed_mean([0.4] * 10 + [0.6] * 10, low=0, high=1, draws=20_000, rng=rng)
    low, high = inner.interval
    assert 0.33 < low < 0.46
    assert high == pytest.approx(1 - low, abs=0.004)
    assert weighed_mean([0.4, 0.6], low=0, high=1, draws=0, rng=rng).interval is None
    assert weighed_mean([np.nan], low=0, high=1, rng=rng).value is None


def test_units_without_a_whole_say_nothing():
    rng = np.random.default_rng(0)
    found = weighed_ratio([2, 0], [2, 0], [1, 100], most=2, draws=40_000, rng=rng)
    assert (found.value, found.n) == (1.0, 2)
    assert found.interval == pytest.approx((0.025, 1.0), abs=0.003)
    assert weighed_ratio([0], [0], [5], most=2, rng=rng).value is None
    assert weighed_ratio([1], [2], [5], most=2, draws=0, rng=rng).interval is None


def test_a_large_sample_has_the_normal_interval():
    rng = np.random.default_rng(0)
    values = rng.choice([0.0, 0.5, 1.0], 5_000, p=[0.2, 0.5, 0.3])
    found = weighed_mean(values, low=0, high=1, draws=20_000, rng=rng)
    half = 1.96 * values.std() / 5_000**0.5
    assert found.interval == pytest.approx((values.mean() - half, values.mean() + half), abs=half / 15)


def test_equal_units_are_counted_and_draws_may_come_in_blocks():
    rng = np.random.default_rng(0)
    sums = weighed_sums(np.ones((3, 1)), np.array([5, 1, 10]), 50_000, rng)[:, 0]
    assert sums.mean() == pytest.approx(16, abs=0.1)
    assert sums.var() == pytest.approx(16, rel=0.05)
    many = weighed_sums(np.ones((300_000, 1)), np.ones(300_000, int), 7, rng)[:, 0]
    assert many == pytest.approx(300_000, rel=0.02)
