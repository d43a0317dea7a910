"""`run` and `judge-run` with a model behind an API that fails, is stopped, is killed: nothing lost, nothing doubled."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("openai")
pytest.importorskip("aiolimiter")

from fault_server import FaultServer, law, tokens_of
from test_openai import KEY, PASSING, quick  # noqa: F401  (a fixture that every test here uses)

from orderbias.cli import run
from orderbias.prompts import Template
from orderbias.store import Run

N, K = 30, 4


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "items.jsonl"
    rows = [
        {"id": str(i), "question": f"Number {i}?", "options": [f"{c}{i}" for c in "wxyz"], "gold": i % K}
        for i in range(N)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def arguments(items, server, out, *more):
    return ["run", str(items), "--model", "openai:m", "--base-url", server.url, "--out", str(out), *more]


def check_answers(out, n_ok=N * K):
    """Every stored answer is the law's, no query is stored twice."""
    stored = Run.open(out)
    items = {item.id: item for item in stored.items()}
    records = list(stored.records())
    assert len({(r.item_id, r.positions, r.repeat) for r in records}) == len(records)
    answered = [r for r in records if r.status == "ok"]
    assert len(answered) == n_ok
    for r in answered:
        prompt = Template().render(items[r.item_id], r.positions)
        values = [law(label, prompt) for label in "ABCD"]
        differences = [p - q for p, q in zip(r.logprobs, values, strict=True)]
        assert max(differences) - min(differences) < 1e-9
        assert r.place == values.index(max(values))
        assert r.tokens_in == tokens_of(prompt)
    return records


def everything_written(out):
    return b"".join(p.read_bytes() for p in out.rglob("*") if p.is_file())


def test_a_run_is_planned_asked_stored_and_complete(items, tmp_path, capsys):
    out = tmp_path / "r"
    prices = tmp_path / "prices.toml"
    prices.write_text("[m]\ninput = 1000\noutput = 2000\n")
    with FaultServer() as server:
        more = ["--prices", str(prices), "--max-cost", "100"]
        assert run(arguments(items, server, out, *more, "--dry-run")) == 0
        said = capsys.readouterr().err
        assert "120 calls, 8 at a time" in said
        assert server.calls == []
        assert run(arguments(items, server, out, *more)) == 0
        assert len(server.calls) == N * K
        # A token for every 3 bytes and 8 a call, a thousandth each, and 120 of replies at two.
        expected = sum(math.ceil(len(c.prompt) / 3) + 8 for c in server.calls) / 1000 + 0.24
        assert f"A cost of about {expected:.2f} at" in said
        used = sum(tokens_of(c.prompt) for c in server.calls)
        assert f"Used: 120 calls, {used:,} tokens of prompts and 120 of replies" in capsys.readouterr().err
        check_answers(out)
        # Complete: not even what the server can do is asked again.
        looked = len(server.looked)
        assert run(arguments(items, server, out)) == 0
        assert (len(server.calls), len(server.looked)) == (N * K, looked)
        assert run(["verify", str(out)]) == 0
        assert run(["measure", str(out), "--resamples", "100"]) == 0
    manifest = json.loads((out / "manifest.json").read_text())["settings"]
    assert manifest["revision"] == "planted-1"
    assert manifest["label_form"] == "A"
    written = everything_written(out)
    for secret in (KEY, "127.0.0.1", server.url, str(server.http.server_address[1])):
        assert secret.encode() not in written


def test_faults_that_pass_leave_no_trace(items, tmp_path):
    rng = random.Random(11)
    faults = {}

    def fault(call):
        mine = faults.setdefault(call.prompt, [rng.choice(PASSING) for _ in range(rng.choice((0, 0, 1, 2)))])
        return mine[call.n] if call.n < len(mine) else None

    with FaultServer(fault=fault) as server:
        assert run(arguments(items, server, tmp_path / "r")) == 0
        check_answers(tmp_path / "r")
        assert len(server.calls) == sum(len(f) + 1 for f in faults.values()) > N * K


