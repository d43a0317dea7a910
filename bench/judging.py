"""Judge 100,000 pairs from a file, beside the short program of judge-swap.md on the same file; prints JSON.

The short program's exact test sums whole numbers of as many digits as there are verdicts, so it is timed on the first
pairs of the file only, and so are we there.

Run: python bench/judging.py [N_PAIRS] [N_PAIRS_OF_THE_PEER]
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from math import comb
from pathlib import Path

import numpy as np


def write_verdicts(path: Path, n_pairs: int, *, seed: int = 0) -> None:
    """Write the verdicts of a judge with a lean to the first place, with human labels, models and lengths."""
    rng = np.random.default_rng(seed)
    human = rng.integers(0, 2, n_pairs)
    lengths = rng.integers(50, 3000, (n_pairs, 2))
    models = rng.integers(0, 8, (n_pairs, 2))
    wanted = (rng.random((n_pairs, 2)) < 0.8) == (human == 0)[:, None]  # A, in each of the two calls
    first = np.where(rng.random((n_pairs, 2)) < 0.15, True, wanted == [True, False])
    tie = rng.random((n_pairs, 2)) < 0.05
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["pair_id", "order", "verdict", "judge", "model_a", "model_b", "human", "len_a", "len_b"])
        for i in range(n_pairs):
            for order in (0, 1):
                verdict = "tie" if tie[i, order] else "first" if first[i, order] else "second"
                rows.writerow(
                    (f"pair-{i}", ("AB", "BA")[order], verdict, "planted", f"model-{models[i, 0]}",
                     f"model-{models[i, 1]}", "ab"[human[i]], lengths[i, 0], lengths[i, 1])
                )  # fmt: skip


def short_program(path: Path) -> dict[str, float]:
    """Read the verdicts and report them as the listing of judge-swap.md does."""
    calls: dict[str, dict[str, str]] = {}
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream):
            calls.setdefault(row["pair_id"], {})[row["order"]] = row["verdict"]
    consistent = first = decisive = 0
    back = {"first": "second", "second": "first", "tie": "tie"}
    for call in calls.values():
        consistent += call["AB"] == back[call["BA"]]
        for verdict in call.values():
            decisive += verdict != "tie"
            first += verdict == "first"
    tails = [
        sum(comb(decisive, i) for i in some) / 2**decisive for some in (range(first + 1), range(first, decisive + 1))
    ]
    return {
        "consistency": consistent / len(calls),
        "first_position_rate": first / decisive,
        "p_value": min(1.0, 2 * min(tails)),
    }


def command(path: Path, *options: str) -> tuple[dict[str, object], float, float]:
    """Run `orderbias judge`; return what it says, its seconds and its peak memory in MB, of the whole process."""
    code = (
        "import resource, sys; from orderbias.cli import run; code = run(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr); sys.exit(code)"
    )
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, "judge", str(path), "--json", *options], check=True, capture_output=True, text=True
    )
    seconds = time.perf_counter() - started
    return json.loads(done.stdout)["judges"][0], seconds, float(done.stderr.split()[-1])


def main(n_pairs: int, n_peer: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "verdicts.csv", Path(folder) / "first.csv"
        write_verdicts(large, n_pairs)
        with large.open() as stream:
            small.write_text("".join(line for line, _ in zip(stream, range(2 * n_peer + 1), strict=False)))
        found, seconds, peak = command(large)
        ours, seconds_small, _ = command(small)
        started = time.perf_counter()
        peer = short_program(small)
        peer_seconds = time.perf_counter() - started
    for name, value in peer.items():
        assert np.isclose(float(str(ours[name])), value, rtol=1e-9), (name, ours[name], value)
    print(json.dumps({
        "n_pairs": n_pairs,
        "seconds": round(seconds, 2),
        "peak_mb": round(peak),
        "conclusion": found["conclusion"],
        "peer": {
            "n_pairs": n_peer, "seconds": round(peer_seconds, 2), "our_seconds": round(seconds_small, 2),
            "times_faster": round(peer_seconds / seconds_small, 1),
        },
    }))  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 100_000, int(sys.argv[2]) if sys.argv[2:] else 8_000)
