"""Which items stop or start flipping, and what newly stable-wrong items settle on (two-factors, D.4, Tables 14, 15).

Shares are computed within a cell and averaged over cells; the weighted ones give a cell the weight of its share of
items whose flips the operation resolves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from orderbias.mitigation.settling import Settling, settling
from orderbias.operations import presented_alone, take_items
from orderbias.studies.findings import Column, Entry, Number, Table
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws
from orderbias.studies.panel.operated_cells import PRODUCT, OperatedCell

Floats = NDArray[np.float64]

_SETTLED = (
    ("most_frequent", "settled on the one content chosen most often", "percent"),
    ("tied_most_frequent", "settled on one of several chosen most often", "percent"),
    ("less_frequent", "settled on a content chosen less often than another", "percent"),
    ("top_two_everywhere", "settled content among the top two of every query", "percent"),
    ("wrong_everywhere", "already wrong under every cyclic ordering", "percent"),
    ("gap", "canonical top-two gap of these items", "number"),
    ("gap_settled_right", "the gap of items that settle on the right content", "number"),
    ("gap_stable_wrong", "the gap of items that were stable-wrong before", "number"),
)
#: Rows that describe other items than the newly stable-wrong, which the weights of these do not fit.
_COMPARED = ("gap_settled_right", "gap_stable_wrong")


def item_moves(operated: OperatedCell) -> Floats:
    """Return what each operation does to a cell's items, ``(n_operations, 4)``.

    Shares of all items that stop flipping and that start; the share of those that stop which are then stable-wrong
    (NaN without any, or without golds); of the answers of items that flip before any operation, the share that then
    falls on the place that PriDe's prior favours (NaN without such an item).
    """
    flips, choice, gold = operated.flips, operated.choice, operated.gold
    before = flips[operated.at("none")]
    stop = before & ~flips
    wrong = stop & (choice[..., 0] != gold)
    places = (choice[:, before] + np.arange(choice.shape[2])) % operated.cell.n_options
    nothing = np.full(len(flips), np.nan)
    n_stop = stop.sum(axis=1)
    resolved = nothing.copy()
    if (gold >= 0).all():
        np.divide(wrong.sum(axis=1), n_stop, out=resolved, where=n_stop > 0)
    top = (places == operated.top_place).mean(axis=(1, 2)) if before.any() else nothing
    return np.stack([stop.mean(axis=1), (~before & flips).mean(axis=1), resolved, top], axis=1)


def settled(operated: OperatedCell, operation: str = PRODUCT) -> Settling | None:
    """Describe the newly stable-wrong items of a cell; None where a gold is unknown."""
    if not (operated.gold >= 0).all():
        return None
    evaluated = take_items(operated.cell.predictions, operated.rows)
    none = replace(presented_alone(evaluated), logprobs=None, mass=None)
    after = replace(none, choice=operated.choice[operated.at(operation)])
    flips = operated.flips
    return settling(evaluated, none, after, flips[operated.at("none")], flips[operated.at(operation)])


def moves_table(cells: Sequence[OperatedCell], draws: Draws) -> Table:
    """Return Table 14: items that stop and start flipping under every operation."""
    moves = np.stack([item_moves(c) for c in cells])
    means = [draws.means(moves[:, :, i]).numbers for i in range(4)]
    weighted = draws.means(moves[:, :, 2], weights=moves[:, :, 0]).numbers
    rows: list[tuple[Entry, ...]] = []
    for o, name in enumerate(cells[0].names):
        n_resolving = int((~np.isnan(moves[:, o, 2])).sum())
        first: tuple[Entry, ...] = (
            (None, None, None, None) if name == "none" else (means[0][o], means[1][o], means[2][o], weighted[o])
        )
        rows.append((name, *first, means[3][o], len(cells), None if name == "none" else n_resolving))
    return Table(
        "transitions",
        "Which items stop or start flipping, and where answers that flipped go",
        (
            Column("operation", "Operation", "text"),
            Column("stop", "Stop flipping", "percent"),
            Column("start", "Start flipping", "percent"),
            Column("resolved_wrong", "Resolved flips stable-wrong", "percent"),
            Column("resolved_wrong_weighted", "The same, cells weighted by resolved share", "percent"),
            Column("top_place", "Answers of flipping items on the prior's top place", "percent"),
            Column("n_cells", "Cells", "count"),
            Column("n_cells_resolving", "Cells with a resolved flip", "count"),
        ),
        tuple(rows),
        resampled=CHECKPOINTS,
        level=draws.level,
        source="two-factors, Table 14",
        notes=("Means over cells. Flipping items are those that flip before any operation.",),
    )


def settling_table(cells: Sequence[OperatedCell], draws: Draws) -> Table:
    """Return Table 15: what items that the reversal product makes stable-wrong settle on."""
    found = [settled(c) for c in cells]
    names = [f.name for f in fields(Settling)]
    values = np.array([[_number(None if s is None else getattr(s, name)) for name in names] for s in found])
    stop = np.array([item_moves(c)[c.at(PRODUCT), 0] for c in cells])
    means = draws.means(values)
    weighted = draws.means(values, np.broadcast_to(stop[:, None], values.shape))
    rows: list[tuple[Entry, ...]] = []
    for name, head, style in _SETTLED:
        i = names.index(name)
        n_cells = int((~np.isnan(values[:, i])).sum())
        other: Number | None = None if name in _COMPARED else weighted.number(i)
        is_share = style == "percent"
        gaps = (None, None, means.number(i), other)
        rows.append((head, *((means.number(i), other, None, None) if is_share else gaps), n_cells))
    n_items = int(np.nansum(values[:, names.index("n_items")]))
    return Table(
        "settling",
        "What newly stable-wrong items settle on under the reversal product",
        (
            Column("what", "", "text"),
            Column("share", "Share of items", "percent"),
            Column("share_weighted", "Cells weighted by resolved share", "percent"),
            Column("gap", "Mean gap", "number"),
            Column("gap_weighted", "Cells weighted by resolved share", "number"),
            Column("n_cells", "Cells", "count"),
        ),
        tuple(rows),
        resampled=CHECKPOINTS,
        level=draws.level,
        source="two-factors, Table 15",
        notes=(
            f"{n_items:,} items flip before and keep one wrong content after. Contents are counted over an item's "
            "cyclic and reversed queries; shares are taken within a cell and averaged over cells that have such items. "
            "The items are selected by what became of them, so this does not say what caused it.",
        ),
    )


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
