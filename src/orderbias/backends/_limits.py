"""How much may be asked of a server, and how fast; must not know what is asked or over which wire.

Everything in here belongs to one event loop and is never touched from another thread, but for reading.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any

from orderbias.backends._prices import Price
from orderbias.errors import ArgumentError, AskingStopped, MissingExtra

#: Seconds before the second try, doubled with each one more; and the longest of these pauses.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
#: Tokens a minute are handed out in portions of so many parts of a minute, so that no minute has many more.
_PORTIONS = 12


@dataclass(frozen=True, slots=True)
class Used:
    """Calls, and the tokens of their prompts and replies."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Used) -> Used:
        return Used(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)

    def __sub__(self, other: Used) -> Used:
        return self + Used(-other.calls, -other.tokens_in, -other.tokens_out)

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies together."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True)
class Caps:
    """What one command may use at most: calls (every try is one), tokens, and money at a price."""

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    price: Price | None = None

    def __post_init__(self) -> None:
        if self.cost is not None and not self.cost >= 0:  # a cap that is no number would hold nothing back
            raise ArgumentError(f"--max-cost must be a number of 0 or more. Got {self.cost}.")
        if self.cost is not None and self.price is None:
            raise ArgumentError(
                "--max-cost needs --prices: a JSON or TOML file with the price of a million tokens of this model."
            )

    def passed(self, used: Used) -> str | None:
        """Name the cap that is passed, as option and value; None where there is none."""
        if self.calls is not None and used.calls > self.calls:
            return f"--max-calls {self.calls:,}"
        if self.tokens is not None and used.tokens > self.tokens:
            return f"--max-tokens-total {self.tokens:,}"
        # Sums of prices are rounded; a millionth of a cap is no overrun.
        if self.cost is not None and self.cost_of(used) > self.cost * (1 + 1e-6):
            return f"--max-cost {self.cost:g}"
        return None

    def cost_of(self, used: Used) -> float:
        """Return what was used in money; 0 without a price."""
        return 0.0 if self.price is None else self.price.of(used.tokens_in, used.tokens_out)


class Ledger:
    """What was used, and what the calls under way may come to; a call is entered before it is sent.

    Since a call is entered with the most that it can use, no cap is ever passed. What it did not use is given back
    when it ends, so that a call for which there is no room waits as long as others are under way.
    """

    def __init__(self, caps: Caps) -> None:
        self.caps = caps
        self.used = Used()
        #: What other runs under the same caps have used.
        self.before = Used()
        self._under_way = Used()
        self._changed = asyncio.Event()

    async def enter(self, most: Used) -> None:
        """Enter a call with the most that it can use.

        Raises
        ------
        AskingStopped
            If a cap leaves no room for it.
        """
        while (cap := self.caps.passed(self.before + self.used + self._under_way + most)) is not None:
            if self._under_way.calls == 0:
                raise AskingStopped(f"{cap} is reached: {self.said()}. One more call could pass it.")
            await self._changed.wait()
        self._under_way += most

    def leave(self, most: Used, used: Used) -> None:
        """End a call that was entered with ``most`` and has used ``used``."""
        self._under_way -= most
        self.used += used
        self._changed.set()  # wakes all that wait, and nobody who comes later
        self._changed.clear()

    def said(self) -> str:
        """Say what was used, under these caps in all.

        Examples
        --------
        >>> Ledger(Caps()).said()
        '0 calls, 0 tokens of prompts and 0 of replies'
        """
        used = self.before + self.used
        cost = "" if self.caps.price is None else f", a cost of {money(self.caps.cost_of(used))}"
        return f"{used.calls:,} calls, {used.tokens_in:,} tokens of prompts and {used.tokens_out:,} of replies{cost}"


def money(amount: float) -> str:
    """Write an amount in the currency of the table of prices.

    Examples
    --------
    >>> money(0), money(0.00031), money(1234.5)
    ('0.00', '0.00031', '1,234.50')
    """
    return f"{amount:,.2f}" if amount >= 0.1 or amount == 0 else f"{amount:.2g}"


def pause_before(n: int, asked: float | None) -> float:
    """Return the seconds to wait before another try, the ``n``-th: twice as long each time, or as the server asked.

    Up to a quarter less by chance, so that calls which failed together are not tried together.

    Examples
    --------
    >>> [0.75 * most <= pause_before(n, None) <= most for n, most in ((1, 0.5), (2, 1.0), (5, 8.0), (50, 30.0))]
    [True, True, True, True]
    >>> pause_before(1, 12.0)
    12.0
    """
    longest: float = min(FIRST_PAUSE * 2 ** (n - 1), LONGEST_PAUSE)
    return max(longest * random.uniform(0.75, 1.0), asked or 0.0)


class Pace:
    """Calls and tokens a minute, and pauses that the server asked for.

    Parameters
    ----------
    rpm, tpm
        Calls and tokens (of prompts, and of replies at most) a minute. Calls are spread evenly over it.

    Raises
    ------
    MissingExtra
        If there is a rate and aiolimiter is not installed.
    """

    def __init__(self, rpm: int | None = None, tpm: int | None = None) -> None:
        self._calls = _limiter(1, 60 / rpm) if rpm else None
        self._portion = 1.0 if tpm is None else max(tpm / _PORTIONS, 1.0)
        self._tokens = _limiter(self._portion, 60 * self._portion / tpm) if tpm else None
        self._resume = 0.0

    async def wait(self, tokens: int) -> None:
        """Return when a call with so many tokens may be sent."""
        if self._tokens is not None:
            left = float(tokens)
            while left > 0:
                await self._tokens.acquire(min(left, self._portion))
                left -= self._portion
        if self._calls is not None:
            await self._calls.acquire()
        clock = asyncio.get_running_loop().time
        while (pause := self._resume - clock()) > 0:
            await asyncio.sleep(pause)

    def pause(self, seconds: float) -> None:
        """Let no call be sent for some time: limits are the account's, not the call's."""
        self._resume = max(self._resume, asyncio.get_running_loop().time() + seconds)


def _limiter(amount: float, seconds: float) -> Any:
    try:
        from aiolimiter import AsyncLimiter
    except ImportError as e:
        raise MissingExtra("aiolimiter", "api") from e
    return AsyncLimiter(amount, seconds)
