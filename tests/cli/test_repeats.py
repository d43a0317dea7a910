"""`run --repeats`: what is asked and resumed, the noise table, and flip rates of drawn answers without one."""

import itertools
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from orderbias.backends.simulated import SimulatedBackend
from orderbias.cli import run
from orderbias.noise import FLIP_MEASURES, WITHHELD
from orderbias.store import Run

DRAWN = ("--readout", "direct", "--temperature", "1")


def write_items(path, n, n_options=lambda i: 4):
    rows = [
        {"id": str(i), "question": f"Which way from {i}?", "gold": i % 2,
         "options": ["northwards", "east", "south", "west"][: n_options(i)]}
        for i in range(n)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def source(tmp_path):
    return write_items(tmp_path / "items.jsonl", 18, lambda i: 2 + i % 3)


def ask(source, out, *more, model="simulated"):
    return run(["run", source, "--model", model, "--out", str(out), *more])


def printed(capsys, *args):
    capsys.readouterr()
    code = run([*map(str, args), "--json", "--resamples", "100"])
    captured = capsys.readouterr()
    return code, json.loads(captured.out) if captured.out else None, captured.err


def by_hand(records, n_options):
    """Both disagreements, from the stored rows: all pairs of calls."""
    calls = {}
    for r in records:
        if len(r.positions) == n_options:
            calls.setdefault(r.item_id, {}).setdefault(r.positions, []).append(r.positions.index(r.place))
    repeat, reorder = [], []
    for orderings in calls.values():
        rows = list(orderings.values())
        repeat.append(np.mean([[x != y for x, y in itertools.combinations(row, 2)] for row in rows]))
        pairs = [itertools.product(a, b) for a, b in itertools.combinations(rows, 2)]
        reorder.append(np.mean([[x != y for x, y in pair] for pair in pairs]))
    return np.mean(repeat), np.mean(reorder)


def test_every_query_is_asked_so_often_and_the_noise_is_that_of_the_rows(source, tmp_path, capsys):
    out = tmp_path / "r"
    assert ask(source, out, *DRAWN, "--repeats", "3", "--dry-run") == 0
    assert "Plan: 18 items, 162 queries." in capsys.readouterr().err
    assert ask(source, out, *DRAWN, "--repeats", "3", "--json") == 0
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["n_queries"], outcome["n_asked"]) == (162, 162)
    records = list(Run.open(out).records())
    assert set(Counter((r.item_id, r.positions) for r in records).values()) == {3}
    assert Run.open(out).manifest.settings.as_dict()["repeats"] == "3"
    code, found, said = printed(capsys, "measure", out)
    assert code == 0
    assert "K = 4: 48 answers are repeats" in said
    for cell in found["cells"]:
        noise = cell["noise"]
        expected = by_hand(records, cell["n_options"])
        values = [noise[f"{key}_disagreement"]["value"] for key in ("repeat", "reorder")]
        np.testing.assert_allclose(values, expected)
        assert noise["excess"]["value"] == pytest.approx(expected[1] - expected[0])
        assert (noise["n_repeats"], noise["n_repeated_orderings"]) == (3, cell["n_options"])
        assert cell["flip_rate"] is not None


def test_a_run_with_repeats_goes_on_where_it_was_and_is_no_other_run(source, tmp_path, capsys, monkeypatch):
    out = tmp_path / "r"
    batches = []

    def stopping(self, requests, ask=SimulatedBackend.ask):
        batches.append(requests)
        if len(batches) == 2:
            raise KeyboardInterrupt
        return ask(self, requests)

    with monkeypatch.context() as patch:
        patch.setattr(SimulatedBackend, "ask", stopping)
        ask(source, out, *DRAWN, "--repeats", "2")
    stored = Run.open(out).stored()
    assert {repeat for _, _, repeat in stored} == {0, 1}
    capsys.readouterr()
    assert ask(source, out, *DRAWN, "--repeats", "2", "--json") == 0
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["n_stored_before"], outcome["n_asked"]) == (len(stored), 108 - len(stored))
    once = tmp_path / "once"
    assert ask(source, once, *DRAWN) == 0
    assert "repeats" not in Run.open(once).manifest.settings.as_dict()
    for place, more in ((once, ("--repeats", "2")), (out, ()), (out, ("--repeats", "3"))):
        assert ask(source, place, *DRAWN, *more) == 3
        assert "repeats: " in capsys.readouterr().err
    # What was asked first is what a run without repeats asks.
    first = [r for r in Run.open(out).records() if r.repeat == 0]
    key = lambda r: (r.item_id, r.positions)  # noqa: E731
    assert {key(r): r.text for r in first} == {key(r): r.text for r in Run.open(once).records()}


