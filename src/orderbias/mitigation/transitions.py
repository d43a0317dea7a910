"""Which items stop or start flipping, where flipping answers go, and what newly stable-wrong items settle on.

Sources: two-factors, D.4, Tables 14 and 15. Reads answers of the same items before and after an operation; must not
know what the operation is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.intervals import Interval
from orderbias.inference.proportions import clopper_pearson
from orderbias.mitigation.applying import Compared
from orderbias.mitigation.settling import Settling, settling
from orderbias.operations import Prior, estimate_prior
from orderbias.predictions import Predictions

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Share:
    """``count`` of ``of``, with an exact interval; an average over variants and clustered items have none."""

    count: float
    of: float
    value: float | None
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Moves:
    """One operation against ``none`` (two-factors, Table 14).

    Parameters
    ----------
    operation
        Its name.
    stop, start
        Items that flip before and not after, or after and not before, of all items.
    resolved_wrong
        Of those that stop, the ones that keep a wrong content; ``None`` where a gold is unknown.
    top_place
        Share of the answers of items that flip before, after the operation, on the place that PriDe's prior favours;
        ``None`` without such a prior or without a flip.
    settling
        What newly stable-wrong items settle on; ``None`` where a gold is unknown, and averaged nowhere: of an
        operation with variants it is ``None``.
    """

    operation: str
    stop: Share
    start: Share
    resolved_wrong: Share | None
    top_place: float | None
    settling: Settling | None


@dataclass(frozen=True, slots=True)
class Transitions:
    """The moves of every operation.

    Parameters
    ----------
    n_items, n_flipping
        Items, and those that flip before any operation.
    top_place
        The place that PriDe's prior, estimated on the calibration items, favours most; ``None`` without one.
    top_place_before
        Share of the flipping items' answers there before any operation.
    moves
        One value an operation, without ``none``.
    notices
        What could not be had, and why.
    """

    n_items: int
    n_flipping: int
    top_place: int | None
    top_place_before: float | None
    moves: tuple[Moves, ...]
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def find_transitions(
    compared: Compared, calibration: Predictions, level: float = 0.95, clustered: bool = False
) -> Transitions:
    """Describe what every operation of a comparison does to the items one by one.

    Parameters
    ----------
    compared
        Operations on their common items, ``none`` first.
    calibration
        The items that PriDe's prior is estimated on.
    level
        Confidence level of the intervals.
    clustered
        Items come in clusters, so exact binomial intervals are left out.
    """
    none = compared.applied[0].outputs[0]
    flips = flipping(none)
    prior, notices = _prior(calibration)
    confidence = None if clustered else level
    moves = tuple(_moves(a.name, a.outputs, compared.evaluated, none, prior, confidence) for a in compared.applied[1:])
    return Transitions(
        n_items=none.n_items,
        n_flipping=int(flips.sum()),
        top_place=None if prior is None else prior.top_place,
        top_place_before=_share_at(none, flips, prior),
        moves=moves,
        notices=notices,
    )


def flipping(predictions: Predictions) -> Bools:
    """Bool ``(n_items,)``: the chosen content is not the same under all presented orderings; items must be usable."""
    first = predictions.choice[np.arange(predictions.n_items), predictions.scored.argmax(axis=1)]
    return np.asarray(((predictions.choice != first[:, None]) & predictions.scored).any(axis=1))


def stable_wrong(predictions: Predictions) -> Bools:
    """Bool ``(n_items,)``: one content under all presented orderings, and it is wrong."""
    first = predictions.choice[np.arange(predictions.n_items), predictions.scored.argmax(axis=1)]
    return np.asarray(~flipping(predictions) & (first != predictions.gold))


def _prior(calibration: Predictions) -> tuple[Prior | None, tuple[str, ...]]:
    try:
        return estimate_prior(calibration), ()
    except ArgumentError as error:
        return None, (f"No place is the prior's favourite: {error}",)


def _moves(
    name: str,
    outputs: Sequence[Predictions],
    evaluated: Predictions,
    none: Predictions,
    prior: Prior | None,
    level: float | None,
) -> Moves:
    before = flipping(none)
    afters = [flipping(output) for output in outputs]
    known = bool((none.gold >= 0).all())
    stopped = [before & ~after for after in afters]
    wrong = [stop & stable_wrong(output) for stop, output in zip(stopped, outputs, strict=True)]
    every = np.ones_like(before)
    tops = [_share_at(output, before, prior) for output in outputs]
    return Moves(
        operation=name,
        stop=_share(stopped, [every] * len(afters), level),
        start=_share([~before & after for after in afters], [every] * len(afters), level),
        resolved_wrong=_share(wrong, stopped, level) if known else None,
        top_place=None if None in tops else float(np.mean(tops)),  # type: ignore[arg-type]
        settling=settling(evaluated, none, outputs[0], before, afters[0]) if known and len(outputs) == 1 else None,
    )


def _share(parts: Sequence[Bools], wholes: Sequence[Bools], level: float | None) -> Share:
    """Average the shares of several variants; one alone has an exact interval."""
    counts = np.array([[part.sum(), whole.sum()] for part, whole in zip(parts, wholes, strict=True)])
    count, of = counts.mean(axis=0)
    if not counts[:, 1].all():
        return Share(float(count), float(of), None)
    value = float((counts[:, 0] / counts[:, 1]).mean())
    if level is None or len(counts) > 1:
        return Share(float(count), float(of), value)
    low, high = clopper_pearson(count, of, level)
    return Share(float(count), float(of), value, (float(low), float(high)))


def _share_at(predictions: Predictions, items: Bools, prior: Prior | None) -> float | None:
    """Share of the answers of some items that fall on the prior's favourite place, items weighted alike."""
    if prior is None or not items.any():
        return None
    scored = predictions.scored[items]
    there = (predictions.places[items] == prior.top_place) & scored
    return float((there.sum(axis=1) / scored.sum(axis=1)).mean())
