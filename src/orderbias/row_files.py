"""Files -> raw rows with the line each began on; must not know what any column means.

Reads JSON Lines, JSON, CSV, TSV (each may be gzipped) and Parquet. A line that cannot be read becomes a fault and the
others are still returned, so that one pass over a file finds everything that is wrong with it.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

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
    rows: list[Row] = []
    faults: list[Fault] = []
    for found in stream_rows(path, columns=columns, quoted=quoted):
        if isinstance(found, Row):
            rows.append(found)
        else:
            faults.append(found)
    return Rows(path.name, tuple(rows), tuple(faults), blank_is_null=_kind(path) in ("csv", "tsv"))


def stream_rows(path: Path, *, columns: Sequence[str] | None = None, quoted: bool = True) -> Iterator[Row | Fault]:
    """Yield the records of a file one after another, and a fault in place of each that cannot be read.

    A file of lines (JSON Lines, CSV, TSV) is never in memory as a whole. Parameters and errors are those of
    :func:`read_rows`; an error may come after records were yielded.
    """
    kind = _kind(path)
    if not path.is_file():
        raise ArgumentError(f"There is no file {path}. Give a file, or `hf:org/name` for a data set of the hub.")
    if kind is None:
        raise ArgumentError(f"The name of a file must end in one of {', '.join(SUFFIXES)}. Got {path.name!r}.")
    if kind == "parquet":
        return _parquet(path)
    if kind == "json":
        return _json(path)
    if kind == "jsonl":
        return _json_lines(path.name, _lines(path, "\n"))
    return _csv(path.name, _lines(path, ""), "\t" if kind == "tsv" else ",", columns, quoted)


def _kind(path: Path) -> str | None:
    return SUFFIXES.get(Path(path.stem if path.suffix == ".gz" else path.name).suffix.lower())


def _lines(path: Path, newline: str) -> Iterator[str]:
    """Yield lines, of which ``newline`` says how they end (see :func:`open`)."""
    try:
        # Only \n ends a line of JSON Lines; "" leaves line ends to the reader of CSV.
        with _opened(path) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline=newline) as text:
            yield from text
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path.name} cannot be read: {error}.") from error


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _not_utf8(path: Path, error: UnicodeDecodeError) -> DataError:
    """Name the first line that is no UTF-8: a stream decodes ahead of the lines that it gives."""
    # A compressed file may also be cut short, and end in an error before that line.
    with contextlib.suppress(OSError, EOFError, zlib.error), _opened(path) as stream:
        for line, content in enumerate(stream, 1):
            try:
                content.decode()
            except UnicodeDecodeError as found:
                return DataError(
                    f"{path.name} line {line}: text must be UTF-8. Got the byte 0x{content[found.start]:02x}. "
                    "Save the file as UTF-8 and try again."
                )
    return DataError(f"{path.name}: text must be UTF-8. {error}")


def _json_lines(file: str, lines: Iterable[str]) -> Iterator[Row | Fault]:
    number = 0
    for line, content in enumerate(lines, 1):
        if not content.strip():
            continue
        number += 1
        where = f"{file} line {line}"
        try:
            value = strict_json.loads(content.removesuffix("\n"))
        except (ValueError, RecursionError) as error:
            yield Fault(line, f"{where}: not valid JSON ({_reason(error)}). The line may be cut short.")
            continue
        if isinstance(value, dict):
            yield Row(where, number, line, value)
        else:
            yield Fault(line, f"{where}: a line must hold one JSON object. Got {shown(value)}.")


def _json(path: Path) -> Iterator[Row | Fault]:
    file, text = path.name, "".join(_lines(path, "\n"))
    if not text.strip():
        return
    try:
        value = strict_json.loads(text)
    except (ValueError, RecursionError) as error:
        if getattr(error, "msg", "") == "Extra data":  # JSON Lines under the wrong name
            yield from _json_lines(file, text.split("\n"))
            return
        raise DataError(f"{file}: not valid JSON ({_reason(error)}). The file may be cut short.") from error
    if isinstance(value, dict):
        lists = [v for v in value.values() if isinstance(v, list) and v and all(isinstance(r, dict) for r in v)]
        value = lists[0] if len(lists) == 1 else [value]
    if not isinstance(value, list):
        raise DataError(f"{file}: a .json file must hold a list of objects, one an item. Got {shown(value)}.")
    for number, record in enumerate(value, 1):
        where = f"{file} item {number}"
        if isinstance(record, dict):
            yield Row(where, number, number, record)
        else:
            yield Fault(number, f"{where}: must be a JSON object. Got {shown(record)}.")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error).split(";")[0]


def _csv(
    file: str, lines: Iterable[str], delimiter: str, columns: Sequence[str] | None, quoted: bool
) -> Iterator[Row | Fault]:
    reader = csv.reader(
        lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=True
    )
    header, end, number = list(columns or ()), 0, 0
    try:
        for cells in _whole_fields(reader):
            line, end = end + 1, reader.line_num
            if not cells:
                continue
            if not header:
                header = _header(file, cells)
                continue
            number += 1
            if len(cells) != len(header):
                yield Fault(line, f"{file} line {line}: {len(cells)} cells where there are {len(header)} columns.")
            else:
                values = {name: cell or None for name, cell in zip(header, cells, strict=True)}
                yield Row(f"{file} line {line}", number, line, values)
    except csv.Error as error:
        # The reader cannot find the next record after this: what it read before still gets checked.
        line = end + 1
        yield Fault(line, f"{file} line {line}: not valid CSV ({error}). A quotation mark may be missing from here on.")


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


def _parquet(path: Path) -> Iterator[Row]:
    import pyarrow
    import pyarrow.parquet

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as opened:
            names = opened.schema_arrow.names
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise DataError(
                    f"{path.name}: each column needs a name of its own. Got {', '.join(map(repr, twice))} twice."
                )
            for batch in opened.iter_batches():
                for record in batch.to_pylist():
                    number += 1
                    yield Row(f"{path.name} row {number}", number, number, record)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        reason = str(error).splitlines()[0]
        raise DataError(f"{path.name} is no readable Parquet file ({reason}). It may be cut short.") from error


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
