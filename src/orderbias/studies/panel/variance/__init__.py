"""How the two factors share the variation of the pooled SD, how reliably they are measured, and where lean is sure.

Sources: two-factors, C.2, Tables 8 and 9, A.5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.cells import uniformity_test
from orderbias.inference.uniformity import holm
from orderbias.measures.factors import selection_share
from orderbias.studies.findings import Column, Entry, Finding, Number, Series, Table
from orderbias.studies.panel.cells import PanelCell
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws, Estimates, checkpoint_draws, wider
from orderbias.studies.panel.values import FIRST_TOKEN, Panel, Pool, Settings, need
from orderbias.studies.panel.variance.reliability import reliability_table
from orderbias.studies.panel.variance_shares import COLUMNS, SHARES, drawn_shares
from orderbias.studies.panel.wording import written

Floats = NDArray[np.float64]

TITLE = "How the two factors share the variation of the pooled SD, and how reliable they are"
#: The readouts whose common cells are compared, in this order; others join on the part of them that they cover.
COMMON = (FIRST_TOKEN, "chain-of-thought", "direct")
_SHARES_NOTE = "Natural logs and population moments over cells whose pooled SD is above 0; the three shares sum to 1."


def variance(panel: Panel) -> Finding:
    """Share the variance of the log pooled SD between the factors, and ask how reliably either ranks cells.

    Parameters
    ----------
    panel
        Any panel.

    Returns
    -------
    Finding
        Tables ``shares``, ``readouts``, ``reliability`` and ``uniformity``; series ``uniformity``.
    """
    pool = panel.pool(panel.main_readout)
    short = need(pool, 3, "cells under the cyclic orderings")
    if short:
        return Finding("variance", TITLE, skipped=short)
    settings = panel.settings
    tables: list[Table] = []
    sentences: list[str] = []
    left: list[str] = []
    short = need(_leaning(pool), 3, "cells whose pooled SD is above 0, to share its variance")
    if short:
        left.append(short)
    else:
        table = _shares(pool, settings)
        tables += [table, _readouts(panel)]
        sentences.append(_say_shares(table.rows[0]))
        left += _not_compared(panel)
    tables.append(reliability_table(pool, settings))
    sentences += [_say_reliability(row) for row in tables[-1].rows if row[1] in ("flip rate", "positional skew")]
    uniformity, points = _uniformity(pool, settings)
    tables.append(uniformity)
    sentences.append(_say_uniformity(uniformity))
    return Finding(
        "variance", TITLE, tuple(tables), {"uniformity": points}, tuple(sentences), parts_skipped=tuple(left)
    )


def _leaning(pool: Pool) -> Pool:
    """Return the cells whose pooled SD has a logarithm."""
    return pool.where(np.nan_to_num(pool["pooled_sd"]) > 0)


def _drawn_shares(pool: Pool, draws: Draws) -> Estimates:
    """Return the three shares over cells whose pooled SD is above 0."""
    return drawn_shares(np.log(pool["flip_rate"]), np.log(pool["positional_skew"]), draws)


def _shares(pool: Pool, settings: Settings) -> Table:
    level = wider(settings.level)
    columns = (
        Column("options", "Options", "text"), Column("n_cells", "Cells", "count"),
        Column("n_left_out", "Without pooled SD", "count"), *COLUMNS,
    )  # fmt: skip
    rows: list[tuple[Entry, ...]] = []
    for scope, part in pool.by_options:
        cells = _leaning(part)
        if len(cells) > 1:
            found = _drawn_shares(cells, checkpoint_draws(cells, settings, "variance").at(level))
            rows.append((scope, len(cells), len(part) - len(cells), *found.numbers))
    return Table(
        "shares", f"Shares of the variance of the log pooled SD over {pool.cells[0].readout} cells", columns,
        tuple(rows), resampled=CHECKPOINTS, level=level, source="two-factors, Table 8",
        notes=(_SHARES_NOTE, *checkpoint_draws(pool, settings, "variance").notes),
    )  # fmt: skip


def _readouts(panel: Panel) -> Table:
    """Return the skew's share and its correlation with accuracy for each readout, on its own cells and the common."""
    level = wider(panel.settings.level)
    columns = (
        Column("readout", "Readout", "text"), Column("pool", "Cells of", "text"), Column("n_cells", "Cells", "count"),
        Column("n_left_out", "Without pooled SD", "count"), Column("skew_share", "Share of the skew", "percent"),
        Column("skew_with_accuracy", "Skew, r_s with accuracy"),
    )  # fmt: skip
    own = {name: panel.pool(name) for name in panel.readouts}
    rows: list[tuple[Entry, ...]] = []
    for kind, pools in (("its own", own), ("the common", common_pools(panel))):
        for name, pool in pools.items():
            cells = _leaning(pool)
            if len(cells) > 2:
                # The first of the common pools has every common cell: its draws are those of all of them.
                whole = pool if kind == "its own" else next(iter(pools.values()))
                shares = _drawn_shares(cells, _drawn_like(cells, whole, panel.settings).at(level))
                share = shares.number(SHARES.index("positional_skew"))
                # A skew of 0 has no logarithm to share, but a rank.
                draws = _drawn_like(pool, whole, panel.settings).at(level)
                with_accuracy = draws.spearman(pool["positional_skew"], pool["accuracy"]).number()
                rows.append((name, kind, len(cells), len(pool) - len(cells), share, with_accuracy))
    common = [name for name in COMMON if name in panel.readouts]
    notes = [
        f"The common cells are the checkpoints and benchmarks that have a cell under each of: {', '.join(common)}."
    ]
    if set(panel.readouts) - set(common):
        notes.append("Other readouts are on the part of the common cells that they cover.")
    return Table(
        "readouts", "The skew's share and its correlation with accuracy, by readout", columns, tuple(rows),
        resampled=CHECKPOINTS, level=level, source="two-factors, Table 8",
        notes=tuple(notes) if len(common) > 1 else (),
    )  # fmt: skip


