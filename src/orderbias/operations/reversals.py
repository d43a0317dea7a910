"""Aggregations over an ordering and its reversal; must not know of priors.

The reversal shows content at place ``K - 1 - r`` that the ordering shows at ``r``, so combining both adds a label's
preference to its mirror's: what has opposite signs on mirrored labels cancels (two-factors, D.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.operations.protocol import Fitted, FixedRule, Leaves, Needs
from orderbias.operations.scores import Bools, operated, require_logprobs, rescored, status_after
from orderbias.operations.slices import presented_alone
from orderbias.orderings import ordering_key, reversal
from orderbias.predictions import ABSTAINED, MISSING, OK, Predictions


@dataclass(frozen=True, slots=True)
class ReversalProduct:
    """Multiply each content's probabilities under an ordering and its reversal; answer with the largest product.

    Exact ties go to the earliest label of the presented ordering. The output holds the presented orderings alone,
    with the normalised products as log-probabilities (Wei et al., 2024; two-factors, D.1).
    """

    needs: ClassVar[Needs] = Needs(logprobs=True, reversals=True)
    leaves: ClassVar[Leaves] = Leaves(reversals=False)

    @property
    def name(self) -> str:
        """``reversal-product``."""
        return "reversal-product"

    def calls_per_item(self, predictions: Predictions) -> float:
        """Two queries, one answer."""
        return 2.0

    def fit(self, calibration: Predictions) -> Fitted:
        """Learn nothing."""
        return FixedRule(self.name, self._apply, self._notice)

    def _notice(self, predictions: Predictions) -> tuple[str, ...]:
        return _unpaired_notice(predictions, self.name, apart=True)

    def _apply(self, predictions: Predictions) -> Predictions:
        logprobs = require_logprobs(predictions, self.name)
        partner = reversal_slots(predictions, self.name, apart=True)
        shown = presented_alone(predictions)
        second = _status_at(predictions, partner)
        # What the ordering shows at place r, its reversal shows at K - 1 - r.
        mirrored = _at(logprobs, partner)[..., ::-1]
        scores = require_logprobs(shown, self.name) + mirrored
        aggregated = rescored(shown, scores, self.name, (_at(predictions.choice, partner) >= 0) & (second != MISSING))
        return replace(aggregated, mass=None, status=_pair_status(shown, second, aggregated.choice >= 0))


@dataclass(frozen=True, slots=True)
class AgreeOrAbstain:
    """Keep an answer that an ordering and its reversal agree on by content; abstain where they do not.

    An abstention has the status ``abstained`` and no content, so its item is unusable and counted. Works on answers
    alone; the output has no log-probabilities.
    """

    needs: ClassVar[Needs] = Needs(reversals=True)
    leaves: ClassVar[Leaves] = Leaves(logprobs=False, reversals=False)

    @property
    def name(self) -> str:
        """``agree-or-abstain``."""
        return "agree-or-abstain"

    def calls_per_item(self, predictions: Predictions) -> float:
        """Two queries, one answer."""
        return 2.0

    def fit(self, calibration: Predictions) -> Fitted:
        """Learn nothing."""
        return FixedRule(self.name, self._apply, self._notice)

    def _notice(self, predictions: Predictions) -> tuple[str, ...]:
        return _unpaired_notice(predictions, self.name, apart=False)

    def _apply(self, predictions: Predictions) -> Predictions:
        partner = reversal_slots(predictions, self.name, apart=False)
        shown = presented_alone(predictions)
        second, second_status = _at(predictions.choice, partner), _status_at(predictions, partner)
        both = (shown.choice >= 0) & (second >= 0) & (second_status != MISSING)
        agreed = both & (shown.choice == second)
        status = _pair_status(shown, second_status, agreed)
        return replace(
            shown,
            choice=np.where(agreed, shown.choice, -1).astype(np.int8),
            logprobs=None,
            mass=None,
            ties=agreed & (shown.ties | _at(predictions.ties, partner)),
            status=np.where(both & ~agreed, ABSTAINED, status).astype(np.int8),
            source=operated(predictions, self.name),
        )


def _pair_status(shown: Predictions, second: NDArray[np.int8], answered: Bools) -> NDArray[np.int8]:
    """Return the status of a pair: the presented query's own fault first, then its reversal's."""
    return status_after(np.where(shown.status != OK, shown.status, second).astype(np.int8), answered)


def _unpaired_notice(predictions: Predictions, name: str, *, apart: bool) -> tuple[str, ...]:
    """Say how many items are left out because their own designs lack a reversal."""
    if not predictions.per_item:
        return ()
    presented = predictions.scored[:, predictions.presented]
    n_left = int(((reversal_slots(predictions, name, apart=apart) < 0) & presented).any(axis=1).sum())
    if not n_left:
        return ()
    return (
        f"{n_left} of {predictions.n_items} items are left out by {name!r}: their own designs lack the reversal of a "
        "presented ordering.",
    )


def _status_at(predictions: Predictions, slots: NDArray[np.intp]) -> NDArray[np.int8]:
    """Status of the reversals; missing where there is none."""
    return np.where(slots >= 0, _at(predictions.status, slots), MISSING).astype(np.int8)


def _at(array: NDArray, slots: NDArray[np.intp]) -> NDArray:  # type: ignore[type-arg]
    """Take slots ``(S,)``, or ``(n_items, S)``, along the second axis."""
    if slots.ndim == 1:
        return array[:, slots]
    return array[np.arange(len(array))[:, None], slots]


def reversal_slots(predictions: Predictions, name: str, *, apart: bool) -> NDArray[np.intp]:
    """Return, for each presented ordering, the slot of its reversal.

    Parameters
    ----------
    predictions
        Any cell.
    name
        The operation that asks, for error messages.
    apart
        No two presented orderings may share a query, so a reversal must be a query of its own (two-factors, D.1).

    Returns
    -------
    ``(n_presented,)`` for a shared design, ``(n_items, n_presented)`` for designs of each item. Repeated orderings
    are paired first with first, second with second. -1 where an item's own design lacks a reversal that others have.

    Raises
    ------
    ArgumentError
        If no item has the reversals of all its presented orderings, or they are themselves presented although they
        must be apart.
    """
    positions = predictions.positions if predictions.per_item else predictions.positions[None]
    asked = np.ones(positions.shape[:2], bool) if predictions.asked is None else predictions.asked
    key, mirror = ordering_key(positions), ordering_key(reversal(positions))
    presented = asked & predictions.presented
    spare = asked & ~predictions.presented
    slots = np.flatnonzero(predictions.presented)
    matched = _matches(key, mirror, presented, spare)[:, slots]
    if not apart:
        within = _matches(key, mirror, presented, presented)[:, slots]
        matched = np.where(matched.any(axis=2, keepdims=True), matched, within)
    lacking = presented[:, slots] & ~matched.any(axis=2)
    askers = np.flatnonzero(presented.any(axis=1))
    if len(askers) and lacking[askers].any(axis=1).all():
        row, column = np.argwhere(lacking)[0]
        slot = slots[column]
        if _matches(key, mirror, presented, presented)[row, slot].any():
            raise ArgumentError(_shared_query(predictions, name, positions[row, slot]))
        raise ArgumentError(_not_queried(predictions, name, lacking, presented, positions[row, slot], int(row)))
    partner: NDArray[np.intp] = np.where(matched.any(axis=2), matched.argmax(axis=2), -1)
    return partner if predictions.per_item else np.asarray(partner[0])


def _matches(key: NDArray[np.int64], mirror: NDArray[np.int64], presented: Bools, among: Bools) -> NDArray[np.bool_]:
    """Bool ``(g, m, m)``: slot t, of ``among``, holds the reversal of presented slot s; nth pairs with nth."""
    earlier = np.tri(key.shape[1], k=-1, dtype=bool)
    same = key[:, :, None] == key[:, None, :]
    nth_presented = (same & earlier & presented[:, None, :]).sum(axis=2)
    nth_among = (same & earlier & among[:, None, :]).sum(axis=2)
    reversed_there = (mirror[:, :, None] == key[:, None, :]) & presented[:, :, None] & among[:, None, :]
    matches: NDArray[np.bool_] = reversed_there & (nth_presented[:, :, None] == nth_among[:, None, :])
    return matches


def _shared_query(predictions: Predictions, name: str, ordering: NDArray[np.int8]) -> str:
    if predictions.n_options == 2:
        return (
            f"{name!r} is refused for 2 options: the reversal of each cyclic ordering is the other cyclic ordering, so "
            "both presented answers would be read from the same two queries and agree by construction. "
            "Use a prior correction."
        )
    return (
        f"{name!r} needs presented orderings that share no query. Got {_text(ordering)} presented together with its "
        "reversal, whose answers would agree by construction. Present a set that holds no ordering with its reversal."
    )


def _not_queried(
    predictions: Predictions, name: str, lacking: Bools, presented: Bools, ordering: NDArray[np.int8], row: int
) -> str:
    where = f" (item {predictions.item_ids[row]})" if predictions.per_item else ""
    count = f"{lacking.sum()} of {presented.sum()} presented orderings lack theirs"
    return (
        f"{name!r} needs the reversal of every presented ordering. {count}: {_text(ordering)}{where} was asked without "
        f"{_text(reversal(ordering))}. Run with --design cyclic+reversals."
    )


def _text(ordering: NDArray[np.int8]) -> str:
    return " ".join(map(str, ordering.tolist()))
