"""Exact intervals: against SciPy, by enumeration, and on the samples where a bootstrap claims certainty."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from orderbias.errors import ArgumentError
from orderbias.inference.proportions import (
    alike_divergence,
    alike_mean,
    alike_seminorm,
    clopper_pearson,
    unseen_share,
)
from orderbias.measures.factors import divergence_from_uniform


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 2, 30, 535])
def test_the_interval_is_scipys_exact_one(n, level):
    low, high = clopper_pearson(np.arange(n + 1), n, level)
    for k in {0, 1, n // 3, n - 1, n}:
        expected = binomtest(k, n).proportion_ci(level, method="exact")
        assert low[k] == pytest.approx(expected.low, abs=1e-12)
        assert high[k] == pytest.approx(expected.high, abs=1e-12)


@pytest.mark.parametrize(("k", "n", "expected"), [(12, 12, (0.735, 1.0)), (0, 50, (0.0, 0.0711)), (0, 1, (0.0, 0.975))])
def test_all_and_none_are_no_certainty(k, n, expected):
    low, high = clopper_pearson(k, n)
    assert (float(low), float(high)) == pytest.approx(expected, abs=5e-4)
    assert k < n or high == 1
    assert k > 0 or low == 0


@pytest.mark.parametrize("n", [5, 30, 200])
@pytest.mark.parametrize("rate", [0.001, 0.02, 0.1, 0.5, 0.77, 0.999])
def test_coverage_is_never_below_the_level(n, rate):
    # Exactly: the probability of every count whose interval holds the true rate. A percentile bootstrap has 0.45 at
    # 2 % and n = 30.
    k = np.arange(n + 1)
    low, high = clopper_pearson(k, n)
    assert binom.pmf(k, n, rate)[(low <= rate) & (rate <= high)].sum() >= 0.95


@pytest.mark.parametrize(("k", "n", "level"), [(3, 2, 0.95), (-1, 2, 0.95), (0, 0, 0.95), (1, 2, 95), (1, 2, 0)])
def test_numbers_outside_their_range_are_errors(k, n, level):
    with pytest.raises(ArgumentError, match="Got"):
        clopper_pearson(k, n, level)


def test_a_kind_never_seen_may_still_be_there():
    assert unseen_share(50) == pytest.approx(0.0711, abs=5e-5)
    assert unseen_share(50) == pytest.approx(1 - 0.025 ** (1 / 50), rel=1e-12)


shares = st.floats(0, 1)
vectors = st.lists(st.floats(0, 1), min_size=4, max_size=4).map(np.array)


@given(shares, shares, shares, shares)
def test_a_mean_of_alike_values_with_some_others_stays_in_its_bound(value, other, q, part):
    low, high = alike_mean(value, 0.0, 1.0, q)
    mixture = value + q * part * (other - value)
    assert low - 1e-12 <= mixture <= high + 1e-12
    assert low - 1e-12 <= value <= high + 1e-12


@given(vectors, vectors, shares, shares)
def test_a_seminorm_of_alike_vectors_with_some_others_stays_in_its_bound(vector, other, q, part):
    share = q * part
    for seminorm, peak in ((np.std, 0.5), (np.ptp, 1.0)):
        low, high = alike_seminorm(float(seminorm(vector)), peak, q)
        assert low - 1e-12 <= seminorm((1 - share) * vector + share * other) <= high + 1e-12


@given(vectors, vectors, shares, shares)
def test_a_divergence_of_alike_shares_with_some_others_stays_in_its_bound(vector, other, q, part):
    p, other = (np.maximum(v, 1e-9) / np.maximum(v, 1e-9).sum() for v in (vector, other))
    share = q * part
    low, high = alike_divergence(float(divergence_from_uniform(p)), 2.0, q)
    assert low - 1e-9 <= divergence_from_uniform((1 - share) * p + share * other) <= high + 1e-9
