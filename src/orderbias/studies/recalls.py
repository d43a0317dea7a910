"""Right answers under the first presented ordering, and how evenly they fall on the places of the right option."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.means import Estimate
from orderbias.inference.proportions import clopper_pearson
from orderbias.inference.resampling import percentile_interval, resampled_sums
from orderbias.predictions import Predictions

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def first_slot(arm: Predictions) -> int:
    """Return the index of the first presented ordering."""
    return int(np.flatnonzero(arm.presented)[0])


def right_answers(arm: Predictions) -> Bools:
    """Whether each question was answered right under the first ordering; no answer is wrong."""
    return np.asarray(arm.choice[:, first_slot(arm)] == arm.gold)


def share(hits: Bools, level: float) -> Estimate:
    """Return the share of hits with a Clopper-Pearson interval."""
    k, n = int(hits.sum()), len(hits)
    low, high = clopper_pearson(k, n, level)
    return Estimate(k / n, (float(low), float(high)), n)


def rstd(arm: Predictions, level: float, resamples: int, seed: int) -> Estimate:
    """Return RStd in points: the population SD of the recalls by the place of the right option (Zheng et al. 2024).

    Under the first presented ordering, of the questions that have an answer there, as published; None where a place
    has none. The interval resamples questions; there is none where more of the resamples lack a place than may lie
    outside it.
    """
    slot = first_slot(arm)
    answered = arm.choice[:, slot] >= 0
    n = int(answered.sum())
    positions = (
        arm.positions[:, slot] if arm.per_item else np.broadcast_to(arm.positions[slot], (arm.n_items, arm.n_options))
    )
    place = np.take_along_axis(positions, arm.gold.astype(np.intp)[:, None], axis=1)[:, 0]
    k = arm.n_options
    kinds, counts = np.unique((2 * place.astype(np.int64) + right_answers(arm))[answered], return_counts=True)
    rows = np.zeros((len(kinds), 2 * k))
    rows[np.arange(len(kinds)), kinds // 2] = 1
    rows[np.arange(len(kinds)), k + kinds // 2] = kinds % 2
    value = float(_spread(counts @ rows, k))
    if np.isnan(value):
        return Estimate(None, None, n)
    if not resamples:
        return Estimate(value, None, n)
    draws = _spread(resampled_sums(rows, counts, resamples, np.random.default_rng(seed)), k)
    # Too few items at a place, and what resamples leave is no interval of this.
    known = np.isnan(draws).mean() <= 1 - level
    return Estimate(value, percentile_interval(draws, level) if known else None, n)


def _spread(sums: Floats, k: int) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(100 * (sums[..., k:] / sums[..., :k]).std(axis=-1))
