"""Predictions -> per-item columns whose sums carry every measure; equal rows are counted, not repeated.

Knows no formula of a cell: only what one item contributes. Items with the same answers under the same orderings and
with the same gold contribute the same row, so a million items of four options become some hundred rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from orderbias.errors import DataError
from orderbias.measures.distinct import Distinct, distinct_codes, distinct_rows
from orderbias.measures.items import ABSENT, FLIP_BASED, GOLD_BASED, Answers, BlockDesign, column_layout, item_columns
from orderbias.measures.sums import Floats, Layout, Sums
from orderbias.predictions import Predictions

#: Array elements handled at once; bounds the memory that temporaries take.
BLOCK = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ItemColumns:
    """Distinct rows of columns and how many units have each.

    Parameters
    ----------
    rows
        ``(n_rows, n_columns)``, all different, in an order that does not depend on the order of the items.
    counts
        ``(n_rows,)``: units (items, or clusters of items) with this row.
    row_of
        ``(n_units,)``: the row of each unit.
    layout
        Names of the columns, and what the design fixes.
    """

    rows: Floats
    counts: NDArray[np.int64]
    row_of: NDArray[np.int64]
    layout: Layout

    @property
    def sums(self) -> Sums:
        """The columns summed over all units."""
        return Sums(self.counts @ self.rows, self.layout)

    @property
    def n_units(self) -> int:
        """Items, or clusters of items."""
        return int(self.counts.sum())

    def select(self, names: tuple[str, ...]) -> ItemColumns:
        """Keep some columns only, and count the rows that no longer differ together."""
        index: dict[str, int | slice] = {}
        kept: list[int] = []
        for name in names:
            where = self.layout.index[name]
            columns = [where] if isinstance(where, int) else list(range(where.start, where.stop))
            index[name] = len(kept) if isinstance(where, int) else slice(len(kept), len(kept) + len(columns))
            kept += columns
        found = distinct_rows(self.rows[:, kept], self.counts)
        return ItemColumns(found.rows, found.counts, found.inverse[self.row_of], replace(self.layout, index=index))

    def clustered(self, cluster_of: NDArray[np.integer]) -> ItemColumns:
        """Add up the rows of each cluster; ``cluster_of`` holds the 0-based cluster of each unit."""
        n_clusters = int(cluster_of.max()) + 1
        ones = np.ones(len(cluster_of))
        members = csr_array((ones, (cluster_of, self.row_of)), shape=(n_clusters, len(self.rows)))
        found = distinct_rows(np.asarray(members @ self.rows))
        return ItemColumns(found.rows, found.counts, found.inverse, self.layout)


def build_columns(predictions: Predictions) -> ItemColumns:
    """Return the columns of the usable items over their presented orderings.

    Raises
    ------
    DataError
        If no item is usable.
    """
    usable = np.flatnonzero(predictions.usable)
    if not usable.size:
        raise DataError(
            f"At least one item must have an answer under every presented ordering of its design. Got 0 usable items "
            f"of {predictions.n_items} (model {predictions.model!r}, benchmark {predictions.benchmark!r}). "
            "Look at the statuses of the records: unparsed, refused, error or missing answers are never imputed."
        )
    if predictions.per_item:
        return _from_blocks(predictions, usable)
    patterns = _shared_patterns(predictions, usable)
    return _from_blocks(predictions, usable[patterns.first], patterns)


def _shared_patterns(predictions: Predictions, usable: NDArray[np.intp]) -> Distinct:
    """Find the items that answer alike: same contents under each ordering, same gold, tied or not."""
    choice = predictions.choice[:, predictions.presented][usable]
    tied = predictions.ties[:, predictions.presented][usable].any(axis=1)
    keys = [*choice.T, predictions.gold[usable] + 1, tied]
    return distinct_codes(keys, [*[predictions.n_options] * choice.shape[1], predictions.n_options + 1, 2])


def _blocks(predictions: Predictions, items: NDArray[np.intp]) -> Iterator[Answers]:
    presented = np.flatnonzero(predictions.presented)
    step = max(1, BLOCK // (len(presented) * predictions.n_options))
    for start in range(0, len(items), step):
        part = items[start : start + step]
        pick = np.ix_(part, presented)
        scored = np.ones((len(part), len(presented)), bool) if predictions.asked is None else predictions.asked[pick]
        yield Answers(
            choice=predictions.choice[pick],
            positions=predictions.positions[pick] if predictions.per_item else predictions.positions[presented],
            scored=scored,
            gold=predictions.gold[part],
            tied=np.asarray((predictions.ties[pick] & scored).any(axis=1)),
        )


def _from_blocks(predictions: Predictions, items: NDArray[np.intp], patterns: Distinct | None = None) -> ItemColumns:
    """Build the columns of ``items`` block by block, keeping distinct rows only.

    ``patterns`` says how many items each of ``items`` stands for, and which.
    """
    index, width = column_layout(predictions.n_options)
    rows: list[Floats] = []
    counts: list[NDArray[np.int64]] = []
    inverses: list[NDArray[np.int64]] = []
    designs: list[BlockDesign] = []
    done = n_rows = 0
    for answers in _blocks(predictions, items):
        block, design = item_columns(answers, index, width)
        n_block = len(block)
        found = distinct_rows(block, None if patterns is None else patterns.counts[done : done + n_block])
        inverses.append(found.inverse + n_rows)
        rows.append(found.rows)
        counts.append(found.counts)
        designs.append(design)
        done += n_block
        n_rows += len(found.rows)
    merged = distinct_rows(np.concatenate(rows), np.concatenate(counts))
    row_of = merged.inverse[np.concatenate(inverses)]
    if patterns is not None:
        row_of = row_of[patterns.inverse]
    layout = _layout(merged.rows, index, predictions.n_options, designs)
    return ItemColumns(np.nan_to_num(merged.rows, copy=False), merged.counts, row_of, layout)


def _layout(rows: Floats, index: dict[str, int | slice], n_options: int, designs: list[BlockDesign]) -> Layout:
    """Say what the design fixes, and name the columns that cannot be had with the reason."""
    whole = np.asarray(~np.isnan(rows).any(axis=0))
    absent = {name: ABSENT[name] for name, where in index.items() if not whole[where].all()}
    if "correct" in absent:
        absent |= dict.fromkeys(GOLD_BASED, ABSENT["correct"])
    balanced = all(d.balanced for d in designs)
    if not balanced:
        absent["balance"] = ABSENT["balance"]
    if not any(d.varied for d in designs):
        absent |= dict.fromkeys(FLIP_BASED, ABSENT["flip"])
    return Layout(
        index=index,
        n_options=n_options,
        n_orderings=max(d.size for d in designs),
        balanced=balanced,
        max_deviation=0.0 if balanced else max(d.max_deviation for d in designs),
        absent=absent,
    )
