"""Statistics over a pool's cells, with the draws that their intervals are read from; knows no analysis and no table.

Checkpoints are drawn whole, or cells one by one (two-factors, A.5). Statistics of one :class:`Draws` share its draws,
so that their differences are paired. Whether a number has an interval is decided in one place, :func:`drawn_number`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.inference.blocks import block_draws, simultaneous_intervals, weighted_medians
from orderbias.inference.intervals import SAME
from orderbias.inference.ranks import average_ranks, partial_spearman, pearson, spearman
from orderbias.inference.resampling import percentile_interval
from orderbias.measures.sums import ratio
from orderbias.studies.findings import Number
from orderbias.studies.panel.values import Pool, Settings

Floats = NDArray[np.float64]
#: Multiplicities of the cells ``(n_draws, n_cells)`` in; ``(n_draws,)`` or ``(n_draws, n)`` out.
Statistic = Callable[[Floats], Floats]

#: What intervals resample, as a table says it.
CHECKPOINTS, CELLS = "checkpoints, each with all its cells", "cells"
#: Said below a table whose intervals cannot be had.
ONE_CHECKPOINT = "There is one checkpoint, so no interval resamples checkpoints."
#: Draws handled at once: few enough that their ranks stay in the cache, which is four times as fast.
STEP = 250
#: A rank correlation of fewer cells has no interval: most of its draws repeat one order.
FEWEST_DRAWN = 5


def drawn_number(value: float, draws: Floats, level: float) -> Number:
    """Return a statistic with the percentile interval of its draws, where these say something.

    There is no interval without draws, where more than ``1 - level`` of them leave the statistic undefined, and where
    they have no spread. So there is none where fewer than two checkpoints have the cells that are read.

    Examples
    --------
    >>> drawn_number(50.0, np.arange(101.0), 0.5)
    Number(value=50.0, low=25.0, high=75.0)
    >>> drawn_number(0.5, np.full(100, 0.5), 0.9)
    Number(value=0.5, low=None, high=None)
    """
    if not len(draws) or np.isnan(draws).mean() > 1 - level:
        return Number.of(value)
    interval = percentile_interval(draws, level)
    if interval is None or interval[1] - interval[0] <= SAME:
        return Number.of(value)
    return Number.of(value, interval)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Statistics with their values in each draw.

    Parameters
    ----------
    values
        ``(n,)``, NaN where undefined.
    draws
        ``(resamples, n)``; no row where nothing can be resampled.
    level
        Confidence level of the intervals.
    """

    values: Floats
    draws: Floats
    level: float

    def __sub__(self, other: Estimates) -> Estimates:
        """Subtract within each draw."""
        return Estimates(self.values - other.values, self.draws - other.draws, self.level)

    def __abs__(self) -> Estimates:
        """Return the sizes."""
        return Estimates(np.abs(self.values), np.abs(self.draws), self.level)

    def take(self, columns: Sequence[int] | NDArray[np.integer]) -> Estimates:
        """Return some of the statistics."""
        return Estimates(self.values[columns], self.draws[:, columns], self.level)

    def number(self, i: int = 0) -> Number:
        """Return a statistic with its percentile interval, if it has one."""
        return drawn_number(float(self.values[i]), self.draws[:, i], self.level)

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Every statistic with its percentile interval."""
        return tuple(self.number(i) for i in range(len(self.values)))

    @property
    def joint_numbers(self) -> tuple[Number, ...]:
        """Every statistic with an interval that holds for all of them together."""
        ends = simultaneous_intervals(self.values, self.draws, self.level)
        return tuple(Number.of(float(v), end) for v, end in zip(self.values, ends, strict=True))


def mean_estimates(parts: Sequence[Estimates]) -> Estimates:
    """Return the mean of several estimates of the same statistics, within each draw."""
    values, draws = (np.mean([getattr(part, name) for part in parts], axis=0) for name in ("values", "draws"))
    return Estimates(values, draws, parts[0].level)


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """How often each block of cells, a checkpoint or one cell, is in each draw.

    Parameters
    ----------
    block_of
        ``(n_cells,)``: the 0-based block of each cell.
    weights
        ``(resamples, n_blocks)``; no row where there is one block.
    level
        Confidence level.
    """

    block_of: NDArray[np.int64]
    weights: Floats
    level: float

    @property
    def n_blocks(self) -> int:
        """Blocks."""
        return int(self.weights.shape[1])

    @property
    def cells(self) -> Floats:
        """How often each cell is in each draw, ``(resamples, n_cells)``."""
        return self.weights[:, self.block_of]

    @property
    def notes(self) -> tuple[str, ...]:
        """What must stand below a table of checkpoint draws where there can be no interval."""
        return () if len(self.weights) else (ONE_CHECKPOINT,)

    def of(self, cells: NDArray[np.integer] | NDArray[np.bool_] | Sequence[int]) -> Draws:
        """Return the same draws for some of the cells: a mask, or their numbers."""
        return replace(self, block_of=self.block_of[np.asarray(cells)])

    def first(self, resamples: int) -> Draws:
        """Return at most so many of the draws."""
        return replace(self, weights=self.weights[:resamples])

    def at(self, level: float) -> Draws:
        """Return the same draws for intervals of another level."""
        return replace(self, level=level)

    def estimates(self, statistic: Statistic) -> Estimates:
        """Return what a function of the cells' multiplicities gives in the sample and in each draw."""
        values = np.reshape(statistic(np.ones((1, len(self.block_of)))), -1)
        parts = [
            statistic(self.weights[start : start + STEP][:, self.block_of])
            for start in range(0, len(self.weights), STEP)
        ]
        drawn = np.concatenate(parts).reshape(len(self.weights), -1) if parts else np.zeros((0, len(values)))
        return Estimates(values, drawn, self.level)

    def means(self, values: Floats, weights: Floats | None = None) -> Estimates:
        """Return means over cells, of which a NaN leaves one out of that statistic alone.

        Parameters
        ----------
        values
            ``(n_cells,)`` or ``(n_cells, n)``.
        weights
            Of the same shape: what each cell counts beside its multiplicity; 1 where none are given.
        """
        table = values.reshape(len(values), -1)
        ones = 1.0 if weights is None else np.nan_to_num(weights.reshape(table.shape))
        counts = np.where(np.isnan(table), 0.0, ones)
        # Cells are added up within blocks once; a draw is then a product of two small matrices.
        members = np.equal.outer(np.arange(self.n_blocks), self.block_of).astype(np.float64)
        top, bottom = members @ (counts * np.nan_to_num(table)), members @ counts
        return Estimates(
            ratio(top.sum(axis=0), bottom.sum(axis=0)), ratio(self.weights @ top, self.weights @ bottom), self.level
        )

    def median(self, values: Floats) -> Estimates:
        """Return the median over the cells where it is defined, ``(n_cells,)`` in."""
        return self.estimates(lambda weights: weighted_medians(values, weights))

    def spearman(self, xs: ArrayLike, y: ArrayLike, fewest: int = FEWEST_DRAWN) -> Estimates:
        """Return Spearman's correlation of each of several statistics with one other.

        Parameters
        ----------
        xs
            ``(n_cells,)`` or ``(n, n_cells)``. Cells with a NaN are left out of the correlation that would read it.
        y
            ``(n_cells,)``. Its ranks are found once.
        fewest
            A correlation over fewer cells has no draws.
        """
        table, other = np.atleast_2d(np.asarray(xs, np.float64)), np.asarray(y, np.float64)
        gaps = np.isnan(table) | np.isnan(other)

        def correlations(weights: Floats) -> Floats:
            ranked = average_ranks(other, weights)
            return np.stack([
                spearman(x, other, weights) if gap.any() else pearson(average_ranks(x, weights), ranked, weights)
                for x, gap in zip(table, gaps, strict=True)
            ], axis=-1)  # fmt: skip

        return self._enough(self.estimates(correlations), (~gaps).sum(axis=1), fewest)

    def partial_spearman(self, x: Floats, y: Floats, given: Floats) -> Estimates:
        """Return the partial rank correlation of two statistics given a third, ``(n_cells,)`` each."""
        return self.ranked(lambda weights: partial_spearman(x, y, given, weights), complete(x, y, given))

    def ranked(self, statistic: Statistic, n_cells: int) -> Estimates:
        """Return a statistic of rank correlations over so many cells."""
        return self._enough(self.estimates(statistic), np.array([n_cells]), FEWEST_DRAWN)

    def _enough(self, found: Estimates, n_cells: NDArray[np.integer], fewest: int) -> Estimates:
        return replace(found, draws=np.where(n_cells >= fewest, found.draws, np.nan))


