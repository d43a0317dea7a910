"""Real answers of published models, converted to records in three formats, give the published figures again."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from orderbias.cells import cells
from orderbias.predictions import UNPARSED
from orderbias.records import Record, from_rows, read_records, write_records

DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"

#: Accuracy in %, SD of the four recalls in points, share of items whose choice is not the same in all orders.
BASE_RATE = {
    ("cloze", "GPT2"): (21.87, 41.95, 0.770),
    ("cloze", "LLaMa2-7B"): (34.77, 18.51, 0.830),
    ("cloze", "Mistral-7B"): (35.70, 31.75, 0.705),
    ("cloze", "Phi-2"): (40.37, 10.31, 0.654),
    ("cloze", "SOLAR-10-7B"): (44.11, 21.51, 0.626),
    ("cf", "GPT2"): (24.11, 21.76, 0.843),
    ("cf", "LLaMa2-7B"): (28.22, 18.61, 0.817),
    ("cf", "Mistral-7B"): (27.29, 15.58, 0.871),
    ("cf", "Phi-2"): (27.29, 9.04, 0.785),
    ("cf", "SOLAR-10-7B"): (32.71, 8.81, 0.892),
}
#: Mean accuracy in % over the shuffles and its sample SD, as published; two digits where more are given.
SHUFFLED_ACCURACY = {
    "Claude 3.5 Sonnet": (87.3, 1.53),
    "Qwen2.5-72B": (86.6, 0.89),
    "Qwen2-72B": (84.4, 2.3),
    "Qwen2.5-32B": (84.2, 1.3),
    "405B": (84.0, 2.35),
    "3.1 70B": (82.6, 2.79),
    "Llama-3.1-8B": (77.6, 1.82),
    "Phi-3-medium": (77.4, 2.61),
    "Qwen2.5-14B": (75.8, 1.1),
    "Phi-3-vision": (72.6, 2.19),
    "Llama-3.2-1B": (60.0, 4.47),
    "phi-4": (78.8, 2.95),
}
#: Items whose choice differs among the distinct orders, of those answered in all of them.
SHUFFLED_FLIPS = {
    "Claude 3.5 Sonnet": (9, 100),
    "Llama-3.2-1B": (55, 100),
    "Phi-3-vision": (29, 100),
    "Llama-3.1-8B": (26, 100),
    "Qwen2.5-72B": (9, 99),
    "phi-4": (12, 88),
}

FORMATS = (".jsonl", ".csv", ".parquet")


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def positions_of(perm):
    """``perm[p]`` is the content at place ``p``; a record holds the inverse."""
    return tuple(perm.index(content) for content in range(len(perm)))


def base_rate_rows(style, model):
    seen = Counter()
    for row in lines(DATA / "base_rate_mmlu" / f"{style}_{model}.jsonl"):
        item = f"{row['subject']}/{row['index']}"
        positions = positions_of(row["perm"])
        yield Record(
            model=model, benchmark="mmlu-five", readout=style, item_id=item, group=row["subject"],
            positions=positions, gold=row["perm"][row["gold_pos"]], logprobs=tuple(row["logprobs"]),
            repeat=seen[item, positions],
        )  # fmt: skip
        seen[item, positions] += 1


@pytest.fixture(scope="module")
def base_rate(tmp_path_factory):
    """All ten files as one value; written to each format and read back once."""
    if not (DATA / "base_rate_mmlu").exists():
        pytest.skip("needs ../shared/data/base_rate_mmlu")
    rows = [row for style, model in BASE_RATE for row in base_rate_rows(style, model)]
    read = []
    for suffix in FORMATS:
        path = tmp_path_factory.mktemp("base_rate") / f"answers{suffix}"
        write_records(path, from_rows(rows))
        read.append(read_records(path))
    return read


def same(one, other):
    for name in ("positions", "offsets", "gold", "place", "ties", "status", "repeat", "logprobs"):
        left, right = getattr(one, name), getattr(other, name)
        np.testing.assert_array_equal(left, right, err_msg=name)
    for name in ("model", "benchmark", "readout", "item_id", "group"):
        assert getattr(one, name).to_list() == getattr(other, name).to_list()


def test_the_formats_agree_on_real_log_probabilities(base_rate):
    assert len(base_rate[0]) == 10 * 2675
    for other in base_rate[1:]:
        same(base_rate[0], other)


def test_base_rate_figures(base_rate):
    """The source's share of moving items is over all five rows, some of which ask one ordering twice."""
    records = base_rate[0]
    choice = (records.positions.reshape(-1, 4) == records.place[:, None]).argmax(axis=1)
    original = (records.positions.reshape(-1, 4) == np.arange(4)).all(axis=1) & (records.repeat == 0)
    models, styles = np.array(records.model.to_list()), np.array(records.readout.to_list())
    for (style, model), (accuracy, recall_sd, moving) in BASE_RATE.items():
        ours = (models == model) & (styles == style)
        right, gold = (choice == records.gold)[ours & original], records.gold[ours & original]
        assert len(right) == 535
        assert 100 * right.mean() == pytest.approx(accuracy, abs=0.005)
        assert np.std([100 * right[gold == j].mean() for j in range(4)]) == pytest.approx(recall_sd, abs=0.005)
        by_item = {}
        for code, content in zip(records.item_id.codes[ours], choice[ours], strict=True):
            by_item.setdefault(code, set()).add(content)
        assert np.mean([len(contents) > 1 for contents in by_item.values()]) == pytest.approx(moving, abs=0.0005)


