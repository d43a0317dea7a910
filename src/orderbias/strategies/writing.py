"""How replies are written, whatever they are for: length, temperature, seed; and the answer that is a letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orderbias.backends import TextReply, TextRequest
from orderbias.errors import ArgumentError
from orderbias.items import Item
from orderbias.strategies import Answer, draw_seed
from orderbias.strategies.extraction import LetterRule

#: Tokens of a reply that is to be a letter, and of one that reasons or answers freely (label-free).
SHORT, LONG = 32, 500


@dataclass(frozen=True, slots=True)
class Writing:
    """How replies are written.

    Parameters
    ----------
    max_tokens
        A reply is cut off after so many tokens.
    thinking_tokens
        Allowed besides, for a model that thinks before it replies: its thoughts share the budget of the reply.
    temperature
        0 for the most probable reply, above it for one that is drawn.
    seed
        Decides what is drawn, with the query.

    Raises
    ------
    ArgumentError
        If a number is below its least.
    """

    max_tokens: int = LONG
    thinking_tokens: int = 0
    temperature: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("max_tokens", 1), ("thinking_tokens", 0), ("temperature", 0)):
            if not getattr(self, name) >= least:
                raise ArgumentError(f"`{name}` must be {least} or more. Got {getattr(self, name)}.")

    def request(
        self,
        item: Item,
        positions: Sequence[int],
        prompt: str,
        system: str | None,
        repeat: int,
        *,
        wants: str = "letter",
        shows: tuple[int, ...] | None = None,
        max_tokens: int | None = None,
    ) -> TextRequest:
        """Return the request for a reply; one that shows not all options is the same under every ordering.

        Parameters
        ----------
        item, positions, prompt, system, repeat
            What is asked, and how it is put.
        wants, shows
            As in :class:`~orderbias.backends.TextRequest`.
        max_tokens
            Other than usual.
        """
        places = tuple(range(len(item.options))) if shows is not None else tuple(int(p) for p in positions)
        drawn = draw_seed(self.seed, f"{item.id} {shows}" if shows else item.id, places, repeat)
        return TextRequest(
            item.id,
            places,
            prompt,
            system,
            (max_tokens or self.max_tokens) + self.thinking_tokens,
            self.temperature,
            drawn if self.temperature else 0,
            wants,
            shows,
        )


#: A reply that is to be short, and one that reasons or answers freely.
AT_ONCE, IN_FULL = Writing(SHORT), Writing(LONG)


def read_letter(reply: TextReply, n_options: int, rule: LetterRule) -> Answer:
    """Return the answer of a reply that is to give a letter."""
    if reply.text is None:
        return Answer(None, status=reply.status, text=reply.reason, tokens_in=reply.tokens_in)
    read = rule.read(reply.text, n_options, reply.finished)
    return Answer(
        read.place,
        status=read.status,
        text=reply.text,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        found=read.found,
    )
