"""Is the skew a model's preference for letters? The held-out prior (two-factors 5.2, C.1, C.3, Tables 5, 6 and 10).

The prior is estimated on a twentieth of a cell's items, the skew measured on the others, so that they share no item.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from orderbias.studies.findings import Finding, Number, Series, Table
from orderbias.studies.panel.estimates import checkpoint_draws
from orderbias.studies.panel.prior.letter_priors import ALPHAS, Change, cosines, divided_out, held_out
from orderbias.studies.panel.prior.tables import (
    ALL_CELLS,
    COSINE,
    COSINE_PERMUTED,
    DIFFERENCE,
    ESTIMATED,
    MIN_CELLS,
    PERMUTED,
    PriorCells,
    change_table,
    correlation_table,
    direction_table,
)
from orderbias.studies.panel.values import Panel, need
from orderbias.studies.panel.wording import sign, written

NAME = "prior"
TITLE = "Is the skew a model's preference for letters?"


def prior(panel: Panel) -> Finding:
    """Relate each cell's prior over letters, from held-out items, to the skew of its other items.

    Three questions: does a more uneven prior (its SD over the letters) go with a larger skew, also given accuracy; do
    the flipping answers lean where the prior does (the cosine of ``g - 1/K`` and ``prior - 1/K``); and what does
    dividing out ``prior ** alpha`` change in the log skew, the log flip rate and accuracy. The last two are set against
    the prior with its letters permuted.

    Parameters
    ----------
    panel
        First-token cells without log-probabilities are left out and counted. The seed of the settings decides which
        items are held out.

    References
    ----------
    two-factors, sections 5.2, C.1, C.3 and D.1, Tables 5 (lower part), 6 and 10, Figure 4.
    """
    every = panel.pool()
    scored = every.where([cell.predictions.logprobs is not None for cell in every.cells])
    tried = [held_out(cell, panel.settings.seed) for cell in scored.cells]
    pool = scored.where([h is not None for h in tried])
    lacking = need(pool, 1, "first-token cells with log-probabilities of two items or more and a prior above 0")
    if lacking:
        return Finding(NAME, TITLE, skipped=lacking)
    draws = checkpoint_draws(pool, panel.settings, NAME)
    notes = (*_left_out(len(every) - len(scored), len(scored) - len(pool)), *draws.notes)
    cells = PriorCells(pool, tuple(h for h in tried if h is not None), draws, notes)
    changes = {alpha: divided_out(cells.found, alpha) for alpha in ALPHAS}
    correlations = correlation_table(cells)
    tables = (direction_table(cells, correlations), correlations, change_table(cells, changes))
    return Finding(
        NAME,
        TITLE,
        tuple(table for table in tables if table.rows),
        series={"dividing-out": figure(tables[2]), "prior-and-skew": points(cells)},
        sentences=(*_lean_sentences(*tables[:2]), *_change_sentences(tables[2])),
        parts_skipped=_absent(cells, changes),
    )


def figure(table: Table) -> Series:
    """Return the points of Figure 4: the mean log changes by strength and prior."""
    return tuple(
        {"alpha": row[0], "prior": row[1], "measure": m, "value": n.value, "low": n.low, "high": n.high}
        for row in table.rows
        for m, n in zip(("log_skew", "log_flip_rate"), row[2:4], strict=True)
        if row[1] != DIFFERENCE and isinstance(n, Number) and isinstance(row[0], float) and isinstance(row[1], str)
    )


def points(cells: PriorCells) -> Series:
    """Return one point a cell: how uneven its priors are, and its skew."""
    return tuple(
        {
            **cell.labels, "prior_sd": float(h.prior.std()), "profile_sd": float(h.profile.std()),
            "skew": Number.of(skew).value,
        }
        for cell, h, skew in zip(cells.pool.cells, cells.found, cells.skew.tolist(), strict=True)
    )  # fmt: skip


def _left_out(n_without: int, n_failed: int) -> tuple[str, ...]:
    return (
        *([f"Cells left out, without log-probabilities: {n_without}."] if n_without else []),
        *([f"Cells left out, fewer than two items or a letter without probability: {n_failed}."] if n_failed else []),
    )


def _absent(cells: PriorCells, changes: Mapping[float, Mapping[str, Change]]) -> tuple[str, ...]:
    """Say which parts had too little to go by."""
    reasons = [
        f"Prior and skew ({scope}): needs at least {MIN_CELLS} cells with a flip; there are {where.sum()}."
        for scope, where in cells.scopes.items()
        if where.sum() < MIN_CELLS
    ]
    if np.isnan(cells.pool["accuracy"]).all():
        reasons.append("Prior and skew given accuracy: needs cells whose gold answers are known; there are 0.")
    if np.isnan(cosines(cells.found)[0]).all():
        reasons.append("The cosine of g and the prior: needs four-option cells with a flip; there are 0.")
    needs = {
        "log_skew": "The change of the log skew: needs cells with a skew above 0 before and after every division",
        "log_flip_rate": "The change of the log flip rate: needs cells with flips before and after every division",
        "accuracy": "The change of accuracy: needs cells whose gold answers are known",
    }
    for measure, what in needs.items():
        if not any(by_measure[measure].n_cells for by_measure in changes.values()):
            reasons.append(f"{what}; there are 0.")
    return tuple(reasons)


def _relation(number: Number) -> str:
    if number.low is None:
        return "has this rank correlation with"
    return {1: "rises with", -1: "falls with", 0: "is not clearly related to"}[sign(number)]


def _lean_sentences(direction: Table, correlations: Table) -> list[str]:
    """Say whether the prior and the skew go together, and point the same way."""
    told = [
        f"Over {row[4]} cells the skew {_relation(row[2])} the SD of {row[0]}, estimated on other items: r_s = "
        f"{written(row[2])}, given accuracy {written(row[3])}."
        for row in correlations.rows
        if row[1] == ALL_CELLS and isinstance(row[2], Number)
    ]
    values = {row[0]: written(row[1]) for row in direction.rows}
    if COSINE in values:
        told.append(
            "On four-option cells the median cosine between where flipping answers fall and the prior is "
            f"{values[COSINE]}, against {values[COSINE_PERMUTED]} with the prior's letters permuted."
        )
    return told


def _change_sentences(table: Table) -> list[str]:
    """Say what dividing out changes, at each strength."""
    by_row = {row[:2]: row[2:5] for row in table.rows}
    told = []
    for alpha in dict.fromkeys(row[0] for row in table.rows):
        parts = [
            f"{name} {written(own, 3)} (letters permuted {written(permuted, 3)})"
            for name, own, permuted in zip(
                ("the log skew by", "the log flip rate by", "accuracy by"),
                by_row[alpha, ESTIMATED],
                by_row[alpha, PERMUTED],
                strict=True,
            )
            if isinstance(own, Number) and own.value is not None
        ]
        told.append(f"Dividing out the prior with alpha = {alpha:g} changes, on average, {', '.join(parts)}.")
    return told
