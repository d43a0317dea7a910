"""Parquet files of records: the one module of records that knows pyarrow, imported on first use.

Columns are read one at a time and turned into arrays without a Python object a row, so that the peak is one column.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from orderbias.records.values import RECORD_STATUSES, Records
from orderbias.records.words import Words


def _arrow() -> tuple[Any, Any, Any]:
    import pyarrow
    import pyarrow.compute
    import pyarrow.parquet

    return pyarrow, pyarrow.compute, pyarrow.parquet


def schema() -> Any:
    """Return the ``pyarrow.Schema`` of records, as they are written."""
    pa, _, _ = _arrow()
    string, small, count = pa.string(), pa.int8(), pa.int32()
    types = {
        "model": string, "benchmark": string, "readout": string, "item_id": string, "group": string,
        "positions": pa.list_(small), "gold": small, "place": small, "logprobs": pa.list_(pa.float64()),
        "mass": pa.float64(), "status": string, "repeat": count, "found": string, "text": string,
        "tokens_in": count, "tokens_out": count,
    }  # fmt: skip
    return pa.schema([(name, types[name]) for name in COLUMNS])


# --- reading -----------------------------------------------------------------------------------------------------


def read_parquet(path: Path | bytes, file: str, faults: list[str], group: str = "group") -> Raw | None:
    """Read the columns of a file, or of its bytes; ``group`` names the column that is the group.

    Faults of the file as a whole are appended to ``faults``; None is returned then.
    """
    pa, _, pq = _arrow()
    try:
        source = path
        if not isinstance(path, bytes) and path.suffix == ".gz":
            source = gzip.decompress(path.read_bytes())
        buffer = pa.BufferReader(source) if isinstance(source, bytes) else source
        with pq.ParquetFile(buffer) as opened:
            kinds = (pa.string(), pa.large_string())
            strings = [column.name for column in opened.schema_arrow if column.type in kinds]
        buffer = pa.BufferReader(source) if isinstance(source, bytes) else source
        coded = [name for name in strings if name in (*WORD_COLUMNS, group)]
        with pq.ParquetFile(buffer, read_dictionary=coded, page_checksum_verification=True) as opened:
            return _read_columns(opened, file, faults, group)
    except (pa.ArrowException, OSError, EOFError, ValueError, OverflowError, zlib.error) as error:
        faults.append(f"{file} must be a whole Parquet file. It is damaged, cut off or of another kind: {error}")
        return None


def _read_columns(opened: Any, file: str, faults: list[str], group: str) -> Raw | None:
    names = tuple(opened.schema_arrow.names)
    n_rows = opened.metadata.num_rows
    problems = missing_columns(file, names, group)
    if n_rows == 0:
        problems.append(f"{file} must hold at least one record. It holds none.")
    repeated = {n for n in names if names.count(n) > 1}
    problems += [f"{file} must have one column of each name. `{name}` is there more than once." for name in repeated]
    columns: dict[str, Any] = {}
    wanted = file_columns(group)
    for name, theirs in wanted.items() if not problems else ():
        if theirs not in names:
            continue
        convert = _words if name in WORD_COLUMNS else _numbers if name in NUMBER_COLUMNS else _series
        try:
            column = _plain(opened.read(columns=[theirs], use_threads=True).column(theirs))
            if len(column) != n_rows:
                problems.append(f"{file} must be whole. It is damaged: `{theirs}` has {len(column)} of {n_rows} rows.")
                continue
            columns[name] = convert(column)
        except TypeError as error:
            problems.append(f"{file}: the column `{theirs}` must hold {error}.")
        except UnicodeDecodeError as error:
            problems.append(f"{file}: the column `{theirs}` must hold UTF-8 text. {error}.")
    if problems:
        faults += problems
        return None
    return Raw(
        source=Source(file, "row"),
        n_rows=n_rows,
        words={n: columns[n] for n in WORD_COLUMNS if n in columns},
        numbers={n: columns[n] for n in NUMBER_COLUMNS if n in columns},
        series={n: columns[n] for n in SERIES_COLUMNS if n in columns},
        broken=np.zeros(n_rows, bool),
        notices=unknown_columns(file, names, wanted.values()),
    )


def _plain(column: Any) -> Any:
    """Turn the views of newer Arrow, of texts or lists, into the types that every function knows."""
    pa, pc, _ = _arrow()
    kind = column.type
    if getattr(pa.types, "is_string_view", _never)(kind):
        return pc.cast(column, pa.large_string())
    if getattr(pa.types, "is_list_view", _never)(kind) or getattr(pa.types, "is_large_list_view", _never)(kind):
        return pc.cast(column, pa.large_list(kind.value_type))
    return column


def _never(kind: object) -> bool:
    return False


def _words(column: Any) -> Words:
    pa, pc, _ = _arrow()
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_null(kind):
        return Words.constant(None, len(column))
    if pa.types.is_integer(kind):
        column = pc.cast(column, pa.string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise TypeError(f"strings. It holds {column.type}")
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in column.chunks]
    if not codes:
        return Words.constant(None, 0)
    words = np.array(column.chunk(0).dictionary.to_pylist(), object)
    return _distinct(Words(np.concatenate(codes).astype(np.int32, copy=False), words))


def _distinct(column: Words) -> Words:
    """A file's own dictionary may hold a word twice, or null; codes must not."""
    if None not in set(column.words) and len(set(column.words)) == len(column.words):
        return column
    table = Words.encode(column.words)
    return Words(np.append(table.codes, np.int32(-1))[column.codes], table.words)


