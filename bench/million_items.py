"""Write a Parquet file of one million items x 4 orderings, read it, build the cell; print seconds and peak memory.

Run: python bench/million_items.py [N_ITEMS]
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def write_planted(path: Path, n_items: int, *, n_options: int = 4, seed: int = 0, chunk: int = 100_000) -> None:
    """Write the answers of a model with content strengths and a lean to the first place, under all rotations."""
    rng = np.random.default_rng(seed)
    rotations = ((np.arange(n_options)[:, None] + np.arange(n_options)) % n_options).astype(np.int8)
    lean = np.linspace(0.6, 0.0, n_options)
    writer = None
    for start in range(0, n_items, chunk):
        n = min(chunk, n_items - start)
        gold = rng.integers(n_options, size=n)
        strength = rng.normal(size=(n, n_options)) + 1.5 * (np.arange(n_options) == gold[:, None])
        scores = strength[:, None, :] + lean[rotations]
        by_place = np.take_along_axis(scores, np.broadcast_to(np.argsort(rotations, axis=1), scores.shape), axis=2)
        logprobs = by_place - np.log(np.exp(by_place).sum(axis=2, keepdims=True))
        rows = n * n_options
        offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * n_options)
        names = pa.array([f"item-{i}" for i in range(start, start + n)])
        table = pa.table(
            {
                "model": pa.array(["planted"] * rows),
                "benchmark": pa.array(["million"] * rows),
                "readout": pa.array(["first_token"] * rows),
                "item_id": names.take(pa.array(np.repeat(np.arange(n), n_options))),
                "positions": pa.ListArray.from_arrays(offsets, pa.array(np.tile(rotations, (n, 1)).ravel())),
                "gold": pa.array(np.repeat(gold, n_options).astype(np.int8)),
                "logprobs": pa.ListArray.from_arrays(offsets, pa.array(logprobs.ravel())),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def main(n_items: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        if not sys.argv[2:]:  # a process of its own, so that the peak is that of reading alone
            import subprocess

            write_planted(path, n_items)
            subprocess.run([sys.executable, __file__, str(n_items), str(path)], check=True)
            return
    from orderbias.cells import cells
    from orderbias.records import read_records

    started = time.perf_counter()
    records = read_records(sys.argv[2])
    read = time.perf_counter()
    built = cells(records)
    done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps(
            {
                "n_items": built.predictions[0].n_items,
                "n_rows": len(records),
                "read_seconds": round(read - started, 2),
                "build_seconds": round(done - read, 2),
                "peak_megabytes": round(peak),
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1_000_000)
