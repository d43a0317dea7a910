"""`orderbias study label-free` end to end with a simulated model: what is asked, resumed, printed, and refused."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from orderbias.backends.embedding import SentenceEmbedder, embedder
from orderbias.backends.simulated import SimulatedBackend
from orderbias.cli import run
from orderbias.operations import PriDe
from orderbias.store import Run

STUDY = """
seed = 42
{top}
[[models]]
model = "simulated"
{model}
[[benchmarks]]
source = "mmlu-five"
n_items = 24
calibration = 12
{benchmark}
"""
ALL = {
    "direct",
    "cyclic",
    "first-token",
    "pride",
    "two-stage",
    "hidden+match",
    "visible+model",
    "visible+match",
    "hybrid",
    "independent",
}


@pytest.fixture(autouse=True)
def no_embedder(monkeypatch):
    """The simulated model writes options word for word: nothing is left to likeness."""
    embedder.cache_clear()
    monkeypatch.setattr(SentenceEmbedder, "load", lambda self: None)
    monkeypatch.setattr(SentenceEmbedder, "__call__", lambda self, texts: np.eye(len(texts), dtype=np.float32))


@pytest.fixture
def study(tmp_path):
    def write(top="", model="", benchmark="", text=STUDY):
        path = tmp_path / "STUDY.toml"
        path.write_text(text.format(top=top, model=model, benchmark=benchmark))
        return str(path)

    return write


@pytest.fixture
def out(tmp_path):
    return str(tmp_path / "out")


def printed(capsys, *args):
    capsys.readouterr()
    code = run(["study", "label-free", *map(str, args), "--json", "--resamples", "200"])
    captured = capsys.readouterr()
    return code, json.loads(captured.out) if captured.out else None, captured.err


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


def test_the_whole_study(study, out, capsys):
    code, found, _ = printed(capsys, study(), "--out", out)
    assert code == 0
    (cell,) = found["cells"]
    assert set(cell) >= {
        "model", "benchmark", "n_options", "arms", "common", "grid", "tie_ranges", "fallback", "item_types", "runs",
        "skipped", "signature",
    }  # fmt: skip
    arms = {arm["strategy"]: arm for arm in cell["arms"]}
    assert set(arms) == ALL
    assert all(arm["n_items"] == arm["n_answered"] == arm["n_usable"] == 24 for arm in arms.values())
    # Planted: a model that answers the same in writing and by its first token, and leans to the first place.
    assert arms["direct"]["accuracy"] == arms["first-token"]["accuracy"] == arms["two-stage"]["accuracy"]
    assert arms["direct"]["flip_rate"]["value"] == arms["first-token"]["flip_rate"]["value"] > 0
    # Options that are not seen together leave nothing of the order; a vote has one answer for all.
    for blind in ("hidden+match", "independent", "cyclic"):
        assert arms[blind]["flip_rate"]["value"] == 0
        assert arms[blind]["positional_skew"] is None
    # The preference is one of places alone, which the prior divides out.
    assert arms["pride"]["flip_rate"]["value"] < arms["first-token"]["flip_rate"]["value"]
    assert arms["direct"]["mcnemar"] is None
    assert set(arms["pride"]["mcnemar"]) == {"broken", "fixed", "p_value", "p_holm"}
    assert cell["grid"]["accuracy"]["hidden+model"] == arms["two-stage"]["accuracy"]["value"]
    assert sum(s["n_items"] for s in cell["item_types"]) == 24
    assert [row["strategy"] for row in cell["tie_ranges"]] == ["cyclic", "independent"]
    assert all(len(row["accuracies"]) == 10 for row in cell["tie_ranges"])
    assert cell["skipped"] == {}
    assert {r["run"]: r["n_left"] for r in cell["runs"]} == {Path(d).name: 0 for d in Path(out).glob("*/*/*/")}


def stored(out, name):
    """Rows of a run by item, then by ordering."""
    by_item: dict[str, dict] = {}
    for r in Run.open(Path(out) / "simulated" / "mmlu-five" / name).records():
        by_item.setdefault(r.item_id, {})[r.positions] = r
    return by_item


def content(row):
    return row.positions.index(row.place)


CANONICAL = (0, 1, 2, 3)


def test_arms_are_what_the_records_say(study, out, capsys):
    """Accuracy and flips of each arm by loops over the stored rows."""
    _, found, _ = printed(capsys, study(), "--out", out)
    arms = {arm["strategy"]: arm for arm in found["cells"][0]["arms"]}
    runs = {
        "direct": "direct",
        "first-token": "first-token",
        "two-stage": "two-stage-hidden-model",
        "hidden+match": "two-stage-hidden-match",
        "visible+model": "two-stage-visible-model",
        "visible+match": "two-stage-visible-match",
        "hybrid": "two-stage-visible-model-reasoning",
        "independent": "independent",
    }
    for arm, name in runs.items():
        by_item = stored(out, name)
        right = [content(q[CANONICAL]) == q[CANONICAL].gold for q in by_item.values()]
        contents = [{content(r) for r in q.values()} for q in by_item.values()]
        assert arms[arm]["accuracy"]["value"] == pytest.approx(np.mean(right))
        assert arms[arm]["flip_rate"]["value"] == pytest.approx(np.mean([len(c) > 1 for c in contents]))
    assert set(arms) == {*runs, "cyclic", "pride"}


def test_the_vote_and_its_lots_by_loops(study, out, capsys):
    _, found, _ = printed(capsys, study(), "--out", out)
    (cell,) = found["cells"]
    arms, ranges = ({row["strategy"]: row for row in cell[name]} for name in ("arms", "tie_ranges"))
    sure, tied = 0, []
    for q in stored(out, "direct").values():
        votes = [content(r) for r in q.values()]
        best = {c for c in votes if votes.count(c) == max(map(votes.count, votes))}
        gold = q[CANONICAL].gold
        sure += best == {gold}
        tied += [gold in best] if len(best) > 1 else []
    assert ranges["cyclic"]["n_tied"] == len(tied) > 0
    for share in (arms["cyclic"]["accuracy"]["value"], *ranges["cyclic"]["accuracies"]):
        assert sure <= round(24 * share) <= sure + sum(tied)
    assert len({*ranges["cyclic"]["accuracies"]}) > 1


def test_pride_divides_out_the_prior_of_the_calibration_items_alone(study, out, capsys, monkeypatch):
    """The prior of label-free's PriDe: the mean over calibration items of the softmax of mean log-probabilities."""
    fit, fitted = PriDe.fit, []
    monkeypatch.setattr(PriDe, "fit", lambda self, on: fitted.append(set(on.item_ids)) or fit(self, on))
    _, found, _ = printed(capsys, study(), "--out", out)
    arms = {arm["strategy"]: arm for arm in found["cells"][0]["arms"]}
    calibration = stored(out, "first-token-calibration")
    shares = []
    for q in calibration.values():
        means = np.mean([r.logprobs for r in q.values()], axis=0)
        shares.append(np.exp(means) / np.exp(means).sum())
    prior = np.log(np.mean(shares, axis=0))
    asked = stored(out, "first-token")
    assert fitted == [set(calibration)]
    assert not set(asked) & set(calibration)
    right = [
        q[CANONICAL].positions.index(int(np.argmax(np.array(q[CANONICAL].logprobs) - prior))) == q[CANONICAL].gold
        for q in asked.values()
    ]
    flips = [
        len({r.positions.index(int(np.argmax(np.array(r.logprobs) - prior))) for r in q.values()}) > 1
        for q in asked.values()
    ]
    assert arms["pride"]["accuracy"]["value"] == pytest.approx(np.mean(right))
    assert arms["pride"]["flip_rate"]["value"] == pytest.approx(np.mean(flips))


