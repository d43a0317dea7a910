"""Models: requests in, replies out. A backend knows nothing of options, orders or what an answer is for.

A request carries the identity of its query (``item_id``, ``positions``) so that a simulated model can know what it
is asked and a real one can keep the prompts of one item together; a real model is never shown it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """Ask for the probability of each label as the continuation of a prompt.

    ``labels`` are the labels as they are shown (``A``, ``(A)``, ``10``), by place.
    """

    item_id: str
    positions: tuple[int, ...]
    prompt: str
    labels: tuple[str, ...]
    system: str | None = None


@dataclass(frozen=True, slots=True)
class LabelReply:
    """The answer to a :class:`LabelRequest`.

    ``logprobs`` are natural logs of P(label | prompt) by place, over the whole vocabulary (not renormalised over
    the labels); ``None`` with status ``error`` and the reason in ``text``.
    """

    logprobs: tuple[float, ...] | None
    tokens_in: int = 0
    status: str = "ok"
    text: str | None = None


@dataclass(frozen=True, slots=True)
class TextRequest:
    """Ask for a written continuation of a prompt.

    Parameters
    ----------
    item_id, positions
        The identity of the query; where no ordering is shown, the canonical one.
    prompt, system
        What is shown.
    max_tokens
        A reply that has not ended after so many tokens is cut off.
    temperature
        0 takes the most probable token at each step. Above it, tokens are drawn from the model's own distribution at
        this temperature, nothing of it left out.
    seed
        Decides what is drawn. One request has one answer, whatever else is asked beside it.
    wants
        Part of the identity: whether a ``letter``, the text of a ``content`` or a ``score`` is asked for.
    shows
        Part of the identity: the contents that the prompt shows, None for all of them.
    """

    item_id: str
    positions: tuple[int, ...]
    prompt: str
    system: str | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0
    wants: str = "letter"
    shows: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class TextReply:
    """The answer to a :class:`TextRequest`.

    ``text`` is what the model wrote, without the tokens that only end it; ``finished`` is false where it was cut off.
    Where there is none, ``text`` is ``None``, the status ``error``, and ``reason`` says why.
    """

    text: str | None
    tokens_in: int = 0
    tokens_out: int = 0
    finished: bool = True
    status: str = "ok"
    reason: str | None = None


Request = LabelRequest | TextRequest
Reply = LabelReply | TextReply


@dataclass(frozen=True, slots=True)
class Workload:
    """What a list of requests costs at most.

    ``tokens`` are those of the prompts as sent, ``unique_tokens`` those left to compute when prefixes are shared,
    ``reply_tokens`` those that replies may have. ``calls`` are the requests, where whoever asks has counted them.
    """

    tokens: int
    unique_tokens: int
    reply_tokens: int = 0
    calls: int = 0

    def __add__(self, other: Workload) -> Workload:
        return Workload(
            self.tokens + other.tokens,
            self.unique_tokens + other.unique_tokens,
            self.reply_tokens + other.reply_tokens,
            self.calls + other.calls,
        )


class Backend(Protocol):
    """A model that can be asked."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What makes its numbers reproducible: ``model``, ``revision``, ``dtype`` and the like, never a key or a path.

        The first entry, ``model``, is the name under which records are stored. Complete after :meth:`settle`.
        """
        ...

    def settle(self, requests: Sequence[Request]) -> None:
        """Decide, on the first requests of a run, all that stays the same for the rest of it."""
        ...

    def workload(self, requests: Sequence[Request]) -> Workload:
        """Count the tokens of requests without asking the model."""
        ...

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests, in their order, each with the reply of its kind.

        Requests of one item should stand together.
        """
        ...


@runtime_checkable
class Concurrent(Protocol):
    """A backend that answers many requests at a time, each in its own time (a server, say)."""

    @property
    def at_once(self) -> int:
        """How many requests must be under way so that it is never idle."""
        ...

    def submit(self, request: Request) -> Future[Reply]:
        """Begin to ask; the future may raise :class:`~orderbias.errors.AskingStopped`."""
        ...


def by_kind(requests: Sequence[Request]) -> tuple[list[LabelRequest], list[TextRequest]]:
    """Split requests into those for labels and those for text, each in their order.

    Examples
    --------
    >>> labels, texts = by_kind([TextRequest("1", (0, 1), "Which?"), LabelRequest("1", (0, 1), "Which?", ("A", "B"))])
    >>> len(labels), len(texts)
    (1, 1)
    """
    labels = [r for r in requests if isinstance(r, LabelRequest)]
    return labels, [r for r in requests if isinstance(r, TextRequest)]


def answered_by_kind(
    requests: Sequence[Request],
    labels: Callable[[list[LabelRequest]], Sequence[LabelReply]],
    texts: Callable[[list[TextRequest]], Sequence[TextReply]],
) -> list[Reply]:
    """Have the requests of each kind answered together, and return the replies in the order of the requests."""
    for_labels, for_texts = by_kind(requests)
    scored, written = iter(labels(for_labels)), iter(texts(for_texts))
    return [next(scored) if isinstance(request, LabelRequest) else next(written) for request in requests]
