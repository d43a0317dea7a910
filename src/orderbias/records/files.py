"""Records from files and to files: which reader a name takes, and what must hold across rows and files."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from orderbias.errors import ArgumentError, DataError
from orderbias.records.across import Origin, check_across
from orderbias.records.checks import check_rows
from orderbias.records.parquet import read_parquet, write_parquet
from orderbias.records.raw import COLUMNS, Raw, Source
from orderbias.records.text import read_csv, read_jsonl, write_csv, write_jsonl
from orderbias.records.typed import from_columns
from orderbias.records.values import Record, Records, concatenate

_Reader = Callable[[Path, str, list[str], str], Raw | None]

_READERS: dict[str, _Reader] = {
    ".parquet": read_parquet,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".csv": read_csv,
}

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read_records(paths: Paths, *, duplicates: str = "error", group: str | None = None) -> Records:
    """Read records from Parquet, JSON-lines or CSV files, recognised by suffix (``.gz`` after it allowed).

    Required columns are ``item_id``, ``positions``, and ``place`` or ``logprobs``. The model's name defaults to
    ``unnamed``, the benchmark's to the file's name without suffix, the readout to ``unknown``.

    Parameters
    ----------
    paths
        One file or several.
    duplicates
        What two rows of the same cell, item, ordering and repeat are: ``error``, or ``first`` to keep the first.
    group
        Another column to read as the group, such as a source document; default: the column ``group``.

    Returns
    -------
    Records
        Its ``notices`` say which defaults were taken, which rows count as censored, and the like.

    Raises
    ------
    ArgumentError
        If a suffix is unknown, or ``duplicates`` is.
    DataError
        If anything in the files breaks a rule; every fault is listed with file, line (row in Parquet) and column.
    """
    if duplicates not in ("error", "first"):
        raise ArgumentError(f"`duplicates` must be 'error' or 'first'. Got {duplicates!r}.")
    files = [Path(p) for p in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    if not files:
        raise ArgumentError("`paths` must name at least one file. Got none.")
    alike = len({p.name for p in files}) < len(files)
    faults: list[str] = []
    parts: list[Records] = []
    sources: list[Source] = []
    for path in files:
        reader = _reader(path)
        raw = reader(path, str(path) if alike else path.name, faults, group or "group")
        checked = check_rows(raw, _stem(path), faults) if raw is not None else None
        if raw is not None and checked is not None:
            parts.append(checked)
            sources.append(raw.source)
    if faults:
        raise DataError(faults)
    origin = Origin.of([len(p) for p in parts], sources)
    return check_across(concatenate(parts), origin, duplicates)


def from_rows(rows: Iterable[Record], *, duplicates: str = "error") -> Records:
    """Build checked records from single ones.

    Raises
    ------
    DataError
        As :func:`read_records`; rows are counted from 1.

    Examples
    --------
    >>> from_rows([Record(item_id="q1", positions=(1, 0), logprobs=(-2.0, -0.1))]).place.tolist()
    [1]
    """
    given = list(rows)
    if not given:
        raise DataError("`rows` must hold at least one record. It holds none.")
    faults: list[str] = []
    source = Source("records", "row")
    raw = from_columns({name: [getattr(r, name) for r in given] for name in COLUMNS}, source, faults)
    checked = check_rows(raw, "unnamed", faults)
    if faults or checked is None:
        raise DataError(faults)
    return check_across(checked, Origin.of([len(given)], [source]), duplicates)


def from_parquet(data: bytes, name: str) -> Records:
    """Read records from the bytes of a Parquet file; ``name`` is how faults call it.

    Raises
    ------
    DataError
        As :func:`read_records`. What holds between rows is not checked.
    """
    faults: list[str] = []
    raw = read_parquet(data, name, faults)
    records = check_rows(raw, "unnamed", faults) if raw is not None else None
    if faults or records is None:
        raise DataError(faults)
    return records


def write_records(path: str | os.PathLike[str], records: Records) -> None:
    """Write records to a Parquet, JSON-lines or CSV file, recognised by suffix; the whole file or nothing.

    Raises
    ------
    ArgumentError
        If the suffix is unknown.
    """
    target = Path(path)
    _reader(target, must_exist=False)
    suffixes = target.name.removesuffix(".gz")
    partial = target.with_name(f".{target.name}.partial")
    try:
        if suffixes.endswith(".parquet"):
            _write_binary(records, partial, target.suffix == ".gz")
        else:
            write: Callable[[Records, TextIO], None] = write_csv if suffixes.endswith(".csv") else write_jsonl
            opener: Any = gzip.open if target.suffix == ".gz" else open
            with opener(partial, "wt", encoding="utf-8", newline="") as stream:
                write(records, stream)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _write_binary(records: Records, path: Path, compressed: bool) -> None:
    write_parquet(records, path)
    if compressed:
        path.write_bytes(gzip.compress(path.read_bytes()))


def _reader(path: Path, *, must_exist: bool = True) -> _Reader:
    suffix = Path(path.name.removesuffix(".gz")).suffix
    if must_exist and path.is_dir():
        raise DataError(f"{path} must be a file. It is a directory: a run is read with `orderbias.read_run`.")
    if suffix not in _READERS:
        raise ArgumentError(
            f"A file of records must end in {', '.join(_READERS)} (or one of them and .gz). Got {path.name!r}."
        )
    if must_exist and not path.is_file():
        raise DataError(f"{path} must be a file. There is none of that name.")
    return _READERS[suffix]


def _stem(path: Path) -> str:
    name = os.fsencode(path.name).decode("utf-8", "backslashreplace").removesuffix(".gz")
    return name[: -len(Path(name).suffix)] or name


def with_notices(records: Records, notices: Iterable[str]) -> Records:
    """Return records with more notices."""
    return replace(records, notices=(*records.notices, *notices))
