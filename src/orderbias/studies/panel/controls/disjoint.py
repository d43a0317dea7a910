"""The flip rate against accuracy that it shares no answers with; one part of ``controls``.

Three ways to part them: other items of the cell, other benchmarks of the checkpoint, other orderings of the items.
Sources: two-factors, C.4, Table 12, A.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orderbias.inference.ranks import spearman
from orderbias.orderings import cyclic
from orderbias.studies.panel.cells import PanelCell, panel_cell
from orderbias.studies.panel.estimates import Draws, Estimates, checkpoint_draws, drawn_blocks, mean_estimates
from orderbias.studies.panel.item_folds import fold_measures
from orderbias.studies.panel.values import Panel, Pool, Settings, need

Floats = NDArray[np.float64]

#: Statistics that count answers that change and do not ask where they go.
COUNTS = ("fluctuation_rate", "pairwise_disagreement", "content_entropy")
#: Every statistic that is set beside accuracy.
STATISTICS = ("flip_rate", "pooled_sd", "forward_kl", "per_item_sd", "per_item_kl", *COUNTS)
N_FOLDS = 5
#: Fewer checkpoints or cells than this have no rank correlation worth reading.
FEWEST = 3


@dataclass(frozen=True, slots=True, eq=False)
class Control:
    """What one way of parting accuracy from the statistics gives.

    Parameters
    ----------
    name
        Its key.
    scored
        What accuracy is scored on, for the reader.
    n_cells, n_checkpoints
        What is compared.
    found
        Spearman's correlation with accuracy of each of ``STATISTICS``, in this order, on draws of whole checkpoints.
    """

    name: str
    scored: str
    n_cells: int
    n_checkpoints: int
    found: Estimates

    def of(self, *names: str) -> Estimates:
        """Return the correlations of some of the statistics."""
        return self.found.take([STATISTICS.index(name) for name in names])


#: The values of ``STATISTICS``, ``(n_statistics, n)``, and the accuracy that they are set beside, ``(n,)``.
Turn = tuple[Floats, Floats]


def _mean_correlations(turns: Sequence[Turn], draws: Draws) -> Estimates:
    """Return the mean over turns of each statistic's correlation."""
    return mean_estimates([draws.spearman(statistics, accuracy) for statistics, accuracy in turns])


def other_items(pool: Pool, settings: Settings) -> Control | str:
    """Score accuracy on one of five balanced folds of a cell's items, the statistics on the other four, in turn.

    Correlations are averaged over the five turns. A string says why there is nothing to compare.
    """
    cells = pool.where(
        not np.isnan(cell.measures["accuracy"]) and cell.n_items >= N_FOLDS for cell in pool.cells
    )  # fmt: skip
    short = need(cells, FEWEST, f"cells with known answers to at least {N_FOLDS} items, to score accuracy on others")
    if short:
        return short
    inside, outside = fold_measures(cells.cells, ("accuracy", *STATISTICS), N_FOLDS, settings.seed)
    # (n_folds, n_statistics, n_cells)
    statistics = np.stack([outside[name] for name in STATISTICS], axis=1)
    turns = list(zip(statistics, inside["accuracy"], strict=True))
    found = _mean_correlations(turns, checkpoint_draws(cells, settings, "controls"))
    return Control("items", f"one of {N_FOLDS} folds of the items", len(cells), cells.n_checkpoints, found)


