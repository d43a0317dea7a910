"""Added letter preferences over cells, against the experiment on one cell and what mirroring must cancel."""

from dataclasses import replace

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel

from orderbias.mitigation import added_shapes
from orderbias.operations import parse_operation, split
from orderbias.studies.panel.estimates import checkpoint_draws
from orderbias.studies.panel.operated_cells import PRODUCT, operate, operated_pool
from orderbias.studies.panel.operations.added import (
    SETTINGS,
    SHOWN,
    STRENGTHS,
    added_preferences,
    chosen_cells,
    preference_effects,
    preferences_series,
    preferences_table,
)
from orderbias.studies.panel.values import Settings


@pytest.fixture(scope="module")
def cells():
    panel = simulated_panel(5, 1, 150, seed=2, laws=Laws(lean=0.3))
    return [operate(cell, 0) for cell in panel.pool().cells]


def test_effects_are_those_of_one_cell(cells):
    operated = cells[2]
    expected = added_shapes(
        [parse_operation(o) for o in SHOWN], split(operated.cell.predictions), STRENGTHS, resamples=0
    )
    changes = {(p.operation, p.shape, p.strength): p.changes["placement_range"] for p in expected.points}
    found = preference_effects(operated)["placement_range"]
    for s, (shape, strength) in enumerate(SETTINGS):
        for o, operation in enumerate(SHOWN):
            assert found[s, o] == pytest.approx(changes[operation, shape, strength], abs=1e-12)


def test_what_is_opposite_on_mirrored_letters_leaves_every_answer_of_the_product(cells):
    moved = preference_effects(cells[0])["moved"][:, SHOWN.index(PRODUCT)]
    for (shape, _), share in zip(SETTINGS, moved, strict=True):
        assert (share == 0) == (shape in ("front-to-back", "alternating"))


def test_planted_shapes_move_what_they_must(cells):
    draws = checkpoint_draws(operated_pool(cells), Settings(resamples=300), "test")
    found = added_preferences(cells, draws)
    table = preferences_table(found, "benchmark-0", len(cells))
    rows = {row[:2]: dict(zip((c.key for c in table.columns), row, strict=True)) for row in table.rows}
    for strength in (-1.0, 1.0):
        outer = rows["outer-inner", strength]
        assert outer["none"].low > 0.05
        assert outer[PRODUCT].low > 0.05
        assert abs(outer["pride"].value) < 0.02
        front = rows["front-to-back", strength]
        assert front["none"].low > 0.05
        assert front[PRODUCT].value == 0
        assert front[PRODUCT].low is None  # no draw differs
        assert abs(front["pride"].value) < 0.02


def test_the_series_holds_every_point_of_the_table(cells):
    draws = checkpoint_draws(operated_pool(cells), Settings(resamples=100), "test")
    found = added_preferences(cells, draws)
    points = {(p["operation"], p["shape"], p["strength"]): p["placement_range"] for p in preferences_series(found)}
    table = preferences_table(found, "benchmark-0", len(cells))
    for row in table.rows:
        for operation, number in zip(SHOWN, row[2:], strict=False):
            assert points[operation, row[0], row[1]] == number.value
            assert points[operation, row[0], 0.0] == 0


def renamed(operated, benchmark):
    return replace(operated, cell=replace(operated.cell, benchmark=benchmark))


def test_mmlu_comes_first_then_the_benchmark_of_most_checkpoints(cells):
    many = [renamed(c, "arc") for c in cells[:4]]
    few = [renamed(c, "MMLU") for c in cells[:2]]
    other = [renamed(c, "mmlu-pro") for c in cells[:2]]
    assert {c.cell.benchmark for c in chosen_cells([*many, *other, *few])} == {"MMLU"}
    assert [c.cell.benchmark for c in chosen_cells([*few[:1], *many])] == ["MMLU"]
    assert len(chosen_cells([*many, *(renamed(c, "race") for c in cells[:3])])) == 4
    assert chosen_cells([]) == ()


def test_only_four_options_with_golds(cells):
    p = cells[0].cell.predictions
    unknown = replace(cells[0].cell, predictions=replace(p, gold=np.full(p.n_items, -1)))
    three = operate(simulated_panel(1, 1, 40, options=(3,)).cells[0], 0)
    assert chosen_cells([operate(unknown, 0), three]) == ()
