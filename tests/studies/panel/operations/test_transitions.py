"""Items that stop and start flipping over cells, against the transitions of one cell and plain loops."""

import numpy as np
import pytest
from bench.panel_laws import simulated_panel

from orderbias.mitigation.applying import apply_all, chosen, on_common_items
from orderbias.mitigation.transitions import find_transitions
from orderbias.operations import split
from orderbias.studies.panel.estimates import checkpoint_draws
from orderbias.studies.panel.operated_cells import OPERATIONS, PRODUCT, operate, operated_pool
from orderbias.studies.panel.operations.transitions import item_moves, moves_table, settled, settling_table
from orderbias.studies.panel.values import Settings


@pytest.fixture(scope="module")
def cells():
    return [operate(cell, 0) for cell in simulated_panel(4, 2, 120, seed=3).pool().cells]


@pytest.fixture(scope="module")
def draws(cells):
    return checkpoint_draws(operated_pool(cells), Settings(resamples=200), "test")


def one_cell(operated):
    """The transitions of a cell as ``mitigate`` finds them."""
    parts = split(operated.cell.predictions)
    applied, _ = apply_all(chosen(",".join(OPERATIONS[1:])), parts.calibration, parts.evaluation, reduce=False)
    found = find_transitions(on_common_items(applied, parts.evaluation), parts.calibration)
    return {m.operation: m for m in found.moves}, found


def test_moves_and_settling_are_those_of_one_cell(cells):
    for operated in cells[::3]:
        moves, whole = one_cell(operated)
        found = item_moves(operated)
        assert found[0, 3] == pytest.approx(whole.top_place_before)
        for name in OPERATIONS[1:]:
            stop, start, wrong, top = found[operated.at(name)]
            assert stop == pytest.approx(moves[name].stop.value)
            assert start == pytest.approx(moves[name].start.value)
            assert wrong == pytest.approx(moves[name].resolved_wrong.value)
            assert top == pytest.approx(moves[name].top_place)
            assert settled(operated, name) == moves[name].settling


def test_moves_by_loops(cells):
    operated = cells[1]
    k = operated.cell.n_options
    before, after = operated.choice[0], operated.choice[operated.at(PRODUCT)]
    stop = start = wrong = flipping = top = 0
    for b, a, gold in zip(before.tolist(), after.tolist(), operated.gold, strict=True):
        stop += len(set(b)) > 1 and len(set(a)) == 1
        start += len(set(b)) == 1 and len(set(a)) > 1
        wrong += len(set(b)) > 1 and len(set(a)) == 1 and a[0] != gold
        if len(set(b)) > 1:
            flipping += 1
            top += sum((content + s) % k == operated.top_place for s, content in enumerate(a)) / k
    n = len(before)
    np.testing.assert_allclose(
        item_moves(operated)[operated.at(PRODUCT)], [stop / n, start / n, wrong / stop, top / flipping]
    )


def test_the_table_averages_over_cells_and_weighs_by_what_is_resolved(cells, draws):
    table = moves_table(cells, draws)
    keys = [column.key for column in table.columns]
    row = dict(zip(keys, next(r for r in table.rows if r[0] == PRODUCT), strict=True))
    moves = np.stack([item_moves(c)[c.at(PRODUCT)] for c in cells])
    assert row["stop"].value == pytest.approx(moves[:, 0].mean())
    assert row["resolved_wrong"].value == pytest.approx(moves[:, 2].mean())
    assert row["resolved_wrong_weighted"].value == pytest.approx(np.average(moves[:, 2], weights=moves[:, 0]))
    assert row["stop"].low < row["stop"].value < row["stop"].high
    none = dict(zip(keys, table.rows[0], strict=True))
    assert none["stop"] is None
    assert none["top_place"].value == pytest.approx(np.mean([item_moves(c)[0, 3] for c in cells]))


def test_settling_shares_are_means_of_the_cells_own(cells, draws):
    table = settling_table(cells, draws)
    found = [settled(c) for c in cells]
    rows = {row[0]: row for row in table.rows}
    shares = [s.most_frequent for s in found if s.most_frequent is not None]
    row = rows["settled on the one content chosen most often"]
    assert row[1].value == pytest.approx(np.mean(shares))
    assert row[-1] == len(shares)
    three = [rows[head][1].value for head in list(rows)[:3]]
    assert sum(three) == pytest.approx(1)
    gaps = [s.gap_stable_wrong for s in found if s.gap_stable_wrong is not None]
    gap = rows["the gap of items that were stable-wrong before"]
    assert gap[1] is None
    assert gap[3].value == pytest.approx(np.mean(gaps))
    assert gap[4] is None
