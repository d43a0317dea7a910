"""Operations over cells: what is planted is found, sums hold, and what cannot be done is said."""

from dataclasses import replace

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel

from orderbias.mitigation import mitigate
from orderbias.studies.findings import Number
from orderbias.studies.panel import Panel, Settings
from orderbias.studies.panel.operated_cells import OPERATIONS, PRODUCT, operate
from orderbias.studies.panel.operations import operations

QUICK = Settings(resamples=500)
COMPOSED = f"pride>{PRODUCT}"


def by_operation(table):
    keys = [column.key for column in table.columns]
    n_names = sum(key in ("operation", "minus") for key in keys)
    names = [row[0] if n_names == 1 else row[:2] for row in table.rows]
    return {name: dict(zip(keys, row, strict=True)) for name, row in zip(names, table.rows, strict=True)}


@pytest.fixture(scope="module")
def panel():
    return simulated_panel(10, 4, 150, settings=QUICK, options=(4, 4, 2, 5), seed=1)


@pytest.fixture(scope="module")
def finding(panel):
    return operations(panel)


def test_everything_is_there(finding):
    assert finding.name == "operations"
    assert finding.skipped is None
    assert finding.parts_skipped == ()
    assert {table.name for table in finding.tables} == {
        "operations", "differences", "rank-reversals", "rank-reversal-differences", "transitions", "settling",
        "surviving-share", "skew-and-range", "added-preferences", "corrections", "correction-differences",
    }  # fmt: skip
    assert set(finding.series) == {"factor-changes", "surviving-share", "added-preferences"}
    assert by_operation(finding.table("operations"))["none"]["n_cells"] == 30
    assert by_operation(finding.table("corrections"))["none"]["n_cells"] == 40


def test_means_are_of_what_mitigate_says_of_each_cell(panel):
    cells = panel.pool(where=lambda cell: cell.n_options > 2 and cell.checkpoint.name in ("Ash-1B", "Birch-1B")).cells
    found = by_operation(operations(Panel(cells, settings=QUICK)).table("operations"))
    single = [
        {o.name: o for o in mitigate(c.predictions, ",".join(OPERATIONS[1:]), resamples=0).operations} for c in cells
    ]
    for name in OPERATIONS[1:]:
        row = found[name]
        for key in ("log_flip_rate", "log_positional_skew", "log_pooled_sd", "accuracy", "stable_wrong"):
            expected = np.mean([s[name].changes.values[key] for s in single])
            assert row[key].value == pytest.approx(expected), (name, key)
        for key in ("placement_range", "balanced_rstd"):
            assert row[key].value == pytest.approx(np.mean([s[name].measures[key] for s in single]))


def test_log_changes_add_up_and_differences_are_differences(finding):
    top, bottom = by_operation(finding.table("operations")), by_operation(finding.table("differences"))
    for name in OPERATIONS[1:]:
        row = top[name]
        parts = row["log_flip_rate"].value + row["log_positional_skew"].value
        assert parts == pytest.approx(row["log_pooled_sd"].value)
    for (after, before), row in bottom.items():
        for key in ("log_flip_rate", "log_pooled_sd", "placement_range", "rank_reversals", "accuracy", "stable_wrong"):
            assert row[key].value == pytest.approx(top[after][key].value - top[before][key].value)


def test_figure_5_holds_the_changes_of_table_2(finding):
    top = by_operation(finding.table("operations"))
    for point in finding.series["factor-changes"]:
        for key in ("log_flip_rate", "log_positional_skew"):
            assert point[key] == top[point["operation"]][key].value
            assert point[f"{key}_low"] == top[point["operation"]][key].low


def test_the_factors_move_as_planted(finding):
    """A lean of the labels and noise of the orderings: the prior takes the lean, the product averages the noise."""
    top, bottom = by_operation(finding.table("operations")), by_operation(finding.table("differences"))
    assert top["pride"]["log_positional_skew"].high < -0.5
    assert top["pride"]["log_positional_skew"].high < top["pride"]["log_flip_rate"].low
    assert top[PRODUCT]["log_flip_rate"].high < -0.1
    assert bottom[COMPOSED, PRODUCT]["log_positional_skew"].high < 0
    assert bottom[COMPOSED, "pride"]["log_flip_rate"].high < 0
    assert top[COMPOSED]["placement_range"].value < top["pride"]["placement_range"].value


