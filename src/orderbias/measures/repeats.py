"""How often two calls disagree about an item: on one ordering, and on different ones (two-factors, C.5)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Which calls are paired across orderings: the ``first`` of each, ``all``, or those of ``different`` repeats only.
Across = Literal["first", "all", "different"]


@dataclass(frozen=True, slots=True, eq=False)
class Disagreements:
    """Of each item the shares of pairs of calls that disagree, float ``(n_items,)``; NaN where it does not count.

    ``repeat``: two calls on one ordering. ``reorder``: two calls on different orderings; NaN where there is one.
    ``lowest`` is the least that reorder minus repeat can be.
    """

    repeat: Floats
    reorder: Floats
    lowest: float


def repeated_orderings(contents: NDArray[np.integer]) -> Bools:
    """Return which orderings were asked again, bool ``(n_orderings,)``.

    An ordering with a second answer to fewer than half as many items as another was not: a stray repeat would leave
    out every other item.
    """
    counts = ((contents >= 0).sum(axis=2) >= 2).sum(axis=0)
    return np.asarray((counts > 0) & (2 * counts >= counts.max(initial=0)))


def disagreements(
    contents: NDArray[np.integer], repeated: Bools, *, scored: Bools | None = None, across: Across | None = None
) -> Disagreements:
    """Return each item's disagreements; see :func:`orderbias.noise.noise`.

    Parameters
    ----------
    contents, scored, across
        As there; clean.
    repeated
        Bool ``(n_orderings,)``: the orderings of which an item needs two usable calls.
    """
    how = "first" if not repeated.all() else across or "all"
    slots = np.ones(contents.shape[:2], bool) if scored is None else scored
    chosen = np.stack([(contents == c).sum(axis=2) for c in range(max(int(contents.max(initial=0)), 0) + 1)], axis=2)
    n_read = chosen.sum(axis=2)
    enough = n_read >= np.where(repeated, 2, 1)
    if how == "first":
        enough &= contents[:, :, 0] >= 0
    usable = (enough | ~slots).all(axis=1) & (slots & repeated).any(axis=1)
    contents, slots, chosen, n_read = contents[usable], slots[usable], chosen[usable], n_read[usable]
    alike, pairs = (chosen * (chosen - 1)).sum(axis=2), n_read * (n_read - 1)
    within = _share(pairs - alike, pairs)
    here = slots & repeated
    repeat = np.where(here, within, 0).sum(axis=1) / here.sum(axis=1)
    total, number = np.zeros(len(contents)), np.zeros(len(contents))
    for a, b in combinations(range(contents.shape[1]), 2):
        if repeated[a] or repeated[b]:
            there = slots[:, a] & slots[:, b]
            share = _across(contents[:, [a, b]], chosen[:, [a, b]], how)
            total += np.where(there, share, 0)
            number += there
    return Disagreements(_spread(repeat, usable), _spread(_share(total, number), usable), -0.5 if how == "all" else -1)


def _across(contents: NDArray[np.integer], chosen: NDArray[np.integer], how: str) -> Floats:
    """Return each item's share of disagreement between two orderings, the calls paired as ``how`` says."""
    if how == "first":
        return np.asarray(contents[:, 0, 0] != contents[:, 1, 0], np.float64)
    alike = (chosen[:, 0] * chosen[:, 1]).sum(axis=1)
    pairs = chosen[:, 0].sum(axis=1) * chosen[:, 1].sum(axis=1)
    if how == "different":
        both = (contents >= 0).all(axis=1)
        alike = alike - (both & (contents[:, 0] == contents[:, 1])).sum(axis=1)
        pairs = pairs - both.sum(axis=1)
    return _share(pairs - alike, pairs)


def _share(part: NDArray[np.number], whole: NDArray[np.number]) -> Floats:
    """Divide; NaN for nothing of nothing."""
    out = np.full(np.shape(whole), np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _spread(values: Floats, usable: Bools) -> Floats:
    out = np.full(len(usable), np.nan)
    out[usable] = values
    return out
