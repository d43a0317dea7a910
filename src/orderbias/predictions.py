"""One cell's answers as arrays: what every measure and operation reads; knows nothing of files or models.

A cell is model x benchmark x readout at one number of options.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.orderings import is_balanced
from orderbias.signature import Signature

#: What may have become of a query; the index is the code in ``Predictions.status``.
STATUSES = ("ok", "unparsed", "refused", "error", "missing", "abstained")
OK, UNPARSED, REFUSED, ERROR, MISSING, ABSTAINED = range(6)


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """The answers of one model to one benchmark under one readout, all items with the same number of options.

    Parameters
    ----------
    choice
        Chosen content, int ``(n_items, n_orderings)``; -1 where there is no usable answer.
    positions
        ``(n_orderings, n_options)`` where all items share a design, or ``(n_items, n_orderings, n_options)``:
        the place of each content.
    gold
        Content index of the right option, int ``(n_items,)``; -1 where unknown.
    logprobs
        Natural logs of the label probabilities by place, renormalised or not, ``(n_items, n_orderings, n_options)``;
        or None. Rows without a usable answer are NaN.
    presented
        Bool ``(n_orderings,)``: the orderings that are scored. Default: all.
    asked
        Bool ``(n_items, n_orderings)``: the slots that belong to an item's design, where designs differ in size.
        Only with per-item ``positions``. Default: all.
    status
        Index into ``STATUSES``, ``(n_items, n_orderings)``. Default: ok where ``choice`` is there, else missing.
    ties
        Bool ``(n_items, n_orderings)``: the answer is one of several places of exactly equal log-probability.
    mass
        Probability on the labels before renormalising, ``(n_items, n_orderings)``, or None.
    same_text
        Int ``(n_items, n_options)``: the content that each content counts as, where options of one text are one
        content; ``choice`` and ``gold`` follow it already. None where every content is its own.
    item_ids, group
        One string an item. ``group`` may be None.
    model, benchmark, readout
        Names of the cell.
    source
        The settings that the numbers depend on so far (data hash, design, template, model ...).

    Arrays are copied only where they must be converted, and are read-only afterwards.

    Raises
    ------
    ArgumentError
        If shapes disagree or a value is outside its range.
    """

    choice: NDArray[np.int8]
    positions: NDArray[np.int8]
    gold: NDArray[np.int8]
    logprobs: NDArray[np.float64] | None = None
    presented: NDArray[np.bool_] = None  # type: ignore[assignment]
    asked: NDArray[np.bool_] | None = None
    status: NDArray[np.int8] = None  # type: ignore[assignment]
    ties: NDArray[np.bool_] = None  # type: ignore[assignment]
    mass: NDArray[np.float64] | None = None
    same_text: NDArray[np.int8] | None = None
    item_ids: NDArray[Any] = None  # type: ignore[assignment]
    group: NDArray[Any] | None = None
    model: str = ""
    benchmark: str = ""
    readout: str = ""
    source: Signature = field(default_factory=Signature)

    def __post_init__(self) -> None:
        fill = self._set
        fill("choice", np.asarray(self.choice, np.int8))
        fill("positions", np.asarray(self.positions, np.int8))
        fill("gold", np.asarray(self.gold, np.int8))
        if self.choice.ndim != 2 or self.positions.ndim not in (2, 3):
            raise ArgumentError(
                "`choice` must be (n_items, n_orderings) and `positions` (n_orderings, n_options) or "
                f"(n_items, n_orderings, n_options). Got {self.choice.shape} and {self.positions.shape}."
            )
        shape = self.choice.shape
        fill("presented", np.ones(shape[1], bool) if self.presented is None else np.asarray(self.presented, bool))
        if self.asked is not None:
            fill("asked", np.asarray(self.asked, bool))
        if self.status is None:
            fill("status", np.where(self.choice >= 0, OK, MISSING).astype(np.int8))
        fill("status", np.asarray(self.status, np.int8))
        fill("ties", np.zeros(shape, bool) if self.ties is None else np.asarray(self.ties, bool))
        if self.logprobs is not None:
            fill("logprobs", np.asarray(self.logprobs, np.float64))
        if self.mass is not None:
            fill("mass", np.asarray(self.mass, np.float64))
        if self.same_text is not None:
            fill("same_text", np.asarray(self.same_text, np.int8))
        if self.item_ids is None:
            fill("item_ids", np.array([str(i) for i in range(shape[0])], object))
        self._check()
        for name in ("choice", "positions", "gold", "logprobs", "presented", "asked", "status", "ties", "mass",
                     "same_text"):  # fmt: skip
            array = getattr(self, name)
            if array is not None:
                view = array.view()
                view.flags.writeable = False
                fill(name, view)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check(self) -> None:
        n_items, n_orderings = self.choice.shape
        n_options = self.positions.shape[-1]
        expected: dict[str, tuple[int, ...]] = {
            "positions": (n_items, n_orderings, n_options) if self.per_item else (n_orderings, n_options),
            "gold": (n_items,),
            "logprobs": (n_items, n_orderings, n_options),
            "presented": (n_orderings,),
            "asked": (n_items, n_orderings),
            "status": (n_items, n_orderings),
            "ties": (n_items, n_orderings),
            "mass": (n_items, n_orderings),
            "same_text": (n_items, n_options),
            "item_ids": (n_items,),
            "group": (n_items,),
        }
        for name, shape in expected.items():
            array = getattr(self, name)
            if array is not None and np.shape(array) != shape:
                raise ArgumentError(f"`{name}` must have shape {shape}. Got {np.shape(array)}.")
        for name, array, low in (("choice", self.choice, -1), ("gold", self.gold, -1)):
            if array.size and not (low <= array.min() and array.max() < n_options):
                raise ArgumentError(
                    f"`{name}` must be {low}..{n_options - 1} for {n_options} options. "
                    f"Got {array.min()}..{array.max()}."
                )
        if n_options < 2:
            raise ArgumentError(f"`positions` must show at least two options. Got {n_options}.")
        if not (np.sort(self.positions, axis=-1) == np.arange(n_options)).all():
            raise ArgumentError("Every ordering in `positions` must be a permutation of its places.")
        if not self.presented.any():
            raise ArgumentError("`presented` must mark at least one ordering.")
        if self.asked is not None and not self.per_item:
            raise ArgumentError("`asked` goes with per-item `positions`; a shared design is asked whole.")

    @property
    def n_items(self) -> int:
        """Items, usable or not."""
        return int(self.choice.shape[0])

    @property
    def n_orderings(self) -> int:
        """Queried orderings (slots, where designs differ in size)."""
        return int(self.choice.shape[1])

    @property
    def n_options(self) -> int:
        """K."""
        return int(self.positions.shape[-1])

    @property
    def per_item(self) -> bool:
        """Whether each item has orderings of its own."""
        return self.positions.ndim == 3

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Bool ``(n_items, n_orderings)``: slots that are presented and belong to the item's design."""
        if self.asked is None:
            return np.broadcast_to(self.presented, self.choice.shape)
        scored: NDArray[np.bool_] = self.asked & self.presented
        return scored

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Bool ``(n_items,)``: every presented ordering of the item's design was answered, and there is one."""
        if self.asked is None:
            return np.asarray((self.choice[:, self.presented] >= 0).all(axis=1))
        scored = self.scored
        return np.asarray(((self.choice >= 0) | ~scored).all(axis=1) & scored.any(axis=1))

    @property
    def balanced(self) -> bool:
        """Whether the presented orderings of every usable item show every content at every place equally often."""
        if not self.per_item:
            return is_balanced(self.positions[self.presented])
        rows = np.flatnonzero(self.usable)
        scored = self.scored[rows]
        shown = (self.positions[rows, :, :, None] == np.arange(self.n_options)) & scored[:, :, None, None]
        counts = shown.sum(axis=1)
        return bool((counts * self.n_options == scored.sum(axis=1)[:, None, None]).all())

    def counted_as(self, content: NDArray[np.integer]) -> NDArray[np.int8]:
        """Return the contents that contents count as, ``(n_items, ...)``; -1 stays."""
        if self.same_text is None:
            return np.asarray(content, np.int8)
        rows = np.arange(self.n_items).reshape(-1, *[1] * (content.ndim - 1))
        return np.where(content >= 0, self.same_text[rows, np.maximum(content, 0)], content).astype(np.int8)

    @property
    def places(self) -> NDArray[np.int8]:
        """Chosen place, int ``(n_items, n_orderings)``; -1 where there is no usable answer."""
        positions = np.broadcast_to(self.positions, (*self.choice.shape, self.n_options))
        picked = np.maximum(self.choice, 0).astype(np.intp)[:, :, None]
        places = np.take_along_axis(positions, picked, axis=2)[:, :, 0]
        return np.where(self.choice >= 0, places, -1).astype(np.int8)


def status_counts(predictions: Predictions) -> dict[str, int]:
    """Count the scored answers by status, leaving out what does not occur."""
    counts = np.bincount(predictions.status[predictions.scored], minlength=len(STATUSES))
    return {status: int(n) for status, n in zip(STATUSES, counts, strict=True) if n}


def gold_counts(predictions: Predictions) -> tuple[int, ...] | None:
    """Count golds by canonical place over the usable items; None where one is unknown."""
    gold = predictions.gold[predictions.usable]
    return None if (gold < 0).any() else tuple(np.bincount(gold, minlength=predictions.n_options).tolist())
