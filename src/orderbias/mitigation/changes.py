"""What is compared between two versions of the same items, and how sure a difference is; must not know an operation.

A factor changes by a ratio, so its change is a difference of natural logs: on a balanced design the change in log
pooled SD is then the sum of those in log flip rate and log skew. A harm changes by a difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orderbias.inference.intervals import SAME, Interval
from orderbias.inference.proportions import alike_mean, unseen_share
from orderbias.inference.resampling import percentile_interval
from orderbias.measures.sums import Floats

#: The scalar measures of every version, and the lists shown beside them.
LEVELS = ("flip_rate", "positional_skew", "pooled_sd", "corrected_pooled_sd", "accuracy", "stable_correct",
          "stable_wrong", "placement_range", "balanced_rstd")  # fmt: skip
LISTS = ("selection_share", "flip_share", "accuracy_by_place")


@dataclass(frozen=True, slots=True)
class Change:
    """One row of the table of changes.

    Parameters
    ----------
    name
        The key under which it is printed.
    measure
        What changes.
    log
        A difference of natural logs, undefined where the measure is zero on either side.
    share
        The mean over items of a value between 0 and 1.
    """

    name: str
    measure: str
    log: bool = False
    share: bool = False


#: Every change by its key, in the order in which they are printed.
CHANGES: dict[str, Change] = {
    change.name: change
    for change in (
        Change("log_flip_rate", "flip_rate", log=True),
        Change("log_positional_skew", "positional_skew", log=True),
        Change("log_pooled_sd", "pooled_sd", log=True),
        Change("placement_range", "placement_range"),
        Change("balanced_rstd", "balanced_rstd"),
        Change("accuracy", "accuracy", share=True),
        Change("stable_correct", "stable_correct", share=True),
        Change("stable_wrong", "stable_wrong", share=True),
    )
}

#: The values of a measure, ``(n_variants, ...)``; a version without variants has one.
Values = Mapping[str, Floats]

_ZERO = "{} is zero on one side, and has no logarithm"
_ABSENT = "{} is undefined on one side"
_RARE = "{} is zero or undefined in too many bootstrap samples for an interval"
_ALIKE = "the two sides do not differ in any bootstrap sample, so resampling shows no spread"


def scaled(change: Change, values: Floats) -> Floats:
    """Return values on the scale of a change: as they are, or their logs; NaN where a factor is zero.

    Examples
    --------
    >>> scaled(CHANGES["log_flip_rate"], np.array([1.0, 0.0])).tolist()
    [0.0, nan]
    """
    if not change.log:
        return values
    # An SD that is zero may come out as a rounding error.
    positive = values > SAME
    out = np.full(np.shape(values), np.nan)
    np.log(values, out=out, where=positive)
    return out


def difference(change: Change, after: Values, before: Values) -> Floats | None:
    """Return the change, ``(...)``, averaged over variants; ``None`` where a side lacks the measure."""
    if change.measure not in after or change.measure not in before:
        return None
    sides = [scaled(change, side[change.measure]).mean(axis=0) for side in (after, before)]
    return np.asarray(sides[0] - sides[1])


@dataclass(frozen=True, slots=True)
class Changed:
    """Changes from one version to another.

    Parameters
    ----------
    values
        Each change by name; ``None`` where undefined.
    intervals
        ``(low, high)`` of each, from differences paired within each bootstrap sample; ``None`` where there is none.
    undefined
        Why a value, or only its interval, is ``None``.
    """

    values: Mapping[str, float | None]
    intervals: Mapping[str, Interval | None]
    undefined: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One version: its measures, and the same on bootstrap samples shared by all versions."""

    points: Values
    draws: Values


@dataclass(frozen=True, slots=True)
class Resampling:
    """What an interval may rest on: confidence level, independent units, and whether these are clusters of items."""

    level: float
    n_units: int
    clustered: bool


def changed(after: Side, before: Side, resampling: Resampling, changes: Sequence[Change]) -> Changed:
    """Compare two versions; a version and itself differ by exactly 0.

    A change is undefined where a side lacks the measure or, for a factor, where it is zero on either side. An interval
    leaves out samples in which the change is undefined, and is withheld when these are more than ``1 - level`` of all.
    """
    values: dict[str, float | None] = {}
    intervals: dict[str, Interval | None] = {}
    undefined: dict[str, str] = {}
    for change in changes:
        point = difference(change, after.points, before.points)
        if point is None or np.isnan(point):
            values[change.name] = intervals[change.name] = None
            undefined[change.name] = (_ZERO if _zero(change, after, before) else _ABSENT).format(change.measure)
            continue
        values[change.name] = float(point)
        draws = None if after is before else difference(change, after.draws, before.draws)
        interval, why = (None, None) if draws is None else _interval(change, float(point), draws, resampling)
        if after is before:
            interval = (0.0, 0.0)
        intervals[change.name] = interval
        if why:
            undefined[change.name] = why.format(change.measure)
    return Changed(values, intervals, undefined)


def _zero(change: Change, *sides: Side) -> bool:
    """Whether a factor is there and zero on some side."""
    return change.log and any((side.points.get(change.measure, np.ones(1)) <= SAME).any() for side in sides)


def _interval(
    change: Change, point: float, draws: Floats, resampling: Resampling
) -> tuple[Interval | None, str | None]:
    """Return the interval, and why there is none."""
    if np.isnan(draws).mean() > 1 - resampling.level:
        return None, _RARE
    found = percentile_interval(draws, resampling.level)
    if found is None or found[1] - found[0] > SAME:
        return found, None
    if change.share and not resampling.clustered:
        # Every item differs alike; a share of at most q of all items may differ otherwise.
        return alike_mean(point, -1.0, 1.0, unseen_share(resampling.n_units, resampling.level)), None
    return None, _ALIKE
