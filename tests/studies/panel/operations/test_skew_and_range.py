"""What mirroring keeps and what the placement range follows, against SciPy and plain loops."""

import numpy as np
import pytest
from bench.panel_laws import simulated_panel
from scipy.stats import spearmanr

from orderbias.operations import letter_preference, mirror_split, split
from orderbias.studies.panel.answer_measures import centred_cosine
from orderbias.studies.panel.estimates import cell_draws, checkpoint_draws
from orderbias.studies.panel.operated_cells import PRODUCT, operate, operated_pool
from orderbias.studies.panel.operations.skew_and_range import placement_table, surviving_series, surviving_table
from orderbias.studies.panel.values import Settings


@pytest.fixture(scope="module")
def cells():
    panel = simulated_panel(6, 3, 150, seed=4, options=(4, 4, 3))
    return [operate(cell, 0) for cell in panel.pool().cells]


@pytest.fixture(scope="module")
def both(cells):
    settings = Settings(resamples=300)
    return checkpoint_draws(operated_pool(cells), settings, "test"), cell_draws(operated_pool(cells), settings, "test")


def test_the_surviving_share_against_the_change_in_log_skew(cells, both):
    table = surviving_table(cells, *both)
    shares = [mirror_split(letter_preference(split(c.cell.predictions).calibration)).surviving_share for c in cells]
    changes = []
    for c in cells:
        before, after = (c.measures["positional_skew"][c.at(name)] for name in ("none", PRODUCT))
        changes.append(np.log(after) - np.log(before))
    row = table.rows[0]
    assert row[1].value == row[2].value == pytest.approx(spearmanr(shares, changes)[0])
    assert row[1].low < row[1].value < row[1].high
    assert (row[2].low, row[2].high) != (row[1].low, row[1].high)
    four = [s for s, c in zip(shares, cells, strict=True) if c.cell.n_options == 4]
    assert table.rows[1][1].value == pytest.approx(np.mean(four))
    assert table.rows[1][3] == len(four) == 12
    falling = 0
    for c in cells:
        b = c.preference.tolist()
        falling += len(b) == 4 and (b == sorted(b) or b == sorted(b, reverse=True))
    assert table.rows[2][1].value == pytest.approx(falling / 12)
    assert [p["surviving_share"] for p in surviving_series(cells)] == pytest.approx(shares)


def test_skew_and_range_by_loops(cells, both):
    rows = {row[0]: row for row in placement_table(cells, *both).rows}
    for after, before in (("pride", "none"), (f"pride>{PRODUCT}", PRODUCT)):
        skews, ranges, apart = [], [], 0
        for c in cells:
            a, b = c.at(after), c.at(before)
            skew = c.measures["positional_skew"][a] - c.measures["positional_skew"][b]
            harm = c.measures["placement_range"][a] - c.measures["placement_range"][b]
            factor = [c.measures["placement_range"][o] / c.measures["flip_rate"][o] for o in (a, b)]
            skews.append(skew)
            ranges.append(factor[0] - factor[1])
            apart += skew < 0 < harm
        head = f"{after} against {before}: "
        correlation = rows[f"{head}Spearman correlation of the changes in skew and in range(h)"]
        assert correlation[1].value == pytest.approx(spearmanr(skews, ranges)[0])
        share = rows[f"{head}share of cells whose skew falls while the placement range rises"]
        assert share[1].value == pytest.approx(apart / len(cells))


def test_g_and_h_on_four_options(cells, both):
    rows = {row[0]: row for row in placement_table(cells, *both).rows}
    cosines, gaps = [], []
    for c in cells:
        if c.cell.n_options == 4:
            g, h = c.measures["flip_share"][0], c.measures["placement_factor"][0]
            cosines.append(np.corrcoef(g, h)[0, 1])  # the cosine of what is centred
            gaps.append(np.std(h - g))
    assert rows["mean cosine of the centred g and h, four-option cells, no operation"][1].value == pytest.approx(
        np.mean(cosines)
    )
    assert rows["mean standard deviation of h - g over the places, the same cells"][1].value == pytest.approx(
        np.mean(gaps)
    )


def test_the_cosine_of_what_has_no_spread_is_undefined():
    assert np.isnan(centred_cosine(np.full(4, 0.25), np.arange(4.0)))
    assert centred_cosine(np.array([1.0, 0, 0, 1]), np.array([0.0, 1, 1, 0])) == pytest.approx(-1)