def test_the_fourth_cell_reuses_the_first_stage(study, out, capsys):
    printed(capsys, study(), "--out", out)
    place = Path(out) / "simulated" / "mmlu-five"
    for one in ("hidden", "visible"):
        first = {
            (r.item_id, r.positions): json.loads(r.text)["first"]
            for r in Run.open(place / f"two-stage-{one}-model").records()
        }
        matched = Run.open(place / f"two-stage-{one}-match")
        assert {(r.item_id, r.positions): json.loads(r.text)["first"] for r in matched.records()} == first
        assert matched.manifest.settings.as_dict()["stage_one"].startswith("given ")


def test_nothing_is_asked_twice_and_a_loss_is_asked_again(study, out, capsys, asked):
    path = study()
    _, before, _ = printed(capsys, path, "--out", out)
    n_first = sum(asked)
    asked.clear()
    code, again, _ = printed(capsys, path, "--out", out)
    assert code == 0
    assert again == before
    assert sum(asked) == 0
    # One run is lost: it alone is asked again.
    shutil.rmtree(Path(out) / "simulated" / "mmlu-five" / "direct")
    code, again, _ = printed(capsys, path, "--out", out)
    assert code == 0
    assert again == before
    assert 0 < sum(asked) < n_first


def test_interrupted_and_resumed(study, out, capsys, monkeypatch):
    path = study()
    _, whole, _ = printed(capsys, path, "--out", out + "-whole")
    ask = SimulatedBackend.ask
    calls = []

    def dying(self, requests):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return ask(self, requests)

    monkeypatch.setattr(SimulatedBackend, "ask", dying)
    assert run(["study", "label-free", path, "--out", out]) == 130
    # What is there can be read, and is not taken for whole.
    code, _, said = printed(capsys, path, "--out", out, "--report-only")
    assert code == 2, said
    assert "has not been run" in said
    monkeypatch.setattr(SimulatedBackend, "ask", ask)
    code, found, _ = printed(capsys, path, "--out", out)
    assert code == 0
    assert found == whole


