"""The label-free study as CSV: one row a strategy and set of items, whatever is said of it in columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orderbias.inference.means import Estimate
    from orderbias.studies.label_free import ArmRow
    from orderbias.studies.label_free_cell import StudyCell, Tables

Row = dict[str, object]


def study_csv(cells: Sequence[StudyCell]) -> str:
    """Return the arms of all cells; what is undefined is empty.

    Over all items, and over those usable under every arm where these are others. RStd is in points, all else in shares.
    A type of item has columns of its own. What each stage of the grid costs is in the other forms of the report.
    """
    rows = [row for cell in cells for row in _rows(cell)]
    columns = dict.fromkeys(column for row in rows for column in row)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _rows(cell: StudyCell) -> Iterator[Row]:
    named = {"model": cell.model, "benchmark": cell.benchmark, "n_options": cell.n_options}
    sets = {"all": cell.every}
    if cell.common is not None and cell.common.n_items < cell.every.n_items:
        sets["common"] = cell.common
    for which, tables in sets.items():
        for arm in tables.rows:
            signature = {"signature": str(cell.signature)}
            yield {**named, "item_set": which, **_of_arm(arm), **_beside(tables, arm.name), **signature}


def _of_arm(arm: ArmRow) -> Row:
    m, t, noise = arm.mcnemar, arm.together, arm.noise
    return {
        "strategy": arm.name, "n_items": arm.n_items, "n_answered": arm.n_answered, "n_usable": arm.n_usable,
        **_ends("accuracy", arm.accuracy),
        "broken": m and m.broken, "fixed": m and m.fixed, "p_value": m and m.p_value, "p_holm": m and m.p_holm,
        **_ends("flip_rate", arm.flip_rate), "positional_skew": arm.positional_skew, "pooled_sd": arm.pooled_sd,
        **_ends("rstd_points", arm.rstd),
        "n_compared": t and t.accuracy.n, "sensitivity_measure": t and t.measure,
        **_ends("sensitivity_change", t.sensitivity if t else None),
        **_ends("accuracy_change", t.accuracy if t else None), "together": t and t.text,
        "repeat_disagreement": noise and noise.repeat.value, "reorder_disagreement": noise and noise.reorder.value,
        **_ends("excess", noise.excess if noise else None),
    }  # fmt: skip


def _beside(tables: Tables, name: str) -> Row:
    """Return what hangs on ties, on the fallback and on the type of item."""
    ties = next((row for row in tables.ties if row.name == name), None)
    fallback = next((row for row in tables.fallbacks if row.name == name), None)
    found: Row = {
        "n_tied": ties and ties.n_tied, "accuracy_other_seeds_low": ties and ties.low,
        "accuracy_other_seeds_high": ties and ties.high, "n_standalone": fallback and fallback.n_standalone,
        "accuracy_without_standalone": fallback and fallback.accuracy_without,
    }  # fmt: skip
    for stratum in tables.strata:
        kind = stratum.item_type.replace(" ", "_").replace("-", "_")
        found |= {f"n_items_{kind}": stratum.n_items, **_ends(f"accuracy_{kind}", stratum.accuracy[name])}
    return found


def _ends(name: str, e: Estimate | None) -> Row:
    low, high = (None, None) if e is None or e.interval is None else e.interval
    return {name: None if e is None else e.value, f"{name}_low": low, f"{name}_high": high}
