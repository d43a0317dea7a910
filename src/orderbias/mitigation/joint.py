"""Several versions of the same items' answers, resampled together: one draw of items serves every version.

Knows columns and sums alone: not what made the versions, and no formula of a measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.resampling import resampled_sums
from orderbias.measures.columns import ItemColumns
from orderbias.measures.distinct import distinct_codes
from orderbias.measures.sums import Floats, Layout, Sums
from orderbias.measures.table import Measure, evaluate

#: Samples multiplied at once. Versions make wide tables, and a product of many samples keeps BLAS busy.
SAMPLES = 256


@dataclass(frozen=True, slots=True, eq=False)
class JointColumns:
    """The columns of several versions side by side; items with the same rows in all of them are counted.

    Parameters
    ----------
    rows
        ``(n_rows, n_columns)``: different rows; columns that are the same in several versions stand there once.
    counts
        ``(n_rows,)``: units (items, or clusters of items) with each row.
    columns
        For each version, where its own columns stand, ``(n_own,)``.
    layouts
        The layout of each version's own columns.
    """

    rows: Floats
    counts: NDArray[np.int64]
    columns: tuple[NDArray[np.intp], ...]
    layouts: tuple[Layout, ...]

    def version(self, i: int, totals: Floats) -> Sums:
        """Read totals ``(..., n_columns)`` as the sums of one version."""
        return Sums(totals[..., self.columns[i]], self.layouts[i])


def join(versions: Sequence[ItemColumns], cluster_of: NDArray[np.integer] | None = None) -> JointColumns:
    """Put the columns of several versions of the same units side by side.

    Parameters
    ----------
    versions
        One or more, of the same units in the same order.
    cluster_of
        The 0-based cluster of each unit; clusters are then the units.

    Raises
    ------
    ArgumentError
        If the versions differ in their number of units.
    """
    sizes = {len(version.row_of) for version in versions}
    if len(sizes) != 1:
        raise ArgumentError(f"`versions` must be of the same units. Got versions of {sorted(sizes)} units.")
    found = distinct_codes([v.row_of for v in versions], [len(v.rows) for v in versions])
    wide = np.concatenate([v.rows[v.row_of[found.first]] for v in versions], axis=1)
    joint = ItemColumns(wide, found.counts, found.inverse, versions[0].layout)
    if cluster_of is not None:
        joint = joint.clustered(cluster_of)
    rows, where = np.unique(joint.rows, axis=1, return_inverse=True)
    ends = np.cumsum([v.rows.shape[1] for v in versions])
    return JointColumns(
        np.ascontiguousarray(rows), joint.counts, tuple(np.split(where.ravel(), ends[:-1])),
        tuple(v.layout for v in versions),
    )  # fmt: skip


def joint_draws(
    joint: JointColumns, measures: Sequence[Measure], resamples: int, rng: np.random.Generator
) -> list[dict[str, Floats]]:
    """Compute each measure of each version on bootstrap samples that all versions share.

    Returns
    -------
    One mapping a version, from a measure to its ``(resamples,)`` values; all empty where there is nothing to resample.
    """
    versions = range(len(joint.layouts))
    if resamples == 0 or joint.counts.sum() < 2:
        return [{} for _ in versions]
    totals = resampled_sums(joint.rows, joint.counts, resamples, rng, samples=SAMPLES)
    return [evaluate(joint.version(i, totals), measures) for i in versions]