def test_dry_run_asks_nothing(study, out, capsys, asked):
    code, found, said = printed(capsys, study(), "--out", out, "--dry-run")
    assert code == 0
    assert not asked
    assert not Path(out).exists()
    by_run = {Path(p["path"]).name: p for p in found["plan"]}
    assert by_run["direct"]["calls"] == 96
    # Every option is scored once, whatever the order.
    assert by_run["independent"]["calls"] == 96
    # One free answer an item, and a letter for each rotation.
    assert by_run["two-stage-hidden-model"]["calls"] == 24 + 96
    assert by_run["two-stage-hidden-match"]["calls"] == 0
    assert found["calls"] == sum(p["calls"] for p in found["plan"])
    assert "In all" in said


def test_the_plan_is_what_is_asked(study, out, capsys, asked):
    _, planned, _ = printed(capsys, study(), "--out", out, "--dry-run")
    printed(capsys, study(), "--out", out)
    assert sum(asked) == planned["calls"]


def test_report_only_needs_no_model(study, out, capsys, monkeypatch):
    path = study()
    _, before, _ = printed(capsys, path, "--out", out)
    monkeypatch.setattr(SimulatedBackend, "__init__", lambda *a, **k: pytest.fail("a model was made"))
    code, again, _ = printed(capsys, path, "--out", out, "--report-only")
    assert code == 0
    assert again == before


def test_report_of_nothing_could_not_run(study, out, capsys):
    assert printed(capsys, study(), "--out", out, "--report-only")[0] == 3


def test_calibration_items_are_none_of_the_others(study, out, capsys):
    printed(capsys, study('strategies = ["direct", "pride"]'), "--out", out)
    place = Path(out) / "simulated" / "mmlu-five"
    ids = {name: {i.id for i in Run.open(place / name).items()} for name in ("direct", "first-token-calibration")}
    assert len(ids["first-token-calibration"]) == 12
    assert not ids["direct"] & ids["first-token-calibration"]


def test_items_are_drawn_by_group_and_seed(study, out, capsys):
    text = STUDY.replace("n_items = 24", "groups = 3\nper_group = 7")
    printed(capsys, study('strategies = ["direct"]', text=text), "--out", out)
    items = list(Run.open(Path(out) / "simulated" / "mmlu-five" / "direct").items())
    counts = {group: sum(i.group == group for i in items) for group in {i.group for i in items}}
    assert sorted(counts.values()) == [7, 7, 7]
    printed(capsys, study('strategies = ["direct"]', text=text.replace("42", "43")), "--out", out + "2")
    others = {i.id for i in Run.open(Path(out + "2") / "simulated" / "mmlu-five" / "direct").items()}
    assert others != {i.id for i in items}


