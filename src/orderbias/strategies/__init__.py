"""What is asked to get one answer. A strategy is a generator: it yields requests, receives replies, returns an answer.

It knows items, orderings and prompts, and nothing of how or where a model runs.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from orderbias.backends import LabelReply, LabelRequest
from orderbias.items import Item
from orderbias.prompts import Template


@dataclass(frozen=True, slots=True)
class Answer:
    """What a strategy makes of its replies: the chosen ``place``, or none and a ``status`` that says why.

    ``logprobs`` are natural logs by place, renormalised over the labels; ``mass`` is the probability that the labels
    had together before.
    """

    place: int | None
    logprobs: tuple[float, ...] | None = None
    mass: float | None = None
    status: str = "ok"
    text: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0


Asking = Generator[LabelRequest, LabelReply, Answer]


class Strategy(Protocol):
    """Start asking one item under one ordering."""

    def __call__(self, item: Item, positions: Sequence[int], template: Template, shots: Sequence[Item], /) -> Asking:
        """Return the generator that asks."""
        ...
