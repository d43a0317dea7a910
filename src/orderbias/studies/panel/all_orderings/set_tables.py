"""Operations on the balanced sets of K orderings without reversals: two-factors, Table 18."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.predictions import Predictions
from orderbias.studies.findings import Column, Entry, Number, Table
from orderbias.studies.panel.all_orderings.balanced_sets import OnSets, latin_sets, on_sets, without_reversals
from orderbias.studies.panel.all_orderings.certified import BOTH, ENVELOPE, NONE, PRIDE, PRODUCT, certified_answers
from orderbias.studies.panel.all_orderings.full_orderings import Indices
from orderbias.studies.panel.estimates import CHECKPOINTS, Draws
from orderbias.studies.panel.wording import written

Floats = NDArray[np.float64]

_COLUMNS = (
    ("flip_cyclic", "Flip rate, cyclic set"),
    ("flip_others", "Flip rate, mean of the other sets"),
    ("flip_lowest", "Lowest"),
    ("flip_highest", "Highest"),
    ("placement_cyclic", "Placement range, cyclic set"),
    ("placement_others", "Placement range, mean of the other sets"),
    ("placement_lowest", "Lowest"),
    ("placement_highest", "Highest"),
)
_HEAD = (Column("n_options", "K", "count"), Column("answers", "Answers", "text"), Column("n_cells", "Cells", "count"))
_TAIL = (
    Column("elsewhere", "Cyclic-stable items that flip on another set", "percent"),
    Column("certified", "Items kept", "percent"),
)


@dataclass(frozen=True, slots=True, eq=False)
class SetRow:
    """One kind of answers of one cell on every set.

    Parameters
    ----------
    answers
        The operation, or None for uncorrected answers of all items.
    levels
        Of the kept items.
    change
        Flip rate and placement range less those of the uncorrected answers of the same items, ``(n_sets,)`` each;
        None for uncorrected answers.
    kept
        Share of the evaluated items whose answers are certified.
    """

    answers: str | None
    levels: OnSets
    change: tuple[Floats, Floats] | None = None
    kept: float = 1.0


def compared_sets(n_options: int) -> Indices:
    """Return the balanced sets that hold no ordering with its reversal, the cyclic one first."""
    return without_reversals(latin_sets(n_options), n_options)


def cell_rows(predictions: Predictions, seed: int, envelope: float = ENVELOPE) -> tuple[SetRow, ...]:
    """Measure a cell's answers on every set; under the operations as well where there are log-probabilities.

    Parameters
    ----------
    predictions
        All K! orderings in lexicographic order.
    seed
        Of the calibration split.
    envelope
        How far a stored probability may be off.
    """
    sets = compared_sets(predictions.n_options)
    rows = [SetRow(None, on_sets(predictions.choice, predictions.gold, sets))]
    if predictions.logprobs is None or predictions.n_items < 2:
        return tuple(rows)
    evaluated, answers = certified_answers(predictions, seed, envelope)
    for name, found in answers.items():
        kept, gold = found.certified, evaluated.gold[found.certified]
        levels = on_sets(found.contents[kept], gold, sets)
        change = None
        if name != NONE:
            before = on_sets(evaluated.choice[kept], gold, sets)
            change = (levels.flip_rate - before.flip_rate, levels.placement_range - before.placement_range)
        rows.append(SetRow(name, levels, change, float(kept.mean())))
    return tuple(rows)


def level_table(n_options: int, cells: Sequence[tuple[SetRow, ...]], draws: Draws) -> Table:
    """Return the uncorrected answers on the cyclic set and on the others.

    Parameters
    ----------
    n_options
        K of all the cells.
    cells
        The rows of each cell.
    draws
        Draws of their checkpoints.
    """
    labels = ((None, "uncorrected, all cells, all items"), (NONE, "uncorrected, cells with log-probabilities"))
    rows = [_entries(n_options, label, _of(cells, name), draws, changes=False) for name, label in labels]
    return Table(
        f"sets-{n_options}", f"Answers of {n_options} options on the balanced sets of {n_options} orderings",
        (*_HEAD, *(Column(key, head, "percent") for key, head in _COLUMNS), *_TAIL), tuple(r for r in rows if r),
        resampled=CHECKPOINTS, level=draws.level, source="two-factors, Table 18",
        notes=(*_set_notes(n_options), *draws.notes),
    )  # fmt: skip


def operation_table(n_options: int, cells: Sequence[tuple[SetRow, ...]], draws: Draws) -> Table | None:
    """Return the operations' changes on the cyclic set and on the others; None where no cell has log-probabilities."""
    rows = [_entries(n_options, name, _of(cells, name), draws, changes=True) for name in (PRIDE, PRODUCT, BOTH)]
    found = tuple(row for row in rows if row)
    if not found:
        return None
    return Table(
        f"operations-{n_options}", f"Changes by operations on the balanced sets, {n_options} options",
        (*_HEAD, *(Column(key, head, "points") for key, head in _COLUMNS), *_TAIL), found,
        resampled=CHECKPOINTS, level=draws.level, source="two-factors, Table 18",
        notes=(
            "Changes are from the uncorrected answers of the same items; the share of cyclic-stable items that flip "
            "on another set is a level under the operation.",
            "5 % of a cell's items calibrate and are not scored. PriDe's prior is estimated over the K cyclic "
            "orderings and is the same for every set.",
            f"An item is kept if its answer under the operation is the same under all {math.factorial(n_options)}"
            f" orderings whatever each stored probability is within {ENVELOPE:g} of its value.",
            *_set_notes(n_options), *draws.notes,
        ),
    )  # fmt: skip


