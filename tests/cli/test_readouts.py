"""Readouts that write the answer, through the command: what is stored, resumed, refused, counted and measured."""

import json

import pytest

from orderbias.cli import run
from orderbias.instructions import TEXTS
from orderbias.store import Run
from orderbias.strategies.independent import Scores
from orderbias.strategies.two_stage import Stages

ITEMS = [
    {"id": str(i), "question": f"Which way from {i}?", "options": ["northwards", "east", "south", "west"][: 2 + i % 3],
     "gold": i % 2}
    for i in range(9)
]  # fmt: skip


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    return str(path)


@pytest.fixture
def embedder(monkeypatch):
    """An embedder without a model: letters counted."""
    from orderbias.backends import embedding

    def count(self, texts):
        return [[t.lower().count(c) + 0.01 for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts]

    monkeypatch.setattr(embedding.SentenceEmbedder, "load", lambda self: None)
    monkeypatch.setattr(embedding.SentenceEmbedder, "__call__", count)


def ask(source, out, *more):
    return run(["run", source, "--model", "simulated", "--out", str(out), *more])


READOUTS = {
    "direct": ("direct", 27, {"explicit": 27}),
    "direct --reasoning": ("chain-of-thought", 27, {"explicit": 27}),
    "chain-of-thought": ("chain-of-thought", 27, {"explicit": 27}),
    "two-stage": ("two-stage-hidden-model", 36, {"explicit": 27}),
    "two-stage --stage-one visible --reasoning": ("two-stage-visible-model-reasoning", 54, {"explicit": 27}),
    "two-stage --stage-two match": ("two-stage-hidden-match", 9, {"exact": 27}),
    "two-stage --stage-one visible --stage-two match": ("two-stage-visible-match", 27, {"exact": 27}),
    "independent": ("independent", 27, None),
    "independent --reasoning": ("independent-reasoning", 27, None),
    "first-token": ("first-token", 27, None),
}


@pytest.mark.parametrize("options", READOUTS)
@pytest.mark.usefixtures("embedder")
def test_every_readout_is_stored_under_its_name_and_can_be_measured(options, source, tmp_path, capsys):
    readout, n_calls, found = READOUTS[options]
    out = tmp_path / "run"
    assert ask(source, out, "--json", "--readout", *options.split()) == 0
    captured = capsys.readouterr()
    outcome = json.loads(captured.out)
    assert (outcome["n_asked"], outcome["n_failed"]) == (27, 0)
    assert ("calls of the model" in captured.err) == (n_calls != 27)
    assert f"{n_calls} calls of the model" in captured.err or n_calls == 27
    if found is not None:
        assert outcome["found"] == found
    elif readout != "first-token":
        assert sum(outcome["found"].values()) == 27
        assert set(outcome["found"]) <= {"score", "tie"}
    stored = Run.open(out)
    assert {r.readout for r in stored.records()} == {readout}
    assert stored.manifest.settings.as_dict()["readout"] == readout
    assert ask(source, out, "--json", "--readout", *options.split()) == 0
    assert json.loads(capsys.readouterr().out)["n_asked"] == 0
    assert run(["measure", str(out), "--json", "--resamples", "0"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [c["n_options"] for c in cells] == [2, 3, 4]
    if "hidden-match" in readout or readout.startswith("independent"):
        assert {c["flip_rate"] for c in cells} == {0}


def test_a_run_keeps_every_text_of_its_prompts(source, tmp_path):
    assert ask(source, tmp_path / "run", "--readout", "two-stage") == 0
    kept = Run.open(tmp_path / "run").manifest.template
    assert kept.startswith("{% if passage %}")
    assert all(f"[{name}]\n{text}" in kept for name, text in TEXTS.items())


@pytest.mark.parametrize(
    "change",
    ["--max-tokens 7", "--thinking-tokens 9", "--seed 3", "--temperature 0.5", "--letters all", "--fallback never",
     "--reasoning", "--stage-one visible"],
)  # fmt: skip
def test_a_run_is_not_resumed_under_other_settings(change, source, tmp_path, capsys):
    assert ask(source, tmp_path / "run", "--readout", "two-stage") == 0
    assert ask(source, tmp_path / "run", "--readout", "two-stage", *change.split()) == 3
    assert "->" in capsys.readouterr().err


@pytest.mark.usefixtures("embedder")
def test_the_fourth_cell_takes_the_free_answers_of_the_third(source, tmp_path, capsys):
    third, fourth = tmp_path / "third", tmp_path / "fourth"
    visible = ("--readout", "two-stage", "--stage-one", "visible")
    assert ask(source, third, *visible, "--stage-two", "match") == 0
    assert ask(source, fourth, *visible, "--stage-one-from", str(third)) == 0
    assert "given" in Run.open(fourth).manifest.settings.as_dict()["stage_one"]
    first = {(r.item_id, r.positions): Stages.split(r.text).first for r in Run.open(third).records()}
    again = {(r.item_id, r.positions): Stages.split(r.text).first for r in Run.open(fourth).records()}
    assert first == again
    capsys.readouterr()
    hidden = ("--readout", "two-stage", "--stage-one-from", str(third))
    assert ask(source, tmp_path / "x", *hidden) == 3
    assert "two-stage-hidden-match" in capsys.readouterr().err
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({**ITEMS[0], "question": "Another?"}) + "\n")
    assert ask(str(other), tmp_path / "y", *visible, "--stage-one-from", str(third)) == 3
    assert "same items" in capsys.readouterr().err


def test_scores_are_stored_for_other_seeds(source, tmp_path):
    assert ask(source, tmp_path / "run", "--readout", "independent", "--seed", "42") == 0
    for record in Run.open(tmp_path / "run").records():
        scores = Scores.split(record.text)
        assert len(scores.scores) == len(record.positions)
        assert scores.n_failed == 0


UNUSED = {
    "--readout first-token --reasoning": "--reasoning must go with --readout direct or two-stage or independent",
    "--max-tokens 9": "--max-tokens must go with --readout direct or chain-of-thought or two-stage or independent",
    "--readout independent --letters all": "--letters",
    "--readout direct --stage-one visible": "--stage-one must go with --readout two-stage",
    "--readout two-stage --min-cosine 0.4": "--min-cosine must go with --stage-two match",
    "--readout two-stage --stage-two match --letters all": "--letters must go with --stage-two model",
    "--readout two-stage --shots 1": "--shots",
    "--readout direct --labels digits": "--labels must be letters or parentheses",
    "--readout independent --template T": "--template must go with a readout that shows all options",
    "--readout two-stage --stage-one-from . --temperature 1": "--temperature must be 0",
    "--readout one-letter": "openai",
}


@pytest.mark.parametrize("options", UNUSED)
def test_an_option_that_would_change_nothing_is_an_error(options, source, tmp_path, capsys):
    (tmp_path / "T").write_text("{% for o in options %}{{ o.text }} {% endfor %}")
    given = [str(tmp_path / "T") if part == "T" else part for part in options.split()]
    assert ask(source, tmp_path / "run", *given) == 3
    assert UNUSED[options] in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_options_beyond_the_fourth_letter_are_said(tmp_path, capsys):
    path = tmp_path / "six.jsonl"
    path.write_text(json.dumps({"id": "1", "question": "?", "options": list("uvwxyz"), "gold": 0}) + "\n")
    assert ask(str(path), tmp_path / "a", "--readout", "chain-of-thought", "--dry-run") == 0
    assert "1 items have options beyond the first 4 letters" in capsys.readouterr().err
    assert ask(str(path), tmp_path / "b", "--readout", "chain-of-thought", "--letters", "all", "--dry-run") == 0
    said = capsys.readouterr().err
    assert "beyond" not in said
    assert "where X is A, B, C, D, E, or F" in said


def test_what_hangs_on_the_way_in_which_answers_were_found(tmp_path, capsys):
    path = tmp_path / "answers.csv"
    rows = [f"q{i},{positions},{(0, 1)[i % 2]},{('explicit', 'standalone')[i % 2]}" for i in range(8)
            for positions in ("0 1", "1 0")]  # fmt: skip
    path.write_text("item_id,positions,place,found\n" + "\n".join(rows) + "\n")
    assert run(["measure", str(path), "--json", "--resamples", "0"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert (cell["n_items"], cell["selection_share"]) == (8, [0.5, 0.5])
    assert run(["measure", str(path), "--json", "--resamples", "0", "--without-found", "standalone"]) == 0
    captured = capsys.readouterr()
    (cell,) = json.loads(captured.out)["cells"]
    assert (cell["n_items"], cell["n_unusable"], cell["selection_share"]) == (4, 4, [1, 0])
    assert "8 of 16 answers (standalone)" in captured.err
    capsys.readouterr()
    assert run(["measure", str(path), "--json", "--resamples", "0", "--without-found", "cosine"]) == 0
    assert "0 of 16 answers (cosine)" in capsys.readouterr().err
    assert run(["measure", str(path), "--without-found", "cosin"]) == 3


def test_cyclic_voting_is_an_operation_on_direct_answers(source, tmp_path, capsys):
    assert ask(source, tmp_path / "run", "--readout", "direct") == 0
    capsys.readouterr()
    operations = ("--operations", "majority-vote", "--ties", "hash", "--json", "--resamples", "0")
    assert run(["mitigate", str(tmp_path / "run"), *operations]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert "majority-vote" in json.dumps(printed)