def other_benchmarks(pool: Pool, settings: Settings) -> Control | str:
    """Set each benchmark that every checkpoint has against the checkpoints' mean accuracy on the others of them.

    Correlations over checkpoints are averaged over the benchmarks where every statistic varies.
    """
    known = pool.where(~np.isnan(pool["accuracy"]))
    short = need(known, FEWEST, "cells with known answers", n_checkpoints=FEWEST)
    if short:
        return short
    checkpoint = known.checkpoints
    n_checkpoints = known.n_checkpoints
    whole = [cells[np.argsort(checkpoint[cells])] for cells in known.by_benchmark if len(cells) == n_checkpoints]
    names = [known.cells[cells[0]].benchmark for cells in whole]
    if len(set(names)) < 2:
        return f"needs at least 2 benchmarks that every checkpoint has, to score accuracy on others; there are " \
               f"{len(set(names))}."  # fmt: skip
    accuracy, statistics = known["accuracy"], _statistics(known)
    others = [
        np.mean([accuracy[cells] for cells, other in zip(whole, names, strict=True) if other != name], axis=0)
        for name in names
    ]
    every = [(statistics[:, cells], y) for cells, y in zip(whole, others, strict=True)]
    turns = [(x, y) for x, y in every if not any(np.isnan(spearman(row, y)) for row in x)]
    if not turns:
        return "needs a benchmark on which every statistic differs between checkpoints; there is none."
    draws = drawn_blocks(np.arange(n_checkpoints), settings, settings.rng("controls benchmarks"))
    found = _mean_correlations(turns, draws)
    scored = f"the other benchmarks of {len(set(names))} that every checkpoint has"
    if len(turns) < len(every):
        scored += f"; {len(every) - len(turns)} left out on which a statistic does not vary"
    return Control("benchmarks", scored, n_checkpoints * len(turns), n_checkpoints, found)


def other_orderings(panel: Panel) -> list[Control] | str:
    """Score cells under all K! orderings: the statistics on the cyclic ones, accuracy on the others.

    A second control scores accuracy on the cyclic ones of the same cells, to tell what the parting does.
    """
    full = panel.pool(panel.main_readout, cyclic=False, where=lambda cell: cell.every_ordering)
    full = full.where(~np.isnan(full["accuracy"]))
    short = need(full, FEWEST, "cells under all K! orderings with known answers, to score accuracy on other orderings")
    if short:
        return short
    pool = Pool(tuple(on_cyclic(cell) for cell in full.cells))
    elsewhere = np.array([accuracy_off_cyclic(cell) for cell in full.cells])
    draws = checkpoint_draws(pool, panel.settings, "controls")
    found = []
    for name, scored, accuracy in (
        ("orderings", "the orderings that are not cyclic", elsewhere),
        ("own_orderings", "the same cells' cyclic orderings", pool["accuracy"]),
    ):
        correlations = _mean_correlations([(_statistics(pool), accuracy)], draws)
        found.append(Control(name, scored, len(pool), pool.n_checkpoints, correlations))
    return found


def _cyclic_slots(cell: PanelCell) -> NDArray[np.bool_]:
    p = cell.predictions
    rotations = cyclic(p.n_options).positions
    matches: NDArray[np.bool_] = (p.positions[:, None] == rotations).all(axis=-1).any(axis=1)
    return matches & p.presented


def on_cyclic(cell: PanelCell) -> PanelCell:
    """Return a cell scored on the cyclic ones of its orderings alone."""
    return panel_cell(replace(cell.predictions, presented=_cyclic_slots(cell)), cell.checkpoint)


def accuracy_off_cyclic(cell: PanelCell) -> float:
    """Return the share of right answers under the scored orderings that are not cyclic."""
    p = cell.predictions
    slots = p.presented & ~_cyclic_slots(cell)
    return float((p.choice[:, slots] == p.gold[:, None]).mean())


def _statistics(pool: Pool) -> Floats:
    return np.stack([pool[name] for name in STATISTICS])


#: Pairs whose correlations are compared in size: what is read item by item, and the flip rate, with what is pooled.
GAPS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "per-item less pooled": (("per_item_sd", "pooled_sd"), ("per_item_kl", "forward_kl")),
    "flip rate less pooled": (("flip_rate", "pooled_sd"), ("flip_rate", "forward_kl")),
}


def gaps(control: Control, pairs: tuple[tuple[str, str], ...]) -> Estimates:
    """Return ``|r_s| - |r_s|`` of each pair."""
    first, second = zip(*pairs, strict=True)
    return abs(control.of(*first)) - abs(control.of(*second))
