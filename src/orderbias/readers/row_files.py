"""Files -> raw rows with the line each began on; must not know what any column means.

Reads JSON Lines, JSON, CSV, TSV (each may be gzipped) and Parquet. A line that cannot be read becomes a fault and the
others are still returned, so that one pass over a file finds everything that is wrong with it.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orderbias import strict_json
from orderbias.errors import ArgumentError, DataError

#: What the end of a file's name says about its content.
SUFFIXES: Mapping[str, str] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a file: its values by column, and where it is, as in ``items.jsonl line 17``.

    ``number`` counts the records of the file from 1; ``line`` is the line on which this one begins, or the number of
    the record where there are no lines.
    """

    where: str
    number: int
    line: int
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing wrong with a file, and the line (0 for the whole file) by which faults are sorted."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    """What a file held: readable rows, and a fault for each that was not.

    ``blank_is_null`` says that the file has no other way to write a null than an empty cell (CSV).
    """

    file: str
    rows: tuple[Row, ...]
    faults: tuple[Fault, ...] = ()
    blank_is_null: bool = False


def read_rows(path: Path, *, columns: Sequence[str] | None = None, quoted: bool = True) -> Rows:
    """Read every record of a file.

    Parameters
    ----------
    path
        A file whose name ends in one of ``SUFFIXES``, with ``.gz`` after it if it is compressed (not Parquet).
    columns
        Names of the columns of a CSV or TSV file that has no header.
    quoted
        Whether quotation marks in CSV or TSV quote (RFC 4180); otherwise they are ordinary text.

    Raises
    ------
    ArgumentError
        If there is no such file or the end of its name is unknown.
    DataError
        If it cannot be read at all: not UTF-8, not JSON, not Parquet.
    """
    kind = SUFFIXES.get(Path(path.stem if path.suffix == ".gz" else path.name).suffix.lower())
    if not path.is_file():
        raise ArgumentError(f"There is no file {path}. Give a file, or `hf:org/name` for a data set of the hub.")
    if kind is None:
        raise ArgumentError(f"The name of a file must end in one of {', '.join(SUFFIXES)}. Got {path.name!r}.")
    if kind == "parquet":
        return _parquet(path)
    text = _text(path)
    if kind == "json":
        return _json(path.name, text)
    if kind == "jsonl":
        return _json_lines(path.name, text)
    return _csv(path.name, text, "\t" if kind == "tsv" else ",", columns, quoted)


def _text(path: Path) -> str:
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read: {error}.") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path.name} line {line}: text must be UTF-8. Got the byte 0x{data[error.start]:02x}. "
            "Save the file as UTF-8 and try again."
        ) from error


def _json_lines(file: str, text: str) -> Rows:
    rows: list[Row] = []
    faults: list[Fault] = []
    # Only \n ends a line of JSON Lines: str.splitlines would also split at U+2028 and others, legal inside strings.
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        where = f"{file} line {line}"
        try:
            value = strict_json.loads(content)
        except (ValueError, RecursionError) as error:
            faults.append(Fault(line, f"{where}: not valid JSON ({_reason(error)}). The line may be cut short."))
            continue
        if isinstance(value, dict):
            rows.append(Row(where, len(rows) + len(faults) + 1, line, value))
        else:
            faults.append(Fault(line, f"{where}: a line must hold one JSON object. Got {shown(value)}."))
    return Rows(file, tuple(rows), tuple(faults))


def _json(file: str, text: str) -> Rows:
    if not text.strip():
        return Rows(file, ())
    try:
        value = strict_json.loads(text)
    except (ValueError, RecursionError) as error:
        if getattr(error, "msg", "") == "Extra data":  # JSON Lines under the wrong name
            return _json_lines(file, text)
        raise DataError(f"{file}: not valid JSON ({_reason(error)}). The file may be cut short.") from error
    if isinstance(value, dict):
        lists = [v for v in value.values() if isinstance(v, list) and v and all(isinstance(r, dict) for r in v)]
        value = lists[0] if len(lists) == 1 else [value]
    if not isinstance(value, list):
        raise DataError(f"{file}: a .json file must hold a list of objects, one an item. Got {shown(value)}.")
    rows, faults = [], []
    for number, record in enumerate(value, 1):
        where = f"{file} item {number}"
        if isinstance(record, dict):
            rows.append(Row(where, number, number, record))
        else:
            faults.append(Fault(number, f"{where}: must be a JSON object. Got {shown(record)}."))
    return Rows(file, tuple(rows), tuple(faults))


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error).split(";")[0]


def _csv(file: str, text: str, delimiter: str, columns: Sequence[str] | None, quoted: bool) -> Rows:
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        strict=True,
    )
    rows: list[Row] = []
    faults: list[Fault] = []
    header, end = list(columns or ()), 0
    try:
        for cells in _whole_fields(reader):
            line, end = end + 1, reader.line_num
            if not cells:
                continue
            if not header:
                header = _header(file, cells)
            elif len(cells) != len(header):
                faults.append(
                    Fault(line, f"{file} line {line}: {len(cells)} cells where there are {len(header)} columns.")
                )
            else:
                number = len(rows) + len(faults) + 1
                values = {name: cell or None for name, cell in zip(header, cells, strict=True)}
                rows.append(Row(f"{file} line {line}", number, line, values))
    except csv.Error as error:
        # The reader cannot find the next record after this: what it read before still gets checked.
        line = end + 1
        faults.append(
            Fault(line, f"{file} line {line}: not valid CSV ({error}). A quotation mark may be missing from here on.")
        )
    return Rows(file, tuple(rows), tuple(faults), blank_is_null=True)


def _whole_fields(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Read without the limit of 131,072 characters a field, which a passage may pass."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield from reader
    finally:
        csv.field_size_limit(limit)


def _header(file: str, cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"{file} line 1: each column needs a name of its own. Got {', '.join(map(repr, twice))} twice.")
    return names


def _parquet(path: Path) -> Rows:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as opened:
            names = opened.schema_arrow.names
            twice = sorted({name for name in names if names.count(name) > 1})
            records = [] if twice else opened.read().to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path.name} is no readable Parquet file ({reason}). It may be cut short.") from error
    if twice:
        raise DataError(f"{path.name}: each column needs a name of its own. Got {', '.join(map(repr, twice))} twice.")
    return record_rows(path.name, records)


def record_rows(file: str, records: Sequence[Mapping[str, object]]) -> Rows:
    """Return rows for records that have numbers but no lines."""
    return Rows(file, tuple(Row(f"{file} row {n}", n, n, record) for n, record in enumerate(records, 1)))


def shown(value: object) -> str:
    """Return a value as an error message shows it: its ``repr``, cut at 60 characters.

    Examples
    --------
    >>> shown("x" * 100)[-6:]
    'xxx...'
    """
    try:
        text = repr(value)
    except ValueError:  # an integer too long to print
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."
