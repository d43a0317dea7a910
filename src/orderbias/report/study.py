"""The label-free study as tables and Markdown; draws values and computes none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from orderbias.inference.sign import p_text
from orderbias.noise import WITHHELD
from orderbias.report.tables import cell_title, signature_line
from orderbias.report.text import short, visible

if TYPE_CHECKING:
    from orderbias.inference.means import Estimate
    from orderbias.noise import Noise
    from orderbias.studies.grid import Grid
    from orderbias.studies.label_free import ArmRow
    from orderbias.studies.label_free_cell import RunState, StudyCell, Tables

NONE = "–"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table before it is drawn: a title, names of columns (the first is of words), and rows of texts.

    Without columns it is its note alone.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def sheets(cell: StudyCell) -> Iterator[Sheet]:
    """Yield the tables of a cell, in order; the heads of their intervals name the level."""
    level = f"{100 * float(cell.signature.as_dict().get('level', 0.95)):g} %"
    for sheet in _sheets(cell):
        columns = tuple(column.replace(_LEVEL, level) for column in sheet.columns)
        yield replace(sheet, columns=columns, note=sheet.note.replace(_LEVEL, level))


#: Columns of words, beside the first of each table.
_WORDS = ("for", "found", "together or apart")
#: Stands for the level in heads of columns and notes.
_LEVEL = "LEVEL"


def _sheets(cell: StudyCell) -> Iterator[Sheet]:
    every, common = cell.every, cell.common
    yield from _of_items(every, f"all {every.n_items:,} items")
    if common is None:
        yield Sheet("Items usable under every strategy", (), (), "There are none: all tables are of all items alone.")
    elif common.n_items < every.n_items:
        some = "the one item" if common.n_items == 1 else f"the {common.n_items:,} items"
        yield from _of_items(common, f"{some} usable under every strategy")
    yield _runs(cell)


def _of_items(tables: Tables, items: str) -> Iterator[Sheet]:
    """Yield the tables of one set of items, which is named in the title of each."""
    yield _accuracies(f"Accuracy over {items}, end to end", tables.rows)
    yield _sensitivity(f"Sensitivity to the order, {items}", tables.rows)
    if len(tables.rows) > 1:
        yield _together(f"Change from direct: sensitivity against accuracy, {items}", tables.rows)
    if tables.grid is not None:
        yield _grid(f"The grid: accuracy by stage, {items}", tables.grid)
    if tables.strata:
        columns = tuple(f"{s.item_type} ({s.n_items:,})" for s in tables.strata)
        rows = tuple((row.name, *(percent(s.accuracy[row.name]) for s in tables.strata)) for row in tables.rows)
        yield Sheet(f"Accuracy by type of item, {items}", ("strategy", *columns), rows)
    if any(t.n_tied for t in tables.ties):
        rows = tuple(
            (t.name, f"{t.n_tied:,}", points(t.accuracy), f"{points(t.low)} to {points(t.high)}")
            for t in tables.ties
            if t.n_tied
        )
        columns = ("strategy", "items with a tie", "accuracy", f"under {len(tables.ties[0].accuracies)} other seeds")
        yield Sheet(f"Ties broken by other seeds, {items}", columns, rows)
    if tables.fallbacks:
        rows = tuple(
            (f.name, f"{f.n_standalone:,}", points(f.accuracy), points(f.accuracy_without)) for f in tables.fallbacks
        )
        columns = ("strategy", "such answers", "accuracy", "without them")
        yield Sheet(f"Answers from a letter that merely stands in a reply, {items}", columns, rows)


def _accuracies(title: str, rows: Sequence[ArmRow]) -> Sheet:
    columns = ("strategy", "answered", f"accuracy [{_LEVEL}]", "broken", "fixed", "p", "p (Holm)")
    shown = []
    for row in rows:
        m = row.mcnemar
        test = (NONE,) * 4 if m is None else (f"{m.broken:,}", f"{m.fixed:,}", p_value(m.p_value), p_value(m.p_holm))
        shown.append((row.name, f"{row.n_answered:,}", percent(row.accuracy), *test))
    note = (
        "Accuracy in percent, and answered, in canonical order. Broken: right with direct alone. Fixed: right with "
        "this strategy alone. McNemar's test, exact."
    )
    return Sheet(title, columns, tuple(shown), note)


def _sensitivity(title: str, rows: Sequence[ArmRow]) -> Sheet:
    """Draw flip rates; beside those of answers that may be drawn, how often asking again changes an answer."""
    again = any(row.noise is not None for row in rows)
    withheld = any(row.n_usable and row.flip_rate.value is None for row in rows)
    pooled = (*_AGAIN, "skew", "pooled") if again else ("skew", "pooled SD")
    columns = ("strategy", "usable", f"flip rate [{_LEVEL}]", *pooled, f"RStd [{_LEVEL}]")
    shown = tuple(
        (row.name, f"{row.n_usable:,}", percent(row.flip_rate), *(_noise(row.noise) if again else ()),
         number(row.positional_skew), number(row.pooled_sd), percent(row.rstd, scale=1))
        for row in rows
    )  # fmt: skip
    note = (
        "Usable: answered under every rotation. Flip rate in percent; RStd in points, canonical order, of the items "
        "answered there."
    )
    if any(e.interval is not None and e.value is not None and not e.interval[0] <= e.value <= e.interval[1] for e in
           (row.rstd for row in rows)):  # fmt: skip
        note += " A spread is larger in a resample than in all items, so that its interval may lie above it."
    if again:
        note += (
            " Again: how often two calls on one ordering disagree, in percent. Order: by how many points more two "
            "calls on different ones do, which is the order effect; the flip rate has both in it."
        )
    return Sheet(title, columns, shown, f"{note} Without a flip rate: {WITHHELD}." if withheld else note)


_AGAIN = ("again", f"order [{_LEVEL}]")


def _noise(noise: Noise | None) -> tuple[str, str]:
    return (NONE, NONE) if noise is None else (points(noise.repeat.value), signed(noise.excess))


def _together(title: str, rows: Sequence[ArmRow]) -> Sheet:
    columns = ("strategy", "items", "sensitivity, points", "accuracy, points", "together or apart")
    shown = tuple(
        (row.name, f"{row.together.accuracy.n:,}", signed(row.together.sensitivity), signed(row.together.accuracy),
         row.together.text)
        for row in rows
        if row.together is not None
    )  # fmt: skip
    note = (
        "On the items usable under both: answers that only one of them has are left out. Each interval is one at "
        f"{_LEVEL}, not adjusted for the number of strategies as p (Holm) is."
    )
    if any(row.together is not None and row.together.measure == "excess" for row in rows):
        note += " Sensitivity is the order effect (order, above): flips hold what asking again changes, too."
    else:
        note += " Sensitivity is the flip rate."
    return Sheet(title, columns, shown, note)


def _grid(title: str, grid: Grid) -> Sheet:
    accuracy = grid.accuracy
    rows = tuple(
        (f"options {one}", *(points(accuracy[one, two]) for two in ("model", "match"))) for one in ("hidden", "visible")
    )
    return Sheet(title, ("stage one", "model in stage two", "match in stage two"), rows, grid.text)


def _runs(cell: StudyCell) -> Sheet:
    rows = tuple(
        (run.name, ", ".join(run.strategies), *((f"{run.n_queries:,}", f"{run.n_left:,}", _found(run)) if run.n_queries
         else (NONE, NONE, "not asked yet")))
        for run in cell.runs
    )  # fmt: skip
    note = " ".join(f"Skipped: {name}. {reason}" for name, reason in cell.skipped.items())
    return Sheet("Runs, and how their answers were found", ("run", "for", "queries", "left", "found"), rows, note)


def _found(run: RunState) -> str:
    ways = ", ".join(f"{'probabilities' if way == 'ok' else way} {n:,}" for way, n in run.found.items())
    return f"{ways}; {run.n_unread:,} of {run.n_scores:,} scores not read, each counts 0" if run.n_scores else ways


def points(value: float | None) -> str:
    """Return a share in percent, without its sign."""
    return NONE if value is None else f"{100 * value:.1f}"


def number(value: float | None) -> str:
    """Return a number of three decimals."""
    return NONE if value is None else f"{value:.3f}"


def percent(e: Estimate, scale: float = 100) -> str:
    """Return an estimate with its interval, times ``scale``."""
    if e.value is None:
        return NONE
    ends = "" if e.interval is None else f" [{scale * e.interval[0]:.1f}-{scale * e.interval[1]:.1f}]"
    return f"{scale * e.value:.1f}{ends}"


def signed(e: Estimate) -> str:
    """Return a difference in points with its interval."""
    if e.value is None:
        return NONE
    ends = "" if e.interval is None else f" [{100 * e.interval[0]:+.1f}, {100 * e.interval[1]:+.1f}]"
    return f"{100 * e.value:+.1f}{ends}"


def p_value(p: float | None) -> str:
    """Return a p-value."""
    return NONE if p is None else p_text(p)


def study_tables(cell: StudyCell) -> Group:
    """Draw a cell for a terminal of 100 columns."""
    title = cell_title(cell.model, cell.benchmark, "label-free", cell.n_options)
    title.stylize("bold")
    parts: list[Any] = [title, *(Text(visible(notice), style="yellow") for notice in cell.notices), Text()]
    for sheet in sheets(cell):
        table = Table(box=None, pad_edge=False, padding=(0, 1))
        for i, column in enumerate(sheet.columns):
            words = i == 0 or column in _WORDS
            table.add_column(column, justify="left" if words else "right", overflow="fold")
        for row in sheet.rows:
            table.add_row(*(Text(short(text) if i == 0 else visible(text)) for i, text in enumerate(row)))
        parts += [Text(sheet.title, style="bold"), *([table] if sheet.columns else [])]
        parts += [Text(visible(sheet.note), style="dim")] if sheet.note else []
        parts.append(Text())
    return Group(*parts, signature_line(cell.signature))


def study_markdown(cells: Sequence[StudyCell]) -> str:
    """Return all cells as Markdown."""
    lines = ["# Label-free strategies", ""]
    for cell in cells:
        lines += [f"## {_safe(f'{cell.model} · {cell.benchmark} · K = {cell.n_options}')}", ""]
        lines += [f"{_safe(notice)}\n" for notice in cell.notices]
        for sheet in sheets(cell):
            lines += [f"### {_safe(sheet.title)}", ""]
            if sheet.columns:
                sides = ["---" if not i or name in _WORDS else "---:" for i, name in enumerate(sheet.columns)]
                lines += [_line(sheet.columns), _line(sides)]
            lines += [_line(row) for row in sheet.rows]
            lines += ["", *([_safe(sheet.note), ""] if sheet.note else [])]
        lines += [_code(visible(str(cell.signature)).replace("\n", " ")), ""]
    return "\n".join(lines)


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(text if set(text) <= set('-:') else _safe(text) for text in texts)} |"


def _safe(text: str) -> str:
    """Keep a name from being markup."""
    shown = visible(text).replace("\n", " ").replace("\\", "\\\\").replace("|", "\\|")
    shown = shown.replace("`", "\\`").replace("](", "]\\(")
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: str) -> str:
    """Put a text into a code span that none of its backticks ends."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {text} {fence}" if longest else f"`{text}`"
