"""Designs made by rule or drawn from a generator; each is a function of K and, where drawn, of ``rng``."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.orderings.values import Design, check_n_options, ordering_key, reversal

#: K! orderings are refused above this many options (7! = 5040 queries an item).
MAX_OPTIONS_ALL = 7

#: So many orderings an item, as all of seven options are, and no more.
MAX_ORDERINGS = 5040


def canonical(n_options: int) -> Design:
    """The benchmark's own order alone."""
    check_n_options(n_options)
    return Design(np.arange(n_options)[None])


def cyclic(n_options: int) -> Design:
    """All K rotations, canonical first (two-factors, Eq. 1)."""
    check_n_options(n_options)
    return Design((np.arange(n_options)[:, None] + np.arange(n_options)) % n_options)


def cyclic_with_reversals(n_options: int) -> Design:
    """The K rotations, presented, and their K reversals, queried only.

    With two options the reversals are the rotations themselves, so the design is ``cyclic``.
    """
    rotations = cyclic(n_options)
    if n_options == 2:
        return rotations
    both = np.concatenate([rotations.positions, reversal(rotations.positions)])
    return Design(both, np.arange(2 * n_options) < n_options)


def all_orderings(n_options: int) -> Design:
    """All K! orderings, canonical first; refused above seven options."""
    check_n_options(n_options)
    if n_options > MAX_OPTIONS_ALL:
        raise ArgumentError(
            f"All orderings of {n_options} options are {math.factorial(n_options)} queries an item; at most "
            f"{MAX_OPTIONS_ALL} options are allowed. Use a random design: random:24:0."
        )
    return Design(list(itertools.permutations(range(n_options))))


def latin_squares_of_four() -> tuple[Design, ...]:
    """The twelve balanced sets of four orderings of four options that hold no ordering with its reversal.

    Two-factors, appendix E.2; the cyclic set is one of them. Found by search, in lexicographic order.
    """
    rows = list(itertools.permutations(range(4)))
    firsts = {j: [r for r in rows if r[0] == j] for j in range(4)}
    sets = (Design(s) for s in itertools.product(*firsts.values()))
    return tuple(d for d in sets if d.balanced and not _holds_reversal(d.positions))


def latin(n_options: int, rng: np.random.Generator) -> Design:
    """A random Latin square: K orderings that show every content once at every place, none with its reversal.

    For four options it is one of the twelve sets of ``latin_squares_of_four``. With two options the only set holds
    its reversals.
    """
    check_n_options(n_options)
    if n_options == 4:
        squares = latin_squares_of_four()
        return squares[int(rng.integers(len(squares)))]
    rotations = cyclic(n_options).positions
    while True:  # relabelling contents and places keeps the square Latin; few relabellings pair a row with its mirror
        relabelled = rng.permutation(n_options)[rotations][:, rng.permutation(n_options)]
        if n_options == 2 or not _holds_reversal(relabelled):
            return Design(relabelled)


def random_subset(n_options: int, size: int, rng: np.random.Generator) -> Design:
    """``size`` distinct orderings drawn uniformly from all K!; at most 5040."""
    check_n_options(n_options)
    total = math.factorial(n_options)
    if not 1 <= size <= min(total, MAX_ORDERINGS):
        why = (
            f"the number of orderings of {n_options} options" if total <= MAX_ORDERINGS else "the most an item may have"
        )
        raise ArgumentError(f"`size` must be 1..{min(total, MAX_ORDERINGS)}, {why}. Got {size}.")
    if n_options <= MAX_OPTIONS_ALL:
        every = np.array(list(itertools.permutations(range(n_options))))
        return Design(every[np.sort(rng.choice(total, size, replace=False))])
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < size:
        drawn[tuple(rng.permutation(n_options).tolist())] = None
    return Design(list(drawn))


def gold_balanced(n_options: int, gold: int, rng: np.random.Generator) -> Design:
    """K orderings that show the gold option once at each place, the other options at random (two-factors, E.3)."""
    check_n_options(n_options)
    if not 0 <= gold < n_options:
        raise ArgumentError(f"`gold` must be 0..{n_options - 1} for {n_options} options. Got {gold}.")
    rows = np.empty((n_options, n_options), np.int64)
    others = np.delete(np.arange(n_options), gold)
    for place in range(n_options):
        rows[place, gold] = place
        rows[place, others] = rng.permutation(np.delete(np.arange(n_options), place))
    return Design(rows)


def pinned(design: Design, pins: tuple[int, ...], n_options: int) -> Design:
    """Spread a design of the free contents over the free places; each content of ``pins`` keeps its own place.

    Examples
    --------
    >>> pinned(cyclic(3), (3,), 4).positions.tolist()
    [[0, 1, 2, 3], [1, 2, 0, 3], [2, 0, 1, 3]]
    """
    free = np.array([j for j in range(n_options) if j not in pins])
    rows = np.tile(np.arange(n_options), (design.n_orderings, 1))
    rows[:, free] = free[design.positions]
    return Design(rows, design.presented)


def _holds_reversal(positions: NDArray[np.integer]) -> bool:
    return bool(np.isin(ordering_key(reversal(positions)), ordering_key(positions)).any())
