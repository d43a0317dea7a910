"""JSON lines and CSV files of records, by hand or by another tool; knows no array rule beyond the type of a value."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from orderbias.records.raw import (
    COLUMNS,
    NUMBER_COLUMNS,
    SERIES_COLUMNS,
    WORD_COLUMNS,
    Numbers,
    Raw,
    Series,
    Source,
    file_columns,
    missing_columns,
    unknown_columns,
)
from orderbias.records.values import Record, Records
from orderbias.records.words import Words

#: What stands for null inside a list of a CSV file.
_NULLS = frozenset({"null", "none", "na", "-", "?"})


# --- reading -----------------------------------------------------------------------------------------------------


def read_jsonl(path: Path, file: str, faults: list[str], group: str = "group") -> Raw | None:
    """Read a file of one JSON object a line; blank lines are passed over.

    Faults of lines are appended to ``faults``.
    """
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, line in _lines(path, file, faults):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            rule = "A line must be one whole JSON object. It is cut off or malformed:"
            faults.append(f"{rule} {error} ({file} line {number}).")
            continue
        if not isinstance(row, dict):
            faults.append(f"A line must be a JSON object. Got {line.strip()[:60]} ({file} line {number}).")
            continue
        rows.append(row)
        lines.append(number)
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    wanted = file_columns(group)
    columns = {name: [row.get(theirs) for row in rows] for name, theirs in wanted.items() if theirs in names}
    return _assemble(file, names, columns, lines, faults, group)


def read_csv(path: Path, file: str, faults: list[str], group: str = "group") -> Raw | None:
    """Read a CSV file with a header; an empty field is null, a list is ``0 1 2 3``.

    Faults of lines are appended to ``faults``.
    """
    numbered = _lines(path, file, faults)
    rows = csv.reader((line for _, line in numbered), strict=True)
    try:
        names = tuple(name.strip() for name in next(rows, ()))
        repeated = {name for name in names if names.count(name) > 1}
        faults += [f"{file} must have one column of each name. `{name}` is there more than once." for name in repeated]
        kept: list[list[str]] = []
        lines: list[int] = []
        start = rows.line_num + 1
        for row in rows:
            if row and len(row) != len(names):
                faults.append(
                    f"A line must have the {len(names)} fields of the header. Got {len(row)}, so it is cut off or "
                    f"has a stray comma ({file} line {start})."
                )
            elif row:
                kept.append(row)
                lines.append(start)
            start = rows.line_num + 1
    except csv.Error as error:
        faults.append(f"A line must be CSV. {error} ({file} line {rows.line_num}).")
        return None
    texts = dict(zip(names, zip(*kept, strict=True), strict=False)) if kept else dict.fromkeys(names, ())
    wanted = file_columns(group)
    columns = {name: _parse_column(name, texts[theirs]) for name, theirs in wanted.items() if theirs in names}
    return _assemble(file, names, columns, lines, faults, group)


def _lines(path: Path, file: str, faults: list[str]) -> Iterator[tuple[int, str]]:
    """Yield numbered lines; a file that cannot be read to its end is a fault."""
    number = 0
    try:
        with _open(path) as stream:
            for number, line in enumerate(stream, 1):
                yield number, line
    except UnicodeDecodeError as error:
        faults.append(f"{file} must be UTF-8 text. After line {number}: {error}")
    except (OSError, EOFError, zlib.error) as error:
        faults.append(f"{file} must be readable to its end. After line {number}: {error}")


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _parse_column(name: str, texts: tuple[str, ...]) -> list[Any]:
    """Turn fields into values; what cannot be turned stays text, and is told as a fault later."""
    if name in WORD_COLUMNS:
        return [text or None for text in texts]
    parse: Callable[[str], Any] = _parse_number if name in NUMBER_COLUMNS else _parse_list
    known: dict[str, Any] = {}  # orderings and places repeat: each distinct text is parsed once
    return [known[text] if text in known else known.setdefault(text, parse(text)) for text in texts]


def _parse_number(text: str) -> Any:
    text = text.strip()
    if not text or text.lower() in _NULLS:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _parse_list(text: str) -> Any:
    text = text.strip()
    if not text or text.lower() in _NULLS:
        return None
    values = [_parse_number(part) for part in text.split()]
    return text if any(isinstance(value, str) for value in values) else values


# --- values of Python -> columns ---------------------------------------------------------------------------------


def _assemble(
    file: str,
    names: tuple[str, ...],
    columns: dict[str, list[Any]],
    lines: list[int],
    faults: list[str],
    group: str,
) -> Raw | None:
    if not lines:
        if not faults:
            faults.append(f"{file} must hold at least one record. It holds none.")
        return None
    absent = missing_columns(file, names, group)
    if absent:
        faults += absent
        return None
    raw = from_columns(columns, Source(file, "line", np.array(lines, np.int64)), faults)
    notices = unknown_columns(file, names, file_columns(group).values())
    return Raw(raw.source, raw.n_rows, raw.words, raw.numbers, raw.series, raw.broken, notices)


def from_columns(columns: dict[str, list[Any]], source: Source, faults: list[str]) -> Raw:
    """Type columns of Python values; each value of a wrong type is a fault, and its row is broken."""
    n_rows = len(columns["item_id"])
    broken = np.zeros(n_rows, bool)

    def flag(name: str, rule: str, row: int, value: Any) -> None:
        broken[row] = True
        faults.append(f"`{name}` must be {rule}. Got {json.dumps(value, default=str)[:80]} ({source.at(row)}).")

    return Raw(
        source=source,
        n_rows=n_rows,
        words={n: _words(n, columns[n], flag) for n in WORD_COLUMNS if n in columns},
        numbers={n: _numbers(n, columns[n], flag) for n in NUMBER_COLUMNS if n in columns},
        series={n: _series(n, columns[n], flag) for n in SERIES_COLUMNS if n in columns},
        broken=broken,
    )


_Flag = Callable[[str, str, int, Any], None]


def _words(name: str, values: list[Any], flag: _Flag) -> Words:
    kinds = set(map(type, values))
    if not kinds <= {str, type(None)}:
        values = list(values)
        for row, value in enumerate(values):
            if type(value) is int:
                values[row] = str(value)
            elif value is not None and not isinstance(value, str):
                flag(name, "a string", row, value)
                values[row] = None
    return Words.encode(values)


def _numeric(values: Sequence[Any]) -> bool:
    """Whether all are numbers or null: true and false are not, nor is an integer that no double holds."""
    if not set(map(type, values)) <= {int, float, type(None)}:
        return False
    return all(-(2**63) < v < 2**63 for v in values if type(v) is int)


def _numbers(name: str, values: list[Any], flag: _Flag) -> Numbers:
    known = np.array([value is not None for value in values])
    if not _numeric(values):
        for row, value in enumerate(values):
            if not _numeric((value,)):
                flag(name, "a number", row, value)
                known[row] = False
    numbers = np.array([v if k else 0 for v, k in zip(values, known, strict=True)], np.float64)
    return Numbers(numbers, known & ~np.isnan(numbers))


def _series(name: str, values: list[Any], flag: _Flag) -> Series:
    if not set(map(type, values)) <= {list, tuple, type(None)}:
        values = list(values)
        for row, value in enumerate(values):
            if value is not None and not isinstance(value, list | tuple):
                flag(name, "a list of numbers", row, value)
                values[row] = None
    flat = [entry for value in values if value is not None for entry in value]
    if not _numeric(flat):
        values = list(values)
        for row, value in enumerate(values):
            if value is not None and not _numeric(value):
                flag(name, "a list of numbers", row, value)
                values[row] = None
        flat = [entry for value in values if value is not None for entry in value]
    known = np.array([entry is not None for entry in flat], bool)
    return Series(
        values=np.array([0.0 if entry is None else entry for entry in flat], np.float64),
        sizes=np.array([0 if value is None else len(value) for value in values], np.int64),
        given=np.array([value is not None for value in values], bool),
        known=None if known.all() else known,
    )


# --- writing -----------------------------------------------------------------------------------------------------


def write_jsonl(records: Records, stream: TextIO) -> None:
    """Write one JSON object a line; nulls are left out, but for ``place``, one of the columns that a file must have."""
    for record in records:
        row = {name: getattr(record, name) for name in COLUMNS}
        kept = {name: value for name, value in row.items() if value is not None or name == "place"}
        stream.write(json.dumps(kept, ensure_ascii=False, allow_nan=False))
        stream.write("\n")


def write_csv(records: Records, stream: TextIO) -> None:
    """Write a CSV file with every column."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_csv_field(record, name) for name in COLUMNS] for record in records)


def _csv_field(record: Record, name: str) -> object:
    value = getattr(record, name)
    return " ".join(map(repr, value)) if isinstance(value, tuple) else value
