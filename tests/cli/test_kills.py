"""kill -9 of a real `orderbias run`, twenty times at random moments: nothing lost, nothing doubled."""

import json
import random
import signal
import subprocess
import sys
import time

from slow_model import SLOW

from orderbias.cli import run
from orderbias.store import Run


def parts(out):
    return {p.name for p in (out / "records").glob("*.parquet")}


def names_of_parts(out):
    return {path.name for path in (out / "records").glob("part-*.parquet")}


def test_twenty_kills(tmp_path, capsys):
    out = tmp_path / "r"
    args = ["run", "mmlu-five", "--model", "simulated", "--out", str(out), "--design", "cyclic"]
    rng = random.Random(7)
    before, killed_while_asking = set(), 0
    for round_ in range(20):
        parts = names_of_parts(out)
        process = subprocess.Popen([sys.executable, "-c", SLOW, *args], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        # Three in four are killed while asking, the others wherever they are by then: importing, planning, opening.
        while process.poll() is None and time.monotonic() < deadline:
            if Run.exists(out) and (round_ % 4 == 0 or names_of_parts(out) - parts):
                break
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.4))
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = Run.open(out).stored()
        assert before <= now
        killed_while_asking += len(now) > len(before)
        before = now
    assert killed_while_asking >= 5
    assert len(before) < 2140
    assert run([*args, "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["n_stored_before"] + outcome["n_asked"] == outcome["n_queries"] == 2140
    assert len(Run.open(out).records()) == len(Run.open(out).stored()) == 2140
    assert run(["verify", str(out)]) == 0


def test_an_interrupt_says_that_nothing_is_lost(tmp_path):
    out = tmp_path / "r"
    args = ["run", "mmlu-five", "--model", "simulated", "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-c", SLOW, *args], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not names_of_parts(out) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in said
    assert "Interrupted." in said
    assert "Traceback" not in said
    assert Run.open(out).stored()
