"""Findings for a terminal of 80 columns and as JSON; knows tables and series, and no analysis."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table as Grid
from rich.text import Text

from orderbias.report.entries import column_parts, head, is_words, under
from orderbias.report.text import visible
from orderbias.studies.findings import Finding, Table

WIDTH = 80
#: Rows of a long table that a terminal shows.
MOST_ROWS = 24
#: Characters between two columns.
GAP = 2
#: A head takes about so many lines at most.
HEAD_LINES = 3
#: Ways to fit a table, the most readable first: the widest column of words, whether an interval stands below its value
#: instead of beside it, and the gap between columns.
LAYOUTS = ((40, False, GAP), (22, False, GAP), (22, False, 1), (40, True, GAP), (22, True, 1), (22, True, GAP))


def finding_tables(finding: Finding, *, most_rows: int = MOST_ROWS) -> Group:
    """Draw a finding for a terminal of 80 columns: title, sentences, tables, and what is missing.

    Parameters
    ----------
    finding
        Of any analysis.
    most_rows
        Rows of a table beyond which it is cut.
    """
    parts: list[Any] = [_paragraph(finding.title, "bold")]
    if finding.skipped is not None:
        return Group(*parts, _paragraph(f"Skipped: {finding.skipped}"), Text())
    parts += [_paragraph(sentence) for sentence in finding.sentences]
    for table in finding.tables:
        parts += [Text(), _paragraph(table.title, "italic"), *_grids(table, most_rows)]
        parts += [_paragraph(line, "dim") for line in under(table)]
    if finding.parts_skipped:
        parts += [Text(), *(_paragraph(f"Part skipped: {reason}") for reason in finding.parts_skipped)]
    return Group(*parts, Text())


def findings_json(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return findings as plain values, ready for JSON; what is not finite is None.

    ``{"n_analyses": 10, "n_skipped": 3, "n_parts_skipped": 4, "findings": [...]}``
    """
    found = list(findings)
    return {
        "n_analyses": len(found),
        "n_skipped": sum(finding.skipped is not None for finding in found),
        "n_parts_skipped": sum(len(finding.parts_skipped) for finding in found),
        "findings": [plain(finding.as_dict()) for finding in found],
    }


def skipped_line(findings: Iterable[Finding]) -> str:
    """Count what a panel could not support.

    Examples
    --------
    >>> skipped_line([Finding("a", "A?"), Finding("b", "B?", skipped="needs 2 cells; there are 1.")])
    '2 analyses: 1 done, 1 skipped (b).'
    """
    found = list(findings)
    names = [finding.name for finding in found if finding.skipped is not None]
    parts = sum(len(finding.parts_skipped) for finding in found)
    line = f"{len(found)} analyses: {len(found) - len(names)} done, {len(names)} skipped"
    line += f" ({', '.join(names)})" if names else ""
    return f"{line}; of those done, {parts} parts skipped." if parts else f"{line}."


def plain(value: Any) -> Any:
    """Return a value of JSON: NumPy's scalars as Python's, and None for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _paragraph(text: str, style: str = "") -> Text:
    """Return text that ends where the tables do, on a wider terminal too."""
    return Text(textwrap.fill(visible(text), WIDTH, break_on_hyphens=False), style=style)


@dataclass(frozen=True, slots=True)
class _Strip:
    """A column as texts."""

    head: str
    cells: tuple[str, ...]
    words: bool
    width: int


def _grids(table: Table, most_rows: int) -> Iterator[Any]:
    """Yield the parts of a table side by side where it fits, below each other where it does not."""
    if not table.rows:
        return
    for words, below, gap in LAYOUTS:
        strips = [_strip(table, i, most_rows, words, below) for i in range(len(table.columns))]
        if _total(strips, gap) <= WIDTH:
            yield _grid(_widened(strips, gap), gap)
            break
    else:
        for i, part in enumerate(_parts(strips, _n_keys(table))):
            if i:
                yield Text()
            yield _grid(_widened(part))
    if len(table.rows) > most_rows:
        yield Text(f"{len(table.rows) - most_rows:,} more rows: --json or --csv", style="dim")


def _strip(table: Table, column: int, most_rows: int, most_words: int, below: bool) -> _Strip:
    parts = column_parts(table, column)[:most_rows]
    cells = tuple(("\n" if below else " ").join(part for part in pair if part) for pair in parts)
    name = visible(head(table, column))
    longest = max((cell_len(line) for cell in cells for line in cell.split("\n")), default=0)
    if is_words(table.columns[column]):
        width = min(most_words, max(longest, cell_len(name)))
        return _Strip(name, tuple(broken(cell, width) for cell in cells), True, width)
    head_width = max(math.ceil(cell_len(name) / HEAD_LINES), *(cell_len(word) for word in name.split()), 1)
    return _Strip(name, cells, False, max(longest, head_width))


def broken(text: str, width: int) -> str:
    """Break words where they are joined: after a space or ``>``, else after a hyphen; rich breaks what is left.

    Examples
    --------
    >>> print(broken("batch-calibration>reversal-product", 22))
    batch-calibration>
    reversal-product
    """
    lines = [""]
    for word in re.findall(r"[^\s>]+>?\s*|>\s*", text):
        for piece in [word] if cell_len(word.rstrip()) <= width else re.findall(r"[^-]+-?|-", word):
            if lines[-1] and cell_len(lines[-1] + piece.rstrip()) > width:
                lines.append("")
            lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _total(strips: Sequence[_Strip], gap: int = GAP) -> int:
    return sum(strip.width for strip in strips) + gap * (len(strips) - 1)


def _widened(strips: Sequence[_Strip], gap: int = GAP) -> list[_Strip]:
    """Give the room that is left to the columns whose heads take most lines."""
    found = list(strips)
    for lines in range(max((_head_lines(s.head, s.width) for s in found), default=1), 1, -1):
        for i, strip in enumerate(found):
            needed = strip.width
            while _head_lines(strip.head, needed) >= lines:
                needed += 1
            if needed - strip.width <= WIDTH - _total(found, gap):
                found[i] = replace(strip, width=needed)
    return found


def _head_lines(name: str, width: int) -> int:
    """Return how many lines a head takes."""
    lines, used = 1, 0
    for word in name.split():
        needed = cell_len(word) + (1 if used else 0)
        if used and used + needed > width:
            lines, used, needed = lines + 1, 0, cell_len(word)
        used += needed
    return lines


def _n_keys(table: Table) -> int:
    """Return how many of the first columns tell the rows apart: those that begin each part of a table."""
    for n in (1, 2, 3):
        if len({tuple(map(repr, row[:n])) for row in table.rows}) == len(table.rows):
            return n
    return 1


def _parts(strips: Sequence[_Strip], n_keys: int) -> Iterator[list[_Strip]]:
    """Yield runs of columns that fit; the columns that name a row begin each."""
    keys = list(strips[:n_keys])
    part = list(keys)
    for strip in strips[len(keys) :]:
        if len(part) > len(keys) and _total([*part, strip]) > WIDTH:
            yield part
            part = list(keys)
        part.append(strip)
    yield part


def _grid(strips: Sequence[_Strip], gap: int = GAP) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for strip in strips:
        grid.add_column(
            Text(strip.head), justify="left" if strip.words else "right", overflow="fold", width=strip.width
        )
    for row in zip(*(strip.cells for strip in strips), strict=True):
        grid.add_row(*map(Text, row))
    return grid
