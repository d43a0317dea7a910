"""Every analysis evaluates the same items of a cell, under the seed of the settings."""

import pytest
from bench.panel_laws import simulated_panel

from orderbias.operations import split
from orderbias.studies.panel.all_orderings.certified import certified_answers
from orderbias.studies.panel.all_orderings.full_orderings import in_full_order
from orderbias.studies.panel.leaderboard.standings import build_board
from orderbias.studies.panel.operated_cells import operate
from orderbias.studies.panel.pairs.pride import before_and_after


@pytest.mark.parametrize("seed", [0, 5])
def test_the_same_items_are_evaluated_everywhere(seed):
    panel = simulated_panel(2, 1, 60, design="all", options=(3,))
    cell = panel.cells[0]
    evaluated = set(split(cell.predictions, 0.05, seed).evaluation.item_ids)
    assert len(evaluated) == 57
    assert set(before_and_after(cell, seed)[0]) == evaluated
    assert set(certified_answers(in_full_order(cell.predictions), seed)[0].item_ids) == evaluated
    rotations = simulated_panel(2, 1, 60, options=(3,)).cells
    assert set(operate(rotations[0], seed).item_ids) == evaluated
    assert build_board(rotations, seed).n_items == 57


def test_another_seed_chooses_other_items():
    cell = simulated_panel(1, 1, 60).cells[0]
    assert set(operate(cell, 0).item_ids) != set(operate(cell, 5).item_ids)
