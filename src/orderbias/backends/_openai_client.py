"""The client of the API, made so that a server can neither send a call elsewhere nor fill the memory; asks nothing.

Its HTTP library has had two names; what is needed of it is taken from the objects that it makes.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from typing import Any

from orderbias.backends._openai_address import Address
from orderbias.errors import MissingExtra

#: Bytes of a reply. The longest honest ones list a whole vocabulary with its log-probabilities: some 40 MB.
MOST_BYTES = 128_000_000
#: How replies may be packed that were asked for as they are: some servers pack everything.
PACKED = ("gzip", "x-gzip", "deflate")


class TooLong(Exception):
    """A reply that is longer than any honest one."""


class _Unpacking:
    """Unpacks gzip, or deflate with or without the header that it should have."""

    def __init__(self) -> None:
        self._first = b""
        self._inner: Any = None

    def __call__(self, part: bytes, most: int) -> bytes:
        if self._inner is None:
            self._first += part
            if len(self._first) < 2:
                return b""
            # 32 more than the longest window: the header says whether it is gzip or zlib; less than 0: there is none.
            headed = self._first[:2] == b"\x1f\x8b" or (
                self._first[0] & 15 == 8 and int.from_bytes(self._first[:2], "big") % 31 == 0
            )
            self._inner = zlib.decompressobj(zlib.MAX_WBITS | 32 if headed else -zlib.MAX_WBITS)
            part = self._first
        return bytes(self._inner.decompress(part, most))


class _Bounded:
    """The bytes of a reply, unpacked, up to :data:`MOST_BYTES`: a small packed reply can hold gigabytes."""

    def __init__(self, inner: Any, *, packed: bool) -> None:
        self._inner = inner
        self._unpack = _Unpacking() if packed else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            shown = part if self._unpack is None else self._unpack(part, MOST_BYTES - size + 1)
            size += len(shown)
            if size > MOST_BYTES:
                raise TooLong
            yield shown

    async def aclose(self) -> None:
        """Let the connection go."""
        await self._inner.aclose()


async def _bound(response: Any) -> None:
    kind = next(one for one in type(response.stream).__mro__ if one.__name__ == "AsyncByteStream")
    packed = response.headers.get("content-encoding", "").strip().lower() in PACKED
    response.headers.pop("content-encoding", None)  # it is unpacked here or, packed in another way, not at all
    response.stream = type("BoundedStream", (_Bounded, kind), {})(response.stream, packed=packed)


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