def test_fewer_strategies_make_fewer_runs(study, out, capsys):
    _, found, _ = printed(capsys, study('strategies = ["direct", "cyclic"]'), "--out", out)
    assert [arm["strategy"] for arm in found["cells"][0]["arms"]] == ["direct", "cyclic"]
    assert [p.name for p in (Path(out) / "simulated" / "mmlu-five").iterdir() if p.is_dir()] == ["direct"]
    # A strategy that is added later leaves what is there as it is.
    code, found, _ = printed(capsys, study('strategies = ["direct", "cyclic", "pride", "two-stage"]'), "--out", out)
    assert code == 0
    assert len(found["cells"][0]["arms"]) == 5


def test_all_reason_alike(study, out, capsys):
    code, found, _ = printed(capsys, study('reasoning = "all"'), "--out", out)
    assert code == 0
    names = {r["run"] for r in found["cells"][0]["runs"]}
    assert "chain-of-thought" in names
    assert "direct" not in names
    # Reasoning in sight of the options, then a match by the model: one run and one comparison, not two.
    assert {arm["strategy"] for arm in found["cells"][0]["arms"]} == ALL - {"hybrid"}
    assert found["cells"][0]["skipped"] == {"hybrid": "Where all are asked to reason it is visible+model of the grid."}
    _, found, _ = printed(capsys, study('reasoning = "all"\nstrategies = ["direct", "hybrid"]'), "--out", out + "2")
    assert {arm["strategy"] for arm in found["cells"][0]["arms"]} == {"direct", "hybrid"}


def test_a_strategy_that_cannot_be_had_is_named(study, out, capsys, monkeypatch):
    from orderbias.errors import MissingExtra

    def missing(self):
        raise MissingExtra("sentence_transformers", "match")

    monkeypatch.setattr(SentenceEmbedder, "load", missing)
    embedder.cache_clear()
    code, found, _ = printed(capsys, study(), "--out", out)
    assert code == 0
    (cell,) = found["cells"]
    assert "orderbias[match]" in cell["skipped"]["grid"]
    assert cell["grid"] is None
    # Asked for by name, it is an error before anything is asked.
    code, _, said = printed(capsys, study('strategies = ["direct", "grid"]'), "--out", out + "2")
    assert code == 3
    assert "orderbias[match]" in said
    assert not Path(out + "2").exists()


def test_tables_fit_a_terminal_and_files_hold_them(study, out, tmp_path, capsys):
    table, sheet = tmp_path / "study.csv", tmp_path / "study.md"
    args = ["--resamples", "100", "--csv", str(table), "--markdown", str(sheet)]
    assert run(["study", "label-free", study(), "--out", out, *args]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if not line.startswith("signature")) <= 100
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert {row["strategy"] for row in rows if row["item_set"] == "all"} == ALL
    assert next(row for row in rows if row["strategy"] == "cyclic")["positional_skew"] == ""
    text = sheet.read_text()
    assert all(name in text for name in ALL)
    assert "Hiding the options in stage one" in text


def test_other_settings_are_refused(study, out, capsys):
    printed(capsys, study('strategies = ["direct"]'), "--out", out)
    code, _, said = printed(capsys, study('strategies = ["direct"]').replace("x", "x"), "--out", out)
    assert code == 0
    path = study('strategies = ["direct"]')
    Path(path).write_text(Path(path).read_text().replace("seed = 42", "seed = 7"))
    code, _, said = printed(capsys, path, "--out", out)
    assert code == 3
    assert "other settings" in said


