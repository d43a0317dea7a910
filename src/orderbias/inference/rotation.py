"""A randomisation test that turns vectors of places; plain statistics, knows nothing of options or orders.

Null hypothesis: what a unit contributes at each place may as well have fallen ``s`` places further, for every ``s``
alike. Each unit's vectors are turned together by one shift, uniform over the K shifts and independent between units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.resampling import BLOCK, HEAVY, SAMPLES
from orderbias.measures.distinct import distinct_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RotationTest:
    """``p_value``, and by name the mean over rotations of each measure: its value when there is no lean."""

    p_value: float
    expected: dict[str, float]


def rotated_sums(rows: Floats, counts: NDArray[np.integer], resamples: int, rng: np.random.Generator) -> Floats:
    """Draw sums of units whose vectors are each turned by a shift of its own.

    Parameters
    ----------
    rows
        ``(n_rows, K)``: the vector of a unit.
    counts
        ``(n_rows,)``: how many units have each row.
    resamples
        How many draws.
    rng
        Source of randomness.

    Returns
    -------
    numpy.ndarray
        ``(resamples, K)``.

    Notes
    -----
    Units whose vectors are rotations of each other have the same null distribution and are counted together; a class
    of c units takes a uniform multinomial over its K rotations, so the cost does not grow with c.
    """
    turned, members = _classes(rows, counts)
    n_places = rows.shape[1]
    # A vector that is its own rotation adds the same whatever the shift.
    fixed = (turned == turned[:, :1]).all(axis=(1, 2))
    constant = members[fixed] @ turned[fixed, 0]
    heavy = (members > HEAVY) & ~fixed
    light = (members <= HEAVY) & ~fixed
    out = np.empty((resamples, n_places))
    step = max(SAMPLES, BLOCK // max(1, int((~fixed).sum()) * n_places, int(members[light].sum())))
    for start in range(0, resamples, step):
        part = out[start : start + step]
        part[:] = constant
        part += _draw_classes(members[heavy], n_places, len(part), rng) @ turned[heavy].reshape(-1, n_places)
        part += _draw_units(members[light], n_places, len(part), rng) @ turned[light].reshape(-1, n_places)
    return out


def _classes(rows: Floats, counts: NDArray[np.integer]) -> tuple[Floats, NDArray[np.int64]]:
    """Return all K rotations of each class, ``(n_classes, K, K)``, and its number of units."""
    n_places = rows.shape[1]
    every = np.arange(len(rows))
    turned = np.stack([np.roll(rows, shift, axis=1) for shift in range(n_places)], axis=1)
    # The lexicographically largest rotation stands for the class.
    best = np.zeros(len(rows), np.int64)
    for shift in range(1, n_places):
        current = turned[every, best]
        differs = turned[:, shift] != current
        where = differs.argmax(axis=1)
        larger = turned[every, shift, where] > current[every, where]
        best[larger & differs.any(axis=1)] = shift
    found = distinct_rows(turned[every, best], counts)
    return np.stack([np.roll(found.rows, shift, axis=1) for shift in range(n_places)], axis=1), found.counts


def _draw_classes(members: NDArray[np.int64], n_places: int, size: int, rng: np.random.Generator) -> Floats:
    """Return ``(size, n_classes * K)``: how many units of each class take each shift, one multinomial a class."""
    uniform = np.full(n_places, 1 / n_places)
    return rng.multinomial(members, uniform, size=(size, len(members))).reshape(size, -1).astype(np.float64)


def _draw_units(members: NDArray[np.int64], n_places: int, size: int, rng: np.random.Generator) -> Floats:
    """Return the same, one shift drawn a unit: cheaper where classes are small."""
    width = len(members) * n_places
    start_of_unit = np.repeat(np.arange(len(members)) * n_places, members)
    shift = rng.integers(0, n_places, (size, len(start_of_unit)), dtype=np.int8)
    cells = np.arange(size)[:, None] * width + start_of_unit + shift
    return np.bincount(cells.ravel(), minlength=size * width).reshape(size, width).astype(np.float64)


def upper_p_value(null: Floats, observed: float) -> float:
    """``(1 + #{null >= observed}) / (1 + draws)``; ties up to rounding count as reached, which is conservative.

    Examples
    --------
    >>> upper_p_value(np.array([0.0, 1.0, 2.0]), 1.0)
    0.75
    """
    reached = null >= observed - 1e-12 * max(1.0, abs(observed))
    return float((1 + reached.sum()) / (1 + len(null)))
