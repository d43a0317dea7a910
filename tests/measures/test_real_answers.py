"""Figures published, or computed independently, with two collections of real answers."""

import json
from pathlib import Path

import numpy as np
import pytest

from orderbias.measurement import measure
from orderbias.predictions import Predictions

DATA = Path(__file__).resolve().parents[2].parent / "shared/data"
BASE_RATE = DATA / "base_rate_mmlu"
SHUFFLED = DATA / "shuffled_mmlu_cs" / "predictions.jsonl"

#: SOURCE.md: accuracy % and SD of the four recalls (points) in the data set's order; share of 535 items that change
#: their option over the five orders.
FIGURES = {
    "cloze_GPT2": (21.87, 41.95, 0.770),
    "cloze_LLaMa2-7B": (34.77, 18.51, 0.830),
    "cloze_Mistral-7B": (35.70, 31.75, 0.705),
    "cloze_Phi-2": (40.37, 10.31, 0.654),
    "cloze_SOLAR-10-7B": (44.11, 21.51, 0.626),
    "cf_GPT2": (24.11, 21.76, 0.843),
    "cf_LLaMa2-7B": (28.22, 18.61, 0.817),
    "cf_Mistral-7B": (27.29, 15.58, 0.871),
    "cf_Phi-2": (27.29, 9.04, 0.785),
    "cf_SOLAR-10-7B": (32.71, 8.81, 0.892),
}

#: SOURCE.md: items whose option differs among the distinct orders, of the items answered in all.
CHANGED = {"Claude 3.5": (9, 100), "Llama-3.2-1B": (55, 100), "Phi-3-vision": (29, 100), "Llama-3.1-8B": (26, 100),
           "Qwen2.5-72B": (9, 99), "phi-4": (12, 88)}  # fmt: skip


def read(path):
    if not path.exists():
        pytest.skip(f"{path.name} is not there")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def five_orders(name):
    rows = read(BASE_RATE / f"{name}.jsonl")
    items = {}
    for row in rows:
        items.setdefault((row["subject"], row["index"]), {})[row["order"]] = row
    orders = ["orig", "NvrA", "NvrB", "NvrC", "NvrD"]
    table = [[item[order] for order in orders] for item in items.values()]
    perm = np.array([[row["perm"] for row in item] for item in table])
    place = np.array([[row["logprobs"] for row in item] for item in table]).argmax(axis=-1)
    return Predictions(
        choice=np.take_along_axis(perm, place[..., None], axis=-1)[..., 0],
        positions=np.argsort(perm, axis=-1),
        gold=np.array([item[0]["gold_pos"] for item in table]),
        group=np.array([key[0] for key in items], object),
        ties=np.array([[row["logprobs"].count(max(row["logprobs"])) > 1 for row in item] for item in table]),
    )


@pytest.mark.parametrize("name", FIGURES)
def test_five_orders_of_mmlu(name):
    accuracy, recall_sd, changing = FIGURES[name]
    found = measure(five_orders(name), resamples=0)
    assert found.n_items == 535
    assert found.n_orderings == 5
    assert 100 * found.accuracy_canonical == pytest.approx(accuracy, abs=0.005)
    assert 100 * found.canonical_rstd == pytest.approx(recall_sd, abs=0.005)
    assert found.flip_rate == pytest.approx(changing, abs=5e-4)
    # An unbalanced design, each item its own: the corrected identity holds and the uncorrected one is bounded.
    product = found.flip_rate * found.positional_skew
    assert found.corrected_pooled_sd == pytest.approx(product, abs=1e-12)
    assert abs(found.pooled_sd - product) <= found.design_deviation_sd <= found.design_deviation_bound
    assert found.balanced_rstd is None
    assert "not show every item's right option" in found.undefined["balanced_rstd"]
    assert found.tests == {"rotation": None, "uniformity": None}


def test_subjects_are_clusters_that_widen_the_interval():
    cell = five_orders("cloze_Phi-2")
    alone, together = measure(cell, resamples=2000), measure(cell, resamples=2000, cluster="group")
    assert alone.accuracy == together.accuracy
    narrow, wide = (np.diff(m.intervals["accuracy"])[0] for m in (alone, together))
    assert wide > narrow


def shuffles(model, *, wrong_when_unread=False, orders=None):
    rows = [row for row in read(SHUFFLED) if model in row["model"]]
    kinds = sorted({row["shuffle"] for row in rows}) if orders is None else orders
    at = {(row["question_index"], row["shuffle"]): row for row in rows}
    items = sorted({row["question_index"] for row in rows})
    perms = np.array([at[items[0], kind]["perm"] for kind in kinds])
    gold = np.array([at[q, kinds[0]]["perm"][at[q, kinds[0]]["gold_pos"]] for q in items])
    choice = np.full((len(items), len(kinds)), -1)
    for i, q in enumerate(items):
        for s, kind in enumerate(kinds):
            row = at[q, kind]
            place = "ABCD".find(row["letter"] or "?")
            if place >= 0:
                choice[i, s] = row["perm"][place]
            elif wrong_when_unread:  # as the source counts it
                choice[i, s] = (gold[i] + 1) % 4
    return Predictions(choice=choice, positions=np.argsort(perms, axis=1), gold=gold, model=rows[0]["model"])


@pytest.mark.parametrize(
    ("model", "mean", "sd", "digits"),
    [
        ("Claude 3.5 Sonnet", 87.3, 1.53, 0.05), ("Qwen2.5-72B", 86.6, 0.89, 0.05), ("Llama-3.2-1B", 60.0, 4.47, 0.05),
        ("Llama-3.1-8B", 77.6, 1.82, 0.05), ("Phi-3-medium", 77.4, 2.61, 0.05), ("Phi-3-vision", 72.6, 2.19, 0.05),
        ("phi-4", 78.8, 2.95, 0.05),
    ],
)  # fmt: skip
def test_published_accuracy_over_shuffles(model, mean, sd, digits):
    found = measure(shuffles(model, wrong_when_unread=True), resamples=0)
    by_order = 100 * np.array(found.accuracy_by_ordering)
    assert by_order.mean() == pytest.approx(mean, abs=digits)
    assert by_order.std(ddof=1) == pytest.approx(sd, abs=digits)
    assert 100 * found.accuracy == pytest.approx(mean, abs=digits)
    assert found.accuracy_canonical == found.accuracy_by_ordering[0]


@pytest.mark.parametrize("model", CHANGED)
def test_items_that_change_over_the_distinct_orders(model):
    changed, answered = CHANGED[model]
    orders = [0, 1, 2] if model.startswith("Claude") else [0, 1, 2, 4]
    found = measure(shuffles(model, orders=orders), resamples=0)
    assert found.n_items == answered
    assert found.n_unusable == 100 - answered
    assert round(found.flip_rate * answered) == changed