def write_items(path, n, options):
    rows = [
        {
            "id": str(i),
            "question": f"Number {i}?",
            "options": [f"{c}{i} word" for c in "vwxyz"[: options(i)]],
            "gold": i % 3,
        }
        for i in range(n)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_what_the_tables_do_not_show_is_said(study, out, tmp_path, capsys):
    items = write_items(tmp_path / "items.jsonl", 10, lambda i: 5)
    text = f'strategies = ["direct"]\n[[models]]\nmodel = "simulated"\n[[benchmarks]]\nsource = "{items}"\n'
    _, found, _ = printed(capsys, study(text=text), "--out", out)
    (notice,) = found["cells"][0]["notices"]
    records = list(Run.open(Path(out) / "simulated" / "items" / "direct").records())
    fifth = sum("[[E]]" in r.text for r in records)
    assert fifth == sum(r.status == "unparsed" for r in records) > 0
    assert notice.startswith(f"direct: {fifth} of {len(records)} replies answer with a letter beyond the first 4")
    assert run(["study", "label-free", study(text=text), "--out", out, "--resamples", "0"]) == 0
    assert "a letter beyond the first 4" in " ".join(capsys.readouterr().out.split())
    assert run(["measure", str(Path(out) / "simulated" / "items" / "direct"), "--resamples", "0"]) == 0
    assert f"{fifth} of {len(records)} replies answer with a letter beyond the first 4" in capsys.readouterr().err
    text += '[writing]\nletters = "all"\n'
    _, found, _ = printed(capsys, study(text=text), "--out", out + "-all")
    assert found["cells"][0]["notices"] == []


@pytest.mark.parametrize(
    ("fallback", "reply", "n"),
    [
        ("always", "Well, maybe E", 1),
        ("always", "The answer is E.", 1),
        ("never", "Well, maybe E", 0),
        ("never", "Well, maybe B", 0),
        ("never", "The answer is E.", 1),
        ("finished", "I would think about E and then", 0),
        ("finished", "The answer is E, as", 1),
        ("always", "Nobody knows.", 0),
    ],
)
def test_only_letters_beyond_the_rule_count_as_such(fallback, reply, n):
    from orderbias.cli._found import reading_notes
    from orderbias.records import Record, from_rows

    rows = from_rows([Record(item_id="1", positions=(0, 1, 2, 3, 4), status="unparsed", text=reply)])
    settings = {"letters": "4", "fallback": fallback, "readout": "direct"}
    assert [note.split(" with")[0] for note in reading_notes(rows, settings)] == n * ["1 of 1 replies answer"]
    assert reading_notes(rows, {**settings, "letters": "all"}) == ()


def test_with_repeats_sensitivity_is_what_the_order_adds(study, out, capsys):
    """Drawn replies flip by themselves; a vote, which does so less, is no less sensitive to the order for that."""
    text = STUDY + "\n[writing]\ntemperature = 5.0\n"
    path = study('strategies = ["direct", "cyclic"]\nrepeats = 2', text=text.replace("n_items = 24", "n_items = 150"))
    code, found, said = printed(capsys, path, "--out", out)
    assert code == 0, said
    direct, cyclic = found["cells"][0]["arms"]
    together = cyclic["together"]
    assert together["measure"] == "excess"
    assert direct["flip_rate"]["value"] > 0.9  # drawn nearly evenly among four
    low, high = together["sensitivity"]["interval"]
    assert low < 0 < high
    assert together["sensitivity"]["value"] == pytest.approx(
        cyclic["noise"]["excess"]["value"] - direct["noise"]["excess"]["value"], abs=0.02
    )


def test_flips_of_a_server_asked_once_are_called_what_they_are(of_server, out, capsys):
    code, found, _ = printed(capsys, of_server(), "--out", out)
    assert code == 0
    assert any("may answer differently when it is asked the same" in notice for notice in found["cells"][0]["notices"])
    assert run(["measure", str(Path(out) / "m" / "items" / "direct"), "--resamples", "0"]) in (0, 2)
    assert "may answer differently when it is asked the same again" in capsys.readouterr().err


def test_numbers_of_options_are_apart(study, out, tmp_path, capsys):
    items = write_items(tmp_path / "mixed.jsonl", 40, lambda i: 3 if i % 4 == 0 else 5)
    text = f'[[models]]\nmodel = "simulated"\n[[benchmarks]]\nsource = "{items}"\ncalibration = 16\n'
    code, found, _ = printed(capsys, study(text=text), "--out", out)
    assert code == 0
    assert [cell["n_options"] for cell in found["cells"]] == [3, 5]
    assert sum(cell["arms"][0]["n_items"] for cell in found["cells"]) == 24


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ("n_items = 24", "n_items = 23", "n_items 23"),
        ("calibration = 12", "calibration = 11", "n_items 11"),
        ("n_items = 24", 'n_items = 24\nself_referring = "drop"', "self_referring drop"),
        ("[[models]]", "[writing]\nmax_tokens = 25\n[[models]]", "max_tokens 25"),
        ("[[models]]", "[writing]\nthinking_tokens = 25\n[[models]]", "thinking_tokens 25"),
        ("[[models]]", '[writing]\nfallback = "never"\n[[models]]', "fallback never"),
        ("[[models]]", '[writing]\nletters = "all"\n[[models]]', "letters all"),
        ("[[models]]", "[writing]\nmin_cosine = 0.5\n[[models]]", "matching characters 4, cosine 0.5"),
        ("[[models]]", "repeats = 2\n[writing]\ntemperature = 1.0\n[[models]]", "repeats 2"),
        ('model = "simulated"', 'model = "openai:gpt-x"\nname = "simulated"', "model gpt-x"),
    ],
)
def test_a_report_is_of_the_study_that_the_file_says(before, after, named, study, out, capsys):
    printed(capsys, study('strategies = ["direct", "pride", "grid"]'), "--out", out)
    text = STUDY.replace("{top}", 'strategies = ["direct", "pride", "grid"]').replace(before, after)
    code, _, said = printed(capsys, study(text=text), "--out", out, "--report-only")
    assert code == 3
    assert f"must be of {named}" in said


