"""Orderings of options and multisets of them; knows nothing of items' texts, models or answers.

An ordering is a row of integers: ``positions[j]`` is the place (0-based) at which content ``j`` is shown. Cyclic
ordering ``s`` has ``positions[j] = (j + s) % K`` and a reversal has ``K - 1 - positions[j]`` (two-factors, Eq. 1).
The array itself is stored with every record, never its inverse and never a seed to be replayed.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.errors import ArgumentError

Positions = NDArray[np.int8]

#: K! orderings are refused above this many options (7! = 5040 queries an item).
MAX_OPTIONS_ALL = 7
MAX_OPTIONS = 26


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """A multiset of orderings, some of which may be queried without being presented.

    Parameters
    ----------
    positions
        Integers of shape ``(n_orderings, n_options)``; each row is a permutation of ``0..n_options - 1``.
    presented
        Booleans of shape ``(n_orderings,)``: which orderings are scored. The others are only queried, as the
        reversals that an aggregation needs. All are presented when left out.

    Raises
    ------
    ArgumentError
        If there is no ordering, a row is no permutation, or no ordering is presented.

    Examples
    --------
    >>> Design([[0, 1, 2], [1, 2, 0], [2, 0, 1]]).balanced
    True
    """

    positions: Positions
    presented: NDArray[np.bool_]

    def __init__(self, positions: ArrayLike, presented: ArrayLike | None = None) -> None:
        rows = as_positions(positions)
        shown = np.ones(len(rows), bool) if presented is None else np.array(presented, bool)
        if shown.shape != (len(rows),) or not shown.any():
            raise ArgumentError(
                f"`presented` must hold one boolean for each of the {len(rows)} orderings, at least one true. "
                f"Got {shown.tolist()}."
            )
        rows.flags.writeable = shown.flags.writeable = False
        object.__setattr__(self, "positions", rows)
        object.__setattr__(self, "presented", shown)

    @property
    def n_orderings(self) -> int:
        """How many orderings are queried."""
        return len(self.positions)

    @property
    def n_options(self) -> int:
        """K, the number of options."""
        return int(self.positions.shape[1])

    @property
    def scored(self) -> Design:
        """The presented orderings alone."""
        return self if self.presented.all() else Design(self.positions[self.presented])

    @property
    def place_shares(self) -> NDArray[np.float64]:
        """``u[j, r]``: the share of presented orderings that show content ``j`` at place ``r`` (two-factors, Eq. 8)."""
        return place_shares(self.positions[self.presented])

    @property
    def balanced(self) -> bool:
        """Whether every content is shown at every place equally often, over the presented orderings."""
        return is_balanced(self.positions[self.presented])

    @property
    def max_deviation(self) -> float:
        """``M(S) = max_j std(u_j)``, the factor of the deviation bound (two-factors, Prop. 1)."""
        return 0.0 if self.balanced else float(self.place_shares.std(axis=1).max())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Design)
            and np.array_equal(self.positions, other.positions)
            and np.array_equal(self.presented, other.presented)
        )

    def __hash__(self) -> int:
        return hash((self.positions.tobytes(), self.positions.shape, self.presented.tobytes()))


def as_positions(positions: ArrayLike) -> Positions:
    """Check that every row is a permutation and return a new ``int8`` array of shape ``(m, K)``."""
    rows = np.array(positions)
    if rows.ndim != 2 or rows.size == 0 or not np.issubdtype(rows.dtype, np.integer):
        raise ArgumentError(
            f"`positions` must be integers of shape (n_orderings, n_options), one row an ordering. Got {positions!r}."
        )
    check_n_options(rows.shape[1])
    bad = np.flatnonzero((np.sort(rows, axis=1) != np.arange(rows.shape[1])).any(axis=1))
    if bad.size:
        raise ArgumentError(
            f"Every row of `positions` must hold each of 0..{rows.shape[1] - 1} once. "
            f"Got {rows[bad[0]].tolist()} (row {bad[0]})."
        )
    return rows.astype(np.int8)


def check_n_options(n_options: int) -> None:
    """Raise unless there are 2 to 26 options."""
    if not 2 <= n_options <= MAX_OPTIONS:
        raise ArgumentError(f"The number of options must be 2 to {MAX_OPTIONS}. Got {n_options}.")


def place_shares(positions: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return ``u[j, r]``, the share of the orderings that show content ``j`` at place ``r``.

    ``positions`` is ``(m, K)``, or ``(n, m, K)`` for one table an item.
    """
    n_options = positions.shape[-1]
    shown = positions[..., :, :, None] == np.arange(n_options)
    return np.asarray(shown.mean(axis=-3), np.float64)


def is_balanced(positions: NDArray[np.integer]) -> bool:
    """Whether every content is shown at every place equally often; counted in integers, so exact."""
    n_orderings, n_options = positions.shape
    counts = (positions[:, :, None] == np.arange(n_options)).sum(axis=0)
    return bool((counts * n_options == n_orderings).all())


def inverse(positions: NDArray[np.integer]) -> Positions:
    """Return, for each place, the content shown there.

    Examples
    --------
    >>> inverse(np.array([[1, 2, 0]])).tolist()
    [[2, 0, 1]]
    """
    return np.argsort(positions, axis=-1).astype(np.int8)


