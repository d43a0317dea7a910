"""Which prefixes of prompts are worth computing apart; token sequences only, no models.

Few-shot examples, a system prompt or a passage stand before many items. Their keys and values are computed once and
kept while they are in use.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.backends._prefix_tree import Tokens, common_length, count_nodes, shared_lengths

#: A prefix is kept apart only if it spares at least so many tokens.
WORTH_TOKENS = 32
#: Groups whose prefixes are looked for together.
WINDOW = 256


def shared_prefixes(sequences: Sequence[Tokens], worth: int = WORTH_TOKENS) -> list[int]:
    """Choose groups of sequences with a common prefix so that the tokens spared are most.

    Parameters
    ----------
    sequences
        What all prompts of each item begin with.
    worth
        A prefix shorter than this is left alone.

    Returns
    -------
    list of int
        For each sequence, the length of its prefix that others share; 0 for none.

    Examples
    --------
    >>> shared_prefixes([np.array([1, 2, 3]), np.array([9, 9]), np.array([1, 2, 4])], worth=2)
    [2, 0, 2]
    """
    order = sorted(range(len(sequences)), key=lambda i: sequences[i].tolist())
    shared = np.array(shared_lengths([sequences[i] for i in order]), np.int64)
    lengths = [0] * len(sequences)
    for start, stop, n in _best_groups(shared, 0, len(order), worth)[1]:
        for i in order[start:stop]:
            lengths[i] = n
    return lengths


def _best_groups(
    shared: NDArray[np.int64], start: int, stop: int, worth: int
) -> tuple[int, list[tuple[int, int, int]]]:
    """Return tokens spared and groups ``(start, stop, length)``: one for all, or the best of the parts."""
    if stop - start < 2:
        return 0, []
    inner = shared[start + 1 : stop]
    least = int(inner.min())
    bounds = [start, *(start + 1 + np.flatnonzero(inner == least)).tolist(), stop]
    spared, groups = 0, []
    for a, b in itertools.pairwise(bounds):
        more, found = _best_groups(shared, a, b, worth)
        spared += more
        groups += found
    whole = least * (stop - start - 1)
    return (whole, [(start, stop, least)]) if least >= worth and whole >= spared else (spared, groups)


def common_prefix(ordered: Sequence[Tokens]) -> Tokens:
    """Return what all of some sorted paths begin with, short of the last token of the shortest.

    That token is left out because the answer is read after it: it has to be computed for every path anew.
    """
    first, last = ordered[0], ordered[-1]
    return first[: min(common_length(first, last), min(map(len, ordered)) - 1)]


def count_shared(groups: Sequence[Sequence[Tokens]]) -> int:
    """Return the tokens to compute for groups of sorted paths: nodes of each tree, and each shared prefix once."""
    total = 0
    prefixes: dict[bytes, int] = {}
    for start in range(0, len(groups), WINDOW):
        window = groups[start : start + WINDOW]
        commons = [common_prefix(paths) for paths in window]
        for paths, common, n in zip(window, commons, shared_prefixes(commons), strict=True):
            total += count_nodes(paths) - n
            prefixes[common[:n].tobytes()] = n
    return total + sum(prefixes.values())


class PrefixCache:
    """Values computed for token sequences, the ones used last, within a total size.

    Parameters
    ----------
    capacity
        Sum of the sizes kept; the newest entry is kept whatever its size.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[bytes, tuple[Tokens, Any, int]] = OrderedDict()

    def longest(self, tokens: Tokens) -> tuple[int, Any]:
        """Return how much of a sequence the best entry covers (its own beginning, maybe), and its value."""
        best, key = 0, None
        for k, (known, _, _) in self._entries.items():
            n = common_length(known, tokens)
            if n > best:
                best, key = n, k
        if key is None:
            return 0, None
        self._entries.move_to_end(key)
        return best, self._entries[key][1]

    def add(self, tokens: Tokens, value: Any, size: int) -> None:
        """Keep a value, and drop the ones used longest ago if there is no room."""
        self._entries[tokens.tobytes()] = (tokens, value, size)
        while len(self._entries) > 1 and sum(e[2] for e in self._entries.values()) > self._capacity:
            self._entries.popitem(last=False)