def _set_notes(n_options: int) -> tuple[str, ...]:
    n_others = len(compared_sets(n_options)) - 1
    return (
        f"Each set shows every content once at every place and holds no ordering with its reversal; there "
        f"{'is 1 such set' if n_others == 1 else f'are {n_others} such sets'} beside the cyclic one. Lowest and "
        "highest are over these sets, each set's value being the mean over cells.",
    )


def _of(cells: Sequence[tuple[SetRow, ...]], answers: str | None) -> list[SetRow | None]:
    return [next((row for row in rows if row.answers == answers), None) for rows in cells]


def _entries(
    n_options: int, label: str, rows: Sequence[SetRow | None], draws: Draws, *, changes: bool
) -> tuple[Entry, ...] | None:
    there = [row for row in rows if row is not None]
    if not there:
        return None
    if changes:
        pairs = [row.change for row in there if row.change]
    else:
        pairs = [(row.levels.flip_rate, row.levels.placement_range) for row in there]
    flips, ranges = (np.stack([pair[i] for pair in pairs]) for i in (0, 1))
    elsewhere = np.array([np.nan if row is None else row.levels.elsewhere for row in rows])
    kept = np.array([np.nan if row is None else row.kept for row in rows])
    n_cells = int((~np.isnan(flips).any(axis=1)).sum())
    return (
        n_options, label, n_cells, *over_sets(flips), *over_sets(ranges), draws.means(elsewhere).number(),
        Number.of(float(np.nanmean(kept))),
    )  # fmt: skip


def over_sets(values: Floats) -> tuple[Number, ...]:
    """Return the cyclic set's mean over cells, and the mean, lowest and highest of the other sets' means.

    Parameters
    ----------
    values
        ``(n_cells, n_sets)``, the cyclic set first; a cell with NaN is left out.

    Examples
    --------
    >>> [n.value for n in over_sets(np.array([[0.5, 0.25, 0.75], [0.5, 0.75, 0.75]]))]
    [0.5, 0.625, 0.5, 0.75]
    """
    known = values[~np.isnan(values).any(axis=1)]
    if not len(known):
        return (Number(None),) * 4
    means = known.mean(axis=0)
    others = means[1:]
    return tuple(Number.of(float(v)) for v in (means[0], others.mean(), others.min(), others.max()))


def set_sentences(table: Table) -> tuple[str, ...]:
    """Say how the cyclic set compares with the others in its first row."""
    row = table.as_dict()["rows"][0]
    cyclic, low, high = (row[key]["value"] for key in ("flip_cyclic", "flip_lowest", "flip_highest"))
    inside = "within" if low <= cyclic <= high else "outside"
    elsewhere = row["elsewhere"]
    said = "" if elsewhere["value"] is None else (
        f" Of the items that are stable on it, {_percent(elsewhere)} flip on a given other set, on "
        "average."
    )  # fmt: skip
    return (
        f"With {row['n_options']} options the flip rate on the cyclic set is {100 * cyclic:.1f} %, {inside} the range "
        f"of the other balanced sets ({100 * low:.1f} to {100 * high:.1f} %).{said}",
    )


def operation_sentences(table: Table) -> tuple[str, ...]:
    """Say what each operation changes on the cyclic set and on the others."""
    said = []
    for row in table.as_dict()["rows"]:
        parts = [_change(row, key, name) for key, name in (("flip", "flip rate"), ("placement", "placement range"))]
        said.append(f"{row['answers']}, {row['n_options']} options: {'; '.join(part for part in parts if part)}.")
    return tuple(said)


def _change(row: Mapping[str, Any], key: str, name: str) -> str | None:
    values = [row[f"{key}_{which}"]["value"] for which in ("cyclic", "others", "lowest", "highest")]
    if None in values:
        return None
    cyclic, others, low, high = (100 * value for value in values)
    return f"{name} {cyclic:+.1f} points on the cyclic set, {others:+.1f} on the others ({low:+.1f} to {high:+.1f})"


def _percent(entry: Mapping[str, Any]) -> str:
    return f"{written(Number.of(entry['value'], entry['interval']), 1, 100)} %"
