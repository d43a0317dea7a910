"""Which items a prior is estimated on; must not read a gold."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.operations.slices import take_items
from orderbias.predictions import Predictions


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Calibration items and all the others.

    Parameters
    ----------
    calibration, evaluation
        The two parts; every item is in one of them.
    chosen
        Bool ``(n_items,)``: the calibration items.
    """

    calibration: Predictions
    evaluation: Predictions
    chosen: NDArray[np.bool_]


def calibration_items(predictions: Predictions, share: float = 0.05, seed: int = 0) -> NDArray[np.bool_]:
    """Choose calibration items: ``floor(share * n)`` of the ``n`` usable items, at least one.

    Each item's rank is a hash of (seed, item id), so the choice does not depend on the order of the items; golds are
    not read.

    Parameters
    ----------
    predictions
        Any cell.
    share
        Above 0 and below 1.
    seed
        Another seed, another choice.

    Returns
    -------
    Bool ``(n_items,)``.

    Raises
    ------
    ArgumentError
        If ``share`` is outside its range, or fewer than two items are usable: one to calibrate, one to evaluate.

    Examples
    --------
    >>> p = Predictions(choice=np.zeros((40, 1)), positions=[[0, 1]], gold=np.zeros(40))
    >>> int(calibration_items(p).sum())
    2
    """
    if not 0 < share < 1:
        raise ArgumentError(f"`share` must be above 0 and below 1. Got {share}.")
    usable = np.flatnonzero(predictions.usable)
    if len(usable) < 2:
        raise ArgumentError(
            "A calibration split needs two usable items, one to calibrate and one to evaluate. "
            f"Got {len(usable)} of {predictions.n_items} items."
        )
    n_chosen = n_calibration_items(len(usable), share)
    ranks = [_rank(seed, item_id) for item_id in predictions.item_ids[usable]]
    chosen = np.zeros(predictions.n_items, bool)
    chosen[usable[np.argsort(np.array(ranks, np.uint64), kind="stable")[:n_chosen]]] = True
    return chosen


def n_calibration_items(n_items: int, share: float) -> int:
    """Return how many of ``n_items`` calibrate: ``floor(share * n_items)``, at least one, never all.

    Examples
    --------
    >>> n_calibration_items(13_592, 0.05)
    679
    """
    # 0.05 * 20 must be 1, whatever the binary fraction of 0.05 is.
    return min(max(1, math.floor(share * n_items + 1e-9)), n_items - 1)


def split(predictions: Predictions, share: float = 0.05, seed: int = 0) -> Split:
    """Split a cell into calibration items and the rest; see :func:`calibration_items`."""
    chosen = calibration_items(predictions, share, seed)
    return Split(take_items(predictions, chosen), take_items(predictions, ~chosen), chosen)


def _rank(seed: int, item_id: object) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed}\0{item_id}".encode(), digest_size=8).digest(), "little")
