"""The tables of the analysis of held-out priors: medians, means and correlations over cells with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.studies.findings import Column, Entry, Number, Table
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws
from orderbias.studies.panel.prior.letter_priors import Change, HeldOut, cosines
from orderbias.studies.panel.values import Pool

Floats = NDArray[np.float64]

#: A correlation over fewer cells is not printed: three ranks leave nothing after adjusting for a third value.
MIN_CELLS = 4
ALL_CELLS = "all"
PRIDE, PROFILE = "PriDe's prior", "the mean option-symbol profile"
COSINE = "median cosine of g and the prior, four options"
COSINE_PERMUTED = "median cosine of g and the prior with its letters permuted, four options"
ESTIMATED, PERMUTED, DIFFERENCE = "estimated", "letters permuted", "estimated minus permuted"
_HELD_OUT = "The prior is estimated on 5 % of a cell's items (at least one), everything else is of the other items."


@dataclass(frozen=True, slots=True, eq=False)
class PriorCells:
    """The cells that a prior could be estimated for, what was found of each, and what must be said below tables."""

    pool: Pool
    found: tuple[HeldOut, ...]
    draws: Draws
    notes: tuple[str, ...] = ()

    @property
    def skew(self) -> Floats:
        """``(n_cells,)``: the skew on the items that no prior was estimated on."""
        return np.array([h.before.skew[0] for h in self.found])

    @property
    def scopes(self) -> dict[str, NDArray[np.bool_]]:
        """Bool ``(n_cells,)`` by name: cells with a flip, all and those of each number of options."""
        k, flips = self.pool.n_options, ~np.isnan(self.skew)
        return {ALL_CELLS: flips, **{f"{n} options": flips & (k == n) for n in np.unique(k).tolist()}}


def correlation_table(cells: PriorCells) -> Table:
    """Correlate each prior's SD with the skew of other items, plainly and given accuracy (two-factors, Table 10)."""
    spreads = {
        PRIDE: np.array([h.prior.std() for h in cells.found]),
        PROFILE: np.array([h.profile.std() for h in cells.found]),
    }
    accuracy, draws = cells.pool["accuracy"], cells.draws
    rows: list[tuple[Entry, ...]] = []
    for name, spread in spreads.items():
        for scope, where in cells.scopes.items():
            if where.sum() >= MIN_CELLS:
                skew = np.where(where, cells.skew, np.nan)
                given = draws.partial_spearman(spread, skew, accuracy).number()
                counts = int(where.sum()), int((where & ~np.isnan(accuracy)).sum())
                rows.append((name, scope, draws.spearman(spread, skew).number(), given, *counts))
    columns = (
        Column("estimator", "Estimator", "text"), Column("cells", "Cells", "text"), Column("spearman", "Spearman"),
        Column("given_accuracy", "Given accuracy"), Column("n_cells", "Number of cells", "count"),
        Column("n_cells_given", "With an accuracy", "count"),
    )  # fmt: skip
    title = "Spearman correlation between the SD of the prior and the skew of other items"
    note = "Given accuracy: partial rank correlation, the accuracy being the cell's over its cyclic orderings."
    return _table("prior-nonuniformity", title, columns, rows, cells, "two-factors, Table 10", note)


def direction_table(cells: PriorCells, correlations: Table) -> Table:
    """Say whether prior and skew go together, and whether they point the same way (two-factors, Table 5)."""
    rows: list[tuple[Entry, ...]] = [
        ("partial Spearman of the skew and the SD of PriDe's prior, given accuracy", row[3], row[5])
        for row in correlations.rows
        if row[:2] == (PRIDE, ALL_CELLS) and row[3] != Number(None)
    ]
    own, permuted = cosines(cells.found)
    n = int((~np.isnan(own)).sum())
    if n:
        medians = [cells.draws.median(values) for values in (own, permuted)]
        rows += [
            (COSINE, medians[0].number(), n),
            (COSINE_PERMUTED, medians[1].number(), n),
            ("difference of the two medians", (medians[0] - medians[1]).number(), n),
        ]
    columns = (Column("statistic", "Statistic", "text"), Column("value", "Value"), Column("n_cells", "Cells", "count"))
    note = "g and the prior are each taken minus uniform; a cell's permuted cosine is the median over its permutations."
    title = "Whether the flipping answers lean where the held-out prior does"
    return _table("held-out-prior", title, columns, rows, cells, "two-factors, Table 5", note)


def change_table(cells: PriorCells, changes: Mapping[float, Mapping[str, Change]]) -> Table:
    """Return the mean changes after dividing out, by strength and prior (two-factors, Table 6)."""

    def mean(values: Floats) -> Number:
        return cells.draws.means(values).number()

    rows: list[tuple[Entry, ...]] = []
    for alpha, by_measure in changes.items():
        counts = [change.n_cells for change in by_measure.values()]
        kinds = {
            ESTIMATED: [mean(c.estimated) for c in by_measure.values()],
            PERMUTED: [mean(c.permuted) for c in by_measure.values()],
            DIFFERENCE: [mean(c.estimated - c.permuted) for c in by_measure.values()],
        }
        if any(counts):
            rows += [(alpha, kind, *numbers, *counts) for kind, numbers in kinds.items()]
    columns = (
        Column("alpha", "Alpha"), Column("prior", "Prior", "text"), Column("log_skew", "Log skew", "log"),
        Column("log_flip_rate", "Log flip rate", "log"), Column("accuracy", "Accuracy", "points"),
        Column("n_cells_skew", "Cells (skew)", "count"), Column("n_cells_flip_rate", "Cells (flip rate)", "count"),
        Column("n_cells_accuracy", "Cells (accuracy)", "count"),
    )  # fmt: skip
    note = (
        "Log changes are of the cells where that factor is above 0 before, after the estimated prior and after every "
        "permuted one. Permuted: every permutation of the letters but the identity up to four options, 23 distinct "
        "drawn ones above; a cell's changes are averaged over them."
    )
    title = "Mean change after dividing out the prior to the power alpha"
    return _table("prior-divided-out", title, columns, rows, cells, "two-factors, Table 6", note)


def _table(
    name: str, title: str, columns: tuple[Column, ...], rows: Sequence[tuple[Entry, ...]], cells: PriorCells,
    source: str, note: str,
) -> Table:  # fmt: skip
    notes = (_HELD_OUT, note, *cells.notes)
    return Table(name, title, columns, tuple(rows), CHECKPOINTS, cells.draws.level, source, notes)
