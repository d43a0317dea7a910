"""The client of the API, made so that a server can neither send a call elsewhere nor fill the memory; asks nothing.

Its HTTP library has had two names; what is needed of it is taken from the objects that it makes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from orderbias.backends._openai_address import Address
from orderbias.errors import MissingExtra

#: Bytes of a reply. The longest honest ones list a whole vocabulary with its log-probabilities: some 40 MB.
MOST_BYTES = 128_000_000


class TooLong(Exception):
    """A reply that is longer than any honest one."""


class _Bounded:
    """The bytes of a reply, up to :data:`MOST_BYTES`."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > MOST_BYTES:
                raise TooLong
            yield part

    async def aclose(self) -> None:
        """Let the connection go."""
        await self._inner.aclose()


async def _bound(response: Any) -> None:
    kind = next(one for one in type(response.stream).__mro__ if one.__name__ == "AsyncByteStream")
    response.stream = type("BoundedStream", (_Bounded, kind), {})(response.stream)


def client(address: Address, timeout: float) -> Any:
    """Return a client that tries once, follows nowhere, and reads no more than a reply can be.

    Raises
    ------
    MissingExtra
        If the package is not installed.
    """
    try:
        import openai
    except ImportError as e:
        raise MissingExtra("openai", "api") from e
    http = openai.DefaultAsyncHttpxClient(
        base_url=address.url, timeout=timeout, follow_redirects=False, event_hooks={"response": [_bound]}
    )
    return openai.AsyncOpenAI(
        api_key=address.key, base_url=address.url, timeout=timeout, max_retries=0, http_client=http
    )
