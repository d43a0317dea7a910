"""Every operation applied once to every cell: log-probabilities to answers to measures, all operations at a time.

An operation of the paper answers with the best place of one of two tables of log scores, the presented queries' own or
their sum with the mirrored reversals' (the reversal product), less one number a place: the log prior of each
correction, and under the product that of the mirrored place too. So the tables are made once, an operation is a row of
K numbers, and an added letter preference is another row. Golds are read by the measures alone.

The scored orderings must be the K rotations in order: content ``j`` stands at place ``(j + s) % K`` under the sth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.operations import PRIOR_KINDS, mirror_split, reversal_slots
from orderbias.operations.scores import TIE_TOLERANCE, log_softmax
from orderbias.studies.panel.answer_measures import Choices, operation_measures
from orderbias.studies.panel.calibration import calibration_split
from orderbias.studies.panel.cells import PanelCell
from orderbias.studies.panel.values import Pool

Floats = NDArray[np.float64]

PRODUCT = "reversal-product"
#: What is compared, as the names that ``mitigate`` takes.
CORRECTIONS = ("none", "pride", "batch-calibration", "pride>batch-calibration")
OPERATIONS = (
    "none", "pride", "batch-calibration", PRODUCT, f"pride>{PRODUCT}", f"batch-calibration>{PRODUCT}",
    "pride>batch-calibration",
)  # fmt: skip

#: Scores laid out at once; bounds the memory of many operations.
BLOCK = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Log scores of a cell's held-out items that every operation can answer.

    Parameters
    ----------
    rows
        Which items of the cell these are, ``(n,)``.
    n_left_out
        Held-out items that some operation cannot answer.
    choice
        The answers as they were given, contents ``(n, K)``, one a rotation.
    presented
        Normalised log-probabilities by place under each rotation, ``(K places, n, K rotations)``.
    product
        The same plus those of the mirrored places under the reversal; None without reversals.
    calibration
        Log-probabilities of the calibration items, ``(n_calibration, K rotations, K places)``.
    same_text
        The content that each content counts as, ``(n, K)``, or None.
    """

    rows: NDArray[np.intp]
    n_left_out: int
    choice: Choices
    presented: Floats
    product: Floats | None
    calibration: Floats
    same_text: Choices | None


@dataclass(frozen=True, slots=True, eq=False)
class OperatedCell:
    """A cell's answers and measures under every operation, on the same held-out items.

    Parameters
    ----------
    cell
        The cell.
    names
        The operations, ``none`` first.
    rows
        Which items of the cell are evaluated, ``(n,)``.
    choice
        Contents ``(n_operations, n, K)``, one a rotation.
    measures
        Scalars ``(n_operations,)`` and lists ``(n_operations, K)`` by name; NaN where undefined.
    n_left_out
        Held-out items that some operation cannot answer.
    top_place
        The place that PriDe's prior favours most.
    preference
        Letter preference of the calibration items: mean log-probability by place, centred, ``(K,)``.
    seed
        What chose the calibration items.
    """

    cell: PanelCell
    names: tuple[str, ...]
    rows: NDArray[np.intp]
    choice: Choices
    measures: Mapping[str, Floats]
    n_left_out: int
    top_place: int
    preference: Floats
    seed: int = 0

    @property
    def item_ids(self) -> NDArray[np.object_]:
        """Ids of the evaluated items."""
        return self.cell.predictions.item_ids[self.rows]

    @property
    def gold(self) -> Choices:
        """Right content of every evaluated item, -1 where unknown."""
        return self.cell.predictions.gold[self.rows]

    @property
    def flips(self) -> NDArray[np.bool_]:
        """Bool ``(n_operations, n)``."""
        return np.asarray((self.choice != self.choice[..., :1]).any(axis=-1))

    @property
    def surviving_share(self) -> float:
        """What of the letter preference mirroring keeps, 0..1 (two-factors, D.2)."""
        return mirror_split(self.preference).surviving_share if np.isfinite(self.preference).all() else float("nan")

    def at(self, name: str) -> int:
        """Return the row of an operation."""
        return self.names.index(name)


