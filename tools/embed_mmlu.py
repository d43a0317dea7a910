"""Make the files of the five-subject MMLU subset that the package ships.

Usage: ``python tools/embed_mmlu.py DATA_DIR`` with ``DATA_DIR/mmlu/{test,dev}/*.csv`` in the layout of the data set.
The same input gives the same bytes: no time and no file name are written into the compressed files.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from orderbias.benchmarks import load_benchmark
from orderbias.items import Item

TARGET = Path(__file__).resolve().parent.parent / "src" / "orderbias" / "data"


def compressed(items: Sequence[Item], prefix: str = "") -> bytes:
    """Return items as gzipped JSON Lines."""
    lines = [
        json.dumps(
            {"id": i.id.removeprefix(prefix), "group": i.group, "question": i.question, "options": i.options,
             "gold": i.gold},
            ensure_ascii=False,
        )
        for i in items
    ]  # fmt: skip
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=9, mtime=0) as file:
        file.write("".join(line + "\n" for line in lines).encode())
    return buffer.getvalue()


def main(data_dir: str) -> None:
    """Write both files."""
    loaded = load_benchmark("mmlu-five", data_dir)
    (TARGET / "mmlu_five_test.jsonl.gz").write_bytes(compressed(loaded.items))
    (TARGET / "mmlu_five_dev.jsonl.gz").write_bytes(compressed(loaded.shots, "dev/"))


if __name__ == "__main__":
    main(sys.argv[1])
