"""PriDe as it was published: calibration items scored by permutation averaging, the rest once with the prior out.

No arithmetic of its own: it joins :class:`MeanProbability` and :class:`PriDe` on two parts of the items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.operations.corrections import FittedCorrection, PriDe
from orderbias.operations.estimators import estimate_prior
from orderbias.operations.pools import MeanProbability
from orderbias.operations.prior import Prior
from orderbias.operations.scores import operated, require_logprobs
from orderbias.operations.slices import canonical_alone, take_items
from orderbias.operations.splits import calibration_items, n_calibration_items
from orderbias.predictions import Predictions


@dataclass(frozen=True, slots=True, eq=False)
class PublishedPriDe:
    """The answers of PriDe's published protocol, one set a split; average measures over ``runs``.

    Parameters
    ----------
    runs
        Predictions over the canonical ordering alone, all items, one value a split.
    chosen
        Bool ``(n_splits, n_items)``: the calibration items of each.
    priors
        The prior of each.
    calls_per_item
        ``(m n_cal + n_rest) / N`` queries, with m orderings of a calibration item (K cyclic ones) and N usable items.
    accuracies
        Share of right answers of each run, over usable items with a known gold; NaN without any.
    """

    runs: tuple[Predictions, ...]
    chosen: NDArray[np.bool_]
    priors: tuple[Prior, ...]
    calls_per_item: float
    accuracies: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        """Mean accuracy over the splits."""
        return float(np.mean(self.accuracies))


def published_pride(
    predictions: Predictions, share: float = 0.05, n_splits: int = 5, seed: int = 0, alpha: float = 1.0
) -> PublishedPriDe:
    """Score a cell as Zheng et al. (2024) publish PriDe.

    ``share`` of the items are asked in every presented ordering: they give the prior and are answered by the mean
    probability of their contents. Every other item is asked in its canonical ordering only and the prior divided out.
    All items count.

    Parameters
    ----------
    predictions
        A cell with log-probabilities whose presented orderings are balanced and hold the canonical one.
    share
        Share of calibration items, above 0 and below 1.
    n_splits
        How many splits; their seeds are ``seed, seed + 1, ...``
    seed
        Of the first split.
    alpha
        Strength of the correction.

    Raises
    ------
    ArgumentError
        If log-probabilities, balance, or the canonical ordering are missing, or a value is outside its range.
    """
    if n_splits < 1:
        raise ArgumentError(f"`n_splits` must be 1 or more. Got {n_splits}.")
    require_logprobs(predictions, "pride as published")
    operation = PriDe(alpha=alpha, canonical_only=True)
    chosen = np.stack([calibration_items(predictions, share, seed + i) for i in range(n_splits)])
    priors = tuple(estimate_prior(take_items(predictions, mask)) for mask in chosen)
    averaged = canonical_alone(MeanProbability().fit(predictions).apply(predictions))
    usable = predictions.usable
    runs = tuple(
        _joined(averaged, operation.with_prior(prior), predictions, mask)
        for prior, mask in zip(priors, chosen, strict=True)
    )
    n_usable, n_calibration = int(usable.sum()), int(chosen[0].sum())
    asked = float(predictions.scored[usable].sum(axis=1).mean())
    return PublishedPriDe(
        runs=runs,
        chosen=chosen,
        priors=priors,
        calls_per_item=(asked * n_calibration + n_usable - n_calibration) / n_usable,
        accuracies=tuple(_accuracy(run, usable) for run in runs),
    )


def published_cost(n_items: int, n_options: int, share: float = 0.05) -> float:
    """Return the queries per item of the published protocol: ``(K n_cal + n_rest) / N``.

    Examples
    --------
    >>> round(published_cost(13_592, 4), 5)
    1.14987
    """
    n_calibration = n_calibration_items(n_items, share)
    return (n_options * n_calibration + n_items - n_calibration) / n_items


def _joined(
    averaged: Predictions, correction: FittedCorrection, predictions: Predictions, chosen: NDArray[np.bool_]
) -> Predictions:
    """Take the averaged answers of the calibration items and the corrected ones of all others."""
    corrected = correction.apply(predictions)
    column = chosen[:, None]
    return replace(
        corrected,
        choice=np.where(column, averaged.choice, corrected.choice),
        logprobs=np.where(column[..., None], averaged.logprobs, corrected.logprobs),  # type: ignore[arg-type]
        ties=np.where(column, averaged.ties, corrected.ties),
        status=np.where(column, averaged.status, corrected.status),
        source=operated(predictions, "pride-as-published").extended(n_calibration=int(chosen.sum())),
    )


def _accuracy(run: Predictions, usable: NDArray[np.bool_]) -> float:
    known = usable & run.usable & (run.gold >= 0)
    return float((run.choice[known, 0] == run.gold[known]).mean()) if known.any() else float("nan")
