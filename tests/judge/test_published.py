"""Published verdicts, read as their authors wrote them, give the published figures again, each by its source's rule."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare
from statsmodels.stats.inter_rater import cohens_kappa

from orderbias.cells import cells
from orderbias.judge import in_pair_terms, pair_consistency, read_judgments
from orderbias.records import Record, from_rows

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data")


def kappa(first, second):
    table = np.zeros((3, 3))
    np.add.at(table, (first, second), 1)
    return cohens_kappa(table).kappa


LLMBAR = sorted(DATA.glob("llmbar/**/result.json"))


@pytest.mark.parametrize("path", LLMBAR, ids=lambda p: "-".join(p.parts[-4:-1]))
def test_llmbar_statistics(path):
    published = json.loads((path.parent / "statistics.json").read_text())
    (read,) = read_judgments([path])
    members = in_pair_terms(read.calls)
    right = members == read.human[:, None]
    counted = {
        "correct_False": right[:, 0].sum(),
        "correct_True": right[:, 1].sum(),
        "correct_both": right.all(axis=1).sum(),
        # An unreadable winner is equal to nothing.
        "equal": pair_consistency(read, "wrong")[0],
    }
    for key, count in counted.items():
        assert published[key].startswith(f"{count} / {read.n_pairs} ="), key
    assert float(published["correct_average"].rstrip("%")) == pytest.approx(100 * right.mean())
    assert pair_consistency(read, "wrong")[1] == read.n_pairs
    if (read.calls >= 0).all():
        assert published["kappa_agreement"] == pytest.approx(kappa(*members.T))


def test_llmbar_files_of_all_sets_are_one_judge_each():
    assert len(LLMBAR) == 34
    read = {judge.judge: judge for judge in read_judgments(LLMBAR)}
    assert {name: judge.n_pairs for name, judge in read.items()} == {
        **dict.fromkeys(("GPT-4 Vanilla", "ChatGPT Vanilla", "LLaMA2 Vanilla", "Falcon Vanilla"), 419),
        **dict.fromkeys(("GPT-4 CoT", "Falcon CoT"), 419),
        **dict.fromkeys(("GPT-4 Vanilla_NoRules", "ChatGPT Vanilla_NoRules"), 266),
    }
    sizes = {"Natural": 100, "Neighbor": 134, "GPTInst": 92, "GPTOut": 47, "Manual": 46}
    assert Counter(read["Falcon CoT"].group) == sizes
    assert sum((judge.calls == -1).sum() for judge in read.values()) == 5
    assert not read["GPT-4 Vanilla"].identical.any()


@pytest.mark.parametrize(
    ("judge", "share"),
    [
        ("Natural/GPT-4/Vanilla", 0.505),
        ("Natural/ChatGPT/Vanilla", 0.605),
        ("Natural/Falcon/Vanilla", 0.740),
        ("Natural/Falcon/CoT", 0.930),
        ("Processed_FairEval/ChatGPT/Vanilla_NoRules", 0.909),
        ("Processed_FairEval/GPT-4/Vanilla_NoRules", 0.621),
    ],
)
def test_llmbar_first_shown(judge, share):
    (read,) = read_judgments([DATA / "llmbar" / judge / "result.json"])
    assert (read.calls == 0).mean() == pytest.approx(share, abs=5e-4)


#: Consistent calls, extracted calls, and calls of pairs in which both were read and agree.
SHI = {
    "MTBench_gpt-4-0613": (3914, 4800, 3914),
    "MTBench_gemini-pro": (2751, 4787, 2738),
    "DevBench_gpt-3.5-turbo-0125": (1698, 2240, 1698),
    "DevBench_gpt-3.5-turbo-1106": (1710, 2240, 1710),
    "DevBench_gemini-pro": (1466, 2238, 1464),
}


@pytest.mark.parametrize("judge", SHI)
def test_judging_the_judges(judge):
    (read,) = read_judgments([DATA / "judging_the_judges" / f"{judge}.jsonl"])
    consistent, extracted, both = SHI[judge]
    assert read.judge == judge
    assert read.n_pairs == (2400 if judge.startswith("MTBench") else 1120)
    assert pair_consistency(read, "consistent") == (consistent, extracted)
    assert pair_consistency(read)[0] * 2 == both
    log = (DATA / "judging_the_judges" / f"{judge}.log.txt").read_text()
    assert f"{consistent} out of {extracted} answers are consistent" in log


def test_judging_the_judges_side_by_side():
    read = read_judgments(sorted((DATA / "judging_the_judges").glob("*.jsonl")))
    assert {judge.judge for judge in read} == set(SHI)
    by_name = {judge.judge: judge for judge in read}
    one, other = by_name["MTBench_gpt-4-0613"], by_name["MTBench_gemini-pro"]
    assert set(one.pair_ids) == set(other.pair_ids)
    assert len({judge.data_hash for judge in read}) == 1


#: How JudgeBench sums its sources up.
JUDGEBENCH_TASKS = {"mmlu-pro": "knowledge", "livebench-reasoning": "reasoning", "livebench-math": "math"}
JUDGEBENCH = {
    "overall": (65.71, 350),
    "knowledge": (58.44, 154),
    "reasoning": (62.24, 98),
    "math": (82.14, 56),
    "coding": (78.57, 42),
}


def judgebench_task(source):
    return next((task for start, task in JUDGEBENCH_TASKS.items() if source.startswith(start)), "coding")


@pytest.fixture(scope="module")
def judgebench():
    (read,) = read_judgments(sorted((DATA / "judgebench").glob("*.jsonl")))
    return read


def test_judgebench_accuracy(judgebench):
    """Plus one for each order that agrees with the label, minus one for its opposite: right if the sum is positive."""
    members = in_pair_terms(judgebench.calls)
    label = judgebench.human[:, None]
    right = ((members == label).astype(int) - (members == 1 - label)).sum(axis=1) > 0
    tasks = np.array([judgebench_task(source) for source in judgebench.group])
    for task, (published, size) in JUDGEBENCH.items():
        chosen = right if task == "overall" else right[tasks == task]
        assert chosen.size == size
        assert 100 * chosen.mean() == pytest.approx(published, abs=0.005), task


def test_judgebench_consistency(judgebench):
    assert judgebench.judge == "o1-mini-2024-09-12"
    consistent, pairs = pair_consistency(judgebench)
    assert (pairs - consistent, pairs) == (110, 350)
    assert [(judgebench.calls == code).sum() for code in (0, 1)] == [367, 289]


@pytest.fixture(scope="module")
def pandalm():
    read = read_judgments([DATA / "pandalm" / "human_and_judges.jsonl"])
    return {judge.judge: judge for judge in read}


def test_pandalm_people(pandalm):
    assert list(pandalm) == ["gpt35", "pandalm7b"]
    read = pandalm["gpt35"]
    assert [(read.human == code).sum() for code in (2, 0, 1)] == [105, 422, 472]
    raters = read.raters.T
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert sorted(round(kappa(raters[a], raters[b]), 3) for a, b in pairs) == [0.852, 0.862, 0.879]
    assert np.array_equal(read.human, pandalm["pandalm7b"].human)


def test_pandalm_judges(pandalm):
    agreement = {name: 100 * (read.calls[:, 0] == read.human).mean() for name, read in pandalm.items()}
    assert agreement == pytest.approx({"gpt35": 69.77, "pandalm7b": 66.77}, abs=0.005)
    assert (pandalm["gpt35"].calls == -1).sum() == 25
    assert not pandalm["gpt35"].complete.any()
    models = Counter(zip(pandalm["gpt35"].model_a, pandalm["gpt35"].model_b, strict=True))
    assert models["bloom-7b", "llama-7b"] == 111
    assert (pandalm["gpt35"].verdicts[:, 1] == -2).all()


#: Of 48 line-ups: the same winner in all four orders; how often each slot won; chi-squared; halves and their p.
SLOTS = {
    "gpt-5.6-sol": (40, [50, 53, 46, 43], 1.2, (103, 89, 0.35), 1.23),
    "claude-opus-4.8": (14, [43, 37, 56, 56], 5.7, (80, 112, 0.025), 1.90),
    "gemini-3.5-flash": (18, [67, 38, 44, 43], 10.5, (105, 87, 0.22), 1.79),
    "deepseek-v4-flash": (15, [57, 61, 36, 38], 10.3, (118, 74, 0.0018), 1.88),
    "qwen3.7-max": (12, [79, 54, 43, 16], 42.6, None, None),
}


@pytest.fixture(scope="module")
def slots():
    """Line-ups of four as items of four options: candidates in alphabetical order are the contents."""
    rows = [json.loads(line) for line in (DATA / "judge4_slots" / "verdicts.jsonl").read_text().splitlines()]
    kept = {}
    for row in rows:  # two calls were made again after an unreadable reply
        key = row["judge"], row["pid"], row["rotation"]
        if key not in kept or row["winner_model"] is not None:
            kept[key] = row
    records = [
        Record(
            model=row["judge"].split("/")[1],
            benchmark="line-ups",
            readout="verdict",
            item_id=str(row["pid"]),
            positions=tuple(row["order"].index(candidate) for candidate in sorted(row["order"])),
            gold=None,
            place=row["order"].index(row["winner_model"]),
            status="ok",
        )
        for row in kept.values()
    ]
    return {cell.model: cell for cell in cells(from_rows(records)).predictions}


@pytest.mark.parametrize("judge", SLOTS)
def test_judges_of_four_candidates(slots, judge):
    from orderbias import measure

    same, counts, chi2, halves, distinct = SLOTS[judge]
    found = measure(slots[judge], resamples=0)
    assert found.n_items == 48
    assert (1 - found.flip_rate) * 48 == pytest.approx(same)
    assert np.array(found.selection_share) * 192 == pytest.approx(counts)
    assert chisquare(counts).statistic == pytest.approx(chi2, abs=0.05)
    if halves:
        first, second, p_value = halves
        assert (sum(counts[:2]), sum(counts[2:])) == (first, second)
        assert binomtest(first, first + second).pvalue == pytest.approx(p_value, rel=0.03)
        winners = slots[judge].choice
        assert np.mean([len(set(row)) for row in winners]) == pytest.approx(distinct, abs=0.006)
