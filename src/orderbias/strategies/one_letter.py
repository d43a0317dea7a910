"""A label written as the whole reply: what remains to be asked of a model that shows no log-probabilities."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from orderbias.backends import TextRequest
from orderbias.items import Item
from orderbias.prompts import Prompter
from orderbias.strategies import Answer, Asking, ask_text, draw_seed
from orderbias.strategies.extraction import LetterRule, after_thinking
from orderbias.strategies.writing import read_letter

READOUT = "one-letter"

#: Every option's letter may be the answer, wherever the reply has it.
_RULE = LetterRule(opening=True, n_valid=None)

#: What may enclose a label, and what may come between it and the text of its option.
_ENCLOSING = r"[\s*_`\"'()\[\]{}$]*"
_LEAD = r"(?:(?:the\s+)?answer\s*(?:is\b)?\s*:?)?"


@dataclass(frozen=True, slots=True)
class OneLetter:
    """Ask for a reply that is a label and nothing else, and read it; the answer has no log-probabilities.

    Letters are read as those of any direct answer are. Of other labels, a reply that is anything but one of them, alone
    or before its option, is ``unparsed``. What only looks like a label is none.

    Parameters
    ----------
    max_tokens
        A reply is cut off after so many tokens, those of thinking included.
    temperature
        0 for the most probable reply, above it for one that is drawn.
    seed
        Decides what is drawn, with the query.
    instruct
        Whether to ask for it in words after the prompt; a prompt may do so itself.
    """

    max_tokens: int = 16
    temperature: float = 0.0
    seed: int = 0
    instruct: bool = True

    def __call__(
        self, item: Item, positions: Sequence[int], template: Prompter, shots: Sequence[Item], repeat: int = 0
    ) -> Asking:
        """Return the generator that asks."""
        labels = template.labels_for(len(item.options))
        prompt = template.render(item, positions, shots)
        request = TextRequest(
            item.id,
            tuple(int(p) for p in positions),
            f"{prompt}\n\n{instruction(labels)}" if self.instruct else prompt,
            template.system,
            self.max_tokens,
            self.temperature,
            draw_seed(self.seed, item.id, positions, repeat) if self.temperature else 0,
        )
        reply = yield from ask_text(request)
        if labels == tuple(string.ascii_uppercase[: len(labels)]):
            return read_letter(reply, len(labels), _RULE)
        if reply.text is None:
            return Answer(None, status=reply.status, text=reply.reason, tokens_in=reply.tokens_in)
        place = read_label(after_thinking(reply.text), labels)
        return Answer(
            place,
            status="unparsed" if place is None else "ok",
            text=reply.text,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
        )


def instruction(labels: Sequence[str]) -> str:
    """Return the sentence that asks for a label.

    Examples
    --------
    >>> instruction(("A", "B", "C"))
    'Reply with A, B or C and nothing else.'
    """
    return f"Reply with {', '.join(labels[:-1])} or {labels[-1]} and nothing else."


def read_label(text: str, labels: Sequence[str]) -> int | None:
    """Return the place of the label that a reply is, or that it begins with before its option.

    Examples
    --------
    >>> [read_label(text, ("A", "B", "C")) for text in ("B", " **B**.", "(C)", "C. twelve", "Answer: A", "b", "Ａ")]
    [1, 1, 2, 2, 0, None, None]
    >>> [read_label(text, ("A", "B", "C")) for text in ("A good choice is C", "A or B", "A, B", "", "D")]
    [None, None, None, None, None]
    """
    for place, label in enumerate(labels):
        bare = label.strip("()")
        if re.fullmatch(
            rf"{_ENCLOSING}(?i:{_LEAD}){_ENCLOSING}{re.escape(bare)}{_ENCLOSING}(?:[.:)\]\n].*)?", text, re.DOTALL
        ):
            return place
    return None
