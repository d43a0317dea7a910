"""Time every analysis of a panel: 41 checkpoints on 12 benchmarks, 500 items a cell, 10,000 draws. Prints JSON.

The panel is simulated (:mod:`panel_laws`) and asked under the cyclic orderings and their reversals; a few checkpoints
on four benchmarks are asked under all 24 orderings besides, as in the paper. Half of the benchmarks shows how the cost
grows with cells.

The peer is a loop over ``scipy.stats.spearmanr`` on samples of whole checkpoints: the correlation of one measure with
accuracy over the 492 cells, timed on fewer draws and scaled up linearly. Ours is the same correlation over all draws,
the drawing included.

Run: python bench/panel.py [N_CHECKPOINTS N_BENCHMARKS N_ITEMS]
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
from panel_laws import simulated_panel
from scipy import stats
from timing import seconds

from orderbias.inference.blocks import block_draws
from orderbias.inference.ranks import spearman
from orderbias.studies.panel import Panel, Settings
from orderbias.studies.panel.analyses import ANALYSES

DRAWS = 10_000
#: Draws that the peer is timed on.
PEER_DRAWS = 300


def all_analyses(n_checkpoints: int, n_benchmarks: int, n_items: int) -> dict[str, float]:
    """Seconds of each analysis, building the cells' measures included under ``cells``."""
    found: dict[str, float] = {}
    start = time.perf_counter()
    settings = Settings(DRAWS)
    panel = simulated_panel(n_checkpoints, n_benchmarks, n_items, settings=settings)
    whole = simulated_panel(8, 4, n_items, design="all", seed=1, options=(4,), settings=settings)
    panel = Panel((*panel.cells, *whole.cells), settings=settings)
    found["cells"] = time.perf_counter() - start
    for name, analysis in ANALYSES.items():
        start = time.perf_counter()
        analysis(panel)
        found[name] = time.perf_counter() - start
    return {name: round(s, 2) for name, s in found.items()}


def spearman_loop(panel: Panel) -> float:
    """Seconds of a loop over SciPy's correlation, scaled to all draws."""
    pool = panel.pool()
    x, y, owner = pool["flip_rate"], pool["accuracy"], pool.checkpoints
    cells = [np.flatnonzero(owner == code) for code in range(owner.max() + 1)]
    rng = np.random.default_rng(0)
    start = time.perf_counter()
    for _ in range(PEER_DRAWS):
        rows = np.concatenate([cells[code] for code in rng.integers(0, len(cells), len(cells))])
        stats.spearmanr(x[rows], y[rows])
    return (time.perf_counter() - start) * DRAWS / PEER_DRAWS


def correlation_of_draws(panel: Panel) -> np.ndarray:
    """Draw checkpoints and correlate in every draw."""
    pool = panel.pool()
    draws = block_draws(pool.checkpoints, DRAWS, np.random.default_rng(0))
    return spearman(pool["flip_rate"], pool["accuracy"], draws)


def main(n_checkpoints: int, n_benchmarks: int, n_items: int) -> None:
    """Time all and print."""
    half = all_analyses(n_checkpoints, n_benchmarks // 2, n_items)
    found = all_analyses(n_checkpoints, n_benchmarks, n_items)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    panel = simulated_panel(n_checkpoints, n_benchmarks, 100, settings=Settings(DRAWS))
    pool = panel.pool()
    ours = seconds(lambda: correlation_of_draws(panel))
    peer = spearman_loop(panel)
    print(json.dumps({
        "n_cells": len(pool),
        "n_items": n_items,
        "draws": DRAWS,
        "seconds": found,
        "seconds_in_all": round(sum(found.values()), 1),
        "seconds_in_all_half_of_the_cells": round(sum(half.values()), 1),
        "peak_mb": round(peak),
        "one_correlation_seconds": round(ours, 2),
        "scipy_loop_seconds": round(peer, 1),
        "times_faster": round(peer / ours, 1),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main(*(map(int, sys.argv[1:]) if len(sys.argv) > 3 else (41, 12, 500)))
