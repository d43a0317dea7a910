"""Cells and pools of a panel: what is scored, what is left out, how blocks are drawn."""

from dataclasses import replace

import numpy as np
import pytest
from bench.panel_laws import simulated_panel

from orderbias.errors import ArgumentError
from orderbias.measurement import measure
from orderbias.signature import Signature
from orderbias.studies.panel import Checkpoint, Panel, Settings, panel_cell
from orderbias.studies.panel.values import check_settings, need


@pytest.fixture(scope="module")
def panel():
    return simulated_panel(3, 3, 30, options=(4, 2, 3), settings=Settings(200))


def test_measures_of_a_cell_are_those_of_measure(panel):
    for cell in panel.cells:
        told = measure(cell.predictions, resamples=0)
        for name, value in cell.measures.items():
            assert (
                value == pytest.approx(told.values[name], nan_ok=True)
                if told.values[name] is not None
                else np.isnan(value)
            )


def test_a_cell_without_an_answer_to_an_item_leaves_the_item_out_and_counts_it(panel):
    p = panel.cells[0].predictions
    choice = p.choice.copy()
    choice[[2, 5], 0] = -1
    again = np.stack([choice, choice], axis=2)
    cell = panel_cell(replace(p, choice=choice, status=None), Checkpoint("m"), repeats=again)
    assert (cell.n_items, cell.n_unusable) == (p.n_items - 2, 2)
    assert cell.repeats.shape == (p.n_items - 2, p.n_orderings, 2)
    assert (cell.repeats[:, 0] >= 0).all()


def test_designs_are_told_apart(panel):
    four, two, three = (panel.cells[i] for i in (0, 3, 6))
    assert [c.n_options for c in (four, two, three)] == [4, 2, 3]
    assert all(c.cyclic and not c.every_ordering for c in (four, two, three))
    assert (four.reversed_too, two.reversed_too, three.reversed_too) == (True, False, True)
    (whole,) = simulated_panel(1, 1, 10, design="all").cells
    assert (whole.cyclic, whole.every_ordering) == (False, True)


def test_drawn_answers_are_in_no_pool(panel):
    drawn = [
        replace(c, predictions=replace(c.predictions, source=Signature.of(model="m", temperature="0.7")))
        for c in panel.cells[:1]
    ]
    mixed = Panel((*drawn, *panel.cells[1:]))
    assert [c.drawn for c in mixed.cells].count(True) == 1
    assert len(mixed.pool()) == len(panel.cells) - 1
    assert Panel(tuple(drawn)).readouts == ()


def test_scopes_name_the_numbers_of_options_there_are():
    pool = simulated_panel(2, 3, 20, options=(4, 2, 4)).pool()
    assert [(name, len(part)) for name, part in pool.by_options] == [("all", 6), ("2", 2), ("4", 4)]
    assert [name for name, _ in pool.where(pool.n_options == 4).by_options] == ["all"]
    assert [cells.tolist() for cells in pool.by_benchmark] == [[0, 1], [2, 3], [4, 5]]


def test_what_is_too_small_is_said(panel):
    assert need(panel.pool(), 99, "cells") == "needs at least 99 cells; there are 9."
    assert "4 checkpoints" in need(panel.pool(), 1, "cells", n_checkpoints=4)
    assert need(panel.pool(), 9, "cells", n_checkpoints=3) is None


@pytest.mark.parametrize("settings", [Settings(99), Settings(level=1.0), Settings(level=0.0)])
def test_settings_that_give_no_interval_are_refused(settings):
    with pytest.raises(ArgumentError):
        check_settings(settings)
