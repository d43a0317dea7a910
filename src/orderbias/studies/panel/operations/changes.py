"""Table 2 over cells: what every operation changes, and how the operations differ from each other, paired.

Mean log-factor changes are over the cells in which no factor is zero under any operation, so that all rows are of the
same cells and the change in log pooled SD is the sum of the other two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.mitigation.changes import CHANGES, scaled
from orderbias.studies.findings import Column, Entry, Series, Style, Table
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws, Estimates
from orderbias.studies.panel.operated_cells import CORRECTIONS, PRODUCT, OperatedCell
from orderbias.studies.panel.wording import capitalised

Floats = NDArray[np.float64]

LOGS = ("log_flip_rate", "log_positional_skew", "log_pooled_sd")
HARMS = ("placement_range", "balanced_rstd", "accuracy", "stable_wrong")
REVERSALS = "rank_reversals"

#: Bottom of Table 2: the product minus each correction, each composition minus each of its components.
PAIRS = (
    (PRODUCT, "pride"),
    (PRODUCT, "batch-calibration"),
    *((f"{c}>{PRODUCT}", part) for c in ("pride", "batch-calibration") for part in (c, PRODUCT)),
    ("pride>batch-calibration", "pride"),
    ("pride>batch-calibration", "batch-calibration"),
)

_HEADS = {
    "log_flip_rate": "change in log flip rate",
    "log_positional_skew": "change in log skew",
    "log_pooled_sd": "change in log pooled SD",
    "placement_range": "placement range",
    REVERSALS: "rank reversals",
    "balanced_rstd": "balanced RStd",
    "accuracy": "accuracy",
    "stable_wrong": "stable-wrong share",
}
_ORDER = (*LOGS, "placement_range", REVERSALS, "balanced_rstd", "accuracy", "stable_wrong")
#: What is shown as a level, and not as a change, in the top of Table 2.
_LEVELS = ("placement_range", REVERSALS, "balanced_rstd")


@dataclass(frozen=True, slots=True, eq=False)
class Effects:
    """Mean levels over cells, with shared draws.

    Parameters
    ----------
    names
        Operations.
    levels
        By measure: the mean over cells under every operation, logs for the factors.
    n_cells, n_log_cells, n_gold_cells
        Cells; those with every factor above zero under every operation; those with a gold for every item.
    n_left_out
        Held-out items of all cells that some operation leaves without an answer.
    """

    names: tuple[str, ...]
    levels: dict[str, Estimates]
    n_cells: int
    n_log_cells: int
    n_gold_cells: int
    n_left_out: int

    @property
    def level(self) -> float:
        """Confidence level."""
        return self.levels["accuracy"].level

    def difference(self, measure: str, after: str, before: str) -> Estimates:
        """Return the paired difference of two operations, as the only statistic."""
        level = self.levels[measure]
        return level.take([self.names.index(after)]) - level.take([self.names.index(before)])


def log_levels(cells: Sequence[OperatedCell], names: Sequence[str]) -> Floats:
    """Return the logs of the factors, ``(n_cells, 3, n_operations)``; NaN throughout where one is zero or undefined."""
    logs = np.stack(
        [
            [scaled(CHANGES[key], c.measures[CHANGES[key].measure])[[c.at(name) for name in names]] for key in LOGS]
            for c in cells
        ]
    )
    logs[np.isnan(logs).any(axis=(1, 2))] = np.nan
    return logs


def effects(
    cells: Sequence[OperatedCell], names: Sequence[str], draws: Draws, reversals: Estimates | None = None
) -> Effects:
    """Average over cells.

    Parameters
    ----------
    cells
        Cells under at least the operations of ``names``.
    names
        Which operations.
    draws
        Of whole checkpoints.
    reversals
        The share of reversing pairs under every operation, of the same draws.
    """
    logs = log_levels(cells, names)
    levels = {key: draws.means(logs[:, i]) for i, key in enumerate(LOGS)}
    for key in HARMS:
        levels[key] = draws.means(np.stack([c.measures[key][[c.at(name) for name in names]] for c in cells]))
    if reversals is not None:
        levels[REVERSALS] = reversals
    n_gold = sum(bool((c.gold >= 0).all()) for c in cells)
    n_log, n_left_out = int((~np.isnan(logs[:, 0, 0])).sum()), sum(c.n_left_out for c in cells)
    return Effects(tuple(names), levels, len(cells), n_log, n_gold, n_left_out)


def changes_table(found: Effects, name: str, title: str, source: str) -> Table:
    """Return the top of Table 2: log changes, levels, and changes in accuracy and stable-wrong share."""
    shown = [key for key in _ORDER if key in found.levels]
    rows: list[tuple[Entry, ...]] = []
    for o, operation in enumerate(found.names):
        entries: list[Entry] = []
        for key in shown:
            if key in _LEVELS:
                entries.append(found.levels[key].number(o))
            else:
                entries.append(None if operation == "none" else found.difference(key, operation, "none").number())
        rows.append((operation, *entries, found.n_cells, found.n_log_cells))
    columns = [Column("operation", "Operation", "text")]
    for key in shown:
        change = "" if key in _LEVELS or key in LOGS else "change in "
        columns.append(Column(key, capitalised(f"{change}{_HEADS[key]}"), _style(key, key in _LEVELS)))
    return Table(
        name, title, (*columns, *_COUNTS), tuple(rows), CHECKPOINTS, found.level, source, notes=(_note(found),)
    )  # fmt: skip


def differences_table(found: Effects, name: str, title: str, source: str) -> Table:
    """Return the bottom of Table 2: paired differences between operations."""
    shown = [key for key in _ORDER if key in found.levels]
    pairs = [pair for pair in PAIRS if set(pair) <= set(found.names)]
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (after, before, *(found.difference(key, after, before).number() for key in shown), found.n_cells,
         found.n_log_cells)
        for after, before in pairs
    )  # fmt: skip
    columns = (
        Column("operation", "Operation", "text"),
        Column("minus", "Minus", "text"),
        *(Column(key, capitalised(_HEADS[key].removeprefix("change in ")), _style(key, False)) for key in shown),
        *_COUNTS,
    )
    return Table(name, title, columns, rows, CHECKPOINTS, found.level, source, notes=(_note(found),))


def factor_series(found: Effects) -> Series:
    """Return the points of Figure 5: the mean change in log flip rate and log skew of every operation."""
    points = []
    for operation in found.names[1:]:
        point: dict[str, float | int | str | bool | None] = {"operation": operation}
        for key in LOGS:
            number = found.difference(key, operation, "none").number()
            point |= {key: number.value, f"{key}_low": number.low, f"{key}_high": number.high}
        points.append(point)
    return tuple(points)


def corrections_effects(cells: Sequence[OperatedCell], draws: Draws) -> Effects:
    """Average the corrections alone, two-option cells included (two-factors, D.1)."""
    return effects(cells, CORRECTIONS, draws)


_COUNTS = (Column("n_cells", "Cells", "count"), Column("n_log_cells", "Cells with log changes", "count"))


def _style(key: str, level: bool) -> Style:
    if key in LOGS:
        return "log"
    if key == "balanced_rstd":
        return "number"
    return "percent" if level else "points"


def _note(found: Effects) -> str:
    left = found.n_cells - found.n_log_cells
    golds = found.n_cells - found.n_gold_cells
    text = "Means over cells; every operation on the same held-out items of a cell."
    if found.n_left_out:
        text += f" {found.n_left_out:,} held-out items lack an answer under some operation and are left out."
    if left:
        text += f" Log changes leave out {left} cells in which a factor is zero under some operation."
    if golds:
        text += f" {golds} cells have items without a gold and count in the label-free columns only."
    return text
