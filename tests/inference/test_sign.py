"""The sign test against the source's whole-number formula, SciPy, and simulation-free power."""

from __future__ import annotations

import math
import tracemalloc
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from orderbias.errors import ArgumentError
from orderbias.inference.sign import SMALLEST_P, p_text, sign_test_p, smallest_shown_share


def from_whole_numbers(k: int, n: int) -> float:
    """The formula of judge-swap, 03, in whole numbers."""
    lower = sum(comb(n, i) for i in range(k + 1))
    upper = sum(comb(n, i) for i in range(k, n + 1))
    return min(1.0, 2 * min(lower, upper) / 2**n)


@pytest.mark.parametrize("n", [*range(40), 511, 512, 513, 600, 1023, 1400])
def test_equals_the_sources_formula(n: int) -> None:
    for k in range(n + 1) if n < 100 else range(0, n + 1, 7):
        want = from_whole_numbers(k, n)
        if want > SMALLEST_P:
            assert sign_test_p(k, n) == pytest.approx(want, rel=1e-12)


def test_small_counts_are_the_nearest_double() -> None:
    assert sign_test_p(40, 40) == 2 / 2**40
    assert sign_test_p(5, 10) == 1.0
    assert sign_test_p(0, 0) == 1.0


@given(st.integers(0, 300_000), st.integers(0, 300_000))
def test_symmetric_and_as_scipy_has_it(a: int, b: int) -> None:
    found = sign_test_p(a, a + b)
    assert found == sign_test_p(b, a + b)
    if a + b:
        want = binomtest(a, a + b).pvalue
        assert found == pytest.approx(max(want, SMALLEST_P), rel=1e-9)


def test_a_million_verdicts_in_little_memory_without_a_wrong_zero() -> None:
    tracemalloc.start()
    for k in (0, 1_000, 400_000, 499_000, 500_000, 1_000_000):
        p = sign_test_p(k, 1_000_000)
        assert SMALLEST_P <= p <= 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000
    assert p_text(sign_test_p(400_000, 1_000_000)) == "< 1e-300"
    assert sign_test_p(499_000, 1_000_000) == pytest.approx(0.0456082998653864, rel=1e-11)  # exact rational arithmetic


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (0.5, 3), (math.nan, 3)])
def test_refuses_what_is_no_count(k: float, n: int) -> None:
    with pytest.raises(ArgumentError, match="`k` must be a whole number"):
        sign_test_p(k, n)  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [6, 9, 20, 57, 300, 100_000])
def test_the_smallest_shown_share_has_the_power_it_says(n: int) -> None:
    share = smallest_shown_share(n, 0.05, 0.8)
    assert share is not None
    rejecting = [c for c in range(n // 2, n + 1) if sign_test_p(c, n) < 0.05] if n < 1000 else None
    critical = rejecting[0] if rejecting else next(c for c in range(n // 2, n) if sign_test_p(c, n) < 0.05)
    assert binom.sf(critical - 1, n, share) == pytest.approx(0.8, abs=1e-6)


def test_five_signs_can_show_nothing() -> None:
    assert [smallest_shown_share(n) for n in range(6)] == [None] * 6
    shares = [smallest_shown_share(n) for n in (6, 60, 600)]
    assert np.all(np.diff(np.array(shares, float)) < 0)
