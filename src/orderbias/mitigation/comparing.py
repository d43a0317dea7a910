"""``mitigate``: one cell in, what every operation does to it out. Joins operations, measures and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.cells import clusters_of
from orderbias.inference.intervals import SAME, Interval, Sample, intervals
from orderbias.inference.proportions import check_draws, check_level
from orderbias.inference.provenance import analysis_signature, array_hash
from orderbias.inference.resampling import percentile_interval
from orderbias.measures.columns import ItemColumns, build_columns
from orderbias.measures.sums import Floats
from orderbias.measures.table import Measure, chosen_measures, evaluate
from orderbias.mitigation.applying import (
    Applied,
    Compared,
    Operations,
    apply_all,
    chosen,
    components,
    on_common_items,
)
from orderbias.mitigation.changes import CHANGES, LEVELS, LISTS, Changed, Resampling, Side, changed
from orderbias.mitigation.joint import join, joint_draws
from orderbias.mitigation.shapes import STRENGTHS, added_shapes
from orderbias.mitigation.transitions import find_transitions
from orderbias.mitigation.values import Difference, Mitigation, Outcome, Value
from orderbias.mitigation.wording import closing_sentence, pareto_set
from orderbias.operations import PriorCorrection, ReversalProduct, Split, split
from orderbias.predictions import Predictions
from orderbias.signature import Signature

SCALARS = chosen_measures(LEVELS)
TABLE = (*SCALARS, *chosen_measures(LISTS))
#: The columns that these measures read.
COLUMNS = ("one", *dict.fromkeys(c for m in TABLE for c in m.columns))


@dataclass(frozen=True, slots=True)
class Settings:
    """How a comparison is resampled and split."""

    resamples: int = 10_000
    seed: int = 0
    level: float = 0.95
    calibration_share: float = 0.05
    cluster: ArrayLike | str | None = None


def mitigate(
    predictions: Predictions,
    operations: Operations | None = None,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    calibration_share: float = 0.05,
    cluster: ArrayLike | str | None = None,
    leave_out: bool | None = None,
    transitions: bool = False,
    shapes: bool = False,
    strengths: Sequence[float] = STRENGTHS,
) -> Mitigation:
    """Compare operations on the same held-out items: both factors, both harms, accuracy and cost.

    A share of the items calibrates; every operation is then scored on those of the others that are usable under all
    of them. One bootstrap draw of items serves every operation, so differences are paired.

    Parameters
    ----------
    predictions
        One model on one benchmark under one readout, with every query (reversals, too).
    operations
        Names as on the command line (``"pride,pride>reversal-product"``), or values; the default set
        where there is none. ``none`` and the components of compositions are added.
    resamples
        Bootstrap samples; 0 leaves all but exact intervals out.
    seed
        Seed of the calibration split and of the bootstrap.
    level
        Confidence level of the intervals.
    calibration_share
        Share of the usable items that calibrates, at least one; above 0 and below 1.
    cluster
        ``"group"``, or one label an item: clusters are then resampled whole.
    leave_out
        Leave out, with a notice, an operation that these answers do not allow, instead of raising; by default so for
        the default set only.
    transitions
        Also describe which items stop and start flipping, and what newly stable-wrong items settle on.
    shapes
        Also add letter preferences of known shape to every query and see what each operation does with them.
    strengths
        The strengths of these, in logits.

    Raises
    ------
    ArgumentError
        If an argument breaks its rule, or an operation that was asked for cannot be applied to these answers.
    DataError
        If no held-out item is usable under every operation.

    Examples
    --------
    >>> from orderbias.orderings import cyclic
    >>> design = cyclic(4).positions
    >>> first = np.tile(design.argmin(axis=1), (40, 1))
    >>> m = mitigate(Predictions(choice=first, positions=design, gold=np.arange(40) % 4), "majority-vote", resamples=99)
    >>> m["majority-vote"].measures["flip_rate"], m["majority-vote"].changes.values["log_flip_rate"]
    (0.0, None)
    """
    settings = Settings(resamples, seed, level, calibration_share, cluster)
    _check(settings)
    wanted = chosen(operations)
    parts = split(predictions, calibration_share, seed)
    applied, notices = apply_all(
        wanted, parts.calibration, parts.evaluation, reduce=operations is None if leave_out is None else leave_out
    )
    compared = on_common_items(applied, parts.evaluation)
    found = compare(predictions, parts, compared, settings)
    return replace(
        found,
        notices=(*notices, *found.notices),
        transitions=find_transitions(compared, parts.calibration, level, cluster is not None) if transitions else None,
        shapes=added_shapes([a.operation for a in compared.applied], parts, strengths) if shapes else None,
    )


def compare(predictions: Predictions, parts: Split, compared: Compared, settings: Settings) -> Mitigation:
    """Measure every operation of a comparison and take its differences."""
    labels = _labels(predictions, parts, compared, settings.cluster)
    cluster_of = clusters_of(compared.evaluated, labels)
    columns = [[build_columns(o).select(COLUMNS) for o in a.outputs] for a in compared.applied]
    joint = join([c for variants in columns for c in variants], cluster_of)
    draws = iter(joint_draws(joint, SCALARS, settings.resamples, np.random.default_rng(settings.seed)))
    resampling = Resampling(settings.level, int(joint.counts.sum()), cluster_of is not None)
    sides = {
        a.name: Side(
            _stacked([evaluate(c.sums, TABLE) for c in variants]), _stacked([next(draws) for _ in variants])
        )
        for a, variants in zip(compared.applied, columns, strict=True)
    }  # fmt: skip
    baseline = compared.applied[0].name
    changes = tuple(CHANGES.values())
    outcomes = tuple(
        _outcome(
            a, variants, sides[a.name], cluster_of, settings,
            changed(sides[a.name], sides[baseline], resampling, changes), _signature(a, labels, settings, parts),
        )
        for a, variants in zip(compared.applied, columns, strict=True)
    )  # fmt: skip
    differences = tuple(
        Difference(one, other, changed(sides[one], sides[other], resampling, changes))
        for one, other in _pairs(compared.applied)
    )
    return Mitigation(
        model=predictions.model,
        benchmark=predictions.benchmark,
        readout=predictions.readout,
        n_options=predictions.n_options,
        n_items=compared.evaluated.n_items,
        n_calibration=parts.calibration.n_items,
        n_left_out=compared.n_left_out,
        operations=outcomes,
        differences=differences,
        pareto=pareto_set(outcomes),
        sentence=closing_sentence(outcomes),
        notices=compared.notices,
    )


def _check(settings: Settings) -> None:
    check_draws(settings.resamples, settings.seed)
    check_level(settings.level)
    if not 0 < settings.calibration_share < 1:
        raise ArgumentError(f"`calibration_share` must be above 0 and below 1. Got {settings.calibration_share}.")


def _labels(
    predictions: Predictions, parts: Split, compared: Compared, cluster: ArrayLike | str | None
) -> ArrayLike | str | None:
    """Return the cluster labels of the compared items; a name stays as it is."""
    if cluster is None or isinstance(cluster, str):
        return cluster
    labels: NDArray[np.object_] = np.asarray(cluster, object)
    if labels.shape != (predictions.n_items,):
        raise ArgumentError(f"`cluster` must hold {predictions.n_items} labels, one an item. Got {labels.shape}.")
    return np.asarray(labels[~parts.chosen][compared.rows])


def _stacked(variants: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """Put the same measure of several variants one above the other."""
    return {name: np.stack([v[name] for v in variants]) for name in variants[0] if all(name in v for v in variants)}


def _outcome(
    applied: Applied,
    variants: Sequence[ItemColumns],
    side: Side,
    cluster_of: NDArray[np.int64] | None,
    settings: Settings,
    changes: Changed,
    signature: Signature,
) -> Outcome:
    layout = variants[0].layout
    return Outcome(
        name=applied.name,
        measures={m.name: _plain(side.points[m.name].mean(axis=0)) if m.name in side.points else None for m in TABLE},
        intervals=_level_intervals(variants, side, cluster_of, settings.level),
        changes=changes,
        calls_per_item=applied.calls_per_item,
        n_calibration=applied.fitted.n_calibration,
        n_variants=len(variants),
        n_left_out=applied.n_left_out,
        priors=applied.fitted.priors,
        undefined={m.name: why for m in TABLE if (why := m.missing(layout)) is not None},
        signature=signature,
    )


def _level_intervals(
    variants: Sequence[ItemColumns], side: Side, cluster_of: NDArray[np.int64] | None, level: float
) -> dict[str, Interval | None]:
    """Return the intervals ``measure`` gives; of an average over variants, percentiles of the averaged draws."""
    if len(variants) == 1:
        units = variants[0] if cluster_of is None else variants[0].clustered(cluster_of)
        draws = {name: values[0] for name, values in side.draws.items()}
        return intervals(Sample(units, draws, level, cluster_of is not None), SCALARS)
    return {m.name: _percentiles(m, side, level) for m in SCALARS}


def _percentiles(measure: Measure, side: Side, level: float) -> Interval | None:
    draws = side.draws.get(measure.name)
    found = None if draws is None else percentile_interval(draws.mean(axis=0), level)
    return None if found is None or found[1] - found[0] <= SAME else found


def _plain(value: Floats) -> Value:
    if np.isnan(value).any():
        return None
    return float(value) if value.ndim == 0 else tuple(float(x) for x in value)


def _signature(applied: Applied, labels: ArrayLike | str | None, settings: Settings, parts: Split) -> Signature:
    """Say what an operation's numbers depend on: its answers, its name, the split, the resampling."""
    first, outputs = applied.outputs[0], applied.outputs
    said = analysis_signature(first, settings.resamples, settings.seed, settings.level, labels)
    return said.extended(
        operations=applied.name,
        answers=said.as_dict()["answers"] if len(outputs) == 1 else array_hash(*(o.choice for o in outputs)),
        variants=len(outputs) if len(outputs) > 1 else None,
        calibration=f"share {settings.calibration_share:g} of {array_hash(parts.chosen)}",
    )


def _pairs(applied: Sequence[Applied]) -> list[tuple[str, str]]:
    """Compositions and their components, and the reversal product and each correction."""
    names = {a.name for a in applied}
    pairs = [(a.name, part.name) for a in applied for part in components(a.operation) if part.name in names]
    corrections = [a.name for a in applied if isinstance(a.operation, PriorCorrection)]
    products = [a.name for a in applied if isinstance(a.operation, ReversalProduct)]
    return list(dict.fromkeys([*((p, c) for p in products for c in corrections), *pairs]))
