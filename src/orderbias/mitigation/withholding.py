"""A comparison of drawn answers without what would count draws as flips; computes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from orderbias.mitigation.changes import CHANGES, Changed
from orderbias.mitigation.values import Mitigation, Outcome
from orderbias.mitigation.wording import closing_sentence
from orderbias.noise import FLIP_MEASURES, WITHHELD

_T = TypeVar("_T")

#: The changes that are of such a measure.
_CHANGES = frozenset(name for name, change in CHANGES.items() if change.measure in FLIP_MEASURES)


def without_flips(m: Mitigation) -> Mitigation:
    """Take out of a comparison what hangs on flips, and say why; which items stop flipping is left out, too.

    Examples
    --------
    >>> import numpy as np
    >>> from orderbias import Predictions
    >>> from orderbias.mitigation import mitigate
    >>> cell = Predictions(np.arange(80).reshape(40, 2) // 3 % 2, [[0, 1], [1, 0]], np.zeros(40))
    >>> found = without_flips(mitigate(cell, "majority-vote", resamples=9))
    >>> found["none"].measures["flip_rate"], found["none"].measures["accuracy"] is None
    (None, False)
    """
    outcomes = tuple(_outcome(o) for o in m.operations)
    return replace(
        m,
        operations=outcomes,
        differences=tuple(replace(d, changes=_changed(d.changes)) for d in m.differences),
        sentence=closing_sentence(outcomes),
        notices=(*m.notices, f"Not shown: flips, and what hangs on them: {WITHHELD}."),
        transitions=None,
    )


def _outcome(o: Outcome) -> Outcome:
    gone = [name for name in o.measures if name in FLIP_MEASURES]
    return replace(
        o, measures=_without(o.measures, gone), intervals=_without(o.intervals, gone), changes=_changed(o.changes),
        undefined={**o.undefined, **dict.fromkeys(gone, WITHHELD)},
    )  # fmt: skip


def _changed(c: Changed) -> Changed:
    gone = [name for name in c.values if name in _CHANGES]
    return Changed(
        _without(c.values, gone), _without(c.intervals, gone), {**c.undefined, **dict.fromkeys(gone, WITHHELD)}
    )


def _without(values: Mapping[str, _T], gone: list[str]) -> dict[str, _T | None]:
    return {name: None if name in gone else value for name, value in values.items()}
