"""A statistic of a pool's cells with the interval that resamples whole checkpoints; knows no analysis.

All statistics of one :class:`CheckpointBlocks` share its draws, so that differences are paired (two-factors, A.5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.blocks import weighted_means, weighted_medians
from orderbias.inference.ranks import partial_spearman, spearman
from orderbias.inference.resampling import percentile_interval
from orderbias.studies.findings import Number
from orderbias.studies.panel.values import Pool, Settings

Floats = NDArray[np.float64]
#: What the intervals resample, as a table says it.
RESAMPLED = "checkpoints, each with all its cells"
#: Said below a table whose intervals cannot be had.
ONE_CHECKPOINT = "There is one checkpoint, so there are no checkpoint-block intervals."
#: Draws handled at once; bounds the memory that the ranks of many draws take.
DRAWS = 2_000

#: Multiplicities of the cells ``(n_draws, n_cells)`` in, a number a draw out.
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class CheckpointBlocks:
    """Shared draws of whole checkpoints.

    Parameters
    ----------
    checkpoints
        ``(n_cells,)``: the checkpoint of each cell.
    draws
        ``(resamples, n_cells)``: how often each cell is in each draw.
    level
        Confidence level of the percentile intervals.
    """

    checkpoints: NDArray[np.int64]
    draws: Floats
    level: float = 0.95

    @classmethod
    def of(cls, pool: Pool, settings: Settings, analysis: str) -> CheckpointBlocks:
        """Draw the checkpoints of a pool."""
        return cls(pool.checkpoints, pool.checkpoint_draws(settings, analysis), settings.level)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what must stand below a table where there can be no interval."""
        return (ONE_CHECKPOINT,) if len(set(self.checkpoints.tolist())) < 2 else ()

    def number(self, statistic: Statistic, *values: Floats) -> Number:
        """Return a statistic with its interval; none where fewer than two checkpoints have the cells that it reads.

        Parameters
        ----------
        statistic
            Of the multiplicities of all cells.
        values
            ``(n_cells,)`` each: the arrays that it reads; a cell is read where none is NaN.
        """
        observed = float(statistic(np.ones((1, len(self.checkpoints))))[0])
        read = ~np.isnan(values).any(axis=0)
        if len(np.unique(self.checkpoints[read])) < 2:
            return Number.of(observed)
        drawn = [statistic(self.draws[start : start + DRAWS]) for start in range(0, len(self.draws), DRAWS)]
        return Number.of(observed, percentile_interval(np.concatenate(drawn), self.level))

    def median(self, values: Floats) -> Number:
        """Return the median over the cells where it is defined."""
        return self.number(lambda weights: weighted_medians(values, weights), values)

    def mean(self, values: Floats) -> Number:
        """Return the mean over the cells where it is defined."""
        return self.number(lambda weights: weighted_means(values, weights), values)

    def median_difference(self, first: Floats, second: Floats) -> Number:
        """Return the median of the first less that of the second, paired within each draw."""
        # Each median reads cells of its own, so the cells of either count.
        either = np.where(np.isnan(first), second, first)
        return self.number(lambda w: weighted_medians(first, w) - weighted_medians(second, w), either)

    def spearman(self, x: Floats, y: Floats) -> Number:
        """Return Spearman's correlation over the cells where both are defined."""
        return self.number(lambda weights: spearman(x, y, weights), x, y)

    def partial_spearman(self, x: Floats, y: Floats, given: Floats) -> Number:
        """Return the partial rank correlation given a third value."""
        return self.number(lambda weights: partial_spearman(x, y, given, weights), x, y, given)


def said(number: object, digits: int = 2) -> str:
    """Write an entry of a table with its interval for a sentence.

    Examples
    --------
    >>> said(Number(0.871, 0.8, 0.912)), said(Number(None))
    ('0.87 [0.80, 0.91]', 'undefined')
    """
    if not isinstance(number, Number) or number.value is None:
        return "undefined"
    ends = "" if number.low is None or number.high is None else f" [{number.low:.{digits}f}, {number.high:.{digits}f}]"
    return f"{number.value:.{digits}f}{ends}"


def sign(number: Number) -> int:
    """Return 1 or -1 where the whole interval is on that side of 0, else 0; 0 without an interval.

    Examples
    --------
    >>> sign(Number(0.3, 0.1, 0.5)), sign(Number(0.3, -0.1, 0.5)), sign(Number(0.3))
    (1, 0, 0)
    """
    if number.low is None or number.high is None:
        return 0
    return int(number.low > 0) - int(number.high < 0)
