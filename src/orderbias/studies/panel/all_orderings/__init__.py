"""How well do the K cyclic orderings stand for all K!? Two-factors, appendix E (Tables 17-20) and B.1."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orderbias.predictions import Predictions
from orderbias.studies.findings import Column, Entry, Finding, Number, Table
from orderbias.studies.panel.all_orderings.cyclic_bound import flip_rates, flip_sentences, flip_tables, points
from orderbias.studies.panel.all_orderings.design_tables import Group, corrected_table, design_sentences, residual_table
from orderbias.studies.panel.all_orderings.designs import (
    ALL,
    CYCLIC,
    DESIGNS,
    DesignStatistics,
    cell_designs,
    shared_draws,
    stack,
)
from orderbias.studies.panel.all_orderings.full_orderings import MOST_OPTIONS, in_full_order
from orderbias.studies.panel.all_orderings.set_tables import (
    cell_rows,
    level_table,
    operation_sentences,
    operation_table,
    set_sentences,
)
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws, cell_draws, checkpoint_draws, wider
from orderbias.studies.panel.values import Panel, Pool, Settings, need
from orderbias.studies.panel.variance_shares import COLUMNS, drawn_shares

Floats = NDArray[np.float64]
NAME = "all-orderings"
TITLE = "How well do the cyclic orderings stand for all of them?"
#: The statistics of one cell by design.
CellDesigns = dict[str, DesignStatistics]


def all_orderings(panel: Panel) -> Finding:
    """Compare the cyclic orderings with all K!, operations across balanced sets, and the identity across designs.

    Parameters
    ----------
    panel
        Its first-token cells of three or four options that present every ordering are read.

    Returns
    -------
    Finding
        Tables ``flip-rates``, ``undercount`` and ``variance-shares`` over all cells; ``sets-K``, ``operations-K``,
        ``designs-K`` and ``corrected-K`` for each number of options K; series ``flip-rates``.
    """
    every = panel.pool(cyclic=False, where=lambda cell: cell.every_ordering)
    pool = every.where(every.n_options <= MOST_OPTIONS)
    if reason := need(pool, 1, "first-token cells of three or four options scored under all K! orderings"):
        return Finding(NAME, TITLE, skipped=reason)
    settings = panel.settings
    skipped: list[str] = []
    if n_left := len(every) - len(pool):
        skipped.append(
            f"needs three or four options, more have too many sets of orderings; left out: {n_left} of {len(every)}."
        )
    full = [in_full_order(cell.predictions) for cell in pool.cells]
    designs = _designs(pool, full, settings)
    rates = flip_rates(pool, full, designs)
    tables = [*flip_tables(rates, cell_draws(pool, settings, NAME))]
    sentences = list(flip_sentences(tables))
    tables.append(share_table(pool, designs, settings))
    sentences += share_sentences(tables[-1])
    for k in np.unique(pool.n_options).tolist():
        chosen = np.flatnonzero(pool.n_options == k).tolist()
        draws = checkpoint_draws(pool.where(pool.n_options == k), settings, NAME)
        for part in (
            _sets([full[i] for i in chosen], draws, settings.seed),
            _identity([designs[i] for i in chosen], k, draws),
        ):
            tables += part.tables
            sentences += part.sentences
            skipped += part.parts_skipped
    series = {"flip-rates": points(pool, rates)}
    return Finding(NAME, TITLE, tuple(tables), series, tuple(sentences), parts_skipped=tuple(skipped))


def _designs(pool: Pool, full: list[Predictions], settings: Settings) -> list[CellDesigns]:
    """Return each cell's statistics under every design; its own draws do not depend on the other cells."""
    shared = {k: shared_draws(k, settings.rng(f"{NAME} shared {k}")) for k in np.unique(pool.n_options).tolist()}
    return [
        cell_designs(predictions, shared[predictions.n_options], settings.rng(f"{NAME} {cell.name}"))
        for cell, predictions in zip(pool.cells, full, strict=True)
    ]


def _sets(full: list[Predictions], draws: Draws, seed: int) -> Finding:
    """Return what balanced sets and operations on them show, for cells of one number of options (E.2)."""
    k = full[0].n_options
    rows = [cell_rows(predictions, seed) for predictions in full]
    levels, changes = level_table(k, rows, draws), operation_table(k, rows, draws)
    if changes is None:
        reason = f"operations, {k} options: needs cells with log-probabilities under all K! orderings; there are 0."
        return Finding(NAME, TITLE, (levels,), sentences=set_sentences(levels), parts_skipped=(reason,))
    return Finding(NAME, TITLE, (levels, changes), sentences=(*set_sentences(levels), *operation_sentences(changes)))


def _identity(cells: list[CellDesigns], k: int, draws: Draws) -> Finding:
    """Return how the identity does under other designs, for cells of ``k`` options (E.3)."""
    members = {name: np.array([name in cell for cell in cells]) for name in DESIGNS}
    stacked = {name: stack([c[name] for c in cells if name in c]) for name, there in members.items() if there.any()}
    group = Group(k, stacked, members, draws)
    residuals = residual_table(group)
    return Finding(
        NAME, TITLE, (residuals, corrected_table(group)), sentences=design_sentences(group, residuals),
        parts_skipped=tuple(
            f"the design {name!r}, {k} options: needs cells with known golds; there are 0."
            for name, there in members.items() if not there.any()
        ),
    )  # fmt: skip


def share_table(pool: Pool, designs: list[CellDesigns], settings: Settings) -> Table:
    """Return what each factor carries of the variance of the log pooled SD, cyclic and under all K! (E.3)."""
    level = wider(settings.level)
    flips = {name: _log([d[name].flip_rate[0] for d in designs]) for name in (CYCLIC, ALL)}
    pooled = {name: _log([d[name].product[0] for d in designs]) for name in (CYCLIC, ALL)}
    known = ~np.isnan(pooled[CYCLIC]) & ~np.isnan(pooled[ALL])
    draws = checkpoint_draws(pool, settings, NAME).of(known).at(level)
    rows: list[tuple[Entry, ...]] = []
    for name in (CYCLIC, ALL):
        flip, both = flips[name][known], pooled[name][known]
        shares = drawn_shares(flip, both - flip, draws).numbers if known.any() else (Number(None),) * 3
        rows.append((name, int(known.sum()), int((~known).sum()), *shares))
    columns = (
        Column("orderings", "Orderings", "text"), Column("n_cells", "Cells", "count"),
        Column("n_left_out", "Without pooled SD", "count"), *COLUMNS,
    )  # fmt: skip
    return Table(
        "variance-shares", "Shares of the variance of the log pooled SD across cells", columns, tuple(rows),
        resampled=CHECKPOINTS, level=level, source="two-factors, E.3",
        notes=("Cells whose pooled SD is above 0 under both; natural logs and population moments.", *draws.notes),
    )  # fmt: skip


def share_sentences(table: Table) -> tuple[str, ...]:
    """Say how much of the variation the skew carries under either choice of orderings."""
    cyclic, full = (row["positional_skew"]["value"] for row in table.as_dict()["rows"])
    if cyclic is None or full is None:
        return ()
    return (
        f"The skew carries {100 * full:.0f} % of the variance of the log pooled SD under all K! orderings, "
        f"{100 * cyclic:.0f} % under the cyclic ones.",
    )


def _log(values: list[float]) -> Floats:
    array = np.array(values, np.float64)
    # Below this a standard deviation is 0, rounded.
    return np.asarray(np.log(array, out=np.full(array.shape, np.nan), where=array > 1e-14))
