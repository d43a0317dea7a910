"""How statistics of cells go with accuracy: rank correlations of many draws, and the words for them; knows no table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.inference.ranks import average_ranks, pearson, spearman
from orderbias.inference.resampling import percentile_interval
from orderbias.studies.findings import Number
from orderbias.studies.panel.values import FIRST_TOKEN, Panel, Pool, Settings

Floats = NDArray[np.float64]

CHECKPOINTS = "checkpoints, each with all its cells"
ONE_CHECKPOINT = "There is one checkpoint, so no interval that resamples checkpoints."
#: What a statistic is called in a sentence and in a table.
WORDS = {
    "flip_rate": "flip rate",
    "positional_skew": "positional skew",
    "pooled_sd": "pooled SD",
    "balanced_rstd": "balanced RStd",
    "per_item_sd": "per-item SD",
    "per_item_kl": "per-item KL",
    "forward_kl": "forward KL",
    "fluctuation_rate": "fluctuation rate",
    "pairwise_disagreement": "pairwise disagreement",
    "content_entropy": "content entropy",
    "scaled_flip_rate": "scaled flip rate",
}
#: Draws looked at together: few enough that their ranks stay in the cache, which is four times as fast.
STEP = 250
#: Fewer cells than this have no interval of a rank correlation.
FEWEST_DRAWN = 5


def drawn(statistic: Callable[[Floats], Floats], draws: Floats) -> Floats:
    """Return a statistic of each draw, a few draws at a time.

    Parameters
    ----------
    statistic
        Multiplicities ``(n, n_cells)`` to values ``(n, ...)``.
    draws
        ``(resamples, n_cells)``.
    """
    return np.concatenate([statistic(draws[i : i + STEP]) for i in range(0, len(draws), STEP)])


def main_readout(panel: Panel) -> str:
    """Return the readout that the main analyses read: the first token, else the first that the panel has."""
    return panel.readouts[0] if panel.readouts else FIRST_TOKEN


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Return Spearman's correlation over cells, those with a NaN left out; NaN where one side does not vary."""
    return float(spearman(x, y))


def drawn_spearman(xs: Sequence[ArrayLike], y: ArrayLike, draws: Floats) -> Floats:
    """Return Spearman's correlations of several statistics with one other, in each draw, ``(len(xs), resamples)``.

    Cells with a NaN are left out of the correlation that would read it. The other's ranks are found once.

    Examples
    --------
    >>> drawn_spearman([[1, 2, 3], [3, 2, np.nan]], [1, 3, 4], np.array([[1.0, 1.0, 9.0]])).tolist()
    [[1.0], [-1.0]]
    """
    values, other = np.array(xs, np.float64), np.asarray(y, np.float64)
    gaps = np.isnan(values) | np.isnan(other)

    def correlations(weights: Floats) -> Floats:
        ranked = average_ranks(other, weights)
        return np.stack([
            spearman(x, other, weights) if gap.any() else pearson(average_ranks(x, weights), ranked, weights)
            for x, gap in zip(values, gaps, strict=True)
        ], axis=-1)  # fmt: skip

    return drawn(correlations, draws).T


def correlation(x: ArrayLike, y: ArrayLike, draws: Floats | None, level: float) -> Number:
    """Return Spearman's correlation over cells with the percentile interval of its draws, if there are any.

    Fewer than five cells have none: most of their draws repeat one order.
    """
    value = rank_correlation(x, y)
    if draws is None or complete(x, y) < FEWEST_DRAWN:
        return Number.of(value)
    return Number.of(value, percentile_interval(drawn_spearman([x], y, draws)[0], level))


def whole_checkpoints(pool: Pool, settings: Settings, analysis: str) -> Floats | None:
    """Return draws of whole checkpoints; None where there is one checkpoint, which no draw can vary."""
    return pool.checkpoint_draws(settings, analysis) if len(set(pool.checkpoints.tolist())) > 1 else None


def wider(level: float) -> float:
    """Return the level for analyses that report several quantities at once: 0.975 for 0.95 (two-factors, A.5).

    Examples
    --------
    >>> wider(0.95)
    0.975
    """
    return 1 - (1 - level) / 2


def scopes(pool: Pool) -> Iterator[tuple[str, Pool]]:
    """Yield every cell, then the cells of each number of options where there are several."""
    yield "all", pool
    found = np.unique(pool.n_options)
    if len(found) > 1:
        for k in found:
            yield str(k), pool.where(pool.n_options == k)


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


def written(number: Number, digits: int = 2) -> str:
    """Write a number with its interval for a sentence.

    Examples
    --------
    >>> written(Number(-0.951, -0.97, -0.93)), written(Number(None))
    ('-0.95 [-0.97, -0.93]', 'undefined')
    """
    if number.value is None:
        return "undefined"
    ends = "" if number.low is None or number.high is None else f" [{number.low:.{digits}f}, {number.high:.{digits}f}]"
    return f"{number.value:.{digits}f}{ends}"


def trend(what: str, number: Number) -> str:
    """Say how a statistic goes with accuracy, as far as its interval lets one.

    Examples
    --------
    >>> trend("The flip rate", Number(-0.95, -0.97, -0.93))
    'The flip rate falls with accuracy (r_s = -0.95 [-0.97, -0.93]).'
    >>> trend("The positional skew", Number(0.1, -0.2, 0.4))
    'The positional skew neither clearly rises nor clearly falls with accuracy (r_s = 0.10 [-0.20, 0.40]).'
    """
    if number.value is None:
        return f"{what} has no rank correlation with accuracy here: one of them does not vary."
    way = "rises" if number.value > 0 else "falls"
    if number.low is not None and number.high is not None and number.low <= 0 <= number.high:
        way = "neither clearly rises nor clearly falls"
    return f"{what} {way} with accuracy (r_s = {written(number)})."
