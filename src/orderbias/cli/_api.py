"""What the commands that ask a model behind an API share: from options to a backend that knows its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from orderbias.errors import ArgumentError
from orderbias.strict_json import loads

if TYPE_CHECKING:
    from orderbias.backends.openai import OpenAIBackend


@dataclass(frozen=True, slots=True)
class ApiOptions:
    """How a server is asked; the fields are the command's options."""

    base_url: str | None = None
    key_env: str | None = None
    endpoint: Literal["auto", "chat", "completions"] = "auto"
    readout: Literal["auto", "first-token", "one-letter"] = "auto"
    letter_tokens: int = 16
    concurrency: int = 8
    rpm: int | None = None
    tpm: int | None = None
    timeout: float = 120.0
    retries: int = 5
    max_calls: int | None = None
    max_tokens_total: int | None = None
    max_cost: float | None = None
    prices: str | None = None
    extra_body: str | None = None


def unused(options: ApiOptions, names: Sequence[str]) -> list[str]:
    """Return those of some options that were given, as they are written on the command line."""
    defaults = {f.name: f.default for f in fields(options)}
    return [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) != defaults[name]]


def load_api(
    name: str,
    options: ApiOptions,
    *,
    chat: bool,
    label_forms: Literal["best", "sum"],
    settled: Mapping[str, str],
) -> OpenAIBackend:
    """Name a model of a server; nothing is sent yet."""
    from orderbias.backends._limits import Caps
    from orderbias.backends._openai_calls import Conduct
    from orderbias.backends._prices import read_price
    from orderbias.backends.openai import OpenAIBackend

    if chat and options.endpoint == "completions":
        raise ArgumentError("--chat must go with --endpoint chat. Got --endpoint completions.")
    price = None if options.prices is None else read_price(options.prices, name)
    return OpenAIBackend.connect(
        name,
        base_url=options.base_url,
        key_env=options.key_env,
        conduct=Conduct(
            options.concurrency,
            options.rpm,
            options.tpm,
            options.timeout,
            options.retries,
            Caps(options.max_calls, options.max_tokens_total, options.max_cost, price),
        ),
        endpoint="chat" if chat else options.endpoint,
        label_forms=label_forms,
        extra=_extra(options.extra_body),
        settled=settled,
    )


def _extra(text: str | None) -> Mapping[str, Any]:
    if text is None:
        return {}
    try:
        extra = loads(text)
    except ValueError as e:
        # What was given is not repeated: some have keys among such fields.
        raise ArgumentError(f"--extra-body must be a JSON object: {e}.") from e
    if not isinstance(extra, dict):
        raise ArgumentError('--extra-body must be a JSON object, such as {"top_k": 0}. It is none.')
    if "temperature" in extra:
        raise ArgumentError("--extra-body must leave the temperature to --temperature, which a run remembers.")
    return extra
