"""What a study of many cells returns: tables, series for figures and sentences; draws and prints nothing.

A table is data with the head, the unit and the resampling of each column beside it, so that a terminal, JSON, CSV,
LaTeX and a page show the same numbers, and none of them knows what the study was about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

#: How a column is written: a share of 0..1 in per cent; a difference of shares in points; a plain number; a log change;
#: a p-value; a whole number; words.
Style = Literal["percent", "points", "number", "log", "p", "count", "text"]


@dataclass(frozen=True, slots=True)
class Number:
    """A value with its interval; ``value`` is None where undefined, ``low`` and ``high`` where there is no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, value: float, interval: Sequence[float] | None = None) -> Number:
        """Return a number whose NaN is None.

        Examples
        --------
        >>> Number.of(float("nan")), Number.of(0.5, (0.25, 0.75))
        (Number(value=None, low=None, high=None), Number(value=0.5, low=0.25, high=0.75))
        """
        if math.isnan(value):
            return cls(None)
        if interval is None or any(math.isnan(end) for end in interval):
            return cls(float(value))
        return cls(float(value), float(interval[0]), float(interval[1]))

    def as_dict(self) -> dict[str, float | list[float] | None]:
        """Return plain values: ``value`` and ``interval``."""
        ends = None if self.low is None or self.high is None else [self.low, self.high]
        return {"value": self.value, "interval": ends}


#: What a table may hold. A plain float is a number without an interval.
Entry = str | int | float | Number | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key, its head, and how its entries are written."""

    key: str
    head: str
    style: Style = "number"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a study.

    Parameters
    ----------
    name
        Its key within the analysis.
    title
        What it shows, in a line.
    columns, rows
        Every row has one entry a column.
    resampled
        What the intervals resample, for the reader: "checkpoints, each with all its cells", "cells", "items"; empty
        where the table has no interval.
    level
        Confidence level of the intervals.
    source
        The table or figure of the paper that it corresponds to, if any: "two-factors, Table 5".
    notes
        Sentences that must stand below it.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    resampled: str = ""
    level: float = 0.95
    source: str = ""
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; a row is a mapping from the columns' keys."""
        keys = [column.key for column in self.columns]
        rows = [dict(zip(keys, map(_plain, row), strict=True)) for row in self.rows]
        return {
            "name": self.name, "title": self.title, "source": self.source, "resampled": self.resampled or None,
            "level": self.level if self.resampled else None, "columns": keys, "rows": rows, "notes": list(self.notes),
        }  # fmt: skip


def _plain(entry: Entry) -> Any:
    if isinstance(entry, Number):
        return entry.as_dict()
    return None if isinstance(entry, float) and not math.isfinite(entry) else entry


#: The points of a figure: one mapping a point, of plain values.
Series = tuple[Mapping[str, float | int | str | bool | None], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of one analysis.

    Parameters
    ----------
    name
        Its key: what ``--only`` takes.
    title
        The question, in a line.
    tables
        Its tables.
    series
        Points of its figures, by the figure's name.
    sentences
        What the numbers say, in words that hold whatever they are.
    skipped
        Why it could not be done; None where it was. It then has no table.
    parts_skipped
        Why a part of it could not be done, a sentence each.
    """

    name: str
    title: str
    tables: tuple[Table, ...] = ()
    series: Mapping[str, Series] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()
    skipped: str | None = None
    parts_skipped: tuple[str, ...] = ()

    def table(self, name: str) -> Table:
        """Return a table by its key."""
        return next(table for table in self.tables if table.name == name)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "name": self.name, "title": self.title, "skipped": self.skipped, "parts_skipped": list(self.parts_skipped),
            "sentences": list(self.sentences), "tables": [table.as_dict() for table in self.tables],
            "series": {name: [dict(point) for point in points] for name, points in self.series.items()},
        }  # fmt: skip
