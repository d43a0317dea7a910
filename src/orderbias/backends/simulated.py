"""A model made of known laws: content strengths plus a planted preference for places; seeded, exact, instant.

What the measures must find is then known in closed form, so it serves the demo and the tests. It answers from the
identity of the query and never reads the prompt.
"""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from orderbias.backends import (
    LabelReply,
    LabelRequest,
    Reply,
    Request,
    TextReply,
    TextRequest,
    Workload,
    answered_by_kind,
    by_kind,
)
from orderbias.errors import ArgumentError, ModelError
from orderbias.items import Item
from orderbias.orderings import item_rng


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedBackend:
    """Logit of the label at place r = strength of the content shown there + ``preference[r]`` + noise.

    A written reply ends with the letter of its place in double brackets: that of the highest logit, or one drawn at
    the request's temperature. Where a content is wanted it is that content's text, chosen by its strength alone where
    the options are hidden; where a score, 100 / (1 + exp(-strength)) of the content shown, to the next integer.

    Parameters
    ----------
    items
        The items it can be asked. Strengths are standard normal, a function of (seed, item id); the gold content
        gets ``skill`` on top.
    preference
        Added to the logits by place: a number for each place of the item with most options; an item with fewer takes
        the first K. A model blind to the order has zeros.
    skill
        How far the right content stands out, in logits.
    noise
        SD of normal noise drawn anew for each (item, ordering), in logits.
    seed
        Decides strengths and noise.
    mass
        Probability that the labels have together.

    Raises
    ------
    ArgumentError
        If ``mass`` is outside (0, 1] or ``noise`` is negative.
    """

    items: Sequence[Item]
    preference: Sequence[float]
    skill: float = 1.0
    noise: float = 0.0
    seed: int = 0
    mass: float = 0.9
    _items: Mapping[str, Item] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 < self.mass <= 1:
            raise ArgumentError(f"`mass` must be in (0, 1]. Got {self.mass}.")
        if self.noise < 0:
            raise ArgumentError(f"`noise` must be 0 or more. Got {self.noise}.")
        object.__setattr__(self, "_items", {item.id: item for item in self.items})

    @property
    def identity(self) -> Mapping[str, str]:
        """The name and every law."""
        preference = " ".join(f"{b:g}" for b in self.preference)
        return {
            "model": "simulated",
            "revision": f"preference {preference}, skill {self.skill:g}, noise {self.noise:g}, seed {self.seed}",
        }

    def strengths(self, item_id: str) -> NDArray[np.float64]:
        """Return the logit of each content of an item before any place preference."""
        if item_id not in self._items:
            raise ModelError(f"The simulated model has no item {item_id!r}.")
        item = self._items[item_id]
        strengths = item_rng(self.seed, item_id).standard_normal(len(item.options))
        if item.gold is not None:
            strengths[item.gold] += self.skill
        return strengths

    def settle(self, requests: Sequence[Request]) -> None:
        """Nothing is left open."""

    def workload(self, requests: Sequence[Request]) -> Workload:
        """Count words as tokens."""
        tokens = sum(len(r.prompt.split()) for r in requests)
        return Workload(tokens, tokens, sum(r.max_tokens for r in by_kind(requests)[1]))

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer from the laws."""
        return answered_by_kind(
            requests, lambda asked: [self._score(r) for r in asked], lambda asked: [self._write(r) for r in asked]
        )

    def _score(self, request: LabelRequest) -> LabelReply:
        logits = self._logits(request)
        logprobs = logits - np.logaddexp.reduce(logits) + np.log(self.mass)
        return LabelReply(tuple(logprobs.tolist()), tokens_in=len(request.prompt.split()))

    def _write(self, request: TextRequest) -> TextReply:
        hidden = request.shows is not None
        logits = self.strengths(request.item_id) if hidden else self._logits(request)
        if request.temperature:
            # The largest of logits with Gumbel noise is a draw from their softmax.
            logits = logits / request.temperature + np.random.default_rng(request.seed).gumbel(size=len(logits))
        words = self._words(request, logits).split()
        text = " ".join(words[: request.max_tokens])
        finished = len(words) <= request.max_tokens
        return TextReply(text, len(request.prompt.split()), min(len(words), request.max_tokens), finished)

    def _words(self, request: TextRequest, logits: NDArray[np.float64]) -> str:
        best = int(logits.argmax())
        if request.wants == "letter":
            return f"One of them is better. [[{string.ascii_uppercase[best]}]]"
        if request.wants == "score" and request.shows is not None:
            return f"<score>{100 / (1 + math.exp(-logits[request.shows[0]])):.0f}</score>"
        options = self._items[request.item_id].options
        return options[best if request.shows is not None else request.positions.index(best)]

    def _logits(self, request: Request) -> NDArray[np.float64]:
        strengths = self.strengths(request.item_id)
        if len(self.preference) < len(strengths):
            raise ModelError(
                f"The simulated preference has {len(self.preference)} places, but item {request.item_id!r} has "
                f"{len(strengths)} options."
            )
        logits = np.array(self.preference[: len(strengths)], np.float64)
        logits[list(request.positions)] += strengths
        if self.noise:
            logits += self.noise * item_rng(self.seed, f"{request.item_id} {request.positions}").standard_normal(
                len(logits)
            )
        return logits
