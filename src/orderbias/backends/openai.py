"""A model behind an API: any server that speaks as OpenAI's does; must not know what the labels stand for.

Requests are answered in a thread of their own, many at a time. A label is scored by the log-probability that the server
gives its token as the first of a reply; a label that is not among those it gives is censored, which is a status and no
number. See ``docs/api.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal, Self

from orderbias.backends import LabelReply, LabelRequest, Reply, Request, TextReply, TextRequest, Workload, by_kind
from orderbias.backends._limits import Used, money
from orderbias.backends._openai_address import Address, find_address
from orderbias.backends._openai_bodies import NONE, Bodies, Endpoint, Served, reply_tokens
from orderbias.backends._openai_calls import Caller, CallFailed, Conduct
from orderbias.backends._openai_labels import LookAlikes, summed
from orderbias.backends._openai_server import Scored, Server, shown_name
from orderbias.backends._openai_settling import FORMS, PROBE_ITEMS, settle
from orderbias.errors import ArgumentError
from orderbias.signature import text_hash

#: Stands for the revision of a model whose server names none.
_NOT_SAID = "not said"
_FORMS_BY_NAME = {"A": ("",), " A": (" ",), "A+ A": FORMS}


class OpenAIBackend:
    """Log-probabilities of labels, and texts, from a server; see :meth:`connect`. Close it when done.

    Attributes
    ----------
    notices : tuple of str
        What a user should be told of how the numbers were made.
    """

    def __init__(
        self,
        model: str,
        address: Address,
        conduct: Conduct,
        *,
        endpoint: Literal["auto"] | Endpoint = "auto",
        label_forms: Literal["best", "sum"] = "best",
        extra: Mapping[str, Any] | None = None,
        settled: Mapping[str, str] | None = None,
    ) -> None:
        self.notices: tuple[str, ...] = ()
        self._name = shown_name(model)
        self._address = address
        self._conduct = conduct
        self._endpoint = endpoint
        self._label_forms = label_forms
        self._extra = dict(extra or {})
        self._forms: tuple[str, ...] | None = None
        self._settled = False
        self._scored: dict[LabelRequest, Scored] = {}
        self._written: dict[TextRequest, TextReply] = {}
        self._failed: dict[Request, CallFailed] = {}
        self._look_alikes = LookAlikes()
        served, revision = Served("chat" if endpoint == "auto" else endpoint), None
        if settled and "served_by" in settled:
            served, revision = self._resume(settled)
        self._server = Server(Caller(address, conduct), Bodies(model, self._extra), served, revision)

    @classmethod
    def connect(
        cls,
        model: str,
        *,
        base_url: str | None = None,
        key_env: str | None = None,
        conduct: Conduct | None = None,
        endpoint: Literal["auto"] | Endpoint = "auto",
        label_forms: Literal["best", "sum"] = "best",
        extra: Mapping[str, Any] | None = None,
        settled: Mapping[str, str] | None = None,
    ) -> OpenAIBackend:
        """Name a model of a server; nothing is sent yet.

        Parameters
        ----------
        model
            As the server calls it.
        base_url
            Up to and with the version (``http://localhost:8000/v1``). Default: ``OPENAI_BASE_URL``, else OpenAI's own.
        key_env
            The environment variable that holds the key; ``OPENAI_API_KEY`` by default.
        conduct
            Concurrency, rates, time-outs, tries and caps.
        endpoint
            ``chat``, ``completions``, or ``auto``: chat where the server has it.
        label_forms
            ``best``: labels with or without a space before them, whichever weighs more at first. ``sum``: both.
        extra
            Fields that every call has besides.
        settled
            The ``identity`` that an earlier part of the run had, so that it need not be found again.

        Raises
        ------
        ArgumentError
            If the name or the URL is none, or there is no key.
        MissingExtra
            If the client is not installed.
        """
        if not model.strip():
            raise ArgumentError(f"--model must be openai:NAME, the model as its server calls it. Got {model!r}.")
        address = find_address(base_url, key_env)
        return cls(
            model,
            address,
            conduct or Conduct(),
            endpoint=endpoint,
            label_forms=label_forms,
            extra=extra,
            settled=settled,
        )

    def _resume(self, settled: Mapping[str, str]) -> tuple[Served, str | None]:
        """Take up what an earlier part of the run found; an endpoint that was asked for stays what it is."""
        known = Served(
            settled.get("endpoint", "chat") if self._endpoint == "auto" else self._endpoint,  # type: ignore[arg-type]
            settled.get("served_by", "other"),  # type: ignore[arg-type]
            settled.get("logprobs", NONE),
            frozenset(settled.get("without", "").split()),
        )
        self._forms = _FORMS_BY_NAME.get(settled.get("label_form", ""))
        self._settled = True
        revision = settled.get("revision", _NOT_SAID)
        return known, None if revision == _NOT_SAID else revision

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up what is under way, and end the thread."""
        self._server.caller.close()

    @property
    def identity(self) -> Mapping[str, str]:
        """What makes the numbers reproducible; of the address the hash of its host, of the key nothing."""
        entries = {"model": self._name, "server": self._address.hash, "label_forms": self._label_forms}
        if self._extra:
            entries["extra"] = text_hash(json.dumps(self._extra, sort_keys=True))
        if not self._settled:
            return entries
        served = self._server.served
        entries |= {"revision": self._server.revision or _NOT_SAID, "endpoint": served.endpoint}
        entries |= {"served_by": served.by, "logprobs": served.logprobs}
        if served.without:
            entries["without"] = " ".join(sorted(served.without))
        return entries if self.label_form is None else {**entries, "label_form": self.label_form}

    @property
    def label_form(self) -> str | None:
        """The form in use, shown on the letter A: ``"A"``, ``" A"``, or both joined by ``+``; None until known."""
        return next((name for name, forms in _FORMS_BY_NAME.items() if forms == self._forms), None)

    @property
    def settled(self) -> bool:
        """Whether it is known how the server is asked."""
        return self._settled

    @property
    def has_logprobs(self) -> bool:
        """Whether labels can be scored; True until the opposite is known."""
        return not self._settled or self._server.served.logprobs != NONE

    @property
    def at_once(self) -> int:
        """How many requests must be under way so that no place is idle."""
        return self._conduct.at_once

    @property
    def used(self) -> Used:
        """Calls and tokens used since it was made, failed tries included."""
        return self._server.caller.ledger.used

    def count_before(self, used: Used) -> None:
        """Count what other runs have used under the same caps."""
        self._server.caller.ledger.before = used

    @property
    def held(self) -> frozenset[Request]:
        """Requests whose replies were had while settling, and wait for them."""
        return frozenset((*self._scored, *self._written, *self._failed))

    def settle(self, requests: Sequence[Request]) -> None:
        """Find out, on the first requests of a run, how the server is asked. Their replies are kept for them.

        Raises
        ------
        ModelError
            If the server cannot be asked, or no label is among its first tokens.
        AskingStopped
            If a cap is reached.
        """
        if self._settled:
            return
        labels, texts = by_kind(requests)
        work = settle(self._server, labels, texts, self._endpoint, self._label_forms)
        found = self._server.caller.start(work).result()
        self._forms = found.forms
        self._scored |= found.scored
        self._written |= found.written
        self._failed |= found.failed
        self._settled = True
        self.notices += tuple(found.notices)

    def workload(self, requests: Sequence[Request]) -> Workload:
        """Estimate tokens from the bytes of prompts; the server alone has the tokenizer."""
        tokens = sum(self._server.count.likely(r) for r in requests)
        return Workload(tokens, tokens, sum(map(reply_tokens, requests)))

    def plan_notes(self, n_calls: int, work: Workload) -> tuple[str, ...]:
        """Say what so many calls will take, before the first is made."""
        count = self._server.count
        notes = [
            f"{n_calls:,} calls, {self._conduct.concurrency} at a time. Tokens are estimated: one for every "
            f"{count.BYTES:g} bytes of a prompt, and {count.ADDED} a call."
        ]
        caps = self._conduct.caps
        if caps.price is not None:
            cost = caps.cost_of(Used(n_calls, work.tokens, work.reply_tokens))
            notes.append(f"A cost of about {money(cost)} at the prices given, with every reply at its longest.")
        if not self._settled:
            notes.append(f"Up to {PROBE_ITEMS} of them go first, to see what the server can do.")
        return tuple(notes)

    def closing_notes(self) -> tuple[str, ...]:
        """Say what was used, and what must be known of the replies."""
        caller = self._server.caller
        again = f" {caller.n_retries:,} tries were repeated." if caller.n_retries else ""
        notes = [f"Used: {caller.ledger.said()}.{again}"]
        look_alikes = self._look_alikes.notice()
        if look_alikes is not None:
            notes.append(look_alikes)
        if self._server.other_revisions:
            others = ", ".join(sorted(self._server.other_revisions))
            notes.append(f"Some replies were of another model than {self._server.revision}: {others}.")
        return tuple(notes)

    def submit(self, request: Request) -> Future[Reply]:
        """Begin to ask; a failed call is a reply of status ``error``."""
        return self._server.caller.start(self._reply(request))

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests, in their order.

        Raises
        ------
        AskingStopped
            If a cap is reached, or the server is gone.
        ModelError
            If the server does not take the key.
        """
        self.settle(requests)
        return [future.result() for future in [self.submit(request) for request in requests]]

    async def _reply(self, request: Request) -> Reply:
        failed = self._failed.pop(request, None)
        if isinstance(request, TextRequest):
            return await self._text_reply(request, failed)
        if not self.has_logprobs:
            return LabelReply(None, status="error", text="the server gives no log-probabilities of labels")
        try:
            if failed is not None:
                raise failed
            scored = self._scored.pop(request, None) or await self._server.score(request, self._forms or FORMS)
        except CallFailed as e:
            return LabelReply(None, status="error", text=e.reason)
        return await self._label_reply(request, scored)

    async def _text_reply(self, request: TextRequest, failed: CallFailed | None) -> TextReply:
        try:
            if failed is not None:
                raise failed
            return self._written.pop(request, None) or await self._server.write(request)
        except CallFailed as e:
            return TextReply(None, status="error", reason=e.reason)

    async def _label_reply(self, request: LabelRequest, scored: Scored) -> LabelReply:
        if scored.refusal is not None:
            return LabelReply(None, scored.tokens_in, "refused", scored.refusal)
        labels = await self._server.labels(request, self._forms or FORMS)
        self._look_alikes.count(labels.look_alikes(scored.tokens))
        logprobs = summed(labels.found(scored.tokens))
        missing = [label for label, value in zip(request.labels, logprobs, strict=True) if value is None]
        if missing:
            reason = f"not among the {len(scored.tokens):,} first tokens that the server gives: {', '.join(missing)}"
            return LabelReply(None, scored.tokens_in, "error", f"{reason} (censored)")
        return LabelReply(tuple(v for v in logprobs if v is not None), scored.tokens_in)
