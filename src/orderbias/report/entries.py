"""How the entries of a study's tables are written, the same in every output; knows no analysis and no markup."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from orderbias.inference.sign import p_text
from orderbias.report.text import visible
from orderbias.studies.findings import Column, Entry, Finding, Number, Style, Table

#: What stands for a number that is undefined.
NONE = "–"
DIGITS = 3


def entry_parts(entry: Entry, style: Style) -> tuple[str, str]:
    """Return a value and its interval as texts; the interval is empty where there is none.

    Examples
    --------
    >>> entry_parts(Number(0.683, 0.653, 0.712), "percent"), entry_parts(0.683, "percent")
    (('68.3', '[65.3, 71.2]'), ('68.3 %', ''))
    >>> entry_parts(Number(-0.0123, -0.5, 0.25), "number"), entry_parts(0.01234, "number"), entry_parts(None, "p")
    (('-0.012', '[-0.500, 0.250]'), ('0.0123', ''), ('–', ''))
    >>> entry_parts(0.0214, "points"), entry_parts(-0.5, "log"), entry_parts(1200, "count")
    (('+2.1', ''), ('-0.500', ''), ('1,200', ''))
    """
    number = entry if isinstance(entry, Number) else None
    value = entry.value if isinstance(entry, Number) else entry
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NONE, ""
    if isinstance(value, str):
        return visible(value).replace("\n", " ").replace("\t", " "), ""
    if isinstance(value, bool):
        return ("yes" if value else "no"), ""
    if number is None or number.low is None or number.high is None:
        return _written((value,), style)[0] + (" %" if style == "percent" else ""), ""
    text, low, high = _written((value, number.low, number.high), style)
    return text, f"[{low}, {high}]"


def _written(values: Iterable[float], style: Style) -> list[str]:
    """Write numbers that stand together, with as many decimals as the largest needs."""
    values = [float(value) for value in values]
    if style == "percent":
        return [_unsigned_zero(f"{100 * value:,.1f}") for value in values]
    if style == "points":
        return [_unsigned_zero(f"{100 * value:+,.1f}") for value in values]
    if style == "log":
        return [_unsigned_zero(f"{value:+.3f}") for value in values]
    if style == "p":
        return [p_text(value) for value in values]
    if all(value == int(value) for value in values if math.isfinite(value)) and style in ("count", "text"):
        return [f"{value:,.0f}" for value in values]
    return [_unsigned_zero(text) for text in _significant(values)]


def _significant(values: list[float]) -> list[str]:
    """Write numbers with three significant digits of the largest, in powers of ten where it is very small or large."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest == 0.0:
        return [f"{value:.0f}" for value in values]
    digits_before = math.floor(math.log10(float(f"{largest:.{DIGITS - 1}e}"))) + 1  # after rounding: 0.9996 is 1.00
    if digits_before < -DIGITS or digits_before > 2 * DIGITS:
        return [f"{value:.{DIGITS - 1}e}" for value in values]
    return [f"{value:,.{max(DIGITS - digits_before, 0)}f}" for value in values]


def _unsigned_zero(text: str) -> str:
    """Take the sign from a number that is written as zero."""
    return text.lstrip("+-") if not text.strip("+-0.,") else text


def head(table: Table, column: int) -> str:
    """Return the head of a column with its unit, which entries with intervals do not carry.

    Examples
    --------
    >>> columns = (Column("fl", "flip rate", "percent"), Column("d", "change", "points"))
    >>> table = Table("t", "T", columns, ((Number(0.5, 0.4, 0.6), 0.1),))
    >>> head(table, 0), head(table, 1)
    ('flip rate (%)', 'change (points)')
    """
    c = table.columns[column]
    unit = "%" if c.style == "percent" and _ranged(table, column) else "points" if c.style == "points" else ""
    return c.head if not unit or unit in c.head else f"{c.head} ({unit})"


def column_parts(table: Table, column: int) -> list[tuple[str, str]]:
    """Return a column's values and intervals as texts; where the head has the per cent sign, no entry repeats it."""
    style = table.columns[column].style
    parts = [entry_parts(row[column], style) for row in table.rows]
    if style != "percent" or not _ranged(table, column):
        return parts
    return [(value.removesuffix(" %"), interval) for value, interval in parts]


def _ranged(table: Table, column: int) -> bool:
    entries = (row[column] for row in table.rows)
    return any(isinstance(entry, Number) and entry.low is not None for entry in entries)


def _intervals(table: Table) -> str:
    """Say what the intervals resample, and where there are none that there are none."""
    if not table.resampled:
        return ""
    if not any(_ranged(table, i) for i in range(len(table.columns))):
        return f"No interval could be drawn by resampling {table.resampled}."
    return f"{100 * table.level:g} % intervals, resampling {table.resampled}."


def under(table: Table) -> list[str]:
    """Return what must stand below a table: its intervals, where it is from, its notes."""
    if not table.rows:
        return ["There are none.", *([f"See {table.source}."] if table.source else [])]
    first = _intervals(table)
    source = f"See {table.source}." if table.source else ""
    line = " ".join(part for part in (first, source) if part)
    return [*([line] if line else []), *table.notes]


def slugs(finding: Finding) -> list[str]:
    """Return a name for each table of a finding that files and links can have, whatever benchmark is in it.

    Examples
    --------
    >>> slugs(Finding("ranks", "R", tuple(Table(name, "T", (), ()) for name in ("of a/b", "of_c", "of a b"))))
    ['ranks-of-a-b', 'ranks-of_c', 'ranks-of-a-b-2']
    """
    found: list[str] = []
    for table in finding.tables:
        plain = name = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{finding.name}-{table.name}")
        n = 1
        while name.lower() in map(str.lower, found):  # some file systems take capitals for small letters
            n += 1
            name = f"{plain}-{n}"
        found.append(name)
    return found


def is_words(column: Column) -> bool:
    """Whether a column is set to the left."""
    return column.style == "text"
