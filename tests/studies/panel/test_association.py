"""Rank correlations of many draws, against samples laid out and SciPy's; the words for them."""

import numpy as np
import pytest
from bench.panel_laws import simulated_panel
from scipy.stats import spearmanr

from orderbias.studies.findings import Number
from orderbias.studies.panel import Settings
from orderbias.studies.panel.association import (
    correlation,
    drawn_spearman,
    row_medians,
    scopes,
    trend,
    whole_checkpoints,
    wider,
)


def laid_out(x, y, weights):
    """Correlate the sample that a draw stands for, cell by cell."""
    there = ~np.isnan(x) & ~np.isnan(y)
    times = weights[there].astype(int)
    a, b = np.repeat(x[there], times), np.repeat(y[there], times)
    return spearmanr(a, b).statistic if len(set(a)) > 1 and len(set(b)) > 1 else np.nan


def test_every_statistic_in_every_draw_is_scipys_with_ties_and_gaps():
    rng = np.random.default_rng(3)
    xs = rng.integers(0, 6, (3, 14)).astype(float)
    xs[1, [2, 5]] = np.nan
    y = rng.integers(0, 9, 14).astype(float)
    draws = rng.multinomial(14, np.full(14, 1 / 14), 600).astype(float)
    found = drawn_spearman(list(xs), y, draws)
    expected = [[laid_out(x, y, w) for w in draws] for x in xs]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    y[3] = np.nan
    np.testing.assert_allclose(drawn_spearman([xs[0]], y, draws)[0], [laid_out(xs[0], y, w) for w in draws], atol=1e-12)


def test_few_cells_have_no_interval():
    draws = np.ones((100, 4))
    assert correlation([1, 2, 3, 4], [1, 3, 2, 4], draws, 0.95) == Number(pytest.approx(0.8))


def test_one_checkpoint_cannot_be_resampled():
    pool = simulated_panel(1, 3, 20).pool()
    assert whole_checkpoints(pool, Settings(resamples=100), "any") is None


def test_medians_of_rows_are_numpys():
    values = np.random.default_rng(0).normal(size=(50, 7))
    values[np.random.default_rng(1).random(values.shape) < 0.4] = np.nan
    expected = [np.median(row[~np.isnan(row)]) if not np.isnan(row).all() else np.nan for row in values]
    np.testing.assert_allclose(row_medians(values), expected)


def test_scopes_name_the_numbers_of_options_there_are():
    pool = simulated_panel(2, 3, 20, options=(4, 2, 4)).pool()
    assert [(name, len(part)) for name, part in scopes(pool)] == [("all", 6), ("2", 2), ("4", 4)]
    assert [name for name, _ in scopes(pool.where(pool.n_options == 4))] == ["all"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (Number(0.5, 0.2, 0.7), "rises with accuracy"),
        (Number(-0.5, -0.7, 0.1), "neither clearly rises nor clearly falls"),
        (Number(-0.5), "falls with accuracy (r_s = -0.50)"),
        (Number(None), "no rank correlation"),
    ],
)
def test_words_say_no_more_than_the_interval(number, said):
    assert said in trend("The flip rate", number)


def test_level_for_several_quantities():
    assert wider(0.9) == pytest.approx(0.95)
