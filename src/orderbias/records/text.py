"""JSON lines and CSV files of records, by hand or by another tool; knows no array rule beyond the type of a value."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from orderbias import strict_json
from orderbias.records.raw import (
    COLUMNS,
    NUMBER_COLUMNS,
    WORD_COLUMNS,
    Raw,
    Source,
    file_columns,
    missing_columns,
    unknown_columns,
)
from orderbias.records.typed import from_columns
from orderbias.records.values import Record, Records

#: What stands for null inside a list of a CSV file.
_NULLS = frozenset({"null", "none", "na", "-", "?"})

#: Numbers as programs write them; int() and float() would also take "0_1" and the digits of every script.
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE | re.ASCII
)


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
            row = strict_json.loads(line)
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
        for row in _whole_fields(rows):
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


def _whole_fields(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Read without the limit of 131,072 characters a field, which a reply may pass."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield from rows
    finally:
        csv.field_size_limit(limit)


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
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _parse_list(text: str) -> Any:
    text = text.strip()
    if not text or text.lower() in _NULLS:
        return None
    values = [_parse_number(part) for part in text.split()]
    return text if any(isinstance(value, str) for value in values) else values


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
    plain = csv.writer(stream, lineterminator="\n")
    # The writer quotes a lone carriage return only where it quotes everything, and readers take it for a line's end.
    quoting = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    plain.writerow(COLUMNS)
    for record in records:
        row = [_csv_field(record, name) for name in COLUMNS]
        returns = any(isinstance(value, str) and "\r" in value for value in row)
        (quoting if returns else plain).writerow(row)


def _csv_field(record: Record, name: str) -> object:
    value = getattr(record, name)
    return " ".join(map(repr, value)) if isinstance(value, tuple) else value
