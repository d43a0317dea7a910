"""What an item that stops flipping on a wrong content settles on (two-factors, Table 15); must not know an operation.

Contents are counted over all queries of an item, presented or not: its cyclic orderings and their reversals. Items are
selected by what became of them, so this describes the transition and does not say what caused it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.operations import canonical_alone
from orderbias.operations.scores import by_content, log_softmax
from orderbias.predictions import Predictions

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Settling:
    """Newly stable-wrong items: flipping before, one wrong content under every presented ordering after.

    Shares are of ``n_items`` and ``None`` where there is none, or where log-probabilities are needed and missing.

    Parameters
    ----------
    n_items
        How many.
    n_queries
        Mean number of answered queries that an item's contents are counted over.
    most_frequent
        The content settled on is the only one chosen most often.
    tied_most_frequent
        It is one of several chosen most often.
    less_frequent
        Another content was chosen more often.
    top_two_everywhere
        It has one of the two largest probabilities in every query.
    wrong_everywhere
        The item was answered wrongly under every presented ordering before.
    gap
        Mean difference of the two largest label probabilities under the canonical ordering.
    gap_settled_right
        The same for items that flip before and keep the right content after.
    gap_stable_wrong
        The same for items that kept one wrong content before.
    """

    n_items: int
    n_queries: float | None
    most_frequent: float | None
    tied_most_frequent: float | None
    less_frequent: float | None
    top_two_everywhere: float | None
    wrong_everywhere: float | None
    gap: float | None
    gap_settled_right: float | None
    gap_stable_wrong: float | None


def settling(
    evaluated: Predictions, none: Predictions, after: Predictions, flips_before: Bools, flips_after: Bools
) -> Settling:
    """Describe the newly stable-wrong items.

    Parameters
    ----------
    evaluated
        The answers as they were asked, with every query.
    none, after
        The presented answers before and after, of the same items, all usable, every gold known.
    flips_before, flips_after
        Bool ``(n_items,)``.
    """
    settled = _first_answer(after)
    right = settled == none.gold
    newly = np.flatnonzero(flips_before & ~flips_after & ~right)
    counts, n_queries = _content_counts(evaluated)
    own = counts[np.arange(len(counts)), settled]
    top = counts.max(axis=1)
    shared = (counts == top[:, None]).sum(axis=1) > 1
    wrong = ~((none.choice == none.gold[:, None]) & none.scored).any(axis=1)
    gaps = _canonical_gaps(evaluated)
    return Settling(
        n_items=len(newly),
        n_queries=_mean(n_queries, newly),
        most_frequent=_mean((own == top) & ~shared, newly),
        tied_most_frequent=_mean((own == top) & shared, newly),
        less_frequent=_mean(own < top, newly),
        top_two_everywhere=_mean(_among_top_two(evaluated, settled), newly),
        wrong_everywhere=_mean(wrong, newly),
        gap=_mean(gaps, newly),
        gap_settled_right=_mean(gaps, np.flatnonzero(flips_before & ~flips_after & right)),
        gap_stable_wrong=_mean(gaps, np.flatnonzero(~flips_before & (_first_answer(none) != none.gold))),
    )


def _first_answer(predictions: Predictions) -> NDArray[np.int8]:
    """The content under an item's first presented ordering, ``(n_items,)``."""
    slot = predictions.scored.argmax(axis=1)
    return np.asarray(predictions.choice[np.arange(predictions.n_items), slot])


def _content_counts(predictions: Predictions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count each item's contents over its answered queries: ``(n_items, n_options)``, and the queries."""
    answered = _answered(predictions)
    contents = np.arange(predictions.n_options)
    counts = ((predictions.choice[..., None] == contents) & answered[..., None]).sum(axis=1)
    return counts, answered.sum(axis=1)


def _answered(predictions: Predictions) -> Bools:
    asked = True if predictions.asked is None else predictions.asked
    return np.asarray((predictions.choice >= 0) & asked)


def _among_top_two(predictions: Predictions, contents: NDArray[np.int8]) -> NDArray[np.float64]:
    """1 where at most one content has a larger probability in every answered query, NaN without probabilities."""
    if predictions.logprobs is None:
        return np.full(predictions.n_items, np.nan)
    scores = _best_letters(predictions, by_content(predictions, predictions.logprobs))
    own = np.take_along_axis(scores, contents.astype(np.intp)[:, None, None], axis=2)
    two = (scores > own).sum(axis=2) <= 1
    return np.asarray((two | ~_answered(predictions)).all(axis=1), np.float64)


def _best_letters(predictions: Predictions, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give a content of several labels (one text twice) the score of its best; what counts as another has none."""
    if predictions.same_text is None:
        return scores
    counted_as = predictions.same_text
    alike = counted_as[:, None, :, None] == counted_as[:, None, None, :]
    best = np.where(alike, scores[:, :, None, :], -np.inf).max(axis=-1)
    itself = counted_as == np.arange(predictions.n_options)
    return np.where(itself[:, None, :], best, -np.inf)


def _canonical_gaps(predictions: Predictions) -> NDArray[np.float64]:
    """Difference of the two largest label probabilities under the canonical ordering; NaN where that is not known."""
    unknown = np.full(predictions.n_items, np.nan)
    if predictions.logprobs is None:
        return unknown
    try:
        canonical = canonical_alone(predictions)
    except ArgumentError:
        return unknown
    ordered = np.sort(np.exp(log_softmax(np.asarray(canonical.logprobs)[:, 0])), axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def _mean(values: NDArray[np.generic], items: NDArray[np.intp]) -> float | None:
    """Mean over some items whose value is known; ``None`` where there is none."""
    picked = values[items].astype(np.float64)
    picked = picked[~np.isnan(picked)]
    return float(picked.mean()) if picked.size else None
