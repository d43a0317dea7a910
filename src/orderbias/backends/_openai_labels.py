"""Labels among the tokens that may come first; must not know how they were asked for.

Only the token that *is* a label counts: the label itself, or a space and the label, as one whole token. What merely
looks like it (another case, another alphabet, the other form) is left out and counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from orderbias.backends._openai_replies import Token, looks_like

#: The ids of labels by form, where the server tells them.
Ids = Mapping[str, tuple[int, ...]]

#: Look-alikes that are named in a notice.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Labels:
    """What is looked for: labels by place, in these forms (what may stand before them), by id where known."""

    labels: tuple[str, ...]
    forms: tuple[str, ...]
    ids: Ids | None = None

    def found(self, tokens: Sequence[Token]) -> dict[str, list[float | None]]:
        """Return for each form the log-probability of each label; None where it is not there.

        Examples
        --------
        >>> Labels(("A", "B"), ("", " ")).found([Token("A", -0.5), Token(" B", -1.0), Token("b", -2.0)])
        {'': [-0.5, None], ' ': [None, -1.0]}
        """
        by_text: dict[str, float] = {}
        for token in tokens:  # the most probable first, so that of two with one text the first counts
            for name in (token.text, *(() if token.id is None else (_by_id(token.id),))):
                by_text.setdefault(name, token.logprob)
        return {form: [by_text.get(name) for name in self._names(form)] for form in self.forms}

    def _names(self, form: str) -> Iterable[str]:
        if self.ids is None:
            return [form + label for label in self.labels]
        return [_by_id(i) for i in self.ids.get(form, ())] or [_by_id(-1)] * len(self.labels)

    def look_alikes(self, tokens: Sequence[Token]) -> list[Token]:
        """Return the tokens that look like a label and are none."""
        names = {name for form in self.forms for name in self._names(form)}
        others = [token for token in tokens if token.text not in names]
        return [token for token in others if any(looks_like(token.text, label) for label in self.labels)]


def _by_id(token_id: int) -> str:
    """Write a token as vLLM does where it is asked for ids."""
    return f"token_id:{token_id}"


def summed(found: Mapping[str, Sequence[float | None]]) -> list[float | None]:
    """Return the log-probability of each label over its forms; None unless every form is there.

    Examples
    --------
    >>> [v and round(v, 3) for v in summed({"": [-1.0, None], " ": [-1.0, -2.0]})]
    [-0.307, None]
    """
    totals: list[float | None] = []
    for values in zip(*found.values(), strict=True):
        known = [v for v in values if v is not None]
        totals.append(math.log(sum(math.exp(v) for v in known)) if len(known) == len(values) else None)
    return totals


def masses(found: Mapping[str, Sequence[float | None]]) -> dict[str, float]:
    """Return the probability that the labels have together, by form."""
    return {form: sum(math.exp(v) for v in values if v is not None) for form, values in found.items()}


@dataclass(slots=True)
class LookAlikes:
    """Counts tokens that look like labels over the replies of a run."""

    n_replies: int = 0
    _replies: Counter[str] = field(default_factory=Counter)
    _mass: dict[str, float] = field(default_factory=dict)

    def count(self, tokens: Iterable[Token]) -> None:
        """Count those of one reply."""
        self.n_replies += 1
        for token in tokens:
            self._replies[token.text] += 1
            self._mass[token.text] = self._mass.get(token.text, 0.0) + math.exp(token.logprob)

    def notice(self) -> str | None:
        """Say which were left out, the weightiest first; None where there were none."""
        if not self._replies:
            return None
        named = sorted(self._mass, key=lambda text: -self._mass[text])[:_NAMED]
        said = ", ".join(
            f"{text!r} in {self._replies[text]:,} (probability {self._mass[text] / self._replies[text]:.2g})"
            for text in named
        )
        rest = len(self._replies) - len(named)
        return f"Tokens that look like labels and are none were left out of {self.n_replies:,} replies: {said}" + (
            f", and {rest} more." if rest else "."
        )
