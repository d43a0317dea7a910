"""Statistics over cells on draws of whole checkpoints, many at once; knows nothing of what they measure.

All cells of a checkpoint have its multiplicity, so cells are added up within checkpoints once and every draw is a
product of two small matrices. Statistics of one :class:`BlockDraws` share its draws, so differences are paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.blocks import block_draws
from orderbias.inference.intervals import SAME
from orderbias.inference.ranks import spearman
from orderbias.inference.resampling import percentile_interval
from orderbias.measures.sums import ratio
from orderbias.studies.findings import Number
from orderbias.studies.panel.values import PanelCell, Settings

Floats = NDArray[np.float64]
CHECKPOINTS = "checkpoints, each with all its cells"
#: Draws of a rank correlation handled at once; bounds the memory.
_CHUNK = 1000
ONE_CHECKPOINT = "There is one checkpoint, so no interval resamples checkpoints."


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Statistics with their values on each draw.

    Parameters
    ----------
    values
        ``(n,)``, NaN where undefined.
    draws
        ``(resamples, n)``; no row where nothing is resampled.
    level
        Confidence level of the intervals.
    """

    values: Floats
    draws: Floats
    level: float

    def __sub__(self, other: Estimates) -> Estimates:
        """Subtract within each draw."""
        return Estimates(self.values - other.values, self.draws - other.draws, self.level)

    def take(self, columns: Sequence[int] | NDArray[np.integer]) -> Estimates:
        """Return some of the statistics."""
        return Estimates(self.values[columns], self.draws[:, columns], self.level)

    def number(self, i: int) -> Number:
        """Return a statistic with its percentile interval.

        There is none where the draws show no spread, or where more than ``1 - level`` of them leave it undefined.
        """
        draws = self.draws[:, i]
        undefined = np.isnan(draws)
        if not len(draws) or undefined.mean() > 1 - self.level:
            return Number.of(float(self.values[i]))
        interval = percentile_interval(draws, self.level)
        if interval is None or interval[1] - interval[0] <= SAME:
            return Number.of(float(self.values[i]))
        return Number.of(float(self.values[i]), interval)

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Every statistic with its interval."""
        return tuple(self.number(i) for i in range(len(self.values)))


@dataclass(frozen=True, slots=True, eq=False)
class BlockDraws:
    """How often each block of cells, a checkpoint unless said otherwise, is in each draw.

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

    def means(self, values: Floats, weights: Floats | None = None) -> Estimates:
        """Return the mean over cells of every statistic.

        Parameters
        ----------
        values
            ``(n_cells, n)``; a NaN leaves a cell out of that statistic alone.
        weights
            ``(n_cells, n)``: what each cell counts beside its multiplicity; 1 where none are given.
        """
        counts = np.where(np.isnan(values), 0.0, 1.0 if weights is None else np.nan_to_num(weights))
        members = np.equal.outer(np.arange(self.n_blocks), self.block_of).astype(np.float64)
        top, bottom = members @ (counts * np.nan_to_num(values)), members @ counts
        return Estimates(
            ratio(top.sum(axis=0), bottom.sum(axis=0)), ratio(self.weights @ top, self.weights @ bottom), self.level
        )

    def rank_correlation(self, x: Floats, y: Floats) -> Estimates:
        """Return Spearman's correlation of two values of every cell, as the only statistic; NaN leaves a cell out."""
        parts = [
            spearman(x, y, self.weights[start : start + _CHUNK][:, self.block_of])
            for start in range(0, len(self.weights), _CHUNK)
        ]
        drawn = np.concatenate(parts) if parts else np.zeros(0)
        return Estimates(np.atleast_1d(spearman(x, y)), drawn[:, None], self.level)


def checkpoint_draws(cells: Sequence[PanelCell], settings: Settings, analysis: str) -> BlockDraws:
    """Draw whole checkpoints, as :meth:`Pool.checkpoint_draws` does, one column a checkpoint."""
    numbers: dict[str, int] = {}
    block_of = np.array([numbers.setdefault(cell.checkpoint.name, len(numbers)) for cell in cells], np.int64)
    return _draws(block_of, len(numbers), settings, f"{analysis} checkpoints")


def cell_draws(n_cells: int, settings: Settings, analysis: str) -> BlockDraws:
    """Draw single cells, as :meth:`Pool.cell_draws` does."""
    return _draws(np.arange(n_cells), n_cells, settings, f"{analysis} cells")


def _draws(block_of: NDArray[np.int64], n_blocks: int, settings: Settings, name: str) -> BlockDraws:
    resamples = settings.resamples if n_blocks > 1 else 0
    return BlockDraws(block_of, block_draws(np.arange(n_blocks), resamples, settings.rng(name)), settings.level)
