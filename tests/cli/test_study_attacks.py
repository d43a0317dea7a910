"""`orderbias study label-free` given what it should not be: bad files, damaged and swapped runs, kills."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_study import ALL, STUDY, no_embedder, printed  # noqa: F401  (a fixture that every test here uses)

from orderbias.cli import run
from orderbias.report.text import short
from orderbias.store import Run


@pytest.fixture
def study(tmp_path):
    def write(top="", text=STUDY):
        path = tmp_path / "STUDY.toml"
        path.write_text(text.format(top=top, model="", benchmark=""))
        return str(path)

    return write


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "out")


def test_the_heads_of_tables_name_the_level(study, out, tmp_path, capsys):
    sheet = tmp_path / "study.md"
    args = ["--resamples", "50", "--level", "0.9", "--markdown", str(sheet)]
    assert run(["study", "label-free", study('strategies = ["direct"]'), "--out", out, *args]) == 0
    shown = capsys.readouterr().out + sheet.read_text()
    assert shown.count("accuracy [90 %]") == shown.count("RStd [90 %]") == 2
    assert "95 %" not in shown


def test_without_calibration_there_is_no_pride(study, out, capsys):
    text = STUDY.replace("calibration = 12", "calibration = 0")
    code, found, _ = printed(capsys, study(text=text), "--out", out)
    assert code == 0
    assert found["cells"][0]["skipped"] == {"pride": "The benchmark has `calibration` = 0."}
    assert {arm["strategy"] for arm in found["cells"][0]["arms"]} == ALL - {"first-token", "pride"}
    code, _, said = printed(capsys, study('strategies = ["direct", "pride"]', text=text), "--out", out)
    assert code == 3
    assert "pride needs" in said


@pytest.mark.parametrize("one", ["two-stage-hidden-model", "independent"])
def test_runs_that_changed_places_are_refused(one, study, out, capsys):
    path = study('strategies = ["direct", "two-stage", "independent"]')
    printed(capsys, path, "--out", out)
    place = Path(out) / "simulated" / "mmlu-five"
    (place / "direct").rename(place / "x")
    (place / one).rename(place / "direct")
    (place / "x").rename(place / one)
    for more in ([], ["--report-only"]):
        code, _, said = printed(capsys, path, "--out", out, *more)
        assert code == 3
        assert (
            f"readout: {one} -> direct" in said
            or f"must be of readout direct, as the study's file has it. It is of {one}" in said
        )


def test_a_report_is_of_the_study_that_was_run(study, out, capsys):
    printed(capsys, study('strategies = ["direct"]'), "--out", out)
    other = study('strategies = ["direct"]', text=STUDY.replace("42", "43"))
    code, _, said = printed(capsys, other, "--out", out, "--report-only")
    assert code == 3
    assert "must be of seed 43, as the study's file has it. It is of 42" in said


def test_what_is_no_more_wanted_is_not_said_to_be_skipped(study, out, capsys):
    text = STUDY.replace("calibration = 12", "calibration = 0")
    printed(capsys, study(text=text), "--out", out)
    path = study('strategies = ["direct"]', text=text)
    _, found, _ = printed(capsys, path, "--out", out, "--report-only")
    assert found["cells"][0]["skipped"] == {}


@pytest.mark.parametrize("text", ["[1", "[" * 100_000, '"\\u001b[2J"'])
def test_a_damaged_note_of_what_is_skipped(text, study, out, capsys):
    path = study('strategies = ["direct"]')
    printed(capsys, path, "--out", out)
    (Path(out) / "simulated" / "mmlu-five" / "skipped.json").write_text(text)
    code, _, said = printed(capsys, path, "--out", out, "--report-only")
    assert code == (3 if text.startswith("[") else 0)
    assert "fault of orderbias itself" not in said


def test_names_in_any_script_are_folders_and_none_leads_out(study, out, capsys):
    names = ["модель", "模型", "../../up", "..", "é" * 300]
    models = "".join(f'[[models]]\nmodel = "simulated"\nname = "{name}"\n' for name in names)
    text = f'strategies = ["direct"]\n{models}[[benchmarks]]\nsource = "mmlu-five"\nn_items = 4\n'
    code, found, _ = printed(capsys, study(text=text), "--out", out)
    assert code == 0
    assert [cell["model"] for cell in found["cells"]] == names
    folders = {p.name for p in Path(out).iterdir()}
    assert folders == {"модель", "模型", "up", "unnamed", "é" * 80}


@pytest.mark.parametrize(("one", "two"), [("a/b", "a b"), ("A", "a"), ("é", "e\u0301"), ("x" * 90, "x" * 91)])
def test_names_of_one_folder_are_refused_and_both_said(one, two, study, out, capsys):
    models = "".join(f'[[models]]\nmodel = "simulated"\nname = "{name}"\n' for name in (one, two))
    code, _, said = printed(capsys, study(text=models + '[[benchmarks]]\nsource = "mmlu-five"\n'), "--out", out)
    assert code == 3
    assert f"{short(one)}, {short(two)} would all be in" in said


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (STUDY.replace('model = "simulated"', 'model = "openai:m"\napi_key = "sk-secret0123"'), "`models[0].api_key`"),
        (STUDY.replace('model = "simulated"', 'model = "openai:m"\nkey_env = "sk-secret0123"'), "--key-env"),
        (STUDY.replace('model = "simulated"', 'model = "openai:m"\nbase_url = ["sk-secret0123"]'), "base_url"),
        (
            STUDY.replace('model = "simulated"', 'model = "openai:m"\nbase_url = "http://[sk-secret0123/v1"'),
            "--base-url",
        ),
        (STUDY.replace("[[models]]", "[models]"), "[[models]] begins each"),
        ('models = []\n[[benchmarks]]\nsource = "mmlu-five"', "`models` must have at least one entry"),
        ("x = " + "[" * 5000 + "]" * 5000, "TOML"),
    ],
)
def test_faults_are_said_once_and_repeat_no_key(text, named, study, out, capsys):
    code, _, said = printed(capsys, study(text=text), "--out", out)
    assert code == 3
    assert named in said
    assert "secret0123" not in said
    assert said.count("Error:") + said.count("STUDY.toml: ") <= 2
    assert "fault of orderbias itself" not in said


def test_kills_lose_nothing_that_was_stored_and_double_nothing(study, out, tmp_path, capsys):
    """Killed wherever it happens to be, five times; then whole, and equal to a study that was never killed."""
    path = study('strategies = ["direct", "two-stage", "independent"]')
    source = Path(__file__).resolve().parents[2] / "src"
    command = [sys.executable, "-m", "orderbias", "study", "label-free", path, "--out", out, "--resamples", "0"]
    for seconds in (0.8, 1.1, 1.4, 1.7, 2.0):
        with subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": str(source)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            time.sleep(seconds)
            process.kill()
    code, found, _ = printed(capsys, path, "--out", out)
    assert code == 0
    for directory in Path(out).glob("*/*/*/"):
        rows = [(r.item_id, r.positions, r.repeat) for r in Run.open(directory).records()]
        assert len(rows) == len(set(rows)) == 96
    _, whole, _ = printed(capsys, path, "--out", out + "-whole")
    assert found == whole


def test_no_name_is_markup(study, out, tmp_path, capsys):
    name = "[x](javascript:alert(1)) | </script> ``` {{ 1 }} [red]"
    benchmark = "a`b<img src=x>\\n## c\\u001b[2J\\u202e"
    text = (
        (
            f'strategies = ["direct"]\n[[models]]\nmodel = "simulated"\nname = "{name}"\n'
            f'[[benchmarks]]\nsource = "mmlu-five"\nname = "{benchmark}"\nn_items = 4\n'
        )
        .replace("{", "{{")
        .replace("}", "}}")
    )
    sheet = tmp_path / "study.md"
    assert (
        run(["study", "label-free", study(text=text), "--out", out, "--resamples", "20", "--markdown", str(sheet)]) == 0
    )
    captured = capsys.readouterr()
    written = sheet.read_text()
    for shown in (*captured, written):
        assert not any(c in shown for c in "\x1b\u202e")
    heads = [line for line in written.splitlines() if line.startswith("#")]
    assert heads[1].startswith(r"## [x]\(javascript:alert(1)) \| &lt;/script&gt; \`\`\` {{ 1 }} [red] · a\`b&lt;img")
    assert not any(line.startswith("## c") for line in heads)
    # The settings stand in a code span, which ends where it should.
    (code,) = (line for line in written.splitlines() if line.startswith("`"))
    fence = code[: len(code) - len(code.lstrip("`"))]
    assert code.endswith(f" {fence}")
    assert fence not in code[len(fence) : -len(fence)]
