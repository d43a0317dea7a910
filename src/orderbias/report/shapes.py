"""What operations do with an added letter preference: tables with a small line for each curve; computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from orderbias.report.mitigation import NONE, named, new_table

if TYPE_CHECKING:
    from orderbias.mitigation import Shapes

BARS = "▁▂▃▄▅▆▇█"


def shapes_tables(shapes: Shapes) -> list[Any]:
    """Draw one table a shape: rows are operations, columns strengths, numbers the change in placement range.

    The line beside each row is drawn on one scale for all rows of all shapes.
    """
    known = [v for p in shapes.points if (v := p.changes["placement_range"]) is not None]
    notes = [Text(f"Note: {notice}") for notice in shapes.notices]
    if not known:
        return [Text(), Text("Added preferences: the placement range is not defined for these answers."), *notes]
    scale = (min(*known, 0.0), max(*known, 1e-9))
    parts: list[Any] = []
    for shape in shapes.shapes:
        title = f"Added {shape} preference: change in placement range, percentage points, by strength in logits"
        table = new_table(title, [f"{s:+g}" if s else "0" for s in shapes.strengths])
        table.add_column("")
        for operation in shapes.operations:
            values = [p.changes["placement_range"] for p in shapes.curve(operation, shape)]
            cells = (_points(v) for v in values)
            table.add_row(Text(named(operation)), *cells, sparkline(values, scale))
        parts += [Text(), table]
    ends = f"Lines run from {100 * scale[0]:+.1f} to {100 * scale[1]:+.1f} points. Priors are estimated anew each time."
    return [*parts, Text(ends, style="dim"), *notes]


def _points(value: float | None) -> str:
    if value is None:
        return NONE
    return "0" if abs(value) < 5e-4 else f"{100 * value:+.1f}"


def sparkline(values: Sequence[float | None], scale: tuple[float, float]) -> str:
    """Draw values as bars of eight heights, a blank where one is undefined.

    Examples
    --------
    >>> sparkline([0.0, 0.5, None, 1.0], (0.0, 1.0))
    '▁▅ █'
    """
    low, high = scale
    steps = len(BARS) - 1
    return "".join(" " if v is None else BARS[round((v - low) / (high - low) * steps)] for v in values)
