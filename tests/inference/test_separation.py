"""Separation against what it means: in one dimension by eye, in more by maximising the likelihood's reach."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from orderbias.inference.separation import is_separated

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=2, max_size=12)


def design(*columns):
    return np.stack([np.ones(len(columns[0])), *columns], axis=1).astype(float)


@given(ROWS)
def test_one_column_is_separated_where_the_ranges_of_both_outcomes_do_not_overlap(rows):
    x, y = np.array([r[0] for r in rows], float), np.array([r[1] for r in rows])
    if np.ptp(x) == 0:
        return
    apart = y.all() or not y.any() or x[y].min() >= x[~y].max() or x[y].max() <= x[~y].min()
    assert is_separated(design(x), y.astype(float), np.ones(len(x))) == apart


WIDE = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.booleans()), min_size=4, max_size=14)


@given(WIDE)
def test_two_columns_against_the_whole_programme(rows):
    table = np.array(rows, float)
    x, y = design(table[:, 0], table[:, 1]), table[:, 2]
    if np.linalg.matrix_rank(x) < 3:
        return
    z = x * (2 * y - 1)[:, None]
    best = linprog(-z.sum(axis=0), A_ub=-z, b_ub=np.zeros(len(z)), bounds=(-1, 1))
    assert is_separated(x, y, np.ones(len(y))) == (-best.fun > 1e-7)


def test_rows_with_both_outcomes_hold_a_plane_in_place():
    x = design([-1.0, 0.0, 1.0])
    assert is_separated(x, np.array([0.0, 1.0, 5.0]), np.array([5.0, 2.0, 5.0]))
    assert not is_separated(x, np.array([1.0, 1.0, 5.0]), np.array([5.0, 2.0, 5.0]))


def test_one_row_out_of_place_among_many_undoes_the_separation():
    rng = np.random.default_rng(1)
    x = rng.normal(size=50_000)
    y = (x > 0.3).astype(float)
    rows = design(x, rng.normal(size=len(x)))
    assert is_separated(rows, y, np.ones(len(x)))
    y[np.argmax(x)] = 0.0
    assert not is_separated(rows, y, np.ones(len(x)))


def test_units_of_a_column_do_not_matter():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    for scale in (1e-9, 1.0, 1e9):
        assert is_separated(design(x * scale), np.array([0.0, 0, 1, 1]), np.ones(4))
        assert not is_separated(design(x * scale), np.array([0.0, 1, 0, 1]), np.ones(4))
