"""The tests of one cell: does the skew lean, are the place shares uniform; and which items belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.rotation import RotationTest, rotated_sums, upper_p_value
from orderbias.inference.uniformity import hoeffding_uniformity
from orderbias.measures.columns import ItemColumns
from orderbias.measures.factors import selection_share
from orderbias.measures.sums import Floats, Sums
from orderbias.measures.table import LEANS, MEASURES, evaluate
from orderbias.predictions import Predictions


@dataclass(frozen=True, slots=True)
class CellTests:
    """``rotation`` of the skew and ``uniformity`` p-value of the place shares; ``None`` where one does not apply."""

    rotation: RotationTest | None
    uniformity: float | None


def cell_tests(columns: ItemColumns, resamples: int, rng: np.random.Generator) -> CellTests:
    """Run both tests. On an unbalanced design places are no alternatives of equal right, and neither applies."""
    if not columns.layout.balanced:
        return CellTests(None, None)
    return CellTests(rotation_test(columns, resamples, rng), uniformity_test(columns))


def rotation_test(columns: ItemColumns, resamples: int, rng: np.random.Generator) -> RotationTest | None:
    """Turn each flipping item's answers uniformly over the places, and compare the skew (balanced designs only).

    A unit's histogram of places is turned, and so are its accuracies by place of the gold; no measure reads both, so
    they need not be turned by the same draw. A cluster of items is turned as a whole. Returns ``None`` when no item
    flips or ``resamples`` is 0.
    """
    if "flip" in columns.layout.absent or resamples == 0:
        return None
    rows = Sums(columns.rows, columns.layout)
    moving = rows["flip"] > 0
    if not moving.any():
        return None
    turned = ["flip_f"] if "flip_a" in columns.layout.absent else ["flip_f", "flip_a"]
    null = {name: rotated_sums(rows[name][moving], columns.counts[moving], resamples, rng) for name in turned}
    turned_sums = _with_turned(columns.sums, null)
    values = evaluate(turned_sums, (MEASURES[name] for name in LEANS))
    observed = float(MEASURES["positional_skew"].compute(columns.sums))
    p_value = upper_p_value(values["positional_skew"], observed)
    return RotationTest(p_value, {name: float(draws.mean()) for name, draws in values.items()})


def _with_turned(sums: Sums, null: dict[str, Floats]) -> Sums:
    """Exchange what flipping items contribute, and keep what stable ones do."""
    replaced = dict(null)
    for flipping, every in (("flip_f", "f"), ("flip_a", "a")):
        if flipping in null:
            replaced[every] = sums[every] - sums[flipping] + null[flipping]
    return sums.replaced(**replaced)


def uniformity_test(columns: ItemColumns) -> float:
    """Test equal place shares by the weighted Hoeffding union bound (two-factors, C.2); a unit weighs as its items."""
    sizes = Sums(columns.rows, columns.layout)["one"]
    weights = np.repeat(sizes, columns.counts) / columns.sums["one"]
    return hoeffding_uniformity(selection_share(columns.sums), weights)


def clusters_of(predictions: Predictions, cluster: ArrayLike | str | None) -> NDArray[np.int64] | None:
    """Return the 0-based cluster of each usable item; ``None`` when there are no clusters.

    Raises
    ------
    ArgumentError
        If labels are missing, of the wrong number, or ``cluster`` is a string other than ``"group"``.
    """
    if cluster is None:
        return None
    if isinstance(cluster, str) and cluster != "group":
        raise ArgumentError(f'`cluster` must be "group" or one label an item. Got {cluster!r}.')
    if isinstance(cluster, str) and predictions.group is None:
        raise ArgumentError('`cluster="group"` needs a group for every item. These predictions have none.')
    labels: NDArray[Any] = np.asarray(predictions.group if isinstance(cluster, str) else cluster, object)
    if labels.shape != (predictions.n_items,):
        raise ArgumentError(f"`cluster` must hold {predictions.n_items} labels, one an item. Got {labels.shape}.")
    wanted = labels[predictions.usable]
    n_missing = sum(label is None or label != label for label in wanted)
    if n_missing:
        raise ArgumentError(f"`cluster` must label every usable item. Got {n_missing} without a label.")
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in wanted], np.int64)