def _drawn_like(cells: Pool, whole: Pool, settings: Settings) -> Draws:
    """Return draws of the checkpoints of ``whole`` for the cells of another pool: paired wherever ``whole`` is one."""
    column = {cell.key: i for i, cell in enumerate(whole.cells)}
    return checkpoint_draws(whole, settings, "variance").of([column[cell.key] for cell in cells.cells])


def common_pools(panel: Panel) -> dict[str, Pool]:
    """Return for each readout its cells of the checkpoints and benchmarks that the readouts of ``COMMON`` share.

    One of ``COMMON``, which has all of them, comes first. Empty where fewer than two of ``COMMON`` are there.
    """
    names = sorted(panel.readouts, key=lambda name: name not in COMMON)
    by_key = {name: {cell.key: cell for cell in panel.pool(name).cells} for name in names}
    shared = [by_key[name] for name in COMMON if name in by_key]
    if len(shared) < 2:
        return {}
    keys = [key for key in shared[0] if all(key in others for others in shared)]
    return {name: Pool(tuple(cells[key] for key in keys if key in cells)) for name, cells in by_key.items()}


def _not_compared(panel: Panel) -> list[str]:
    common = common_pools(panel)
    if not common:
        return [f"needs cells under two of {', '.join(COMMON)} to compare readouts on common cells; "
                f"there are {', '.join(panel.readouts)}."]  # fmt: skip
    n = len(common[next(name for name in COMMON if name in common)])
    return [] if n > 2 else [f"needs at least 3 cells common to the readouts to compare them; there are {n}."]


def _uniformity(pool: Pool, settings: Settings) -> tuple[Table, Series]:
    """Test uniform place shares in every cell, adjusted over all of them."""
    p_values = np.array([uniformity_test(cell.columns) for cell in pool.cells])
    adjusted = holm(p_values)
    alpha = 1 - settings.level
    rejected = adjusted <= alpha
    rows: list[tuple[Entry, ...]] = []
    for scope, part in pool.by_options:
        here = np.ones(len(pool), bool) if scope == "all" else pool.n_options == int(scope)
        rows.append((scope, len(part), int(rejected[here].sum()), float(rejected[here].mean())))
    columns = (
        Column("options", "Options", "text"), Column("n_cells", "Cells", "count"),
        Column("n_rejected", "Not uniform", "count"), Column("share_rejected", "Share", "percent"),
    )  # fmt: skip
    note = (
        "Hoeffding bound on the largest deviation of the place shares, an item's answers as one cluster; Holm over "
        f"all {len(pool)} cells, at {alpha:.2g}. It is conservative: a cell that is not rejected may lean."
    )
    table = Table("uniformity", "Cells whose answers are not spread evenly over the places", columns, tuple(rows),
                  source="two-factors, C.2", notes=(note,))  # fmt: skip
    return table, _uniformity_points(pool.cells, p_values, adjusted)


def _uniformity_points(cells: Sequence[PanelCell], p_values: Floats, adjusted: Floats) -> Series:
    return tuple(
        {
            **cell.labels,
            "largest_deviation": float(np.abs(selection_share(cell.columns.sums) - 1 / cell.n_options).max()),
            "p": float(p), "p_holm": float(q),
        }
        for cell, p, q in zip(cells, p_values, adjusted, strict=True)
    )  # fmt: skip


def _say_shares(row: Sequence[Entry]) -> str:
    flips, skew, both = (100 * v.value if isinstance(v, Number) and v.value is not None else None for v in row[3:])
    if flips is None or skew is None or both is None:
        return "The log pooled SD does not vary over cells, so there is nothing to share."
    return (
        f"Of the variance of the log pooled SD over cells the flip rate carries {flips:.0f} %, the skew {skew:.0f} % "
        f"and twice their covariance {both:.0f} %."
    )


def _say_reliability(row: Sequence[Entry]) -> str:
    over, statistic = row[:2]
    halves, corrected = (value if isinstance(value, Number) else Number(None) for value in row[-2:])
    return (
        f"Two halves of the items rank cells by {statistic} with r_s = {written(halves)} ({over}), "
        f"{written(corrected)} corrected for their length."
    )


def _say_uniformity(table: Table) -> str:
    n, rejected = table.rows[0][1:3]
    return f"After Holm's correction an even spread over the places is rejected in {rejected} of {n} cells."
