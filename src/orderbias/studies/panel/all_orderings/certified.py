"""Answers under all orderings after an operation, and which of them the precision of the probabilities cannot change.

A stored probability ``p`` is taken to lie anywhere within ``p - e .. p + e``. An answer is certified where its label
stays ahead of every other at the worst ends of these ranges, those of the prior's own probabilities included. Ranges
are taken as independent, although probabilities sum to 1, so the certificate errs on the side of leaving an item out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.operations import PriDe, Prior, ReversalProduct, estimate_prior
from orderbias.operations.scores import TIE_TOLERANCE, require_logprobs
from orderbias.predictions import Predictions
from orderbias.studies.panel.all_orderings.full_orderings import Bools, cyclic_indices
from orderbias.studies.panel.calibration import calibration_split

Floats = NDArray[np.float64]
#: Half of the last of six decimals.
ENVELOPE = 0.5e-6

NONE, PRIDE, PRODUCT, BOTH = "none", "pride", "reversal-product", "pride>reversal-product"
#: The operations of two-factors, Table 18.
OPERATIONS = (NONE, PRIDE, PRODUCT, BOTH)


@dataclass(frozen=True, slots=True, eq=False)
class Certified:
    """The answers of the evaluated items under an operation.

    Parameters
    ----------
    contents
        ``(n_items, K!)``.
    certified
        ``(n_items,)``: no answer under any ordering changes within the envelope.
    """

    contents: NDArray[np.int8]
    certified: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Lowest and highest natural logs of probabilities, ``(..., K)``; -inf where the lowest probability is 0."""

    low: Floats
    high: Floats


def certified_answers(
    predictions: Predictions, seed: int, envelope: float = ENVELOPE
) -> tuple[Predictions, Mapping[str, Certified]]:
    """Apply the operations to the items that do not calibrate and certify their answers.

    PriDe's prior is estimated on 5 % of the items over the K cyclic orderings (two-factors, D.1), the same prior for
    every ordering and so for every balanced set. The reversal product pairs an ordering with its reversal.

    Parameters
    ----------
    predictions
        All K! orderings in lexicographic order, with log-probabilities; at least two items.
    seed
        Of the calibration split.
    envelope
        How far a stored probability may be off.

    Returns
    -------
    tuple
        The evaluated items, and the answers by operation; those that divide a prior out are not there where a label's
        prior is 0.
    """
    parts = calibration_split(predictions, seed)
    cyclic = np.isin(np.arange(predictions.n_orderings), cyclic_indices(predictions.n_options))
    calibration = replace(parts.calibration, presented=cyclic)
    evaluated = parts.evaluation
    found = {NONE: _certify(evaluated, evaluated, None, envelope, paired=False)}
    found[PRODUCT] = _certify(evaluated, reversal_products(evaluated), None, envelope, paired=True)
    try:
        prior = estimate_prior(calibration)
    except ArgumentError:
        return evaluated, found
    ends = log_bounds(calibration, envelope)
    bounds = prior_bounds(ends.low[:, cyclic], ends.high[:, cyclic])
    corrected = _corrected(evaluated, prior)
    found[PRIDE] = _certify(evaluated, corrected, bounds, envelope, paired=False)
    found[BOTH] = _certify(evaluated, reversal_products(corrected), bounds, envelope, paired=True)
    return evaluated, {name: found[name] for name in OPERATIONS}


def _corrected(predictions: Predictions, prior: Prior) -> Predictions:
    return PriDe().with_prior(prior).apply(predictions)


def reversal_products(predictions: Predictions) -> Predictions:
    """Return the reversal product's answer under each of all K! orderings.

    Two orderings that are each other's reversal may not be presented together, so one half of the orderings is
    presented at a time: the reversal of ordering ``i`` is ``K! - 1 - i``, so neither half holds a pair.
    """
    total = predictions.n_orderings
    first = np.arange(total) < total // 2
    halves = [
        ReversalProduct().fit(predictions).apply(replace(predictions, presented=half)) for half in (first, ~first)
    ]
    parts: dict[str, Any] = {
        name: np.concatenate([getattr(half, name) for half in halves], axis=1)
        for name in ("choice", "logprobs", "status", "ties")
    }
    return replace(predictions, **parts, presented=np.ones(total, bool), mass=None)


def log_bounds(predictions: Predictions, envelope: float) -> Bounds:
    """Return the range of each log-probability by place.

    Probabilities are taken as they are stored, whether or not the labels' sum to 1: no answer and no prior depends on
    what an ordering's probabilities have in common.
    """
    p = np.exp(require_logprobs(predictions, "certificate"))
    with np.errstate(divide="ignore"):
        return Bounds(np.log(np.maximum(p - envelope, 0.0)), np.log(p + envelope))


def prior_bounds(low: Floats, high: Floats) -> Bounds:
    """Return the range of the log of PriDe's prior, ``(K,)``.

    An item's prior is its geometric mean over orderings, normalised: label r's is lowest where its own probabilities
    are lowest and all others' highest. The prior is the mean over items, and lies between the means of these ends.

    Parameters
    ----------
    low, high
        ``(n_items, n_orderings, K)``: ends of the calibration items' log-probabilities.
    """
    lowest, highest = np.exp(low.mean(axis=1)), np.exp(high.mean(axis=1))
    others_high = highest.sum(axis=1, keepdims=True) - highest
    others_low = lowest.sum(axis=1, keepdims=True) - lowest
    with np.errstate(divide="ignore"):
        return Bounds(
            np.log((lowest / (lowest + others_high)).mean(axis=0)),
            np.log((highest / (highest + others_low)).mean(axis=0)),
        )


def _certify(
    evaluated: Predictions, operated: Predictions, prior: Bounds | None, envelope: float, *, paired: bool
) -> Certified:
    """Certify the operation's answers; ``paired`` says that it adds the scores of an ordering and its reversal."""
    bounds = log_bounds(evaluated, envelope)
    low, high = bounds.low, bounds.high
    if paired:
        # Ordering i's reversal is K! - 1 - i, and shows at place K - 1 - r what the ordering shows at r.
        low, high = low + low[:, ::-1, ::-1], high + high[:, ::-1, ::-1]
    place = require_logprobs(operated, "certificate").argmax(axis=-1)
    margin = np.take_along_axis(low, place[..., None], axis=-1) - high
    if prior is not None:
        margin = margin - prior_leads(prior, paired=paired)[place]
    answer = place[..., None] == np.arange(evaluated.n_options)
    ahead = (margin > TIE_TOLERANCE) | answer
    return Certified(operated.choice, np.asarray(ahead.all(axis=(1, 2))))


def prior_leads(prior: Bounds, *, paired: bool) -> Floats:
    """Return the most by which label a's log prior may exceed label b's, ``(K, K)``.

    Paired, a content shown at r loses the priors of r and of its mirror, the same two for both labels of a mirrored
    pair, where they cancel exactly.
    """
    labels = np.arange(len(prior.low))
    high, low = (prior.high + prior.high[::-1], prior.low + prior.low[::-1]) if paired else (prior.high, prior.low)
    with np.errstate(invalid="ignore"):
        leads = high[:, None] - low[None, :]
    same = labels[:, None] == labels
    if paired:
        same = same | (labels[:, None] == labels[::-1])
    return np.where(same, 0.0, leads)
