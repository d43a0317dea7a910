"""Bootstrap sums over counted rows; plain statistics, knows nothing of options or orders.

Drawing n units with replacement from rows with counts ``c`` gives each row a multinomial number of units. Sums over
the drawn units are therefore ``draws @ rows``, and neither the drawing nor the sum grows with n while the number of
different rows does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: A row with more units than this is drawn by one binomial (some 80 ns), the others unit by unit (some 5 ns each).
HEAVY = 16
#: Array elements drawn at once, and samples at least. Blocks stay in the cache, and the products of a few columns are
#: too small for BLAS to start threads, which costs more than it gains.
BLOCK = 25_000
SAMPLES = 16


def resampled_sums(
    rows: Floats, counts: NDArray[np.integer], resamples: int, rng: np.random.Generator, *,
    heavy: float = HEAVY, samples: int = SAMPLES,
) -> Floats:  # fmt: skip
    """Draw bootstrap samples of all units and return the sum of each.

    Parameters
    ----------
    rows
        ``(n_rows, n_columns)``.
    counts
        ``(n_rows,)``: how many units have each row, at least 1.
    resamples
        How many bootstrap samples.
    rng
        Source of randomness.
    heavy
        Rows with more units than this are drawn by binomials. It changes the cost and the numbers drawn, never
        their distribution.
    samples
        Multiply at least so many samples at once. Many are faster where ``rows`` has many columns.

    Returns
    -------
    numpy.ndarray
        ``(resamples, n_columns)``.
    """
    order = np.argsort(-counts, kind="stable")
    rows, counts = rows[order], counts[order]
    n_heavy = int((counts > heavy).sum())
    step = max(samples, BLOCK // max(len(rows), 1))
    out = np.empty((resamples, rows.shape[1]))
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        draws = np.empty((stop - start, len(rows)))
        light = _draw_heavy(counts, n_heavy, draws, rng)
        _draw_light(counts[n_heavy:], light, draws[:, n_heavy:], rng)
        out[start:stop] = draws @ rows
    return out


def _draw_heavy(
    counts: NDArray[np.integer], n_heavy: int, draws: Floats, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Fill the heavy columns of ``draws``; return how many units each sample takes from the light rows together."""
    total = counts.sum()
    shares = np.append(counts[:n_heavy], counts[n_heavy:].sum()) / total
    if not n_heavy:
        return np.full(len(draws), total, np.int64)
    drawn = rng.multinomial(total, shares, size=len(draws))
    draws[:, :n_heavy] = drawn[:, :n_heavy]
    return drawn[:, n_heavy]


def _draw_light(counts: NDArray[np.integer], sizes: NDArray[np.int64], draws: Floats, rng: np.random.Generator) -> None:
    """Fill the light columns: ``sizes`` units a sample, each uniform over the units of these rows."""
    n_rows = len(counts)
    if not n_rows:
        return
    row_of_unit = np.repeat(np.arange(n_rows), counts)
    for part in _parts(sizes):
        size = sizes[part]
        unit = rng.integers(0, len(row_of_unit), int(size.sum()), dtype=np.int32)
        cell = np.repeat(np.arange(len(size)) * n_rows, size) + row_of_unit[unit]
        draws[part] = np.bincount(cell, minlength=len(size) * n_rows).reshape(len(size), n_rows)


def _parts(sizes: NDArray[np.int64]) -> Iterator[slice]:
    """Cut samples into runs of at most ``BLOCK`` units (at least one sample)."""
    if not len(sizes):
        return
    step = max(1, int(BLOCK // max(sizes.max(), 1)))
    for start in range(0, len(sizes), step):
        yield slice(start, start + step)


def percentile_interval(draws: Floats, level: float) -> tuple[float, float] | None:
    """Central percentile interval of the draws that are defined; ``None`` when none is.

    Examples
    --------
    >>> percentile_interval(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    defined = draws[~np.isnan(draws)]
    if not defined.size:
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
