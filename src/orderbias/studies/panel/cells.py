"""One checkpoint on one benchmark, as arrays with its measures; knows no other cell and no analysis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.measures import MEASURES, ItemColumns, build_columns, evaluate
from orderbias.noise import drawn
from orderbias.operations import take_items
from orderbias.orderings import parse_design
from orderbias.predictions import Predictions

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What the panel's file says of a model.

    Parameters
    ----------
    name
        Its name in the panel.
    family
        Models of one family are compared by size.
    parameters
        Number of parameters.
    post_trained
        Whether it was trained further after pretraining; None where unknown.
    base
        The name of the checkpoint that it was post-trained from, if that is in the panel.
    """

    name: str
    family: str | None = None
    parameters: float | None = None
    post_trained: bool | None = None
    base: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PanelCell:
    """One checkpoint on one benchmark under one readout and one number of options, usable items only.

    Parameters
    ----------
    checkpoint
        Who answered.
    benchmark, readout
        Names.
    predictions
        The usable items with every queried ordering; the presented ones are scored.
    columns
        Their per-item columns.
    measures
        Every scalar measure by name, NaN where undefined.
    lists
        Every list measure by name, ``(n_options,)``; one that is undefined is not there.
    n_unusable
        Items left out because a presented ordering has no answer.
    repeats
        Contents of further answers to the same queries, ``(n_items, n_orderings, n_repeats)``, -1 where there is
        none; None where nothing was asked twice. The first repeat is ``predictions.choice``.
    """

    checkpoint: Checkpoint
    benchmark: str
    readout: str
    predictions: Predictions
    columns: ItemColumns
    measures: Mapping[str, float]
    lists: Mapping[str, Floats]
    n_unusable: int = 0
    repeats: NDArray[np.int8] | None = None

    @property
    def n_items(self) -> int:
        """Usable items."""
        return self.predictions.n_items

    @property
    def n_options(self) -> int:
        """K."""
        return self.predictions.n_options

    @property
    def name(self) -> str:
        """The cell as a reader knows it."""
        return f"{self.checkpoint.name} on {self.benchmark}"

    @property
    def key(self) -> tuple[str, str, int]:
        """Checkpoint, benchmark and number of options: what cells of different readouts have in common."""
        return self.checkpoint.name, self.benchmark, self.n_options

    @property
    def labels(self) -> dict[str, str | int]:
        """Return what a point of a figure says of its cell."""
        return {"checkpoint": self.checkpoint.name, "benchmark": self.benchmark, "n_options": self.n_options}

    @property
    def drawn(self) -> bool:
        """Whether the settings of its run say that the answers were drawn: asked again, they may be others."""
        return drawn(self.predictions.source)

    @property
    def cyclic(self) -> bool:
        """Whether the K rotations, in order, are what is scored."""
        p = self.predictions
        if p.per_item:
            return False
        scored = p.positions[p.presented]
        rotations = parse_design("cyclic").design(p.n_options).positions
        return scored.shape == rotations.shape and bool((scored == rotations).all())

    @property
    def every_ordering(self) -> bool:
        """Whether all K! orderings are scored, for more than two options."""
        p = self.predictions
        if p.per_item or p.n_options < 3:
            return False
        scored = p.positions[p.presented]
        return len(scored) == math.factorial(p.n_options) == len(np.unique(scored, axis=0))

    @property
    def reversed_too(self) -> bool:
        """Whether the reversal of every scored ordering was asked as well, and probabilities are known."""
        p = self.predictions
        if p.per_item or p.logprobs is None or p.n_options < 3:
            return False
        asked = {tuple(row) for row in p.positions.tolist()}
        return all(tuple(p.n_options - 1 - row) in asked for row in p.positions[p.presented].astype(int))


def panel_cell(
    predictions: Predictions,
    checkpoint: Checkpoint,
    *,
    readout: str | None = None,
    repeats: NDArray[np.int8] | None = None,
) -> PanelCell:
    """Take the usable items of a cell and compute its measures.

    Parameters
    ----------
    predictions
        Any cell with at least one usable item; its benchmark names the cell's.
    checkpoint
        Who answered.
    readout
        The name of the readout; that of the predictions where none is given.
    repeats
        ``(n_items, n_orderings, n_repeats)``, of all items of ``predictions``.
    """
    usable = predictions.usable
    n_unusable = int((~usable).sum())
    if n_unusable:
        predictions = take_items(predictions, np.flatnonzero(usable))
        repeats = None if repeats is None else repeats[usable]
    columns = build_columns(predictions)
    values = evaluate(columns.sums, MEASURES.values())
    scalars = {
        name: float(values[name]) if name in values else math.nan for name, m in MEASURES.items() if m.kind != "list"
    }
    lists = {
        name: np.asarray(v) for name, v in values.items() if MEASURES[name].kind == "list" and not np.isnan(v).any()
    }
    return PanelCell(
        checkpoint, predictions.benchmark, readout or predictions.readout, predictions, columns, scalars, lists,
        n_unusable, repeats,
    )  # fmt: skip
