"""Tables of a comparison of operations, for a terminal of 100 columns; draws values and computes none."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from orderbias.mitigation.changes import CHANGES
from orderbias.report.tables import cell_title
from orderbias.report.text import visible

if TYPE_CHECKING:
    from orderbias.mitigation import Changed, Mitigation, Outcome, Share, Transitions

NONE = "–"

#: Columns of the table of levels: measure, head, whether it is a share (printed in percent).
LEVELS = (
    ("flip_rate", "flip rate", True),
    ("positional_skew", "skew", False),
    ("pooled_sd", "pooled SD", False),
    ("placement_range", "pl. range", True),
    ("accuracy", "accuracy", True),
    ("stable_correct", "st. right", True),
    ("stable_wrong", "st. wrong", True),
)
#: Columns of the two tables of changes: key, head. Factors change in natural logs, the others in percentage points.
FACTORS = (("log_flip_rate", "log flip rate"), ("log_positional_skew", "log skew"), ("log_pooled_sd", "log pooled SD"))
HARMS = (
    ("placement_range", "placement range"),
    ("accuracy", "accuracy"),
    ("stable_correct", "stable right"),
    ("stable_wrong", "stable wrong"),
)
SETTLING = (
    ("most_frequent", "most\nfrequent", True),
    ("tied_most_frequent", "tied\nfor it", True),
    ("less_frequent", "less\nfrequent", True),
    ("top_two_everywhere", "top two\nalways", True),
    ("wrong_everywhere", "wrong\nbefore", True),
    ("gap", "gap", False),
    ("gap_settled_right", "gap,\nright", False),
    ("gap_stable_wrong", "gap,\nwrong", False),
)


def mitigation_table(m: Mitigation) -> Group:
    """Draw one cell: levels, changes from ``none``, differences between remedies, and the closing sentence."""
    level = float(m.operations[0].signature.as_dict().get("level", 0.95))
    changes = [(o.name, o.changes) for o in m.operations[1:]]
    differences = [(f"{d.operation} minus {d.minus}", d.changes) for d in m.differences]
    title = cell_title(m.model, m.benchmark, m.readout, m.n_options)
    title.stylize("bold")
    parts: list[Any] = [title, Text(_items(m)), _levels(m.operations)]
    parts += _changes("Change from none", changes, level)
    if differences:
        parts += _changes("Paired differences", differences, level)
    if m.transitions is not None:
        parts += transitions_tables(m.transitions)
    if m.shapes is not None:
        from orderbias.report.shapes import shapes_tables

        parts += shapes_tables(m.shapes)
    return Group(*parts, *_closing(m))


def _items(m: Mitigation) -> str:
    return (
        f"{m.n_items:,} held-out items, usable under every operation; {m.n_left_out:,} left out as unusable; "
        f"{m.n_calibration:,} more items calibrate."
    )


def _closing(m: Mitigation) -> list[Any]:
    pareto = "Not known: placement range or accuracy is undefined." if m.pareto is None else ", ".join(m.pareto)
    lines = [Text(m.sentence), Text(f"Not beaten in calls, placement range and accuracy together: {pareto}")]
    lines += [Text(f"Note: {line}") for line in undefined_lines(m)]
    return [*lines, Text(visible(f"signature {m.operations[0].signature}"), style="dim", overflow="fold")]


def undefined_lines(m: Mitigation) -> list[str]:
    """Say once why a number is missing."""
    reasons: dict[str, list[str]] = {}
    for name, why in m.operations[0].undefined.items():
        reasons.setdefault(f": {why}", []).append(name)
    lines = [f"Not defined: {', '.join(names)}{why}." for why, names in reasons.items()]
    lost: dict[str, list[str]] = {}
    for key, head in (*FACTORS, *HARMS):
        ops = [o.name for o in m.operations[1:] if o.changes.values[key] is None]
        if ops and any(o.measures.get(CHANGES[key].measure) is not None for o in m.operations):
            lost.setdefault(", ".join(ops), []).append(head)
    return lines + [
        f"Change in {', '.join(heads)} not defined for {ops}: zero or undefined on one side, and never imputed."
        for ops, heads in lost.items()
    ]


def named(name: str) -> str:
    """Break a composition's name where its steps meet.

    Examples
    --------
    >>> named("pride>reversal-product").splitlines()
    ['pride', '> reversal-product']
    """
    return name.replace(">", "\n> ").replace(" minus ", "\nminus ")


def _levels(outcomes: Sequence[Outcome]) -> Table:
    table = new_table("", ["calls", *(head for _, head, _ in LEVELS)])
    for o in outcomes:
        values = (_level(o.measures.get(key), percent) for key, _, percent in LEVELS)
        table.add_row(Text(named(o.name)), f"{o.calls_per_item:.4g}", *values)
    table.add_section()
    return table


def _level(value: Any, percent: bool) -> str:
    if not isinstance(value, float):
        return NONE
    return f"{100 * value:.1f} %" if percent else f"{value:.4f}"


def _changes(title: str, rows: Iterable[tuple[str, Changed]], level: float) -> list[Any]:
    """Draw changes in two tables: the factors in natural logs, the others in percentage points."""
    rows = list(rows)
    parts: list[Any] = []
    for unit, columns, scale in (("natural log", FACTORS, 1), ("percentage points", HARMS, 100)):
        table = new_table(f"{title}: {unit}, {100 * level:g} % intervals", [head for _, head in columns])
        for name, changes in rows:
            table.add_row(Text(named(name)), *(_change(changes, key, scale) for key, _ in columns))
        parts += [Text(), table]
    return parts


def _change(changes: Changed, key: str, scale: int) -> str:
    value, ends = changes.values.get(key), changes.intervals.get(key)
    if value is None:
        return NONE
    digits = 2 if scale == 1 else 1
    text = f"{scale * value:+.{digits}f}"
    return text if ends is None else f"{text} [{scale * ends[0]:.{digits}f}, {scale * ends[1]:.{digits}f}]"


def transitions_tables(t: Transitions) -> list[Any]:
    """Draw which items stop and start flipping, and what newly stable-wrong items settle on."""
    place = "" if t.top_place is None else f" on {string.ascii_uppercase[t.top_place]}"
    heads = ["stop flipping", "start flipping", "of those that stop: wrong", f"flipping answers{place}"]
    moves = new_table(f"Transitions: {t.n_flipping:,} of {t.n_items:,} items flip before", heads)
    moves.add_row("none", NONE, NONE, NONE, _percent(t.top_place_before))
    for move in t.moves:
        shares = (_share(s) for s in (move.stop, move.start, move.resolved_wrong))
        moves.add_row(Text(named(move.operation)), *shares, _percent(move.top_place))
    return [Text(), moves, *_settling(t), *(Text(f"Note: {notice}") for notice in t.notices)]


def _settling(t: Transitions) -> list[Any]:
    described = [move for move in t.moves if move.settling is not None and move.settling.n_items]
    if not described:
        return []
    table = new_table("What newly stable-wrong items settle on", ["items", *(head for _, head, _ in SETTLING)])
    for move in described:
        values = ((getattr(move.settling, key), percent) for key, _, percent in SETTLING)
        shown = (_percent(v) if percent else _gap(v) for v, percent in values)
        table.add_row(Text(named(move.operation)), f"{move.settling.n_items:,}" if move.settling else NONE, *shown)
    queries = {f"{move.settling.n_queries:.3g}" for move in described if move.settling}
    note = (
        f"Most frequent (alone, or tied for it): over all {' or '.join(sorted(queries))} answered queries of an item. "
        "Wrong before: under every presented ordering. Gap: of the two largest label probabilities, canonical order; "
        "of these items, of those that settle on the right option, of those stable and wrong from the start."
    )
    return [Text(), table, Text(note, style="dim")]


def _share(share: Share | None) -> str:
    if share is None or share.value is None:
        return NONE
    text = f"{100 * share.value:.1f}"
    if share.interval is None:
        return f"{text} %"
    return f"{text} [{100 * share.interval[0]:.1f}, {100 * share.interval[1]:.1f}] %"


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f} %"


def _gap(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def new_table(title: str, heads: Sequence[str]) -> Table:
    """Return an empty table: names on the left, numbers on the right."""
    table = Table(title=title or None, title_justify="left", title_style="", box=None, pad_edge=False, padding=(0, 1))
    table.add_column("", no_wrap=True)
    for head in heads:
        table.add_column(head, justify="right", overflow="fold")
    return table


def priors_lines(priors: Mapping[str, Sequence[float]]) -> list[str]:
    """Show priors, one a line, in percent by place."""
    return [
        f"{name}: " + ", ".join(f"{string.ascii_uppercase[i]} {100 * v:.1f} %" for i, v in enumerate(values))
        for name, values in priors.items()
    ]
