"""A run directory as Python reads it: what the command line makes of it, and nothing else."""

import json

import pytest

import orderbias
from orderbias.cli import run


@pytest.fixture
def path(tmp_path, capsys):
    made = str(tmp_path / "run")
    assert run(["run", "mmlu-five", "--model", "simulated", "--readout", "direct", "--out", made]) == 0
    capsys.readouterr()
    return made


def test_what_is_measured_in_python_is_what_the_command_prints(path, capsys):
    (predictions,) = orderbias.read_run(path).predictions
    assert run(["measure", path, "--json", "--resamples", "50"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    (measurement,) = orderbias.measure_cells([predictions], resamples=50)
    measured = measurement.as_dict()
    assert {key: cell[key] for key in measured} == json.loads(json.dumps(measured))
    assert measured["signature"] == cell["signature"]


def test_a_directory_is_no_file_of_records_and_the_error_says_what_reads_it(path, tmp_path):
    for read in (orderbias.read_records, orderbias.read_cells):
        with pytest.raises(orderbias.OrderbiasError, match=r"a run is read with .orderbias\.read_run."):
            read(path)
    with pytest.raises(orderbias.OrderbiasError):
        orderbias.read_run(tmp_path / "nowhere")


def test_a_run_of_a_judge_is_not_read_as_one_of_questions(tmp_path, capsys):
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        "".join(
            json.dumps({"id": str(i), "question": f"{i}?", "answer_a": "x", "answer_b": "y"}) + "\n" for i in range(4)
        )
    )
    made = str(tmp_path / "judged")
    assert run(["judge-run", str(pairs), "--model", "simulated", "--out", made]) == 0
    capsys.readouterr()
    with pytest.raises(orderbias.OrderbiasError, match="which `orderbias judge` reads"):
        orderbias.read_run(made)
    assert run(["measure", made]) == 3
    assert "It is one of a judge" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("readout", "most", "said"),
    [
        (("direct",), 3, "2,140 of 2,140 replies used all the 3 tokens"),
        (("direct",), 7, None),
        (
            ("two-stage", "--stage-one", "visible"),
            1,
            " of 2,140 replies of the first stage were cut off after 1 tokens",
        ),
        (("two-stage", "--stage-one", "visible"), 90, None),
    ],
)
def test_replies_that_were_cut_off_are_said(readout, most, said, tmp_path, capsys):
    made = str(tmp_path / "run")
    asked = [
        "run",
        "mmlu-five",
        "--model",
        "simulated",
        "--readout",
        *readout,
        "--max-tokens",
        str(most),
        "--out",
        made,
    ]
    assert run(asked) == 0
    for command in ([], ["measure", made, "--resamples", "0"]):
        if command:
            assert run(command) in (0, 2)
        printed = capsys.readouterr().err
        assert (said in printed) if said else ("cut off" not in printed)


def test_measure_says_how_answers_were_found(path, capsys):
    assert run(["measure", path, "--resamples", "0"]) == 0
    assert "Answers by how they were found: explicit" in capsys.readouterr().err
