"""Chain of thought: the usual prompt, its cue replaced by a request to reason first (two-factors, A.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orderbias.instructions import step_by_step
from orderbias.items import Item
from orderbias.prompts import Prompter
from orderbias.strategies import Asking, ask_text
from orderbias.strategies.extraction import TRACE, LetterRule
from orderbias.strategies.writing import IN_FULL, Writing, read_letter


@dataclass(frozen=True, slots=True)
class ChainOfThought:
    """Ask for reasoning that ends with an answer; the answer is the latest valid explicit one.

    The prompt names the letters that ``rule`` takes as valid: the first four in the paper, whatever K.

    Parameters
    ----------
    writing
        How replies are written.
    rule
        How the letter is read.

    Examples
    --------
    >>> from orderbias.prompts import Template
    >>> asking = ChainOfThought()(Item("1", "2 + 2?", ("3", "4")), (1, 0), Template(), ())
    >>> next(asking).prompt.splitlines()[-1][-38:]
    '"The answer is [X]" where X is A or B.'
    """

    writing: Writing = IN_FULL
    rule: LetterRule = TRACE

    def __call__(
        self, item: Item, positions: Sequence[int], template: Prompter, shots: Sequence[Item], repeat: int = 0
    ) -> Asking:
        """Return the generator that asks."""
        n_options = len(item.options)
        labels = template.labels_for(n_options)[: self.rule.valid_for(n_options)]
        prompt = step_by_step(template.render(item, positions, shots), [label.strip("()") for label in labels])
        reply = yield from ask_text(self.writing.request(item, positions, prompt, template.system, repeat))
        return read_letter(reply, n_options, self.rule)