def test_a_report_before_direct_is_whole_says_what_is_left(study, out, capsys, monkeypatch):
    def stopping(self, requests):
        raise KeyboardInterrupt

    ask, calls = SimulatedBackend.ask, []
    monkeypatch.setattr(
        SimulatedBackend, "ask", lambda s, r: calls.append(1) or (ask if len(calls) < 2 else stopping)(s, r)
    )
    path = study('strategies = ["direct"]')
    assert printed(capsys, path, "--out", out)[0] == 130
    code, found, said = printed(capsys, path, "--out", out, "--report-only")
    assert (code, found) == (2, {"cells": []})
    assert "92 of 96 queries left" in said
    # Nothing at all is another matter: a wrong directory, most likely.
    code, _, said = printed(capsys, path, "--out", out + "-wrong", "--report-only")
    assert code == 3
    assert "must hold runs of this study. It has none" in said


def test_scores_that_cannot_be_read_are_counted(study, out, capsys, monkeypatch):
    write, seen = SimulatedBackend._write, []

    def half(self, request):
        if request.wants == "score":
            seen.append(request)
            return replace(write(self, request), text="I would say 90" if len(seen) % 2 else "<score>50</score>")
        return write(self, request)

    monkeypatch.setattr(SimulatedBackend, "_write", half)
    path = study('strategies = ["direct", "independent"]')
    code, found, said = printed(capsys, path, "--out", out)
    assert code == 0, said
    (independent,) = [run for run in found["cells"][0]["runs"] if run["run"] == "independent"]
    assert (independent["n_scores"], independent["n_unread_scores"]) == (len(seen), len(seen) // 2) == (96, 48)
    assert run(["study", "label-free", path, "--out", out, "--resamples", "0"]) == 0
    assert "48 of 96 scores not read" in " ".join(capsys.readouterr().out.split())


def test_answers_of_the_fallback_are_told_apart(study, out, tmp_path, capsys, monkeypatch):
    write = SimulatedBackend._write

    def mumbling(self, request):
        reply = write(self, request)
        bare = request.wants == "letter" and int(request.item_id) % 2
        return replace(reply, text=f"Well then, {reply.text[-3]} it shall be") if bare else reply

    monkeypatch.setattr(SimulatedBackend, "_write", mumbling)
    items = write_items(tmp_path / "items.jsonl", 20, lambda i: 4)
    text = f'strategies = ["direct", "cyclic"]\n[[models]]\nmodel = "simulated"\n[[benchmarks]]\nsource = "{items}"\n'
    code, found, _ = printed(capsys, study(text=text), "--out", out)
    assert code == 0
    (cell,) = found["cells"]
    direct, cyclic = cell["fallback"]
    assert direct["n_standalone"] == cell["runs"][0]["found"]["standalone"] == 40
    assert direct["accuracy"] == cell["arms"][0]["accuracy"]["value"]
    assert direct["accuracy_without"] < direct["accuracy"]
    assert cyclic["strategy"] == "cyclic"


@pytest.fixture
def server(monkeypatch):
    pytest.importorskip("openai")
    pytest.importorskip("aiolimiter")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "backends"))
    from fault_server import FaultServer

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with FaultServer(reply=lambda prompt: "<score>50</score>" if "score" in prompt else "B") as server:
        yield server