def _numbers(column: Any) -> Numbers:
    pa, pc, _ = _arrow()
    kind = column.type
    if pa.types.is_null(kind):
        return Numbers(np.zeros(len(column), np.int64), np.zeros(len(column), bool))
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise TypeError(f"numbers. It holds {kind}")
    known = column.is_valid().to_numpy()
    values = pc.fill_null(column, 0).to_numpy()
    if values.dtype.kind == "f":  # data frames write a null among integers as NaN
        values = values.astype(np.float64, copy=False)
        known = known & ~np.isnan(values)
    elif values.dtype == np.uint64:
        values = np.minimum(values, np.iinfo(np.int64).max).astype(np.int64)
    return Numbers(values, np.asarray(known, bool))


def _series(column: Any) -> Series:
    pa, pc, _ = _arrow()
    kind = column.type
    if pa.types.is_null(kind):
        n_rows = len(column)
        return Series(np.array([], np.float64), np.zeros(n_rows, np.int64), np.zeros(n_rows, bool))
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise TypeError(f"lists of numbers. It holds {kind}")
    inner = kind.value_type
    if not (pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_null(inner)):
        raise TypeError(f"lists of numbers. It holds {kind}")
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
    given = np.asarray(column.is_valid().to_numpy(), bool)
    values: list[NDArray[Any]] = []
    known: list[NDArray[np.bool_]] = []
    for chunk in column.chunks:
        flat = chunk.flatten()  # leaves out what lies behind a null list
        values.append(_flat_values(flat))
        known.append(np.asarray(flat.is_valid().to_numpy(zero_copy_only=False), bool))
    whole = np.concatenate(known) if known else np.array([], bool)
    flat_values = np.concatenate(values) if values else np.array([], np.float64)
    return Series(flat_values, sizes, given, None if whole.all() else whole)


def _flat_values(flat: Any) -> NDArray[Any]:
    pa, pc, _ = _arrow()
    if pa.types.is_null(flat.type):
        return np.zeros(len(flat), np.float64)
    values: NDArray[Any] = (pc.fill_null(flat, 0) if flat.null_count else flat).to_numpy(zero_copy_only=False)
    if values.dtype.kind in "iu" and values.size and values.min() >= -128 and values.max() <= 127:
        return values.astype(np.int8, copy=False)
    return values


# --- writing -----------------------------------------------------------------------------------------------------


def to_parquet(records: Records) -> bytes:
    """Return records as the bytes of a Parquet file; the same records give the same bytes."""
    pa, _, pq = _arrow()
    sink = pa.BufferOutputStream()
    pq.write_table(to_table(records), sink, compression="zstd", write_statistics=False, write_page_checksum=True)
    return bytes(sink.getvalue().to_pybytes())


def write_parquet(records: Records, path: Path) -> None:
    """Write records to a file."""
    _, _, pq = _arrow()
    pq.write_table(to_table(records), path, compression="zstd", write_page_checksum=True)


def to_table(records: Records) -> Any:
    """Return records as a ``pyarrow.Table`` of :func:`schema`."""
    pa, _, _ = _arrow()
    n_rows = len(records)
    columns: dict[str, Any] = {
        name: _encode_words(getattr(records, name) or Words.constant(None, n_rows))
        for name in ("model", "benchmark", "readout", "item_id", "group", "found", "text")
    }
    columns["status"] = _encode_words(Words(records.status.astype(np.int32), np.array(RECORD_STATUSES, object)))
    columns["repeat"] = pa.array(records.repeat)
    for name, dtype in (("gold", np.int8), ("place", np.int8), ("tokens_in", np.int32), ("tokens_out", np.int32)):
        values = getattr(records, name)
        values = np.full(n_rows, -1, dtype) if values is None else values
        columns[name] = pa.array(values, mask=values < 0)
    mass = np.full(n_rows, np.nan) if records.mass is None else records.mass
    columns["mass"] = pa.array(mass, mask=np.isnan(mass))
    columns["positions"] = pa.ListArray.from_arrays(pa.array(records.offsets, pa.int32()), pa.array(records.positions))
    columns["logprobs"] = _encode_logprobs(records)
    wanted = schema()
    return pa.table([columns[field.name].cast(field.type) for field in wanted], schema=wanted)


def _encode_words(words: Words) -> Any:
    pa, _, _ = _arrow()
    if not len(words.words):
        return pa.nulls(len(words), pa.string())
    codes = pa.array(words.codes, mask=words.codes < 0)
    return pa.DictionaryArray.from_arrays(codes, pa.array(words.words, pa.string()))


def _encode_logprobs(records: Records) -> Any:
    pa, _, _ = _arrow()
    there = records.answered
    if records.logprobs is None or not there.any():
        return pa.nulls(len(records), pa.list_(pa.float64()))
    sizes = np.where(there, records.n_options, 0)
    offsets = np.zeros(len(records) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    flat = records.logprobs[np.repeat(there, records.n_options)]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat), mask=None if there.all() else pa.array(~there))
