"""A panel: many checkpoints on many benchmarks, as arrays with the measures of each cell; knows no analysis."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.blocks import block_draws
from orderbias.measures import MEASURES, ItemColumns, build_columns, evaluate
from orderbias.noise import drawn
from orderbias.operations import take_items
from orderbias.orderings import parse_design
from orderbias.predictions import Predictions

Floats = NDArray[np.float64]
#: The readout of the paper's main text: the probabilities of the labels as the next token.
FIRST_TOKEN = "first-token"


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


@dataclass(frozen=True, slots=True)
class Settings:
    """How intervals are drawn.

    Parameters
    ----------
    resamples
        Bootstrap draws.
    level
        Confidence level.
    seed
        Of every draw: an analysis makes its own generator from it, so that its numbers do not depend on the others.
    """

    resamples: int = 10_000
    level: float = 0.95
    seed: int = 0

    def rng(self, analysis: str) -> np.random.Generator:
        """Return the generator of an analysis."""
        return np.random.default_rng([self.seed, *analysis.encode()])


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The cells of a panel.

    Parameters
    ----------
    cells
        In the order of the panel's file.
    left_out
        Names of cells that the filter of two-factors, A.1, removed, or that have no usable item: a sentence each.
    """

    cells: tuple[PanelCell, ...]
    left_out: tuple[str, ...] = ()
    settings: Settings = field(default_factory=Settings)

    def pool(
        self, readout: str = FIRST_TOKEN, *, where: Callable[[PanelCell], bool] | None = None, cyclic: bool = True
    ) -> Pool:
        """Return the cells of a readout, scored under the cyclic orderings unless said otherwise.

        Cells of drawn answers are never among them: their flips are noise in part (two-factors, A.4).
        """
        return Pool(
            tuple(
                cell
                for cell in self.cells
                if cell.readout == readout
                and not cell.drawn
                and (not cyclic or cell.cyclic)
                and (where is None or where(cell))
            )
        )

    @property
    def readouts(self) -> tuple[str, ...]:
        """The readouts of cells that are not drawn, the first token first."""
        found = dict.fromkeys(cell.readout for cell in self.cells if not cell.drawn)
        return tuple(sorted(found, key=lambda name: name != FIRST_TOKEN))


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Cells that an analysis compares."""

    cells: tuple[PanelCell, ...]

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.cells)

    def __getitem__(self, measure: str) -> Floats:
        """Return a scalar measure of every cell, ``(n_cells,)``, NaN where undefined."""
        return np.array([cell.measures[measure] for cell in self.cells])

    def where(self, keep: Iterable[bool] | NDArray[np.bool_]) -> Pool:
        """Return the cells that are kept."""
        return Pool(tuple(cell for cell, k in zip(self.cells, keep, strict=True) if k))

    @property
    def n_options(self) -> NDArray[np.int64]:
        """K of every cell."""
        return np.array([cell.n_options for cell in self.cells], np.int64)

    def codes(self, key: Callable[[PanelCell], Any]) -> NDArray[np.int64]:
        """Return a number for each cell, equal where ``key`` is, in order of appearance.

        Examples
        --------
        >>> Pool(()).codes(lambda cell: cell.benchmark).tolist()
        []
        """
        numbers: dict[Any, int] = {}
        return np.array([numbers.setdefault(key(cell), len(numbers)) for cell in self.cells], np.int64)

    @property
    def checkpoints(self) -> NDArray[np.int64]:
        """The 0-based checkpoint of every cell: the block that is resampled whole (two-factors, A.5)."""
        return self.codes(lambda cell: cell.checkpoint.name)

    @property
    def benchmarks(self) -> NDArray[np.int64]:
        """The 0-based benchmark of every cell."""
        return self.codes(lambda cell: cell.benchmark)

    def checkpoint_draws(self, settings: Settings, analysis: str) -> Floats:
        """Return how often each cell is in each draw of whole checkpoints, ``(resamples, n_cells)``."""
        return block_draws(self.checkpoints, settings.resamples, settings.rng(f"{analysis} checkpoints"))

    def cell_draws(self, settings: Settings, analysis: str) -> Floats:
        """Return how often each cell is in each draw of cells, ``(resamples, n_cells)``."""
        return block_draws(np.arange(len(self)), settings.resamples, settings.rng(f"{analysis} cells"))


def need(pool: Pool, n_cells: int, what: str, *, n_checkpoints: int = 1) -> str | None:
    """Say why a pool is too small for an analysis; None where it is not.

    Examples
    --------
    >>> need(Pool(()), 3, "cells under the cyclic orderings")
    'needs at least 3 cells under the cyclic orderings; there are 0.'
    """
    if len(pool) < n_cells:
        return f"needs at least {n_cells} {what}; there are {len(pool)}."
    found = len(set(pool.checkpoints.tolist()))
    if found < n_checkpoints:
        return f"needs at least {n_checkpoints} checkpoints with {what}; there are {found}."
    return None


def check_settings(settings: Settings) -> None:
    """Refuse settings that no interval can be drawn with.

    Raises
    ------
    ArgumentError
        If ``resamples`` or ``level`` is out of its range.
    """
    if settings.resamples < 100:
        raise ArgumentError(f"`resamples` must be 100 or more for a panel's intervals. Got {settings.resamples}.")
    if not 0 < settings.level < 1:
        raise ArgumentError(f"`level` must be above 0 and below 1. Got {settings.level}.")


#: One analysis: a panel in, a finding out.
Analysis = Callable[[Panel], "Any"]


def by_checkpoint(cells: Sequence[PanelCell]) -> dict[str, list[PanelCell]]:
    """Return the cells of each checkpoint."""
    found: dict[str, list[PanelCell]] = {}
    for cell in cells:
        found.setdefault(cell.checkpoint.name, []).append(cell)
    return found
