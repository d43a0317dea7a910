"""A real server: llama.cpp with the demonstration model, against its own native numbers and the local backend's."""

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openai")
pytest.importorskip("aiolimiter")
pytest.importorskip("xllamacpp")
pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import requests

from orderbias.backends import TextRequest
from orderbias.backends._loading import _installed_demo
from orderbias.backends._openai_calls import Conduct
from orderbias.backends.local import LocalBackend
from orderbias.backends.openai import OpenAIBackend
from orderbias.cli import run
from orderbias.store import Run

pytestmark = pytest.mark.model

#: The file that holds the model, whichever of the two is there.
CACHED = Path.home() / ".cache/orderbias-models/smollm2-135m/model.gguf"

#: llama.cpp multiplies quantised weights with activations rounded to eight bits, where the local backend has both in
#: float32. That moves a log-probability by 0.1 on average and by up to 0.7 on such prompts; never by more than this.
TOLERANCE, MEAN_TOLERANCE = 1.0, 0.3


@pytest.fixture(scope="module")
def gguf():
    found = _installed_demo() or CACHED
    if not Path(found).exists():
        pytest.skip("the demonstration model is not installed")
    return str(found)


@pytest.fixture(scope="module")
def url(gguf):
    script = Path(__file__).with_name("llamacpp_server.py")
    process = subprocess.Popen(
        [sys.executable, str(script), gguf], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    address = process.stdout.readline().strip()
    assert address.startswith("http"), "the server did not start"
    yield address
    process.kill()
    process.communicate()


def post(url, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


def connected(url, **options):
    return OpenAIBackend.connect("smollm2", base_url=url + "/v1", conduct=Conduct(concurrency=2), **options)


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_labels_have_the_numbers_of_the_servers_own_endpoint(url):
    asked = requests(1)[:3]
    with connected(url, endpoint="completions") as backend:
        replies = backend.ask(asked)
        identity = backend.identity
    assert (identity["served_by"], identity["logprobs"], identity["label_form"]) == ("llama.cpp", "n-probs", " A")
    assert identity["revision"].endswith(".gguf")
    assert "/" not in identity["revision"]
    for request, reply in zip(asked, replies, strict=True):
        (ids,) = zip(*(post(url, "/tokenize", {"content": f" {c}"})["tokens"] for c in "ABCD"), strict=True)
        native = post(url, "/completion", {"prompt": request.prompt, "n_predict": 1, "n_probs": 50_000})
        by_id = {t["id"]: t["logprob"] for t in native["completion_probabilities"][0]["top_logprobs"]}
        np.testing.assert_allclose(reply.logprobs, [by_id[i] for i in ids], atol=0.05)
        assert reply.tokens_in == len(post(url, "/tokenize", {"content": request.prompt})["tokens"])


@pytest.mark.parametrize("endpoint", ["completions", "chat"])
def test_labels_have_nearly_the_numbers_of_the_local_backend(url, gguf, endpoint):
    asked = requests(2)[::3]
    local = LocalBackend.load(str(CACHED) if CACHED.exists() else gguf, chat=endpoint == "chat")
    expected = np.array([r.logprobs for r in local.ask(asked)])
    with connected(url, endpoint=endpoint) as backend:
        found = np.array([r.logprobs for r in backend.ask(asked)])
        assert backend.label_form == local.label_form
    assert np.abs(found - expected).max() < TOLERANCE
    assert np.abs(found - expected).mean() < MEAN_TOLERANCE
    order = np.sort(expected, axis=1)
    clear = order[:, -1] - order[:, -2] > TOLERANCE
    assert (found.argmax(axis=1) == expected.argmax(axis=1))[clear].all()


def test_texts_are_written(url):
    with connected(url) as backend:
        asked = [
            TextRequest("1", (0, 1), "Say hello.", max_tokens=4),
            TextRequest("1", (0, 1), "Say hello.", max_tokens=4, temperature=1.0, seed=3),
            TextRequest("1", (0, 1), "Say hello.", max_tokens=4, temperature=1.0, seed=3),
        ]
        greedy, drawn, again = backend.ask(asked)
        assert greedy.text
        assert (greedy.finished, greedy.tokens_out) == (False, 4)
        assert drawn.text == again.text


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    rows = [
        {"id": str(i), "question": f"{i} + {i}?", "options": [str(2 * i + d) for d in range(4)], "gold": i % 4}
        for i in range(5)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_run_that_is_killed_goes_on_where_it_was(url, items, tmp_path, capsys):
    out = tmp_path / "r"
    asked = ["run", str(items), "--model", "openai:smollm2", "--base-url", url + "/v1", "--out", str(out)]
    asked += ["--concurrency", "2"]
    process = subprocess.Popen([sys.executable, "-m", "orderbias", *asked], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list((out / "records").glob("*.parquet")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.wait()
    before = Run.open(out).stored()
    assert run([*asked, "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["n_stored_before"] == len(before)
    assert outcome["n_stored_before"] + outcome["n_asked"] == 20
    records = list(Run.open(out).records())
    assert len({(r.item_id, r.positions) for r in records}) == len(records) == 20
    assert all(r.status == "ok" and abs(sum(np.exp(r.logprobs)) - 1) < 1e-6 and 0 < r.mass <= 1 for r in records)
    assert run(["measure", str(out), "--resamples", "50"]) == 0
    assert b"127.0.0.1" not in b"".join(p.read_bytes() for p in out.rglob("*") if p.is_file())


def test_drawn_letters_are_asked_again_and_compared(url, items, tmp_path, capsys):
    out = tmp_path / "r"
    asked = ["run", str(items), "--model", "openai:smollm2", "--base-url", url + "/v1", "--out", str(out)]
    asked += ["--readout", "one-letter", "--letter-tokens", "4", "--temperature", "1", "--concurrency", "2"]
    # So small a model seldom writes a letter alone: its words are held to one, and it draws among them.
    asked += ["--extra-body", json.dumps({"grammar": "root ::= [A-D]"})]
    assert run([*asked, "--repeats", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_asked"] == 40
    calls = {}
    for r in Run.open(out).records():
        calls.setdefault((r.item_id, r.positions), []).append(r.place)
    assert {len(pair) for pair in calls.values()} == {2}
    assert run(["measure", str(out), "--json", "--resamples", "50"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    noise = cell["noise"]
    assert noise["repeat_disagreement"]["value"] == pytest.approx(np.mean([a != b for a, b in calls.values()]))
    assert 0.2 < noise["repeat_disagreement"]["value"] < 1
    assert (noise["n_items"], noise["n_repeated_orderings"]) == (5, 4)
    assert cell["flip_rate"] is not None
