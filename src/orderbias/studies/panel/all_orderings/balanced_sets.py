"""Balanced sets of K orderings of all K!, and what answers under all orderings give on each; knows no operation."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.orderings import all_orderings
from orderbias.studies.panel.all_orderings.full_orderings import Bools, Indices, cyclic_indices

Floats = NDArray[np.float64]


def latin_sets(n_options: int) -> Indices:
    """Return every set of K orderings that shows each content once at each place, ``(n_sets, K)``, the cyclic first.

    There are 2 for three options and 24 for four. Orderings are numbered lexicographically.

    Parameters
    ----------
    n_options
        3 or 4; the number of sets explodes above that.

    Examples
    --------
    >>> latin_sets(3).tolist()
    [[0, 3, 4], [1, 2, 5]]
    """
    rows = all_orderings(n_options).positions
    # Content 0 stands at another place in each ordering of a set, so a set has one ordering for each of its places.
    by_place = [np.flatnonzero(rows[:, 0] == place) for place in range(n_options)]
    sets = np.array(list(itertools.product(*by_place)), np.intp)
    latin = (np.sort(rows[sets], axis=1) == np.arange(n_options)[:, None]).all(axis=(1, 2))
    sets = sets[latin]
    cyclic = (np.sort(sets, axis=1) == np.sort(cyclic_indices(n_options))).all(axis=1)
    return np.asarray(sets[np.argsort(~cyclic, kind="stable")])


def without_reversals(sets: Indices, n_options: int) -> Indices:
    """Return the sets that hold no ordering together with its reversal, in the order they came.

    Examples
    --------
    >>> len(without_reversals(latin_sets(4), 4))
    12
    """
    mirrored = len(all_orderings(n_options).positions) - 1 - sets
    paired = (sets[:, :, None] == mirrored[:, None, :]).any(axis=(1, 2))
    return np.asarray(sets[~paired])


@dataclass(frozen=True, slots=True, eq=False)
class OnSets:
    """What the answers of some items give on each balanced set, the cyclic one first.

    Parameters
    ----------
    flip_rate
        ``(n_sets,)``.
    placement_range
        ``(n_sets,)``; NaN where a gold is unknown.
    elsewhere
        Share of the items that are stable on the cyclic set that flip on another set, averaged over the other sets;
        NaN where there is no such item or no other set.
    """

    flip_rate: Floats
    placement_range: Floats
    elsewhere: float


def on_sets(contents: NDArray[np.integer], gold: NDArray[np.integer], sets: Indices) -> OnSets:
    """Measure answers on balanced sets.

    Parameters
    ----------
    contents
        ``(n_items, K!)``: the content chosen under each ordering, lexicographically.
    gold
        ``(n_items,)``; -1 where unknown.
    sets
        ``(n_sets, K)``; the first is the one that ``elsewhere`` starts from.

    Examples
    --------
    >>> always_first = all_orderings(3).positions.argmin(axis=1)[None]  # the content at place 0
    >>> found = on_sets(always_first, np.array([2]), latin_sets(3))
    >>> found.flip_rate.tolist(), found.placement_range.tolist()
    ([1.0, 1.0], [1.0, 1.0])
    """
    n_items = len(contents)
    if not n_items:
        undefined = np.full(len(sets), np.nan)
        return OnSets(undefined, undefined.copy(), float("nan"))
    chosen = contents[:, sets]
    flips = np.asarray((chosen != chosen[:, :, :1]).any(axis=2))
    return OnSets(flips.mean(axis=0), _placement_ranges(contents, gold, sets), _elsewhere(flips))


def _elsewhere(flips: Bools) -> float:
    stable = ~flips[:, 0]
    if not stable.any() or flips.shape[1] < 2:
        return float("nan")
    return float(flips[stable, 1:].mean())


def _placement_ranges(contents: NDArray[np.integer], gold: NDArray[np.integer], sets: Indices) -> Floats:
    """Return ``max_j A_j - min_j A_j`` of each set; every item has one ordering of a set with its gold at place j."""
    n_options = sets.shape[1]
    if (gold < 0).any():
        return np.full(len(sets), np.nan)
    right = contents == gold[:, None]
    gold_place = all_orderings(n_options).positions.T[gold]
    # How many items are right under each ordering with their gold at each place.
    hits = np.stack([(right & (gold_place == place)).sum(axis=0) for place in range(n_options)], axis=1)
    accuracy = hits[sets].sum(axis=1) / len(contents)
    return np.asarray(np.ptp(accuracy, axis=1))
