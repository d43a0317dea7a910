"""What is sent for a request, and how many tokens it is; sends nothing itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from orderbias.backends import LabelRequest, Request, TextRequest
from orderbias.backends._limits import Used

Endpoint = Literal["chat", "completions"]
ServedBy = Literal["vllm", "llama.cpp", "other"]

#: How the log-probabilities of labels are had: by token id (vLLM), by as many rivals as it takes (llama.cpp), among
#: the most probable tokens, or not at all.
TOKEN_IDS, N_PROBS, NONE = "token-ids", "n-probs", "none"
#: How many of the most probable tokens are asked for, in turn, until the server gives so many.
TOP = (20, 5)
#: How many rivals are asked for, in turn, until every label is among them; the last is more than any vocabulary has.
RIVALS = (64, 4096, 1_000_000)

PATHS: Mapping[str, str] = {"chat": "/chat/completions", "completions": "/completions"}

#: Seeds that every server takes.
_SEEDS = 2**31
#: What leaves nothing out of a model's distribution, beyond what the API itself has.
_WHOLE: Mapping[str, Mapping[str, Any]] = {
    "vllm": {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0},
    "llama.cpp": {"top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0},
    "other": {},
}


@dataclass(frozen=True, slots=True)
class Served:
    """How a server is asked: all that is settled on the first calls of a run.

    ``logprobs`` is ``token-ids``, ``n-probs``, ``top-N`` or ``none``; ``without`` are the parameters that the model
    does not take, ``length`` the name of the one that limits a reply.
    """

    endpoint: Endpoint
    by: ServedBy = "other"
    logprobs: str = f"top-{TOP[0]}"
    without: frozenset[str] = frozenset()
    length: str = "max_tokens"

    @property
    def widths(self) -> tuple[int, ...]:
        """How many of the most probable tokens are asked for, in turn."""
        if self.logprobs in (N_PROBS, NONE):
            return RIVALS if self.logprobs == N_PROBS else ()
        return (TOP[0],) if self.logprobs == TOKEN_IDS else (int(self.logprobs.removeprefix("top-")),)


@dataclass(frozen=True, slots=True)
class Bodies:
    """Requests to the bodies of calls, for one model."""

    model: str
    extra: Mapping[str, Any] = field(default_factory=dict)

    def of_labels(self, request: LabelRequest, served: Served, width: int, ids: tuple[int, ...] = ()) -> dict[str, Any]:
        """Ask for one token and its rivals.

        The temperature is 1: some servers scale what they return by it.
        """
        body = self._start(request, served, 1) | {"temperature": 1.0, "top_p": 1.0}
        if served.logprobs == TOKEN_IDS:
            # The sampled token comes first in the list, before those that are asked for.
            width = min(len(ids) + 1, TOP[0])
            body |= {"logprob_token_ids": list(ids), "return_tokens_as_token_ids": True}
        if served.logprobs == N_PROBS:
            body["n_probs"] = width
        body |= {"logprobs": True, "top_logprobs": width} if served.endpoint == "chat" else {"logprobs": width}
        return self._finished(body, served)

    def of_text(self, request: TextRequest, served: Served) -> dict[str, Any]:
        """Ask for a reply."""
        body = self._start(request, served, request.max_tokens)
        body |= {"temperature": request.temperature, "top_p": 1.0, **_WHOLE[served.by]}
        if request.temperature:
            body["seed"] = request.seed % _SEEDS
        return self._finished(body, served)

    def _start(self, request: Request, served: Served, max_tokens: int) -> dict[str, Any]:
        start: dict[str, Any] = {"model": self.model, served.length: max_tokens}
        if served.endpoint == "completions":
            return start | {"prompt": request.prompt}
        return start | {"messages": messages(request)}

    def _finished(self, body: dict[str, Any], served: Served) -> dict[str, Any]:
        return {k: v for k, v in body.items() if k not in served.without} | dict(self.extra)


def messages(request: Request) -> list[dict[str, str]]:
    """Return a request as the messages of a chat."""
    system = [] if request.system is None else [{"role": "system", "content": request.system}]
    return [*system, {"role": "user", "content": request.prompt}]


class TokenCount:
    """How many tokens a call is, of which the server alone knows the tokenizer.

    No token of a text is less than a byte, so that its bytes, and what chat templates have been seen to add, are the
    most that it can be. What is likely follows from the replies that were counted.
    """

    #: Bytes of a token, and tokens that a chat template adds, until a server says more. English has 4 to 5 bytes.
    BYTES, ADDED = 3.0, 8
    #: The most that a template is taken to add, until one is seen to add more.
    MOST_ADDED = 256

    def __init__(self) -> None:
        self._most_added = self.MOST_ADDED
        self._bytes = self._tokens = 0

    def most(self, request: Request) -> Used:
        """Return the most that a call can use."""
        return Used(1, text_bytes(request) + self._most_added, reply_tokens(request))

    def likely(self, request: Request) -> int:
        """Return about how many tokens the prompt of a call has."""
        if self._tokens:
            return math.ceil(text_bytes(request) * self._tokens / self._bytes)
        return math.ceil(text_bytes(request) / self.BYTES) + self.ADDED

    def learn(self, request: Request, tokens_in: int) -> None:
        """Take the server's own count of a prompt."""
        size = text_bytes(request)
        self._bytes += size
        self._tokens += tokens_in
        self._most_added = max(self._most_added, 2 * (tokens_in - size))


def text_bytes(request: Request) -> int:
    """Return the bytes of what is shown."""
    return len(request.prompt.encode(errors="replace")) + len((request.system or "").encode(errors="replace"))


def reply_tokens(request: Request) -> int:
    """Return the most tokens that the reply can have."""
    return request.max_tokens if isinstance(request, TextRequest) else 1
