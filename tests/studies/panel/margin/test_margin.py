"""The canonical margin: every AUC by pairs in plain loops, what is planted found, and nothing where nothing is."""

import math
from dataclasses import replace

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel
from scipy.stats import entropy, mannwhitneyu

from orderbias.operations import take_items
from orderbias.studies.findings import Number
from orderbias.studies.panel import Panel, Settings, panel_cell
from orderbias.studies.panel.margin import accuracy_thirds, margin, states_by_gap
from orderbias.studies.panel.margin.items import STABLE, margin_items, others_accuracy
from orderbias.studies.panel.values import Pool

SETTINGS = Settings(resamples=400, seed=1)


def changed(panel, **how):
    """Return a panel whose predictions are changed cell by cell; ``how`` maps a field to a function of the cell's."""
    cells = [
        panel_cell(replace(c.predictions, **{k: f(c.predictions) for k, f in how.items()}), c.checkpoint)
        for c in panel.cells
    ]
    return Panel(tuple(cells), settings=panel.settings)


def rows(finding, table):
    """Return the rows of a table by their words."""
    found = {}
    for row in finding.table(table).rows:
        words = tuple(e for e in row if isinstance(e, str))
        found[words] = row[len(words) :]
    return found


def pair_auc(scores, positive, strata=None):
    """Count won pairs one by one."""
    won = pairs = 0
    for a, is_a in zip(range(len(scores)), positive, strict=True):
        for b, is_b in zip(range(len(scores)), positive, strict=True):
            if is_a and not is_b and (strata is None or strata[a] == strata[b]):
                pairs += 1
                won += 1 if scores[a] > scores[b] else 0.5 if scores[a] == scores[b] else 0
    return won / pairs if pairs else math.nan


def facts(cell, cells):
    """Read everything of each item of a cell in plain loops."""
    p, found = cell.predictions, []
    slots = [s for s in range(p.n_orderings) if p.presented[s]]
    for i in range(p.n_items):
        shares = np.exp(p.logprobs[i, slots[0]])
        shares = shares / shares.sum()
        if np.isnan(shares).any():
            continue
        answers = [int(p.choice[i, s]) for s in slots]
        right = [a == p.gold[i] for a in answers]
        others = []
        for other in cells:
            q = other.predictions
            if other is cell or other.benchmark != cell.benchmark or other.n_options != cell.n_options:
                continue
            for j in range(q.n_items):
                if q.item_ids[j] == p.item_ids[i]:
                    hits = [q.choice[j, s] == q.gold[j] for s in range(q.n_orderings) if q.presented[s]]
                    others.append(sum(hits) / len(hits))
        top = sorted(shares)[::-1]
        found.append({
            "gap": top[0] - top[1], "entropy": entropy(shares, base=2), "flip": len(set(answers)) > 1,
            "others": len(set(answers[1:])) > 1, "right": sum(right), "canonical": right[0], "all": all(right),
            "elsewhere": sum(others) / len(others) if len(others) >= 3 else None,
        })  # fmt: skip
    return found


def expected_auc(items, name, score):
    """Return one comparison of a cell by loops."""
    kept = {
        "wrong-only": [i for i in items if i["flip"] or not i["all"]],
        "correct-only": [i for i in items if i["flip"] or i["all"]],
        "canonical-right": [i for i in items if i["canonical"]],
        "canonical-wrong": [i for i in items if not i["canonical"]],
        "never": [i for i in items if i["right"] == 0],
        "strata": [i for i in items if i["elsewhere"] is not None],
        "all": items,
    }
    part, outcome, stratified = COMPARISONS[name]
    chosen = kept[part]
    strata = None
    if stratified:
        strata = [(i["canonical"], min(4, sum(i["elsewhere"] >= b / 5 - 1e-9 for b in range(1, 5)))) for i in chosen]
    sign = -1 if score == "gap" else 1
    return pair_auc([sign * i[score] for i in chosen], [i[outcome] for i in chosen], strata)


COMPARISONS = {
    "flipping against stable": ("all", "flip", False),
    "flipping against stable-wrong": ("wrong-only", "flip", False),
    "flipping against stable-correct": ("correct-only", "flip", False),
    "left out: the other answers disagree against agree": ("all", "others", False),
    "left out, canonical answer correct": ("canonical-right", "others", False),
    "left out, canonical answer wrong": ("canonical-wrong", "others", False),
    "wrong under every ordering: moving against one wrong answer": ("never", "flip", False),
    "left out, within strata of own correctness and others' accuracy": ("strata", "others", True),
    "flipping against stable, within strata of own correctness and others' accuracy": ("strata", "flip", True),
}


