"""The rotation test: its null distribution by enumeration, its size, its expectations."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from orderbias.inference import rotation
from orderbias.inference.rotation import rotated_sums, upper_p_value

ROWS = np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
COUNTS = np.array([2, 1, 1, 3])


def every_rotation(rows, counts):
    """All sums of units turned by all combinations of shifts."""
    units = np.repeat(rows, counts, axis=0)
    K = rows.shape[1]
    for shifts in product(range(K), repeat=len(units)):
        yield sum(np.roll(unit, s) for unit, s in zip(units, shifts, strict=True))


@pytest.mark.parametrize("heavy", [0, 1, 99])
def test_draws_have_the_enumerated_distribution(monkeypatch, heavy):
    monkeypatch.setattr(rotation, "HEAVY", heavy)
    values, ways = np.unique(np.round(list(every_rotation(ROWS, COUNTS)), 9), axis=0, return_counts=True)
    drawn = np.round(rotated_sums(ROWS, COUNTS, 30_000, np.random.default_rng(0)), 9)
    found, times = np.unique(drawn, axis=0, return_counts=True)
    assert np.allclose(found, values)
    assert stats.chisquare(times, ways / ways.sum() * 30_000).pvalue > 1e-3


def test_rotations_of_one_vector_are_one_class():
    turned, members = rotation._classes(ROWS, COUNTS)
    assert sorted(members) == [2, 2, 3]
    assert turned.shape == (3, 3, 3)


def test_the_expected_sd_is_the_mean_over_all_rotations():
    exact = np.mean([(total / 7).std() for total in every_rotation(ROWS, COUNTS)])
    drawn = (rotated_sums(ROWS, COUNTS, 40_000, np.random.default_rng(1)) / 7).std(axis=-1)
    assert drawn.mean() == pytest.approx(exact, abs=5 * drawn.std() / 200)


def test_the_p_value_is_uniform_when_nothing_leans():
    # Over the whole orbit of a sample, the exact p-value of each member: P(p <= a) <= a for every a, with equality at
    # the values it takes.
    observed = np.array([total.std() for total in every_rotation(ROWS[:3], COUNTS[:3])])
    exact = np.array([(observed >= x - 1e-12).mean() for x in observed])
    for alpha in np.unique(exact):
        assert (exact <= alpha + 1e-12).mean() == pytest.approx(alpha, abs=1e-12)
    null = rotated_sums(ROWS[:3], COUNTS[:3], 20_000, np.random.default_rng(2)).std(axis=-1)
    for x, p in {round(x, 9): (x, p) for x, p in zip(observed, exact, strict=True)}.values():
        assert upper_p_value(null, x) == pytest.approx(p, abs=0.015)


def test_a_p_value_is_never_zero_and_ties_up_to_rounding_count():
    assert upper_p_value(np.zeros(99), 1.0) == 0.01
    assert upper_p_value(np.full(99, 0.1 + 0.2), 0.3) == 1.0
    assert upper_p_value(np.full(99, 0.3), 0.1 + 0.2) == 1.0


def test_two_places_are_a_sign_test():
    rows, counts = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([9, 1])
    null = np.abs(rotated_sums(rows, counts, 60_000, np.random.default_rng(3))[:, 0] - 5)
    assert upper_p_value(null, 4.0) == pytest.approx(stats.binomtest(9, 10).pvalue, abs=0.002)
