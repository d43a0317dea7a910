"""Time `mitigate` with its default operations beside a loop over scipy.stats.bootstrap. Prints JSON.

14,042 items (the size of MMLU's test set) with four options, each asked in its cyclic orderings and their reversals.
Ours is one whole call: the split, fitting and applying seven operations, levels and paired changes with intervals.

SciPy is called once for each operation, with the per-item columns that this package made of its answers and of those
without it (``paired=True``), so that fitting, applying and counting are given to it for nothing. Its statistic is the
package's own, vectorised. It is timed on fewer resamples, at the best of a few batch sizes, and scaled up linearly.

Run: python bench/mitigation.py [N_ITEMS]
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np
from scipy import stats
from timing import seconds

from orderbias.measures import Sums, build_columns, chosen_measures, evaluate
from orderbias.measures.columns import ItemColumns
from orderbias.mitigation import CHANGES, mitigate
from orderbias.mitigation.changes import LEVELS, difference
from orderbias.mitigation.comparing import COLUMNS
from orderbias.operations import DEFAULT_OPERATIONS, parse_operations, split
from orderbias.orderings import cyclic_with_reversals
from orderbias.predictions import Predictions

RESAMPLES = 10_000
SCALARS = chosen_measures(LEVELS)


def planted(n_items: int, *, n_options: int = 4, seed: int = 0) -> Predictions:
    """Log-probabilities of a model with content strengths, a lean to the first places and some noise."""
    rng = np.random.default_rng(seed)
    design = cyclic_with_reversals(n_options)
    gold = rng.integers(0, n_options, n_items)
    strengths = rng.normal(size=(n_items, n_options)) + 1.2 * (gold[:, None] == np.arange(n_options))
    shown = np.argsort(design.positions, axis=1)
    logits = strengths[:, shown] + np.linspace(0.6, -0.6, n_options)
    logits = logits + 0.5 * rng.normal(size=logits.shape)
    logprobs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    choice = shown[np.arange(len(shown)), logits.argmax(axis=-1)]
    return Predictions(choice=choice, positions=design.positions, presented=design.presented, gold=gold,
                       logprobs=logprobs)  # fmt: skip


def scipy_loop(cell: Predictions, resamples: int, batch: int) -> float:
    """Seconds of one scipy.stats.bootstrap an operation, scaled to all resamples; making the columns is not timed."""
    parts = split(cell)
    outputs = [o.fit(parts.calibration).apply(parts.evaluation) for o in parse_operations(DEFAULT_OPERATIONS)]
    none, *others = (build_columns(o).select(COLUMNS) for o in outputs)
    start = time.perf_counter()
    for columns in others:
        _scipy(columns, none, resamples, batch)
    return (time.perf_counter() - start) * RESAMPLES / resamples


def _scipy(after: ItemColumns, before: ItemColumns, resamples: int, batch: int) -> None:
    table = [np.ascontiguousarray(c.rows[c.row_of].T) for c in (after, before)]
    width = len(table[0])

    def statistic(*resampled: np.ndarray, axis: int = -1) -> np.ndarray:
        totals = np.stack([column.sum(axis=axis) for column in resampled], axis=-1)
        sides = [
            {name: v[None] for name, v in evaluate(Sums(part, layout), SCALARS).items()}
            for part, layout in ((totals[..., :width], after.layout), (totals[..., width:], before.layout))
        ]
        levels = [v[0] for v in sides[0].values()]
        return np.nan_to_num(np.stack([*levels, *(difference(c, *sides) for c in CHANGES.values())]))

    stats.bootstrap((*table[0], *table[1]), statistic, n_resamples=resamples, batch=batch, paired=True,
                    vectorized=True, method="percentile", rng=np.random.default_rng(0))  # fmt: skip


def main(n_items: int) -> None:
    """Time both and print."""
    cell = planted(n_items)
    ours = seconds(lambda: mitigate(cell, resamples=RESAMPLES), 3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    without = seconds(lambda: mitigate(cell, resamples=0), 3)
    twice = seconds(lambda: mitigate(cell, resamples=2 * RESAMPLES), 1)
    every = seconds(lambda: mitigate(cell, transitions=True, shapes=True, resamples=RESAMPLES), 1)
    one = seconds(lambda: mitigate(cell, "pride", resamples=RESAMPLES), 2)
    large = planted(10 * n_items)
    tenfold = seconds(lambda: mitigate(large, resamples=RESAMPLES), 1)
    theirs = {batch: scipy_loop(cell, 60, batch) for batch in (5, 20)}
    best = min(theirs.values())
    print(json.dumps({
        "n_items": n_items,
        "n_orderings": cell.n_orderings,
        "operations": DEFAULT_OPERATIONS.split(","),
        "resamples": RESAMPLES,
        "mitigate_seconds": round(ours, 3),
        "mitigate_seconds_without_resampling": round(without, 3),
        "mitigate_seconds_pride_alone": round(one, 3),
        "mitigate_seconds_ten_times_the_items": round(tenfold, 3),
        "mitigate_seconds_twice_the_resamples": round(twice, 3),
        "mitigate_seconds_with_transitions_and_shapes": round(every, 3),
        "mitigate_peak_mb": round(peak),
        "scipy_loop_seconds": {str(batch): round(s, 1) for batch, s in theirs.items()},
        "times_faster": round(best / ours, 1),
    }, indent=1))  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 14_042)
