"""The token tree of prompts that resemble each other: which tokens to compute, and which of them see which.

Plain arrays; must not know of models, items or labels. A path is a token sequence whose last position is wanted. Sorted
paths put the tree in depth-first order: what a path does not share with the path before it is a new run of nodes, and
the nodes above such a run are a few earlier ranges of nodes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]
Range = tuple[int, int]

#: Runs of nodes that one piece of attention may hold at most; bounds the search for good pieces.
_LONGEST_PIECE = 32


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Consecutive nodes whose attention is computed together.

    ``queries`` is their range, ``above`` the ranges of the nodes over all of them that they may see, and ``visible``,
    bool ``(n_queries, n_above + n_queries)``, says which sees which: a node sees its ancestors and itself.
    """

    queries: Range
    above: tuple[Range, ...]
    visible: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Distinct prefixes of some paths, one node each, in depth-first order.

    ``tokens`` and ``depths`` are int64 ``(n_nodes,)``; ``lines`` are the nodes of each path given.
    """

    tokens: Tokens
    depths: Tokens
    lines: tuple[NDArray[np.intp], ...]
    pieces: tuple[Piece, ...]

    @property
    def n_nodes(self) -> int:
        """Tokens to compute."""
        return len(self.tokens)

    @property
    def ends(self) -> NDArray[np.intp]:
        """The node at which each path ends."""
        return np.array([line[-1] for line in self.lines], np.intp)


def common_length(a: Tokens, b: Tokens) -> int:
    """Return how many leading tokens two sequences share.

    Examples
    --------
    >>> common_length(np.array([1, 2, 3]), np.array([1, 2, 4, 5]))
    2
    """
    n = min(len(a), len(b))
    differs = np.flatnonzero(a[:n] != b[:n])
    return int(differs[0]) if differs.size else n


def shared_lengths(ordered: Sequence[Tokens]) -> list[int]:
    """Return what each path, in sorted order, shares with the one before it; 0 for the first."""
    return [0, *(common_length(a, b) for a, b in itertools.pairwise(ordered))][: len(ordered)]


def count_nodes(paths: Sequence[Tokens]) -> int:
    """Return the number of distinct prefixes of some paths.

    Examples
    --------
    >>> count_nodes([np.array([1, 2, 3]), np.array([1, 2, 4])])
    4
    """
    ordered = sorted(paths, key=lambda p: p.tolist())
    return sum(len(p) for p in ordered) - sum(shared_lengths(ordered))


def build(paths: Sequence[Tokens], skip: int = 0, overhead: int = 4096) -> Tree:
    """Build the tree of some paths, without a prefix that all of them share.

    Parameters
    ----------
    paths
        Token sequences, in any order, equal ones allowed; each longer than ``skip``.
    skip
        Length of a shared prefix that is computed elsewhere. Depths count it.
    overhead
        What one more piece costs, in entries of a score matrix.

    Returns
    -------
    Tree
        With pieces that cover every node once and keep ``n_queries * n_keys`` small.

    Examples
    --------
    >>> tree = build([np.array([7, 8, 1]), np.array([7, 8, 2])])
    >>> tree.tokens.tolist(), tree.depths.tolist(), tree.ends.tolist()
    ([7, 8, 1, 2], [0, 1, 2, 2], [2, 3])
    """
    order = sorted(range(len(paths)), key=lambda i: paths[i].tolist())
    cut = [paths[i][skip:] for i in order]
    shared = shared_lengths(cut)
    ordered: list[NDArray[np.intp]] = [np.empty(0, np.intp)] * len(paths)
    runs: list[Range] = []
    lines: list[NDArray[np.intp]] = []
    overlaps: list[int] = []
    line = np.empty(0, np.intp)
    size = 0
    for i, tokens, n in zip(order, cut, shared, strict=True):
        new = len(tokens) - n
        if new:
            runs.append((size, size + new))
            overlaps.append(n)
            line = np.concatenate([line[:n], np.arange(size, size + new)])
            lines.append(line)
            size += new
        ordered[i] = line
    pieces = [_piece(runs[a:b], overlaps[a:b], lines[a:b]) for a, b in _cuts(runs, overlaps, skip, overhead)]
    return Tree(
        tokens=np.concatenate([t[n:] for t, n in zip(cut, shared, strict=True)]),
        depths=np.concatenate([skip + np.arange(n, n + b - a) for (a, b), n in zip(runs, overlaps, strict=True)]),
        lines=tuple(ordered),
        pieces=tuple(pieces),
    )


def _cuts(runs: Sequence[Range], overlaps: Sequence[int], skip: int, overhead: int) -> list[Range]:
    """Cut the runs into consecutive pieces of least total cost (dynamic programme over the last cut)."""
    cost = [0.0] * (len(runs) + 1)
    back = [0] * (len(runs) + 1)
    for stop in range(1, len(runs) + 1):
        best = float("inf")
        for start in range(max(0, stop - _LONGEST_PIECE), stop):
            n = runs[stop - 1][1] - runs[start][0]
            total = cost[start] + n * (skip + overlaps[start] + n) + overhead
            if total < best:
                best, back[stop] = total, start
        cost[stop] = best
    cuts = []
    stop = len(runs)
    while stop:
        cuts.append((back[stop], stop))
        stop = back[stop]
    return cuts[::-1]


def _piece(runs: Sequence[Range], overlaps: Sequence[int], lines: Sequence[NDArray[np.intp]]) -> Piece:
    first, stop = runs[0][0], runs[-1][1]
    above = lines[0][: overlaps[0]]
    visible = np.zeros((stop - first, len(above) + stop - first), bool)
    for (a, b), n, line in zip(runs, overlaps, lines, strict=True):
        # A node before the piece is an ancestor of its first run too, at the same depth, hence in the same column.
        before = min(int(np.searchsorted(line[:n], first)), len(above))
        visible[a - first : b - first, :before] = True
        visible[a - first : b - first, len(above) + line[before:n] - first] = True
        own = len(above) + a - first
        visible[a - first : b - first, own : own + b - a] = np.tri(b - a, dtype=bool)
    return Piece((first, stop), _ranges(above), visible)


def _ranges(nodes: NDArray[np.intp]) -> tuple[Range, ...]:
    """Write increasing node numbers as ranges."""
    if not nodes.size:
        return ()
    breaks = np.flatnonzero(np.diff(nodes) != 1) + 1
    return tuple((int(part[0]), int(part[-1]) + 1) for part in np.split(nodes, breaks))
