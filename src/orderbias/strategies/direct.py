"""The direct answer: the usual prompt, answered in writing at once (two-factors, A.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orderbias.items import Item
from orderbias.prompts import Prompter
from orderbias.strategies import Asking, ask_text
from orderbias.strategies.extraction import OPENING_FIRST, LetterRule
from orderbias.strategies.writing import AT_ONCE, Writing, read_letter


@dataclass(frozen=True, slots=True)
class Direct:
    """Ask with the usual prompt; the answer is the letter that the reply opens with, else that of chain of thought.

    Parameters
    ----------
    writing
        How replies are written.
    rule
        How the letter is read.

    Examples
    --------
    >>> from orderbias.backends import TextReply
    >>> from orderbias.prompts import Template
    >>> asking = Direct()(Item("1", "2 + 2?", ("3", "4")), (1, 0), Template(), ())
    >>> next(asking).prompt.endswith("Answer:")
    True
    >>> try:
    ...     asking.send(TextReply(" A. 4"))
    ... except StopIteration as done:
    ...     print(done.value.place, done.value.found)
    0 opening
    """

    writing: Writing = AT_ONCE
    rule: LetterRule = OPENING_FIRST

    def __call__(
        self, item: Item, positions: Sequence[int], template: Prompter, shots: Sequence[Item], repeat: int = 0
    ) -> Asking:
        """Return the generator that asks."""
        prompt = template.render(item, positions, shots)
        reply = yield from ask_text(self.writing.request(item, positions, prompt, template.system, repeat))
        return read_letter(reply, len(item.options), self.rule)
