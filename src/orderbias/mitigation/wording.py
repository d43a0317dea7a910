"""The outcome of one cell in plain words, and the operations that no other beats; computes no measure.

A remedy is never called better for its flip rate alone: an answer that stays wrong does not flip either. Harm
(placement range), accuracy and cost are always said beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from orderbias.mitigation.changes import CHANGES

if TYPE_CHECKING:
    from orderbias.mitigation.values import Outcome

_FACTORS = (("flip rate", "flip_rate"), ("positional skew", "positional_skew"))
_HARMS = (("placement range", "placement_range"), ("stable-wrong share", "stable_wrong"))


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
    """Say what the first remedy buys, what it leaves, and at what cost."""
    none, first = outcomes[0], next(o for o in outcomes if o.name != outcomes[0].name)
    said = [_factor(label, name, none, first) for label, name in _FACTORS]
    harms = [part for label, name in _HARMS if (part := _points(label, name, none, first))]
    buys = "; ".join(part for part in said if part)
    accuracy = _points("accuracy", "accuracy", none, first) or "accuracy is not known without golds"
    parts = [f"{first.name}: {buys}", *harms, accuracy]
    return "; ".join(parts) + f". Cost: {_cost(first)}.{_warning(first)}"


def _factor(label: str, name: str, none: Outcome, after: Outcome) -> str:
    """Say where a factor went, in percent of what it was."""
    before, now = none.measures.get(name), after.measures.get(name)
    if not isinstance(before, float):
        return f"the {label} is not defined before it"
    if not isinstance(now, float):
        return f"the {label} is no longer defined, as nothing flips"
    shown = (f"{100 * before:.1f} %", f"{100 * now:.1f} %") if name == "flip_rate" else (f"{before:.3f}", f"{now:.3f}")
    change = after.changes.values.get(f"log_{name}")
    if change is None:
        return f"the {label} goes from {shown[0]} to {shown[1]}"
    return f"the {label} {_verb(after, f'log_{name}')} from {shown[0]} to {shown[1]}"


def _points(label: str, name: str, none: Outcome, after: Outcome) -> str:
    """Say where a share went, in percent."""
    before, now = none.measures.get(name), after.measures.get(name)
    if not isinstance(before, float) or not isinstance(now, float):
        return ""
    return f"the {label} {_verb(after, name)} from {100 * before:.1f} % to {100 * now:.1f} %".replace(
        "the accuracy", "accuracy"
    )


def direction(outcome: Outcome, name: str) -> int | None:
    """Return -1 or 1 where the interval of a change excludes zero, 0 where it holds zero, ``None`` without one."""
    ends = outcome.changes.intervals.get(name)
    if ends is None:
        return None
    return -1 if ends[1] < 0 else 1 if ends[0] > 0 else 0


def _verb(outcome: Outcome, name: str) -> str:
    found = direction(outcome, name)
    if found is None:
        return "goes"
    return ("falls", "does not clearly change", "rises")[found + 1]


def _cost(outcome: Outcome) -> str:
    calls = outcome.calls_per_item
    text = f"{calls:g} call{'' if calls == 1 else 's'} a question"
    if outcome.n_calibration:
        text += f" and {outcome.n_calibration:,} calibration items, each under every presented ordering"
    return text


def _warning(outcome: Outcome) -> str:
    """Say so where fewer flips come with more wrong answers that stay, or without less harm."""
    if direction(outcome, "log_flip_rate") != -1 and outcome.measures.get("flip_rate") != 0:
        return ""
    if direction(outcome, "stable_wrong") == 1 and direction(outcome, "accuracy") != 1:
        return " Fewer flips here are not more right answers: items settle on wrong options."
    if direction(outcome, "placement_range") != -1 and direction(outcome, "accuracy") != 1:
        return " Fewer flips alone are no reason to choose it: neither harm nor accuracy clearly improves."
    return ""


assert all(name in CHANGES for _, name in _HARMS)  # the words above name rows of that table
