"""The factor plane: how often answers move, how they lean, and how either goes with accuracy over cells.

Sources: two-factors, sections 3.2 and 5.1, Figure 3, C.2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from orderbias.studies.findings import Column, Entry, Finding, Number, Series, Table
from orderbias.studies.panel.estimates import CELLS, cell_draws, complete
from orderbias.studies.panel.values import Panel, Pool, Settings, need
from orderbias.studies.panel.wording import WORDS, capitalised, counted, trend, written

Floats = NDArray[np.float64]

TITLE = "How often answers move, how unevenly they land, and how both go with accuracy"
STATISTICS = ("flip_rate", "positional_skew", "pooled_sd")
#: Two cells are alike in pooled SD when the larger is at most this share above the smaller.
ALIKE = 0.02
#: Values of the pooled SD whose curves are drawn, where the panel has cells on both sides.
ISO = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
#: The largest skew there is, that of two options; no number of options allows more.
LARGEST_SKEW = 0.5
#: What is said of a cell.
CELL = (
    Column("checkpoint", "Checkpoint", "text"), Column("benchmark", "Benchmark", "text"),
    Column("n_options", "K", "count"), Column("n_items", "Items", "count"),
    Column("n_unusable", "Unusable", "count"), Column("accuracy", "Accuracy", "percent"),
    Column("flip_rate", "Flip rate", "percent"), Column("positional_skew", "Positional skew"),
    Column("pooled_sd", "Pooled SD"),
)  # fmt: skip


def factors(panel: Panel) -> Finding:
    """Set the two factors and the pooled SD of every cell of the main readout beside accuracy.

    Intervals of the correlations resample cells, the same draws for all statistics of a row (two-factors, A.5).

    Parameters
    ----------
    panel
        Any panel.

    Returns
    -------
    Finding
        Tables ``cells``, ``correlations`` and ``like_cells``; series ``factor_plane``, ``iso_pooled_sd`` and
        ``against_accuracy``.
    """
    pool = panel.pool(panel.main_readout)
    short = need(pool, 1, "cells under the cyclic orderings")
    if short:
        return Finding("factors", TITLE, skipped=short)
    pair = like_pair(pool["flip_rate"], pool["pooled_sd"])
    tables = [_cells(pool)]
    sentences: list[str] = []
    left: list[str] = []
    known = pool.where(~np.isnan(pool["accuracy"]))
    short = need(known, 3, "cells whose right answers are known, to correlate with accuracy")
    if short:
        left.append(short)
    else:
        table = _correlations(known, panel.settings)
        tables.append(table)
        sentences += _say_correlations(dict(zip([c.key for c in table.columns], table.rows[0], strict=True)))
    if pair is None:
        left.append("needs two cells of nearly equal pooled SD and different flip rates; there are none.")
    else:
        tables.append(_like_cells(pool, pair))
        sentences.append(_say_pair(pool, pair))
    series = {
        "factor_plane": _plane(pool, pair), "iso_pooled_sd": iso_curves(pool["pooled_sd"]),
        "against_accuracy": _against_accuracy(pool),
    }  # fmt: skip
    return Finding("factors", TITLE, tuple(tables), series, tuple(sentences), parts_skipped=tuple(left))


def _cells(pool: Pool) -> Table:
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            cell.checkpoint.name, cell.benchmark, cell.n_options, cell.n_items, cell.n_unusable,
            *(Number.of(cell.measures[name]) for name in ("accuracy", *STATISTICS)),
        )
        for cell in pool.cells
    )  # fmt: skip
    undefined = int(np.isnan(pool["positional_skew"]).sum())
    notes = [f"The answers are those of the {pool.cells[0].readout} readout."]
    if undefined:
        notes.append(f"The skew is undefined where no item flips: {counted(undefined, 'cell')} of {len(pool)}.")
    return Table("cells", "The factors of every cell", CELL, rows, source="two-factors, Figure 3", notes=tuple(notes))


def _correlations(pool: Pool, settings: Settings) -> Table:
    """Correlate each statistic with accuracy, over all cells and over those of each number of options."""
    columns = (
        Column("options", "Options", "text"), Column("n_cells", "Cells", "count"),
        Column("n_cells_with_skew", "Cells with a skew", "count"),
        *(Column(name, capitalised(WORDS[name])) for name in STATISTICS),
        Column("flip_rate_less_pooled_sd", "|flip rate| - |pooled SD|"),
        Column("flip_rate_less_positional_skew", "|flip rate| - |skew|"),
    )  # fmt: skip
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (scope, len(part), complete(part["positional_skew"]), *_with_accuracy(part, settings))
        for scope, part in pool.by_options
        if len(part) > 2
    )
    return Table(
        "correlations", "Spearman correlations with accuracy, and differences of their sizes", columns, rows,
        resampled=CELLS, level=settings.level, source="two-factors, Figure 3",
        notes=("Cells without a skew are left out of its correlation alone.",),
    )  # fmt: skip


def _with_accuracy(pool: Pool, settings: Settings) -> tuple[Number, ...]:
    draws = cell_draws(pool, settings, "factors")
    found = draws.spearman([pool[name] for name in STATISTICS], pool["accuracy"])
    size = abs(found)
    flips, skew, pooled = ([STATISTICS.index(name)] for name in ("flip_rate", "positional_skew", "pooled_sd"))
    gaps = (size.take(flips) - size.take(pooled), size.take(flips) - size.take(skew))
    return (*found.numbers, *(gap.number() for gap in gaps))


def _say_correlations(row: Mapping[str, object]) -> list[str]:
    said = [trend(f"The {WORDS[name]}", number) for name in STATISTICS if isinstance(number := row[name], Number)]
    for other in ("pooled_sd", "positional_skew"):
        gap = row[f"flip_rate_less_{other}"]
        if not isinstance(gap, Number) or gap.value is None or gap.low is None or gap.high is None:
            continue
        clearly = gap.low > 0 or gap.high < 0
        how = ("more" if gap.value > 0 else "less") + " closely than" if clearly else "about as closely as"
        said.append(
            f"The flip rate follows accuracy {how} the {WORDS[other]} does: their correlations differ in size by "
            f"{written(gap)}."
        )
    return said


def like_pair(flip_rate: Floats, pooled_sd: Floats, alike: float = ALIKE) -> tuple[int, int] | None:
    """Find the two cells that are most unlike in their factors among those alike in pooled SD.

    Cells whose pooled SD is at least the median are paired when the larger pooled SD is at most ``alike`` above the
    smaller; of these pairs the one with the largest ratio of flip rates is taken, the first by pooled SD where several
    are equal. As the products agree, the skews differ by nearly the same ratio the other way.

    Parameters
    ----------
    flip_rate, pooled_sd
        ``(n_cells,)``; cells with a pooled SD of 0 or NaN are left out.
    alike
        A share, above 0.

    Returns
    -------
    tuple of int or None
        The cell with few flips and a strong lean, then the one with many flips and a mild one; None without such a
        pair.

    Examples
    --------
    >>> like_pair(np.array([0.1, 0.5, 0.4]), np.array([0.05, 0.0505, 0.2]))
    >>> like_pair(np.array([0.1, 0.5, 0.4, 0.2]), np.array([0.05, 0.0505, 0.01, 0.02]))
    (0, 1)
    """
    there = np.flatnonzero(np.nan_to_num(pooled_sd) > 0)
    if not len(there):
        return None
    there = there[pooled_sd[there] >= np.median(pooled_sd[there])]
    order = there[np.argsort(pooled_sd[there], kind="stable")]
    size, flips = np.log(pooled_sd[order]), np.log(flip_rate[order])
    ends = np.searchsorted(size, size + np.log1p(alike), side="right")
    best, found = 0.0, None
    for i, end in enumerate(ends):
        apart = np.abs(flips[i:end] - flips[i])
        j = int(apart.argmax())
        # The skews must differ the other way: by the flips' ratio less what the pooled SDs differ by.
        if apart[j] > max(best, size[i + j] - size[i]):
            best, found = float(apart[j]), (i, i + j)
    if found is None:
        return None
    few, many = sorted(found, key=lambda at: flips[at])
    return int(order[few]), int(order[many])


def _like_cells(pool: Pool, pair: tuple[int, int]) -> Table:
    columns = (Column("cell", "Cell", "text"), *CELL)
    cells = _cells(Pool(tuple(pool.cells[i] for i in pair)))
    rows = tuple((mark, *row) for mark, row in zip("AB", cells.rows, strict=True))
    rule = (
        f"Of all pairs of cells with a pooled SD at or above the median that differ in it by at most "
        f"{100 * ALIKE:.0f} %, the one whose flip rates have the largest ratio."
    )
    return Table("like_cells", "Two cells of nearly the same pooled SD from opposite factors", columns, rows,
                 source="two-factors, Figure 3", notes=(rule,))  # fmt: skip


def _say_pair(pool: Pool, pair: tuple[int, int]) -> str:
    a, b = (pool.cells[i] for i in pair)
    parts = [
        f"{c.name} ({100 * c.measures['flip_rate']:.1f} % flips, skew {c.measures['positional_skew']:.3f})"
        for c in (a, b)
    ]
    return (
        f"{parts[0]} and {parts[1]} have nearly the same pooled SD, {a.measures['pooled_sd']:.4f} and "
        f"{b.measures['pooled_sd']:.4f}, from opposite factors."
    )


def _plane(pool: Pool, pair: tuple[int, int] | None) -> Series:
    marks = dict(zip(pair or (), "AB", strict=False))
    return tuple(
        {
            **cell.labels, **{name: Number.of(cell.measures[name]).value for name in ("accuracy", *STATISTICS)},
            "mark": marks.get(i),
        }
        for i, cell in enumerate(pool.cells)
    )  # fmt: skip


def _against_accuracy(pool: Pool) -> Series:
    return tuple(
        {
            "statistic": name, **cell.labels, "accuracy": cell.measures["accuracy"], "value": cell.measures[name],
        }
        for name in STATISTICS
        for cell in pool.cells
        if not np.isnan([cell.measures[name], cell.measures["accuracy"]]).any()
    )  # fmt: skip


def iso_curves(pooled_sd: Floats, n_points: int = 50) -> Series:
    """Return curves of equal pooled SD over the plane, ``flip_rate * positional_skew = pooled_sd``.

    Of round values, those between the smallest and the largest of the panel.
    """
    there = pooled_sd[np.nan_to_num(pooled_sd) > 0]
    levels = [level for level in ISO if len(there) and there.min() <= level <= there.max()]
    return tuple(
        {"pooled_sd": level, "flip_rate": float(rate), "positional_skew": float(level / rate)}
        for level in levels
        for rate in np.geomspace(level / LARGEST_SKEW, 1, n_points)
    )
