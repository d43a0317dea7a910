"""Aggregations over all presented orderings of an item: one content for each of them; must not know of priors.

The answer is the same content under every presented ordering, so there are no flips and the positional skew is
undefined (two-factors, D.1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.operations.protocol import Fitted, FixedRule, Leaves, Needs
from orderbias.operations.scores import (
    Bools,
    Floats,
    by_content,
    by_place,
    log_softmax,
    operated,
    pick,
    require_logprobs,
    status_after,
)
from orderbias.operations.slices import presented_alone
from orderbias.predictions import MISSING, OK, Predictions

#: How a tied vote is settled: by the lowest content index, or by a hash of (seed, item id).
VOTE_TIES = ("content", "hash")


@dataclass(frozen=True, slots=True)
class MajorityVote:
    """Answer with the content chosen most often over the presented orderings.

    Works on answers alone; the output has no log-probabilities. A tied vote is marked in ``ties``.

    Parameters
    ----------
    ties
        ``content``: the lowest content index wins. ``hash``: one of the tied contents by a hash of (seed, item id),
        which leans to no content.
    seed
        Of the hash.

    Raises
    ------
    ArgumentError
        If ``ties`` is unknown.

    Examples
    --------
    >>> p = Predictions(choice=[[2, 1, 2]], positions=[[0, 1, 2], [1, 2, 0], [2, 0, 1]], gold=[0])
    >>> MajorityVote().fit(p).apply(p).choice.tolist()
    [[2, 2, 2]]
    """

    needs: ClassVar[Needs] = Needs()
    leaves: ClassVar[Leaves] = Leaves(logprobs=False, reversals=False)

    ties: str = "content"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.ties not in VOTE_TIES:
            raise ArgumentError(f"`ties` must be one of {', '.join(VOTE_TIES)}. Got {self.ties!r}.")

    @property
    def name(self) -> str:
        """``majority-vote`` and every option that is not the usual one."""
        seed = f":seed={self.seed}" if self.seed else ""
        return "majority-vote" + (f":ties={self.ties}" if self.ties != "content" else "") + seed

    def calls_per_item(self, predictions: Predictions) -> float:
        """Every presented ordering of the item."""
        return _pool_size(predictions)

    def fit(self, calibration: Predictions) -> Fitted:
        """Learn nothing."""
        return FixedRule(self.name, self._apply)

    def _apply(self, predictions: Predictions) -> Predictions:
        shown = presented_alone(predictions)
        counts = vote_counts(shown)
        best = counts == counts.max(axis=1, keepdims=True)
        content = best.argmax(axis=1).astype(np.int8)
        tied = best.sum(axis=1) > 1
        if self.ties == "hash":
            rows = np.flatnonzero(tied)
            content[rows] = _hashed_choice(best[rows], shown.item_ids[rows], self.seed)
        return _one_content(shown, content, tied, None, operation=self.name)


@dataclass(frozen=True, slots=True)
class MeanAggregation:
    """What the means have in common; use :class:`MeanProbability` or :class:`MeanLogprob`."""

    needs: ClassVar[Needs] = Needs(logprobs=True)
    # The log-probabilities left are the same for every presented ordering, by content.
    leaves: ClassVar[Leaves] = Leaves(reversals=False)

    kind: ClassVar[str] = ""

    @property
    def name(self) -> str:
        """The kind."""
        return self.kind

    def calls_per_item(self, predictions: Predictions) -> float:
        """Every presented ordering of the item."""
        return _pool_size(predictions)

    def fit(self, calibration: Predictions) -> Fitted:
        """Learn nothing."""
        return FixedRule(self.name, self._apply)

    def _apply(self, predictions: Predictions) -> Predictions:
        shown = presented_alone(predictions)
        contents = by_content(shown, log_softmax(require_logprobs(shown, self.name)))
        picked = pick(self._mean(contents, shown.scored[..., None]))
        answered = ~np.isnan(picked.logprobs[:, 0])
        return _one_content(
            shown, np.where(answered, picked.place, -1).astype(np.int8), picked.tied, picked.logprobs, self.name
        )

    def _mean(self, logprobs: Floats, scored: Bools) -> Floats:
        raise NotImplementedError


class MeanProbability(MeanAggregation):
    """Average each content's probability over the presented orderings; answer with the largest.

    Ties go to the lowest content index. The permutation averaging of Zheng et al. (2024).
    """

    __slots__ = ()
    kind = "mean-probability"

    def _mean(self, logprobs: Floats, scored: Bools) -> Floats:
        with np.errstate(divide="ignore"):
            total: Floats = np.log(np.where(scored, np.exp(logprobs), 0.0).sum(axis=1))
        return total


class MeanLogprob(MeanAggregation):
    """Average each content's log-probability over the presented orderings; answer with the largest.

    Ties go to the lowest content index. Over a balanced set every label's own preference cancels exactly.
    """

    __slots__ = ()
    kind = "mean-logprob"

    def _mean(self, logprobs: Floats, scored: Bools) -> Floats:
        total = np.where(scored, logprobs, 0.0).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = total / scored.sum(axis=1)
        return mean


def vote_counts(predictions: Predictions) -> NDArray[np.int64]:
    """Return how often each content was chosen over the presented orderings, ``(n_items, n_options)``."""
    scored = predictions.scored & (predictions.choice >= 0)
    counts = np.zeros((predictions.n_items, predictions.n_options), np.int64)
    rows = np.arange(predictions.n_items)
    for slot in range(predictions.n_orderings):
        counts[rows, np.maximum(predictions.choice[:, slot], 0)] += scored[:, slot]
    return counts


def _one_content(
    shown: Predictions, content: NDArray[np.int8], tied: Bools, logprobs: Floats | None, operation: str
) -> Predictions:
    """Give every presented ordering of an item the same content; an item without its whole pool gets none.

    ``logprobs`` is by content, ``(n_items, n_options)``, or None.
    """
    answered = (shown.scored & (shown.usable & (content >= 0))[:, None]).astype(bool)
    spread = None
    if logprobs is not None:
        spread = np.where(answered[..., None], by_place(shown, logprobs[:, None, :]), np.nan)
    return replace(
        shown,
        choice=np.where(answered, shown.counted_as(content)[:, None], -1).astype(np.int8),
        logprobs=spread,
        mass=None,
        ties=answered & tied[:, None],
        status=status_after(shown.status, answered, otherwise=_first_fault(shown)[:, None]),
        source=operated(shown, operation),
    )


def _first_fault(shown: Predictions) -> NDArray[np.int8]:
    """Status of the first presented ordering that was not answered, ``(n_items,)``; missing where all were."""
    faulty = shown.scored & (shown.choice < 0) & (shown.status != OK)
    first = shown.status[np.arange(shown.n_items), faulty.argmax(axis=1)]
    return np.where(faulty.any(axis=1), first, MISSING).astype(np.int8)


def _pool_size(predictions: Predictions) -> float:
    """Presented orderings of an item; the mean over usable items where designs differ in size."""
    sizes = predictions.scored.sum(axis=1)
    usable = predictions.usable
    return float(sizes[usable].mean() if usable.any() else predictions.presented.sum())


def _hashed_choice(best: Bools, item_ids: Iterable[object], seed: int) -> NDArray[np.int8]:
    """Return for each item one of its best contents, by a hash of (seed, item id)."""
    chosen = np.empty(len(best), np.int8)
    for row, item_id in enumerate(item_ids):
        contents = np.flatnonzero(best[row])
        digest = hashlib.blake2b(f"{seed}\0{item_id}".encode(), digest_size=8).digest()
        chosen[row] = contents[int.from_bytes(digest, "little") % len(contents)]
    return chosen
