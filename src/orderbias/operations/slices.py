"""Parts of predictions: some items, the presented orderings, the canonical ordering; must not change an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.predictions import MISSING, Predictions

_BY_ITEM = ("choice", "gold", "logprobs", "asked", "status", "ties", "mass", "same_text", "item_ids", "group")
_BY_SLOT = ("choice", "logprobs", "asked", "status", "ties", "mass")


def take_items(predictions: Predictions, rows: NDArray[Any]) -> Predictions:
    """Return some of the items, in the order asked for.

    Parameters
    ----------
    predictions
        Any cell.
    rows
        Bool ``(n_items,)`` or item indices.

    Examples
    --------
    >>> p = Predictions(choice=[[0], [1]], positions=[[0, 1]], gold=[0, 0])
    >>> take_items(p, np.array([False, True])).choice.tolist()
    [[1]]
    """
    parts: dict[str, Any] = {name: _cut(getattr(predictions, name), rows) for name in _BY_ITEM}
    if predictions.per_item:
        parts["positions"] = predictions.positions[rows]
    return replace(predictions, **parts)


def presented_alone(predictions: Predictions) -> Predictions:
    """Return the presented orderings without those that were only queried."""
    if predictions.presented.all():
        return predictions
    return _take_slots(predictions, np.flatnonzero(predictions.presented))


def canonical_alone(predictions: Predictions) -> Predictions:
    """Return the canonical ordering as the only one, ``n_orderings = 1``.

    An item whose own design does not hold it is missing there.

    Raises
    ------
    ArgumentError
        If no item was asked in its canonical ordering.
    """
    canonical = np.asarray((predictions.positions == np.arange(predictions.n_options)).all(axis=-1))
    if predictions.asked is not None:
        canonical = canonical & predictions.asked
    if not canonical.any():
        raise ArgumentError(
            f"The canonical ordering ({' '.join(map(str, range(predictions.n_options)))}) must be among those queried. "
            f"Got {predictions.n_orderings} orderings without it. Run with --design cyclic."
        )
    if not predictions.per_item:
        return _take_slots(predictions, np.flatnonzero(canonical)[:1])
    return _canonical_per_item(predictions, canonical)


def _canonical_per_item(predictions: Predictions, canonical: NDArray[np.bool_]) -> Predictions:
    rows, slot = np.arange(predictions.n_items), canonical.argmax(axis=1)
    there = np.asarray(canonical.any(axis=1))
    parts: dict[str, Any] = {
        name: None if getattr(predictions, name) is None else getattr(predictions, name)[rows, slot][:, None]
        for name in _BY_SLOT
    }
    parts["asked"] = None
    parts["choice"] = np.where(there[:, None], parts["choice"], -1)
    parts["status"] = np.where(there[:, None], parts["status"], MISSING)
    parts["ties"] = there[:, None] & parts["ties"]
    if predictions.logprobs is not None:
        parts["logprobs"] = np.where(there[:, None, None], parts["logprobs"], np.nan)
    parts.update(positions=np.arange(predictions.n_options)[None], presented=None)
    return replace(predictions, **parts)


def _take_slots(predictions: Predictions, slots: NDArray[np.intp]) -> Predictions:
    parts: dict[str, Any] = {
        name: None if getattr(predictions, name) is None else getattr(predictions, name)[:, slots] for name in _BY_SLOT
    }
    parts["positions"] = predictions.positions[:, slots] if predictions.per_item else predictions.positions[slots]
    parts["presented"] = None
    return replace(predictions, **parts)


def _cut(array: Any, rows: NDArray[Any]) -> Any:
    return None if array is None else array[rows]
