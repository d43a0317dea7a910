"""Asking again against reordering: whether a cell's flips are more than noise (two-factors, C.5, Table 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orderbias.inference.means import Estimate
from orderbias.inference.uniformity import hoeffding_uniformity, holm
from orderbias.noise import Noise, noise_of
from orderbias.studies.findings import Column, Finding, Number, Table
from orderbias.studies.panel.cells import PanelCell
from orderbias.studies.panel.values import FIRST_TOKEN, Panel
from orderbias.studies.panel.wording import written

_TITLE = "Does reordering change answers more often than asking again?"
#: Cells that have a sentence each; of more, the table tells.
_SAID = 12


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """A cell that was asked again, and its noise."""

    cell: PanelCell
    noise: Noise

    @property
    def name(self) -> str:
        """The cell as a reader knows it."""
        readout = "" if self.cell.readout == FIRST_TOKEN else f" ({self.cell.readout})"
        return f"{self.cell.name}{readout}"

    @property
    def verdict(self) -> int:
        """1 where reordering changes answers more often than repeating, -1 where less, 0 where neither is resolved."""
        ends = self.noise.excess.interval
        if ends is None:
            return 0
        return 1 if ends[0] > 0 else -1 if ends[1] < 0 else 0


def repeats(panel: Panel) -> Finding:
    """Compare two calls on one ordering with two calls on different ones, in every cell that was asked again.

    See :func:`orderbias.noise.noise` for which calls are paired. Cells of every readout and design are there.
    """
    asked = [cell for cell in panel.cells if cell.repeats is not None]
    settings = panel.settings
    found: list[Repeated] = []
    lacking: list[str] = []
    for cell in asked:
        noise = noise_of(
            cell.predictions, cell.repeats, level=settings.level, resamples=settings.resamples, seed=settings.seed
        )
        if noise is None:
            lacking.append(f"{cell.name} ({cell.readout}): no item has two usable answers under a repeated ordering.")
        else:
            found.append(Repeated(cell, noise))
    if not found:
        why = f"needs cells that were asked again (run --repeats 2); there are {len(asked)}. {' '.join(lacking)}"
        return Finding("repeats", _TITLE, skipped=why.strip())
    each = map(_sentence, found) if len(found) <= _SAID else ()
    table = noise_table(found, settings.level)
    return Finding("repeats", _TITLE, (table,), {}, (_overall(found), *each), None, tuple(lacking))


def noise_table(found: Sequence[Repeated], level: float) -> Table:
    """Return Table 13, a row a cell."""
    rows = []
    p_values = holm([_uniformity(r.cell) for r in found]).tolist()
    for r, p in zip(found, p_values, strict=True):
        n, m = r.noise, r.cell.measures
        rows.append(
            (r.cell.checkpoint.name, r.cell.benchmark, r.cell.readout, n.n_items, n.n_left_out, n.n_repeats,
             n.n_repeated, _number(n.repeat), _number(n.reorder), _number(n.excess), Number.of(m["accuracy"]),
             Number.of(m["flip_rate"]), Number.of(m["pooled_sd"]), p)
        )  # fmt: skip
    return Table(
        "noise", "Two calls on one ordering against two calls on different ones", (
            Column("checkpoint", "Model", "text"), Column("benchmark", "Benchmark", "text"),
            Column("readout", "Readout", "text"), Column("n_items", "Items", "count"),
            Column("n_left_out", "Left out", "count"), Column("n_repeats", "Calls on an ordering", "count"),
            Column("n_repeated", "Orderings asked again", "count"),
            Column("repeat", "Repeat disagreement", "percent"), Column("reorder", "Reorder disagreement", "percent"),
            Column("excess", "Excess of reordering", "points"), Column("accuracy", "Accuracy", "percent"),
            Column("flip_rate", "Flip rate", "percent"), Column("pooled_sd", "Pooled SD"),
            Column("uniformity_p", "Uniform places, p", "p"),
        ), tuple(rows), "items", level, "two-factors, Table 13", (
            "Left out: items without the calls that the comparison needs.",
            "Accuracy, flip rate and pooled SD are of the first call on every ordering, over all usable items. The "
            "flip rate compares as many calls as there are orderings, and where calls differ by themselves it counts "
            "that too.",
            "p: a conservative test that answers fall on all places alike, adjusted over these cells by Holm's rule "
            "(two-factors, C.2).",
        ),
    )  # fmt: skip


def _uniformity(cell: PanelCell) -> float:
    return hoeffding_uniformity(cell.lists["selection_share"], np.full(cell.n_items, 1 / cell.n_items))


def _number(estimate: Estimate) -> Number:
    return Number(None) if estimate.value is None else Number.of(estimate.value, estimate.interval)


def _overall(found: Sequence[Repeated]) -> str:
    more, less = (sum(r.verdict == sign for r in found) for sign in (1, -1))
    cells = "cell" if len(found) == 1 else "cells"
    return (
        f"Reordering changes answers more often than asking again in {more} of {len(found)} {cells}, less often in "
        f"{less}, and in {len(found) - more - less} the difference is not resolved."
    )


def _sentence(r: Repeated) -> str:
    n = r.noise
    if n.repeat.value is None or n.reorder.value is None or n.excess.value is None:
        return f"{r.name}: the design has one ordering, so that nothing was reordered."
    how = {1: "more often", -1: "less often", 0: "neither more nor less often, as far as these items tell,"}[r.verdict]
    excess = written(Number.of(n.excess.value, n.excess.interval), 1, 100)
    return (
        f"{r.name}: reordering changes answers {how} than asking again ({100 * n.reorder.value:.1f} % of pairs of "
        f"calls against {100 * n.repeat.value:.1f} %; excess {excess} points)."
    )
