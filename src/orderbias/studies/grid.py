"""The 2 x 2 grid: options hidden or visible in stage one, the model or semantic matching in stage two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from orderbias.errors import ArgumentError
from orderbias.inference.means import Estimate
from orderbias.inference.weighing import weighed_mean
from orderbias.predictions import Predictions
from orderbias.studies.recalls import right_answers

#: Names of the cells: stage one, stage two.
CELLS = (("hidden", "model"), ("hidden", "match"), ("visible", "model"), ("visible", "match"))


@dataclass(frozen=True, slots=True)
class Grid:
    """What each stage costs, in shares of right answers under the first ordering (no answer is wrong).

    ``accuracy`` by (stage one, stage two). ``hiding`` is hidden minus visible, by stage two and on average;
    ``matching`` is match minus model, by stage one and on average; ``interaction`` is how much more hiding costs when a
    match, not the model, finishes. Questions are paired; intervals are those of
    :func:`~orderbias.inference.weighing.weighed_mean`.
    """

    n_items: int
    accuracy: Mapping[tuple[str, str], float]
    hiding: Mapping[str, Estimate]
    matching: Mapping[str, Estimate]
    interaction: Estimate

    @property
    def text(self) -> str:
        """The sentence that says which stage costs how many points."""
        hiding, matching = self.hiding["mean"], self.matching["mean"]
        moving = [name for name, e in (("hiding the options", hiding), ("matching", matching)) if e.direction]
        only = f"Only {moving[0]} moves it" if moving else "Neither moves it"
        which = "Both move it" if len(moving) == 2 else only
        return (
            f"Hiding the options in stage one changes accuracy by {_points(hiding)} points "
            f"({_points(self.hiding['model'])} when the model finishes, {_points(self.hiding['match'])} when a match "
            f"does); matching in place of the model in stage two by {_points(matching)}. {which} measurably."
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "n_items": self.n_items,
            "accuracy": {f"{one}+{two}": value for (one, two), value in self.accuracy.items()},
            "hiding": {name: e.as_dict() for name, e in self.hiding.items()},
            "matching": {name: e.as_dict() for name, e in self.matching.items()},
            "interaction": self.interaction.as_dict(),
            "text": self.text,
        }


def _points(estimate: Estimate) -> str:
    value = f"{100 * (estimate.value or 0):+.1f}"
    if estimate.interval is None:
        return value
    return f"{value} [{100 * estimate.interval[0]:+.1f}, {100 * estimate.interval[1]:+.1f}]"


def attribute(
    cells: Mapping[tuple[str, str], Predictions], *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Grid:
    """Attribute accuracy to the two stages.

    Parameters
    ----------
    cells
        Predictions of all four :data:`CELLS`, of the same questions in the same order.
    level, resamples, seed
        Of the intervals.

    Raises
    ------
    ArgumentError
        If a cell is missing or has other questions.

    Examples
    --------
    >>> design = np.array([[0, 1], [1, 0]])
    >>> def answers(right):
    ...     return Predictions(np.repeat([[0, 0], [1, 1]], [right, 10 - right], 0), design, np.zeros(10))
    >>> grid = attribute(dict(zip(CELLS, map(answers, (6, 2, 9, 8)))), resamples=0)
    >>> round(grid.hiding["match"].value, 6), round(grid.matching["mean"].value, 6), round(grid.interaction.value, 6)
    (-0.6, -0.25, -0.3)
    """
    missing = [f"{one}+{two}" for one, two in CELLS if (one, two) not in cells]
    if missing:
        raise ArgumentError(f"`cells` must have all four cells of the grid. It lacks {', '.join(missing)}.")
    ids = cells[CELLS[0]].item_ids
    if any(len(p.item_ids) != len(ids) or (p.item_ids != ids).any() for p in cells.values()):
        raise ArgumentError("`cells` must be of the same questions in the same order.")
    right = {cell: right_answers(p).astype(float) for cell, p in cells.items()}

    def estimate(values: Any, low: float = -1.0, high: float = 1.0) -> Estimate:
        rng = np.random.default_rng(seed)
        return weighed_mean(values, low=low, high=high, level=level, draws=resamples, rng=rng)

    hiding = {two: right["hidden", two] - right["visible", two] for two in ("model", "match")}
    matching = {one: right[one, "match"] - right[one, "model"] for one in ("hidden", "visible")}
    hiding["mean"] = (hiding["model"] + hiding["match"]) / 2
    matching["mean"] = (matching["hidden"] + matching["visible"]) / 2
    return Grid(
        len(ids),
        {cell: float(values.mean()) for cell, values in right.items()},
        {name: estimate(values) for name, values in hiding.items()},
        {name: estimate(values) for name, values in matching.items()},
        estimate(hiding["match"] - hiding["model"], -2.0, 2.0),
    )
