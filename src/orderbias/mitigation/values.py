"""What ``mitigate`` returns: values that print as JSON and as frames, and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orderbias.errors import ArgumentError, MissingExtra
from orderbias.inference.intervals import Interval
from orderbias.mitigation.changes import Changed
from orderbias.operations import Prior
from orderbias.signature import Signature

if TYPE_CHECKING:
    import pandas as pd

    from orderbias.mitigation.shapes import Shapes
    from orderbias.mitigation.transitions import Transitions

Value = float | tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """One operation on the common held-out items.

    Parameters
    ----------
    name
        The operation; ``none`` for the answers as they were asked.
    measures
        Each measure by name; a float, a tuple of floats, or ``None`` where undefined. Means over variants.
    intervals
        ``(low, high)`` of each scalar measure, or ``None``.
    changes
        The changes from ``none``: see ``orderbias.mitigation.CHANGES``.
    calls_per_item
        Queries behind one answer, calibration not counted.
    n_calibration
        Calibration items behind its numbers; 0 where it estimates nothing.
    n_variants
        How many fitted variants are averaged; 1 but for the letter-permuted control.
    n_left_out
        Held-out items usable as asked and not under this operation.
    priors
        The priors divided out, in order.
    undefined
        Why a measure is ``None``.
    signature
        What the numbers depend on.
    """

    name: str
    measures: Mapping[str, Value]
    intervals: Mapping[str, Interval | None]
    changes: Changed
    calls_per_item: float
    n_calibration: int
    n_variants: int = 1
    n_left_out: int = 0
    priors: tuple[Prior, ...] = ()
    undefined: Mapping[str, str] = field(default_factory=dict)
    signature: Signature = field(default_factory=Signature)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "name": self.name,
            "measures": {k: list(v) if isinstance(v, tuple) else v for k, v in self.measures.items()},
            "changes": dict(self.changes.values),
            "intervals": {"measures": plain(self.intervals), "changes": plain(self.changes.intervals)},
            "undefined": {"measures": dict(self.undefined), "changes": dict(self.changes.undefined)},
            "calls_per_item": self.calls_per_item,
            "n_calibration": self.n_calibration,
            "n_variants": self.n_variants,
            "n_left_out": self.n_left_out,
            "priors": [list(prior.values) for prior in self.priors] if self.n_variants == 1 else [],
            "signature": str(self.signature),
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """One operation minus another on the same items, paired within each bootstrap sample."""

    operation: str
    minus: str
    changes: Changed

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "operation": self.operation,
            "minus": self.minus,
            "changes": dict(self.changes.values),
            "intervals": plain(self.changes.intervals),
            "undefined": dict(self.changes.undefined),
        }


@dataclass(frozen=True, slots=True)
class Mitigation:
    """What each operation does to one cell.

    Parameters
    ----------
    model, benchmark, readout
        Names of the cell.
    n_options
        K.
    n_items
        Held-out items that are usable under every operation: all numbers are over these.
    n_calibration
        Items of the calibration split.
    n_left_out
        Held-out items that are unusable under some operation.
    operations
        ``none`` first.
    differences
        Compositions minus their components, and the reversal product minus each correction.
    pareto
        Names of operations that no other beats in calls, placement range and accuracy together; ``None`` where these
        are not all known.
    sentence
        What the first remedy buys, what it leaves, and at what cost.
    notices
        What a user must see before trusting the numbers.
    transitions, shapes
        Where asked for.
    """

    model: str
    benchmark: str
    readout: str
    n_options: int
    n_items: int
    n_calibration: int
    n_left_out: int
    operations: tuple[Outcome, ...]
    differences: tuple[Difference, ...] = ()
    pareto: tuple[str, ...] | None = None
    sentence: str = ""
    notices: tuple[str, ...] = ()
    transitions: Transitions | None = None
    shapes: Shapes | None = None

    def __getitem__(self, name: str) -> Outcome:
        """Return the outcome of an operation by name."""
        for outcome in self.operations:
            if outcome.name == name:
                return outcome
        raise ArgumentError(f"An operation must be one of {', '.join(o.name for o in self.operations)}. Got {name!r}.")

    def difference(self, operation: str, minus: str) -> Difference:
        """Return the paired difference of two operations.

        Raises
        ------
        ArgumentError
            If these two were not compared with each other.
        """
        for found in self.differences:
            if (found.operation, found.minus) == (operation, minus):
                return found
        known = "; ".join(f"{d.operation} minus {d.minus}" for d in self.differences) or "none"
        raise ArgumentError(f"The differences are: {known}. Got {operation!r} minus {minus!r}.")

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        found: dict[str, Any] = {
            "model": self.model,
            "benchmark": self.benchmark,
            "readout": self.readout,
            "n_options": self.n_options,
            "n_items": self.n_items,
            "n_calibration": self.n_calibration,
            "n_left_out": self.n_left_out,
            "operations": [outcome.as_dict() for outcome in self.operations],
            "differences": [difference.as_dict() for difference in self.differences],
            "pareto": None if self.pareto is None else list(self.pareto),
            "sentence": self.sentence,
            "notices": list(self.notices),
        }
        if self.transitions is not None:
            found["transitions"] = self.transitions.as_dict()
        if self.shapes is not None:
            found["shapes"] = self.shapes.as_dict()
        return found

    def to_frame(self) -> pd.DataFrame:
        """Return a frame, one number a row: ``operation, kind (measure or change), name, value, low, high``."""
        try:
            import pandas as pd
        except ImportError as error:  # pragma: no cover - pandas is a dependency; a broken installation only
            raise MissingExtra("pandas", "dev") from error
        rows = []
        for o in self.operations:
            for kind, values, ends in (
                ("measure", o.measures, o.intervals),
                ("change", o.changes.values, o.changes.intervals),
            ):
                for name, value in values.items():
                    if not isinstance(value, tuple):
                        rows.append((o.name, kind, name, value, *(ends.get(name) or (None, None))))
        frame = pd.DataFrame(rows, columns=["operation", "kind", "name", "value", "low", "high"])
        return frame.astype(dict.fromkeys(("value", "low", "high"), "float64"))


def plain(intervals: Mapping[str, Interval | None]) -> dict[str, list[float] | None]:
    """Return intervals as lists."""
    return {name: None if ends is None else list(ends) for name, ends in intervals.items()}
