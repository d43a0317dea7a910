"""Rank statistics against SciPy, on samples laid out unit by unit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from orderbias.inference.ranks import auc, average_ranks, partial_spearman, spearman, stratified_auc

SMALL = st.lists(st.integers(0, 5), min_size=3, max_size=12)


def _laid_out(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.repeat(values, weights.astype(int))


@given(st.data())
def test_every_draw_is_what_scipy_gives_for_the_sample_laid_out(data: st.DataObject) -> None:
    x = np.array(data.draw(SMALL), float)
    draw = st.lists(st.integers(0, 5), min_size=len(x), max_size=len(x))
    y, z = np.array(data.draw(draw), float), np.array(data.draw(draw), float)
    weights = np.array([data.draw(draw), data.draw(draw), [1] * len(x)], float)
    found, partial = spearman(x, y, weights), partial_spearman(x, y, z, weights)
    for row, w in enumerate(weights):
        a, b, c = (_laid_out(v, w) for v in (x, y, z))
        if len(set(a)) < 2 or len(set(b)) < 2:
            assert np.isnan(found[row])
            assert np.isnan(partial[row])
            continue
        assert found[row] == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
        if len(set(c)) < 2:
            assert np.isnan(partial[row])
            continue
        ranks = np.column_stack([np.ones(len(c)), stats.rankdata(c)])
        left = [r - ranks @ np.linalg.lstsq(ranks, r, rcond=None)[0] for r in (stats.rankdata(a), stats.rankdata(b))]
        if min(np.abs(r).max() for r in left) < 1e-9:
            assert np.isnan(partial[row])
        else:
            assert partial[row] == pytest.approx(np.corrcoef(*left)[0, 1], abs=1e-7)


def test_ranks_of_a_draw_are_those_of_its_sample() -> None:
    x, w = np.array([2.0, 1.0, 2.0, 7.0]), np.array([3.0, 2.0, 1.0, 0.0])
    assert _laid_out(average_ranks(x, w), w).tolist() == stats.rankdata(_laid_out(x, w)).tolist()


def test_undefined_units_are_left_out() -> None:
    assert spearman([1, 2, np.nan, 4], [2, 1, 9, 3]) == spearman([1, 2, 4], [2, 1, 3])


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.integers(0, 2)), min_size=1, max_size=25))
def test_areas_count_pairs(units: list[tuple[int, bool, int]]) -> None:
    scores, positive, strata = (np.array(column) for column in zip(*units, strict=True))
    everywhere, within = [], []
    for i in np.flatnonzero(positive):
        for j in np.flatnonzero(~positive):
            won = float(scores[i] > scores[j]) + 0.5 * float(scores[i] == scores[j])
            everywhere.append(won)
            if strata[i] == strata[j]:
                within.append(won)
    for found, pairs in ((auc(scores, positive), everywhere), (stratified_auc(scores, positive, strata), within)):
        if pairs:
            assert found == pytest.approx(np.mean(pairs))
        else:
            assert np.isnan(found)
    if everywhere:
        u = stats.mannwhitneyu(scores[positive], scores[~positive]).statistic
        assert auc(scores, positive) == pytest.approx(u / len(everywhere))
