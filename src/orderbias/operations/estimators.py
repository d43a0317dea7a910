"""How a label prior is estimated from calibration items; must not know how it is applied.

An estimator first sums up each item over its presented orderings, then averages over items, so that every item
counts once. No gold is read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.operations.prior import Prior, template_of
from orderbias.operations.scores import Floats, log_softmax, require_logprobs
from orderbias.predictions import Predictions


def item_priors(logprobs: Floats, scored: NDArray[np.bool_]) -> Floats:
    """Return PriDe's prior of each item: its normalised geometric mean over orderings.

    ``p_i(r)`` is proportional to ``prod_s P(label r | item i, ordering s) ** (1/m)``. Where every content stands at
    every place equally often, the contents' own scores are the same at every label and cancel.

    Parameters
    ----------
    logprobs
        Natural logs by place, ``(n_items, n_orderings, n_options)``.
    scored
        Which slots count, bool ``(n_items, n_orderings)``.

    Returns
    -------
    Probabilities ``(n_items, n_options)``; NaN where an item's are not defined.

    References
    ----------
    Zheng et al. (2024), "Large language models are not robust multiple choice selectors"; two-factors, D.1.
    """
    return np.exp(log_softmax(_mean_over_slots(logprobs, scored)))


def _mean_over_slots(values: Floats, scored: NDArray[np.bool_]) -> Floats:
    """Mean over the slots that count, ``(n_items, n_options)``; NaN for an item without any."""
    counted = np.where(scored[..., None], values, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Floats = counted / scored.sum(axis=1)[:, None]
    return mean


def _pride(logprobs: Floats, scored: NDArray[np.bool_]) -> tuple[Floats, int]:
    return _mean_over_items(item_priors(logprobs, scored))


def _mean_probability(logprobs: Floats, scored: NDArray[np.bool_]) -> tuple[Floats, int]:
    return _mean_over_items(_mean_over_slots(np.exp(log_softmax(logprobs)), scored))


def _mean_logprob(logprobs: Floats, scored: NDArray[np.bool_]) -> tuple[Floats, int]:
    mean, n_items = _mean_over_items(_mean_over_slots(log_softmax(logprobs), scored))
    return np.exp(log_softmax(mean)), n_items


def _mean_over_items(values: Floats) -> tuple[Floats, int]:
    known = values[~np.isnan(values).any(axis=1)]
    return (known.mean(axis=0) if len(known) else np.full(values.shape[1], np.nan)), len(known)


#: Each estimator: (log-probabilities, scored slots) -> (probabilities by place, items used).
PRIOR_KINDS: dict[str, Callable[[Floats, NDArray[np.bool_]], tuple[Floats, int]]] = {
    "pride": _pride,
    "batch-calibration": _mean_probability,
    "log-calibration": _mean_logprob,
}


def estimate_prior(predictions: Predictions, kind: str = "pride") -> Prior:
    """Estimate a label prior over the presented orderings of the usable items.

    ``pride`` averages the items' normalised geometric means over orderings, ``batch-calibration`` the label
    probabilities themselves, ``log-calibration`` their logs (then normalised).

    Parameters
    ----------
    predictions
        Calibration items, with log-probabilities. Golds are not read.
    kind
        One of ``PRIOR_KINDS``.

    Raises
    ------
    ArgumentError
        If the kind is unknown, there are no log-probabilities, no usable item, or, for ``pride``, no item whose
        presented orderings show every content at every place equally often.

    Examples
    --------
    >>> p = Predictions(choice=[[0, 1]], positions=[[0, 1], [1, 0]], gold=[0],
    ...                 logprobs=np.log([[[0.8, 0.2], [0.5, 0.5]]]))
    >>> [round(v, 3) for v in estimate_prior(p).values]
    [0.667, 0.333]
    >>> [round(v, 3) for v in estimate_prior(p, "batch-calibration").values]
    [0.65, 0.35]
    """
    if kind not in PRIOR_KINDS:
        raise ArgumentError(f"`kind` must be one of {', '.join(PRIOR_KINDS)}. Got {kind!r}.")
    logprobs = require_logprobs(predictions, kind)
    counted = predictions.usable
    if kind == "pride":
        counted = counted & _balanced_items(predictions)
        if predictions.usable.any() and not counted.any():
            raise ArgumentError(
                "PriDe's prior needs presented orderings that show every content at every place equally often. No "
                "item has such a design. Run with --design cyclic, or use batch-calibration."
            )
    values, n_items = PRIOR_KINDS[kind](logprobs[counted], predictions.scored[counted])
    if not n_items:
        raise ArgumentError(
            f"{kind!r} needs at least one calibration item whose presented orderings were all answered with "
            f"log-probabilities. Got none of {predictions.n_items}."
        )
    source = predictions.source.extended(prior=kind, n_calibration=n_items)
    return Prior(kind, tuple(values.tolist()), n_items, predictions.model, template_of(predictions), source)


def _balanced_items(predictions: Predictions) -> NDArray[np.bool_]:
    """Bool ``(n_items,)``: the item's own presented orderings are balanced."""
    scored = predictions.scored
    if not predictions.per_item:
        return np.broadcast_to(predictions.balanced, (predictions.n_items,))
    counts = np.zeros((predictions.n_items, predictions.n_options, predictions.n_options), np.int64)
    rows, contents = np.arange(predictions.n_items)[:, None], np.arange(predictions.n_options)
    for slot in range(predictions.n_orderings):
        counts[rows, contents, predictions.positions[:, slot]] += scored[:, slot, None]
    balanced: NDArray[np.bool_] = (counts * predictions.n_options == scored.sum(axis=1)[:, None, None]).all(axis=(1, 2))
    return balanced
