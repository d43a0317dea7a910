"""What is asked to get one answer. A strategy is a generator: it yields requests, receives replies, returns an answer.

It knows items, orderings and prompts, and nothing of how or where a model runs.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from orderbias.backends import LabelReply, LabelRequest, Reply, Request, TextReply, TextRequest
from orderbias.items import Item
from orderbias.prompts import Prompter
from orderbias.signature import text_hash


@dataclass(frozen=True, slots=True)
class Answer:
    """What a strategy makes of its replies: the chosen ``place``, or none and a ``status`` that says why.

    ``logprobs`` are natural logs by place, renormalised over the labels; ``mass`` is the probability that the labels
    had together before. ``found`` says how a written answer was found (:mod:`~orderbias.strategies.extraction`,
    :mod:`~orderbias.strategies.matching`, :mod:`~orderbias.strategies.independent`).
    """

    place: int | None
    logprobs: tuple[float, ...] | None = None
    mass: float | None = None
    status: str = "ok"
    text: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    found: str | None = None


Asking = Generator[Request, Reply, Answer]


class Strategy(Protocol):
    """Start asking one item under one ordering, for the ``repeat``-th time."""

    def __call__(
        self, item: Item, positions: Sequence[int], template: Prompter, shots: Sequence[Item], repeat: int = 0, /
    ) -> Asking:
        """Return the generator that asks."""
        ...


def advanced(asking: Asking, reply: Reply | None = None) -> Request | Answer:
    """Give a query its reply (None: begin it) and return the next request, or the answer in place of one."""
    try:
        return next(asking) if reply is None else asking.send(reply)
    except StopIteration as done:
        answer: Answer = done.value
        return answer


def ask_labels(request: LabelRequest) -> Generator[Request, Reply, LabelReply]:
    """Ask for the probabilities of labels; ``yield from`` it."""
    reply = yield request
    assert isinstance(reply, LabelReply)
    return reply


def ask_text(request: TextRequest) -> Generator[Request, Reply, TextReply]:
    """Ask for a written reply; ``yield from`` it."""
    reply = yield request
    assert isinstance(reply, TextReply)
    return reply


def draw_seed(seed: int, item_id: str, positions: Sequence[int], repeat: int) -> int:
    """Return what a random answer is drawn with: a function of the query and the seed of the run only.

    Examples
    --------
    >>> draw_seed(0, "1", (0, 1), 0) == draw_seed(0, "1", [0, 1], 0) != draw_seed(0, "1", (0, 1), 1)
    True
    """
    return int(text_hash([str(seed), item_id, " ".join(str(int(p)) for p in positions), str(repeat)]), 16)
