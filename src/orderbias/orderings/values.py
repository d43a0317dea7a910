"""A multiset of orderings as an integer array, and what can be said of one: balance, place shares, inverse."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.errors import ArgumentError

Positions = NDArray[np.int8]

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


def item_rng(seed: int, item_id: str) -> np.random.Generator:
    """Return the generator of an item: a function of (seed, item id) only, the same on every machine."""
    digest = hashlib.sha256(f"{seed}\0{item_id}".encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32))
