"""Changes between two sets of answers to the same items, with item-bootstrap intervals, many pairs at once.

Knows per-item columns and sums; not what made the answers, and no analysis. One draw of a benchmark's items serves
every set of answers to it, so that all changes are paired within draws; a pair counts the items that both answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.resampling import resampled_sums
from orderbias.measures import MEASURES, ItemColumns
from orderbias.measures.sums import Layout, Sums
from orderbias.studies.panel.shared_items import shared_items

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: What is compared, in the order of the last axis of :class:`Changes`.
STATISTICS = ("flip_rate", "pooled_sd", "per_item_kl")
#: A change below this is none: the SD of equal shares differs by rounding alone.
NOTHING = 1e-12
_COLUMNS = ("one", "flip", "item_kl", "f")
#: Numbers of one table of draws; more sides than fit are drawn in several turns.
_TABLE = 20_000_000
#: Multiplicities multiplied at once: wide tables want many, or the threads of BLAS wait for each other.
_DRAWS = 2_000_000
#: Numbers of the differences handled at once.
_BLOCK = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One set of answers: the ids of its items and what each adds to the sums, ``(n_items, n_columns)``."""

    item_ids: NDArray[Any]
    rows: Floats
    layout: Layout


def side(item_ids: NDArray[Any], columns: ItemColumns) -> Side:
    """Return a set of answers from the columns of its items."""
    kept = columns.select(_COLUMNS)
    return Side(item_ids, kept.rows[kept.row_of], kept.layout)


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Changes of pairs.

    Parameters
    ----------
    n_items
        ``(n_pairs,)``: items that both sides answered.
    value, low, high
        ``(n_pairs, 3)``: the changes of ``STATISTICS``, second side less first, and their intervals; NaN where there
        are fewer than two items.
    """

    n_items: NDArray[np.int64]
    value: Floats
    low: Floats
    high: Floats

    @property
    def direction(self) -> NDArray[np.int64]:
        """-1, 0 or 1, ``(n_pairs, 3)``."""
        return np.where(np.abs(self.value) > NOTHING, np.sign(self.value), 0).astype(np.int64)

    @property
    def resolved(self) -> Bools:
        """Whether the interval excludes zero, ``(n_pairs, 3)``."""
        return np.asarray((self.low > NOTHING) | (self.high < -NOTHING))

    @classmethod
    def joined(cls, parts: Sequence[Changes]) -> Changes:
        """Put those of several benchmarks one after another."""
        if not parts:
            return cls(np.zeros(0, np.int64), *(np.zeros((0, len(STATISTICS))) for _ in range(3)))
        names = ("n_items", "value", "low", "high")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def changes(
    sides: Sequence[Side], pairs: Sequence[tuple[int, int]], *, resamples: int, level: float, rng: np.random.Generator
) -> Changes:
    """Compare pairs of sets of answers to one benchmark.

    Parameters
    ----------
    sides
        Sets of answers with one number of options; items are the same where their ids are.
    pairs
        Which two of them are compared, the earlier first.
    resamples, level
        Item-bootstrap draws, and the level of the percentile intervals. The items of the benchmark are drawn; each
        pair counts those that both answered.
    rng
        Source of randomness.
    """
    table, there = _on_all_items(sides)
    both = [there[i] & there[j] for i, j in pairs]
    found = Changes(
        np.array([int(items.sum()) for items in both], np.int64),
        *(np.full((len(pairs), len(STATISTICS)), np.nan) for _ in range(3)),
    )
    enough = np.flatnonzero(found.n_items > 1)
    most = max(2, _TABLE // (table.shape[-1] * max(resamples, table.shape[1])))
    for turn in _turns(pairs, [items.tobytes() for items in both], enough, most):
        wide = np.concatenate([table[s] * np.frombuffer(items, bool)[:, None] for s, items in turn.sides], axis=1)
        together = max(256, _DRAWS // len(wide))
        drawn = resampled_sums(wide, np.ones(len(wide), np.int64), resamples, rng, samples=together)
        _fill(found, turn, _read(wide.sum(axis=0)[None], sides[0].layout), _read(drawn, sides[0].layout), level)
    return found


def _on_all_items(sides: Sequence[Side]) -> tuple[Floats, Bools]:
    """Return the rows of every side on all items, ``(n_sides, n_items, n_columns)``, 0 where absent; and which are."""
    items = shared_items([s.item_ids for s in sides])
    table = np.zeros((len(sides), items.n_items, sides[0].rows.shape[1]))
    for own, numbers, s in zip(table, items.numbers, sides, strict=True):
        own[numbers] = s.rows
    return table, items.there


@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """Pairs drawn together: which they are, where their ends stand among ``sides``, and these with their items."""

    pairs: NDArray[np.intp]
    ends: NDArray[np.intp]
    sides: list[tuple[int, bytes]]


def _turns(pairs: Sequence[tuple[int, int]], items: list[bytes], rows: NDArray[np.intp], most: int) -> Iterator[_Turn]:
    """Cut pairs into turns with at most ``most`` different sides, a side being answers on some items."""
    turn: list[tuple[int, int, int]] = []
    number: dict[tuple[int, bytes], int] = {}
    # Pairs with the same items come together: they share sides.
    for row in sorted(rows.tolist(), key=lambda r: items[r]):
        ends = [(end, items[row]) for end in pairs[row]]
        if turn and len(number) + sum(end not in number for end in ends) > most:
            yield _turn(turn, number)
            turn, number = [], {}
        first, second = (number.setdefault(end, len(number)) for end in ends)
        turn.append((row, first, second))
    if turn:
        yield _turn(turn, number)


def _turn(found: list[tuple[int, int, int]], number: dict[tuple[int, bytes], int]) -> _Turn:
    table = np.array(found, np.intp)
    return _Turn(table[:, 0], table[:, 1:], list(number))


def _read(totals: Floats, layout: Layout) -> Floats:
    """Return the statistics of totals ``(n_draws, n_sides * n_columns)`` as ``(3, n_sides, n_draws)``."""
    width = len(_COLUMNS) - 1 + layout.n_options
    sums = Sums(totals.reshape(len(totals), -1, width).transpose(1, 0, 2), layout)
    return np.stack([MEASURES[name].compute(sums) for name in STATISTICS])


def _fill(found: Changes, turn: _Turn, observed: Floats, drawn: Floats, level: float) -> None:
    """Write the changes of some pairs and their percentile intervals."""
    quantiles = [(1 - level) / 2, (1 + level) / 2]
    for part in _parts(len(turn.pairs), drawn.shape[-1] * len(STATISTICS)):
        rows, (first, second) = turn.pairs[part], turn.ends[part].T
        found.value[rows] = (observed[:, second, 0] - observed[:, first, 0]).T
        difference = drawn[:, second] - drawn[:, first]
        # A draw without any item of a pair has no value; only pairs with few common items know such draws.
        quantile = np.nanquantile if np.isnan(difference).any() else np.quantile
        low, high = quantile(difference, quantiles, axis=-1, overwrite_input=True)
        found.low[rows], found.high[rows] = low.T, high.T


def _parts(n: int, each: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, each))
    for start in range(0, n, step):
        yield slice(start, start + step)