@pytest.fixture(scope="module")
def small():
    """Five checkpoints, items in an order of each cell's own, some canonical log-probabilities unknown or rounded."""
    panel = simulated_panel(5, 3, 40, settings=SETTINGS, options=(4, 3, 2))
    rng = np.random.default_rng(7)

    def spoilt(p):
        logprobs = p.logprobs.round(1) + 0.7  # not renormalised, with ties
        logprobs[rng.integers(0, p.n_items, 3), 0] = np.nan
        return logprobs

    panel = changed(panel, logprobs=spoilt)
    cells = []
    for cell in panel.cells:
        order = rng.permutation(cell.n_items)[: 34 + len(cells) % 6]
        cells.append(panel_cell(take_items(cell.predictions, order), cell.checkpoint))
    return Panel(tuple(cells), settings=SETTINGS)


def test_every_median_auc_by_pairs(small):
    finding = margin(small)
    items = [facts(cell, small.cells) for cell in small.cells]
    main, controls = rows(finding, "canonical-margin"), rows(finding, "margin-controls")
    many = [cell.n_options >= 3 for cell in small.cells]
    seen = 0
    for name in COMPARISONS:
        for found, cells in ((main.get((name, "all")), items), (controls.get((name,)), None)):
            if found is None:
                continue
            part = cells or [i for i, m in zip(items, many, strict=True) if m]
            for entry, score in zip(found, ("gap", "entropy"), strict=False):
                aucs = [expected_auc(cell, name, score) for cell in part]
                assert entry.value == pytest.approx(np.nanmedian(aucs)), name
                assert found[2] == np.sum(~np.isnan(aucs))
            seen += 1
    assert seen == 10
    assert "under the canonical ordering: " in " ".join(finding.table("canonical-margin").notes)


def test_thirds_of_accuracy_hold_every_cell_once(small):
    main = rows(margin(small), "canonical-margin")
    accuracy = np.array([cell.measures["accuracy"] for cell in small.cells])
    order = np.argsort(accuracy)
    least = [small.cells[i] for i in order[:5]]
    aucs = [expected_auc(facts(cell, small.cells), STABLE, "gap") for cell in least]
    assert main[STABLE, "least accurate third"][0].value == pytest.approx(np.nanmedian(aucs))
    counts = [values[2] for words, values in main.items() if words[0] == STABLE]
    assert counts[0] == sum(counts[1:])
    assert accuracy_thirds(np.array([0.5, 0.5, 0.5])).tolist() == [0, 0, 0]


def test_an_auc_is_mann_whitneys(small):
    items = margin_items(small.cells[0], others_accuracy(small.pool())[0])
    flips, stays = items.gap[items.flip], items.gap[~items.flip]
    u = mannwhitneyu(stays, flips).statistic
    assert expected_auc(facts(small.cells[0], small.cells), STABLE, "gap") == pytest.approx(u / len(flips) / len(stays))


def test_shares_by_gap_by_loops(small):
    elsewhere = others_accuracy(small.pool())
    cells = [margin_items(cell, e) for cell, e in zip(small.cells, elsewhere, strict=True)]
    points = states_by_gap(cells, 4)
    for b, point in enumerate(points):
        shares = []
        for cell in small.cells:
            states = [
                "flipping" if i["flip"] else "stable_correct" if i["all"] else "stable_wrong"
                for i in facts(cell, small.cells)
                if b / 4 <= i["gap"] < (b + 1) / 4 or (b == 3 and i["gap"] == 1)
            ]
            if states:
                shares.append([states.count(s) / len(states) for s in ("stable_correct", "flipping", "stable_wrong")])
        values = [point[s] for s in ("stable_correct", "flipping", "stable_wrong")]
        assert values == pytest.approx(np.mean(shares, axis=0))
        assert point["n_cells"] == len(shares)
        assert sum(values) == pytest.approx(1)
    assert sum(p["n_items"] for p in points) == sum(c.n_items for c in cells)


