"""The analysis whole: its tables against plain recomputation, planted laws, and what it says where there is nothing."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel
from scipy import stats

from orderbias.inference.blocks import block_draws
from orderbias.measures import MEASURES, build_columns, evaluate
from orderbias.operations import split
from orderbias.orderings import all_orderings as every_ordering
from orderbias.predictions import Predictions
from orderbias.studies.panel import Panel, Settings, panel_cell
from orderbias.studies.panel.all_orderings import all_orderings
from orderbias.studies.panel.all_orderings.design_tables import over_draws, per_item_lead
from orderbias.studies.panel.all_orderings.designs import DesignStatistics
from orderbias.studies.panel.all_orderings.set_tables import cell_rows, operation_table, over_sets
from orderbias.studies.panel.estimates import checkpoint_draws

SETTINGS = Settings(resamples=120)


def panel(n_checkpoints=6, n_benchmarks=2, n_items=100, options=(4, 4), **more):
    return simulated_panel(
        n_checkpoints, n_benchmarks, n_items, design="all", options=options, settings=SETTINGS, **more
    )


@pytest.fixture(scope="module")
def simulated():
    return panel()


@pytest.fixture(scope="module")
def finding(simulated):
    return all_orderings(simulated)


def rows(finding, table, key):
    return {row[key]: row for row in finding.table(table).as_dict()["rows"]}


def sliced(cell, orderings):
    p = cell.predictions
    return Predictions(p.choice[:, orderings], p.positions[orderings], p.gold)


def measured(p):
    return {n: float(v) for n, v in evaluate(build_columns(p).sums, MEASURES.values()).items() if np.ndim(v) == 0}


def rotations(cell):
    listed = cell.predictions.positions.tolist()
    k = cell.n_options
    return [listed.index([(j + s) % k for j in range(k)]) for s in range(k)]


def test_flip_rates_and_coverage(simulated, finding):
    cells = simulated.cells
    cyclic = [measured(sliced(c, rotations(c)))["flip_rate"] for c in cells]
    full = [measured(sliced(c, list(range(24))))["flip_rate"] for c in cells]
    accuracy = [c.measures["accuracy"] for c in cells]
    expected, changing, found = [], 0, 0
    for c in cells:
        kept = 0.0
        for item, gold in zip(c.predictions.choice.tolist(), c.predictions.gold.tolist(), strict=True):
            kept += sum(math.comb(item.count(j), 4) for j in range(4)) / 10_626
            changing += len({z == gold for z in item}) > 1
            found += len({item[i] == gold for i in rotations(c)}) > 1
        expected.append(1 - kept / c.n_items)
    table = rows(finding, "flip-rates", "orderings")
    for name, values in (("cyclic", cyclic), ("all K!", full), ("K orderings, exact expectation", expected)):
        row = table[name]
        assert row["flip_rate"]["value"] == pytest.approx(np.mean(values), abs=1e-12)
        assert row["accuracy"]["value"] == pytest.approx(stats.spearmanr(values, accuracy).statistic, abs=1e-12)
        assert row["with_full"]["value"] == pytest.approx(stats.spearmanr(values, full).statistic, abs=1e-12)
        assert row["with_cyclic"]["value"] == pytest.approx(stats.spearmanr(values, cyclic).statistic, abs=1e-12)
        assert row["flip_rate"]["interval"][0] < row["flip_rate"]["value"] < row["flip_rate"]["interval"][1]
    drawn = table["random K per item, mean of 200 draws"]["flip_rate"]["value"]
    assert drawn == pytest.approx(np.mean(expected), abs=0.003)
    bound, under, above_random, above, coverage = finding.table("undercount").as_dict()["rows"]
    assert bound["n_holding"] == bound["n_cells"] == len(cells)
    assert under["value"]["value"] == pytest.approx(np.mean(full) - np.mean(cyclic), abs=1e-12)
    assert above["n_holding"] == sum(c > e for c, e in zip(cyclic, expected, strict=True))
    assert above["value"]["value"] == pytest.approx(np.mean(np.array(cyclic) / expected) - 1, abs=1e-12)
    assert above_random["value"]["value"] == pytest.approx(above["value"]["value"], abs=0.01)
    assert coverage["value"]["value"] == pytest.approx(found / changing, abs=1e-12)
    assert "at most that under all K! in 12 of 12 cells" in finding.sentences[0]


def test_variance_shares(simulated, finding):
    for name, orderings in (("cyclic", None), ("all", list(range(24)))):
        found = [measured(sliced(c, orderings or rotations(c))) for c in simulated.cells]
        flips, skews = (np.log([m[key] for m in found]) for key in ("flip_rate", "positional_skew"))
        row = rows(finding, "variance-shares", "orderings")[name]
        whole = np.var(flips + skews)
        assert row["flip_rate"]["value"] == pytest.approx(np.var(flips) / whole, abs=1e-9)
        assert row["positional_skew"]["value"] == pytest.approx(np.var(skews) / whole, abs=1e-9)


def test_uncorrected_answers_on_the_twelve_sets(simulated, finding):
    listed = every_ordering(4).positions.tolist()
    sets = [
        s for s in itertools.combinations(range(24), 4)
        if all(len({listed[i][j] for i in s}) == 4 for j in range(4)) and not any(23 - i in s for i in s)
    ]  # fmt: skip
    assert len(sets) == 12
    first = next(s for s in sets if set(s) == set(rotations(simulated.cells[0])))
    flips, ranges = ({s: [] for s in sets} for _ in range(2))
    elsewhere = []
    for cell in simulated.cells:
        for s in sets:
            values = measured(sliced(cell, list(s)))
            flips[s].append(values["flip_rate"])
            ranges[s].append(values["placement_range"])
        answers = cell.predictions.choice.tolist()
        stable = [item for item in answers if len({item[i] for i in first}) == 1]
        moved = [len({item[i] for i in s}) > 1 for s in sets if s != first for item in stable]
        elsewhere.append(np.mean(moved))
    row = rows(finding, "sets-4", "answers")["uncorrected, all cells, all items"]
    for key, values in (("flip", flips), ("placement", ranges)):
        others = [np.mean(v) for s, v in values.items() if s != first]
        assert row[f"{key}_cyclic"]["value"] == pytest.approx(np.mean(values[first]), abs=1e-12)
        assert row[f"{key}_others"]["value"] == pytest.approx(np.mean(others), abs=1e-12)
        assert row[f"{key}_lowest"]["value"] == pytest.approx(min(others), abs=1e-12)
        assert row[f"{key}_highest"]["value"] == pytest.approx(max(others), abs=1e-12)
    assert row["elsewhere"]["value"] == pytest.approx(np.mean(elsewhere), abs=1e-12)
    assert row["elsewhere"]["interval"][0] < row["elsewhere"]["value"] < row["elsewhere"]["interval"][1]


def test_changes_are_on_the_same_certified_items(simulated):
    cell = simulated.cells[3]
    found = {row.answers: row for row in cell_rows(cell.predictions, 0, envelope=0.01)}
    evaluated = split(cell.predictions, seed=0).evaluation
    assert evaluated.n_items == 95
    product = found["reversal-product"]
    assert 0.3 < product.kept < 1
    assert found["none"].change is None
    assert found[None].kept == 1
    assert found[None].levels.flip_rate[0] == pytest.approx(measured(sliced(cell, rotations(cell)))["flip_rate"])
    # By hand, on the cyclic set: an item is kept where the product leads at the worst ends of all eight probabilities.
    p = np.exp(evaluated.logprobs)
    listed, content_at = evaluated.positions, np.argsort(evaluated.positions, axis=1)
    before = after = n_kept = 0
    for i in range(evaluated.n_items):
        answers, sure = [], True
        for s in range(24):
            one = [p[i, s, listed[s, j]] for j in range(4)]
            two = [p[i, 23 - s, listed[23 - s, j]] for j in range(4)]
            best = int(np.argmax(np.multiply(one, two)))
            answers.append(best)
            low = max(one[best] - 0.01, 0) * max(two[best] - 0.01, 0)
            sure &= all(low > (one[j] + 0.01) * (two[j] + 0.01) for j in range(4) if j != best)
        if sure:
            n_kept += 1
            plain = [int(content_at[s, p[i, s].argmax()]) for s in rotations(cell)]
            before += len(set(plain)) > 1
            after += len({answers[s] for s in rotations(cell)}) > 1
    assert product.kept == pytest.approx(n_kept / 95)
    assert product.change[0][0] == pytest.approx((after - before) / n_kept, abs=1e-12)


def changes(laws):
    found = simulated_panel(5, 1, 500, design="all", options=(4,), settings=SETTINGS, laws=laws)
    cells = [cell_rows(cell.predictions, 0) for cell in found.cells]
    draws = checkpoint_draws(found.pool(cyclic=False), SETTINGS, "test")
    return {row["answers"]: row for row in operation_table(4, cells, draws).as_dict()["rows"]}


def test_a_lean_alone_is_what_the_prior_takes_out():
    pride = changes(Laws(lean=0.8, wobble=0.05))["pride"]
    assert pride["flip_cyclic"]["value"] < -0.1
    assert pride["flip_highest"]["value"] < -0.1
    assert pride["placement_highest"]["value"] < -0.1


def test_without_a_lean_only_the_product_finds_anything():
    found = changes(Laws(lean=0.0, wobble=0.7))
    for answers in ("pride", "pride>reversal-product"):
        assert found[answers]["placement_others"]["value"] == pytest.approx(
            found["reversal-product"]["placement_others"]["value"] if ">" in answers else 0, abs=0.03
        )
    assert abs(found["pride"]["flip_others"]["value"]) < 0.02
    assert found["reversal-product"]["flip_others"]["value"] < -0.05
    assert found["reversal-product"]["certified"]["value"] > 0.99
    assert found["reversal-product"]["elsewhere"]["value"] < found["pride"]["elsewhere"]["value"]


def test_nobody_flips():
    still = panel(4, 1, 60, options=(4,), laws=Laws(lean=0.0, wobble=0.0))
    found = all_orderings(still)
    assert rows(found, "flip-rates", "orderings")["all K!"]["flip_rate"]["value"] == 0
    assert rows(found, "flip-rates", "orderings")["cyclic"]["accuracy"]["value"] is None
    assert rows(found, "variance-shares", "orderings")["cyclic"]["n_left_out"] == 4
    assert rows(found, "variance-shares", "orderings")["cyclic"]["flip_rate"]["value"] is None
    assert rows(found, "designs-4", "design")["cyclic"]["undefined"] == 4
    assert rows(found, "designs-4", "design")["cyclic"]["residual_median"]["value"] is None
    assert "No item is known whose correctness changes" in found.sentences[3]
    # Under random orderings the pooled SD of stable items is the design's alone.
    random = rows(found, "corrected-4", "design")["random, per item"]
    assert random["ratio"]["value"] == pytest.approx(1)
    assert random["corrected"]["value"] is None


def test_designs(finding):
    residuals, corrected = (rows(finding, name, "design") for name in ("designs-4", "corrected-4"))
    for name in ("cyclic", "all", "latin-square sets"):
        assert residuals[name]["residual_max"]["value"] < 1e-12
        assert corrected[name]["ratio"]["value"] is None
        assert corrected[name]["pooled"]["value"] == pytest.approx(corrected[name]["corrected"]["value"])
    for name in ("random, per item", "random, shared", "gold-balanced, per item"):
        assert residuals[name]["residual_median"]["value"] > 0.005
        assert corrected[name]["corrected_residual"] < 1e-12
        assert corrected[name]["ratio_max"]["value"] <= 1 + 1e-9
        assert corrected[name]["n_within_bound"] == corrected[name]["n_residuals"] == 2_400
        low, high = corrected[name]["corrected"]["interval"]
        assert low <= corrected[name]["corrected"]["value"] <= high
    assert (
        residuals["gold-balanced, per item"]["residual_median"]["value"]
        < (residuals["random, per item"]["residual_median"]["value"])
    )
    assert corrected["cyclic"]["pooled"]["interval"] is None


def test_the_per_item_lead_is_that_of_laid_out_samples():
    rng = np.random.default_rng(0)
    item, pooled, right = rng.random((3, 7, 5))
    blank = np.zeros((7, 5))
    found = DesignStatistics(blank, right, item, pooled, blank, blank, blank)
    weights = block_draws(np.array([0, 0, 1, 1, 2, 3, 3]), 20, rng)
    leads = per_item_lead(found, weights)
    for i, w in enumerate(weights.astype(int)):
        sample = np.repeat(np.arange(7), w)
        if len(set(sample.tolist())) < 3:
            continue
        gaps = [
            abs(stats.spearmanr(item[sample, d], right[sample, d]).statistic)
            - abs(stats.spearmanr(pooled[sample, d], right[sample, d]).statistic)
            for d in range(5)
        ]
        assert leads[i] == pytest.approx(np.median(gaps), abs=1e-9)
    number = over_draws(item, right)
    each = [stats.spearmanr(item[:, d], right[:, d]).statistic for d in range(5)]
    assert number.value == pytest.approx(np.median(each))
    assert (number.low, number.high) == pytest.approx(tuple(np.quantile(each, [0.025, 0.975])))


def test_a_cell_without_a_value_on_some_set_is_left_out():
    assert [n.value for n in over_sets(np.array([[np.nan, 1.0]]))] == [None] * 4


def test_three_options_and_four_are_kept_apart():
    mixed = panel(3, 2, 30, options=(3, 4))
    found = all_orderings(mixed)
    names = [table.name for table in found.tables]
    assert [n for n in names if n.endswith("-3")] == ["sets-3", "operations-3", "designs-3", "corrected-3"]
    assert [n for n in names if n.endswith("-4")] == ["sets-4", "operations-4", "designs-4", "corrected-4"]
    assert rows(found, "flip-rates", "orderings")["cyclic"]["n_cells"] == 6
    assert rows(found, "sets-3", "answers")["uncorrected, all cells, all items"]["n_cells"] == 3
    assert rows(found, "designs-3", "design")["latin-square sets"]["n_draws"] == 2
    assert rows(found, "designs-3", "design")["latin-square sets"]["residual_max"]["value"] < 1e-12
    json.dumps(found.as_dict(), allow_nan=False)


def test_five_options_are_left_out():
    found = all_orderings(panel(1, 2, 20, options=(4, 5)))
    assert found.parts_skipped == (
        "needs three or four options, more have too many sets of orderings; left out: 1 of 2.",
    )
    assert rows(found, "flip-rates", "orderings")["cyclic"]["n_cells"] == 1


def test_one_checkpoint_has_no_checkpoint_intervals():
    found = all_orderings(panel(1, 3, 60, options=(4,)))
    row = rows(found, "sets-4", "answers")["uncorrected, all cells, all items"]
    assert row["elsewhere"]["value"] is not None
    assert row["elsewhere"]["interval"] is None
    for name in ("sets-4", "operations-4", "designs-4", "variance-shares"):
        assert any("one checkpoint" in note for note in found.table(name).notes)


def test_skipped_without_such_cells():
    cyclic_only = simulated_panel(2, 1, 20, options=(4,), settings=SETTINGS)
    found = all_orderings(cyclic_only)
    assert found.skipped == (
        "needs first-token cells of three or four options scored under all K! orderings; there are none."
    )
    assert not found.tables


def test_answers_alone_and_unknown_golds(simulated):
    cells = []
    for cell in simulated.cells:
        p = cell.predictions
        bare = dataclasses.replace(p, logprobs=None, gold=np.full(p.n_items, -1))
        cells.append(panel_cell(bare, cell.checkpoint))
    found = all_orderings(Panel(tuple(cells), settings=SETTINGS))
    assert found.parts_skipped == (
        "operations, 4 options: needs cells with log-probabilities under all K! orderings; there are 0.",
        "the design 'gold-balanced, per item', 4 options: needs cells with known golds; there are 0.",
    )
    assert "operations-4" not in [table.name for table in found.tables]
    row = rows(found, "sets-4", "answers")["uncorrected, all cells, all items"]
    assert row["flip_cyclic"]["value"] > 0
    assert row["placement_cyclic"]["value"] is None
    assert rows(found, "flip-rates", "orderings")["cyclic"]["accuracy"]["value"] is None
    assert rows(found, "designs-4", "design")["random, shared"]["per_item_lead"]["value"] is None
    assert finding_text(found)


def finding_text(found):
    return json.dumps(found.as_dict(), allow_nan=False)


def test_numbers_do_not_depend_on_the_run(simulated, finding):
    fewer = [all_orderings(Panel(simulated.cells[:3], settings=SETTINGS)) for _ in range(2)]
    assert finding_text(fewer[0]) == finding_text(fewer[1])
    alone = {point["checkpoint"]: point for point in fewer[0].series["flip-rates"]}
    for point in finding.series["flip-rates"][:3]:
        assert alone[point["checkpoint"]] == point
