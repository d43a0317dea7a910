"""What the cap on the flip rate explains of its association with accuracy; one part of ``controls``.

A cell of accuracy A can flip at most ``min(1, K (1 - A))`` of its items. The null deals the flip rates divided by
their caps anew to the cells, and multiplies back: each cell keeps its feasible region, and nothing else ties flips to
accuracy.

Sources: two-factors, Eq. 3, C.4, Figure 8, Table 11.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from orderbias.inference.ranks import DECIMALS, spearman
from orderbias.studies.findings import Column, Entry, Number, Series, Table
from orderbias.studies.panel.estimates import CHECKPOINTS, STEP, checkpoint_draws, wider
from orderbias.studies.panel.values import Pool, Settings

Floats = NDArray[np.float64]

#: Subsets of the cells, by whether the cap restricts them.
SUBSETS = ("all", "cap below one", "cap one")
#: The central part of the null that is shown.
NULL_RANGE = 0.95


def cap_null(
    scaled: Floats, caps: Floats, accuracy: Floats, group: NDArray[np.integer], n: int, rng: np.random.Generator
) -> Floats:
    """Return Spearman's correlation with accuracy of flip rates dealt anew under each cell's cap.

    Parameters
    ----------
    scaled, caps, accuracy
        ``(n_cells,)``: flip rate divided by its cap; the cap; accuracy.
    group
        ``(n_cells,)``: scaled flip rates are permuted within a group.
    n
        Permutations.
    rng
        Source of randomness.

    Returns
    -------
    numpy.ndarray
        ``(n,)``; NaN where one side has no spread.
    """
    groups = [np.flatnonzero(group == g) for g in np.unique(group)]
    right = rankdata(np.round(accuracy, DECIMALS)) - (len(accuracy) + 1) / 2
    found = np.empty(n)
    for start in range(0, n, STEP):
        size = min(STEP, n - start)
        dealt = np.empty((size, len(scaled)))
        for cells in groups:
            dealt[:, cells] = rng.permuted(np.tile(scaled[cells], (size, 1)), axis=1)
        ranks = rankdata(np.round(dealt * caps, DECIMALS), axis=1) - (len(scaled) + 1) / 2
        scale = np.sqrt((ranks**2).sum(axis=1) * (right @ right))
        found[start : start + size] = np.divide(ranks @ right, scale, out=np.full(size, np.nan), where=scale > 1e-9)
    return found


def p_value(null: Floats, observed: float) -> float:
    """Return the share of permutations at least as large in size, the observed one counted among them.

    ``(1 + #{|r*| >= |r|}) / (1 + n)`` over the ``n`` permutations that are defined; NaN without one.

    Examples
    --------
    >>> p_value(np.array([0.1, -0.9, 0.2]), 0.8)
    0.5
    """
    defined = null[~np.isnan(null)]
    if not len(defined) or np.isnan(observed):
        return float("nan")
    # Equal correlations may differ in their last bits.
    return float((1 + (np.abs(defined) >= abs(observed) - 1e-12).sum()) / (1 + len(defined)))


def capped(pool: Pool) -> Pool:
    """Return the cells that have a scaled flip rate: golds known, and not every answer right."""
    return pool.where(~np.isnan(pool["scaled_flip_rate"]))


def _subsets(pool: Pool) -> Iterator[tuple[str, str, Pool]]:
    """Yield number of options, subset and cells, where there are at least two."""
    for scope, part in pool.by_options:
        binding = part["flip_cap"] < 1 - 1e-9  # an accuracy of 1 - 1/K may miss it by its last bit
        for subset, keep in zip(SUBSETS, (np.ones(len(part), bool), binding, ~binding), strict=True):
            cells = part.where(keep)
            if len(cells) > 1:
                yield scope, subset, cells


@dataclass(frozen=True, slots=True)
class CapNull:
    """The flip rate's correlation with accuracy in some cells, and the null of their caps.

    Parameters
    ----------
    options, subset
        Number of options ("all" of them), and which of ``SUBSETS``.
    n_cells
        Cells.
    observed
        Spearman's correlation.
    null
        The median of the null and its central range.
    p
        See :func:`p_value`; None where there is no correlation.
    """

    options: str
    subset: str
    n_cells: int
    observed: Number
    null: Number
    p: float | None


def cap_nulls(pool: Pool, settings: Settings) -> tuple[CapNull, ...]:
    """Compare every subset of at least two cells with the null of its caps.

    Parameters
    ----------
    pool
        Cells of :func:`capped`.
    settings
        Its ``resamples`` is the number of permutations.
    """
    found = []
    for scope, subset, cells in _subsets(pool):
        accuracy = cells["accuracy"]
        observed = float(spearman(cells["flip_rate"], accuracy))
        # A generator a row: rows of the same cells have the same null.
        rng = settings.rng("controls cap null")
        scaled, caps = cells["scaled_flip_rate"], cells["flip_cap"]
        null = cap_null(scaled, caps, accuracy, cells.n_options, settings.resamples, rng)
        p = Number.of(p_value(null, observed)).value
        found.append(CapNull(scope, subset, len(cells), Number.of(observed), _null(null), p))
    return tuple(found)


def null_table(nulls: Sequence[CapNull], settings: Settings, n_full_marks: int) -> Table:
    """Set the observed correlation of each subset beside its null.

    Parameters
    ----------
    nulls
        Of :func:`cap_nulls`.
    settings
        The same.
    n_full_marks
        Cells left out because every answer is right.
    """
    columns = (
        Column("options", "Options", "text"), Column("subset", "Cells whose cap is", "text"),
        Column("n_cells", "Cells", "count"), Column("observed", "r_s with accuracy"),
        Column("null", "Null median and range"), Column("p", "P", "p"),
    )  # fmt: skip
    rows = tuple((n.options, n.subset, n.n_cells, n.observed, n.null, n.p) for n in nulls)
    notes = [
        "The null permutes the scaled flip rate, flip_rate / min(1, K (1 - accuracy)), among the cells of a row with "
        "the same number of options, and multiplies back by each cell's cap. Its range is the central 95 %.",
        f"P counts permutations at least as large in size, of {settings.resamples:,} and the observed one.",
    ]
    if any(n.n_cells == 2 for n in nulls):
        notes.append("With two cells any Spearman correlation is 1 or -1.")
    if n_full_marks:
        notes.append(f"Left out because every answer is right, so that the cap is 0: {n_full_marks} cells.")
    return Table(
        "cap_null", "The flip rate's association with accuracy against the null of its cap", columns, rows,
        resampled="permutations of scaled flip rates", source="two-factors, Table 11", notes=tuple(notes),
    )  # fmt: skip


def _null(null: Floats) -> Number:
    defined = null[~np.isnan(null)]
    if not len(defined):
        return Number(None)
    low, median, high = np.quantile(defined, [(1 - NULL_RANGE) / 2, 0.5, (1 + NULL_RANGE) / 2])
    return Number(float(median), float(low), float(high))


def scaled_table(pool: Pool, settings: Settings) -> Table:
    """Correlate the scaled flip rate with accuracy over the same subsets."""
    level = wider(settings.level)
    columns = (
        Column("options", "Options", "text"), Column("subset", "Cells whose cap is", "text"),
        Column("n_cells", "Cells", "count"), Column("scaled_flip_rate", "Scaled flip rate, r_s with accuracy"),
    )  # fmt: skip
    rows: list[tuple[Entry, ...]] = []
    for scope, subset, cells in _subsets(pool):
        draws = checkpoint_draws(cells, settings, "controls").at(level)
        number = draws.spearman(cells["scaled_flip_rate"], cells["accuracy"]).number()
        rows.append((scope, subset, len(cells), number))
    return Table(
        "scaled_flip_rate", "The flip rate divided by its cap, and accuracy", columns, tuple(rows),
        resampled=CHECKPOINTS, level=level, source="two-factors, Table 11",
        notes=checkpoint_draws(pool, settings, "controls").notes,
    )  # fmt: skip


def figure(nulls: Sequence[CapNull]) -> Series:
    """Return the points of Figure 8: a dot, a bar and a tick for each subset."""
    return tuple(
        {
            "options": n.options, "subset": n.subset, "n_cells": n.n_cells, "observed": n.observed.value,
            "null_median": n.null.value, "null_low": n.null.low, "null_high": n.null.high, "p": n.p,
        }
        for n in nulls
    )  # fmt: skip
