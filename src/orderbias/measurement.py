"""``measure``: one cell in, its measures with intervals, tests and signature out. Joins measures and inference.

Knows no formula of its own, and nothing of files or models.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.errors import ArgumentError, MissingExtra
from orderbias.inference.cells import CellTests, cell_tests, clusters_of
from orderbias.inference.draws import bootstrap_draws
from orderbias.inference.intervals import Interval, Sample, intervals
from orderbias.inference.proportions import check_draws, check_level
from orderbias.inference.provenance import analysis_signature
from orderbias.inference.uniformity import holm
from orderbias.measures.columns import ItemColumns, build_columns
from orderbias.measures.table import FAMILIES, MEASURES, Measure, chosen_measures, evaluate
from orderbias.predictions import Predictions
from orderbias.signature import Signature

if TYPE_CHECKING:
    import pandas as pd

Value = float | tuple[float, ...] | None
Row = tuple[str, float | None, float | None, float | None, float | None]

_COUNTS = ("n_items", "n_options", "n_orderings", "n_unusable", "n_ties")
_NAMES = (*_COUNTS, *MEASURES, "accuracy_by_ordering")


@dataclass(frozen=True, slots=True)
class Measurement:
    """What ``measure`` found in one cell.

    Every measure is an attribute (``m.flip_rate``) and a key (``m["flip_rate"]``): a float, a tuple of floats, or
    ``None`` where it is undefined.

    Parameters
    ----------
    model, benchmark, readout
        Names of the cell.
    values
        Each measure by name, counts first.
    intervals
        ``(low, high)`` of each scalar measure, or ``None``.
    tests
        ``rotation``: p-value of the skew when each flipping item's answers are turned uniformly over the places, and
        ``expected``, the mean of each spread measure then. ``uniformity``: a conservative p-value of equal place
        shares (two-factors, C.2). ``None`` where a test does not apply.
    undefined
        Why a measure could not be had from this design or these data.
    signature
        What the numbers depend on.
    """

    model: str
    benchmark: str
    readout: str
    values: Mapping[str, Value]
    intervals: Mapping[str, Interval | None]
    tests: Mapping[str, Mapping[str, Any] | None]
    undefined: Mapping[str, str]
    signature: Signature = field(default_factory=Signature)

    def __getitem__(self, name: str) -> Value:
        if name not in self.values:
            raise ArgumentError(f"A measure must be one of {', '.join(self.values)}. Got {name!r}.")
        return self.values[name]

    def __getattr__(self, name: str) -> Any:
        # Only names that are no field come here; while unpickling, `values` itself may not be there yet.
        if name in _NAMES and name in self.values:
            return self.values[name]
        known = ", ".join(_NAMES)
        raise AttributeError(f"A measurement has no {name!r} (or it was not asked for). Its measures are: {known}.")

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self.values})

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, lists and ``None``, ready for JSON, under the keys of the measures."""
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in self.values.items()}
        tests = {k: None if v is None else {**v} for k, v in self.tests.items()}
        return {
            "model": self.model,
            "benchmark": self.benchmark,
            "readout": self.readout,
            **plain,
            "intervals": {k: None if v is None else list(v) for k, v in self.intervals.items()},
            "tests": tests,
            "undefined": dict(self.undefined),
            "signature": str(self.signature),
        }

    @property
    def expected(self) -> Mapping[str, float]:
        """The mean of each spread measure when nothing leans; empty where the rotation test does not apply."""
        rotation = self.tests.get("rotation")
        return {} if rotation is None else dict(rotation["expected"])

    def rows(self) -> list[Row]:
        """Return ``(measure, value, low, high, expected without lean)``; a list gives one row an entry: ``name[0]``."""
        out: list[Row] = []
        for name, value in self.values.items():
            if isinstance(value, tuple):
                out += [(f"{name}[{i}]", entry, None, None, None) for i, entry in enumerate(value)]
                continue
            low, high = self.intervals.get(name) or (None, None)
            out.append((name, value, low, high, self.expected.get(name)))
        return out

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with columns ``measure, value, low, high, expected``, one measure (or list entry) a row."""
        try:
            import pandas as pd
        except ImportError as error:  # pragma: no cover - pandas is a dependency; a broken installation only
            raise MissingExtra("pandas", "dev") from error
        frame = pd.DataFrame(self.rows(), columns=["measure", "value", "low", "high", "expected"])
        numbers = ["value", "low", "high", "expected"]
        return frame.astype(dict.fromkeys(numbers, "float64"))

    def _repr_html_(self) -> str:
        title = html.escape(" · ".join(part for part in (self.model, self.benchmark, self.readout) if part))
        cells = (f"<tr><td>{html.escape(n)}</td>{''.join(f'<td>{_shown(x)}</td>' for x in r)}</tr>" for n, *r in
                 self.rows())  # fmt: skip
        head = "".join(f"<th>{h}</th>" for h in ("measure", "value", "low", "high", "expected without lean"))
        return (
            f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(cells)}</tbody></table>"
            f"<p><code>{html.escape(str(self.signature))}</code></p>"
        )


def _shown(number: float | None) -> str:
    if number is None:
        return "–"
    return str(number) if isinstance(number, int) else f"{number:.4f}"


def measure(
    predictions: Predictions,
    *,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
    cluster: ArrayLike | str | None = None,
    measures: Iterable[str] | None = None,
) -> Measurement:
    """Measure one cell: the two factors, what belongs beside them, and how sure each number is.

    Shares of items get exact Clopper-Pearson intervals, the other measures percentile intervals of a bootstrap over
    items, drawn over counts of equal items so that its cost does not grow with their number. Only usable items and
    presented orderings count; nothing is imputed.

    Parameters
    ----------
    predictions
        One model on one benchmark under one readout.
    resamples
        Bootstrap samples, and draws of the rotation test. 0 leaves both out.
    seed
        Seed of every random number.
    level
        Confidence level of the intervals, between 0 and 1.
    cluster
        ``"group"``, or one label an item: clusters are then resampled whole, for every measure.
    measures
        Names of the measures wanted; all by default.

    Returns
    -------
    Measurement

    Raises
    ------
    ArgumentError
        If an argument breaks its rule.
    DataError
        If no item is usable.

    Examples
    --------
    A model that always answers the first place:

    >>> from orderbias.orderings import cyclic
    >>> design = cyclic(4).positions
    >>> first = np.tile(design.argmin(axis=1), (12, 1))
    >>> m = measure(Predictions(choice=first, positions=design, gold=np.arange(12) % 4), resamples=100)
    >>> m.flip_rate, m.accuracy, m.flip_share
    (1.0, 0.25, (1.0, 0.0, 0.0, 0.0))
    >>> [round(end, 3) for end in m.intervals["flip_rate"]]
    [0.735, 1.0]
    """
    check_draws(resamples, seed)
    check_level(level)
    chosen = chosen_measures(measures)
    cluster_of = clusters_of(predictions, cluster)
    columns = build_columns(predictions)
    units = columns if cluster_of is None else columns.clustered(cluster_of)
    *draw_rngs, turn_rng = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(len(FAMILIES) + 1))
    clustered = cluster_of is not None
    drawn = [m for m in chosen if m.kind != "list" and (clustered or m.kind != "share")]
    draws = bootstrap_draws(units, drawn, resamples, dict(zip(FAMILIES, draw_rngs, strict=True)))
    sample = Sample(units, draws, level, clustered)
    tests = cell_tests(units, resamples, turn_rng)
    values = _values(predictions, columns, chosen, everything=measures is None)
    found = intervals(sample, chosen)
    return Measurement(
        model=predictions.model,
        benchmark=predictions.benchmark,
        readout=predictions.readout,
        values=values,
        # Resamples may have a value where the sample has none; an interval around nothing would mislead.
        intervals={name: ends if values[name] is not None else None for name, ends in found.items()},
        tests=_plain_tests(tests),
        undefined={m.name: m.why_undefined(columns.layout) for m in chosen if values[m.name] is None},
        signature=analysis_signature(predictions, resamples, seed, level, cluster),
    )


def measure_cells(cells: Iterable[Predictions], **options: Any) -> tuple[Measurement, ...]:
    """Measure several cells; the uniformity test of each then also has ``p_holm``, adjusted over all of them.

    Parameters
    ----------
    cells
        Predictions.
    **options
        As for :func:`measure`.
    """
    found = [measure(cell, **options) for cell in cells]
    tested = [i for i, m in enumerate(found) if m.tests.get("uniformity") is not None]
    adjusted = holm([found[i].tests["uniformity"]["p_value"] for i in tested])  # type: ignore[index]
    for i, p_value in zip(tested, adjusted, strict=True):
        uniformity = {**(found[i].tests["uniformity"] or {}), "p_holm": float(p_value)}
        found[i] = replace(found[i], tests={**found[i].tests, "uniformity": uniformity})
    return tuple(found)


def _values(
    predictions: Predictions, columns: ItemColumns, measures: tuple[Measure, ...], *, everything: bool
) -> dict[str, Value]:
    usable = predictions.usable
    n_items = int(usable.sum())
    ties = predictions.ties[usable] & predictions.scored[usable]
    values: dict[str, Value] = {
        "n_items": n_items,
        "n_options": predictions.n_options,
        "n_orderings": columns.layout.n_orderings,
        "n_unusable": predictions.n_items - n_items,
        "n_ties": int(ties.sum()),
    }
    found = evaluate(columns.sums, measures)
    values |= {m.name: _plain(found[m.name]) if m.name in found else None for m in measures}
    if everything:
        values["accuracy_by_ordering"] = _accuracy_by_ordering(predictions, usable)
    return values


def _plain(value: NDArray[np.float64]) -> Value:
    """Turn NaN into ``None``; a list with a NaN is undefined as a whole."""
    if np.isnan(value).any():
        return None
    return float(value) if value.ndim == 0 else tuple(float(x) for x in value)


def _accuracy_by_ordering(predictions: Predictions, usable: NDArray[np.bool_]) -> tuple[float, ...] | None:
    """Accuracy under each presented ordering; ``None`` for designs per item, or where a gold is unknown."""
    gold = predictions.gold[usable]
    if predictions.per_item or (gold < 0).any():
        return None
    slots = np.flatnonzero(predictions.presented)
    return tuple(float((predictions.choice[usable, slot] == gold).mean()) for slot in slots)


def _plain_tests(tests: CellTests) -> dict[str, Mapping[str, Any] | None]:
    rotation, uniformity = tests.rotation, tests.uniformity
    return {
        "rotation": None if rotation is None else {"p_value": rotation.p_value, "expected": dict(rotation.expected)},
        "uniformity": None if uniformity is None else {"p_value": uniformity},
    }