def checkpoint_draws(pool: Pool, settings: Settings, analysis: str) -> Draws:
    """Draw whole checkpoints, each with all its cells."""
    return _draws(pool.checkpoints, settings, f"{analysis} checkpoints")


def cell_draws(pool: Pool, settings: Settings, analysis: str) -> Draws:
    """Draw cells one by one."""
    return _draws(np.arange(len(pool)), settings, f"{analysis} cells")


def _draws(block_of: NDArray[np.int64], settings: Settings, name: str) -> Draws:
    return drawn_blocks(block_of, settings, settings.rng(name))


def drawn_blocks(block_of: NDArray[np.int64], settings: Settings, rng: np.random.Generator) -> Draws:
    """Draw any blocks; a single one is not drawn, as no draw can vary it."""
    n_blocks = int(block_of.max()) + 1 if len(block_of) else 0
    resamples = settings.resamples if n_blocks > 1 else 0
    return Draws(block_of, block_draws(np.arange(n_blocks), resamples, rng), settings.level)


def wider(level: float) -> float:
    """Return the level for analyses that report several quantities at once: 0.975 for 0.95 (two-factors, A.5).

    Examples
    --------
    >>> wider(0.95)
    0.975
    """
    return 1 - (1 - level) / 2


def complete(*values: ArrayLike) -> int:
    """Count the cells in which nothing is NaN."""
    return int((~np.isnan(np.stack([np.asarray(v, np.float64) for v in values])).any(axis=0)).sum())


def row_medians(values: Floats) -> Floats:
    """Return the median over the last axis, leaving NaN out; NaN where nothing is left.

    Examples
    --------
    >>> row_medians(np.array([[3.0, np.nan, 1.0], [np.nan, np.nan, np.nan]])).tolist()
    [2.0, nan]
    """
    ordered = np.sort(values, axis=-1)  # NaN last
    n = (~np.isnan(values)).sum(axis=-1, keepdims=True)
    low, high = (np.take_along_axis(ordered, np.maximum(i, 0), axis=-1) for i in ((n - 1) // 2, n // 2 - (n == 0)))
    return np.asarray((low + high)[..., 0] / 2)