def reversal(positions: NDArray[np.integer]) -> Positions:
    """Return the orderings with their places mirrored: ``K - 1 - positions``."""
    return np.asarray(positions.shape[-1] - 1 - positions, np.int8)


def compose(first: NDArray[np.integer], then: NDArray[np.integer]) -> Positions:
    """Show by ``first``, then move what stands at place ``r`` to place ``then[r]``: ``then[first[j]]``."""
    shape = np.broadcast_shapes(first.shape, then.shape)
    places = np.broadcast_to(first, shape).astype(np.intp)
    return np.asarray(np.take_along_axis(np.broadcast_to(then, shape), places, axis=-1), np.int8)


def ordering_key(positions: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return one integer per ordering, equal exactly when two orderings of the same K are (K up to 14).

    Above that K the key is a 63-bit hash of the row.
    """
    n_options = positions.shape[-1]
    if n_options <= 14:
        weights = np.array([n_options**j for j in range(n_options)], np.int64)
        return positions.astype(np.int64) @ weights
    flat = np.ascontiguousarray(positions, np.int8).reshape(-1, n_options)
    keys = [int.from_bytes(hashlib.blake2b(r.tobytes(), digest_size=8).digest(), "little") >> 1 for r in flat]
    return np.array(keys, np.int64).reshape(positions.shape[:-1])


# --- constructors ------------------------------------------------------------------------------------------------


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
    """``size`` distinct orderings drawn uniformly from all K!."""
    check_n_options(n_options)
    total = math.factorial(n_options)
    if not 1 <= size <= total:
        raise ArgumentError(f"`size` must be 1..{total}, the number of orderings of {n_options} options. Got {size}.")
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


# --- the names used on the command line --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DesignSpec:
    """A design by name, for any number of options and, where it is drawn, any item.

    Use :func:`parse_design`. ``kind`` is one of ``DESIGN_KINDS``; ``size`` and ``seed`` are there where it takes them.
    """

    kind: str
    size: int | None = None
    seed: int | None = None

    @property
    def per_item(self) -> bool:
        """Whether each item has orderings of its own."""
        return self.kind in ("random", "gold-balanced")

    def design(self, n_options: int, item_id: str = "", gold: int | None = None) -> Design:
        """Return the design for an item; a drawn one depends on (seed, item id) only.

        Raises
        ------
        ArgumentError
            If the design cannot be had for this many options, or needs a gold and there is none.
        """
        if self.kind == "gold-balanced":
            if gold is None:
                raise ArgumentError(f"A gold-balanced design needs the gold of every item. Item {item_id!r} has none.")
            return gold_balanced(n_options, gold, item_rng(self.seed or 0, item_id))
        rng = item_rng(self.seed or 0, item_id if self.per_item else "")
        return _CONSTRUCTORS[self.kind](n_options, self.size or 0, rng)

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.kind, self.size, self.seed) if part is not None)


_CONSTRUCTORS: dict[str, Callable[[int, int, np.random.Generator], Design]] = {
    "canonical": lambda k, size, rng: canonical(k),
    "cyclic": lambda k, size, rng: cyclic(k),
    "cyclic+reversals": lambda k, size, rng: cyclic_with_reversals(k),
    "all": lambda k, size, rng: all_orderings(k),
    "latin": lambda k, size, rng: latin(k, rng),
    "random": random_subset,
    "random-shared": random_subset,
}

#: Each name a command line may give, with the numbers it takes.
DESIGN_KINDS: dict[str, tuple[str, ...]] = {
    "canonical": (),
    "cyclic": (),
    "cyclic+reversals": (),
    "all": (),
    "latin": ("SEED",),
    "random": ("M", "SEED"),
    "random-shared": ("M", "SEED"),
    "gold-balanced": ("SEED",),
}


def parse_design(spec: str) -> DesignSpec:
    """Read a design's name: ``cyclic``, ``latin:SEED``, ``random:M:SEED`` ...

    Raises
    ------
    ArgumentError
        If the name is unknown or its numbers are missing, too many, or none.

    Examples
    --------
    >>> str(parse_design("random:4:7"))
    'random:4:7'
    """
    kind, *numbers = spec.strip().split(":")
    forms = [":".join((k, *n)) for k, n in DESIGN_KINDS.items()]
    if kind not in DESIGN_KINDS or len(numbers) != len(DESIGN_KINDS[kind]) or not all(n.isdigit() for n in numbers):
        raise ArgumentError(f"A design must be one of {', '.join(forms)}. Got {spec!r}.")
    named = dict(zip(DESIGN_KINDS[kind], map(int, numbers), strict=True))
    if named.get("M") == 0:
        raise ArgumentError(f"A random design needs at least one ordering. Got {spec!r}.")
    return DesignSpec(kind, named.get("M"), named.get("SEED"))


def item_rng(seed: int, item_id: str) -> np.random.Generator:
    """Return the generator of an item: a function of (seed, item id) only, the same on every machine."""
    digest = hashlib.sha256(f"{seed}\0{item_id}".encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32))