def cell_scores(cell: PanelCell, seed: int, *, reversals: bool) -> Scores | None:
    """Split a cell's items and lay out what the operations read; None where no item is left to evaluate.

    Parameters
    ----------
    cell
        A cell scored under the cyclic orderings.
    seed
        Chooses the calibration items.
    reversals
        Whether every scored ordering's reversal was asked, and the product is wanted.
    """
    p = cell.predictions
    if p.logprobs is None or p.n_items < 2:
        return None
    held_out = ~calibration_split(p, seed).chosen
    logprobs = log_softmax(p.logprobs)
    own = logprobs[:, p.presented]
    known = np.isfinite(own.max(axis=-1)).all(axis=1)
    product = None
    if reversals:
        partner = reversal_slots(p, PRODUCT, apart=True)
        product = own + logprobs[:, partner][..., ::-1]
        known &= np.isfinite(product.max(axis=-1)).all(axis=1) & (p.choice[:, partner] >= 0).all(axis=1)
    rows = np.flatnonzero(held_out & known)
    if not len(rows):
        return None
    return Scores(
        rows,
        int(held_out.sum()) - len(rows),
        p.choice[rows][:, p.presented],
        _places_first(own[rows]),
        None if product is None else _places_first(product[rows]),
        own[~held_out],
        None if p.same_text is None else p.same_text[rows],
    )


def _places_first(scores: Floats) -> Floats:
    return np.ascontiguousarray(np.moveaxis(scores, -1, 0))


def log_priors(name: str, calibration: Floats) -> Floats:
    """Return what the corrections of an operation take from each place's log score, ``(K,)``.

    A second prior is estimated on the output of the first. Not finite where a prior cannot be divided out.
    """
    total = np.zeros(calibration.shape[-1])
    scored = np.ones(calibration.shape[:2], bool)
    for step in name.split(">"):
        if step in PRIOR_KINDS:
            values, _ = PRIOR_KINDS[step](calibration - total, scored)
            if not (values > 0).all():
                return np.full_like(total, np.nan)
            total = total + np.log(values)
    return total


def answers(scores: Scores, names: Sequence[str], offsets: Floats, added: Floats | None = None) -> Choices:
    """Return the contents that each operation answers with, ``(n_operations, n, K)``.

    Parameters
    ----------
    scores
        A cell.
    names
        Operations; only whether they end in the product is read.
    offsets
        ``(n_operations, K)``: what corrections take from each place.
    added
        ``(n_operations, K)``: a preference added to every query; ``none`` then answers anew.
    """
    change = -offsets if added is None else added - offsets
    multiplied = np.array([name.endswith(PRODUCT) for name in names])
    places = np.empty((len(names), *scores.choice.shape), np.int8)
    for table, rows in ((scores.presented, ~multiplied), (scores.product, multiplied)):
        if rows.any() and table is not None:
            # The product adds a label's score under the ordering to that of its mirror under the reversal.
            both = change[rows] + (change[rows][:, ::-1] if table is scores.product else 0.0)
            step = max(1, BLOCK // table.size)
            places[rows] = np.concatenate([
                best_places(table[:, None] + both[start : start + step].T[:, :, None, None])
                for start in range(0, len(both), step)
            ])  # fmt: skip
    n_options = len(scores.presented)
    contents = (places - np.arange(n_options, dtype=np.int8)) % n_options
    if scores.same_text is not None:
        contents = scores.same_text[np.arange(len(scores.rows))[:, None], contents]
    if added is None:
        contents[[name == "none" for name in names]] = scores.choice
    return np.asarray(contents, np.int8)


def best_places(scores: Floats) -> NDArray[np.int8]:
    """Return the best place over the first axis, the lowest of those within the tie tolerance.

    Examples
    --------
    >>> best_places(np.array([[0.0, 1.0], [2.0, 1.0]])).tolist()
    [1, 0]
    """
    enough = scores.max(axis=0) - TIE_TOLERANCE
    places = np.zeros(enough.shape, np.int8)
    for place in range(len(scores) - 1, -1, -1):
        np.copyto(places, np.int8(place), where=scores[place] >= enough)
    return places


def operate(cell: PanelCell, seed: int) -> OperatedCell | None:
    """Apply every operation that a cell allows; None where a prior cannot be divided out, or no item is left."""
    reversals = cell.n_options > 2 and cell.reversed_too
    names = OPERATIONS if reversals else CORRECTIONS
    scores = cell_scores(cell, seed, reversals=reversals)
    if scores is None:
        return None
    offsets = np.stack([log_priors(name, scores.calibration) for name in names])
    if not np.isfinite(offsets).all():
        return None
    choice = answers(scores, names, offsets)
    preference = log_priors("log-calibration", scores.calibration)
    measures = operation_measures(choice, cell.predictions.gold[scores.rows], cell.n_options)
    top = int(np.argmax(offsets[names.index("pride")]))
    return OperatedCell(
        cell, names, scores.rows, choice, measures, scores.n_left_out, top, preference - preference.mean(), seed
    )


def operated_pool(cells: Sequence[OperatedCell]) -> Pool:
    """Return the pool of the cells that operations were applied to, to draw from."""
    return Pool(tuple(c.cell for c in cells))
