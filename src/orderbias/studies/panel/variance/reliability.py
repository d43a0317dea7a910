"""How reliably the factors rank cells, and how they go with accuracy within benchmarks; one part of ``variance``.

Source: two-factors, Table 9. Both halves of a cell's items give each statistic once; over cells the two are correlated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from orderbias.studies.findings import Column, Entry, Number, Table
from orderbias.studies.panel.estimates import (
    CELLS,
    FEWEST_DRAWN,
    Draws,
    Estimates,
    cell_draws,
    complete,
    drawn_blocks,
    row_medians,
)
from orderbias.studies.panel.item_folds import fold_measures
from orderbias.studies.panel.values import Pool, Settings
from orderbias.studies.panel.wording import WORDS

Floats = NDArray[np.float64]

STATISTICS = ("flip_rate", "positional_skew", "pooled_sd", "per_item_sd")
#: Fewer cells than this have no rank correlation worth a median.
FEWEST = 3
WITHIN = "within benchmarks, median"

#: The two sides of each correlation of a statistic: with accuracy, and between halves.
Sides = Mapping[str, tuple[tuple[Floats, Floats], tuple[Floats, Floats]]]


def spearman_brown(r: Floats) -> Floats:
    """Return the reliability of the whole from that of a half, ``2 r / (1 + |r|)``.

    The absolute value, which changes nothing where r is positive, keeps it within -1..1 where it is not.

    Examples
    --------
    >>> spearman_brown(np.array([0.5, 1.0, -1.0])).round(3).tolist()
    [0.667, 1.0, -1.0]
    """
    return np.asarray(2 * r / (1 + np.abs(r)))


def reliability_table(pool: Pool, settings: Settings) -> Table:
    """Correlate each statistic with accuracy and its two halves with each other, over cells and within benchmarks.

    Parameters
    ----------
    pool
        At least three cells.
    settings
        The halves are dealt by its seed.
    """
    sides = _sides(pool, settings)
    rows: list[tuple[Entry, ...]] = [
        ("all cells", WORDS[name], complete(pool[name]), complete(*sides[name][1]), None, *row)
        for name, row in _over(pool, sides, settings).items()
    ]
    within = _benchmarks(pool)
    if len(within) > 1:
        there = np.concatenate(within)
        for name, row in _medians(within, sides, settings).items():
            first, second = sides[name][1]
            counts = complete(pool[name][there]), complete(first[there], second[there])
            rows.append((WITHIN, WORDS[name], *counts, len(within), *row))
    columns = (
        Column("over", "Over", "text"), Column("statistic", "Statistic", "text"), Column("n_cells", "Cells", "count"),
        Column("n_cells_halves", "Cells with both halves", "count"), Column("n_benchmarks", "Benchmarks", "count"),
        Column("with_accuracy", "r_s with accuracy"), Column("split_half", "Split-half r_s"),
        Column("corrected", "Spearman-Brown"),
    )  # fmt: skip
    return Table(
        "reliability", "Correlations with accuracy, and between two random halves of each cell's items", columns,
        tuple(rows), resampled=CELLS, level=settings.level, source="two-factors, Table 9",
        notes=(
            "One split into halves, dealt by a hash of the seed and the item's id: checkpoints with the same items of "
            "a benchmark have the same halves.",
            f"Within benchmarks: the median over benchmarks with at least {FEWEST} cells, cells resampled within each.",
        ),
    )  # fmt: skip


def _benchmarks(pool: Pool) -> list[NDArray[np.intp]]:
    """Return the cells of each benchmark that has enough of them; of each number of options where it has several."""
    return [cells for cells in pool.by_benchmark if len(cells) >= FEWEST]


def _sides(pool: Pool, settings: Settings) -> Sides:
    halves, _ = fold_measures(pool.cells, STATISTICS, 2, settings.seed)
    accuracy = pool["accuracy"]
    return {name: ((pool[name], accuracy), (halves[name][0], halves[name][1])) for name in STATISTICS}


def _over(pool: Pool, sides: Sides, settings: Settings) -> dict[str, tuple[Number, ...]]:
    found = _correlated(np.arange(len(pool)), sides, cell_draws(pool, settings, "variance reliability"), FEWEST_DRAWN)
    return {name: _entries(found[name]) for name in sides}


def _medians(within: Sequence[NDArray[np.intp]], sides: Sides, settings: Settings) -> dict[str, tuple[Number, ...]]:
    """Return for each statistic the medians over benchmarks; a draw resamples the cells of every benchmark."""
    rng = settings.rng("variance within benchmarks")
    each = [
        _correlated(cells, sides, drawn_blocks(np.arange(len(cells)), settings, rng), FEWEST) for cells in within
    ]  # fmt: skip
    found = {}
    for name in sides:
        parts = [_with_corrected(benchmark[name]) for benchmark in each]
        values, draws = (row_medians(np.stack([getattr(p, of) for p in parts], axis=-1)) for of in ("values", "draws"))
        found[name] = Estimates(values, draws, settings.level).numbers
    return found


def _correlated(cells: NDArray[np.intp], sides: Sides, draws: Draws, fewest: int) -> dict[str, Estimates]:
    """Return the two correlations of each statistic over some cells."""
    accuracy = next(iter(sides.values()))[0][1][cells]
    outer = draws.spearman([x[cells] for (x, _), _ in sides.values()], accuracy, fewest)
    found = {}
    for i, (name, (_, (x, y))) in enumerate(sides.items()):
        halves = draws.spearman(x[cells], y[cells], fewest)
        found[name] = Estimates(
            np.array([outer.values[i], halves.values[0]]),
            np.stack([outer.draws[:, i], halves.draws[:, 0]], axis=1),
            draws.level,
        )
    return found


def _with_corrected(found: Estimates) -> Estimates:
    """Append the correlation between halves, corrected for their length."""
    values, draws = (
        np.concatenate([part, spearman_brown(part[..., 1:])], axis=-1) for part in (found.values, found.draws)
    )
    return Estimates(values, draws, found.level)


def _entries(found: Estimates) -> tuple[Number, ...]:
    """Return the correlation with accuracy, between halves, and that corrected."""
    return _with_corrected(found).numbers