def test_close_options_flip_where_that_is_planted_and_margins_of_other_items_say_nothing():
    panel = simulated_panel(10, 4, 150, settings=SETTINGS, laws=Laws(wobble=0.7), design="cyclic")
    found = rows(margin(panel), "canonical-margin")[STABLE, "all"]
    assert found[0].low > 0.65
    assert found[1].low > 0.65
    rng = np.random.default_rng(2)
    # The log-probabilities of another item of the cell.
    other = changed(panel, logprobs=lambda p: p.logprobs[rng.permutation(p.n_items)])
    nothing = margin(other)
    for table in ("canonical-margin", "margin-controls"):
        for words, (gap, *_) in rows(nothing, table).items():
            if words[-1] in ("all", words[0]) and "minus" not in words[0]:
                assert abs(gap.value - 0.5) < 0.06, words
    assert rows(nothing, "canonical-margin")[STABLE, "all"][0].low < 0.5 + 0.02


def test_flips_of_the_canonical_answer_alone_are_no_left_out_flips():
    """Only the canonical answer moves, and only where its gap is small: circular, and the left-out outcome sees it."""
    panel = simulated_panel(4, 2, 120, settings=SETTINGS, laws=Laws(lean=0, wobble=0), design="cyclic", options=(4,))
    rng = np.random.default_rng(4)

    def choices(p):
        choice, top = p.choice.copy(), np.sort(np.exp(p.logprobs[:, 0]), axis=1)
        moves = top[:, -1] - top[:, -2] < 0.3
        choice[moves, 0] = (choice[moves, 0] + 1) % 4
        noise = rng.random(p.n_items) < 0.3  # others' answers move whatever the gap
        choice[noise, 1] = (choice[noise, 1] + 2) % 4
        return choice

    controls = rows(margin(changed(panel, choice=choices)), "margin-controls")
    assert controls[STABLE,][0].value > 0.7
    left_out = controls["left out: the other answers disagree against agree",][0]
    assert left_out.low < 0.5 < left_out.high


def test_sentences_say_the_numbers_of_the_tables(small):
    finding = margin(small)
    gap = rows(finding, "margin-controls")["left out: canonical answer correct minus wrong",][0]
    assert f"(difference {gap.value:.2f} [{gap.low:.2f}, {gap.high:.2f}])" in " ".join(finding.sentences)
    assert finding.table("margin-controls").resampled == "checkpoints, each with all its cells"
    assert margin(small).as_dict() == finding.as_dict()


def test_what_is_missing_is_said():
    panel = simulated_panel(3, 2, 30, settings=SETTINGS, options=(2,))
    two_options = margin(panel)
    assert [t.name for t in two_options.tables] == ["canonical-margin"]
    reason = "The controls of the gap need cells with at least three options; there are 0."
    assert two_options.parts_skipped == (reason,)
    silent = changed(panel, logprobs=lambda p: None)
    assert margin(silent).skipped == (
        "needs first-token cells with log-probabilities under the cyclic orderings; there are none."
    )
    assert margin(silent).tables == ()
    half = Panel((*panel.cells[:3], *silent.cells[3:]), settings=SETTINGS)
    assert "Cells left out, without log-probabilities: 3." in margin(half).table("canonical-margin").notes
    assert margin(Panel((), settings=SETTINGS)).skipped


def test_without_golds_only_flips_are_told_apart():
    panel = simulated_panel(4, 2, 60, settings=SETTINGS, options=(4,))
    finding = margin(changed(panel, gold=lambda p: np.full(p.n_items, -1)))
    assert list(rows(finding, "canonical-margin")) == [(STABLE, "all")]
    assert [row[0] for row in finding.table("margin-controls").rows] == [
        STABLE, "left out: the other answers disagree against agree",
    ]  # fmt: skip
    assert len(finding.parts_skipped) == 2 + 5
    assert not finding.series


def test_one_checkpoint_has_no_interval():
    finding = margin(simulated_panel(1, 3, 60, settings=SETTINGS))
    entry = rows(finding, "canonical-margin")[STABLE, "all"][0]
    assert entry == Number(entry.value)
    assert "There is one checkpoint" in " ".join(finding.table("canonical-margin").notes)
    assert any("strata" in part for part in finding.parts_skipped)  # no three others


def test_items_of_one_id_are_others_only_within_their_benchmark():
    panel = simulated_panel(4, 2, 30, settings=SETTINGS, options=(4,))
    found = others_accuracy(Pool(panel.cells))
    one = [c for c in panel.cells if c.benchmark == "benchmark-1"]
    correct = np.array([(c.predictions.choice[:, :4] == c.predictions.gold[:, None]).mean(axis=1) for c in one])
    assert found[5] == pytest.approx((correct.sum(axis=0) - correct[1]) / 3)
    assert np.isnan(np.concatenate(others_accuracy(Pool(panel.cells[:3])))).all()
