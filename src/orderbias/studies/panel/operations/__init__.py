"""Mitigation operations over cells (two-factors, sections 6 and 7, D.1-D.4): what each changes, and what it leaves.

Joins the parts: operations applied once to every cell, then tables that read the same answers. Computes no number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orderbias.studies.findings import Finding, Number, Series, Table
from orderbias.studies.panel.estimates import CELLS, Draws, cell_draws, checkpoint_draws
from orderbias.studies.panel.operated_cells import OPERATIONS, PRODUCT, OperatedCell, operate, operated_pool
from orderbias.studies.panel.operations.added import (
    added_preferences,
    chosen_cells,
    preferences_series,
    preferences_table,
)
from orderbias.studies.panel.operations.changes import (
    PAIRS,
    REVERSALS,
    Effects,
    changes_table,
    corrections_effects,
    differences_table,
    effects,
    factor_series,
)
from orderbias.studies.panel.operations.rank_reversals import find_reversals, reversals_tables
from orderbias.studies.panel.operations.skew_and_range import placement_table, surviving_series, surviving_table
from orderbias.studies.panel.operations.transitions import moves_table, settling_table
from orderbias.studies.panel.values import Panel
from orderbias.studies.panel.wording import written

_NAME = "operations"
_TITLE = "What each mitigation operation changes, and what it leaves"
#: Operations that the sentences speak of.
_WORDS = {
    "pride": "PriDe",
    PRODUCT: "the reversal product",
    f"pride>{PRODUCT}": "PriDe followed by the reversal product",
}
_NO_PAIR = (
    "Rank reversals on the items shared by all: need a benchmark on which two checkpoints, and all that there are, "
    "share an evaluated item with a gold; there is none."
)
_NEEDED = (
    "cells with at least three options and label log-probabilities, scored under the cyclic orderings, whose reversals "
    "were asked too"
)


def operations(panel: Panel) -> Finding:
    """Apply every operation to every cell and compare them on the same held-out items.

    Calibration items are 5 % of a cell's items, at least one; the others that are usable under every operation are
    evaluated. Cells with at least three options and the reversals of their cyclic orderings have all operations; the
    corrections alone are compared on every cell with log-probabilities. Intervals resample whole checkpoints.
    """
    pool = panel.pool(where=lambda cell: cell.predictions.logprobs is not None)
    if not len(pool):
        return Finding(_NAME, _TITLE, skipped="needs at least 1 cell under the cyclic orderings with label "
                       "log-probabilities; there are 0.")  # fmt: skip
    seed = panel.settings.seed
    found = [operated for cell in pool.cells if (operated := operate(cell, seed)) is not None]
    skipped = _left_out(len(pool), len(found))
    if not found:
        return Finding(_NAME, _TITLE, skipped="needs at least 1 cell that a prior can be estimated on and that has "
                       f"items left; of {len(pool)} there is none.")  # fmt: skip
    whole = [operated for operated in found if operated.names == OPERATIONS]
    lacking = sum(c.cell.n_options > 2 for c in found) - len(whole)
    alone, alone_sentences = _corrections_alone(panel, found)
    if not whole:
        skipped += (f"Aggregations, compositions and added preferences: needs at least 1 of {_NEEDED}; there are 0.",)
        return Finding(_NAME, _TITLE, alone, sentences=alone_sentences, parts_skipped=skipped)
    if lacking:
        skipped += (f"Aggregations on {lacking} cells with at least three options: their reversals were not asked.",)
    return _all_operations(panel, whole, alone, alone_sentences, skipped)


def _left_out(n_cells: int, n_found: int) -> tuple[str, ...]:
    if n_cells == n_found:
        return ()
    return (
        f"{n_cells - n_found} of {n_cells} cells: no item is left to evaluate, or some label never has any probability "
        "on the calibration items and cannot be divided out.",
    )


def _corrections_alone(panel: Panel, found: Sequence[OperatedCell]) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    draws = checkpoint_draws(operated_pool(found), panel.settings, _NAME)
    means = corrections_effects(found, draws)
    source = "two-factors, sections 6, 7 and D.1"
    tables = (
        changes_table(means, "corrections", "The corrections alone, on every cell", source),
        differences_table(means, "correction-differences", "Two corrections in a row against each", source),
    )
    sentence = _double_correction(means)
    return _with_notes(tables, draws), (sentence,)


def _all_operations(
    panel: Panel,
    cells: Sequence[OperatedCell],
    alone: tuple[Table, ...],
    alone_sentences: tuple[str, ...],
    skipped: tuple[str, ...],
) -> Finding:
    draws = checkpoint_draws(operated_pool(cells), panel.settings, _NAME)
    by_cell = cell_draws(operated_pool(cells), panel.settings, _NAME)
    common, pairwise = (find_reversals(cells, draws, shared_by_all=shared) for shared in (True, False))
    means = effects(cells, OPERATIONS, draws, common.shares(draws) if common.n_pairs else None)
    tables = (
        changes_table(means, "operations", "Every operation against none", "two-factors, Table 2, top"),
        differences_table(means, "differences", "Paired differences of operations", "two-factors, Table 2, bottom"),
        *(reversals_tables(common, pairwise, draws, OPERATIONS, PAIRS) if pairwise.n_pairs else ()),
        moves_table(cells, draws),
        settling_table(cells, draws),
        surviving_table(cells, draws, by_cell),
        placement_table(cells, draws, by_cell),
    )
    if not common.n_pairs:
        skipped += (_NO_PAIR,)
    added, points, why = _added(panel, cells)
    return Finding(
        _NAME,
        _TITLE,
        (*_with_notes(tables, draws), *added, *alone),
        {"factor-changes": factor_series(means), "surviving-share": surviving_series(cells), **points},
        (*_sentences(means), *alone_sentences),
        parts_skipped=skipped + why,
    )


def _added(
    panel: Panel, cells: Sequence[OperatedCell]
) -> tuple[tuple[Table, ...], Mapping[str, Series], tuple[str, ...]]:
    """Return the table and the points of the added preferences, or why there are none."""
    chosen = chosen_cells(cells)
    if not chosen:
        return (), {}, ("Added preferences: need a cell with four options and a gold for every item; there are 0.",)
    draws = checkpoint_draws(operated_pool(chosen), panel.settings, _NAME)
    found = added_preferences(chosen, draws)
    table = preferences_table(found, chosen[0].cell.benchmark, len(chosen))
    return _with_notes((table,), draws), {"added-preferences": preferences_series(found)}, ()


def _with_notes(tables: tuple[Table, ...], draws: Draws) -> tuple[Table, ...]:
    """Say of every table that no interval resamples checkpoints, where there is one."""
    if not draws.notes:
        return tables
    return tuple(
        replace(
            t,
            resampled=CELLS if any(column.key == "by_cells" for column in t.columns) else "",
            notes=(*t.notes, *draws.notes),
        )
        for t in tables
    )


def _double_correction(means: Effects) -> str:
    change = means.difference("log_pooled_sd", "pride>batch-calibration", "batch-calibration").number()
    return (
        "PriDe followed by batch calibration, its prior estimated anew, changes the mean log pooled SD by "
        f"{_text(change)} against batch calibration alone."
    )


def _sentences(means: Effects) -> tuple[str, ...]:
    said = [
        f"Under {words} the mean log flip rate changes by "
        f"{_text(means.difference('log_flip_rate', name, 'none').number())} and the mean log skew by "
        f"{_text(means.difference('log_positional_skew', name, 'none').number())}."
        for name, words in _WORDS.items()
    ]
    pride, product = means.names.index("pride"), means.names.index(PRODUCT)
    ranges = means.levels["placement_range"]
    if ranges.number().value is not None:
        said.append(
            f"The mean placement range is {_text(ranges.number())} without an operation, "
            f"{_text(ranges.number(pride))} under PriDe and {_text(ranges.number(product))} under the reversal product."
        )
    if REVERSALS in means.levels:
        difference = means.difference(REVERSALS, PRODUCT, "pride").number()
        said.append(
            f"The share of rank reversals under the reversal product less that under PriDe: {_text(difference)}."
        )
    wrong = means.difference("stable_wrong", PRODUCT, "none").number()
    if wrong.value is not None:
        right = means.difference("accuracy", PRODUCT, "none").number()
        said.append(
            f"Under the reversal product the mean stable-wrong share changes by {_text(wrong)} and accuracy by "
            f"{_text(right)}."
        )
    return tuple(said)


def _text(number: Number) -> str:
    return written(number, 3)