def test_base_rate_cells_hold_the_first_answer_to_each_distinct_ordering(base_rate):
    found = cells(base_rate[0])
    assert len(found.predictions) == 10
    for cell in found.predictions:
        assert cell.per_item
        assert cell.n_items == 535
        assert cell.usable.all()
        sizes = cell.asked.sum(axis=1)
        assert (sizes.min(), sizes.max()) == (2, 4)
        first = {}
        for row in lines(DATA / "base_rate_mmlu" / f"{cell.readout}_{cell.model}.jsonl"):
            place = max(range(4), key=row["logprobs"].__getitem__)  # the first of equals, as ours
            item = f"{row['subject']}/{row['index']}"
            first.setdefault((item, positions_of(row["perm"])), row["perm"][place])
        ours = {
            (item, tuple(cell.positions[i, s].tolist())): int(cell.choice[i, s])
            for i, item in enumerate(cell.item_ids)
            for s in np.flatnonzero(cell.asked[i])
        }
        assert ours == first


def test_base_rate_says_that_designs_differ_and_how_many_answers_repeat(base_rate):
    found = cells(base_rate[0])
    assert sum("each item's own are its design (2 to 4 orderings" in n for n in found.notices) == 10
    repeats = int((base_rate[0].repeat > 0).sum())
    said = [int(n.split(": ")[-1].split(" ")[0].replace(",", "")) for n in found.notices if "are repeats" in n]
    assert sum(said) == repeats > 0


def shuffled_rows():
    seen = Counter()
    for row in lines(DATA / "shuffled_mmlu_cs" / "predictions.jsonl"):
        item = str(row["question_index"])
        positions = positions_of(row["perm"])
        key = row["model"], item, positions
        letter = row["letter"]
        yield row["shuffle"], Record(
            model=row["model"], benchmark="computer_security", readout="text", item_id=item, positions=positions,
            gold=row["perm"][row["gold_pos"]], place=None if letter is None else "ABCD".index(letter),
            status="unparsed" if letter is None else "ok", text=row["answer_text"], repeat=seen[key],
        )  # fmt: skip
        seen[key] += 1


@pytest.fixture(scope="module")
def shuffled(tmp_path_factory):
    if not (DATA / "shuffled_mmlu_cs").exists():
        pytest.skip("needs ../shared/data/shuffled_mmlu_cs")
    shuffles, rows = zip(*shuffled_rows(), strict=True)
    read = []
    for suffix in FORMATS:
        path = tmp_path_factory.mktemp("shuffled") / f"answers{suffix}"
        write_records(path, from_rows(rows))
        read.append(read_records(path))
    return np.array(shuffles), read


def names_of(table, models):
    """Match the source's long names to those of its notebook."""
    matched = {}
    for name in table:
        fitting = [m for m in models if name.lower() in m.lower()]
        assert len(fitting) == 1, (name, fitting)
        matched[fitting[0]] = table[name]
    return matched


def test_the_formats_agree_on_real_replies(shuffled):
    _, (one, *others) = shuffled
    assert len(one) == 6800
    for other in others:
        assert [r.text for r in other] == [r.text for r in one]
        assert list(other) == list(one)


def test_shuffled_accuracies(shuffled):
    shuffles, (records, *_) = shuffled
    models = np.array(records.model.to_list())
    choice = (records.positions.reshape(-1, 4) == records.place[:, None]).argmax(axis=1)
    right = (records.place >= 0) & (choice == records.gold)
    for model, (mean, sd) in names_of(SHUFFLED_ACCURACY, np.unique(models)).items():
        ours = models == model
        accuracies = [100 * right[ours & (shuffles == s)].mean() for s in np.unique(shuffles[ours])]
        assert np.mean(accuracies) == pytest.approx(mean, abs=0.051)
        assert np.std(accuracies, ddof=1) == pytest.approx(sd, abs=0.051 if sd in (2.3, 1.3, 1.1) else 0.0051)


def test_shuffled_flips_and_the_repeated_order(shuffled):
    _, (records, *_) = shuffled
    found = cells(records)
    by_model = {cell.model: cell for cell in found.predictions}
    assert len(by_model) == 14
    for model, cell in by_model.items():
        assert not cell.per_item
        assert cell.n_orderings == (3 if "Claude" in model else 4)
        assert cell.n_items == 100
    for model, (flips, answered) in names_of(SHUFFLED_FLIPS, list(by_model)).items():
        cell = by_model[model]
        choice = cell.choice[cell.usable]
        assert len(choice) == answered
        assert (choice != choice[:, :1]).any(axis=1).sum() == flips
    assert sum("100 answers are repeats" in n for n in found.notices) == 13


def test_shuffled_unparsed_replies_are_counted_and_never_chosen(shuffled):
    _, (records, *_) = shuffled
    phi = np.array(records.model.to_list()) == next(m for m in records.model.words if "phi-4" in m.lower())
    assert (phi & (records.status == UNPARSED)).sum() == 49
    assert (records.place[records.status == UNPARSED] == -1).all()
