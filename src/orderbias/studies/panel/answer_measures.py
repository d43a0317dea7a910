"""Measures of several sets of answers to the same items under the K rotations, counted at once; makes no answer.

Equal to the measures of each set's item columns (:mod:`orderbias.measures`), without laying these out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.intervals import SAME
from orderbias.measures.items import GOLD_BASED
from orderbias.measures.sums import Layout, Sums
from orderbias.measures.table import chosen_measures, evaluate

Floats = NDArray[np.float64]
Choices = NDArray[np.int8]

_MEASURED = chosen_measures(
    ("flip_rate", "positional_skew", "pooled_sd", "placement_range", "balanced_rstd", "accuracy", "stable_wrong",
     "flip_share", "placement_factor")
)  # fmt: skip
_GOLD_ABSENT = dict.fromkeys((*GOLD_BASED, "flip_a"), "not every item has a gold answer")


def operation_sums(choice: Choices, gold: Choices, n_options: int) -> Sums:
    """Return the column sums that the measures read, one batch entry an operation.

    Parameters
    ----------
    choice
        Contents ``(n_operations, n, K)`` under the K rotations in order.
    gold
        ``(n,)``; measures that read it are left out if one is -1.
    n_options
        K.
    """
    n_operations, n_items, n_orderings = choice.shape
    index: dict[str, int | slice] = {
        name: i for i, name in enumerate(("one", "flip", "correct", "stable_correct", "stable_wrong"))
    }
    index |= {
        name: slice(5 + i * n_options, 5 + (i + 1) * n_options) for i, name in enumerate(("f", "flip_f", "a", "flip_a"))
    }
    totals = np.zeros((n_operations, 5 + 4 * n_options))
    flip = (choice != choice[..., :1]).any(axis=-1)
    code = np.arange(n_operations)[:, None, None] * n_options
    rotation = np.arange(n_orderings, dtype=np.int8)
    chosen = code + (choice + rotation) % n_options
    right = choice == gold[:, None]
    # Under the sth rotation the right option stands at place (gold + s) % K, so each place counts an item once.
    gold_place = np.broadcast_to(code + (gold[:, None] + rotation) % n_options, choice.shape)

    def tally(cells: NDArray[np.integer]) -> NDArray[np.int64]:
        return np.bincount(cells.ravel(), minlength=n_operations * n_options).reshape(n_operations, n_options)

    totals[:, 0], totals[:, 1], totals[:, 2] = n_items, flip.sum(axis=1), right.sum(axis=(1, 2)) / n_orderings
    totals[:, 3] = (~flip & right[..., 0]).sum(axis=1)
    totals[:, 4] = (~flip & ~right[..., 0]).sum(axis=1)
    totals[:, index["f"]] = tally(chosen) / n_orderings
    totals[:, index["flip_f"]] = tally(chosen[flip]) / n_orderings
    totals[:, index["a"]] = tally(gold_place[right])
    totals[:, index["flip_a"]] = tally(gold_place[right & flip[..., None]])
    absent = {} if (gold >= 0).all() else _GOLD_ABSENT
    return Sums(totals, Layout(index, n_options, n_orderings, balanced=True, max_deviation=0.0, absent=absent))


def operation_measures(choice: Choices, gold: Choices, n_options: int) -> dict[str, Floats]:
    """Return every measure of the comparison by name, one entry an operation; NaN where undefined."""
    found = evaluate(operation_sums(choice, gold, n_options), _MEASURED)
    nothing = np.full(len(choice), np.nan)
    return {m.name: found.get(m.name, nothing) for m in _MEASURED}


def centred_cosine(first: Floats, second: Floats) -> Floats:
    """Return the cosine of two vectors over the last axis, each less its mean; NaN where one has no spread.

    Shares less their mean are shares less uniform.

    Examples
    --------
    >>> float(centred_cosine(np.array([0.75, 0.25]), np.array([0.25, 0.75])).round(12))
    -1.0
    """
    a, b = (values - values.mean(axis=-1, keepdims=True) for values in (first, second))
    size = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    product = (a * b).sum(axis=-1)
    return np.asarray(np.divide(product, size, out=np.full(np.shape(size), np.nan), where=size > SAME))
