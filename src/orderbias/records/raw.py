"""Columns as a file holds them, typed but not yet checked; knows nothing of formats or of the rules of records."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.records.words import Words

#: Columns by the type of their values.
WORD_COLUMNS = ("model", "benchmark", "readout", "item_id", "group", "status", "found", "text")
NUMBER_COLUMNS = ("gold", "place", "mass", "repeat", "tokens_in", "tokens_out")
SERIES_COLUMNS = ("positions", "logprobs")

#: Every column, in the order in which they are written.
COLUMNS = (
    "model", "benchmark", "readout", "item_id", "group", "positions", "gold", "place", "logprobs", "mass", "status",
    "repeat", "found", "text", "tokens_in", "tokens_out",
)  # fmt: skip

#: How many faults of one rule in one file are spelt out; the others are counted.
FAULTS_PER_RULE = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Numbers or nulls: int64 or float64 ``values`` and bool ``known``, each ``(n_rows,)``."""

    values: NDArray[Any]
    known: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Lists of numbers.

    ``values`` are all lists one after another, ``known`` marks those of them that are not null (None: all),
    ``sizes`` is the length of each row's list, 0 where ``given`` is false (the row has no list).
    """

    values: NDArray[Any]
    sizes: NDArray[np.int64]
    given: NDArray[np.bool_]
    known: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from: the file's name, what a row of it is called, and its number there (None: 1, 2, 3 ...)."""

    file: str
    unit: str
    lines: NDArray[np.int64] | None = None

    def at(self, row: int) -> str:
        """Name a row, as ``answers.jsonl line 17``."""
        return f"{self.file} {self.unit} {row + 1 if self.lines is None else int(self.lines[row])}"


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """A file's columns.

    ``broken`` marks rows with a value that could not be read; that fault is told already, and no other is looked for.
    """

    source: Source
    n_rows: int
    words: dict[str, Words]
    numbers: dict[str, Numbers]
    series: dict[str, Series]
    broken: NDArray[np.bool_]
    notices: tuple[str, ...] = ()


def file_columns(group: str) -> dict[str, str]:
    """Return the name in a file of each column; ``group`` is read from the column of that name."""
    return {name: group if name == "group" else name for name in COLUMNS}


@dataclass(slots=True)
class Faults:
    """Collects the faults of one file, each with its row."""

    source: Source
    found: list[str] = field(default_factory=list)

    def add(self, rows: NDArray[np.integer], rule: str, got: Any, hint: str = "") -> None:
        """Add one fault for each row: ``rule. Got X (file line N). hint``; ``got`` maps a row to the value shown."""
        tail = f" {hint}" if hint else ""
        for row in rows[:FAULTS_PER_RULE].tolist():
            self.found.append(f"{rule} Got {got(row)} ({self.source.at(row)}).{tail}")
        if len(rows) > FAULTS_PER_RULE:
            self.found.append(f"{rule} {len(rows) - FAULTS_PER_RULE} more rows of {self.source.file} break this rule.")


def missing_columns(file: str, found: tuple[str, ...], group: str = "group") -> list[str]:
    """Return a fault for each required column that a file does not have; one named for the group is required, too."""
    faults = []
    listed = ", ".join(found) or "none"
    for name in ("item_id", "positions"):
        if name not in found:
            faults.append(f"The column `{name}` is required. {file} has the columns: {listed}.")
    if "place" not in found and "logprobs" not in found:
        faults.append(f"One of the columns `place` and `logprobs` is required. {file} has the columns: {listed}.")
    if group != "group" and group not in found:
        faults.append(f"The column `{group}` was named as the group. {file} has the columns: {listed}.")
    return faults


def unknown_columns(file: str, found: tuple[str, ...], read: Collection[str]) -> tuple[str, ...]:
    """Say which columns of a file are left unread."""
    unknown = [c for c in found if c not in read]
    if not unknown:
        return ()
    return (f"{file}: columns that are no part of a record are left unread: {', '.join(map(str, unknown))}.",)


def list_at(series: Series, offsets: NDArray[np.int64]) -> Callable[[int], str]:
    """Return a function that shows the list of a row, for a fault."""

    def show(row: int) -> str:
        span = slice(int(offsets[row]), int(offsets[row + 1]))
        if not series.given[row]:
            return "null"
        known = np.ones(span.stop - span.start, bool) if series.known is None else series.known[span]
        values = series.values[span].tolist()
        return "[" + ", ".join(str(v) if k else "null" for v, k in zip(values, known, strict=True)) + "]"

    return show
