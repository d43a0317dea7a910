"""Operations fitted on calibration items and applied to the others; must not know a measure.

Every operation is compared on the same items: held out from calibration, and usable under all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError, DataError
from orderbias.operations import (
    DEFAULT_OPERATIONS,
    Chain,
    Fitted,
    NoOperation,
    Operation,
    parse_operation,
    parse_operations,
    take_items,
)
from orderbias.predictions import Predictions

Operations = str | Iterable[Operation | str]

_NO_LOGPROBS = "They need label log-probabilities (the column `logprobs` of records); these are answers alone."


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """One operation's output.

    Parameters
    ----------
    operation
        The operation.
    fitted
        What it learned.
    outputs
        The reworked answers without log-probabilities, one value a variant.
    calls_per_item
        Queries behind one answer.
    n_left_out
        Held-out items usable as they were asked, and not under this operation.
    """

    operation: Operation
    fitted: Fitted
    outputs: tuple[Predictions, ...]
    calls_per_item: float
    n_left_out: int = 0

    @property
    def name(self) -> str:
        """The operation's name."""
        return self.operation.name


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Operations on their common items.

    Parameters
    ----------
    applied
        ``none`` first, then the others in their order; every output holds the same items, all of them usable.
    evaluated
        The answers as they were asked, of the same items, with every query.
    rows
        Which of the evaluation items these are, ``(n_items,)``.
    n_left_out
        Evaluation items that are unusable under some operation.
    notices
        What a user must see before trusting the comparison.
    """

    applied: tuple[Applied, ...]
    evaluated: Predictions
    rows: NDArray[np.intp]
    n_left_out: int
    notices: tuple[str, ...]


def chosen(operations: Operations | None) -> tuple[Operation, ...]:
    """Return operations as values: ``none`` first, every component of a composition among them.

    Examples
    --------
    >>> [operation.name for operation in chosen("pride>majority-vote")]
    ['none', 'pride', 'majority-vote', 'pride>majority-vote']
    """
    if operations is None:
        operations = DEFAULT_OPERATIONS
    if isinstance(operations, str):
        asked: Sequence[Operation] = parse_operations(operations)
    else:
        asked = [parse_operation(o) if isinstance(o, str) else o for o in operations]
    named: dict[str, Operation] = {NoOperation().name: NoOperation()}
    for operation in asked:
        for part in (*components(operation), operation):
            named.setdefault(part.name, part)
    if len(named) == 1:
        raise ArgumentError("`operations` must name at least one remedy beside none. Got none alone.")
    return tuple(named.values())


def components(operation: Operation) -> tuple[Operation, ...]:
    """Return the steps of a composition; nothing for a single operation."""
    return operation.steps if isinstance(operation, Chain) else ()


def apply_all(
    operations: Sequence[Operation], calibration: Predictions, evaluation: Predictions, *, reduce: bool
) -> tuple[tuple[Applied, ...], tuple[str, ...]]:
    """Fit and apply each operation; return the outputs and what must be said of them.

    Parameters
    ----------
    operations
        What to apply.
    calibration, evaluation
        The two parts of the items.
    reduce
        Leave out, with a notice, an operation that these answers do not allow; else that is an error.

    Raises
    ------
    ArgumentError
        If an operation is not allowed, or none is left.
    """
    applied: list[Applied] = []
    refused: dict[str, list[str]] = {}
    notices: list[str] = []
    for operation in operations:
        try:
            applied.append(apply_one(operation, calibration, evaluation))
        except ArgumentError as error:
            if not reduce:
                raise
            without = operation.needs.logprobs and evaluation.logprobs is None
            refused.setdefault(_NO_LOGPROBS if without else str(error), []).append(operation.name)
        else:
            notices += applied[-1].fitted.notices(evaluation)
    left_out = [f"Left out: {', '.join(names)}. {reason}" for reason, names in refused.items()]
    if len(applied) < 2:
        raise ArgumentError("No operation can be applied to these answers.\n" + "\n".join(left_out))
    return tuple(applied), tuple(dict.fromkeys([*left_out, *notices]))


def apply_one(operation: Operation, calibration: Predictions, evaluation: Predictions) -> Applied:
    """Fit one operation and apply it; log-probabilities of its output are dropped."""
    fitted = operation.fit(calibration)
    outputs = tuple(replace(variant.apply(evaluation), logprobs=None) for variant in fitted.variants)
    return Applied(operation, fitted, outputs, operation.calls_per_item(evaluation))


def on_common_items(applied: Sequence[Applied], evaluation: Predictions) -> Compared:
    """Keep the items that are usable under every operation.

    Raises
    ------
    DataError
        If there is none.
    """
    usable = {a.name: np.logical_and.reduce([output.usable for output in a.outputs]) for a in applied}
    common = np.logical_and.reduce(list(usable.values()))
    as_asked = evaluation.usable
    lost = {name: int((as_asked & ~mask).sum()) for name, mask in usable.items()}
    if not common.any():
        raise DataError(
            f"At least one held-out item must be usable under every operation. Got none of {len(common)}. "
            f"Unusable: {', '.join(f'{name} {int((~mask).sum())}' for name, mask in usable.items())}."
        )
    rows = np.flatnonzero(common)
    kept = tuple(
        replace(a, outputs=tuple(take_items(o, rows) for o in a.outputs), n_left_out=lost[a.name]) for a in applied
    )
    return Compared(kept, take_items(evaluation, rows), rows, int((~common).sum()), _lost_notices(lost))


def _lost_notices(lost: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(
        f"{name} leaves {n:,} held-out items without an answer. Every operation is compared without them, so the items "
        f"left may not be like the others; compare without {name} for the rest."
        for name, n in lost.items()
        if n
    )
