"""What one item contributes to the sums, for a block of items at once; knows nothing of cells or resampling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from orderbias.measures.factors import divergence_from_uniform
from orderbias.measures.sums import Floats

#: Columns with one number an item, then those with one number a place.
SCALARS = (
    "one", "tie", "flip", "content_entropy", "item_sd", "item_kl", "pairwise", "fluctuation",
    "correct", "stable_correct", "stable_wrong", "canonical_correct",
)  # fmt: skip
VECTORS = ("f", "flip_f", "a", "flip_a", "canonical_gold", "canonical_hit", "canonical_place")

#: Columns that say nothing without a gold for every item, and without two orderings of an item.
GOLD_BASED = ("correct", "stable_correct", "stable_wrong", "a", "flip_a", "canonical_correct")
FLIP_BASED = ("flip", "flip_f", "flip_a", "stable_correct", "stable_wrong", "content_entropy", "pairwise")

_NO_GOLD = "not every usable item has a gold answer"
_NO_CANONICAL = "the canonical ordering is not presented for every usable item"
_NO_PLACE_BALANCE = "the design does not show every item's right option at every place equally often"

#: Why a column may be missing.
ABSENT = {
    "flip": "no item is presented under two different orderings, so nothing can flip",
    "pairwise": "some item is presented under one ordering only, so it has no pair",
    "fluctuation": "rotations 0 and floor(K/2) are not both presented for every usable item",
    "balance": "the design is not balanced: some content is shown more often at one place than at another",
    "correct": _NO_GOLD,
    "stable_correct": _NO_GOLD,
    "stable_wrong": _NO_GOLD,
    "a": _NO_PLACE_BALANCE,
    "flip_a": _NO_PLACE_BALANCE,
    "canonical_correct": _NO_CANONICAL,
    "canonical_gold": _NO_CANONICAL,
    "canonical_hit": _NO_CANONICAL,
    "canonical_place": _NO_CANONICAL,
}


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """A block of usable items; slots that are not scored hold anything.

    ``choice`` and ``scored`` are ``(n, m)``, ``positions`` ``(m, K)`` or ``(n, m, K)``, ``gold`` and ``tied`` ``(n,)``.
    """

    choice: NDArray[np.int8]
    positions: NDArray[np.int8]
    scored: NDArray[np.bool_]
    gold: NDArray[np.int8]
    tied: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BlockDesign:
    """What the orderings of a block are like; ``varied`` says that some item has two different ones."""

    size: int
    balanced: bool
    varied: bool
    max_deviation: float


def column_layout(n_options: int) -> tuple[dict[str, int | slice], int]:
    """Return where each column stands, and how many numbers a row holds."""
    index: dict[str, int | slice] = {name: i for i, name in enumerate(SCALARS)}
    for i, name in enumerate(VECTORS):
        start = len(SCALARS) + i * n_options
        index[name] = slice(start, start + n_options)
    return index, len(SCALARS) + len(VECTORS) * n_options


def item_columns(answers: Answers, index: dict[str, int | slice], width: int) -> tuple[Floats, BlockDesign]:
    """Return the columns of a block, ``(n, width)``, NaN where an item lacks one; and what its design is like."""
    out = np.full((len(answers.choice), width), np.nan)
    size = answers.scored.sum(axis=1)
    contents = _tally(answers, answers.choice)
    flip = contents.max(axis=1) < size
    columns = {
        "one": np.ones(len(out)),
        "tie": answers.tied,
        "flip": flip,
        **_label_free(answers, contents, size, flip),
        **_canonical(answers),
    }
    known = answers.gold >= 0
    columns |= {name: np.where(_as_rows(known, v), v, np.nan) for name, v in _gold_based(answers, size, flip).items()}
    for name, values in columns.items():
        out[:, index[name]] = values
    return out, _design(answers, size)


def _as_rows(mask: NDArray[np.bool_], like: Floats) -> NDArray[np.bool_]:
    return mask if like.ndim == 1 else mask[:, None]


def _tally(answers: Answers, values: NDArray[np.integer], where: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Count, for each item, how often each of 0..K-1 is among its scored ``values``, ``(n, m)``."""
    n_items, n_options = len(values), answers.positions.shape[-1]
    mask = answers.scored if where is None else where
    cells = np.arange(n_items)[:, None] * n_options + values
    return np.bincount(cells[mask], minlength=n_items * n_options).reshape(n_items, n_options)


def _places(answers: Answers, contents: NDArray[np.integer]) -> NDArray[np.int8]:
    """Return the places of ``contents``, ``(n, m)`` or ``(n, 1)``, under each slot's ordering."""
    contents = np.broadcast_to(contents, answers.choice.shape)
    slots = np.arange(contents.shape[1])
    if answers.positions.ndim == 2:
        return np.asarray(answers.positions[slots, contents])
    return np.asarray(answers.positions[np.arange(len(contents))[:, None], slots, contents])


