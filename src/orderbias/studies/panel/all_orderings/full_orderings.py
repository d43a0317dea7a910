"""A cell that was asked under all K! orderings, and what any subset of them says; knows no table.

The orderings always stand in lexicographic order, so that an ordering has one number in every cell of the same K, and
the reversal of ordering ``i`` is ordering ``K! - 1 - i``.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.operations import presented_alone
from orderbias.orderings import all_orderings, cyclic, ordering_key
from orderbias.predictions import Predictions

Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]

#: Above this many options the K-subsets of all K! orderings are too many to list.
MOST_OPTIONS = 4

_BY_SLOT = ("choice", "logprobs", "status", "ties", "mass")


def in_full_order(predictions: Predictions) -> Predictions:
    """Return the presented orderings, which are all K!, in lexicographic order and without what was only queried.

    Parameters
    ----------
    predictions
        A cell with one design for all items, which presents every ordering once.
    """
    shown = presented_alone(predictions)
    slots = np.lexsort(shown.positions.T[::-1])
    parts: dict[str, Any] = {name: getattr(shown, name) for name in _BY_SLOT}
    parts = {name: None if array is None else array[:, slots] for name, array in parts.items()}
    return replace(shown, **parts, positions=shown.positions[slots])


def indices_of(positions: NDArray[np.integer]) -> Indices:
    """Return the lexicographic numbers of orderings, ``(..., K)`` in and ``(...)`` out.

    Examples
    --------
    >>> indices_of(np.array([[0, 1, 2], [1, 2, 0], [2, 1, 0]])).tolist()
    [0, 3, 5]
    """
    # Keys grow with the last content's place, so the listed ones are sorted before they are searched.
    keys = ordering_key(all_orderings(positions.shape[-1]).positions)
    order = np.argsort(keys)
    return np.asarray(order[np.searchsorted(keys, ordering_key(positions), sorter=order)], np.intp)


def cyclic_indices(n_options: int) -> Indices:
    """Return the numbers of the K rotations, canonical first.

    Examples
    --------
    >>> cyclic_indices(3).tolist()
    [0, 3, 4]
    """
    return indices_of(cyclic(n_options).positions)


def all_subsets(n_options: int) -> Indices:
    """Return every set of K distinct orderings of K options, ``(C(K!, K), K)``: 20 for three, 10,626 for four.

    Examples
    --------
    >>> all_subsets(3).shape, all_subsets(4).shape
    ((20, 3), (10626, 4))
    """
    total = math.factorial(n_options)
    return np.array(list(itertools.combinations(range(total), n_options)), np.intp)


def changes(values: NDArray[np.generic], orderings: Indices | None = None) -> Bools:
    """Return whether each item's value is not the same under all the orderings.

    Parameters
    ----------
    values
        ``(n_items, n_orderings)``: contents, or whether they are right.
    orderings
        Some of the orderings; all of them for None.

    Examples
    --------
    >>> answers = np.array([[0, 0, 1], [2, 2, 2]])
    >>> changes(answers).tolist(), changes(answers, np.array([0, 1])).tolist()
    ([True, False], [False, False])
    """
    part = values if orderings is None else values[:, orderings]
    return np.asarray((part != part[:, :1]).any(axis=1))


def expected_flip_rate(contents: NDArray[np.integer], n_options: int, size: int) -> float:
    """Return the mean flip rate over every set of ``size`` distinct orderings.

    An item that answers content c under ``n_c`` of T orderings keeps one content on ``sum_c C(n_c, size)`` of the
    ``C(T, size)`` sets, and flips on the others.

    Parameters
    ----------
    contents
        ``(n_items, T)``.
    n_options
        K.
    size
        Orderings of a set, 1..T.

    Examples
    --------
    >>> round(expected_flip_rate(np.array([[0, 0, 1], [2, 2, 2]]), 3, 2), 3)
    0.333
    """
    total = contents.shape[1]
    sets_within = np.array([math.comb(n, size) for n in range(total + 1)], np.float64)
    counts = (contents[:, :, None] == np.arange(n_options)).sum(axis=1)
    kept = sets_within[counts].sum(axis=1) / math.comb(total, size)
    return float(1 - kept.mean())


def changing_correctness(predictions: Predictions) -> tuple[float, float]:
    """Count the items whose correctness changes over all orderings, and those that the cyclic ones find.

    Returns
    -------
    tuple
        ``(n_changing, n_found)``; NaN where a gold is unknown.
    """
    if (predictions.gold < 0).any():
        return math.nan, math.nan
    right = predictions.choice == predictions.gold[:, None]
    found = changes(right, cyclic_indices(predictions.n_options))
    return float(changes(right).sum()), float(found.sum())
