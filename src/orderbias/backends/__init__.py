"""Models: requests in, replies out. A backend knows nothing of options, orders or what an answer is for.

A request carries the identity of its query (``item_id``, ``positions``) so that a simulated model can know what it
is asked and a real one can keep the prompts of one item together; a real model is never shown it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


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
class Workload:
    """What a list of requests costs: prompt tokens as sent, and those left to compute when prefixes are shared."""

    tokens: int
    unique_tokens: int


class Backend(Protocol):
    """A model that can be asked."""

    @property
    def identity(self) -> Mapping[str, str]:
        """What makes its numbers reproducible: ``model``, ``revision``, ``dtype`` and the like, never a key or a path.

        The first entry, ``model``, is the name under which records are stored. Complete after :meth:`settle`.
        """
        ...

    def settle(self, requests: Sequence[LabelRequest]) -> None:
        """Decide, on the first requests of a run, all that stays the same for the rest of it."""
        ...

    def workload(self, requests: Sequence[LabelRequest]) -> Workload:
        """Count the tokens of requests without asking the model."""
        ...

    def ask(self, requests: Sequence[LabelRequest]) -> list[LabelReply]:
        """Answer requests, in their order. Requests of one item should stand together."""
        ...