@pytest.mark.parametrize("options", [(), ("--readout", "direct"), ("--readout", "two-stage")])
def test_repeats_that_could_not_differ_are_refused(options, source, tmp_path, capsys):
    assert ask(source, tmp_path / "r", "--repeats", "2", *options) == 3
    assert "--repeats above 1 needs --temperature above 0" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_no_flip_rate_of_drawn_answers_without_repeats(source, tmp_path, capsys):
    out = tmp_path / "r"
    assert ask(source, out, *DRAWN) == 0
    _, found, _ = printed(capsys, "measure", out)
    for cell in found["cells"]:
        assert cell["noise"] is None
        assert {cell[name] for name in FLIP_MEASURES} == {None}
        assert all(cell["undefined"][name] == WITHHELD for name in FLIP_MEASURES)
        assert cell["accuracy"] is not None
    assert run(["measure", str(out), "--resamples", "20"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "flip rate – –" in text
    assert WITHHELD in text
    assert "change their answer" not in text
    _, asked_for, _ = printed(capsys, "measure", out, "--measures", "flip_rate,accuracy")
    assert asked_for["cells"][0]["flip_rate"] is None


def test_clusters_and_the_canonical_order_alone(source, tmp_path, capsys):
    out = tmp_path / "r"
    assert ask(source, out, *DRAWN, "--repeats", "2", "--design", "canonical") == 0
    capsys.readouterr()
    assert run(["measure", str(out), "--resamples", "20"]) == 0
    assert "One ordering only: what reordering adds is not known." in capsys.readouterr().out
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(
        json.dumps({"item_id": str(i), "positions": [s, 1 - s], "place": (i * 7 + s * r) % 2, "repeat": r,
                    "group": str(i // 4)}) + "\n"
        for i, s, r in itertools.product(range(20), range(2), range(2))
    ))  # fmt: skip
    _, found, _ = printed(capsys, "measure", rows, "--cluster", "group")
    assert found["cells"][0]["noise"]["n_clusters"] == 5


def test_the_table_says_what_the_order_adds(source, tmp_path, capsys):
    out = tmp_path / "r"
    assert ask(source, out, *DRAWN, "--repeats", "2") == 0
    capsys.readouterr()
    assert run(["measure", str(out), "--resamples", "20"]) == 0
    text = capsys.readouterr().out
    assert text.count("asking again against reordering") == text.count("The order effect is the excess") == 3
    assert "between orderings, with the order or as they were drawn" in " ".join(text.split())


def test_records_without_a_manifest_are_shown_as_ever(source, tmp_path, capsys):
    out, rows = tmp_path / "r", tmp_path / "rows.jsonl"
    assert ask(source, out, *DRAWN, "--repeats", "2") == 0
    records = [r for r in Run.open(out).records() if len(r.positions) == 4]
    for kept, noisy in (([r for r in records if not r.repeat], False), (records, True)):
        rows.write_text("".join(
            json.dumps({"item_id": r.item_id, "positions": list(r.positions), "place": r.place, "gold": r.gold,
                        "repeat": r.repeat}) + "\n"
            for r in kept
        ))  # fmt: skip
        _, found, _ = printed(capsys, "measure", rows)
        assert found["cells"][0]["flip_rate"] is not None
        assert (found["cells"][0]["noise"] is not None) == noisy
    np.testing.assert_allclose(found["cells"][0]["noise"]["repeat_disagreement"]["value"], by_hand(records, 4)[0])


def test_ordering_0_alone_asked_again_in_a_file(tmp_path, capsys):
    """The structure of two-factors, C.5: of ten items, three change when ordering 0 is asked again."""
    rows = []
    for i in range(10):
        for shift in range(4):
            positions = [(j + shift) % 4 for j in range(4)]
            rows.append({"item_id": str(i), "positions": positions, "place": positions[(i + (shift == 2)) % 4]})
        rows.append({"item_id": str(i), "positions": [0, 1, 2, 3], "place": (i + (i < 3)) % 4, "repeat": 1})
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, found, _ = printed(capsys, "measure", path)
    noise = found["cells"][0]["noise"]
    assert code == 0
    assert noise["repeat_disagreement"]["value"] == pytest.approx(0.3)
    assert noise["reorder_disagreement"]["value"] == pytest.approx(1 / 3)
    assert noise["excess"]["value"] == pytest.approx(1 / 3 - 0.3)
    assert (noise["n_items"], noise["n_repeated_orderings"], noise["n_missing"]) == (10, 1, 0)


def test_mitigate_withholds_as_measure_does(tmp_path, capsys):
    source = write_items(tmp_path / "four.jsonl", 24)
    once, twice = tmp_path / "once", tmp_path / "twice"
    assert ask(source, once, *DRAWN) == 0
    assert ask(source, twice, *DRAWN, "--repeats", "2") == 0
    _, found, said = printed(capsys, "mitigate", once, "--transitions")
    (cell,) = found["cells"]
    assert WITHHELD in said
    assert "transitions" not in cell
    assert cell["noise"] is None
    for o in cell["operations"]:
        assert o["measures"]["flip_rate"] is o["measures"]["stable_wrong"] is o["changes"]["log_flip_rate"] is None
        assert o["measures"]["accuracy"] is not None
    _, found, said = printed(capsys, "mitigate", twice)
    assert WITHHELD not in said
    assert found["cells"][0]["noise"]["n_repeats"] == 2
    assert found["cells"][0]["operations"][0]["measures"]["flip_rate"] is not None
    assert run(["mitigate", str(twice), "--resamples", "20"]) == 0
    assert "asking again against reordering" in capsys.readouterr().out


@pytest.fixture
def server(monkeypatch):
    """A server whose replies are drawn anew each time, whatever the temperature."""
    pytest.importorskip("openai")
    pytest.importorskip("aiolimiter")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "backends"))
    from fault_server import FaultServer

    monkeypatch.setenv("OPENAI_API_KEY", "none")
    rng = random.Random(0)
    with FaultServer(reply=lambda prompt: rng.choice("ABCD")) as server:
        yield server


@pytest.mark.parametrize("options", [(), ("--temperature", "0.7", "--seed", "3")])
def test_a_server_may_differ_at_any_temperature(options, server, tmp_path, capsys):
    out = tmp_path / "r"
    source = write_items(tmp_path / "four.jsonl", 12)
    more = ("--base-url", server.url, "--readout", "one-letter", "--repeats", "2", *options)
    assert ask(source, out, *more, model="openai:m") == 0
    assert len(server.calls) == 96
    assert {call.body["temperature"] for call in server.calls} == {0.7 if options else 0}
    if options:
        assert len({call.body["seed"] for call in server.calls}) == 96
    settings = Run.open(out).manifest.settings.as_dict()
    assert (settings["readout"], settings["repeats"]) == ("one-letter", "2")
    assert settings.get("temperature") == ("0.7" if options else None)
    _, found, _ = printed(capsys, "measure", out)
    noise = found["cells"][0]["noise"]
    assert noise["repeat_disagreement"]["value"] > 0.5
    assert noise["excess"]["interval"][0] < 0 < noise["excess"]["interval"][1]
    assert found["cells"][0]["flip_rate"] is not None


def test_a_server_that_takes_no_temperature_draws_by_its_own(server, tmp_path, capsys):
    server.refuse = ("temperature",)
    source = write_items(tmp_path / "four.jsonl", 6)
    assert ask(source, tmp_path / "r", "--base-url", server.url, "--readout", "one-letter", model="openai:m") == 0
    assert "drawn at the server's own temperature" in capsys.readouterr().err
    _, found, _ = printed(capsys, "measure", tmp_path / "r")
    assert found["cells"][0]["undefined"]["flip_rate"] == WITHHELD


def test_a_temperature_that_would_change_nothing_is_an_error(source, tmp_path, capsys):
    assert ask(source, tmp_path / "r", "--temperature", "1") == 3
    assert "one-letter" in capsys.readouterr().err
    letter = ("--base-url", "http://127.0.0.1:9/v1", "--readout", "one-letter", "--seed", "3")
    assert ask(source, tmp_path / "r", *letter, model="openai:m") == 3
    assert "--seed must go with --temperature" in capsys.readouterr().err


def test_a_temperature_behind_the_settings_back_is_an_error(source, tmp_path, capsys):
    more = ("--base-url", "http://127.0.0.1:9/v1", "--extra-body", '{"temperature": 1}')
    assert ask(source, tmp_path / "r", *more, model="openai:m") == 3
    assert "--extra-body must leave the temperature" in capsys.readouterr().err


def test_free_answers_that_are_given_are_as_many_as_were_drawn(source, tmp_path, capsys):
    first = ("--readout", "two-stage", "--stage-one", "visible")
    assert ask(source, tmp_path / "first", *first, "--temperature", "1") == 0
    assert "Answers are drawn, once each" in capsys.readouterr().err
    given = (*first, "--stage-one-from", str(tmp_path / "first"))
    assert ask(source, tmp_path / "r", *given, "--repeats", "2") == 3
    assert "--repeats must be at most 1 with --stage-one-from" in capsys.readouterr().err
    # The second stage is not drawn, but what it is given was.
    assert ask(source, tmp_path / "r", *given) == 0
    _, found, _ = printed(capsys, "measure", tmp_path / "r")
    assert found["cells"][0]["undefined"]["flip_rate"] == WITHHELD


STUDY = """
strategies = ["direct", "cyclic", "two-stage", "grid", "independent"]
{top}
[[models]]
model = "simulated"
[[benchmarks]]
source = "{items}"
[writing]
{writing}
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    from orderbias.backends.embedding import SentenceEmbedder

    monkeypatch.setattr(SentenceEmbedder, "load", lambda self: None)
    monkeypatch.setattr(SentenceEmbedder, "__call__", lambda self, texts: np.eye(len(texts), dtype=np.float32))
    items = write_items(tmp_path / "items.jsonl", 16)

    def write(top="", writing=""):
        path = tmp_path / "STUDY.toml"
        path.write_text(STUDY.format(top=top, items=items, writing=writing))
        return str(path)

    return write


def test_a_study_of_drawn_answers_shows_the_noise_of_every_arm(study, tmp_path, capsys):
    out = str(tmp_path / "out")
    settings = study("repeats = 2", "temperature = 1")
    _, planned, _ = printed(capsys, "study", "label-free", settings, "--out", out, "--dry-run")
    assert {run["n_queries"] for run in planned["plan"]} == {16 * 4 * 2}
    code, found, _ = printed(capsys, "study", "label-free", settings, "--out", out, "--csv", tmp_path / "t.csv")
    assert code == 0
    arms = {arm["strategy"]: arm for arm in found["cells"][0]["arms"]}
    assert set(arms) == {"direct", "cyclic", "two-stage", "hidden+match", "visible+model", "visible+match",
                         "independent"}  # fmt: skip
    assert all(arm["flip_rate"]["value"] is not None for arm in arms.values())
    direct = Run.open(tmp_path / "out/simulated/items/direct").records()
    noise = arms["direct"]["noise"]
    values = [noise[f"{key}_disagreement"]["value"] for key in ("repeat", "reorder")]
    np.testing.assert_allclose(values, by_hand(list(direct), 4))
    for blind in ("cyclic", "hidden+match", "independent"):  # one reply, or one vote, for all orderings of a repeat
        assert arms[blind]["flip_rate"]["value"] == arms[blind]["noise"]["excess"]["value"] == 0
        assert arms[blind]["noise"]["repeat_disagreement"]["value"] > 0
    assert "excess_high" in (tmp_path / "t.csv").read_text().splitlines()[0]
    assert run(["study", "label-free", settings, "--out", out, "--report-only", "--resamples", "20"]) == 0
    text = capsys.readouterr().out
    assert "order [95 %]" in text
    assert max(map(len, text.splitlines()[:-1])) <= 100


def test_a_study_of_drawn_answers_without_repeats_shows_no_flip_rate(study, tmp_path, capsys):
    out = str(tmp_path / "out")
    _, found, _ = printed(capsys, "study", "label-free", study(writing="temperature = 1"), "--out", out)
    for arm in found["cells"][0]["arms"]:
        assert arm["flip_rate"] == {"value": None, "interval": None, "n": 0}
        assert arm["positional_skew"] is None
        assert arm["together"] is None or arm["together"]["text"] == "not known"
        assert arm["accuracy"]["value"] is not None
    assert run(["study", "label-free", study(writing="temperature = 1"), "--out", out, "--report-only"]) == 0
    assert WITHHELD in " ".join(capsys.readouterr().out.split())


def test_a_study_whose_models_cannot_differ_needs_no_repeats(study, tmp_path, capsys):
    assert run(["study", "label-free", study("repeats = 2"), "--out", str(tmp_path / "out")]) == 3
    assert "repeats above 1 needs temperature above 0" in capsys.readouterr().err
