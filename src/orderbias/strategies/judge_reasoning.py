"""A verdict that a judge writes at the end of its reasoning, in double brackets; read from its own reply alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orderbias.backends import TextRequest
from orderbias.items import Item
from orderbias.prompts import Prompter
from orderbias.strategies import Answer, Asking, ask_text, draw_seed
from orderbias.strategies.extraction import after_thinking
from orderbias.verdicts import UNREAD, read_reply


@dataclass(frozen=True, slots=True)
class WrittenVerdict:
    """Ask for a reply and read its verdict: ``[[A]]`` the answer shown first, ``[[B]]`` the second, ``[[C]]`` a tie.

    A reply without a verdict, with two different ones, or with a tie where none was offered is ``unparsed``.

    Parameters
    ----------
    max_tokens
        A reply is cut off after so many tokens.
    temperature
        0 for the most probable reply, above it for one that is drawn.
    seed
        Decides what is drawn, with the query.
    """

    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0

    def __call__(
        self, item: Item, positions: Sequence[int], template: Prompter, shots: Sequence[Item], repeat: int = 0
    ) -> Asking:
        """Return the generator that asks."""
        request = TextRequest(
            item.id,
            tuple(int(p) for p in positions),
            template.render(item, positions, shots),
            template.system,
            self.max_tokens,
            self.temperature,
            draw_seed(self.seed, item.id, positions, repeat) if self.temperature else 0,
        )
        reply = yield from ask_text(request)
        if reply.text is None:
            return Answer(None, status=reply.status, text=reply.reason, tokens_in=reply.tokens_in)
        place = read_reply(after_thinking(reply.text))
        read = place != UNREAD and place < len(item.options)
        return Answer(
            place if read else None,
            status="ok" if read else "unparsed",
            text=reply.text,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
        )
