"""One order for each pair and both for a sample: sizes, balance, and draws that depend on seed and id alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from orderbias.errors import ArgumentError
from orderbias.orderings import SwapSample

IDS = [str(i) for i in range(2000)]


@given(n=st.integers(1, 60), share=st.floats(0.001, 1), seed=st.integers(0, 10**18 - 1))
def test_the_sample_has_the_size_asked_for(n, share, seed):
    ids = [f"q{i}" for i in range(n)]
    sample = SwapSample.of(share, seed, ids)
    both = [i for i in ids if len(sample.positions(2, i)) == 2]
    assert len(both) == max(1, round(share * n))
    assert SwapSample.parse(str(sample), ids) == sample


def test_orders_are_even_and_independent_of_the_sample():
    sample = SwapSample.of(0.3, 5, IDS)
    rows = [sample.positions(2, i) for i in IDS]
    first = [r[0] == (0, 1) for r in rows if len(r) == 1]
    assert stats.binomtest(sum(first), len(first)).pvalue > 0.001
    assert {tuple(r) for r in rows if len(r) == 2} == {((0, 1), (1, 0))}


def test_a_pair_keeps_its_order_whatever_the_others_are_and_the_seed_decides():
    few, many = SwapSample.of(0.1, 3, IDS[:50]), SwapSample.of(0.1, 3, IDS)
    singles = [i for i in IDS[:50] if len(few.positions(2, i)) == len(many.positions(2, i)) == 1]
    assert all(few.positions(2, i) == many.positions(2, i) for i in singles)
    other = SwapSample.of(0.1, 4, IDS)
    assert np.mean([other.positions(2, i)[0] == many.positions(2, i)[0] for i in IDS]) < 0.7


def test_a_tie_keeps_its_place():
    assert SwapSample.of(1, 0, IDS).positions(3, "7") == [(0, 1, 2), (1, 0, 2)]


@pytest.mark.parametrize("share", [0, -0.1, 1.01, float("nan"), float("inf")])
def test_shares_outside_their_range(share):
    with pytest.raises(ArgumentError, match="share"):
        SwapSample.of(share, 0, IDS)


@pytest.mark.parametrize(
    "name", ["cyclic", "sample-swap", "sample-swap:0.2", "sample-swap:0.2:-1", "sample-swap:x:1", "sample-swap:.:1"]
)
def test_other_names_are_no_sample(name):
    assert SwapSample.parse(name, IDS) is None
