"""What is decided of a server on the first calls of a run: endpoint, how labels are scored, their form.

Nothing of it costs a call of its own where the server does what was asked: the replies are kept and answer the
requests that they were made for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from orderbias.backends import LabelRequest, Request, TextReply, TextRequest
from orderbias.backends._openai_bodies import N_PROBS, NONE, TOKEN_IDS, TOP, Endpoint, Served, ServedBy
from orderbias.backends._openai_calls import CallFailed
from orderbias.backends._openai_labels import masses
from orderbias.backends._openai_server import Scored, Server
from orderbias.errors import AskingStopped, ModelError

#: Items whose first prompts decide the form of labels, and of those, requests that may fail before one is answered.
PROBE_ITEMS = 8
PROBE_TRIES = 3
#: Replies without log-probabilities, of so many, say that there are none to be had.
WITHHELD = 2

FORMS = ("", " ")


@dataclass(slots=True)
class Found:
    """What was found, and the replies that were had on the way."""

    forms: tuple[str, ...] | None = None
    scored: dict[LabelRequest, Scored] = field(default_factory=dict)
    written: dict[TextRequest, TextReply] = field(default_factory=dict)
    failed: dict[Request, CallFailed] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


async def settle(
    server: Server,
    labels: Sequence[LabelRequest],
    texts: Sequence[TextRequest],
    endpoint: Literal["auto"] | Endpoint,
    label_forms: Literal["best", "sum"],
) -> Found:
    """Decide on the first requests how a server is asked; ``server.served`` says it afterwards.

    Raises
    ------
    ModelError
        If it cannot be asked, or no label is among the tokens that may come first.
    """
    server.settling = True
    by = await served_by(server)
    found = Found()
    firsts: list[Request] = [*_firsts(labels)[:PROBE_TRIES], *([] if labels else texts[:PROBE_TRIES])]
    if not firsts:
        raise ModelError("A server is settled on requests. There were none: is there an item to ask?")
    await _open(server, firsts, endpoint, by, found)
    if labels and server.served.logprobs != NONE:
        await _settle_labels(server, labels, label_forms, found)
    server.settling = False
    if server.not_taken:
        named = ", ".join(sorted(server.not_taken))
        found.notices.append(
            f"The model takes no {named}: it was left out."
            + (" Replies are drawn at the server's own temperature." if "temperature" in server.not_taken else "")
        )
    return found


async def served_by(server: Server) -> ServedBy:
    """Ask a server for its models, which name what serves them."""
    listed = await server.caller.look("/models")
    models = listed.get("data") if isinstance(listed, Mapping) else None
    owners = {str(m.get("owned_by")) for m in models if isinstance(m, Mapping)} if isinstance(models, list) else set()
    if "vllm" in owners:
        return "vllm"
    return "llama.cpp" if "llamacpp" in owners else "other"


def _firsts(labels: Sequence[LabelRequest]) -> list[LabelRequest]:
    """Return the first request of each of the first items."""
    by_item: dict[str, LabelRequest] = {}
    for request in labels:
        by_item.setdefault(request.item_id, request)
    return list(by_item.values())[:PROBE_ITEMS]


async def _open(
    server: Server, firsts: Sequence[Request], endpoint: Literal["auto"] | Endpoint, by: ServedBy, found: Found
) -> None:
    """Find the endpoint, and what it refuses, with the first request that is answered."""
    endpoints: tuple[Endpoint, ...] = ("chat", "completions") if endpoint == "auto" else (endpoint,)
    failure: CallFailed | None = None
    for chosen in endpoints:
        server.served = await _first_guess(server, firsts[0], chosen, by)
        for request in firsts:
            try:
                await _ask_first(server, request, found)
                return
            except CallFailed as e:
                failure = e
                if _no_such_endpoint(e):
                    break
                found.failed[request] = e
    assert failure is not None
    raise ModelError(
        f"The model cannot be asked: {failure.reason}. Check --base-url (it ends in the version, such as /v1), the "
        "name of the model, and that the server runs."
    )


def _no_such_endpoint(e: CallFailed) -> bool:
    return e.status in (404, 405, 501) or (e.status is not None and "chat template" in e.reason.lower())


async def _first_guess(server: Server, request: Request, endpoint: Endpoint, by: ServedBy) -> Served:
    served = Served(endpoint, by, f"top-{TOP[0]}")
    server.served = served
    if isinstance(request, TextRequest):
        return replace(served, logprobs=NONE)
    if by == "vllm" and await server.ids(request):
        return replace(served, logprobs=TOKEN_IDS)
    return replace(served, logprobs=N_PROBS) if by == "llama.cpp" else served


async def _ask_first(server: Server, request: Request, found: Found) -> None:
    """Ask one request, again where the server does not give what was asked of the log-probabilities."""
    while True:
        before = server.served
        try:
            if isinstance(request, TextRequest):
                found.written[request] = await server.write(request)
                return
            if server.served.logprobs == NONE:
                return
            scored = await server.score(request, FORMS, withheld=True)
        except CallFailed:
            if server.served.logprobs == before.logprobs:
                raise
            continue
        if server.served.logprobs == TOKEN_IDS and not await _ids_given(server, request, scored):
            # An older vLLM overlooks the ids and returns the most probable tokens.
            server.served = replace(server.served, logprobs=f"top-{TOP[0]}")
            continue
        if scored.tokens or scored.refusal is not None:
            found.scored[request] = scored
        return


async def _ids_given(server: Server, request: LabelRequest, scored: Scored) -> bool:
    labels = await server.labels(request, FORMS)
    return all(None not in values for values in labels.found(scored.tokens).values())


async def _settle_labels(
    server: Server, labels: Sequence[LabelRequest], label_forms: Literal["best", "sum"], found: Found
) -> None:
    firsts = _firsts(labels)
    if not found.scored:
        # Whoever withholds log-probabilities once may do so always: a second request says it.
        others = [r for r in labels if r not in found.scored][:WITHHELD]
        again = await _score_all(server, others[-1:], found)
        if not again:
            server.served = replace(server.served, logprobs=NONE)
            return
    rest = [request for request in firsts if request not in found.scored and request not in found.failed]
    await _score_all(server, rest, found)
    weights = dict.fromkeys(FORMS, 0.0)
    complete = False
    for request, scored in found.scored.items():
        sought = (await server.labels(request, FORMS)).found(scored.tokens)
        complete |= any(None not in values for values in sought.values())
        for form, mass in masses(sought).items():
            weights[form] += mass
    if not complete and any(scored.tokens for scored in found.scored.values()):
        raise ModelError(_no_label(found))
    found.forms = FORMS if label_forms == "sum" else (max(FORMS, key=lambda form: weights[form]),)


async def _score_all(server: Server, requests: Sequence[LabelRequest], found: Found) -> int:
    """Score requests at the same time, keep what came of it, and return how many gave tokens."""
    scoring = (server.score(request, FORMS, withheld=True) for request in requests)
    results: list[Any] = await asyncio.gather(*scoring, return_exceptions=True)
    given = 0
    for request, result in zip(requests, results, strict=True):
        if isinstance(result, Scored):
            if result.tokens or result.refusal is not None:
                found.scored[request] = result
                given += 1
        elif isinstance(result, CallFailed):
            found.failed[request] = result
        elif not isinstance(result, AskingStopped):
            raise result
    return given


def _no_label(found: Found) -> str:
    request, scored = max(found.scored.items(), key=lambda pair: len(pair[1].tokens))
    first = ", ".join(repr(token.text) for token in scored.tokens[:5])
    return (
        f"In none of {len(found.scored)} replies are the labels {', '.join(request.labels)} all among the first tokens "
        f"that the server gives; the most probable of them are {first}. Ask for a letter in the prompt, take other "
        "--labels, another --endpoint, or --readout one-letter."
    )
