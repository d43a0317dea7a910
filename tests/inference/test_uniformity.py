"""The conservative test and Holm's adjustment, against formulas, enumeration and statsmodels."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.multitest import multipletests

from orderbias.errors import ArgumentError
from orderbias.inference import hoeffding_uniformity, holm


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_that_of_statsmodels(p_values):
    np.testing.assert_allclose(holm(p_values), multipletests(p_values, method="holm")[1], atol=1e-12)


@pytest.mark.parametrize("bad", [[1.2], [-0.1], [float("nan")], 0.5])
def test_holm_refuses_what_is_no_list_of_p_values(bad):
    with pytest.raises(ArgumentError, match="p_values"):
        holm(bad)


def test_holm_of_no_test_is_empty():
    assert holm([]).tolist() == []


def test_the_bound_is_the_formula_of_the_paper():
    n = 200
    assert hoeffding_uniformity([0.4, 0.2, 0.2, 0.2], [1 / n] * n) == pytest.approx(
        2 * 4 * math.exp(-2 * 0.15**2 * n), rel=1e-12
    )
    assert hoeffding_uniformity([0.25] * 4, [1 / n] * n) == 1


def test_unequal_units_count_for_less():
    even = hoeffding_uniformity([0.8, 0.2], [0.02] * 50)
    uneven = hoeffding_uniformity([0.8, 0.2], [0.51, *[0.01] * 49])
    assert even < uneven


def test_the_test_holds_its_size_exactly_for_two_places():
    # Fifty flipping items, each all at the first place or all at the second with probability one half.
    k = np.arange(51)
    p = np.array([hoeffding_uniformity([x / 50, 1 - x / 50], [0.02] * 50) for x in k])
    for alpha in (0.01, 0.05, 0.2):
        assert binom.pmf(k, 50, 0.5)[p <= alpha].sum() <= alpha
    assert p[50] < 1e-9
