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
#: What a byte unpacks to at most, by how a reply is packed. Ours are asked for unpacked, but some servers pack all.
UNPACKED = {"": 1, "identity": 1, "gzip": 1032, "x-gzip": 1032, "deflate": 1032}


class TooLong(Exception):
    """A reply that is longer than any honest one, or may be once it is unpacked."""


class _Bounded:
    """The bytes of a reply, up to ``most``."""

    def __init__(self, inner: Any, most: int) -> None:
        self._inner, self._most = inner, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > self._most:
                raise TooLong
            yield part

    async def aclose(self) -> None:
        """Let the connection go."""
        await self._inner.aclose()


async def _bound(response: Any) -> None:
    kind = next(one for one in type(response.stream).__mro__ if one.__name__ == "AsyncByteStream")
    packed = response.headers.get("content-encoding", "").strip().lower()
    most = MOST_BYTES // UNPACKED[packed] if packed in UNPACKED else 0
    response.stream = type("BoundedStream", (_Bounded, kind), {})(response.stream, most)


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
        base_url=address.url,
        timeout=timeout,
        follow_redirects=False,
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [_bound]},
    )
    return openai.AsyncOpenAI(
        api_key=address.key, base_url=address.url, timeout=timeout, max_retries=0, http_client=http
    )