def test_what_failed_for_good_is_asked_again_and_nothing_else(items, tmp_path, capsys):
    broken = ("Number 0?", "Number 17?", "Number 29?")  # the first is among those that settle how to ask
    with FaultServer(fault=lambda call: "500" if any(b in call.prompt for b in broken) else None) as server:
        asked = arguments(items, server, tmp_path / "r", "--retries", "2", "--json")
        assert run(asked) == 2
        assert json.loads(capsys.readouterr().out)["n_failed"] == 3 * K
        failed = [r for r in check_answers(tmp_path / "r", (N - 3) * K) if r.status == "error"]
        assert {r.item_id for r in failed} == {"0", "17", "29"}
        assert {r.text for r in failed} == {"status 500: oops at *** with *** (3 tries)"}
        assert all(r.logprobs is None and r.place is None for r in failed)
        assert len(server.calls) == (N - 3) * K + 3 * K * 3
        server.fault = lambda call: None
        before = len(server.calls)
        assert run(asked) == 0
        assert json.loads(capsys.readouterr().out) | {"path": ""} == {
            "path": "", "n_queries": N * K, "n_stored_before": (N - 3) * K, "n_asked": 3 * K, "n_failed": 0,
            "n_unparsed": 0, "stopped": None,
        }  # fmt: skip
        assert len(server.calls) == before + 3 * K
        check_answers(tmp_path / "r")
    assert KEY.encode() not in everything_written(tmp_path / "r")


def test_a_cap_stops_cleanly_and_the_run_goes_on(items, tmp_path, capsys):
    with FaultServer() as server:
        asked = arguments(items, server, tmp_path / "r")
        assert run([*asked, "--max-calls", "50", "--json"]) == 2
        printed = capsys.readouterr()
        assert "Stopped: --max-calls 50 is reached" in printed.err
        assert json.loads(printed.out)["stopped"].startswith("--max-calls 50 is reached: 50 calls,")
        check_answers(tmp_path / "r", 50)
        assert run([*asked, "--max-calls", "30"]) == 2
        check_answers(tmp_path / "r", 80)
        assert run(asked) == 0
        check_answers(tmp_path / "r")
        assert len(server.calls) == N * K


@pytest.mark.parametrize("cap", [1, 3, 7, 8, 9, 11])
def test_whatever_was_answered_before_a_cap_is_stored(items, tmp_path, cap):
    with FaultServer() as server:
        assert run(arguments(items, server, tmp_path / "r", "--max-calls", str(cap))) == 2
        assert len(server.calls) == cap
    check_answers(tmp_path / "r", cap)


def test_a_cap_may_stop_before_anything_is_known(items, tmp_path, capsys):
    with FaultServer() as server:
        assert run(arguments(items, server, tmp_path / "r", "--max-tokens-total", "10")) == 2
        assert server.calls == []
        assert "Stopped: --max-tokens-total 10 is reached" in capsys.readouterr().err
        assert not Run.exists(tmp_path / "r")


def test_a_key_that_is_taken_back_ends_the_run_and_keeps_what_is_there(items, tmp_path, capsys):
    with FaultServer(fault=lambda call: "401" if call.order > 60 else None) as server:
        asked = arguments(items, server, tmp_path / "r", "--concurrency", "1")
        assert run(asked) == 3
        said = capsys.readouterr().err
        assert "OPENAI_API_KEY holds a key that it does not know" in said
        assert KEY not in said
        check_answers(tmp_path / "r", 60)
        server.fault = lambda call: None
        assert run(asked) == 0
        check_answers(tmp_path / "r")


