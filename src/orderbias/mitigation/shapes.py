"""What each operation does to a letter preference of known shape (two-factors, D.3); must not know an operation.

A preference is added to every query, presented or not, calibration items included; priors are estimated afterwards.
It is an intervention on scores: it does not show that models form their preferences by addition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.intervals import Interval
from orderbias.inference.proportions import check_draws, check_level
from orderbias.inference.resampling import percentile_interval
from orderbias.measures.columns import ItemColumns, build_columns
from orderbias.measures.table import MEASURES, chosen_measures, evaluate
from orderbias.mitigation.joint import join, joint_draws
from orderbias.operations import AddPreference, Operation, Split, preference, take_items
from orderbias.operations.scores import require_logprobs
from orderbias.predictions import Predictions

#: The shapes of the paper's experiment, and strengths in logits.
SHAPES = ("front-to-back", "alternating", "outer-inner", "first-only")
STRENGTHS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
#: What is measured at every strength, and of which the change has an interval.
MEASURED = chosen_measures(("placement_range", "flip_rate", "positional_skew", "pooled_sd", "accuracy"))
RANGE = MEASURES["placement_range"]
_COLUMNS = ("one", *dict.fromkeys(c for m in MEASURED for c in m.columns))


@dataclass(frozen=True, slots=True)
class ShapePoint:
    """One operation after a preference of one shape and strength was added.

    Parameters
    ----------
    operation, shape, strength
        Which.
    measures
        Placement range, flip rate, skew, pooled SD and accuracy; ``None`` where undefined.
    changes
        The same minus the operation's own value without any addition.
    interval
        Of the change in placement range, paired; ``None`` at strength 0 and where nothing was resampled.
    """

    operation: str
    shape: str
    strength: float
    measures: Mapping[str, float | None]
    changes: Mapping[str, float | None]
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Shapes:
    """The experiment: a point for every operation, shape and strength."""

    strengths: tuple[float, ...]
    n_items: int
    points: tuple[ShapePoint, ...]
    notices: tuple[str, ...] = ()

    def curve(self, operation: str, shape: str) -> tuple[ShapePoint, ...]:
        """Return the points of one operation and shape, by strength."""
        return tuple(p for p in self.points if (p.operation, p.shape) == (operation, shape))

    @property
    def operations(self) -> tuple[str, ...]:
        """Names of the operations, in order."""
        return tuple(dict.fromkeys(p.operation for p in self.points))

    @property
    def shapes(self) -> tuple[str, ...]:
        """Names of the shapes, in order."""
        return tuple(dict.fromkeys(p.shape for p in self.points))

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def added_shapes(
    operations: Sequence[Operation],
    parts: Split,
    strengths: Sequence[float] = STRENGTHS,
    *,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> Shapes:
    """Add preferences to a cell and apply every operation again.

    Parameters
    ----------
    operations
        Operations that these answers allow.
    parts
        Calibration items and the others.
    strengths
        In logits; 0 is always among them.
    resamples, seed, level
        Of the intervals of the change in placement range; items are resampled one by one.

    Raises
    ------
    ArgumentError
        If there are no log-probabilities, or a strength is no finite number.
    """
    check_draws(resamples, seed)
    check_level(level)
    require_logprobs(parts.evaluation, "an added preference")
    if not all(math.isfinite(s) for s in strengths):
        raise ArgumentError(f"`strengths` must be finite numbers. Got {list(strengths)}.")
    levels = tuple(sorted({0.0, *map(float, strengths)}))
    shapes, notices = _possible(parts.evaluation.n_options)
    settings = [(shape, s) for shape in shapes for s in levels if s]
    points: list[ShapePoint] = []
    sizes = []
    for operation in operations:
        versions = _versions(operation, parts, settings)
        sizes.append(len(versions[0][0].row_of))
        points += _points(operation.name, versions, settings, levels, resamples, seed, level)
    return Shapes(levels, min(sizes), tuple(points), notices)


def _possible(n_options: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the shapes that this many options have, and what is said of the others."""
    shapes, notices = [], []
    for shape in SHAPES:
        try:
            preference(shape, n_options)
        except ArgumentError as error:
            notices.append(f"{shape} is left out: {error}")
        else:
            shapes.append(shape)
    return tuple(shapes), tuple(notices)


def _versions(
    operation: Operation, parts: Split, settings: Sequence[tuple[str, float]]
) -> list[tuple[ItemColumns, ...]]:
    """Return the columns without an addition, then under each setting; the items are usable under all of these."""
    outputs = [_applied(operation, parts)]
    for shape, strength in settings:
        added = AddPreference(shape, strength).fit(parts.calibration)
        moved = replace(parts, calibration=added.apply(parts.calibration), evaluation=added.apply(parts.evaluation))
        outputs.append(_applied(operation, moved))
    usable: NDArray[np.bool_] = np.logical_and.reduce([o.usable for version in outputs for o in version])
    return [tuple(build_columns(take_items(o, usable)).select(_COLUMNS) for o in version) for version in outputs]


def _applied(operation: Operation, parts: Split) -> tuple[Predictions, ...]:
    fitted = operation.fit(parts.calibration)
    return tuple(replace(v.apply(parts.evaluation), logprobs=None, mass=None) for v in fitted.variants)


def _points(
    name: str,
    versions: list[tuple[ItemColumns, ...]],
    settings: Sequence[tuple[str, float]],
    levels: tuple[float, ...],
    resamples: int,
    seed: int,
    level: float,
) -> list[ShapePoint]:
    measures = [_mean_over_variants(version) for version in versions]
    intervals = _range_intervals(versions, resamples, seed, level)
    plain = measures[0]
    found = dict(zip(settings, zip(measures[1:], intervals, strict=True), strict=True))
    points = []
    for shape in dict.fromkeys(shape for shape, _ in settings):
        for strength in levels:
            values, interval = found.get((shape, strength), (plain, None))
            changes = {k: _minus(v, plain[k]) for k, v in values.items()}
            points.append(ShapePoint(name, shape, strength, values, changes, interval))
    return points


def _mean_over_variants(version: tuple[ItemColumns, ...]) -> dict[str, float | None]:
    found = [evaluate(columns.sums, MEASURED) for columns in version]
    means = {m.name: float(np.mean([f.get(m.name, np.nan) for f in found])) for m in MEASURED}
    return {name: None if math.isnan(value) else value for name, value in means.items()}


def _range_intervals(
    versions: list[tuple[ItemColumns, ...]], resamples: int, seed: int, level: float
) -> list[Interval | None]:
    """Return the interval of each version's change in placement range from the first version."""
    if RANGE.missing(versions[0][0].layout) is not None or resamples == 0:
        return [None] * (len(versions) - 1)
    columns = [c.select(("one", "a")) for version in versions for c in version]
    draws = joint_draws(join(columns), (RANGE,), resamples, np.random.default_rng(seed))
    if not draws[0]:
        return [None] * (len(versions) - 1)
    n_variants = len(versions[0])
    ranges = np.stack([d[RANGE.name] for d in draws]).reshape(len(versions), n_variants, -1).mean(axis=1)
    return [percentile_interval(after - ranges[0], level) for after in ranges[1:]]


def _minus(value: float | None, base: float | None) -> float | None:
    return None if value is None or base is None else value - base