@pytest.fixture
def of_server(study, server, tmp_path):
    items = write_items(tmp_path / "items.jsonl", 20, lambda i: 4)
    prices = tmp_path / "prices.json"
    prices.write_text('{"m": {"input": 1000, "output": 2000}}')

    def write(more=""):
        text = f'[[models]]\nmodel = "openai:m"\nbase_url = "{server.url}"\nprices = "{prices}"\n{more}\n'
        return study(text=text + f'[[benchmarks]]\nsource = "{items}"\nn_items = 6\ncalibration = 4\n')

    return write


def test_a_server_is_priced_first_and_asked_what_was_planned(of_server, server, out, capsys):
    code, planned, said = printed(capsys, of_server(), "--out", out, "--dry-run")
    assert code == 0
    assert not server.calls
    assert planned["cost"] > 0
    assert "costs about" in said
    assert "asked no more" not in said
    _, _, said = printed(capsys, of_server("max_calls = 30\nmax_cost = 0.001"), "--out", out, "--dry-run")
    assert f"may come to {planned['calls']} calls; it is asked no more at max_calls = 30" in said
    assert "asked no more at max_cost = 0.001" in said
    code, found, _ = printed(capsys, of_server(), "--out", out)
    assert code == 0
    assert len(server.calls) == planned["calls"]
    assert {arm["strategy"] for arm in found["cells"][0]["arms"]} == ALL
    # Every option has the same score, and every option is chosen once: all hangs on the seed.
    assert [row["n_tied"] for row in found["cells"][0]["tie_ranges"]] == [6, 6]
    assert all(len(set(row["accuracies"])) > 1 for row in found["cells"][0]["tie_ranges"])


def test_without_logprobs_pride_is_skipped(of_server, server, out, capsys):
    server.logprobs = False
    code, found, _ = printed(capsys, of_server(), "--out", out)
    assert code == 0
    assert found["cells"][0]["skipped"] == {"pride": "The model shows no log-probabilities."}
    assert {arm["strategy"] for arm in found["cells"][0]["arms"]} == ALL - {"first-token", "pride"}
    code, again, _ = printed(capsys, of_server(), "--out", out, "--report-only")
    assert (code, again) == (0, found)


def test_a_server_that_refuses_a_free_answer_has_refused_the_match_too(of_server, server, out, capsys):
    """There is no text to match; the run that takes the replies says so, and is whole."""
    server.fault = lambda call: "refusal" if "short phrase" in call.prompt else None
    code, found, said = printed(capsys, of_server(), "--out", out)
    assert code == 0, said
    (cell,) = found["cells"]
    for name in ("two-stage-hidden-model", "two-stage-hidden-match"):
        (state,) = [run for run in cell["runs"] if run["run"] == name]
        assert (state["found"], state["n_left"]) == ({"refused": 24}, 0)
    arms = {arm["strategy"]: arm for arm in cell["arms"]}
    assert arms["hidden+match"]["n_answered"] == arms["two-stage"]["n_answered"] == 0
    assert arms["hidden+match"]["statuses"]["refused"] == 24
    assert run(["measure", str(Path(out) / "m" / "items" / "two-stage-hidden-match")]) == 2


def test_a_cap_holds_over_all_runs(of_server, server, out, capsys):
    code, found, said = printed(capsys, of_server("max_calls = 30"), "--out", out)
    assert code == 2
    assert len(server.calls) <= 30
    assert "is asked no more" in said
    assert "--max-calls 30 is reached: 30 calls" in said  # over all runs, not what was left for the last
    code, whole, _ = printed(capsys, of_server(), "--out", out)
    assert code == 0
    assert len(whole["cells"][0]["arms"]) > len(found["cells"][0]["arms"])


