"""What a strategy's accuracy hangs on besides the strategy: lots among ties, the fallback of reading, the kind of item.

Functions on arrays; they know no run, no reply and no model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.means import Estimate
from orderbias.inference.proportions import clopper_pearson
from orderbias.predictions import Predictions

#: A question that only its options make one, and one that can be answered without them.
OF_THE_FOLLOWING, SELF_CONTAINED = "which of the following", "self-contained"
ITEM_TYPES = (OF_THE_FOLLOWING, SELF_CONTAINED)

_REFERS = re.compile(
    r"\b(?:of|among|from|between|which|by) (?:the |these )?(?:following|below|options|choices|alternatives|answers)\b"
    r"|\b(?:which|what|one|each|all|any|none) of these\b"
    r"|\bwhich (?:\w+ ){0,2}?(?:statements?|options?|choices?|answers?|sentences?|pairs?|lists?)\b"
    r"|\b(?:except|but not)\b(?: for)?\W*$"
    r"|\bthe following (?:\w+ ){0,3}?(?:is|are|was|were|would|will|best|does|do|can|could|should|may|might)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TieRange:
    """Accuracy of scores under the seed that was used and under others; ``n_tied`` questions depend on it."""

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
            "n_items": self.n_items, "n_tied": self.n_tied, "accuracy": self.accuracy, "low": self.low,
            "high": self.high, "accuracies": list(self.accuracies),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fallback:
    """Accuracy with the answers that merely stand in a reply, and with those counted as unparsed."""

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


def item_type(question: str) -> str:
    """Return whether a question is about its options ("which of the following ...") or stands by itself.

    Examples
    --------
    >>> item_type("Which of the following is a metal?"), item_type("All of these are mammals EXCEPT")
    ('which of the following', 'which of the following')
    >>> item_type("Which statement best describes erosion?"), item_type("Which planet is the largest?")
    ('which of the following', 'self-contained')
    """
    return OF_THE_FOLLOWING if _REFERS.search(question) else SELF_CONTAINED


def right(arm: Predictions) -> NDArray[np.bool_]:
    """Return whether each question was answered right under the first presented ordering; no answer is wrong."""
    return np.asarray(arm.choice[:, int(np.flatnonzero(arm.presented)[0])] == arm.gold)


def tie_range(arm: Predictions, choices: NDArray[np.integer], tied: NDArray[np.bool_]) -> TieRange:
    """Return what other lots among tied scores would have made of accuracy.

    Parameters
    ----------
    arm
        The answers as they were given.
    choices
        Content under each other seed, ``(n_seeds, n_items)``; -1 without an answer.
    tied
        Bool ``(n_items,)``: several contents have the highest score.

    Raises
    ------
    ArgumentError
        If shapes disagree or there is no other seed.

    Examples
    --------
    >>> arm = Predictions([[0], [1]], [[0, 1]], [0, 0])
    >>> tie_range(arm, np.array([[0, 0], [0, 1]]), np.array([False, True])).accuracies
    (1.0, 0.5)
    """
    if choices.ndim != 2 or not len(choices) or choices.shape[1] != arm.n_items or tied.shape != (arm.n_items,):
        raise ArgumentError(
            f"`choices` must be (n_seeds, {arm.n_items}) and `tied` ({arm.n_items},). Got {choices.shape} and "
            f"{tied.shape}."
        )
    counted = arm.counted_as(choices.T)
    shares = (counted == arm.gold[:, None]).mean(axis=0)
    return TieRange(arm.n_items, int(tied.sum()), float(right(arm).mean()), tuple(shares.tolist()))


def fallback(name: str, arm: Predictions, without: Predictions, n_standalone: int) -> Fallback:
    """Compare an arm with itself when the answers found by the fallback count as unparsed."""
    return Fallback(
        name, int((arm.choice >= 0).sum()), n_standalone, float(right(arm).mean()), float(right(without).mean())
    )


def strata(arms: Mapping[str, Predictions], types: Sequence[str], *, level: float = 0.95) -> tuple[Stratum, ...]:
    """Return the accuracy of every arm by type of item; a type that no question has is left out.

    Parameters
    ----------
    arms
        Predictions of the same questions in the same order.
    types
        One of each question, such as :func:`item_type` gives.
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
    for kind in dict.fromkeys([*(t for t in ITEM_TYPES if t in types), *types]):
        rows = named == kind
        n = int(rows.sum())
        found.append(Stratum(kind, n, {name: _share(right(arm)[rows], level) for name, arm in arms.items()}))
    return tuple(found)


def _share(hits: NDArray[np.bool_], level: float) -> Estimate:
    k, n = int(hits.sum()), len(hits)
    low, high = clopper_pearson(k, n, level)
    return Estimate(k / n, (float(low), float(high)), n)
