"""A panel: the cells of many checkpoints on many benchmarks, and pools of them to compare; knows no analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.studies.findings import Finding
from orderbias.studies.panel.cells import PanelCell

Floats = NDArray[np.float64]
#: The readout of the paper's main text: the probabilities of the labels as the next token.
FIRST_TOKEN = "first-token"


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
    def main_readout(self) -> str:
        """The readout that the main analyses read: the first token, else the first that the panel has."""
        return self.readouts[0] if self.readouts else FIRST_TOKEN

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
    def n_checkpoints(self) -> int:
        """How many checkpoints there are."""
        return len({cell.checkpoint.name for cell in self.cells})

    @property
    def checkpoints(self) -> NDArray[np.int64]:
        """The 0-based checkpoint of every cell: the block that is resampled whole (two-factors, A.5)."""
        return self.codes(lambda cell: cell.checkpoint.name)

    @property
    def benchmarks(self) -> NDArray[np.int64]:
        """The 0-based benchmark of every cell."""
        return self.codes(lambda cell: cell.benchmark)

    @property
    def by_benchmark(self) -> list[NDArray[np.intp]]:
        """Return the numbers of the cells of each benchmark and number of options."""
        code = self.codes(lambda cell: (cell.benchmark, cell.n_options))
        return [np.flatnonzero(code == b) for b in np.unique(code)]

    @property
    def by_options(self) -> Iterator[tuple[str, Pool]]:
        """Yield every cell as ``all``, then the cells of each number of options where there are several."""
        yield "all", self
        found = np.unique(self.n_options)
        if len(found) > 1:
            for k in found:
                yield str(k), self.where(self.n_options == k)


def need(pool: Pool, n_cells: int, what: str, *, n_checkpoints: int = 1) -> str | None:
    """Say why a pool is too small for an analysis; None where it is not.

    Examples
    --------
    >>> need(Pool(()), 3, "cells under the cyclic orderings")
    'needs cells under the cyclic orderings; there are none.'
    """
    if not len(pool):
        return f"needs {what}; there are none."
    if len(pool) < n_cells:
        return f"needs at least {n_cells} {what}; there are {len(pool)}."
    if pool.n_checkpoints < n_checkpoints:
        return f"needs at least {n_checkpoints} checkpoints with {what}; there are {pool.n_checkpoints}."
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
Analysis = Callable[[Panel], Finding]
