"""Rates of a judge whose units are pairs: how consistent it is, and how often it takes the first place."""

from __future__ import annotations

import numpy as np

from orderbias.inference.means import Estimate
from orderbias.inference.weighing import weighed_ratio
from orderbias.judge.swap import OutcomeCounts, outcome_counts, pair_consistency
from orderbias.judge.values import Judgments
from orderbias.judge.win_rates import share


def consistency(
    judgments: Judgments, unreadable: str = "exclude", *, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> Estimate:
    """Estimate the share that :func:`~orderbias.judge.swap.pair_consistency` counts.

    A share of pairs has its exact interval. Under the rule ``consistent`` calls are counted, and the two calls of a
    pair are consistent or not together, so pairs are what is weighed.

    Examples
    --------
    >>> calls = np.array([[0, 1]] * 6 + [[0, 0]] * 2)[:, :, None].astype(np.int8)
    >>> judgments = Judgments(np.array(list("12345678"), object), calls)
    >>> consistency(judgments).value, consistency(judgments, "consistent").value
    (0.75, 0.75)
    """
    consistent, units = pair_consistency(judgments, unreadable)
    if unreadable != "consistent":
        return share(consistent, units, level)
    counts = outcome_counts(judgments)
    disagree = counts.n_complete - counts.n_consistent
    alone = units - 2 * counts.n_complete  # readable calls whose partner is not
    return weighed_ratio(
        [2, 0, 1], [2, 2, 1], [counts.n_consistent, disagree, alone],
        most=2, level=level, draws=resamples, rng=np.random.default_rng(seed),
    )  # fmt: skip


def first_position_rate(
    counts: OutcomeCounts, *, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> Estimate:
    """Estimate the share of decisive calls that took the first place; a pair gives 0, 1 or 2 of them.

    Examples
    --------
    >>> found = first_position_rate(OutcomeCounts(np.array([[3, 2, 0], [2, 1, 0], [0, 0, 9]])))
    >>> found.value, found.n
    (0.625, 16)
    """
    places = np.arange(3)
    first = (places[:, None] == 0).astype(int) + (places[None, :] == 0)
    decisive = (places[:, None] < 2).astype(int) + (places[None, :] < 2)
    return weighed_ratio(
        first.ravel(), decisive.ravel(), counts.table.ravel(),
        most=2, level=level, draws=resamples, rng=np.random.default_rng(seed),
    )  # fmt: skip
