"""`orderbias panel` end to end with a simulated model: asked, killed, resumed, exported, read back, reported."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from slow_model import SLOW

from orderbias.backends.simulated import SimulatedBackend
from orderbias.cli import run
from orderbias.cli._panel_reading import read_panel
from orderbias.errors import RunError
from orderbias.records import Record, from_rows, read_records
from orderbias.store import Run
from orderbias.studies.findings import Finding
from orderbias.studies.panel import Settings

PANEL = """
seed = 7
{top}
[[models]]
model = "simulated"
name = "Ash-1B"
family = "Ash"
parameters = 1e9
post_trained = false

[[models]]
model = "simulated"
name = "Ash-1B-it"
family = "Ash"
parameters = 1_000_000_000
post_trained = true
base = "Ash-1B"
{model}
[[benchmarks]]
source = "mmlu-five"
n_items = 20
{benchmark}
{sweeps}
"""
SWEEPS = """
[[sweeps]]
[[sweeps]]
readout = "direct"
models = ["Ash-1B-it"]
[[sweeps]]
name = "every ordering"
orderings = "all"
n_items = 6
"""


@pytest.fixture
def panel(tmp_path):
    def write(top="", model="", benchmark="", sweeps=SWEEPS, more=""):
        path = tmp_path / "PANEL.toml"
        path.write_text(PANEL.format(top=top, model=model, benchmark=benchmark, sweeps=sweeps) + more)
        return str(path)

    return write


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "out")


@pytest.fixture
def asked(monkeypatch):
    """Count the requests that reach the model."""
    counts = []
    ask = SimulatedBackend.ask

    def counting(self, requests):
        counts.append(len(requests))
        return ask(self, requests)

    monkeypatch.setattr(SimulatedBackend, "ask", counting)
    return counts


def printed(capsys, *args):
    capsys.readouterr()
    code = run(["panel", *map(str, args), "--json"])
    captured = capsys.readouterr()
    return code, json.loads(captured.out) if captured.out else None, captured.err


def same(a, b):
    """Whether two panels are one, to the last bit."""
    assert len(a.cells) == len(b.cells)
    assert a.left_out == b.left_out
    for x, y in zip(a.cells, b.cells, strict=True):
        assert (x.name, x.readout, x.checkpoint, x.n_unusable) == (y.name, y.readout, y.checkpoint, y.n_unusable)
        assert x.predictions.source == y.predictions.source
        for name in ("choice", "logprobs", "mass", "positions", "presented", "gold", "item_ids", "group", "same_text"):
            np.testing.assert_array_equal(getattr(x.predictions, name), getattr(y.predictions, name), name)
        np.testing.assert_equal(dict(x.measures), dict(y.measures))
        np.testing.assert_array_equal(x.repeats, y.repeats)
    return True


def test_the_whole_panel(panel, out, capsys, asked):
    path = panel()
    code, found, _ = printed(capsys, "run", path, "--out", out)
    assert code == 0
    # Rotations and reversals of 20 items twice, rotations once, 24 orderings of 6 items twice.
    queries = {"first-token": 160, "direct": 80, "every ordering": 144}
    cells = {(c["sweep"], c["model"]): c for c in found["cells"]}
    assert {key: c["n_answered"] for key, c in cells.items()} == {
        (sweep, model): n
        for sweep, n in queries.items()
        for model in ("Ash-1B", "Ash-1B-it")
        if (sweep, model) != ("direct", "Ash-1B")
    }
    assert sum(asked) == 2 * 160 + 80 + 2 * 144
    read = read_panel(out)
    assert read.left_out == ()
    assert read.readouts == ("first-token", "direct")
    main, it, direct, every, _ = (read.cells[i] for i in (0, 2, 3, 1, 4))
    assert (main.checkpoint.family, main.checkpoint.parameters, it.checkpoint.base) == ("Ash", 1e9, "Ash-1B")
    assert main.cyclic
    assert main.reversed_too
    assert not main.every_ordering
    assert direct.readout == "direct"
    assert direct.predictions.logprobs is None
    assert every.every_ordering
    # The items of a smaller sweep are some of the larger one's.
    assert set(every.predictions.item_ids) < set(main.predictions.item_ids)
    # A written letter is that of the highest probability, so that the model is seen to be one.
    assert direct.measures["flip_rate"] == it.measures["flip_rate"] > 0


def test_measures_are_what_the_records_say(panel, out, capsys):
    """The flip rate of each cell by loops over the stored rows."""
    printed(capsys, "run", panel(), "--out", out)
    for cell in read_panel(out).cells:
        sweep = "every-ordering" if cell.every_ordering else cell.readout
        contents: dict[str, set] = {}
        for r in Run.open(Path(out) / sweep / cell.checkpoint.name / "mmlu-five").records():
            rotation = (r.positions[1] - r.positions[0]) % 4 == 1 and (r.positions[3] - r.positions[2]) % 4 == 1
            if cell.every_ordering or rotation:
                contents.setdefault(r.item_id, set()).add(r.positions.index(r.place))
        assert cell.measures["flip_rate"] == pytest.approx(np.mean([len(c) > 1 for c in contents.values()]))


def test_nothing_is_asked_twice_and_a_loss_is_asked_again(panel, out, capsys, asked):
    path = panel()
    printed(capsys, "run", path, "--out", out)
    before = read_panel(out)
    n_first = sum(asked)
    asked.clear()
    code, _, _ = printed(capsys, "run", path, "--out", out)
    assert (code, sum(asked)) == (0, 0)
    shutil.rmtree(Path(out) / "direct")
    assert printed(capsys, "status", out)[0] == 2
    code, _, _ = printed(capsys, "run", path, "--out", out)
    assert code == 0
    assert 0 < sum(asked) < n_first
    assert same(before, read_panel(out))


def test_a_whole_cell_needs_no_model(panel, out, capsys, monkeypatch):
    path = panel()
    printed(capsys, "run", path, "--out", out)
    monkeypatch.setattr(SimulatedBackend, "__init__", lambda *a, **k: pytest.fail("a model was made"))
    assert printed(capsys, "run", path, "--out", out)[0] == 0
    assert printed(capsys, "status", out)[0] == 0
    assert len(read_panel(out).cells) == 5


def test_more_models_and_benchmarks_join_a_panel(panel, out, capsys, asked):
    printed(capsys, "run", panel(sweeps=""), "--out", out)
    asked.clear()
    more = '[[benchmarks]]\nsource = "mmlu-five"\nname = "other"\nn_items = 5\n'
    more += '[[models]]\nmodel = "simulated"\nname = "Birch"\n'
    code, found, _ = printed(capsys, "run", panel(sweeps="", more=more), "--out", out)
    assert code == 0
    assert len(found["cells"]) == 6
    assert sum(asked) == 20 * 8 + 3 * 5 * 8


@pytest.mark.parametrize("address", ["{}", "file://{}"])
def test_killed_and_resumed(panel, out, capsys, address, tmp_path):
    path, folder = panel(sweeps=""), address.format(out)
    args = ["panel", "run", path, "--out", folder]
    cell = Path(out) / "first-token" / "Ash-1B" / "mmlu-five"
    for how, code in ((signal.SIGKILL, -9), (signal.SIGINT, 130)):
        before = len(list((cell / "records").glob("part-*.parquet")))
        process = subprocess.Popen([sys.executable, "-c", SLOW, *args], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while len(list((cell / "records").glob("part-*.parquet"))) == before and time.monotonic() < deadline:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(how)
        process.communicate(timeout=60)
        assert process.returncode == code
    stored = Run.open(cell).stored()
    assert 0 < len(stored) < 160
    # What is unfinished is no part of a panel.
    with pytest.raises(RunError, match="must have a finished cell"):
        read_panel(folder)
    assert printed(capsys, "status", folder)[0] == 2
    code, found, _ = printed(capsys, "run", path, "--out", folder)
    assert code == 0
    assert [c["n_answered"] for c in found["cells"]] == [160, 160]
    assert stored <= Run.open(cell).stored()
    assert Run.open(cell).verify().n_duplicates == 0
    whole = str(tmp_path / "whole")
    printed(capsys, "run", path, "--out", whole)
    assert same(read_panel(whole), read_panel(folder))


def test_one_at_a_time(panel, out, capsys):
    path = panel(sweeps="")
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, "panel", "run", path, "--out", out], stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 60
        while not (Path(out) / "panel.json").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        code, _, said = printed(capsys, "run", path, "--out", out)
    finally:
        process.kill()
        process.wait()
    assert code == 3
    assert "one writer at a time" in said


def test_a_model_that_fails_leaves_the_others(panel, out, capsys, monkeypatch):
    ask = SimulatedBackend.ask
    models = []

    def failing(self, requests):
        if self not in models:
            models.append(self)
        if models.index(self) == 0:
            raise ValueError("out of something")
        return ask(self, requests)

    monkeypatch.setattr(SimulatedBackend, "ask", failing)
    code, found, said = printed(capsys, "run", panel(), "--out", out)
    assert code == 2
    assert "Ash-1B is asked no more" in said
    assert "out of something" in found["faults"][0]
    assert [c["done"] for c in found["cells"]] == [False, False, True, True, True]
    read = read_panel(out)
    assert {cell.checkpoint.name for cell in read.cells} == {"Ash-1B-it"}
    assert len(read.left_out) == 2
    monkeypatch.setattr(SimulatedBackend, "ask", ask)
    assert printed(capsys, "run", panel(), "--out", out)[0] == 0


def test_dry_run_asks_nothing(panel, out, capsys, asked):
    code, found, said = printed(capsys, "run", panel(), "--out", out, "--dry-run")
    assert code == 0
    assert not asked
    assert not Path(out).exists()
    assert found["calls"] == 2 * 160 + 80 + 2 * 144
    assert found["tokens"] > 0
    assert "In all" in said


# --- export --------------------------------------------------------------------------------------------------------


@pytest.fixture
def items_with_doubles(tmp_path):
    """Items of two numbers of options, some with two options of one text."""
    path = tmp_path / "own.jsonl"
    with path.open("w") as file:
        for i in range(30):
            options = [f"a{i}", f"b{i}", "same" if i % 3 else "c", "same"][: 3 + i % 2]
            file.write(
                json.dumps({"id": f"q{i}", "question": f"What is {i}?", "options": options, "gold": i % 2}) + "\n"
            )
    return f'[[benchmarks]]\nsource = "{path}"\nname = "own"\n'


def test_an_export_gives_the_same_panel(panel, out, capsys, tmp_path, items_with_doubles):
    printed(capsys, "run", panel(more=items_with_doubles), "--out", out)
    copy = tmp_path / "export"
    assert run(["panel", "export", out, str(copy)]) == 0
    read = read_panel(out)
    assert same(read, read_panel(str(copy)))
    assert {cell.benchmark for cell in read.cells} == {"mmlu-five", "own (K = 3)", "own (K = 4)"}
    assert any(cell.predictions.same_text is not None for cell in read.cells)
    names = sorted(p.name for p in copy.iterdir())
    assert len(names) == 4
    assert "panel.json" in names
    # Neither what was asked nor what was replied is passed on, nor where anything is on this machine.
    text = (copy / "panel.json").read_text()
    assert "same_text" in text
    assert str(tmp_path) not in text
    assert "What is" not in text
    for file in copy.glob("*.parquet"):
        records = read_records(file)
        assert records.text is None or all(word is None for word in records.text.to_list())
        assert set(records.model.words) <= {"Ash-1B", "Ash-1B-it"}
    # Another export replaces it.
    assert run(["panel", "export", out, str(copy)]) == 0
    assert sorted(p.name for p in copy.iterdir()) == names
    assert run(["panel", "export", out, (tmp_path / "else").as_uri()]) == 0
    assert same(read, read_panel((tmp_path / "else").as_uri()))


def test_repeats_are_read_and_exported(panel, out, capsys, tmp_path):
    sweeps = '[writing]\ntemperature = 0.7\n[[sweeps]]\n[[sweeps]]\nreadout = "direct"\nrepeats = 3\nn_items = 8\n'
    code, found, _ = printed(capsys, "run", panel(sweeps=sweeps), "--out", out)
    assert code == 0
    assert [c["n_queries"] for c in found["cells"]] == [160, 8 * 4 * 3] * 2
    read = read_panel(out)
    first, drawn = read.cells[:2]
    assert first.repeats is None
    assert drawn.repeats.shape == (8, 4, 3)
    np.testing.assert_array_equal(drawn.repeats[:, :, 0], drawn.predictions.choice)
    by_query = {
        (r.item_id, r.positions, r.repeat): r.positions.index(r.place)
        for r in Run.open(Path(out) / "direct" / "Ash-1B" / "mmlu-five").records()
    }
    for i, item in enumerate(drawn.predictions.item_ids):
        for j, row in enumerate(drawn.predictions.positions.tolist()):
            assert drawn.repeats[i, j].tolist() == [by_query[item, tuple(row), n] for n in range(3)]
    assert run(["panel", "export", out, str(tmp_path / "export")]) == 0
    assert same(read, read_panel(str(tmp_path / "export")))


def test_an_export_in_part_and_bad_ones(panel, out, capsys, tmp_path):
    printed(capsys, "run", panel(), "--out", out)
    shutil.rmtree(Path(out) / "direct")
    copy = tmp_path / "export"
    assert run(["panel", "export", out, str(copy)]) == 2
    read = read_panel(str(copy))
    assert len(read.cells) == 4
    assert read.left_out == ("Ash-1B-it on mmlu-five (direct) has not been begun.",)
    assert same(read_panel(out), read)
    for args in (["export", copy, tmp_path / "again"], ["status", copy], ["run", panel(), "--out", copy]):
        assert run(["panel", *map(str, args)]) == 3
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    assert run(["panel", "export", out, str(tmp_path / "full")]) == 3
    next(copy.glob("*.parquet")).write_bytes(b"nothing")
    with pytest.raises(RunError, match="SHA-256"):
        read_panel(str(copy))
    (copy / "panel.json").write_text("{}")
    with pytest.raises(RunError, match="damaged"):
        read_panel(str(copy))


def test_failures_are_filtered_and_said(panel, out, capsys):
    """A.1: a cell with under 90 % of the usable items of the others is left out."""
    printed(capsys, "run", panel(sweeps=""), "--out", out)
    path = Path(out) / "first-token" / "Ash-1B" / "mmlu-five"
    run_ = Run.open(path)
    rows = list(run_.records())
    failed = {r.item_id for r in rows[:24]}
    for part in (path / "records").glob("part-*.parquet"):
        part.unlink()
    empty = {"place": None, "logprobs": None, "mass": None, "status": "error"}
    fields = Record.__dataclass_fields__
    run_.append([Record(**{n: getattr(r, n) for n in fields} | (empty if r.item_id in failed else {})) for r in rows])
    run_.close()
    assert len(from_rows(rows)) == 160
    code, found, _ = printed(capsys, "status", out)
    assert code == 2
    assert found["cells"][0]["n_failed"] == 24
    read = read_panel(out)
    assert [cell.checkpoint.name for cell in read.cells] == ["Ash-1B-it"]
    assert read.left_out == (
        "Ash-1B on mmlu-five (first-token) has 17 usable items, under 90 % of what most models have.",
    )


# --- report --------------------------------------------------------------------------------------------------------


@pytest.fixture
def analyses(monkeypatch):
    def counted(panel):
        return Finding("counted", "How many cells are there?", sentences=(f"{len(panel.cells)} cells.",))

    def skipped(panel):
        return Finding("skipped", "What is not there?", parts_skipped=("One: needs more.", "Two: needs more."))

    monkeypatch.setattr("orderbias.studies.panel.analyses.ANALYSES", {"counted": counted, "skipped": skipped})


def test_report(panel, out, capsys, analyses, tmp_path):
    printed(capsys, "run", panel(), "--out", out)
    code, found, said = printed(capsys, "report", out, "--resamples", 100, "--csv", tmp_path / "csv")
    assert code == 0
    assert [f["sentences"] for f in found["findings"]] == [["5 cells."], []]
    # Of what every part was skipped, all was skipped.
    assert [f["skipped"] for f in found["findings"]] == [None, "One: needs more. Two: needs more."]
    assert found["panel"]["checkpoints"] == "2"
    assert (found["n_analyses"], found["n_skipped"]) == (2, 1)
    assert "[2/2] skipped: skipped" in said
    assert printed(capsys, "report", out, "--only", "skipped")[0] == 2
    code, _, said = printed(capsys, "report", out, "--only", "other")
    assert code == 3
    assert "counted, skipped" in said
    assert run(["panel", "report", out]) == 0
    shown = capsys.readouterr().out
    assert "5 cells." in shown
    assert "2 analyses: 1 done, 1 skipped (skipped)." in shown
    assert run(["panel", "report", str(tmp_path)]) == 3
    assert run(["panel", "report", out, "--html", str(tmp_path / "none" / "page.html")]) == 3
    assert run(["panel", "report", out, "--level", "1"]) == 3


def test_the_panel_of_the_page_runs_and_is_reported(out, capsys, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs" / "panel.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    (tmp_path / "PANEL.toml").write_text(example)
    assert printed(capsys, "run", tmp_path / "PANEL.toml", "--out", out)[0] == 0
    copy = str(tmp_path / "export")
    assert run(["panel", "export", out, copy]) == 0
    monkeypatch.setattr(SimulatedBackend, "__post_init__", lambda self: pytest.fail("a report makes no model"))
    code, found, said = printed(capsys, "report", out, "--resamples", 200)
    assert code == 0, said
    assert printed(capsys, "report", copy, "--resamples", 200)[1] == found
    assert any(finding["tables"] for finding in found["findings"])
    assert all(finding["skipped"] or finding["tables"] for finding in found["findings"])
    for table in (table for finding in found["findings"] for table in finding["tables"]):
        entries = [entry for row in table["rows"] for entry in row.values()]
        ranged = any(isinstance(entry, dict) and entry["interval"] is not None for entry in entries)
        # The ends of the cap's null are not of resamples but of permutations.
        assert table["resampled"] or not ranged or table["name"] == "cap_null", table["name"]


def test_settings_of_a_report_reach_the_panel(panel, out, capsys):
    printed(capsys, "run", panel(sweeps=""), "--out", out)
    assert read_panel(out, Settings(200, 0.9, 3)).settings == Settings(200, 0.9, 3)


# --- settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"top": "sed = 1"}, "`sed` is no setting. The settings there are: seed, models"),
        ({"model": "size = 3"}, "`models[1].size` is no setting"),
        ({"benchmark": "calibration = 3"}, "`benchmarks[0].calibration` is no setting"),
        ({"benchmark": "groups = 2"}, "n_items must not go with groups"),
        ({"benchmark": "per_group = 0"}, "per_group`"),
        ({"model": "parameters = 3"}, "TOML"),
        ({"sweeps": '[[sweeps]]\nreadout = "letter"'}, "first-token"),
        ({"sweeps": '[[sweeps]]\norderings = "some"'}, "canonical, cyclic"),
        ({"sweeps": '[[sweeps]]\nmodels = ["Oak"]'}, "must name some of Ash-1B, Ash-1B-it. Got Oak"),
        ({"sweeps": "[[sweeps]]\nmodels = []"}, "Got none"),
        ({"sweeps": "[[sweeps]]\n[[sweeps]]"}, "different names"),
        ({"sweeps": '[[sweeps]]\n[[sweeps]]\nname = "b"\norderings = "cyclic"'}, "would count twice"),
        ({"sweeps": '[[sweeps]]\nname = "panel.json"'}, "a file of that name"),
        ({"sweeps": "[[sweeps]]\nrepeats = 2"}, "above 1 needs a model behind an API"),
        ({"top": "[writing]\nmax_tokens = 5", "sweeps": ""}, "writing must go with a sweep"),
        ({"more": '[[models]]\nmodel = "simulated"\nbase = "Oak"'}, "name of another model"),
        ({"more": '[[models]]\nmodel = "simulated"\nname = "ash-1b"'}, "models must have different names"),
        ({"more": '[[models]]\nmodel = "simulated"\ngpus = -1'}, "gpus"),
        ({"more": '[[models]]\nmodel = "simulated"\ngpus = nan'}, "gpus"),
        ({"more": '[[models]]\nmodel = "simulated"\nparameters = inf'}, "parameters"),
        ({"more": '[[models]]\nmodel = "simulated"\nparameters = -1'}, "parameters"),
        ({"model": '[[models]]\nmodel = "simulated"\nbase = "simulated"'}, "name of another model"),
        ({"model": '[[models]]\nmodel = "simulated"\nname = "a"\nbase = "b"\n'
                   '[[models]]\nmodel = "simulated"\nname = "b"\nbase = "a"'}, "Got a -> b -> a"),
        ({"model": '[[models]]\nmodel = "simulated"\nbase = "Ash-1B"\npost_trained = false'}, "it has a base"),
        ({"model": '[[models]]\nmodel = "smulated:x"'}, "x: --model must be local:NAME"),
        ({"model": '[[models]]\nmodel = "simulated"\nrpm = 3'}, "simulated: --rpm must go with openai:NAME"),
        ({"sweeps": '[[sweeps]]\nreadout = "five-shot"\n', "more": '[[benchmarks]]\nsource = "{own}"\n'}, "solved"),
    ],
)  # fmt: skip
def test_bad_settings(panel, out, capsys, settings, said, tmp_path):
    own = tmp_path / "own.jsonl"
    own.write_text('{"id": "1", "question": "?", "options": ["x", "y"], "gold": 0}\n')
    settings = {key: value.replace("{own}", str(own)) for key, value in settings.items()}
    code, _, message = printed(capsys, "run", panel(**settings), "--out", out)
    assert code == 3
    assert said in message
    assert not Path(out).exists()


def test_other_settings_are_refused(panel, out, capsys, asked):
    printed(capsys, "run", panel(sweeps=""), "--out", out)
    asked.clear()
    before = (Path(out) / "panel.json").read_bytes()
    path = Path(panel(sweeps=""))
    text = path.read_text()
    for old, new, said in (
        ("seed = 7", "seed = 8", "seed: 7 -> 8"),
        ("n_items = 20", "n_items = 21", "n_items of mmlu-five: 20 -> 21"),
        ("\n[[benchmarks]]", '\n[[sweeps]]\norderings = "cyclic"\n[[benchmarks]]', "orderings of first-token"),
    ):
        path.write_text(text.replace(old, new))
        code, _, message = printed(capsys, "run", path, "--out", out)
        assert code == 3
        assert said in message
    assert (Path(out) / "panel.json").read_bytes() == before
    assert not asked


def test_a_cell_made_under_other_settings_is_left(panel, out, capsys, asked):
    sweeps = '[[sweeps]]\nreadout = "direct"\nmodels = ["Ash-1B"]\n[[sweeps]]\n'
    printed(capsys, "run", panel(sweeps=sweeps), "--out", out)
    shutil.rmtree(Path(out) / "first-token")
    asked.clear()
    code, found, said = printed(capsys, "run", panel(sweeps='[writing]\nletters = "all"\n' + sweeps), "--out", out)
    assert code == 2
    assert "was made under other settings: letters: 4 -> all" in found["faults"][0]
    assert "Ash-1B on mmlu-five (direct) is left" in said
    # All else is asked.
    assert sum(asked) == 2 * 160


def test_golds_need_not_be_known(panel, out, capsys, tmp_path):
    own = tmp_path / "own.jsonl"
    own.write_text(
        "".join(json.dumps({"id": f"{i}", "question": "?", "options": ["x", f"y{i}"]}) + "\n" for i in range(5))
    )
    code, _, _ = printed(capsys, "run", panel(sweeps="", more=f'[[benchmarks]]\nsource = "{own}"\n'), "--out", out)
    assert code == 0
    cell = next(cell for cell in read_panel(out).cells if cell.benchmark == "own")
    assert np.isnan(cell.measures["accuracy"])
    assert not np.isnan(cell.measures["flip_rate"])


def test_without_ray_its_extra_is_named(panel, out, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, said = printed(capsys, "run", panel(sweeps=""), "--out", out, "--ray", "auto")
    assert code == 3
    assert "orderbias[ray]" in said
    assert not Path(out).exists()


def test_keys_of_an_address_are_not_shown(capsys):
    code, _, said = printed(capsys, "status", "nowhere://KEY:SECRET@bucket/panel?token=SECRET")
    assert code == 3
    assert "nowhere://bucket/panel" in said
    assert "SECRET" not in said


def test_a_folder_that_cannot_be_opened(panel, out, capsys):
    assert printed(capsys, "run", panel(sweeps=""), "--out", "nowhere://x")[0] == 3
    assert printed(capsys, "status", out)[0] == 3
    assert printed(capsys, "run", panel(sweeps=""), "--out", " ")[0] == 3


# --- drawn answers, damage and hostile names ------------------------------------------------------------------------

DRAWN = '[[sweeps]]\nreadout = "direct"\n{repeats}\n[writing]\ntemperature = 1.0\n'


@pytest.mark.parametrize(
    ("repeats", "said"), [("repeats = 2", "only `repeats` reads them"), ("", "and no analysis reads them")]
)
def test_who_reads_drawn_answers_is_said(panel, out, capsys, repeats, said):
    printed(capsys, "run", panel(sweeps="[[sweeps]]\n" + DRAWN.format(repeats=repeats)), "--out", out)
    found = read_panel(out)
    assert len(found.cells) == 4
    named = [line for line in found.left_out if said in line]
    assert [line.partition(":")[0] for line in named] == [
        "Ash-1B on mmlu-five (direct)", "Ash-1B-it on mmlu-five (direct)",
    ]  # fmt: skip
    assert len(named) == len(found.left_out)
    assert "direct" in printed(capsys, "report", out, "--only", "repeats", "--resamples", 100)[1]["panel"]["readouts"]


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (("models",), "x", "models"),
        (("models", 0, "parameters"), "big", "models.0.parameters"),
        (("models", 0, "parameters"), float("nan"), "models.0.parameters"),
        (("models", 0, "family"), {"a": 1}, "models.0.family"),
        (("models", 1, "name"), "Ash-1B", "models must each be there once"),
        (("models", 1, "base"), "Oak", "base of Ash-1B-it"),
        (("sweeps", 0, "orderings"), "some", "canonical, cyclic"),
        (("sweeps", 0, "orderings"), 3, "sweeps.0.orderings"),
        (("sweeps", 0, "readout"), "letter", "sweeps.0.readout"),
        (("cells", 0, "benchmark"), "../../etc", "must be of sweeps, models and benchmarks that are there"),
        (("cells", 1, "model"), "Ash-1B", "cells must each be there once"),
        (("format",), 2, "newer orderbias"),
        (("exported",), {"cells": [1]}, "exported"),
    ],
)
def test_an_edited_panel_is_refused(panel, out, capsys, where, value, said):
    printed(capsys, "run", panel(sweeps=""), "--out", out)
    path = Path(out) / "panel.json"
    stored = json.loads(path.read_text())
    inner = stored
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    path.write_text(json.dumps(stored))
    for command in (["status", out], ["report", out], ["export", out, f"{out}-copy"]):
        capsys.readouterr()
        assert run(["panel", *command]) == 3
        message = capsys.readouterr().err
        assert said in message
        assert "fault of orderbias" not in message


def test_a_damaged_cell_is_left_out_and_the_others_are_reported(panel, out, capsys):
    path = panel()
    printed(capsys, "run", path, "--out", out)
    cells = Path(out) / "first-token"
    (cells / "Ash-1B" / "mmlu-five" / "items.jsonl").unlink()
    shutil.rmtree(cells / "Ash-1B-it" / "mmlu-five")
    shutil.copytree(Path(out) / "every-ordering" / "Ash-1B" / "mmlu-five", cells / "Ash-1B-it" / "mmlu-five")
    left_out = read_panel(out).left_out
    assert "items.jsonl is gone" in left_out[0]
    assert "holds the orderings all, and not cyclic+reversals" in left_out[1]
    code, found, _ = printed(capsys, "run", path, "--out", out)
    assert code == 2  # the foreign one is not written over
    assert {c["model"] for c in found["cells"] if not c["done"]} == {"Ash-1B-it"}
    (cells / "Ash-1B" / "mmlu-five" / "items.jsonl").write_text("no items\n")
    assert "Ash-1B on mmlu-five (first-token) cannot be read" in " ".join(read_panel(out).left_out)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda e: e["cells"][0].update(rows=[8, 168]), "must all be its own"),
        (lambda e: e["cells"][0].update(rows=[0, 10**15]), "must be within the file's"),
        (lambda e: e["cells"][0].update(rows=[-5, 3]), "exported.cells.0.rows.0"),
        (lambda e: e["files"]["first-token"].update(name="../../etc/passwd"), "exported.files.first-token.name"),
        (lambda e: e["files"]["first-token"].update(sha256="0"), "SHA-256"),
        (lambda e: e["designs"]["first-token"]["4"].update(positions=[[0, 1]] * 8), "each option at one place"),
        (lambda e: e["designs"].pop("first-token"), "must be what `orderbias panel export` wrote"),
    ],
)
def test_an_edited_export_is_refused(panel, out, capsys, tmp_path, change, said):
    printed(capsys, "run", panel(sweeps=""), "--out", out)
    copy = tmp_path / "copy"
    assert run(["panel", "export", out, str(copy)]) == 0
    stored = json.loads((copy / "panel.json").read_text())
    change(stored["exported"])
    (copy / "panel.json").write_text(json.dumps(stored))
    code, _, message = printed(capsys, "report", copy, "--resamples", 100)
    assert code == 3
    assert said in message


HOSTILE = "<script>window.x=1</script>[red]\\end{table}%&_#$~^|\"' \x1b[2J\u202e \n two"


def test_hostile_names_reach_every_output(out, capsys, tmp_path):
    path = tmp_path / "PANEL.toml"
    models = [f'[[models]]\nmodel = "simulated:{i}"\nname = {json.dumps(f"{i} {HOSTILE}")}\n' for i in range(3)]
    items = [
        {"id": f"../{i}\x1b[31m<b>", "question": f"{i}?", "options": ["a", "b", "c"], "gold": i % 3, "group": "[bold]"}
        for i in range(20)
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    own = f'[[benchmarks]]\nsource = "{tmp_path}/own.jsonl"\nname = {json.dumps("../" + HOSTILE)}\n'
    path.write_text("\n".join([*models, own]))
    assert run(["panel", "run", str(path), "--out", out]) == 0
    assert all(tmp_path in found.resolve().parents for found in tmp_path.rglob("*"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["PANEL.toml", "out", "own.jsonl"]
    report = ["panel", "report", out, "--resamples", "100"]
    to = {name: str(tmp_path / name) for name in ("csv", "latex", "figures")}
    page = tmp_path / "page.html"
    assert run([*report, *(a for n, d in to.items() for a in (f"--{n}", d)), "--html", str(page)]) == 0
    captured = capsys.readouterr()
    assert not {"\x1b", "\u202e"} & {*captured.out, *captured.err}
    assert "<script>window.x" not in page.read_text()
    for file in Path(to["latex"]).iterdir():
        assert "\\end{table}%&" not in file.read_text()
    assert (Path(to["figures"]) / "figure-3-factors.png").read_bytes().startswith(b"\x89PNG")


def test_simulated_models_differ_by_their_names(panel, out, capsys):
    more = "".join(f'[[models]]\nmodel = "simulated:{name}"\n' for name in ("Oak", "Elm"))
    assert printed(capsys, "run", panel(sweeps="", more=more), "--out", out)[0] == 0
    found = {cell.checkpoint.name: cell.measures["accuracy"] for cell in read_panel(out).cells}
    assert set(found) == {"Ash-1B", "Ash-1B-it", "Oak", "Elm"}
    assert found["Ash-1B"] == found["Ash-1B-it"]
    assert len({found["Oak"], found["Elm"], found["Ash-1B"]}) == 3


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "127.0.0.1:x"])
def test_a_cluster_that_does_not_answer_is_refused_at_once(address):
    from orderbias.cli._panel_ray import check_reachable

    check_reachable("auto")
    with pytest.raises(RunError, match="Nothing answers"):
        check_reachable(address)


class FakeRay:
    """Ray in this process: keeps what each task was given."""

    exceptions = SimpleNamespace(RayError=RuntimeError)

    def __init__(self):
        self.given = []

    def is_initialized(self):
        return True

    def put(self, value):
        return value

    def remote(self, **task):
        def made(function):
            def options(**more):
                def started(*args):
                    self.given.append({**task, **more})
                    return len(self.given), function(*args)

                return SimpleNamespace(remote=started)

            return SimpleNamespace(options=options)

        return made

    def wait(self, waiting, **_):
        return waiting[:1], waiting[1:]

    def get(self, done):
        return list(done[1])


def test_gpus_of_a_model_are_asked_of_the_cluster(panel, out, capsys, monkeypatch):
    ray = FakeRay()
    monkeypatch.setattr("orderbias.cli._panel_ray.need_ray", lambda: ray)
    monkeypatch.setattr("orderbias.cli._panel_ray.ask_model", lambda *args: ())
    printed(capsys, "run", panel(sweeps="", model="gpus = 0.5"), "--out", out, "--ray", "auto")
    assert [(task["name"], task["num_gpus"], task["num_cpus"]) for task in ray.given] == [
        ("Ash-1B", 0, 1), ("Ash-1B-it", 0.5, 1),
    ]  # fmt: skip
    assert all(task["max_retries"] > 0 for task in ray.given)


def test_weights_are_loaded_once_for_all_cells_of_a_model(monkeypatch):
    from orderbias.backends import _loading, local
    from orderbias.cli._asking import ModelOptions
    from orderbias.cli._study_models import SharedModel

    loaded = []
    monkeypatch.setattr(_loading, "load_model", lambda name, **_: loaded.append(name) or name)
    monkeypatch.setattr(local, "LocalBackend", lambda weights, **_: ("backend of", weights))
    shared = SharedModel()
    made = [shared("local:some/model", items, ModelOptions()) for items in ("one", "two", "three")]
    assert loaded == ["some/model"]
    assert made == [("backend of", "some/model")] * 3


def test_every_readout_is_asked_with_its_orderings(panel, out, capsys):
    readouts = ("first-token", "five-shot", "direct", "chain-of-thought")
    sweeps = "".join(f'[[sweeps]]\nreadout = "{readout}"\n' for readout in readouts)
    assert printed(capsys, "run", panel(sweeps=sweeps), "--out", out)[0] == 0
    found = read_panel(out)
    asked = {(cell.checkpoint.name, cell.readout): cell.predictions.positions.shape for cell in found.cells}
    assert asked == {
        (name, readout): (8 if readout in ("first-token", "five-shot") else 4, 4)
        for name in ("Ash-1B", "Ash-1B-it")
        for readout in readouts
    }
