"""Time the analysis: against scipy.stats.bootstrap on 10,000 items, and per resample as items grow. Prints JSON.

SciPy is given the same measures (every scalar that has an interval), vectorised, in two ways:

- ``answers``: the statistic is computed from the resampled answers, as one would write it for SciPy;
- ``columns``: SciPy is handed this package's per-item columns, one array each, so that its statistic is sums alone.
  This is the hardest comparison, since the work that the columns save is given to SciPy for nothing.

The measures' draws alone (``bootstrap``) are timed beside the whole call, since SciPy runs no rotation test.

SciPy is timed on fewer resamples, at the best of a few batch sizes, and scaled up linearly. Our time is a whole
``measure`` call: columns, point values, intervals, both tests.

Run: python bench/analysis.py [N_ITEMS]
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy import stats
from timing import seconds

from orderbias.inference.draws import bootstrap_draws
from orderbias.measurement import measure
from orderbias.measures import Sums, build_columns, chosen_measures, evaluate
from orderbias.measures.items import Answers, column_layout, item_columns
from orderbias.measures.table import FAMILIES
from orderbias.orderings import cyclic
from orderbias.predictions import Predictions

RESAMPLES = 10_000
MEASURES = tuple(m for m in chosen_measures(None) if m.kind != "list")


def planted(n_items: int, *, n_options: int = 4, seed: int = 0, per_item: bool = False) -> Predictions:
    """Answers of a model with content strengths, a lean to the first places and some noise."""
    rng = np.random.default_rng(seed)
    design = cyclic(n_options).positions
    if per_item:
        design = np.argsort(rng.random((n_items, n_options, n_options)), axis=-1).astype(np.int8)
    gold = rng.integers(0, n_options, n_items).astype(np.int8)
    choice = np.empty((n_items, n_options), np.int8)
    for start in range(0, n_items, 100_000):
        part = slice(start, start + 100_000)
        n = len(gold[part])
        strength = rng.normal(size=(n, 1, n_options)) + 1.2 * (gold[part, None, None] == np.arange(n_options))
        lean = 0.6 * np.linspace(1, -1, n_options)[design[part] if per_item else design]
        choice[part] = (strength + lean + 0.5 * rng.gumbel(size=(n, n_options, n_options))).argmax(axis=-1)
    return Predictions(choice=choice, positions=design, gold=gold)


def scipy_on_answers(predictions: Predictions, resamples: int, batch: int) -> float:
    """Seconds of scipy.stats.bootstrap whose statistic starts from the resampled answers."""
    index, width = column_layout(predictions.n_options)
    layout = build_columns(predictions).layout

    def statistic(items: np.ndarray, axis: int = -1) -> np.ndarray:
        flat = items.reshape(-1).astype(int)
        choice = predictions.choice[flat]
        columns, _ = item_columns(
            Answers(choice, predictions.positions, np.ones(choice.shape, bool), predictions.gold[flat],
                    np.zeros(len(flat), bool)), index, width,
        )  # fmt: skip
        totals = columns.reshape(*items.shape, width).sum(axis=-2)
        return np.stack(list(evaluate(Sums(totals, layout), MEASURES).values()))

    return _scipy((np.arange(predictions.n_items),), statistic, resamples, batch, paired=False)


def scipy_on_columns(predictions: Predictions, resamples: int, batch: int) -> float:
    """Seconds of scipy.stats.bootstrap that is handed the per-item columns."""
    columns = build_columns(predictions)
    table = np.ascontiguousarray(columns.rows[columns.row_of].T)

    def statistic(*resampled: np.ndarray, axis: int = -1) -> np.ndarray:
        totals = np.stack([column.sum(axis=axis) for column in resampled], axis=-1)
        return np.stack(list(evaluate(Sums(totals, columns.layout), MEASURES).values()))

    return _scipy(tuple(table), statistic, resamples, batch, paired=True)


def _scipy(data: tuple[np.ndarray, ...], statistic: Callable[..., np.ndarray], resamples: int, batch: int, *,
           paired: bool) -> float:  # fmt: skip
    start = time.perf_counter()
    stats.bootstrap(data, statistic, n_resamples=resamples, batch=batch, paired=paired, vectorized=True,
                    method="percentile", rng=np.random.default_rng(0))  # fmt: skip
    return (time.perf_counter() - start) * RESAMPLES / resamples


def bootstrap(predictions: Predictions) -> object:
    """Columns, and every measure on every resample."""
    rngs = {name: np.random.default_rng(i) for i, name in enumerate(FAMILIES)}
    drawn = [m for m in MEASURES if m.kind != "share"]
    return bootstrap_draws(build_columns(predictions), drawn, RESAMPLES, rngs)


def per_resample(predictions: Predictions) -> float:
    """Seconds a resample costs: a call with all of them less a call with none."""
    with_all = seconds(lambda: measure(predictions, resamples=RESAMPLES))
    return (with_all - seconds(lambda: measure(predictions, resamples=0))) / RESAMPLES


def main() -> None:
    n_items = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    cell = planted(n_items)
    ours = seconds(lambda: measure(cell, resamples=RESAMPLES), times=10)
    draws = seconds(lambda: bootstrap(cell), times=10)
    theirs = {
        "answers": min(scipy_on_answers(cell, 50, batch) for batch in (1, 5, 10)),
        "columns": min(scipy_on_columns(cell, 200, batch) for batch in (5, 10, 50)),
    }
    growth = {n: per_resample(planted(n)) for n in (10_000, 100_000, 1_000_000)}
    million = {}
    for name, per_item in (("shared", False), ("per_item", True)):
        large = planted(1_000_000, per_item=per_item)
        million[name] = round(seconds(lambda large=large: measure(large), times=1), 3)
    report = {
        "n_items": n_items,
        "n_orderings": 4,
        "resamples": RESAMPLES,
        "n_intervals": len(MEASURES),
        "measure_seconds": round(ours, 4),
        "scipy_seconds_scaled": {k: round(v, 2) for k, v in theirs.items()},
        "bootstrap_seconds": round(draws, 4),
        "ratio": {k: round(v / ours, 1) for k, v in theirs.items()},
        "ratio_bootstrap": {k: round(v / draws, 1) for k, v in theirs.items()},
        "microseconds_per_resample": {str(n): round(1e6 * t, 2) for n, t in growth.items()},
        "million_items_seconds": million,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