def test_nothing_leans_where_nothing_is_planted():
    """Without a lean the prior is noise: neither factor nor the harm falls under it, and the product still settles."""
    found = operations(simulated_panel(10, 3, 300, settings=QUICK, options=(4,), laws=Laws(lean=0.0), seed=5))
    row = by_operation(found.table("operations"))
    assert row["pride"]["log_positional_skew"].high > 0
    assert abs(row["pride"]["log_flip_rate"].value) < 0.05
    assert abs(row["pride"]["accuracy"].value) < 0.01
    assert row[PRODUCT]["log_flip_rate"].high < 0


def test_the_lean_alone_is_taken_whole():
    """Answers that the prior alone moves agree again once it is divided out, but for what estimating it leaves."""
    laws = Laws(lean=0.8, wobble=0.0)
    found = operations(simulated_panel(6, 2, 300, settings=QUICK, options=(4,), laws=laws, seed=6))
    row = by_operation(found.table("transitions"))["pride"]
    moves = by_operation(found.table("operations"))
    assert row["start"].value == 0
    assert moves["pride"]["placement_range"].value < 1e-9
    assert moves["none"]["placement_range"].value > 0.1
    # No cell has a flip left, so there is no logarithm to average.
    assert moves["pride"]["log_flip_rate"].value is None
    assert "12 cells in which a factor is zero" in found.table("operations").notes[0]


def test_one_checkpoint_has_no_interval(panel):
    own = Panel(tuple(c for c in panel.cells if c.checkpoint.name == "Ash-1B"), settings=QUICK)
    found = operations(own)
    assert any("Rank reversals" in part for part in found.parts_skipped)
    table = found.table("operations")
    assert table.resampled == ""
    assert "There is one checkpoint" in table.notes[-1]
    assert "rank_reversals" not in [column.key for column in table.columns]
    entries = [e for t in found.tables for row in t.rows for e in row if isinstance(e, Number)]
    by_cells = [row[2] for name in ("surviving-share", "skew-and-range") for row in found.table(name).rows]
    assert all(e.low is None for e in entries if e not in by_cells)


def test_what_cannot_be_done_is_said(panel):
    bare = Panel(
        tuple(replace(c, predictions=replace(c.predictions, logprobs=None)) for c in panel.cells), settings=QUICK
    )
    assert "label log-probabilities" in operations(bare).skipped
    assert operations(Panel((), settings=QUICK)).skipped
    cyclic = operations(simulated_panel(3, 3, 60, design="cyclic", settings=QUICK, options=(4, 2, 4)))
    assert {table.name for table in cyclic.tables} == {"corrections", "correction-differences"}
    assert "reversals" in cyclic.parts_skipped[0]
    mixed = Panel((*panel.cells, *simulated_panel(2, 1, 60, design="cyclic").cells), settings=QUICK)
    assert "Aggregations on 2 cells" in " ".join(operations(mixed).parts_skipped)


def test_unknown_golds_leave_the_label_free_columns(panel):
    cells = tuple(replace(c, predictions=replace(c.predictions, gold=np.full(c.n_items, -1))) for c in panel.cells[:20])
    found = operations(Panel(cells, settings=QUICK))
    row = by_operation(found.table("operations"))["pride"]
    assert row["log_flip_rate"].low is not None
    assert row["accuracy"] == row["placement_range"] == Number(None)
    assert "20 cells have items without a gold" in found.table("operations").notes[0]
    assert any("Added preferences" in part for part in found.parts_skipped)
    assert all(row[1] is None or row[1] == Number(None) for row in found.table("settling").rows)


def test_items_without_a_reversal_are_left_out_and_counted(panel):
    cell = panel.cells[0]
    p = cell.predictions
    choice, logprobs = p.choice.copy(), p.logprobs.copy()
    asked_last = np.flatnonzero(~p.presented)[-1]
    choice[:20, asked_last], logprobs[:20, asked_last] = -1, np.nan
    holed = replace(cell, predictions=replace(p, choice=choice, logprobs=logprobs, status=None))
    n = operate(holed, 0).n_left_out
    assert 0 < n <= 20
    found = operations(Panel((holed, *panel.cells[1:]), settings=QUICK))
    assert f"{n} held-out items lack an answer" in found.table("operations").notes[0]


def test_the_seed_chooses_the_calibration_items_and_the_draws(panel, finding):
    assert operations(panel) == finding
    other = operations(replace(panel, settings=replace(QUICK, seed=1)))
    mine, theirs = (by_operation(f.table("operations"))["pride"]["log_flip_rate"] for f in (finding, other))
    assert mine.value != theirs.value
    assert mine.low != theirs.low
    assert operate(panel.cells[0], 0).rows.tolist() != operate(panel.cells[0], 1).rows.tolist()
