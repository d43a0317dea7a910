"""Values of Python -> typed columns, each of a wrong type a fault; knows no file format and no rule of records."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from orderbias.records.raw import NUMBER_COLUMNS, SERIES_COLUMNS, WORD_COLUMNS, Numbers, Raw, Series, Source
from orderbias.records.words import Words


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
    words = Words.encode(values)
    halves = {code for code, word in enumerate(words.words) if not _whole(word)}
    if halves:
        values = list(values)
        for row in np.flatnonzero(np.isin(words.codes, list(halves))).tolist():
            flag(name, "whole characters, none of them half of a pair", row, values[row])
            values[row] = None
        words = Words.encode(values)
    return words


def _whole(text: str) -> bool:
    """Whether a text can be written: JSON may escape half of a character's pair, which no file can hold."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
