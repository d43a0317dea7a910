"""How reliably the factors rank cells, and how they go with accuracy within benchmarks; one part of ``variance``.

Source: two-factors, Table 9. Both halves of a cell's items give each statistic once; over cells the two are correlated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.blocks import block_draws
from orderbias.inference.resampling import percentile_interval
from orderbias.studies.findings import Column, Entry, Number, Table
from orderbias.studies.panel.association import (
    FEWEST_DRAWN,
    WORDS,
    complete,
    drawn_spearman,
    rank_correlation,
    row_medians,
)
from orderbias.studies.panel.item_folds import fold_measures
from orderbias.studies.panel.values import Pool, Settings

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
        tuple(rows), resampled="cells", level=settings.level, source="two-factors, Table 9",
        notes=(
            "One split into halves, dealt by a hash of the seed and the item's id: all checkpoints of a benchmark "
            "have the same halves.",
            f"Within benchmarks: the median over benchmarks with at least {FEWEST} cells, cells resampled within each.",
        ),
    )  # fmt: skip


def _benchmarks(pool: Pool) -> list[NDArray[np.intp]]:
    """Return the cells of each benchmark that has enough of them; of each number of options where it has several."""
    code = pool.codes(lambda cell: (cell.benchmark, cell.n_options))
    found = [np.flatnonzero(code == b) for b in np.unique(code)]
    return [cells for cells in found if len(cells) >= FEWEST]


def _sides(pool: Pool, settings: Settings) -> Sides:
    halves, _ = fold_measures(pool.cells, STATISTICS, 2, settings.seed)
    accuracy = pool["accuracy"]
    return {name: ((pool[name], accuracy), (halves[name][0], halves[name][1])) for name in STATISTICS}


def _over(pool: Pool, sides: Sides, settings: Settings) -> dict[str, list[Number]]:
    draws = pool.cell_draws(settings, "variance reliability")
    everything = np.arange(len(pool))
    values, drawn = _correlated(everything, sides, draws)
    found = {name: _entries(values[name][..., None], drawn[name][..., None], settings.level) for name in sides}
    return found if len(pool) >= FEWEST_DRAWN else {k: [Number(n.value) for n in row] for k, row in found.items()}


def _medians(within: Sequence[NDArray[np.intp]], sides: Sides, settings: Settings) -> dict[str, list[Number]]:
    """Return for each statistic the medians over benchmarks; a draw resamples the cells of every benchmark."""
    rng = settings.rng("variance within benchmarks")
    found = [_correlated(cells, sides, block_draws(np.arange(len(cells)), settings.resamples, rng)) for cells in within]
    return {
        name: _entries(
            np.stack([values[name] for values, _ in found], axis=-1),
            np.stack([drawn[name] for _, drawn in found], axis=-1),
            settings.level,
        )
        for name in sides
    }


def _correlated(cells: NDArray[np.intp], sides: Sides, draws: Floats) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return the two correlations of each statistic over some cells, ``(2,)``, and in the draws, ``(2, resamples)``."""
    values = {name: np.array([rank_correlation(x[cells], y[cells]) for x, y in both]) for name, both in sides.items()}
    accuracy = next(iter(sides.values()))[0][1][cells]
    outer = drawn_spearman([outer[0][cells] for outer, _ in sides.values()], accuracy, draws)
    drawn = {
        name: np.stack([one, *drawn_spearman([x[cells]], y[cells], draws)])
        for (name, (_, (x, y))), one in zip(sides.items(), outer, strict=True)
    }
    return values, drawn


def _entries(values: Floats, drawn: Floats, level: float) -> list[Number]:
    """Return the correlation with accuracy, between halves, and that corrected: medians over the last axis."""
    (outer, halves), (outer_draws, half_draws) = values, drawn
    pairs = (
        (outer, outer_draws), (halves, half_draws), (spearman_brown(halves), spearman_brown(half_draws)),
    )  # fmt: skip
    return [Number.of(float(row_medians(v)), percentile_interval(row_medians(d), level)) for v, d in pairs]
