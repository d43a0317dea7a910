"""Tables of judge reports for a terminal of 100 columns; they draw values and compute none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from orderbias.inference.sign import p_text
from orderbias.report.judge_checks import check_lines
from orderbias.report.tables import counted, print_table, signature_line
from orderbias.report.text import short, visible

if TYPE_CHECKING:
    from orderbias.inference.means import Estimate
    from orderbias.judge.judging import JudgeReport

#: With more judges than this, only the table that compares them is printed.
FEW = 3
#: So many rows of win rates are printed; all are in the JSON.
MOST_MODELS = 12

_SHOWN = ("first", "second", "tie")


def print_reports(reports: Sequence[JudgeReport]) -> None:
    """Print one judge whole; several side by side first, and each whole where they are few."""
    if len(reports) > 1:
        print_table(comparison_table(reports))
    if len(reports) <= FEW:
        for report in reports:
            print_table(report_group(report, alone=len(reports) == 1))
    else:
        print_table(Text(f"{len(reports)} judges; --judge NAME shows one whole, --json all of them."))


def comparison_table(reports: Sequence[JudgeReport]) -> Table:
    """Draw several judges side by side, one a row."""
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in ("judge", "pairs", "both", "consistent", "contradict", "to first", "p", "p (Holm)", "conclusion"):
        table.add_column(name, justify="left" if name in ("judge", "conclusion") else "right", overflow="fold")
    for r in reports:
        table.add_row(
            Text(short(r.judge)), f"{r.n_pairs:,}", f"{r.n_complete:,}", percent(r.consistency.value),
            percent(r.contradiction_rate.value), percent(r.lean.value), _p(r.conclusion.lean_p_value),
            _p(r.lean_p_holm), CONCLUSIONS[r.conclusion.kind],
        )  # fmt: skip
    return table


CONCLUSIONS = {
    "none": "no position effect",
    "noise": "noise, no lean",
    "first": "leans to first",
    "second": "leans to second",
    "undecided": "not enough data",
}


def report_group(report: JudgeReport, *, alone: bool = True) -> Group:
    """Draw one judge: the sentence, its figures, the nine outcomes, who wins, and what else was checked."""
    title = Text(short(report.judge or "judge"), style="bold")
    parts: list[Any] = [Text()] if not alone else []
    parts += [title, Text(_counts(report)), Text(), Text(report.conclusion.text)]
    if report.n_complete:
        parts += [Text(), _figures(report), Text(), _outcomes(report), Text(), _wins(report)]
    for name, check in report.checks.items():
        parts += check_lines(name, check)
    if report.not_checked:
        parts += [Text(), Text("Not checked:", style="bold")]
        parts += [Text(visible(f"  {name.replace('_', ' ')}: {why}")) for name, why in report.not_checked.items()]
    return Group(*parts, Text(), signature_line(report.signature))


def _counts(r: JudgeReport) -> str:
    told = f"{counted(r.n_pairs, 'pair')}, {r.n_complete:,} of them with a verdict in both orders"
    if r.n_identical:
        told += f"; {counted(r.n_identical, 'pair')} of identical answers apart"
    if r.n_unreadable:
        told += f"; {counted(r.n_unreadable, 'unreadable verdict')}"
    return told + "."


def _figures(r: JudgeReport) -> Table:
    level = r.signature.as_dict().get("level", "0.95")
    table = figures_table(level)
    add_figure(table, "consistent pairs", r.consistency)
    add_figure(table, "contradictions (one place twice)", r.contradiction_rate)
    lean = _p(r.conclusion.lean_p_value)
    holm = "" if r.lean_p_holm in (None, r.conclusion.lean_p_value) else f"  (Holm {_p(r.lean_p_holm)})"
    add_figure(table, "  of which the first place", r.lean, f"p = {lean}{holm}".replace("= <", "<"))
    to_first, to_second = r.counts.half_shifts
    if to_first + to_second:
        p = f"p = {_p(r.conclusion.half_shift_p_value)}".replace("= <", "<")
        table.add_row("half shifts (a tie in one order)", f"{to_first + to_second:,}", "",
                      f"{to_first:,} to first, {to_second:,} second, {p}")  # fmt: skip
    add_figure(table, "decisive calls for the first place", r.first_position_rate)
    return table


def figures_table(level: str) -> Table:
    """Return a table for figures with their intervals."""
    table = Table(box=None, pad_edge=False, padding=(0, 2))
    for i, name in enumerate(("", "value", f"{100 * float(level):g} % interval", "")):
        table.add_column(name, justify="left" if i in (0, 3) else "right")
    return table


def add_figure(table: Table, name: str, estimate: Estimate, note: str = "") -> None:
    """Add a share with its interval."""
    table.add_row(name, percent(estimate.value), ends(estimate), note if estimate.value is not None else "")


def percent(value: float | None) -> str:
    """Write a share."""
    return "–" if value is None else f"{100 * value:.1f} %"


def ends(estimate: Estimate) -> str:
    """Write an interval of shares."""
    if estimate.interval is None:
        return "–"
    low, high = estimate.interval
    return f"[{100 * low:.1f}, {100 * high:.1f} %]"


def _p(p_value: float | None) -> str:
    return "–" if p_value is None else p_text(p_value)


def _outcomes(r: JudgeReport) -> Table:
    """Draw the nine outcomes, each with what it means."""
    table = Table(box=None, pad_edge=False, padding=(0, 2), title="Verdict with A first, then with B first",
                  title_justify="left", title_style="bold")  # fmt: skip
    table.add_column("")
    for name in _SHOWN:
        table.add_column(f"then {name}", justify="right", no_wrap=True)
    for v, row in enumerate(r.counts.table.tolist()):
        table.add_row(_SHOWN[v], *(f"{n:,} {_MEANINGS[v][w]}" for w, n in enumerate(row)))
    return table


_MEANINGS = (
    ("contradict", "A", "½ first"),
    ("B", "contradict", "½ second"),
    ("½ first", "½ second", "tie"),
)


def _wins(r: JudgeReport) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in ("win rate (tie ½)", "wins", "ties", "losses", "as called", "", "orders agree", ""):
        table.add_column(name, justify="left" if name.startswith("win rate") else "right", overflow="fold")
    for rate in r.win_rates[:MOST_MODELS]:
        table.add_row(
            Text(short(rate.model)), f"{rate.wins:,}", f"{rate.ties:,}", f"{rate.losses:,}",
            percent(rate.before.value), ends(rate.before), percent(rate.after.value), ends(rate.after),
        )  # fmt: skip
    left = len(r.win_rates) - MOST_MODELS
    if left > 0:
        table.add_row(f"and {left:,} more (--json)")
    return table
