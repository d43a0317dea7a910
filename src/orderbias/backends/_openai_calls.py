"""Calls to a server until each has a usable answer: pace, caps, tries, pauses; must not know what is asked.

Retrying is done here and not by the client, so that every try is counted against the caps and the rates.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from orderbias.backends._limits import Caps, Ledger, Pace, Used, pause_before
from orderbias.backends._openai_address import Address
from orderbias.backends._openai_client import MOST_BYTES, TooLong, client
from orderbias.backends._openai_errors import asked_pause, error_of, refused_parameter
from orderbias.backends._openai_replies import Unusable, usage_of
from orderbias.errors import ArgumentError, AskingStopped, ModelError, OrderbiasError

T = TypeVar("T")

#: The longest pause that a server may ask for before the call is given up, in seconds.
LONGEST_ASKED = 600.0
#: So many calls that failed on every try, with none between that did not, and the server is taken to be gone.
FAILED_IN_A_ROW = 64

#: The largest number that a rate, a time-out or a count of tries can sensibly be.
MOST = 10**12

#: Requests under way for each call that may be (the others wait for a place, or to be asked again), and calls that a
#: cap must allow for each.
_AHEAD, _CALLS_EACH = 2, 8

#: Statuses that may pass.
_PASSING = frozenset({408, 409, 425, 429})


class CallFailed(Exception):
    """A call has no usable answer, for ``reason``; ``parameter`` is what the server does not take, if it is that."""

    def __init__(self, reason: str, status: int | None = None, parameter: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.status, self.parameter = reason, status, parameter


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a server is treated.

    Parameters
    ----------
    concurrency
        Calls under way at a time.
    rpm, tpm
        Calls and tokens a minute, at most.
    timeout
        Seconds that one try may take.
    retries
        Tries after the first.
    caps
        What may be used at most.
    """

    concurrency: int = 8
    rpm: int | None = None
    tpm: int | None = None
    timeout: float = 120.0
    retries: int = 5
    caps: Caps = field(default_factory=Caps)

    def __post_init__(self) -> None:
        for name in ("concurrency", "rpm", "tpm", "retries"):
            value = getattr(self, name)
            if value is not None and value > MOST:
                raise ArgumentError(f"--{name} must be at most {MOST:,}. Got more.")
        if not 0 < self.timeout <= MOST:
            raise ArgumentError(f"--timeout must be above 0 and at most {MOST:,} seconds. Got {self.timeout}.")

    @property
    def at_once(self) -> int:
        """How many requests must be under way so that no place is idle; few, where few calls are allowed.

        A question of several calls that a cap ends halfway is lost.
        """
        ahead, calls = _AHEAD * self.concurrency, self.caps.calls
        return ahead if calls is None else max(1, min(ahead, calls // _CALLS_EACH))


@dataclass(slots=True)
class _Failure(Exception):
    """One try that failed: whether another may do better, after how long, and what it used where that is known."""

    reason: str
    again: bool
    used: Used | None = None
    after: float | None = None
    status: int | None = None
    parameter: str | None = None


class Caller:
    """A server, asked from a thread of its own. Close it when done."""

    def __init__(self, address: Address, conduct: Conduct) -> None:
        self.address = address
        self.ledger = Ledger(conduct.caps)
        self.n_retries = 0
        self._conduct = conduct
        self._client = client(address, conduct.timeout)
        self._pace = Pace(conduct.rpm, conduct.tpm)
        self._slots = asyncio.Semaphore(conduct.concurrency)
        self._over: OrderbiasError | None = None
        self._over_set = asyncio.Event()
        self._answered = False
        self._failed_in_row = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="orderbias-api", daemon=True)
        self._thread.start()

    def start(self, asking: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin something that makes calls."""
        return asyncio.run_coroutine_threadsafe(asking, self._loop)

    def close(self) -> None:
        """Give up what is under way and end the thread."""
        if self._loop.is_closed():
            return
        with contextlib.suppress(Exception):
            self.start(self._end()).result(timeout=10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._client.close()

    async def call(self, path: str, body: Mapping[str, Any], most: Used, likely: int, read: Callable[[Any], T]) -> T:
        """Post ``body`` until ``read`` takes the reply, and return what it makes of it.

        Parameters
        ----------
        path
            Of the endpoint, after the base URL.
        body
            Of the request.
        most, likely
            What the call can use at most, and the tokens that it is likely to count against a rate.
        read
            Raises :class:`Unusable` where another try may do better.

        Raises
        ------
        CallFailed
            If no try gave a usable reply.
        AskingStopped
            If a cap leaves no room for another try, or the server is gone.
        ModelError
            If the server does not take the key.
        """
        failure: _Failure | None = None
        for n in range(self._conduct.retries + 1):
            if failure is not None:
                self.n_retries += 1
                await self._pause(n, failure)
            if self._over is not None:
                raise self._over
            try:
                result = await self._try(path, body, most, likely, read)
            except _Failure as e:
                failure = e
                if not e.again:
                    break
                continue
            self._failed_in_row, self._answered = 0, True
            return result
        assert failure is not None
        self._count(failure)
        tries = f" ({n + 1} tries)" if n else ""
        raise CallFailed(f"{failure.reason}{tries}", failure.status, failure.parameter)

    async def look(self, address: str, body: Mapping[str, Any] | None = None) -> Any:
        """Ask once for what needs no model (its name, the tokens of a text); None where there is no such thing."""
        method = self._client.get if body is None else self._client.post
        options = {} if body is None else {"body": dict(body)}
        with contextlib.suppress(Exception):
            async with asyncio.timeout(self._conduct.timeout):  # it may drip, as a reply may
                return await method(address, cast_to=object, **options)
        return None

    async def _try(self, path: str, body: Mapping[str, Any], most: Used, likely: int, read: Callable[[Any], T]) -> T:
        async with self._slots:
            await self._pace.wait(likely)
            if self._over is not None:
                raise self._over
            try:
                await self.ledger.enter(most)
            except AskingStopped as e:
                self._stop(e)
                raise
            # What a call used is unknown until it is answered: if it is cut off, the most that it can have been.
            used = most
            try:
                data = await self._sent(path, body)
                counted = usage_of(data)
                used = most if counted is None else Used(1, *counted)
                return read(data)
            except Unusable as e:
                raise _Failure(self.address.clean(str(e)), True, used) from None
            except _Failure as e:
                used = e.used or used
                raise
            finally:
                self.ledger.leave(most, used)

    async def _sent(self, path: str, body: Mapping[str, Any]) -> Any:
        import openai

        try:
            # The client's own time-out is one of silence; a reply that drips would never end.
            async with asyncio.timeout(self._conduct.timeout):
                text = await self._client.post(path, body=dict(body), cast_to=str)
        except openai.APIStatusError as e:
            raise self._refused(e) from None
        except (openai.APITimeoutError, TimeoutError):
            raise _Failure(f"no answer within {self._conduct.timeout:g} s", True) from None
        except openai.APIConnectionError as e:
            # Nothing can have been used where there was no connection.
            unconnected = type(e.__cause__).__name__.startswith("Connect")
            why = "the server cannot be reached" if unconnected else "the connection was cut"
            raise _Failure(why, True, Used(1) if unconnected else None) from None
        except TooLong:
            raise _Failure(f"the reply is longer than {MOST_BYTES:,} bytes", False) from None
        except Exception as e:  # whatever else a reply can do to its reader; traces could show what was sent
            raise _Failure(f"the reply cannot be read ({type(e).__name__})", True) from None
        try:
            return json.loads(self.address.without_key(text))
        except (ValueError, RecursionError):  # the second of brackets within brackets
            raise Unusable("the reply is not JSON") from None

    def _refused(self, e: Any) -> _Failure:
        """Say what a status other than 200 means, and whether it may pass."""
        status, told = e.status_code, error_of(e.body)
        code = str(told.get("code") or told.get("type") or "")
        if status == 401 or (status == 403 and not self._answered):
            # The server's own words may repeat the key.
            error = ModelError(f"The server does not take the key (status {status}). {self.address.key_advice}")
            self._stop(error)
            raise error from None
        message = self.address.clean(str(told.get("message") or "")) or "no reason given"
        reason = f"status {status}: {message}"
        if 300 <= status < 400:
            # Followed, it would be a call that no cap counts, answered by a server that no setting names.
            reason = f"status {status}: the server sends the call elsewhere. Give that address as --base-url"
        if status == 402 or (status == 429 and code == "insufficient_quota"):
            stop = AskingStopped(f"The account has no more to spend ({reason}).")
            self._stop(stop)
            raise stop from None
        after = asked_pause(e.response.headers)
        again = (status in _PASSING or status >= 500) and (after is None or after <= LONGEST_ASKED)
        if again and after is not None and status in (429, 503):
            self._pace.pause(after)
        parameter = None if again else refused_parameter(told)
        return _Failure(reason, again, Used(1), after, status, parameter)

    async def _pause(self, n: int, failure: _Failure) -> None:
        """Wait before try ``n``; less where all is over."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over_set.wait(), pause_before(n, failure.after))

    def _count(self, failure: _Failure) -> None:
        """Stop once nothing works any more: each further call would cost its tries for nothing."""
        if not failure.again:
            return
        self._failed_in_row += 1
        if self._failed_in_row >= FAILED_IN_A_ROW:
            self._stop(
                AskingStopped(
                    f"The last {FAILED_IN_A_ROW} calls failed on every try, in the end because {failure.reason}."
                )
            )

    def _stop(self, error: OrderbiasError) -> None:
        if self._over is None:
            self._over = error
            self._over_set.set()
