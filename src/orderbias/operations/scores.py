"""Log scores to answers: the array steps that every operation shares; must not know any operation.

Scores are natural logs by place, ``(n_items, n_orderings, n_options)``. Nothing here changes its input.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.orderings import inverse
from orderbias.predictions import MISSING, OK, Predictions

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Scores of two places nearer than this (in nats) are equal: a sum of logs differs by rounding alone. Real
#: differences of single-precision log-probabilities are a thousand times larger.
TIE_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """The best place of every row of scores.

    Parameters
    ----------
    place
        Lowest of the best places, int8 ``(...)``.
    tied
        Whether there are several best places, ``(...)``.
    logprobs
        The scores normalised over the places, best ones made exactly equal, ``(..., n_options)``.
    """

    place: NDArray[np.int8]
    tied: Bools
    logprobs: Floats


def log_softmax(scores: Floats) -> Floats:
    """Normalise log scores over the last axis; a row that holds NaN, or nothing but ``-inf``, becomes NaN.

    Examples
    --------
    >>> np.exp(log_softmax(np.array([0.0, 0.0]))).tolist()
    [0.5, 0.5]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shifted = scores - scores.max(axis=-1, keepdims=True)
        normalised: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return normalised


def pick(scores: Floats) -> Picked:
    """Take the best place of each row; of several equal ones the lowest.

    Examples
    --------
    >>> picked = pick(np.log([[0.2, 0.4, 0.4]]))
    >>> picked.place.tolist(), picked.tied.tolist()
    ([1], [True])
    """
    logprobs = log_softmax(scores)
    top = logprobs.max(axis=-1, keepdims=True)
    best = logprobs >= top - TIE_TOLERANCE
    tied = best.sum(axis=-1) > 1
    if tied.any():
        logprobs = np.where(best, top, logprobs)
    return Picked(best.argmax(axis=-1).astype(np.int8), tied, logprobs)


def require_logprobs(predictions: Predictions, name: str) -> Floats:
    """Return the log-probabilities, or refuse an operation that cannot do without them."""
    if predictions.logprobs is None:
        raise ArgumentError(
            f"{name!r} needs label log-probabilities (the column `logprobs` of records). Got answers alone. "
            "Use majority-vote or agree-or-abstain, which work on answers."
        )
    return predictions.logprobs


def shown_contents(predictions: Predictions) -> NDArray[np.int8]:
    """Return the content shown at each place, ``(n_items, n_orderings, n_options)``, by broadcasting."""
    shown = inverse(predictions.positions)
    return np.broadcast_to(shown, (*predictions.choice.shape, predictions.n_options))


def by_content(predictions: Predictions, scores: Floats) -> Floats:
    """Rearrange scores by place into scores by content, same shape."""
    positions = np.broadcast_to(predictions.positions, scores.shape)
    return np.take_along_axis(scores, positions.astype(np.intp), axis=-1)


def by_place(predictions: Predictions, scores: Floats) -> Floats:
    """Rearrange scores by content, ``(n_items, 1 or n_orderings, n_options)``, into scores by place."""
    shown = shown_contents(predictions)
    return np.take_along_axis(np.broadcast_to(scores, shown.shape), shown.astype(np.intp), axis=-1)


def rescored(predictions: Predictions, scores: Floats, name: str, answered: Bools | None = None) -> Predictions:
    """Return predictions with new scores by place, normalised, and the answers picked from them.

    A slot is answered if it was before, its scores are numbers and ``answered`` (where given) says so.
    """
    picked = pick(scores)
    good = (predictions.choice >= 0) & ~np.isnan(picked.logprobs[..., 0])
    if answered is not None:
        good &= answered
    place = picked.place[..., None].astype(np.intp)
    content = np.take_along_axis(shown_contents(predictions), place, axis=-1)[..., 0]
    return replace(
        predictions,
        choice=np.where(good, predictions.counted_as(content), -1).astype(np.int8),
        logprobs=np.where(good[..., None], picked.logprobs, np.nan),
        ties=picked.tied & good,
        status=status_after(predictions.status, good),
        source=operated(predictions, name),
    )


def status_after(status: NDArray[np.int8], answered: Bools, otherwise: Any = MISSING) -> NDArray[np.int8]:
    """Return OK where answered; elsewhere the status that was there, or ``otherwise`` if that was OK."""
    left = np.where(status != OK, status, otherwise)
    return np.where(answered, OK, left).astype(np.int8)


def operated(predictions: Predictions, name: str) -> Any:
    """Return the source with one more operation in its name."""
    before = predictions.source.as_dict().get("operations")
    return predictions.source.extended(operations=f"{before}>{name}" if before else name)
