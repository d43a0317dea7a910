"""What is printed: any output can take it, no name commands the terminal, and a fault is no failed gate."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from orderbias.cli import run
from orderbias.report.text import visible

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
NAMES = {
    "markup": "[red]x[/red]",
    "an open mark": "[bold",
    "a closing mark": "[/]",
    "an emoji's code": "gear:fire:7b",
    "a backslash": "x\\",
    "a script": "<script>alert(1)</script>",
    "escape codes": "x\x1b[2J\x1b]0;title\x07",
    "line ends": "x\ry\x0bz",
    "a turned text": "x\u202etxt.exe",
    "eight-bit controls": "x\x9b31m",
}


def answers(tmp_path, model):
    row = {"model": model, "benchmark": "b", "readout": "r", "item_id": "q", "group": model, "gold": 0, "place": 0}
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({**row, "positions": p}) + "\n" for p in ([0, 1], [1, 0])))
    return str(path)


@pytest.mark.parametrize("case", NAMES)
def test_a_name_is_printed_as_it_is_and_commands_nothing(case, tmp_path, capsys):
    name = NAMES[case]
    assert run(["measure", answers(tmp_path, name), "--resamples", "9"]) == 0
    captured = capsys.readouterr()
    assert f"{visible(name)} · b · r · K = 2" in captured.out
    for stream in captured:
        assert not any(c in stream for c in "\x1b\x07\x9b\u202e\r\x0b")


@pytest.mark.parametrize("case", NAMES)
def test_a_name_is_in_json_as_it_is(case, tmp_path, capsys):
    assert run(["measure", answers(tmp_path, NAMES[case]), "--resamples", "9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"][0]["model"] == NAMES[case]


def test_a_message_that_quotes_a_file_commands_nothing(tmp_path, capsys):
    path = tmp_path / "a.jsonl"
    path.write_text('"\x1b[2J"\n' + json.dumps({"item_id": "q", "positions": [0, 1], "place": "\x1b[2J"}))
    assert run(["measure", str(path)]) == 3
    assert "\x1b" not in capsys.readouterr().err


def command(*args, **environment):
    return subprocess.run(
        [sys.executable, "-m", "orderbias", *args],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": SOURCE, **environment},
        timeout=60,
    )


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "cp1252"}, {"PYTHONIOENCODING": "utf-8:strict"}],
    ids=str,
)
def test_any_output_can_take_the_table(environment, tmp_path):
    odd = os.fsdecode(b"\xff.csv")
    path = tmp_path / odd
    try:
        path.write_text("item_id,positions,place,gold\nq,0 1,0,0\nq,1 0,0,0\n")
    except OSError:
        pytest.skip("this file system has no such names")
    done = command("measure", str(path), "--resamples", "9", **environment)
    assert done.returncode == 0, done.stderr
    assert b"flip rate" in done.stdout
    assert b"Traceback" not in done.stderr


def test_a_full_output_is_an_error():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "orderbias", "benchmarks"],
            stdout=full, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": SOURCE}, timeout=60,
        )  # fmt: skip
    assert done.returncode == 3
    assert b"No space left" in done.stderr


def test_an_error_that_nobody_can_be_told_is_no_failed_gate():
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "orderbias", "measure", "nowhere"],
            stderr=full, env={**os.environ, "PYTHONPATH": SOURCE}, timeout=60,
        )  # fmt: skip
    assert done.returncode == 3


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), MemoryError(), RecursionError()])
def test_a_fault_of_the_program_is_never_a_failed_gate(error, monkeypatch, capsys):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr("orderbias.benchmarks.listings", fail)
    assert run(["benchmarks"]) == 3
    assert "Error:" in capsys.readouterr().err