def test_a_server_that_is_gone_is_left_alone(items, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("orderbias.backends._openai_calls.FAILED_IN_A_ROW", 5)
    with FaultServer(fault=lambda call: "500" if call.order > 40 else None) as server:
        asked = arguments(items, server, tmp_path / "r", "--concurrency", "2", "--retries", "1")
        assert run(asked) == 2
        assert "Stopped: The last 5 calls failed on every try" in capsys.readouterr().err
        assert len(server.calls) < 70
        server.fault = lambda call: None
        assert run(asked) == 0
        check_answers(tmp_path / "r")


def test_no_log_probabilities_make_a_readout_of_letters(items, tmp_path, capsys):
    out = tmp_path / "r"
    with FaultServer(logprobs=False, reply=lambda prompt: "**C**" if "w3" in prompt else "b is good") as server:
        assert run(arguments(items, server, out)) == 0
        assert "the readout is 'one-letter'" in capsys.readouterr().err
        records = list(Run.open(out).records())
        assert {r.readout for r in records} == {"one-letter"}
        assert {(r.place, r.status) for r in records if r.item_id == "3"} == {(2, "ok")}
        assert {(r.place, r.status, r.text) for r in records if r.item_id == "5"} == {(None, "unparsed", "b is good")}
        assert server.calls[-1].prompt.endswith("Answer:\n\nReply with A, B, C or D and nothing else.")
        assert run(arguments(items, server, out)) == 0
        assert run(arguments(items, server, out, "--readout", "first-token")) == 3
        assert "readout: one-letter -> first-token" in capsys.readouterr().err
        assert run(arguments(items, server, tmp_path / "s", "--readout", "first-token")) == 3
        assert "shows no log-probabilities, which --readout first-token needs" in capsys.readouterr().err


def test_a_letter_may_be_wanted_and_what_needs_more_is_refused_by_name(items, tmp_path, capsys):
    with FaultServer(reply=lambda prompt: "A") as server:
        assert run(arguments(items, server, tmp_path / "r", "--readout", "one-letter", "--letter-tokens", "3")) == 0
        assert len(server.calls) == N * K
        assert {c.body["max_tokens"] for c in server.calls} == {3}
        assert not any("logprobs" in c.body for c in server.calls)
    assert {r.place for r in Run.open(tmp_path / "r").records()} == {0}
    capsys.readouterr()
    for needing in ("pride", "batch-calibration", "reversal-product", "mean-logprob"):
        assert run(["mitigate", str(tmp_path / "r"), "--operations", needing, "--resamples", "10"]) == 3
        assert f"'{needing}' needs label log-probabilities" in capsys.readouterr().err
    assert run(["prior", "fit", str(tmp_path / "r"), "-o", str(tmp_path / "p.json")]) == 3
    assert "'pride' needs label log-probabilities" in capsys.readouterr().err


@pytest.mark.parametrize("template", ["letter", "reasoning"])
def test_a_judge_may_be_behind_an_api(tmp_path, template):
    pairs = tmp_path / "pairs.jsonl"
    rows = [{"id": str(i), "question": f"Q{i}", "answer_a": f"a{i}", "answer_b": f"b{i}"} for i in range(6)]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FaultServer(reply=lambda prompt: "Hm. [[B]]") as server:
        asked = ["judge-run", str(pairs), "--template", template, "--model", "openai:m", "--base-url", server.url]
        assert run([*asked, "--out", str(tmp_path / "r")]) == 0
        assert len(server.calls) == 12
    records = list(Run.open(tmp_path / "r").records())
    assert len(records) == 12
    assert {r.status for r in records} == {"ok"}
    assert all((r.logprobs is not None) == (template == "letter") for r in records)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--dtype", "float16"], "--dtype must go with a model on this machine"),
        (["--max-cost", "1"], "--max-cost needs --prices"),
        (["--chat", "--endpoint", "completions"], "--chat must go with --endpoint chat"),
        (["--extra-body", "[1]"], "--extra-body must be a JSON object"),
        (["--system", "Hello"], "--system needs --chat"),
    ],
)
def test_options_that_cannot_be_are_errors(items, tmp_path, capsys, more, said):
    with FaultServer() as server:
        assert run(arguments(items, server, tmp_path / "r", *more)) == 3
        assert server.calls == []
    assert said in capsys.readouterr().err


def test_options_of_servers_go_with_servers(items, tmp_path, capsys):
    assert run(["run", str(items), "--model", "simulated", "--out", str(tmp_path / "r"), "--max-calls", "3"]) == 3
    assert "--max-calls must go with openai:NAME" in capsys.readouterr().err


def started(asked):
    """Begin the real command in a process of its own."""
    environment = {**os.environ, "OPENAI_API_KEY": KEY}
    return subprocess.Popen(
        [sys.executable, "-m", "orderbias", *asked], stderr=subprocess.PIPE, text=True, env=environment
    )


def test_an_interrupt_keeps_what_had_arrived(items, tmp_path):
    out = tmp_path / "r"
    with FaultServer(fault=lambda call: "hang" if call.order > 45 else None) as server:
        process = started(arguments(items, server, out, "--concurrency", "4"))
        deadline = time.monotonic() + 60
        while len(server.calls) < 49 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "the same command goes on" in said
        assert "Traceback" not in said
        check_answers(out, 45)
        server.fault = lambda call: None
        assert run(arguments(items, server, out)) == 0
        check_answers(out)
        assert len(server.calls) == 49 + N * K - 45


def test_kills_lose_nothing_that_was_stored(items, tmp_path):
    out = tmp_path / "r"
    rng = random.Random(5)
    with FaultServer(delay=0.03, fault=lambda call: "500" if call.n == 0 and rng.random() < 0.2 else None) as server:
        before = set()
        for _ in range(2):
            process = started(arguments(items, server, out, "--concurrency", "2"))
            n_calls, deadline = len(server.calls), time.monotonic() + 60
            while len(server.calls) < n_calls + 25 and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 1))
            process.kill()
            process.communicate()
            now = Run.open(out).stored() if Run.exists(out) else set()
            assert before <= now
            before = now
        assert run(arguments(items, server, out)) == 0
        check_answers(out)
