"""kill -9 of a real `orderbias run`, twenty times at random moments: nothing lost, nothing doubled."""

import json
import random
import signal
import subprocess
import sys
import time

from orderbias.cli import run
from orderbias.store import Run

# A model that takes its time, so that kills fall into the asking; everything else is the real command.
SLOW = """
import sys, time
from orderbias.backends.simulated import SimulatedBackend
from orderbias import collect
from orderbias.cli import main
collect.ITEMS_AT_ONCE, collect.FLUSH_SECONDS = 4, 0.0
quick = SimulatedBackend.ask
def ask(self, requests):
    print("asking", flush=True)
    time.sleep(0.1)
    return quick(self, requests)
SimulatedBackend.ask = ask
main(sys.argv[1:])
"""


def parts(out):
    return {p.name for p in (out / "records").glob("*.parquet")}


def test_twenty_kills(tmp_path, capsys):
    out = tmp_path / "r"
    args = ["run", "mmlu-five", "--model", "simulated", "--out", str(out), "--design", "cyclic"]
    rng = random.Random(7)
    before, killed_while_asking = set(), 0
    for round_ in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", SLOW, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        if round_ % 4:  # the others are killed wherever they are by then: importing, planning, taking over
            process.stdout.readline()
        deadline, stored = time.monotonic() + 30, parts(out)
        while process.poll() is None and time.monotonic() < deadline and not Run.exists(out):
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.6))
        process.send_signal(signal.SIGKILL)
        process.communicate()
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