def test_what_failed_is_asked_again_and_matched_anew(of_server, server, out, capsys):
    printed(capsys, of_server(), "--out", out + "-whole")
    bad = list(Run.open(Path(out + "-whole") / "m" / "items" / "direct").items())[-1].question
    server.fault = lambda call: "500" if f"Question: {bad}" in call.prompt else None
    code, found, said = printed(capsys, of_server("retries = 0"), "--out", out)
    assert code == 2
    assert "direct has 4 of 24 queries left or failed" in said
    arms = {arm["strategy"]: arm for arm in found["cells"][0]["arms"]}
    # What the server says is a letter, which matches no option.
    answered = {name: (arm["n_items"], arm["n_answered"]) for name, arm in arms.items() if "match" not in name}
    assert set(answered.values()) == {(6, 5)}
    server.fault = lambda call: None
    code, healed, _ = printed(capsys, of_server(), "--out", out)
    assert code == 0
    _, whole, _ = printed(capsys, of_server(), "--out", out + "-whole", "--report-only")
    assert healed["cells"][0]["arms"] == whole["cells"][0]["arms"]


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"top": "seeds = 1"}, "`seeds`"),
        ({"text": STUDY.replace("seed = 42", "seed = -1")}, "`seed`"),
        ({"top": 'seed2 = "x"'}, "`seed2`"),
        ({"top": 'strategies = ["direct", "tow-stage"]'}, "`strategies[1]`"),
        ({"top": 'strategies = ["cyclic"]'}, 'must have "direct"'),
        ({"top": 'strategies = ["direct", "direct"]'}, "named once"),
        ({"model": 'dtype = "float8"'}, "`models[0].dtype`"),
        ({"model": "chat = 1"}, "`models[0].chat`"),
        ({"model": 'bas_url = "x"'}, "base_url"),
        ({"model": 'base_url = "http://localhost/v1"'}, "openai:NAME"),
        ({"benchmark": "groups = 2\nper_group = 3"}, "benchmarks[0]"),
        ({"benchmark": "calibraton = 3"}, "`benchmarks[0].calibraton`"),
        ({"benchmark": '[[models]]\nmodel = "simulated"'}, "different names"),
        ({"text": STUDY.replace("n_items = 24", "n_items = 9000")}, "`n_items`"),
        ({"text": STUDY.replace("calibration = 12", "calibration = 520")}, "`calibration`"),
        ({"text": STUDY.replace("n_items = 24", "groups = 50\nper_group = 20")}, "`groups`"),
        ({"text": STUDY.replace("n_items = 24", "groups = 5")}, "must go together"),
        ({"text": STUDY.replace('model = "simulated"', 'model = "gpt"')}, "local:"),
        ({"text": "[[models]]\nmodel = 'simulated'"}, "`benchmarks` must be given"),
        ({"text": "seed = "}, "TOML"),
        ({"text": "\x00"}, "TOML"),
    ],
)
def test_a_fault_names_its_key(parts, named, study, out, capsys):
    code, _, said = printed(capsys, study(**parts), "--out", out)
    assert code == 3
    assert named in said
    assert "fault of orderbias itself" not in said
    assert not list(Path(out).rglob("manifest.json"))


def test_what_was_not_asked_yet_is_no_wrong_answer(study, out, capsys, monkeypatch):
    monkeypatch.setattr("orderbias.collect.ITEMS_AT_ONCE", 4)
    monkeypatch.setattr("orderbias.collect.FLUSH_SECONDS", 0.0)
    path = study('strategies = ["direct", "cyclic", "independent"]')
    assert printed(capsys, path, "--out", out)[0] == 0
    (folder,) = Path(out).glob("*/*/independent")
    parts = sorted(folder.glob("records/*.parquet"))
    assert len(parts) > 1
    parts[-1].unlink()
    code, found, said = printed(capsys, path, "--out", out, "--report-only")
    assert code == 2
    (cell,) = found["cells"]
    assert {arm["strategy"] for arm in cell["arms"]} == {"direct", "cyclic"}
    assert "queries that were not asked yet" in cell["skipped"]["independent"]
    assert "independent has" in said
    assert printed(capsys, path, "--out", out)[0] == 0
