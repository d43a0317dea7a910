"""What a server says of a call that it does not answer: why, for how long, and what it does not take; asks nothing."""

from __future__ import annotations

import contextlib
import email.utils
import json
import re
import time
from collections.abc import Mapping
from typing import Any

#: Names of parameters that some servers or models refuse.
_REFUSABLE = (
    "max_completion_tokens", "max_tokens", "top_logprobs", "logprob_token_ids", "return_tokens_as_token_ids",
    "logprobs", "temperature", "top_p", "seed",
)  # fmt: skip
#: Where a name in a message means that it is not taken at all, not that its value is too large.
_NOT_TAKEN = re.compile(
    r"unsupported|not support|only the default|unknown|unrecogni[sz]ed|not permitted|not allowed|extra inputs|instead",
    re.IGNORECASE,
)


def error_of(body: Any) -> Mapping[str, Any]:
    """Find the error in what a server sent with it; each has its own wrapping."""
    for found in (body.get("error") if isinstance(body, Mapping) else None, body):
        if isinstance(found, Mapping):
            return found if found.get("message") else {**found, "message": json.dumps(dict(found), default=str)}
        if isinstance(found, str) and found.strip():
            return {"message": found.strip()}
    return {}


def refused_parameter(told: Mapping[str, Any]) -> str | None:
    """Return the parameter that the server does not take, by its own word or as its message names it.

    Of log-probabilities it may also be the number that it does not give.
    """
    message = f"{told.get('code') or ''} {told.get('message') or ''}"
    named = told.get("param")
    if not isinstance(named, str) or named not in _REFUSABLE:
        found = re.search(rf"\b({'|'.join(_REFUSABLE)})\b", message)
        named = found[1] if found else None
    taken = named is None or not ("logprob" in named or _NOT_TAKEN.search(message))
    return None if taken else named


def asked_pause(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to be left alone; None where it does not."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with contextlib.suppress(TypeError, ValueError):
            seconds = float(headers.get(name, "")) / unit
            if seconds >= 0:
                return seconds
    with contextlib.suppress(TypeError, ValueError):
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(date.timestamp() - time.time(), 0.0)
    return None