def _label_free(
    answers: Answers, contents: NDArray[np.int64], size: NDArray[np.int64], flip: NDArray[np.bool_]
) -> dict[str, Floats]:
    counts = _tally(answers, _places(answers, answers.choice))
    f = counts / size[:, None]
    # Sorting first makes items that differ by a relabelling agree to the last bit.
    shares, chosen = np.sort(f, axis=1), np.sort(contents, axis=1) / size[:, None]
    pairs = size * (size - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        pairwise = np.where(pairs > 0, 1 - (contents * (contents - 1)).sum(axis=1) / pairs, np.nan)
    n_options = f.shape[1]
    return {
        "f": f,
        "flip_f": f * flip[:, None],
        "content_entropy": np.maximum(-xlogy(chosen, chosen).sum(axis=1) / np.log(2), 0.0),
        "item_sd": np.where((counts * n_options == size[:, None]).all(axis=1), 0.0, shares.std(axis=1)),
        "item_kl": divergence_from_uniform(shares),
        "pairwise": pairwise,
        "fluctuation": _fluctuation(answers),
    }


def _answer_under(answers: Answers, positions: NDArray[np.integer]) -> tuple[NDArray[np.bool_], NDArray[np.int8]]:
    """Return whether each item is presented under an ordering, and its answer there (the first, if repeated)."""
    match = (answers.positions == positions).all(axis=-1) & answers.scored
    slot = match.argmax(axis=1)
    return match.any(axis=1), answers.choice[np.arange(len(slot)), slot]


def _fluctuation(answers: Answers) -> Floats:
    contents = np.arange(answers.positions.shape[-1])
    half = len(contents) // 2
    has_first, first = _answer_under(answers, contents)
    has_second, second = _answer_under(answers, (contents + half) % len(contents))
    return np.where(has_first & has_second, first != second, np.nan)


def _canonical(answers: Answers) -> dict[str, Floats]:
    contents = np.arange(answers.positions.shape[-1])
    has, answer = _answer_under(answers, contents)
    has &= answers.gold >= 0
    hit = answer == answers.gold
    gold = answers.gold[:, None] == contents
    return {
        "canonical_correct": np.where(has, hit, np.nan),
        "canonical_gold": np.where(has[:, None], gold, np.nan),
        "canonical_hit": np.where(has[:, None], gold & hit[:, None], np.nan),
        "canonical_place": np.where(has[:, None], answer[:, None] == contents, np.nan),
    }


def _gold_based(answers: Answers, size: NDArray[np.int64], flip: NDArray[np.bool_]) -> dict[str, Floats]:
    """Columns that need the gold; rows of items without one hold anything."""
    right = (answers.choice == answers.gold[:, None]) & answers.scored
    correct = right.sum(axis=1) / size
    n_options = answers.positions.shape[-1]
    gold_place = _places(answers, np.maximum(answers.gold, 0)[:, None])
    shown = _tally(answers, gold_place)
    each_place = (shown * n_options == size[:, None]).all(axis=1)[:, None]
    hits = _tally(answers, gold_place, right) * n_options / size[:, None]
    a = np.where(each_place, hits, np.nan)
    return {
        "correct": correct,
        "stable_correct": (correct == 1).astype(float),
        "stable_wrong": (~flip & (correct < 1)).astype(float),
        "a": a,
        "flip_a": np.where(each_place, hits * flip[:, None], np.nan),
    }


def _design(answers: Answers, size: NDArray[np.int64]) -> BlockDesign:
    """Count in integers how often each content is shown at each place; ``max_j std(u_j)`` from the counts."""
    shared = answers.positions.ndim == 2
    positions = answers.positions[None] if shared else answers.positions
    scored = answers.scored[:1] if shared else answers.scored
    size = size[:1] if shared else size
    n_items, _, n_options = positions.shape
    cells = np.arange(n_items)[:, None, None] * n_options + np.arange(n_options)
    shown = (cells * n_options + positions)[scored]
    counts = np.bincount(shown.ravel(), minlength=n_items * n_options**2).reshape(n_items, n_options, n_options)
    first = positions[np.arange(n_items), scored.argmax(axis=1)]
    differs = (positions != first[:, None]).any(axis=-1) & scored
    return BlockDesign(
        size=int(answers.scored.sum(axis=1).max()),
        balanced=bool((counts * n_options == size[:, None, None]).all()),
        varied=bool(differs.any()),
        max_deviation=float((counts / size[:, None, None]).std(axis=-1).max()),
    )
