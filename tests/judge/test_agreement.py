"""Agreement with people: published figures by each source's own rule, statsmodels, and brute force."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest
from statsmodels.stats.inter_rater import cohens_kappa

from orderbias.errors import ArgumentError
from orderbias.judge.agreement import agreement
from orderbias.judge.calibration import reliability
from orderbias.judge.scoring import scored_pairs, scores
from orderbias.judge.values import Judgments, NotChecked

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data")
LLMBAR = sorted(DATA.glob("llmbar/**/result.json"))


def judged(calls, human=None, **columns):
    calls = np.asarray(calls, np.int8).reshape(-1, 2, 1)
    ids = np.array([str(i) for i in range(len(calls))], object)
    human = None if human is None else np.asarray(human, np.int8)
    return Judgments(ids, calls, human=human, **columns)


def llmbar(path):
    """Winners are of outputs 1 and 2 in either order; in shown terms the second order turns them round."""
    rows = json.loads(path.read_text())
    winner = {"1": 0, "2": 1}
    calls = []
    for row in rows:
        ab, ba = (winner.get(row["results"][0][f"swap = {swap}"]["winner"], -1) for swap in (False, True))
        calls.append((ab, 1 - ba if ba >= 0 else -1))
    return judged(calls, [int(row["label"]) - 1 for row in rows])


@needs_data
@pytest.mark.parametrize("path", LLMBAR, ids=lambda p: "-".join(p.parts[-4:-1]))
def test_llmbar_accuracies(path):
    published = json.loads((path.parent / "statistics.json").read_text())
    read = llmbar(path)
    found = agreement(read, unreadable="wrong", scoring="average", resamples=200)
    keys = {"order_ab": "correct_False", "order_ba": "correct_True", "both": "correct_both"}
    for rule, key in keys.items():
        share = float(published[key].split("=")[1].rstrip("%")) / 100
        assert found.by_rule[rule].value == pytest.approx(share), key
    assert found.accuracy.value == pytest.approx(float(published["correct_average"].rstrip("%")) / 100)
    assert found.n_pairs == read.n_pairs
    # Labels are never a tie, so a verdict that both orders agree in is right exactly where both calls are.
    assert found.by_rule["collapsed"].value == found.by_rule["both"].value == found.by_rule["sum"].value


@needs_data
def test_judgebench_table_by_its_own_rule():
    lines = next(DATA.glob("judgebench/*.jsonl")).read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    code = {"A>B": 0, "B>A": 1, "A=B": 2, None: -1}
    kinds = {"livebench-reasoning": "reasoning", "livebench-math": "math", "livecodebench": "coding"}
    read = judged(
        [(code[row["decision_game1"]], code[row["decision_game2_swapped"]]) for row in rows],
        [code[row["label"]] for row in rows],
        group=np.array([kinds.get(row["source"], "knowledge") for row in rows], object),
    )
    found = agreement(read, scoring="sum")
    assert 100 * found.accuracy.value == pytest.approx(65.71, abs=0.005)
    table = {group.group: (group.accuracy.n, round(100 * group.accuracy.value, 2)) for group in found.groups}
    assert table == {"knowledge": (154, 58.44), "reasoning": (98, 62.24), "math": (56, 82.14), "coding": (42, 78.57)}


@pytest.fixture(scope="module")
def pandalm():
    if not DATA.exists():
        pytest.skip("needs ../shared/data")
    rows = [json.loads(line) for line in (DATA / "pandalm/human_and_judges.jsonl").read_text().splitlines()]
    code = {0: 2, 1: 0, 2: 1, "0": 2, "1": 0, "2": 1, "Tie": 2}
    raters = np.array([[code[row[f"rater{i}"]] for i in (1, 2, 3)] for row in rows], np.int8)
    human = [Counter(rater).most_common(1)[0][0] for rater in raters.tolist()]

    def judge(column):
        return judged([(code.get(row[column], -1), -2) for row in rows], human, raters=raters)

    return judge


def test_pandalm_single_calls_and_raters(pandalm):
    found = agreement(pandalm("pandalm7b_verdict"))
    assert found.scoring == "single-call"
    assert 100 * found.accuracy.value == pytest.approx(66.77, abs=0.005)
    assert found.by_rule["collapsed"] is None
    assert found.by_rule["order_ab"].value == found.accuracy.value
    assert found.by_rule["order_ba"].value is None
    kappas = [found.raters.people[pair].value for pair in ((0, 1), (0, 2), (1, 2))]
    assert sorted(kappas) == pytest.approx([0.852, 0.862, 0.879], abs=5e-4)
    assert found.raters.people_mean.value == pytest.approx(np.mean(kappas))
    assert found.kappa.value < found.raters.people_mean.interval[0]
    assert [sum(row.people[i] for row in found.verdicts) for i in range(3)] == [422, 472, 105]


def test_pandalm_garbage_counts_as_wrong_by_its_rule(pandalm):
    wrong, left_out = (agreement(pandalm("gpt35_verdict"), unreadable=rule) for rule in ("wrong", "exclude"))
    assert 100 * wrong.accuracy.value == pytest.approx(69.77, abs=0.005)
    assert (wrong.n_pairs, left_out.n_pairs, left_out.n_left_out) == (999, 974, 25)
    assert wrong.accuracy.value * 999 == pytest.approx(left_out.accuracy.value * 974)
    assert wrong.kappa.value < left_out.kappa.value
    assert wrong.verdicts[-1].verdict == "unreadable"
    assert wrong.verdicts[-1].agree.value == 0


#: Pairs of calls in shown terms and a label; what each rule gives.
EXAMPLES = [
    ((0, 1), 0, {"collapsed": 1, "sum": 1, "average": 1, "both": 1}),
    ((0, 0), 0, {"collapsed": 0, "sum": 0, "average": 0.5, "both": 0}),
    ((0, 2), 0, {"collapsed": 0, "sum": 1, "average": 0.5, "both": 0}),
    ((1, 2), 0, {"collapsed": 0, "sum": 0, "average": 0, "both": 0}),
    ((2, 2), 0, {"collapsed": 0, "sum": 0, "average": 0, "both": 0}),
    ((2, 2), 2, {"collapsed": 1, "sum": 1, "average": 1, "both": 1}),
    ((0, 0), 2, {"collapsed": 1, "sum": 0, "average": 0, "both": 0}),
    ((0, 2), 2, {"collapsed": 1, "sum": 0, "average": 0.5, "both": 0}),
]


@pytest.mark.parametrize(("calls", "label", "expected"), EXAMPLES)
def test_each_rule_on_one_pair(calls, label, expected):
    pair = judged([calls], [label])
    found = scores(scored_pairs(pair, pair.human))
    assert {rule: found[rule].item() for rule in expected} == expected


@pytest.mark.parametrize(
    ("rule", "n", "collapsed", "average"),
    [("exclude", 1, 1.0, 1.0), ("wrong", 3, 1 / 3, 0.5), ("consistent", 2, 1.0, 1.0)],
)
def test_unreadable_verdicts(rule, n, collapsed, average):
    pairs = judged([(0, 1), (0, -1), (-1, -1), (0, -2)], [0, 0, 0, 0])
    found = agreement(pairs, unreadable=rule, resamples=0)
    assert found.n_pairs == n
    assert found.by_rule["collapsed"].value == pytest.approx(collapsed)
    assert found.by_rule["average"].value == pytest.approx(average)


CALL = st.integers(-2, 2)
PAIRS = st.lists(st.tuples(CALL, CALL, st.integers(-1, 2), st.sampled_from("xyz")), min_size=1, max_size=40)


@given(PAIRS)
def test_accuracy_kappa_and_groups_against_brute_force(rows):
    calls, human, group = [r[:2] for r in rows], [r[2] for r in rows], [r[3] for r in rows]
    if not any(-2 not in call for call in calls):
        return
    kept = []
    for ab, ba, label, name in rows:
        if ab >= 0 and ba >= 0 and label >= 0:
            second = {0: 1, 1: 0, 2: 2}[ba]
            kept.append((ab if ab == second else 2, label, name))
    found = agreement(judged(calls, human, group=np.array(group, object)), resamples=0)
    if not kept:
        assert isinstance(found, NotChecked)
        return
    right = sum(verdict == label for verdict, label, _ in kept)
    exact = binomtest(right, len(kept)).proportion_ci()
    assert found.accuracy.value == right / len(kept)
    assert found.accuracy.interval == pytest.approx((exact.low, exact.high))
    assert found.n_pairs + found.n_left_out + found.n_unlabelled == len(rows)
    table = np.zeros((3, 3))
    for verdict, label, _ in kept:
        table[verdict, label] += 1
    if (table.sum(axis=0) @ table.sum(axis=1)) < table.sum() ** 2:
        with np.errstate(all="ignore"):
            assert found.kappa.value == pytest.approx(cohens_kappa(table).kappa)
    else:
        assert found.kappa.value is None
    expected = {}
    for name in sorted({name for *_, name in kept}):
        mine = [verdict == label for verdict, label, other in kept if other == name]
        expected[name] = (sum(mine) / len(mine), len(mine))
    assert {g.group: (g.accuracy.value, g.accuracy.n) for g in found.groups} == expected
    json.dumps(found.as_dict(), allow_nan=False)


@given(PAIRS)
def test_naming_the_members_the_other_way_changes_nothing(rows):
    calls, human = np.array([r[:2] for r in rows]), np.array([r[2] for r in rows])
    other = np.array([1, 0, 2, -1])[human]
    first = agreement(judged(calls, human), resamples=0)
    second = agreement(judged(calls[:, ::-1], other), resamples=0)
    if isinstance(first, NotChecked):
        assert isinstance(second, NotChecked)
        return
    assert first.accuracy == second.accuracy
    assert first.kappa.value == pytest.approx(second.kappa.value)


def test_table_of_verdicts_tells_ties_from_contradictions():
    found = agreement(judged([(0, 1)] * 4 + [(2, 2)] * 3 + [(0, 0)] * 2, [0, 0, 0, 1, 2, 2, 0, 0, 1]))
    table = {row.verdict: (row.people, row.agree.value) for row in found.verdicts}
    assert table == {
        "A": ((3, 1, 0), 0.75),
        "B": ((0, 0, 0), None),
        "tie": ((2, 1, 2), 0.4),
        "tie in both orders": ((1, 0, 2), 2 / 3),
        "orders disagree": ((1, 1, 0), 0.0),
    }


def with_probabilities(p_a, human, effect=0.0):
    """Log-probabilities of a judge that prefers A with probability ``p_a`` and leans to first by ``effect``."""
    odds = np.log(p_a / (1 - p_a))
    first = np.stack([expit(odds + effect), expit(-odds + effect)], axis=1)
    with np.errstate(divide="ignore"):
        logprobs = np.log(np.stack([first, 1 - first, np.zeros_like(first)], axis=2))
    calls = (first < 0.5).astype(np.int8)
    return judged(calls, human, logprobs=logprobs)


def test_a_calibrated_judge_is_found_so_whatever_its_lean():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 20_000)
    human = np.where(rng.random(len(p)) < p, 0, 1)
    found = reliability(with_probabilities(p, human, effect=1.5), human.astype(np.int8))
    assert len(found.bins) == 10
    inside = sum(b.people.interval[0] <= b.mean <= b.people.interval[1] for b in found.bins)
    assert inside >= 8
    assert found.error_by_chance < 0.01
    assert found.expected_calibration_error < 2 * found.error_by_chance


def test_calibration_error_by_hand():
    human = np.array([0, 0, 1, 1, 0, 2], np.int8)
    found = reliability(with_probabilities(np.array([0.85, 0.85, 0.85, 0.15, 0.15, 0.5]), human), human)
    assert [(b.low, b.people.n, round(b.people.value, 4)) for b in found.bins] == [(0.1, 2, 0.5), (0.8, 3, 0.6667)]
    assert found.expected_calibration_error == pytest.approx((2 * 0.35 + 3 * (0.85 - 2 / 3)) / 5)
    assert found.n_pairs == 5


def test_what_is_missing_is_named():
    assert agreement(judged([(0, 1)])) == NotChecked("needs `human`")
    assert "label" in agreement(judged([(0, 1)], [-1])).why
    assert "both orders" in agreement(judged([(0, -2)], [0]), scoring="sum").why
    found = agreement(judged([(0, 1), (0, 0)], [0, 1]), resamples=0)
    assert found.as_dict()["not_checked"] == {
        "raters": "needs two or more `raters`",
        "reliability": "needs the probabilities of the verdicts",
    }


@pytest.mark.parametrize("option", [{"scoring": "majority"}, {"unreadable": "drop"}, {"level": 2.0}, {"seed": -1}])
def test_bad_options(option):
    with pytest.raises(ArgumentError, match=next(iter(option))):
        agreement(judged([(0, 1)], [0]), **option)


def test_all_right_is_not_certain():
    found = agreement(judged([(0, 1)] * 12 + [(1, 0)] * 12, [0] * 12 + [1] * 12), scoring="average")
    for estimate in (found.accuracy, found.kappa, *found.by_rule.values()):
        assert estimate.value == 1
        assert estimate.interval[0] < 1
