"""The verdicts of one judge as arrays; must not know where they were read from, nor what is made of them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.signature import Signature
from orderbias.verdicts import NOT_ASKED, TIE, UNREAD

Ints = NDArray[np.int8]

#: Score of A by a verdict in pair terms, and its sign in a logistic model: A, B, tie.
SCORES = np.array([1.0, 0.0, 0.5])
SIGNS = np.array([1.0, -1.0, 0.0])

#: Names of the two orders by their index: A shown first, or B shown first.
ORDERS = ("AB", "BA")


@dataclass(frozen=True, slots=True, eq=False)
class Judgments:
    """What one judge said of pairs of answers.

    Each pair has two members, A and B. It can be shown in the order ``AB`` or ``BA``, several times in each.

    Parameters
    ----------
    pair_ids
        ``(n_pairs,)`` texts, all different.
    verdicts
        Int8 ``(n_pairs, 2, n_repeats)``: pair, order (``AB``, ``BA``), call. In shown terms: 0 the answer shown first,
        1 the one shown second, 2 a tie, -1 asked but unreadable, -2 not asked. Call 0 is the one that counts; others
        tell chance from order.
    judge
        Its name.
    human
        Int8 ``(n_pairs,)``: 0 A is better, 1 B, 2 a tie, -1 unknown. None where no pair has a label.
    raters
        Int8 ``(n_pairs, n_raters)``: what each person said, coded as ``human``. None where there is at most one.
    model_a, model_b
        ``(n_pairs,)`` names of who wrote A and B, None where unknown.
    group
        ``(n_pairs,)`` texts (a category), None where unknown.
    len_a, len_b
        Float64 ``(n_pairs,)`` lengths of the answers in one unit, NaN where unknown.
    identical
        Bool ``(n_pairs,)``: A and B are the same text. None where texts are not known.
    logprobs
        Float64 ``(n_pairs, 2, 3)``: natural logs of the probability of each verdict (first, second, tie) in each
        order, renormalised over the verdicts; NaN where unknown, -inf for a tie that was not offered.
    source
        The format that the verdicts were read from.
    data_hash
        Hash of that data.
    settings
        What the verdicts depend on: template, model, revision and so on, as far as it is known.
    notices
        Sentences about what reading found.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a code is unknown, or a length or a probability cannot be one.
    """

    pair_ids: NDArray[np.object_]
    verdicts: Ints
    judge: str = ""
    human: Ints | None = None
    raters: Ints | None = None
    model_a: NDArray[np.object_] | None = None
    model_b: NDArray[np.object_] | None = None
    group: NDArray[np.object_] | None = None
    len_a: NDArray[np.float64] | None = None
    len_b: NDArray[np.float64] | None = None
    identical: NDArray[np.bool_] | None = None
    logprobs: NDArray[np.float64] | None = None
    source: str = "arrays"
    data_hash: str = ""
    settings: Signature = field(default_factory=Signature)
    notices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.pair_ids)
        if self.verdicts.ndim != 3 or self.verdicts.shape[:2] != (n, 2) or self.verdicts.shape[2] < 1:
            raise ArgumentError(f"`verdicts` must have the shape ({n}, 2, n_repeats). Got {self.verdicts.shape}.")
        if n and not NOT_ASKED <= self.verdicts.min() <= self.verdicts.max() <= TIE:
            raise ArgumentError(f"`verdicts` must hold codes {NOT_ASKED}..{TIE}. Got {np.unique(self.verdicts)}.")
        if self.human is not None and n and not UNREAD <= self.human.min() <= self.human.max() <= TIE:
            raise ArgumentError(f"`human` must hold codes {UNREAD}..{TIE}. Got {np.unique(self.human)}.")
        self._check_numbers()
        for column in fields(self):
            value: Any = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                if len(value) != n:
                    raise ArgumentError(f"`{column.name}` must have one row a pair, {n}. Got {len(value)}.")
                value.flags.writeable = False

    def _check_numbers(self) -> None:
        n = len(self.pair_ids)
        for name, lengths in (("len_a", self.len_a), ("len_b", self.len_b)):
            if lengths is not None and ((lengths < 0) | np.isinf(lengths)).any():
                raise ArgumentError(f"`{name}` must hold lengths of 0 or more, NaN where unknown.")
        if self.logprobs is not None and (self.logprobs.shape != (n, 2, 3) or (self.logprobs > 1e-6).any()):
            raise ArgumentError(
                f"`logprobs` must hold natural logs of probabilities, of the shape ({n}, 2, 3). Got "
                f"{self.logprobs.shape}, at most {np.nanmax(self.logprobs, initial=-np.inf):g}."
            )

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.pair_ids)

    @property
    def calls(self) -> Ints:
        """Int8 ``(n_pairs, 2)``: the verdicts that count, in shown terms."""
        return self.verdicts[:, :, 0]

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Bool ``(n_pairs,)``: both orders were asked and both verdicts can be read."""
        return np.asarray((self.calls >= 0).all(axis=1))

    def take(self, rows: NDArray[Any]) -> Judgments:
        """Return some of the pairs: a bool mask or indices ``(n,)``."""
        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        return Judgments(**{k: v[rows] if isinstance(v, np.ndarray) else v for k, v in columns.items()})


@dataclass(frozen=True, slots=True)
class NotChecked:
    """In place of a result: what a check would need, as in ``needs `human```."""

    why: str


def in_pair_terms(shown: NDArray[np.integer]) -> Ints:
    """Turn verdicts in shown terms ``(n, 2, ...)`` into pair terms: 0 A, 1 B, 2 tie; negative codes stay.

    The map is its own inverse: in the order ``BA`` the answer shown first is B.

    Examples
    --------
    >>> in_pair_terms(np.array([[0, 0], [1, 2]])).tolist()
    [[0, 1], [1, 2]]
    """
    out = np.array(shown, np.int8)
    second = out[:, 1]
    out[:, 1] = np.where((second == 0) | (second == 1), 1 - second, second)
    return out


def collapsed(judgments: Judgments) -> Ints:
    """Return the verdict of each pair that is safe to use, int8 ``(n_pairs,)``: 0 A, 1 B, 2 tie, -1 incomplete.

    The verdict in which both orders agree, else a tie (judge-swap, 01).
    """
    members = in_pair_terms(judgments.calls)
    agreed = np.where(members[:, 0] == members[:, 1], members[:, 0], TIE)
    return np.where(judgments.complete, agreed, UNREAD).astype(np.int8)
