"""Which of the two orders of a pair are asked when a sample of pairs is asked in both; knows no texts and no verdicts.

Showing each pair in one order drawn at random halves the calls, and a seeded sample of pairs shown in both orders
still tells how much the order matters (judge-swap, 04).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from orderbias.errors import ArgumentError
from orderbias.orderings.values import item_rng

_NAME = re.compile(r"sample-swap:([0-9]+(?:\.[0-9]+)?(?:e-[0-9]+)?):([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class SwapSample:
    """One order for each pair, both orders for a share of the pairs; use :meth:`of`.

    Both the order and a number that ranks the pair are functions of (seed, item id) only; the pairs of lowest rank
    are the sample, so that it has exactly the size asked for.

    Parameters
    ----------
    share
        The share of pairs that are shown in both orders, above 0 and at most 1.
    seed
        Decides orders and sample.
    cutoff
        The highest rank of the sample.
    """

    share: float
    seed: int
    cutoff: float

    @classmethod
    def of(cls, share: float, seed: int, item_ids: Iterable[str]) -> SwapSample:
        """Find the sample among some items: the nearest whole number to its share, at least one.

        Raises
        ------
        ArgumentError
            If the share is outside (0, 1].

        Examples
        --------
        >>> ids = [str(i) for i in range(10)]
        >>> sample = SwapSample.of(0.2, 7, ids)
        >>> sum(len(sample.positions(2, i)) == 2 for i in ids), str(sample)
        (2, 'sample-swap:0.2:7')
        """
        if not (math.isfinite(share) and 0 < share <= 1):
            raise ArgumentError(f"`share` must be above 0 and at most 1. Got {share!r}.")
        ranks = sorted(_drawn(seed, item_id)[0] for item_id in item_ids)
        return cls(share, seed, ranks[max(1, round(share * len(ranks))) - 1] if ranks else -1.0)

    @classmethod
    def parse(cls, name: str, item_ids: Iterable[str]) -> SwapSample | None:
        """Read what ``str`` gives; None if it is no such name."""
        match = _NAME.fullmatch(name)
        return None if match is None else cls.of(float(match[1]), int(match[2]), item_ids)

    @property
    def per_item(self) -> bool:
        """Whether each item has orderings of its own: always."""
        return True

    def positions(self, n_options: int, item_id: str) -> list[tuple[int, ...]]:
        """Return the orderings of a pair, ``(0, 1)`` before ``(1, 0)``; contents after the second keep their places."""
        rank, first = _drawn(self.seed, item_id)
        rest = range(2, n_options)
        both = [(0, 1, *rest), (1, 0, *rest)]
        return both if rank <= self.cutoff else [both[first]]

    def __str__(self) -> str:
        return f"sample-swap:{self.share!r}:{self.seed}"


def _drawn(seed: int, item_id: str) -> tuple[float, int]:
    """Return an item's rank in [0, 1) and the order it is shown in."""
    rng = item_rng(seed, item_id)
    return float(rng.random()), int(rng.integers(2))
