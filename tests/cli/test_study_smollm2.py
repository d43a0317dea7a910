"""A study of the demonstration model: loaded once for all its runs, and read back without it."""

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from orderbias.backends import _loading
from orderbias.cli import run

pytestmark = pytest.mark.model

STUDY = """
seed = 42
strategies = ["direct", "pride", "two-stage", "independent"]
[[models]]
model = "demo"
name = "small"
chat = true
system = "A zebra speaks."
[[benchmarks]]
source = "mmlu-five"
n_items = 1
calibration = 1
[writing]
max_tokens = 6
"""


def test_a_local_model_answers_a_study_and_the_report_needs_none(tmp_path, capsys, monkeypatch):
    loads = []
    load = _loading.load_model
    monkeypatch.setattr(_loading, "load_model", lambda *a, **k: loads.append(a) or load(*a, **k))
    (tmp_path / "STUDY.toml").write_text(STUDY)
    command = ["study", "label-free", str(tmp_path / "STUDY.toml"), "--out", str(tmp_path / "out"), "--json"]
    assert run([*command, "--resamples", "100"]) == 0
    asked = json.loads(capsys.readouterr().out)
    assert len(loads) == 2  # once to plan, once to ask: not once a run
    (cell,) = asked["cells"]
    arms = {arm["strategy"]: arm for arm in cell["arms"]}
    assert set(arms) == {"direct", "first-token", "pride", "two-stage", "independent"}
    assert all(arm["n_items"] == 1 for arm in arms.values())
    assert arms["independent"]["flip_rate"]["value"] == 0  # scored one by one, whatever the order
    assert all(n["n_left"] == 0 for n in cell["runs"])
    # Every text that a prompt is made of stays with its run.
    for path in (tmp_path / "out").rglob("manifest.json"):
        kept = json.loads(path.read_text())["template"]
        assert "[system]\nA zebra speaks." in kept
        assert "[chat template]\n{%" in kept
        assert ("[scoring]" in kept) == ("first-token" not in str(path))
    monkeypatch.setattr(_loading, "load_model", None)
    assert run([*command, "--resamples", "100", "--report-only"]) == 0
    assert json.loads(capsys.readouterr().out) == asked
