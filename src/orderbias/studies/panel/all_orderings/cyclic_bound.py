"""How far the flip rate under the cyclic orderings is below that under all K!: two-factors, Table 17 and E.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.predictions import Predictions
from orderbias.studies.findings import Column, Entry, Number, Series, Table
from orderbias.studies.panel.all_orderings.designs import CYCLIC, DRAWS, RANDOM, DesignStatistics
from orderbias.studies.panel.all_orderings.full_orderings import changing_correctness, expected_flip_rate
from orderbias.studies.panel.estimates import CELLS, Draws
from orderbias.studies.panel.values import Pool
from orderbias.studies.panel.wording import written

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FlipRates:
    """Each cell's flip rate under four choices of orderings, ``(n_cells,)`` each, and its accuracy under all K!.

    Parameters
    ----------
    cyclic, full
        Under the K rotations and under all K! orderings.
    random
        Mean over draws of K orderings for each item.
    expected
        Mean over every set of K orderings.
    accuracy
        Under all K! orderings; NaN where a gold is unknown.
    changing, found
        Items whose correctness changes over all orderings, and those of them that the rotations find.
    """

    cyclic: Floats
    full: Floats
    random: Floats
    expected: Floats
    accuracy: Floats
    changing: Floats
    found: Floats


def flip_rates(pool: Pool, full: list[Predictions], designs: list[dict[str, DesignStatistics]]) -> FlipRates:
    """Return the flip rates of every cell."""
    counts = np.array([changing_correctness(p) for p in full])
    return FlipRates(
        cyclic=np.array([d[CYCLIC].flip_rate[0] for d in designs]),
        full=pool["flip_rate"],
        random=np.array([d[RANDOM].flip_rate.mean() for d in designs]),
        expected=np.array([expected_flip_rate(p.choice, p.n_options, p.n_options) for p in full]),
        accuracy=pool["accuracy"],
        changing=counts[:, 0],
        found=counts[:, 1],
    )


def flip_tables(rates: FlipRates, draws: Draws) -> tuple[Table, Table]:
    """Return the flip rates under each choice of orderings, and how they compare (Table 17).

    Parameters
    ----------
    rates
        Of every cell.
    draws
        Of the cells, one by one.
    """
    n_cells = len(rates.full)
    rows = [
        ("cyclic", rates.cyclic), ("all K!", rates.full), (f"random K per item, mean of {DRAWS} draws", rates.random),
        ("K orderings, exact expectation", rates.expected),
    ]  # fmt: skip
    entries: tuple[tuple[Entry, ...], ...] = tuple(
        (
            name, n_cells, draws.means(values).number(),
            *(draws.spearman(values, y).number() for y in (rates.accuracy, rates.full, rates.cyclic)),
        )
        for name, values in rows
    )  # fmt: skip
    columns = (
        Column("orderings", "Orderings", "text"), Column("n_cells", "Cells", "count"),
        Column("flip_rate", "Mean flip rate", "percent"), Column("accuracy", "r_s with accuracy"),
        Column("with_full", "r_s with the flip rate under all K!"),
        Column("with_cyclic", "r_s with the cyclic flip rate"),
    )  # fmt: skip
    notes = ("Accuracy is that under all K! orderings.", *(() if n_cells > 1 else ("There is one cell.",)))
    levels = Table(
        "flip-rates", "The flip rate under the cyclic orderings and under others", columns, entries, resampled=CELLS,
        level=draws.level, source="two-factors, Table 17", notes=notes,
    )  # fmt: skip
    return levels, _comparison_table(rates, draws)


def _comparison_table(rates: FlipRates, draws: Draws) -> Table:
    n = len(rates.full)
    changing, found = rates.changing, rates.found
    coverage = draws.estimates(lambda w: _pooled(found, changing, w)).number()
    n_unknown = int(np.isnan(changing).sum())
    rows: tuple[tuple[Entry, ...], ...] = (
        ("cyclic at most that under all K!", n, int((rates.cyclic <= rates.full).sum()), None),
        ("cyclic below that under all K!, mean difference", n, None, draws.means(rates.full - rates.cyclic).number()),
        (
            "cyclic above random K, mean ratio less 1", n, None,
            draws.means(_ratio(rates.cyclic, rates.random) - 1).number(),
        ),
        (
            "cyclic above the exact expectation, mean ratio less 1", n, int((rates.cyclic > rates.expected).sum()),
            draws.means(_ratio(rates.cyclic, rates.expected) - 1).number(),
        ),
        ("items whose correctness changes over all K! that the cyclic find, pooled", n - n_unknown, None, coverage),
    )  # fmt: skip
    columns = (
        Column("comparison", "Flip rate", "text"), Column("n_cells", "Cells", "count"),
        Column("n_holding", "In so many it holds", "count"), Column("value", "Value", "percent")
    )  # fmt: skip
    return Table(
        "undercount", "What the cyclic orderings miss", columns, rows, resampled=CELLS, level=draws.level,
        source="two-factors, Table 17 and E.1",
        notes=("A ratio is left out where the flip rate below it is 0.",),
    )  # fmt: skip


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def _pooled(top: Floats, bottom: Floats, weights: Floats) -> Floats:
    there = ~np.isnan(bottom)
    return _ratio(weights[:, there] @ top[there], weights[:, there] @ bottom[there])


def flip_sentences(tables: Sequence[Table]) -> tuple[str, ...]:
    """Say how loose the bound is."""
    cyclic, full, *_ = tables[0].rows
    bound, under, _, above, coverage = tables[1].rows
    found = coverage[3]
    covered = (
        f"The cyclic orderings find {written(found, 1, 100)} % of the items whose correctness changes over all K!."
        if isinstance(found, Number) and found.value is not None
        else "No item is known whose correctness changes over all K!."
    )
    return (
        f"The flip rate under the cyclic orderings is at most that under all K! in {bound[2]} of {bound[1]} cells, and "
        f"{written(under[3], 1, 100)} points below it on average.",
        f"The two order the cells with r_s = {written(cyclic[4])}; with accuracy r_s = {written(cyclic[3])} and "
        f"{written(full[3])}.",
        f"The cyclic flip rate is above its expectation over every set of K orderings in {above[2]} of {above[1]} "
        "cells.",
        covered,
    )


def points(pool: Pool, rates: FlipRates) -> Series:
    """Return each cell's flip rates against its accuracy."""
    return tuple(
        {
            **cell.labels, "accuracy": Number.of(rates.accuracy[i]).value,
            "cyclic": float(rates.cyclic[i]), "all": float(rates.full[i]),
            "expected": float(rates.expected[i]),
        }
        for i, cell in enumerate(pool.cells)
    )  # fmt: skip
