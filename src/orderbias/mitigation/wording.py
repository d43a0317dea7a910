"""The outcome of one cell in plain words, and the operations that no other beats; computes no measure.

A remedy is never called better for its flip rate alone: an answer that stays wrong does not flip either. Harm
(placement range), accuracy and cost are always said beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orderbias.mitigation.values import Outcome


@dataclass(frozen=True, slots=True)
class _Term:
    """A measure in the sentence: its change's key, what to call it, and which way is better."""

    measure: str
    change: str
    label: str
    better: int = -1
    percent: bool = True


_TERMS = (
    _Term("flip_rate", "log_flip_rate", "flip rate"),
    _Term("positional_skew", "log_positional_skew", "positional skew", percent=False),
    _Term("placement_range", "placement_range", "placement range"),
    _Term("accuracy", "accuracy", "accuracy", better=1),
    _Term("stable_wrong", "stable_wrong", "stable-wrong share"),
)


def pareto_set(outcomes: Sequence[Outcome]) -> tuple[str, ...] | None:
    """Return the operations that no other beats in calls, placement range and accuracy together.

    One beats another when it is at least as good in all three and better in one. ``None`` where one of the three is
    undefined for some operation. Point values decide, not intervals.
    """
    costs = []
    for o in outcomes:
        spread, accuracy = o.measures.get("placement_range"), o.measures.get("accuracy")
        if not isinstance(spread, float) or not isinstance(accuracy, float):
            return None
        costs.append((o.calls_per_item, spread, -accuracy))
    return tuple(
        o.name
        for o, own in zip(outcomes, costs, strict=True)
        if not any(other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in costs)
    )


def closing_sentence(outcomes: Sequence[Outcome]) -> str:
    """Say what the first remedy buys, what it leaves, and at what cost.

    What is clear has an interval that excludes zero.
    """
    none, first = outcomes[0], next(o for o in outcomes if o.name != outcomes[0].name)
    found = [(term, direction(none, first, term)) for term in _TERMS]
    better = [_moved(term, none, first) for term, d in found if d == term.better]
    worse = [_moved(term, none, first) for term, d in found if d == -term.better]
    same = [_moved(term, none, first) for term, d in found if d == 0]
    unknown = [term.label for term, d in found if d is None]
    parts = [f"{first.name} improves {_listed(better)}" if better else f"{first.name} clearly improves nothing here"]
    if worse:
        parts.append(f"it worsens {_listed(worse)}")
    if same:
        parts.append(f"it leaves without a clear change {_listed(same)}")
    if unknown:
        parts.append(f"not defined: {', '.join(unknown)}")
    parts.append(f"it costs {_cost(first)}")
    return "; ".join(parts) + "." + _warning(none, first)


def direction(none: Outcome, after: Outcome, term: _Term) -> int | None:
    """Return -1 or 1 where a change is clear, 0 where it is not, ``None`` where a side is undefined."""
    before, now = none.measures.get(term.measure), after.measures.get(term.measure)
    if not isinstance(before, float) or not isinstance(now, float):
        return None
    if now == 0 < before and term.measure == "flip_rate":
        return -1  # nothing flips any more: there is no logarithm, and no doubt
    ends = after.changes.intervals.get(term.change)
    if ends is None:
        return 0
    return -1 if ends[1] < 0 else 1 if ends[0] > 0 else 0


def _moved(term: _Term, none: Outcome, after: Outcome) -> str:
    before, now = (_shown(term, o.measures[term.measure]) for o in (none, after))
    what = term.label if term.label == "accuracy" else f"the {term.label}"
    return f"{what} ({before} to {now})" if before != now else f"{what} ({now})"


def _shown(term: _Term, value: object) -> str:
    number = float(value)  # type: ignore[arg-type]
    return f"{100 * number:.1f} %" if term.percent else f"{number:.3f}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _cost(outcome: Outcome) -> str:
    calls = outcome.calls_per_item
    text = f"{calls:g} call{'' if calls == 1 else 's'} a question"
    if outcome.n_calibration:
        text += f" and {outcome.n_calibration:,} calibration items asked in every presented ordering"
    return text


def _warning(none: Outcome, after: Outcome) -> str:
    """Say so where fewer flips come with more wrong answers that stay, or without less harm."""
    way = {term.measure: direction(none, after, term) for term in _TERMS}
    if way["flip_rate"] != -1:
        return ""
    if way["stable_wrong"] == 1 and way["accuracy"] != 1:
        return " Fewer flips are not more right answers here: items settle on wrong options."
    if way["placement_range"] != -1 and way["accuracy"] != 1:
        return " Fewer flips alone are no reason to choose it: neither harm nor accuracy clearly improves."
    return ""
