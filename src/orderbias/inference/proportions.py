"""Exact binomial intervals, and what they say of values that never varied; knows nothing of options or orders."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, entr

from orderbias.errors import ArgumentError

Floats = NDArray[np.float64]

#: Bootstrap samples beyond this would only take memory: the ends of intervals do not move any more.
MAX_RESAMPLES = 1_000_000


def check_level(level: float) -> None:
    """Raise unless a confidence level lies strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ArgumentError(f"`level` must lie strictly between 0 and 1. Got {level}. For 95 % give 0.95.")


def check_draws(resamples: int, seed: int) -> None:
    """Raise unless a number of samples and a seed are whole numbers in their range."""
    for name, value, most in (("resamples", resamples, MAX_RESAMPLES), ("seed", seed, math.inf)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= most:
            until = "at least 0" if most == math.inf else f"0 to {most:,}"
            raise ArgumentError(f"`{name}` must be a whole number of {until}. Got {value!r}.")


def clopper_pearson(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Exact two-sided interval of a binomial proportion; its coverage is never below ``level``.

    The ends are quantiles of beta distributions: ``Beta(k, n - k + 1)`` below and ``Beta(k + 1, n - k)`` above; exactly
    0 for no success and exactly 1 for no failure (Clopper and Pearson 1934).

    Parameters
    ----------
    successes, trials
        Whole numbers with ``0 <= successes <= trials`` and ``trials >= 1``; broadcast.
    level
        Confidence level, between 0 and 1.

    Returns
    -------
    low, high
        Arrays of the broadcast shape, 0 to 1.

    Raises
    ------
    ArgumentError
        If a number is outside its range.

    Examples
    --------
    >>> [round(float(end), 4) for end in clopper_pearson(0, 50)]
    [0.0, 0.0711]
    """
    check_level(level)
    k, n = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(trials, np.float64))
    if not ((k >= 0) & (k <= n) & (n >= 1)).all():
        raise ArgumentError(
            f"`successes` must be 0..`trials` and `trials` at least 1. Got {successes!r} of {trials!r}."
        )
    tail = (1 - level) / 2
    # The arguments are kept above 0 where the end is known anyway.
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), n - k + 1, tail))
    high = np.where(k == n, 1.0, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail))
    return low, high


def unseen_share(n: int, level: float = 0.95) -> float:
    """Largest share, at a confidence level, of a kind that did not occur in ``n`` independent draws.

    The upper Clopper-Pearson end of 0 of ``n``: ``1 - ((1 - level) / 2) ** (1 / n)``.
    """
    return float(clopper_pearson(0, n, level)[1])


# When all n draws gave the same x, at most a share q of the population is of another kind. The population value is
# then a mixture (1 - q) x + q (anything allowed), which bounds it although the sample shows no spread at all.


def alike_mean(value: float, low: float, high: float, q: float) -> tuple[float, float]:
    """Bound the mean of a variable in ``[low, high]`` that equals ``value`` but for a share of at most ``q``.

    Examples
    --------
    >>> alike_mean(1.0, 0.0, 1.0, 0.25)
    (0.75, 1.0)
    """
    return float(max(low, value - q * (value - low))), float(min(high, value + q * (high - value)))


def alike_seminorm(norm: float, peak: float, q: float) -> tuple[float, float]:
    """Bound a seminorm of a mean of vectors, all of one vector of seminorm ``norm`` but for a share of at most ``q``.

    By the triangle inequality, with ``peak`` the largest seminorm of a vector.
    """
    return max(0.0, (1 - q) * norm - q * peak), min(peak, (1 - q) * norm + q * peak)


def alike_divergence(bits: float, peak: float, q: float) -> tuple[float, float]:
    """Bound the divergence from uniform of a mean of distributions, all alike but for a share of at most ``q``.

    ``bits`` is the divergence of the one, ``peak`` the largest. Convexity bounds it above; the entropy of a mixture is
    at most the mean entropy plus the entropy of the mixing share, which bounds it below.
    """
    mixing = 1.0 if q >= 0.5 else float((entr(q) + entr(1 - q)) / np.log(2))
    return max(0.0, (1 - q) * bits - mixing), min(peak, (1 - q) * bits + q * peak)
