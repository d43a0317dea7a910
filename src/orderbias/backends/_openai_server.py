"""One server asked for first tokens and for texts, in the way that it was found to take; must not settle that way.

What it refuses of a call (a name for the length, a temperature) is left out from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from orderbias.backends import LabelRequest, Request, TextReply, TextRequest
from orderbias.backends._openai_bodies import (
    N_PROBS,
    NONE,
    PATHS,
    TOKEN_IDS,
    TOP,
    Bodies,
    Served,
    TokenCount,
    messages,
    reply_tokens,
)
from orderbias.backends._openai_calls import Caller, CallFailed
from orderbias.backends._openai_labels import Ids, Labels
from orderbias.backends._openai_replies import FILTERED, Token, Unusable, choice_of, first_tokens, text_of, usage_of
from orderbias.errors import ArgumentError, ModelError

T = TypeVar("T")

#: Characters of a model's name, as its server gives it, that are kept.
MOST_NAMED = 200
#: Names of other models that are remembered.
_MOST_OTHERS = 5


@dataclass(frozen=True, slots=True)
class Scored:
    """The first tokens of a reply; none, and a ``refusal``, where the model refused; none where they were withheld."""

    tokens: tuple[Token, ...]
    width: int = 0
    tokens_in: int = 0
    refusal: str | None = None


class Server:
    """A server and how it is asked; lives in the event loop of its caller.

    Attributes
    ----------
    served
        How it is asked.
    settling
        Whether that may still change in what it returns, not only in what it is sent.
    """

    def __init__(self, caller: Caller, bodies: Bodies, served: Served, revision: str | None = None) -> None:
        self.caller = caller
        self.bodies = bodies
        self.served = served
        self.settling = False
        self.count = TokenCount()
        self.revision = revision
        self.other_revisions: set[str] = set()
        self.not_taken: set[str] = set()
        self._answered = False
        self._ids: dict[tuple[tuple[str, ...], str], Ids] = {}

    async def score(self, request: LabelRequest, forms: tuple[str, ...], *, withheld: bool = False) -> Scored:
        """Return the tokens that may come first: enough for every label to be there in one form, where that can be had.

        ``withheld`` allows a reply without log-probabilities, which has no tokens then.
        """
        scored = Scored(())
        for width in self.served.widths:
            labels = await self.labels(request, forms)
            scored = await self._scored(request, labels, width, withheld=withheld)
            found = labels.found(scored.tokens)
            if scored.refusal is not None or all(
                any(v is not None for v in column) for column in zip(*found.values(), strict=True)
            ):
                break
        return scored

    async def labels(self, request: LabelRequest, forms: tuple[str, ...]) -> Labels:
        """Return what to look for in a reply, with the ids of labels where the server is asked by them."""
        if self.served.logprobs != TOKEN_IDS:
            return Labels(request.labels, forms)
        ids = await self.ids(request)
        return Labels(request.labels, tuple(f for f in forms if f in ids) or forms, ids)

    async def _scored(self, request: LabelRequest, labels: Labels, width: int, *, withheld: bool) -> Scored:
        asked = tuple(i for form in labels.forms for i in (labels.ids or {}).get(form, ()))

        def read(data: Any) -> Scored:
            usage = usage_of(data)
            tokens_in = usage[0] if usage else 0
            message = choice_of(data).get("message")
            refusal = message.get("refusal") if isinstance(message, Mapping) else None
            if isinstance(refusal, str) and refusal:
                return Scored((), width, tokens_in, refusal)
            if choice_of(data).get("finish_reason") == "content_filter":
                return Scored((), width, tokens_in, FILTERED)
            try:
                return Scored(first_tokens(data), width, tokens_in)
            except Unusable:
                if not withheld:
                    raise
                return Scored((), width, tokens_in)

        return await self._post(request, lambda served: self.bodies.of_labels(request, served, width, asked), read)

    async def write(self, request: TextRequest) -> TextReply:
        """Return the reply to a request."""
        return await self._post(request, lambda served: self.bodies.of_text(request, served), text_of)

    async def _post(self, request: Request, body: Callable[[Served], Mapping[str, Any]], read: Callable[[Any], T]) -> T:
        if request.system is not None and self.served.endpoint == "completions":
            raise ArgumentError(
                "A system prompt needs the chat endpoint: a plain prompt has no place for it. Got one with completions."
            )

        def checked(data: Any) -> T:
            self._look_at(request, data)
            return read(data)

        while True:
            served = self.served
            try:
                return await self.caller.call(
                    PATHS[served.endpoint],
                    body(served),
                    self.count.most(request),
                    self.count.likely(request) + reply_tokens(request),
                    checked,
                )
            except CallFailed as e:
                changed = self._without(e.parameter, served) if e.status in (400, 422) else None
                if changed is None or changed == served:  # what is left out already is not what it minds
                    raise
                if self.served == served:
                    self.served = changed
                if changed.logprobs != served.logprobs:
                    raise  # other rivals are another question: whoever settles asks it

    def _without(self, parameter: str | None, served: Served) -> Served | None:
        """Return how to ask without what the server refused; None where that would be another question."""
        if parameter == served.length == "max_tokens":
            return replace(served, length="max_completion_tokens")
        if parameter in ("temperature", "top_p", "seed"):
            self.not_taken.add(parameter)
            return replace(served, without=served.without | {parameter})
        if not self.settling or served.logprobs == NONE:
            return None
        if served.logprobs in (TOKEN_IDS, N_PROBS):
            return (
                replace(served, logprobs=f"top-{TOP[0]}") if parameter is not None and "logprob" in parameter else None
            )
        if parameter in ("logprobs", "top_logprobs"):
            narrower = [width for width in TOP if width < served.widths[0]]
            return replace(served, logprobs=f"top-{narrower[0]}" if narrower else NONE)
        return None

    def _look_at(self, request: Request, data: Any) -> None:
        """Learn from a reply how long its prompt was and which model it is of.

        Raises
        ------
        ModelError
            If the model is not the one that the run was begun with.
        """
        usage = usage_of(data)
        if usage is not None:
            self.count.learn(request, usage[0])
        named = data.get("model") if isinstance(data, Mapping) else None
        if not isinstance(named, str) or not named:
            return
        name = shown_name(named)
        if self.revision is None:
            self.revision = name
        elif name != self.revision:
            if not self._answered:
                raise ModelError(
                    f"The server now answers as {name!r}; this run was begun with {self.revision!r}. Use another --out "
                    "directory."
                )
            if len(self.other_revisions) < _MOST_OTHERS:
                self.other_revisions.add(name)
        self._answered = True

    # --- vLLM's ids of labels -----------------------------------------------------------------------------------

    async def ids(self, request: LabelRequest) -> Ids:
        """Return the token id of each label by form, as the label stands after the prompt; no form where it is not one.

        They are found once for each end of a prompt: nothing else decides them.
        """
        end = request.prompt[request.prompt.rstrip().rfind("\n") + 1 :]
        key = request.labels, end
        if key not in self._ids:
            self._ids[key] = await self._find_ids(request)
        return self._ids[key]

    async def _find_ids(self, request: LabelRequest) -> Ids:
        special = self.served.endpoint == "completions"
        text: Any = request.prompt
        if not special:
            ids = await self._tokens({"messages": messages(request), "add_generation_prompt": True})
            whole = await self._look("/detokenize", {"tokens": ids or []})
            text = whole.get("prompt") if isinstance(whole, Mapping) else None
        prompt = await self._tokens({"prompt": text, "add_special_tokens": special}) if isinstance(text, str) else None
        if not prompt:
            return {}
        found = {}
        for form in ("", " "):
            wholes = [
                await self._tokens({"prompt": text + form + label, "add_special_tokens": special})
                for label in request.labels
            ]
            ends = [one[len(prompt) :] if one and one[: len(prompt)] == prompt else [] for one in wholes]
            if all(len(end) == 1 for end in ends) and len({end[0] for end in ends}) == len(ends):
                found[form] = tuple(end[0] for end in ends)
        return found

    async def _tokens(self, body: Mapping[str, Any]) -> list[int] | None:
        data = await self._look("/tokenize", body)
        ids = data.get("tokens") if isinstance(data, Mapping) else None
        return ids if isinstance(ids, list) and all(isinstance(i, int) for i in ids) else None

    async def _look(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self.caller.look(self.caller.address.root + path, {"model": self.bodies.model, **body})


def shown_name(model: str) -> str:
    """Return a model's name as it is stored: of a path of the server, the last part.

    Examples
    --------
    >>> shown_name("/models/qwen.gguf"), shown_name("Qwen/Qwen3-8B"), shown_name("C:\\\\m\\\\x.gguf")
    ('qwen.gguf', 'Qwen/Qwen3-8B', 'x.gguf')
    """
    if model.startswith(("/", "~", "\\")) or model[1:3] == ":\\":
        model = model.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return model[:MOST_NAMED]
