"""What a server's reply says: its text, its first token's log-probabilities, what it used; sends nothing.

Servers agree on the outline only, so every field may be missing, null or of another type. Whatever cannot be used is
:class:`Unusable`, never a number.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orderbias.backends import TextReply

#: A log-probability below this is a filler (-9999): no double is so small.
FILLER_BELOW = -745.0
#: Rounding may leave a log-probability so far above 0.
ABOVE_ZERO = 1e-3

#: No call has more tokens; a larger count is none.
MOST_TOKENS = 2**31
#: Letters of other alphabets that look like Latin ones.
_TWINS = str.maketrans("АВЕЅІЈКМНОРСТУХаеіјорсухΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABESIJKMHOPCTYXaeijopcyxABEZHIKMNOPTYX")
#: How vocabularies write a space.
_SPACES = "\u2581\u0120"


#: Why there is no answer where a server's filter steps in.
FILTERED = "the server's filter held it back"


class Unusable(Exception):
    """A reply that came whole and cannot be used. The server may do better next time."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token that may come first, with its natural log-probability over the whole vocabulary."""

    text: str
    logprob: float
    id: int | None = None


def choice_of(data: Any) -> Mapping[str, Any]:
    """Return the first choice of a reply."""
    choices = data.get("choices") if isinstance(data, Mapping) else None
    if not isinstance(choices, Sequence) or not choices or not isinstance(choices[0], Mapping):
        error = data.get("error") if isinstance(data, Mapping) else None
        told = error.get("message") if isinstance(error, Mapping) else error
        raise Unusable(f"the server says: {told}" if isinstance(told, str) and told else "the reply has no choices")
    if choices[0].get("finish_reason") == "error":
        raise Unusable("the server ended the reply with an error")
    return choices[0]


def usage_of(data: Any) -> tuple[int, int] | None:
    """Return the tokens of prompt and reply, where the server counts them.

    Examples
    --------
    >>> usage_of({"usage": {"prompt_tokens": 12, "completion_tokens": 1}})
    (12, 1)
    >>> usage_of({"usage": None}) is None
    True
    """
    usage = data.get("usage") if isinstance(data, Mapping) else None
    if not isinstance(usage, Mapping):
        return None
    counts = usage.get("prompt_tokens"), usage.get("completion_tokens", 0)
    if any(not isinstance(n, int) or isinstance(n, bool) or not 0 <= n < MOST_TOKENS for n in counts):
        return None
    return counts[0], counts[1]  # type: ignore[return-value]


def text_of(data: Any) -> TextReply:
    """Return what was written: ``refused`` where the server says so.

    Raises
    ------
    Unusable
        If there is no text, and the reply was not cut off before any.
    """
    choice = choice_of(data)
    message = choice.get("message")
    content = message.get("content") if isinstance(message, Mapping) else choice.get("text")
    refusal = message.get("refusal") if isinstance(message, Mapping) else None
    tokens_in, tokens_out = usage_of(data) or (0, 0)
    ending = choice.get("finish_reason")
    if isinstance(refusal, str) and refusal:
        return TextReply(None, tokens_in, tokens_out, status="refused", reason=refusal)
    if ending == "content_filter":
        return TextReply(None, tokens_in, tokens_out, status="refused", reason=FILTERED)
    if content is None and ending == "length":
        content = ""  # all of its tokens went into thinking
    if not isinstance(content, str):
        raise Unusable("the reply has no text")
    return TextReply(content, tokens_in, tokens_out, finished=ending != "length")


def first_tokens(data: Any) -> tuple[Token, ...]:
    """Return the tokens that could have come first, most probable first; fillers are left out.

    Raises
    ------
    Unusable
        If the reply has no log-probabilities.
    """
    logprobs = choice_of(data).get("logprobs")
    if not isinstance(logprobs, Mapping):
        raise Unusable("the reply has no log-probabilities")
    content = logprobs.get("content")
    rows = _of_content(content) if isinstance(content, Sequence) else _of_columns(logprobs)
    found: dict[tuple[str, int | None], Token] = {}
    for text, logprob, token_id in rows:
        if isinstance(text, str) and _is_logprob(logprob):
            token = Token(text, min(float(logprob), 0.0), token_id if isinstance(token_id, int) else None)
            found.setdefault((token.text, token.id), token)
    if not found:
        raise Unusable("the reply has no log-probabilities")
    return tuple(sorted(found.values(), key=lambda token: -token.logprob))


def _is_logprob(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and FILLER_BELOW <= value <= ABOVE_ZERO  # NaN lies between no two numbers


def _of_content(content: Sequence[Any]) -> Iterable[tuple[Any, Any, Any]]:
    """Read the form of the chat endpoint, which llama.cpp has everywhere: one entry a token, with its rivals."""
    if not content or not isinstance(content[0], Mapping):
        return
    rivals = content[0].get("top_logprobs")
    for entry in (*(rivals if isinstance(rivals, Sequence) else ()), content[0]):
        if isinstance(entry, Mapping):
            yield _spelled(entry), entry.get("logprob"), entry.get("id")


def _spelled(entry: Mapping[str, Any]) -> Any:
    """Return a token's text; of its bytes where there are any, since half a character has no text."""
    spelled = entry.get("bytes")
    if not isinstance(spelled, Sequence) or isinstance(spelled, str) or not spelled:
        return entry.get("token")
    try:
        return bytes(spelled).decode(errors="backslashreplace")
    except (TypeError, ValueError):
        return entry.get("token")


def _of_columns(logprobs: Mapping[str, Any]) -> Iterable[tuple[Any, Any, Any]]:
    """Read the form of the completions endpoint: columns of tokens, and a mapping of rivals for each."""
    rivals = logprobs.get("top_logprobs")
    if isinstance(rivals, Sequence) and rivals and isinstance(rivals[0], Mapping):
        for text, logprob in rivals[0].items():
            yield text, logprob, None
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if isinstance(tokens, Sequence) and isinstance(values, Sequence) and tokens and values:
        yield tokens[0], values[0], None


def looks_like(text: str, label: str) -> bool:
    """Whether a token looks like a label: another case, another alphabet, a space before it.

    Examples
    --------
    >>> [looks_like(text, "A") for text in ("a", " A", "А", "Ａ", "B", "An")]
    [True, True, True, True, False, False]
    """
    return _outline(text) == _outline(label)


def _outline(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text.strip().strip(_SPACES)).translate(_TWINS)
    return folded.strip().casefold()
