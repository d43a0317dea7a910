"""The interval of each kind of measure: exact for shares of items, percentile bootstrap for the rest.

A bootstrap whose draws never vary says that the sample is uniform, not that the population is. Such intervals are
replaced by what the exact binomial bound allows: see :mod:`orderbias.inference.proportions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from orderbias.inference.proportions import (
    alike_divergence,
    alike_mean,
    alike_seminorm,
    clopper_pearson,
    unseen_share,
)
from orderbias.inference.resampling import percentile_interval
from orderbias.measures.columns import ItemColumns
from orderbias.measures.gold import cap
from orderbias.measures.sums import Floats, Sums
from orderbias.measures.table import MEASURES, Measure

Interval = tuple[float, float]

#: Draws closer than this are the same number, rounded differently.
SAME = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """What intervals are read from.

    Parameters
    ----------
    columns
        Distinct rows of independent units.
    draws
        Bootstrap draws of each measure; empty when there was no resampling.
    level
        Confidence level.
    clustered
        Whether units are clusters of items; binomial bounds do not hold then.
    """

    columns: ItemColumns
    draws: Mapping[str, Floats]
    level: float
    clustered: bool

    @property
    def rows(self) -> Sums:
        """The rows read as sums of one item each."""
        return Sums(self.columns.rows, self.columns.layout)


def intervals(sample: Sample, measures: Iterable[Measure]) -> dict[str, Interval | None]:
    """Return ``(low, high)`` of each scalar measure, ``None`` where no honest one can be given."""
    return {m.name: interval(sample, m) for m in measures if m.kind != "list"}


def interval(sample: Sample, measure: Measure) -> Interval | None:
    """Return the interval of one measure; see ``Kind`` for which kind gets which."""
    layout = sample.columns.layout
    if measure.missing(layout) is not None or (sample.clustered and sample.columns.n_units < 2):
        return None
    if not sample.clustered and _is_share(measure, layout.n_orderings):
        return _exact_share(sample, measure)
    if measure.kind == "cap":
        return _cap(sample)
    if measure.kind == "bound":
        return _deviation_bound(sample)
    if layout.balanced and measure.name == "design_deviation_sd":
        return 0.0, 0.0  # a property of the design, not of the sample
    draws = sample.draws.get(measure.name)
    found = None if draws is None else percentile_interval(draws, sample.level)
    if found is None or found[1] - found[0] > SAME:
        return found
    return None if sample.clustered else _alike(sample, measure)


def _is_share(measure: Measure, n_orderings: int) -> bool:
    return measure.kind == "share" or (measure.name == "accuracy" and n_orderings == 1)


def _exact_share(sample: Sample, measure: Measure) -> Interval:
    successes = sample.columns.sums[measure.columns[0]].round()
    low, high = clopper_pearson(successes, sample.columns.n_units, sample.level)
    return float(low), float(high)


def _cap(sample: Sample) -> Interval | None:
    """A falling function of accuracy, so the interval of accuracy carries over."""
    accuracies = interval(sample, MEASURES["accuracy"])
    if accuracies is None:
        return None
    low, high = cap(np.array(accuracies[::-1]), sample.columns.layout.n_orderings)
    return float(low), float(high)


def _deviation_bound(sample: Sample) -> Interval | None:
    """A falling function of the flip rate; the other factor belongs to the design."""
    rates = interval(sample, MEASURES["flip_rate"])
    deviation = sample.columns.layout.max_deviation
    return None if rates is None else ((1 - rates[1]) * deviation, (1 - rates[0]) * deviation)


def _alike(sample: Sample, measure: Measure) -> Interval | None:
    """Bound a measure whose draws are all the same, from the share of unlike items that may have gone unseen."""
    if measure.kind == "scaled":
        return _scaled(sample, measure)
    values = _item_values(sample, measure)
    if values is None or np.ptp(values, axis=0).max() > SAME:
        return None
    n_seen = sample.columns.n_units
    if measure.kind == "skew":
        n_seen = round(float(sample.columns.sums["flip"]))
    peak = measure.peak(sample.columns.layout)
    q = unseen_share(n_seen, sample.level)
    observed = float(measure.compute(sample.columns.sums))
    low, high = _bound(measure.kind, observed, peak, q)
    return min(low, observed), max(high, observed)  # a mean of equal values may differ from them in the last bit


def _bound(kind: str, observed: float, peak: float, q: float) -> Interval:
    if kind == "mean":
        return alike_mean(observed, 0.0, peak, q)
    if kind == "divergence":
        return alike_divergence(observed, peak, q)
    return alike_seminorm(observed, peak, q)


def _item_values(sample: Sample, measure: Measure) -> Floats | None:
    """What each item adds, ``(n_rows, 1 or K)``: its value, or its vector less the vector's mean."""
    if measure.kind == "mean":
        return measure.compute(sample.rows)[:, None]
    if measure.vector is None:
        return None
    vectors = measure.vector(sample.rows)
    if measure.kind == "skew":
        vectors = vectors[sample.rows["flip"] > 0]
    return np.asarray(vectors - vectors.mean(axis=-1, keepdims=True))


def _scaled(sample: Sample, measure: Measure) -> Interval | None:
    """FL / cap: at least FL, since the cap is at most 1; at most FL's upper end over the cap's lower end."""
    rates, caps = interval(sample, MEASURES["flip_rate"]), _cap(sample)
    if rates is None or caps is None:
        return None
    observed = float(measure.compute(sample.columns.sums))
    if observed > 0.5:
        return min(rates[0], observed), 1.0
    return 0.0, 1.0 if caps[0] == 0 else min(1.0, rates[1] / caps[0])
