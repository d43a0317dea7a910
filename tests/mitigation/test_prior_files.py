"""A prior divided out of records is the correction of the cell built from them, in every format."""

import json

import numpy as np
import pytest
from operation_cells import planted

from orderbias.cells import cells
from orderbias.errors import ArgumentError, DataError
from orderbias.mitigation.carrying import corrected_records, fit_prior, read_prior, write_prior
from orderbias.operations import PriDe, Prior, calibration_items, estimate_prior, take_items
from orderbias.records import Record, from_rows, read_records, write_records


def rows(cell, **rest):
    return [
        Record(
            model="m", benchmark="b", readout="first-token", item_id=str(cell.item_ids[i]),
            positions=tuple(cell.positions[s].tolist()), gold=int(cell.gold[i]),
            logprobs=tuple(cell.logprobs[i, s].tolist()), **rest,
        )
        for i in range(cell.n_items)
        for s in range(cell.n_orderings)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def cell():
    return planted(40, 4, (0.8, 0.2, -0.2, -0.8))


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_written_records_hold_the_corrected_answers(cell, tmp_path, suffix):
    records = from_rows([*rows(cell), Record(model="m", benchmark="b", readout="first-token", item_id="lost",
                                             positions=(0, 1, 2, 3), status="refused")])  # fmt: skip
    prior = fit_prior(cell)
    target = tmp_path / f"corrected{suffix}"
    write_records(target, corrected_records(records, prior, 0.7))
    (built,) = cells(read_records(target), design="cyclic+reversals").predictions
    expected = PriDe(alpha=0.7).with_prior(prior).apply(cell)
    assert np.array_equal(built.choice[:40], expected.choice)
    np.testing.assert_allclose(built.logprobs[:40], expected.logprobs, rtol=1e-9, atol=1e-12)
    assert built.readout == "first-token>pride"
    assert (built.choice[40] == -1).all()


def test_answers_change_only_where_a_prior_leans(cell):
    records = from_rows(rows(cell))
    assert np.array_equal(corrected_records(records, Prior.uniform(4)).place, records.place)
    assert (corrected_records(records, fit_prior(cell)).place != records.place).any()


def test_a_share_is_the_calibration_split(cell):
    assert fit_prior(cell).values == estimate_prior(cell).values
    shared = fit_prior(cell, "batch-calibration", 0.2, seed=3)
    chosen = take_items(cell, calibration_items(cell, 0.2, 3))
    assert shared.values == estimate_prior(chosen, "batch-calibration").values
    assert shared.n_items == 8


def test_files_come_back_as_they_were(cell, tmp_path):
    prior = fit_prior(cell, share=0.1)
    write_prior(tmp_path / "prior.json", prior)
    assert read_prior(tmp_path / "prior.json") == prior
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(DataError, match=r"broken\.json must be the JSON of a prior"):
        read_prior(tmp_path / "broken.json")


@pytest.mark.parametrize("text", ["", "null", "[" * 100_000, '{"kind": "\\ud800"}', '{"format": 1e999}', "\0"])
def test_what_is_no_prior_is_one_error(text, tmp_path):
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(DataError, match=r"p\.json"):
        read_prior(tmp_path / "p.json")


@pytest.mark.parametrize(
    "values", [[10**400, 1], [float("nan"), 1], [0, 1], [True, False], [[1], [0]], ["a", "b"], None]
)
def test_values_that_are_no_probabilities(values, cell, tmp_path):
    stored = {**fit_prior(cell).to_dict(), "values": values, "n_options": 2}
    (tmp_path / "p.json").write_text(json.dumps(stored))
    with pytest.raises(DataError, match=r"p\.json.*values"):
        read_prior(tmp_path / "p.json")


def test_no_other_file_is_written_over(cell, tmp_path):
    prior = fit_prior(cell)
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"item_id": "q"}\n')
    with pytest.raises(ArgumentError, match="or a prior already"):
        write_prior(answers, prior)
    assert answers.read_text() == '{"item_id": "q"}\n'
    with pytest.raises(ArgumentError, match="must have a name"):
        write_prior("", prior)
    for _ in range(2):
        write_prior(tmp_path / "p.json", prior)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["answers.jsonl", "p.json"]


def test_what_cannot_be_corrected_is_refused(cell):
    with pytest.raises(ArgumentError, match="Got a prior over 3 labels and records with 4"):
        corrected_records(from_rows(rows(cell)), Prior.uniform(3))
    answers = [Record(item_id="q", positions=(0, 1, 2, 3), place=2)]
    with pytest.raises(ArgumentError, match=r"column `logprobs`.*1 of 1 have none"):
        corrected_records(from_rows(answers), Prior.uniform(4))
    with pytest.raises(ArgumentError, match="`alpha`"):
        corrected_records(from_rows(rows(cell)), Prior.uniform(4), -1)
