"""Means and SDs published with five shuffles of MMLU computer security, from the records, with our code."""

import json
from pathlib import Path

import numpy as np
import pytest

from orderbias.cells import cells
from orderbias.predictions import Predictions
from orderbias.records import Record, from_rows
from orderbias.studies.panel import Checkpoint, panel_cell

DATA = Path(__file__).resolve().parents[3].parent / "shared/data/shuffled_mmlu_cs/predictions.jsonl"

#: SOURCE.md: accuracy over the shuffles in per cent, mean and sample SD, with the decimals that were printed.
PUBLISHED = {
    "Anthropic Claude 3.5 Sonnet": ("87.3", "1.53"),
    "Qwen2.5-72B-Instruct": ("86.6", "0.89"),
    "Qwen2-72B-Instruct": ("84.4", "2.3"),
    "Qwen/Qwen2.5-32B-Instruct": ("84.2", "1.3"),
    "Llama3.1 405B Instruct": ("84.0", "2.35"),
    "Llama3.1 70B Instruct": ("82.6", "2.79"),
    "unsloth/Meta-Llama-3.1-8B-Instruct": ("77.6", "1.82"),
    "Phi-3-medium-4k-instruct": ("77.4", "2.61"),
    "Qwen/Qwen2.5-14B-Instruct": ("75.8", "1.1"),
    "Phi-3-vision-128k-instruct": ("72.6", "2.19"),
    "unsloth/Llama-3.2-1B-Instruct": ("60.0", "4.47"),
    "microsoft/phi-4": ("78.8", "2.95"),
}


@pytest.fixture(scope="module")
def answers():
    if not DATA.exists():
        pytest.skip("needs ../shared/data/shuffled_mmlu_cs")
    found = {}
    for line in DATA.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["model"], {}).setdefault(row["shuffle"], []).append(row)
    return found


def under(rows, model):
    """The answers to one shuffle as a cell of its own: shuffles 1 and 3 are the same order asked twice."""
    records = []
    for row in rows:
        place = "ABCD".find(row["letter"]) if row["letter"] else -1
        records.append(
            Record(
                model=model,
                benchmark="mmlu-cs",
                readout="direct",
                item_id=str(row["question_index"]),
                positions=tuple(row["perm"].index(content) for content in range(4)),
                gold=row["perm"][row["gold_pos"]],
                place=place if place >= 0 else None,
                status="ok" if place >= 0 else "unparsed",
            )
        )
    (cell,) = cells(from_rows(records)).predictions
    return cell


def accuracy(p: Predictions) -> float:
    """Right answers of all questions: the source counts what it could not read as wrong."""
    usable = panel_cell(p, Checkpoint(p.model), readout="direct")
    n_right = usable.columns.sums["correct"]
    assert usable.n_unusable + usable.n_items == p.n_items == 100
    return float(n_right) / p.n_items


def decimals(text):
    """Half of the last decimal printed."""
    return 0.5 * 10.0 ** -len(text.split(".")[1]) + 1e-9


@pytest.mark.parametrize("model", PUBLISHED)
def test_published_means_and_deviations(answers, model):
    mean, deviation = PUBLISHED[model]
    found = 100 * np.array([accuracy(under(rows, model)) for rows in answers[model].values()])
    assert len(found) == (3 if "Claude" in model else 5)
    assert found.mean() == pytest.approx(float(mean), abs=decimals(mean))
    assert found.std(ddof=1) == pytest.approx(float(deviation), abs=decimals(deviation))
