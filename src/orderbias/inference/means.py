"""The mean of a bounded variable that takes few values, with its interval; plain statistics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from orderbias.inference.proportions import alike_mean, unseen_share
from orderbias.inference.resampling import percentile_interval, resampled_sums


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, its interval (None where there is none) and how many units it is of; all None or 0 for no unit."""

    value: float | None
    interval: tuple[float, float] | None
    n: int

    @property
    def direction(self) -> int | None:
        """-1 or 1 where the interval excludes 0 on that side, else 0; None where there is no interval."""
        if self.interval is None:
            return None
        low, high = self.interval
        return 1 if low > 0 else -1 if high < 0 else 0

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {"value": self.value, "interval": None if self.interval is None else list(self.interval), "n": self.n}


def bounded_mean(
    values: ArrayLike,
    *,
    low: float,
    high: float,
    level: float = 0.95,
    resamples: int = 10_000,
    rng: np.random.Generator,
) -> Estimate:
    """Estimate the mean of independent values in ``[low, high]``, with a percentile bootstrap interval.

    Equal values are counted, so the cost does not grow with their number. Where all are equal the bootstrap would
    collapse; the interval is then what an exact binomial bound leaves for values that have not been seen.

    Parameters
    ----------
    values
        ``(n,)``; NaN is left out.
    low, high
        The range that a value can have.
    level, resamples, rng
        Of the interval; no resamples, no interval.

    Examples
    --------
    >>> found = bounded_mean([1.0] * 50, low=0, high=1, rng=np.random.default_rng(0))
    >>> [round(end, 4) for end in found.interval]
    [0.9289, 1.0]
    """
    array = np.asarray(values, np.float64)
    distinct, counts = np.unique(array[~np.isnan(array)], return_counts=True)
    n = int(counts.sum())
    if not n:
        return Estimate(None, None, 0)
    mean = float(distinct @ counts / n)
    if len(distinct) == 1:
        return Estimate(mean, alike_mean(mean, low, high, unseen_share(n, level)), n)
    if not resamples:
        return Estimate(mean, None, n)
    draws = resampled_sums(distinct[:, None], counts, resamples, rng)[:, 0] / n
    return Estimate(mean, percentile_interval(draws, level), n)
