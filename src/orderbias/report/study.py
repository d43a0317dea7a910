"""The label-free study as tables, Markdown and CSV; draws values and computes none."""

from __future__ import annotations

import csv
import io
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
    from orderbias.studies.label_free import ArmRow
    from orderbias.studies.label_free_cell import StudyCell

NONE = "–"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table before it is drawn: a title, names of columns (the first is of words), and rows of texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def sheets(cell: StudyCell) -> Iterator[Sheet]:
    """Yield the tables of a cell, in order; the heads of their intervals name the level."""
    level = f"{100 * float(cell.signature.as_dict().get('level', 0.95)):g} %"
    for sheet in _sheets(cell):
        yield replace(sheet, columns=tuple(column.replace(_LEVEL, level) for column in sheet.columns))


#: Stands for the level in heads of columns.
_LEVEL = "LEVEL"


def _sheets(cell: StudyCell) -> Iterator[Sheet]:
    table = cell.table
    n_items = table.rows[0].n_items
    yield _accuracies(f"Accuracy over all {n_items:,} items, end to end", table.rows)
    yield _sensitivity("Sensitivity to the order", table.rows)
    together = _together(table.rows)
    yield together if table.n_common else replace(together, note="No item was answered by every strategy.")
    if table.common and table.n_common < n_items:
        yield _accuracies(f"Accuracy over the {table.n_common:,} items that all strategies answered", table.common)
        yield _sensitivity(f"Sensitivity over the {table.n_common:,} items that all strategies answered", table.common)
    if cell.grid is not None:
        yield _grid(cell)
    if cell.strata:
        columns = tuple(f"{s.item_type} ({s.n_items:,})" for s in cell.strata)
        rows = tuple((row.name, *(percent(s.accuracy[row.name]) for s in cell.strata)) for row in table.rows)
        yield Sheet("Accuracy by type of item", ("strategy", *columns), rows)
    if cell.ties is not None:
        t = cell.ties
        rows = ((f"{t.n_tied:,} of {t.n_items:,}", points(t.accuracy), f"{points(t.low)} to {points(t.high)}"),)
        yield Sheet("Independent scores: ties broken by other seeds",
                    ("items with a tie", "accuracy", f"under {len(t.accuracies)} other seeds"), rows)  # fmt: skip
    if cell.fallbacks:
        rows = tuple(
            (f.name, f"{f.n_standalone:,}", points(f.accuracy), points(f.accuracy_without)) for f in cell.fallbacks
        )
        yield Sheet("Answers that merely stand in a reply",
                    ("strategy", "such answers", "accuracy", "without them"), rows)  # fmt: skip
    yield _runs(cell)


