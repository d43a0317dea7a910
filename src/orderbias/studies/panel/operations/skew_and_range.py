"""How the change in skew goes with what mirroring keeps, and with the placement range (two-factors, B.4 and D.2).

The skew says where changing answers land, the placement range how far accuracy moves with the right option's place.
The same skew can carry much or no placement harm, so both are reported; here is how far apart they come.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.intervals import SAME
from orderbias.mitigation.changes import CHANGES, scaled
from orderbias.studies.findings import Column, Entry, Number, Series, Table
from orderbias.studies.panel.answer_measures import centred_cosine
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws, complete
from orderbias.studies.panel.operated_cells import PRODUCT, OperatedCell

Floats = NDArray[np.float64]

#: Contrasts of B.4: (operation, what it is compared with).
CONTRASTS = (("pride", "none"), (f"pride>{PRODUCT}", PRODUCT))

_COLUMNS = (
    Column("what", "", "text"),
    Column("value", "Value", "number"),
    Column("by_cells", "The same, cells resampled one by one", "number"),
    Column("n_cells", "Cells", "count"),
)


def log_skew_change(cells: Sequence[OperatedCell], operation: str) -> Floats:
    """Return the change in log skew from no operation, ``(n_cells,)``; NaN where a skew is zero or undefined."""
    change = CHANGES["log_positional_skew"]
    logs = np.stack([scaled(change, c.measures["positional_skew"]) for c in cells])
    return np.asarray(logs[:, cells[0].at(operation)] - logs[:, cells[0].at("none")])


def surviving_table(cells: Sequence[OperatedCell], draws: Draws, by_cell: Draws) -> Table:
    """Return how the share of a letter preference that mirroring keeps goes with the product's change in log skew."""
    share = np.array([c.surviving_share for c in cells])
    change = log_skew_change(cells, PRODUCT)
    four = np.array([c.cell.n_options == 4 for c in cells])
    monotone = np.array([_monotone(c.preference) for c in cells])
    known = ~np.isnan(share)
    rows: list[tuple[Entry, ...]] = [
        (
            "Spearman correlation of the surviving share with the reversal product's change in log skew",
            draws.spearman(share, change).number(),
            by_cell.spearman(share, change).number(),
            complete(share, change),
        )
    ]
    if (four & known).any():
        kept = np.where(four & known, share, np.nan)
        falling = np.where(four & known, monotone, np.nan)
        means = draws.means(np.stack([kept, falling], axis=1)).numbers
        n_four = int((four & known).sum())
        rows.append(("mean surviving share, four-option cells", means[0], None, n_four))
        rows.append(("share of four-option cells whose preference is monotone", means[1], None, n_four))
    return Table(
        "surviving-share",
        "What of a letter preference survives mirroring, and the product's change in skew",
        _COLUMNS,
        tuple(rows),
        resampled=CHECKPOINTS,
        level=draws.level,
        source="two-factors, D.2",
        notes=(
            "The surviving share is std(b_sym) / std(b), with b the mean letter logits of the calibration items; the "
            "change in log skew is on the others.",
        ),
    )


def placement_table(cells: Sequence[OperatedCell], draws: Draws, by_cell: Draws) -> Table:
    """Return how the skew and the placement range move together, and how alike g and h are."""
    rows: list[tuple[Entry, ...]] = []
    for after, before in CONTRASTS:
        skew, factor, harm = _contrast(cells, after, before)
        rows.append(_correlation(f"{after} against {before}", skew, factor, draws, by_cell))
        known = ~(np.isnan(skew) | np.isnan(harm))
        apart = np.where(known, (skew < -SAME) & (harm > SAME), np.nan)
        what = f"{after} against {before}: share of cells whose skew falls while the placement range rises"
        rows.append((what, draws.means(apart).number(), None, int(known.sum())))
    rows += _likeness(cells, draws)
    return Table(
        "skew-and-range",
        "Whether the placement range follows the skew",
        _COLUMNS,
        tuple(rows),
        resampled=CHECKPOINTS,
        level=draws.level,
        source="two-factors, B.4",
    )


def surviving_series(cells: Sequence[OperatedCell]) -> Series:
    """Return the surviving share and the product's change in log skew of every cell."""
    change = log_skew_change(cells, PRODUCT)
    return tuple(
        {
            **c.cell.labels, "surviving_share": Number.of(c.surviving_share).value,
            "log_positional_skew": Number.of(float(d)).value,
        }
        for c, d in zip(cells, change, strict=True)
    )  # fmt: skip


def _monotone(preference: Floats) -> bool:
    steps = np.diff(preference)
    return bool((steps > 0).all() or (steps < 0).all())


def _correlation(what: str, skew: Floats, factor: Floats, draws: Draws, by_cell: Draws) -> tuple[Entry, ...]:
    both = [d.spearman(skew, factor) for d in (draws, by_cell)]
    return (
        f"{what}: Spearman correlation of the changes in skew and in range(h)",
        *(b.number() for b in both),
        complete(skew, factor),
    )


def _contrast(cells: Sequence[OperatedCell], after: str, before: str) -> tuple[Floats, Floats, Floats]:
    """Return the changes in skew, range(h) and placement range, ``(n_cells,)`` each."""
    a, b = cells[0].at(after), cells[0].at(before)

    def change(values: Sequence[Floats]) -> Floats:
        return np.array([v[a] - v[b] for v in values])

    return (
        change([c.measures["positional_skew"] for c in cells]),
        change([_range(c.measures["placement_factor"]) for c in cells]),
        change([c.measures["placement_range"] for c in cells]),
    )


def _range(h: Floats) -> Floats:
    """``max h - min h`` of every operation; NaN without golds or flips."""
    return np.full(len(h), np.nan) if h.ndim == 1 else np.asarray(h.max(axis=-1) - h.min(axis=-1))


def _likeness(cells: Sequence[OperatedCell], draws: Draws) -> list[tuple[Entry, ...]]:
    """Compare g and h without any operation on the four-option cells."""
    values = np.full((len(cells), 3), np.nan)
    for i, c in enumerate(cells):
        g, h = c.measures["flip_share"], c.measures["placement_factor"]
        if c.cell.n_options == 4 and h.ndim == 2:
            values[i] = float(centred_cosine(g[0], h[0])), float((h[0] - g[0]).std()), float(h[0].std())
    if np.isnan(values).all():
        return []
    heads = (
        "mean cosine of the centred g and h, four-option cells, no operation",
        "mean standard deviation of h - g over the places, the same cells",
        "mean standard deviation of h over the places, the same cells",
    )
    numbers, n_cells = draws.means(values).numbers, (~np.isnan(values)).sum(axis=0)
    return [(head, numbers[i], None, int(n_cells[i])) for i, head in enumerate(heads)]
