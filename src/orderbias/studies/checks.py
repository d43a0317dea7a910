"""What a strategy's accuracy hangs on besides the strategy: lots among ties, the fallback of reading, the kind of item.

Functions on arrays; they know no run, no reply and no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.means import Estimate
from orderbias.noise import voted
from orderbias.predictions import Predictions
from orderbias.studies.recalls import first_slot, right_answers, share


@dataclass(frozen=True, slots=True, eq=False)
class Lots:
    """What other lots among tied contents would have chosen.

    Parameters
    ----------
    choices
        Content under each other seed, ``(n_seeds, n_items)``; -1 without an answer.
    tied
        Bool ``(n_items,)``: several contents were equally good.

    Raises
    ------
    ArgumentError
        If shapes disagree or there is no other seed.
    """

    choices: NDArray[np.integer]
    tied: NDArray[np.bool_]

    def __post_init__(self) -> None:
        if self.choices.ndim != 2 or not len(self.choices) or self.tied.shape != self.choices.shape[1:]:
            raise ArgumentError(
                f"`choices` must be (n_seeds, n_items), at least one seed, and `tied` (n_items,). Got "
                f"{self.choices.shape} and {self.tied.shape}."
            )

    def of(self, rows: NDArray[np.bool_]) -> Lots:
        """Return those of some questions."""
        return Lots(self.choices[:, rows], self.tied[rows])


@dataclass(frozen=True, slots=True)
class TieRange:
    """Accuracy of a strategy under the seed that broke its ties and under others; ``n_tied`` questions depend on it."""

    name: str
    n_items: int
    n_tied: int
    accuracy: float
    accuracies: tuple[float, ...]

    @property
    def low(self) -> float:
        """Lowest under the other seeds."""
        return min(self.accuracies)

    @property
    def high(self) -> float:
        """Highest under the other seeds."""
        return max(self.accuracies)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "strategy": self.name, "n_items": self.n_items, "n_tied": self.n_tied, "accuracy": self.accuracy,
            "low": self.low, "high": self.high, "accuracies": list(self.accuracies),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fallback:
    """Accuracy with the answers that hang on a letter which merely stands in a reply, and with those as unparsed."""

    name: str
    n_answers: int
    n_standalone: int
    accuracy: float
    accuracy_without: float

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "strategy": self.name, "n_answers": self.n_answers, "n_standalone": self.n_standalone,
            "accuracy": self.accuracy, "accuracy_without": self.accuracy_without,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stratum:
    """Accuracy of every strategy on the questions of one type, with Clopper-Pearson intervals."""

    item_type: str
    n_items: int
    accuracy: Mapping[str, Estimate]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "item_type": self.item_type,
            "n_items": self.n_items,
            "accuracy": {name: estimate.as_dict() for name, estimate in self.accuracy.items()},
        }


def tie_range(name: str, arm: Predictions, lots: Lots) -> TieRange:
    """Return what other lots among ties would have made of an arm's accuracy.

    Parameters
    ----------
    name
        Of the strategy.
    arm
        The answers as they were given.
    lots
        Of the same questions.

    Raises
    ------
    ArgumentError
        If the lots are of another number of questions.

    Examples
    --------
    >>> arm = Predictions([[0], [1]], [[0, 1]], [0, 0])
    >>> tie_range("vote", arm, Lots(np.array([[0, 0], [0, 1]]), np.array([False, True]))).accuracies
    (1.0, 0.5)
    """
    if lots.tied.shape != (arm.n_items,):
        raise ArgumentError(f"`lots` must be of the {arm.n_items} questions of {name!r}. Got {len(lots.tied)}.")
    counted = arm.counted_as(lots.choices.T)
    shares = (counted == arm.gold[:, None]).mean(axis=0)
    accuracy = float(right_answers(arm).mean())
    return TieRange(name, arm.n_items, int(lots.tied.sum()), accuracy, tuple(shares.tolist()))


def fallback(name: str, arm: Predictions, without: Predictions) -> Fallback:
    """Compare an arm with itself when the answers found by the fallback count as unparsed."""
    slot = first_slot(arm)
    shown = slice(slot, slot + 1) if voted(arm) else slice(None)
    n_answers, n_without = (int((p.choice[:, shown] >= 0).sum()) for p in (arm, without))
    shares = (float(right_answers(p).mean()) for p in (arm, without))
    return Fallback(name, n_answers, n_answers - n_without, *shares)


def strata(arms: Mapping[str, Predictions], types: Sequence[str], *, level: float = 0.95) -> tuple[Stratum, ...]:
    """Return the accuracy of every arm by type of item; a type that no question has is left out.

    Parameters
    ----------
    arms
        Predictions of the same questions in the same order.
    types
        One of each question, such as :func:`orderbias.items.question_kind` gives.
    level
        Of the intervals.

    Raises
    ------
    ArgumentError
        If an arm has not as many questions as there are types.

    Examples
    --------
    >>> arms = {"direct": Predictions([[0], [1], [0]], [[0, 1]], [0, 0, 0])}
    >>> [(s.item_type, s.n_items, s.accuracy["direct"].value) for s in strata(arms, ["a", "b", "a"])]
    [('a', 2, 1.0), ('b', 1, 0.0)]
    """
    named = np.array(types, object)
    for name, arm in arms.items():
        if arm.n_items != len(named):
            raise ArgumentError(f"`types` must have one of each of the {arm.n_items} questions of {name!r}. "
                                f"Got {len(named)}.")  # fmt: skip
    found = []
    for kind in sorted(set(types)):
        rows = named == kind
        n = int(rows.sum())
        found.append(Stratum(kind, n, {name: share(right_answers(arm)[rows], level) for name, arm in arms.items()}))
    return tuple(found)
