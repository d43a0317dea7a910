"""The flip rate against accuracy on other answers: each control by plain loops, and nothing where nothing is."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel
from scipy.stats import spearmanr

from orderbias.inference.blocks import simultaneous_intervals
from orderbias.operations import take_items
from orderbias.studies.panel import Panel, Settings, panel_cell
from orderbias.studies.panel.controls import controls
from orderbias.studies.panel.controls.disjoint import (
    GAPS,
    STATISTICS,
    Control,
    accuracy_off_cyclic,
    gaps,
    on_cyclic,
    other_benchmarks,
    other_items,
    other_orderings,
)
from orderbias.studies.panel.estimates import Estimates, checkpoint_draws
from orderbias.studies.panel.item_folds import item_folds

SETTINGS = Settings(resamples=300, seed=8)


@pytest.fixture(scope="module")
def panel():
    return simulated_panel(8, 3, 103, settings=SETTINGS, options=(4, 2, 4))


@pytest.fixture(scope="module")
def full():
    return simulated_panel(8, 2, 80, settings=SETTINGS, options=(4,), design="all")


def with_golds(panel, golds):
    """Return a panel whose golds are those that ``golds`` gives for a cell."""
    cells = [panel_cell(replace(c.predictions, gold=golds(c.predictions)), c.checkpoint) for c in panel.cells]
    return Panel(tuple(cells), settings=panel.settings)


def r(x, y, times=None):
    """Correlate cells, each as often as ``times`` says."""
    x, y = np.round(x, 12), np.round(y, 12)
    cells = np.arange(len(x)) if times is None else np.repeat(np.arange(len(x)), times.astype(int))
    return spearmanr(x[cells], y[cells]).statistic


def test_items_are_parted_in_five_turns(panel):
    pool = panel.pool()
    found = other_items(pool, SETTINGS)
    folds = item_folds([c.predictions.item_ids for c in pool.cells], 5, SETTINGS.seed)
    turns = []
    for fold in range(5):
        right, rest = [], []
        for cell, of in zip(pool.cells, folds, strict=True):
            here = cell.predictions.presented
            p = take_items(cell.predictions, of == fold)
            right.append((p.choice[:, here] == p.gold[:, None]).mean())
            rest.append(panel_cell(take_items(cell.predictions, of != fold), cell.checkpoint).measures)
        turns.append((np.array(right), rest))
    draws = checkpoint_draws(pool, SETTINGS, "controls").cells[:20]
    for name in STATISTICS:
        sides = [(np.array([m[name] for m in rest]), right) for right, rest in turns]
        assert found.of(name).values[0] == pytest.approx(np.mean([r(x, y) for x, y in sides]))
        expected = [np.mean([r(x, y, times) for x, y in sides]) for times in draws]
        assert found.of(name).draws[:20, 0] == pytest.approx(expected)
    assert (found.n_cells, found.n_checkpoints) == (24, 8)


def test_benchmarks_are_set_against_the_mean_of_the_others(panel):
    # A benchmark that one checkpoint lacks is not among them.
    fewer = Panel(
        (*panel.cells, *(replace(c, benchmark="rare") for c in panel.cells[:7])), settings=SETTINGS
    )  # fmt: skip
    found = other_benchmarks(fewer.pool(), SETTINGS)
    accuracy = {(c.checkpoint.name, c.benchmark): c.measures["accuracy"] for c in panel.cells}
    names = sorted({c.benchmark for c in panel.cells})
    for statistic in STATISTICS:
        within = []
        for name in names:
            cells = [c for c in panel.cells if c.benchmark == name]
            others = [np.mean([accuracy[c.checkpoint.name, o] for o in names if o != name]) for c in cells]
            within.append(r([c.measures[statistic] for c in cells], others))
        assert found.of(statistic).values[0] == pytest.approx(np.mean(within))
    assert (found.n_cells, found.n_checkpoints) == (24, 8)


def test_orderings_are_parted_into_the_cyclic_ones_and_the_others(full):
    parted, own = other_orderings(full)
    flips, elsewhere, right = [], [], []
    for cell in full.cells:
        p = cell.predictions
        # A rotation puts each content one place after the one before it.
        cyclic = np.array([all((b - a) % 4 == 1 for a, b in pairwise(row)) for row in p.positions.astype(int).tolist()])
        assert cyclic.sum() == 4
        flips.append(np.mean([len(set(row)) > 1 for row in p.choice[:, cyclic].tolist()]))
        hits = p.choice == p.gold[:, None]
        elsewhere.append(hits[:, ~cyclic].mean())
        right.append(hits[:, cyclic].mean())
        assert on_cyclic(cell).measures["flip_rate"] == pytest.approx(flips[-1])
        assert accuracy_off_cyclic(cell) == pytest.approx(elsewhere[-1])
    assert parted.of("flip_rate").values[0] == pytest.approx(r(flips, elsewhere))
    assert own.of("flip_rate").values[0] == pytest.approx(r(flips, right))


def test_planted_uncertainty_is_found_on_every_kind_of_other_answers(panel, full):
    finding = controls(Panel(panel.cells + full.cells, settings=SETTINGS))
    table = finding.table("disjoint")
    assert [c.key for c in table.columns] == ["statistic", "items", "benchmarks", "orderings", "own_orderings"]
    row = dict(zip([c.key for c in table.columns], table.rows[0], strict=True))
    assert row["items"].high < 0
    assert row["benchmarks"].value < -0.3
    assert row["orderings"].value < -0.3
    assert not finding.parts_skipped
    json.dumps(finding.as_dict(), allow_nan=False)


def test_nothing_is_found_where_golds_are_drawn_at_random(panel):
    rng = np.random.default_rng(1)
    four = Panel(tuple(c for c in panel.cells if c.n_options == 4), settings=SETTINGS)
    random = with_golds(four, lambda p: rng.integers(0, p.n_options, p.n_items))
    finding = controls(random)
    row = finding.table("disjoint").rows[0]
    assert row[1].low < 0 < row[1].high
    null = {row[:2]: row for row in finding.table("cap_null").rows}["all", "all"]
    assert null[5] > 0.05


def test_gaps_are_of_sizes_and_joint_over_two():
    values = dict.fromkeys(STATISTICS, 0.0) | {
        "per_item_sd": -0.8, "pooled_sd": 0.5, "per_item_kl": -0.6, "forward_kl": -0.7, "flip_rate": -0.9,
    }  # fmt: skip
    rng = np.random.default_rng(0)
    draws = {name: v + 0.05 * rng.normal(size=500) for name, v in values.items()}
    estimates = Estimates(np.array(list(values.values())), np.stack(list(draws.values()), axis=1), 0.95)
    control = Control("items", "others", 10, 5, estimates)
    found = gaps(control, GAPS["per-item less pooled"])
    assert found.values.tolist() == pytest.approx([0.3, -0.1])
    for i, (a, b) in enumerate(GAPS["per-item less pooled"]):
        assert found.draws[:, i] == pytest.approx(np.abs(draws[a]) - np.abs(draws[b]))
    assert gaps(control, GAPS["flip rate less pooled"]).values.tolist() == pytest.approx([0.4, 0.2])


def test_gap_intervals_are_simultaneous(panel):
    finding = controls(panel)
    found = other_items(panel.pool(), SETTINGS)
    row = next(r for r in finding.table("gaps").rows if r[:2] == ("items", "flip rate less pooled"))
    gap = gaps(found, GAPS["flip rate less pooled"])
    expected = simultaneous_intervals(gap.values, gap.draws, 0.95)
    np.testing.assert_allclose([(n.low, n.high) for n in row[2:]], expected)


def test_range_of_the_other_counts(panel):
    found = other_items(panel.pool(), SETTINGS)
    row = controls(panel).table("disjoint_cells").rows[0]
    three = found.of("fluctuation_rate", "pairwise_disagreement", "content_entropy").values
    assert (row[4].value, row[5].value) == pytest.approx((min(three), max(three)))


def test_one_checkpoint_has_items_alone_and_no_interval():
    finding = controls(simulated_panel(1, 6, 60, settings=SETTINGS, options=(4,)))
    table = finding.table("disjoint")
    assert [c.key for c in table.columns] == ["statistic", "items"]
    assert table.rows[0][1].low is None
    assert any("one checkpoint" in note for note in table.notes)
    assert any("checkpoints with cells" in why for why in finding.parts_skipped)
    assert finding.table("gaps").rows[0][2].low is None


def test_cells_right_everywhere_are_counted_out():
    still = simulated_panel(4, 1, 30, laws=Laws(lean=0, wobble=0), settings=SETTINGS, options=(4,))
    sure = with_golds(still, lambda p: p.choice[:, 0])
    assert {c.measures["accuracy"] for c in sure.cells} == {1.0}
    unsure = simulated_panel(4, 2, 60, settings=SETTINGS, options=(4,))
    finding = controls(Panel(unsure.cells + sure.cells, settings=SETTINGS))
    assert finding.table("cap_null").rows[0][2] == 8
    assert any("cap is 0: 4 cells" in note for note in finding.table("cap_null").notes)
    json.dumps(finding.as_dict(), allow_nan=False)


def test_cells_without_flips_have_no_correlation():
    still = simulated_panel(4, 3, 40, laws=Laws(lean=0, wobble=0), settings=SETTINGS, options=(4,))
    finding = controls(still)
    assert finding.table("disjoint").rows[0][1].value is None
    json.dumps(finding.as_dict(), allow_nan=False)


def test_unknown_golds_are_the_reason_to_skip(panel):
    finding = controls(with_golds(panel, lambda p: np.full(p.n_items, -1)))
    assert finding.skipped.startswith("needs cells with known answers, some of them wrong")
    assert finding.skipped.endswith("there are none.")
    assert not finding.tables


def test_controls_that_cannot_be_done_are_said(panel):
    one = controls(Panel(tuple(c for c in panel.cells if c.benchmark == "benchmark-0"), settings=SETTINGS))
    assert any("2 benchmarks that every checkpoint has" in why for why in one.parts_skipped)
    assert any("all K! orderings" in why for why in one.parts_skipped)


def test_few_cells_have_no_interval():
    few = controls(simulated_panel(4, 1, 40, settings=SETTINGS, options=(4,)))
    assert few.table("disjoint").rows[0][1].value is not None
    assert few.table("disjoint").rows[0][1].low is None


def test_a_benchmark_on_which_a_statistic_does_not_vary_is_left_out_and_counted():
    panel = simulated_panel(5, 4, 40, settings=Settings(200, seed=2), options=(4,))
    still = [
        panel_cell(
            replace(c.predictions, choice=np.repeat(c.predictions.choice[:, :1], c.predictions.n_orderings, axis=1),
                    logprobs=None),
            c.checkpoint,
        )
        for c in panel.cells
        if c.benchmark == "benchmark-0"
    ]  # fmt: skip
    moved = [c for c in panel.cells if c.benchmark != "benchmark-0"]
    control = other_benchmarks(Panel((*still, *moved)).pool(), panel.settings)
    assert control.n_cells == 15
    assert control.scored.endswith("1 left out on which a statistic does not vary")
    right = {(c.checkpoint.name, c.benchmark): c.measures["accuracy"] for c in (*still, *moved)}
    names = list(dict.fromkeys(c.checkpoint.name for c in moved))
    found = []
    for b in ("benchmark-1", "benchmark-2", "benchmark-3"):
        flips = [
            next(c.measures["flip_rate"] for c in moved if (c.checkpoint.name, c.benchmark) == (m, b)) for m in names
        ]
        others = [np.mean([right[m, o] for o in (f"benchmark-{i}" for i in range(4)) if o != b]) for m in names]
        found.append(spearmanr(flips, others).statistic)
    assert control.of("flip_rate").number(0).value == pytest.approx(np.mean(found))