def _accuracies(title: str, rows: Sequence[ArmRow]) -> Sheet:
    columns = ("strategy", "answered", f"accuracy [{_LEVEL}]", "broken", "fixed", "p", "p (Holm)")
    shown = []
    for row in rows:
        m = row.mcnemar
        test = (NONE,) * 4 if m is None else (f"{m.broken:,}", f"{m.fixed:,}", p_value(m.p_value), p_value(m.p_holm))
        shown.append((row.name, f"{row.n_answered:,}", percent(row.accuracy), *test))
    note = (
        "Accuracy in percent. Broken: right with direct alone. Fixed: right with this strategy alone. McNemar's test, "
        "exact."
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
    note = "Usable: answered under every rotation. Flip rate in percent; RStd in points, canonical order."
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


def _together(rows: Sequence[ArmRow]) -> Sheet:
    columns = ("strategy", "flip rate, points", "accuracy, points", "together or apart")
    shown = tuple(
        (row.name, signed(row.together.flip_rate), signed(row.together.accuracy), row.together.text)
        for row in rows
        if row.together is not None
    )
    return Sheet("Change from direct: sensitivity against accuracy", columns, shown)


def _grid(cell: StudyCell) -> Sheet:
    assert cell.grid is not None
    accuracy = cell.grid.accuracy
    rows = tuple(
        (f"options {one}", *(points(accuracy[one, two]) for two in ("model", "match"))) for one in ("hidden", "visible")
    )
    return Sheet("The grid: accuracy by stage", ("stage one", "model in stage two", "match in stage two"), rows,
                 cell.grid.text)  # fmt: skip


def _runs(cell: StudyCell) -> Sheet:
    rows = tuple(
        (run.name, f"{run.n_queries:,}", f"{run.n_left:,}", ", ".join(f"{way} {n:,}" for way, n in run.found.items()))
        for run in cell.runs
    )
    note = " ".join(f"Skipped: {name}. {reason}" for name, reason in cell.skipped.items())
    return Sheet("Runs, and how their answers were found", ("run", "queries", "left", "found"), rows, note)


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
    parts: list[Any] = [title, Text()]
    for sheet in sheets(cell):
        table = Table(box=None, pad_edge=False, padding=(0, 1))
        for i, column in enumerate(sheet.columns):
            words = i == 0 or column in ("found", "together or apart")
            table.add_column(column, justify="left" if words else "right", overflow="fold")
        for row in sheet.rows:
            table.add_row(*(Text(short(text) if i == 0 else visible(text)) for i, text in enumerate(row)))
        parts += [Text(sheet.title, style="bold"), table]
        parts += [Text(visible(sheet.note), style="dim")] if sheet.note else []
        parts.append(Text())
    return Group(*parts, signature_line(cell.signature))


def study_markdown(cells: Sequence[StudyCell]) -> str:
    """Return all cells as Markdown."""
    lines = ["# Label-free strategies", ""]
    for cell in cells:
        lines += [f"## {_safe(f'{cell.model} · {cell.benchmark} · K = {cell.n_options}')}", ""]
        for sheet in sheets(cell):
            lines += [f"### {_safe(sheet.title)}", "", _line(sheet.columns)]
            lines += [_line(["---"] + ["---:"] * (len(sheet.columns) - 1))]
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


#: Columns of the CSV: one row a model, benchmark, number of options, set of items and strategy.
CSV_COLUMNS = (
    "model", "benchmark", "n_options", "items", "strategy", "n_items", "n_answered", "n_usable", "accuracy",
    "accuracy_low", "accuracy_high", "broken", "fixed", "p_value", "p_holm", "flip_rate", "flip_rate_low",
    "flip_rate_high", "positional_skew", "pooled_sd", "rstd", "rstd_low", "rstd_high", "flip_rate_change",
    "accuracy_change", "together", "repeat_disagreement", "reorder_disagreement", "excess", "excess_low", "excess_high",
)  # fmt: skip


def study_csv(cells: Sequence[StudyCell]) -> str:
    """Return the arms of all cells as CSV; what is undefined is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for cell in cells:
        for which, rows in (("all", cell.table.rows), ("common", cell.table.common)):
            for row in rows:
                writer.writerow([cell.model, cell.benchmark, cell.n_options, which, *_csv_row(row)])
    return out.getvalue()


def _csv_row(row: ArmRow) -> list[object]:
    m, t, noise = row.mcnemar, row.together, row.noise
    return [
        row.name, row.n_items, row.n_answered, row.n_usable, *_three(row.accuracy),
        *((None,) * 4 if m is None else (m.broken, m.fixed, m.p_value, m.p_holm)),
        *_three(row.flip_rate), row.positional_skew, row.pooled_sd, *_three(row.rstd),
        *((None,) * 3 if t is None else (t.flip_rate.value, t.accuracy.value, t.text)),
        *((None,) * 5 if noise is None else (noise.repeat.value, noise.reorder.value, *_three(noise.excess))),
    ]  # fmt: skip


def _three(e: Estimate) -> tuple[float | None, ...]:
    return (e.value, *(e.interval or (None, None)))
