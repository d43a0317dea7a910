"""Do flips happen where the two leading options are close? The canonical margin (two-factors 5.1, C.1, Tables 5 and 7).

Within each cell the canonical top-two gap and entropy are scores for a state of the items, judged by the area under
the ROC curve: the chance that an item of the first state has the smaller gap (or larger entropy). The median over cells
is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.ranks import auc, stratified_auc
from orderbias.studies.findings import Column, Entry, Finding, Series, Table
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws, checkpoint_draws, complete
from orderbias.studies.panel.margin.items import (
    BINS,
    LEFT_OUT,
    LEFT_OUT_CORRECT,
    LEFT_OUT_STRATA,
    LEFT_OUT_WRONG,
    OTHERS,
    STABLE,
    STABLE_CORRECT,
    STABLE_WRONG,
    STRATA,
    WRONG_EVERYWHERE,
    Comparison,
    MarginItems,
    margin_items,
    others_accuracy,
)
from orderbias.studies.panel.values import Panel, need
from orderbias.studies.panel.wording import capitalised, written

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NAME = "margin"
TITLE = "Do flips happen where the two leading options are close?"
#: Bins of the gap in the figure.
GAP_BINS = 10
ALL_CELLS = "all"
THIRDS = ("least accurate third", "middle third", "most accurate third")
#: The row of a difference of two medians.
CORRECT_MINUS_WRONG = "left out: canonical answer correct minus wrong"
_SCORES = ("gap", "entropy")
_NUMBERS = (
    Column("gap", "AUC of the gap"),
    Column("entropy", "AUC of the entropy"),
    Column("n_cells", "Cells", "count"),
)
_CHANCE = (
    "Median over cells of the AUC: 0.5 is chance; above it, items of the first state have the smaller gap or the "
    "larger entropy."
)

#: A comparison's AUC in each cell, ``(n_cells,)``, by score; NaN where a cell lacks one of the two classes.
Aucs = Mapping[str, Floats]


def margin(panel: Panel) -> Finding:
    """Return how well the canonical gap and entropy tell flipping items from stable ones.

    In each cell ``AUC = P(gap of a flipping item < gap of a stable one)``, ties counting one half, and likewise for the
    larger entropy. Tables hold medians over cells with intervals that resample checkpoints.

    Parameters
    ----------
    panel
        First-token cells without log-probabilities are left out and counted.

    References
    ----------
    two-factors, sections 5.1 and C.1, Tables 5 (upper part) and 7, Figure 7.
    """
    every = panel.pool()
    scored = [cell.predictions.logprobs is not None for cell in every.cells]
    pool = every.where(scored)
    lacking = need(pool, 1, "first-token cells with log-probabilities under the cyclic orderings")
    if lacking:
        return Finding(NAME, TITLE, skipped=lacking)
    elsewhere = [accuracy for accuracy, has in zip(others_accuracy(every), scored, strict=True) if has]
    items = [margin_items(cell, accuracy) for cell, accuracy in zip(pool.cells, elsewhere, strict=True)]
    draws = checkpoint_draws(pool, panel.settings, NAME)
    n_items = sum(cell.n_items - i.n_items for cell, i in zip(pool.cells, items, strict=True))
    notes = (_CHANCE, *_left_out(len(every) - len(pool), n_items), *draws.notes)
    main = cell_aucs(items, MarginItems.main)
    controls = cell_aucs(items, MarginItems.controls, pool.n_options >= 3)
    tables = (_main_table(draws, main, pool["accuracy"], notes), _control_table(draws, controls, notes))
    points = states_by_gap([i for i in items if i.known])
    return Finding(
        NAME,
        TITLE,
        tuple(table for table in tables if table.rows),
        series={"states-by-gap": points} if points else {},
        sentences=(*_main_sentences(tables[0]), *_control_sentences(tables[1])),
        parts_skipped=(*_absent(main, "cells"), *_absent(controls, "cells with at least three options")),
    )


def cell_aucs(
    items: Sequence[MarginItems],
    comparisons: Callable[[MarginItems], Mapping[str, Comparison]],
    where: Bools | None = None,
) -> dict[str, Aucs]:
    """Return the AUC of the gap and of the entropy in each cell, by comparison.

    Parameters
    ----------
    items
        Of each cell.
    comparisons
        What is compared in a cell.
    where
        Bool ``(n_cells,)``: the other cells are NaN. None for all cells.
    """
    found: dict[str, dict[str, Floats]] = {}
    for n, cell in enumerate(items):
        if where is not None and not where[n]:
            continue
        for name, comparison in comparisons(cell).items():
            rows = found.setdefault(name, {s: np.full(len(items), np.nan) for s in _SCORES})
            rows["gap"][n] = _auc(-cell.gap, comparison)
            rows["entropy"][n] = _auc(cell.entropy, comparison)
    return dict(found)


def _auc(scores: Floats, c: Comparison) -> float:
    if c.strata is None:
        return auc(scores[c.kept], c.positive[c.kept])
    return stratified_auc(scores[c.kept], c.positive[c.kept], c.strata[c.kept])


def accuracy_thirds(accuracy: Floats) -> NDArray[np.int64]:
    """Cut cells into thirds by accuracy; equal ones stay together, and -1 where it is unknown.

    Examples
    --------
    >>> accuracy_thirds(np.array([0.3, 0.9, np.nan, 0.5])).tolist()
    [0, 2, -1, 1]
    """
    known = ~np.isnan(accuracy)
    thirds = np.full(len(accuracy), -1)
    if known.any():
        cuts = np.quantile(accuracy[known], (1 / 3, 2 / 3))
        thirds[known] = np.searchsorted(cuts, accuracy[known])
    return thirds


def states_by_gap(cells: Sequence[MarginItems], n_bins: int = GAP_BINS) -> Series:
    """Return the shares of stable-correct, flipping and stable-wrong items in bins of the gap, cells weighted equally.

    The share of a state in a bin is the mean of its share among a cell's items there, over the cells with an item
    there (two-factors, Figure 7). A bin without items has no point. The last bin holds a gap of 1.
    """
    names = ("stable_correct", "flipping", "stable_wrong")
    shares = np.full((len(cells), 3, n_bins), np.nan)
    counts = np.zeros((len(cells), n_bins), np.int64)
    for n, cell in enumerate(cells):
        bins = np.minimum((cell.gap * n_bins).astype(np.int64), n_bins - 1)
        counts[n] = np.bincount(bins, minlength=n_bins)
        sums = np.stack([np.bincount(bins, state, n_bins) for state in cell.states])
        np.divide(sums, counts[n], out=shares[n], where=counts[n] > 0)
    return tuple(
        {
            "gap_low": b / n_bins,
            "gap_high": (b + 1) / n_bins,
            **dict(zip(names, np.nanmean(shares[:, :, b], 0).tolist(), strict=True)),
            "n_cells": int((counts[:, b] > 0).sum()),
            "n_items": int(counts[:, b].sum()),
        }
        for b in range(n_bins)
        if counts[:, b].any()
    )  # fmt: skip


def _numbers(draws: Draws, aucs: Aucs, where: Bools | None = None) -> tuple[Entry, ...]:
    """Return the entries of ``_NUMBERS``."""
    values = [a if where is None else np.where(where, a, np.nan) for a in aucs.values()]
    return (*(draws.median(v).number() for v in values), complete(values[0]))


def _main_table(draws: Draws, main: Mapping[str, Aucs], accuracy: Floats, notes: tuple[str, ...]) -> Table:
    thirds = accuracy_thirds(accuracy)
    scopes = {ALL_CELLS: np.ones(len(accuracy), bool), **{name: thirds == t for t, name in enumerate(THIRDS)}}
    rows = [
        (comparison, scope, *_numbers(draws, aucs, where))
        for comparison, aucs in main.items()
        for scope, where in scopes.items()
        if (where & ~np.isnan(aucs["gap"])).any()
    ]
    return Table(
        "canonical-margin",
        "How well the canonical margin tells flipping from stable items",
        (Column("comparison", "Comparison", "text"), Column("cells", "Cells by accuracy", "text"), *_NUMBERS),
        tuple(rows),
        resampled=CHECKPOINTS,
        level=draws.level,
        source="two-factors, Table 5",
        notes=(*notes, "Thirds of the cells' accuracy are those of the panel in every draw."),
    )


def _control_table(draws: Draws, controls: Mapping[str, Aucs], notes: tuple[str, ...]) -> Table:
    rows: list[tuple[Entry, ...]] = [
        (comparison, *_numbers(draws, aucs)) for comparison, aucs in controls.items() if not np.isnan(aucs["gap"]).all()
    ]
    if {LEFT_OUT_CORRECT, LEFT_OUT_WRONG} <= {row[0] for row in rows}:
        right, wrong = controls[LEFT_OUT_CORRECT], controls[LEFT_OUT_WRONG]
        rows.append((
            CORRECT_MINUS_WRONG,
            *((draws.median(right[s]) - draws.median(wrong[s])).number() for s in _SCORES),
            None,
        ))  # fmt: skip
    return Table(
        "margin-controls",
        "The canonical margin without the canonical answer, and without accuracy",
        (Column("comparison", "Comparison", "text"), *_NUMBERS),
        tuple(rows),
        resampled=CHECKPOINTS,
        level=draws.level,
        source="two-factors, Table 7",
        notes=(
            *notes,
            "Cells with at least three options. Left out: the state is read from the answers under all orderings but "
            "the canonical one, which the margin is read from.",
            f"Strata: own canonical correctness by {BINS} bins of equal width of the other checkpoints' accuracy on "
            f"the item, where at least {OTHERS} of them answered it; only pairs within a stratum are compared.",
        ),
    )


def _left_out(n_cells: int, n_items: int) -> tuple[str, ...]:
    return (
        *([f"Cells left out, without log-probabilities: {n_cells}."] if n_cells else []),
        *([f"Items left out, without log-probabilities under the canonical ordering: {n_items}."] if n_items else []),
    )


def _absent(aucs: Mapping[str, Aucs], cells: str) -> list[str]:
    """Name the comparisons that no cell can make."""
    if not aucs:
        return [f"The controls of the gap need {cells}; there are 0."]
    return [
        f"{capitalised(name)}: needs {cells} with items of both classes; there are 0."
        for name, values in aucs.items()
        if np.isnan(values["gap"]).all()
    ]


def _main_sentences(table: Table) -> list[str]:
    """Say the medians over all cells."""
    rows = {row[0]: row[2:] for row in table.rows if row[1] == ALL_CELLS}
    if STABLE not in rows:
        return []
    gap, entropy, n_cells = rows[STABLE]
    told = [
        f"Over {n_cells} cells the canonical top-two gap tells flipping from stable items with a median AUC of "
        f"{written(gap)} (0.5 is chance), the entropy with one of {written(entropy)}."
    ]
    if STABLE_WRONG in rows and STABLE_CORRECT in rows:
        wrong, right = written(rows[STABLE_WRONG][0]), written(rows[STABLE_CORRECT][0])
        told.append(f"Against stable-wrong items alone the gap's is {wrong}, against stable-correct ones {right}.")
    return told


def _control_sentences(table: Table) -> list[str]:
    """Say what is left once the canonical answer, or accuracy, is taken out."""
    told = {row[0]: written(row[1]) for row in table.rows}
    sentences = []
    if LEFT_OUT in told:
        sentences.append(f"With the canonical answer left out of the outcome the gap's median AUC is {told[LEFT_OUT]}.")
    if CORRECT_MINUS_WRONG in told:
        sentences.append(
            f"It is {told[LEFT_OUT_CORRECT]} where the canonical answer is correct and {told[LEFT_OUT_WRONG]} where "
            f"it is wrong (difference {told[CORRECT_MINUS_WRONG]})."
        )
    if STRATA in told and LEFT_OUT_STRATA in told:
        sentences.append(
            "Within strata of own correctness and of the other checkpoints' accuracy on the item the gap's median AUC "
            f"is {told[STRATA]}, and {told[LEFT_OUT_STRATA]} with the canonical answer left out."
        )
    if WRONG_EVERYWHERE in told:
        sentences.append(
            "Among items wrong under every ordering, those whose wrong answer moves are told from those that keep one "
            f"with a median AUC of {told[WRONG_EVERYWHERE]}."
        )
    return sentences
