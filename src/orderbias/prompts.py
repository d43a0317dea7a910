"""Item and ordering in, exact prompt text and the labels of the places out; knows nothing of models or answers.

The body is the one of two-factors, A.2::

    Question: {question}
    A. {option 0}
    B. {option 1}
    Answer:

with the passage, where there is one, before the question. A solved example is the same body followed by its label.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from orderbias.errors import ArgumentError, DataError
from orderbias.items import Item
from orderbias.signature import text_hash

BODY = """\
{% if passage %}{{ passage }}
{% endif %}Question: {{ question }}
{% for option in options %}{{ option.label }}{{ separator }} {{ option.text }}
{% endfor %}Answer:"""

#: Between solved examples and the question.
SHOT_SEPARATOR = "\n\n"

_LABELS: dict[str, tuple[str, Sequence[str]]] = {
    # style: (what stands between label and option, labels by place)
    "letters": (".", string.ascii_uppercase),
    "lower": (".", string.ascii_lowercase),
    "digits": (".", [str(i + 1) for i in range(26)]),
    "parentheses": ("", [f"({c})" for c in string.ascii_uppercase]),
}
LABEL_STYLES = tuple(_LABELS)


class Prompter(Protocol):
    """Whatever puts an item into words: all that asking needs to know of a template."""

    @property
    def source(self) -> str:
        """The text of the template."""
        ...

    @property
    def labels(self) -> str:
        """The name of the style of its labels."""
        ...

    @property
    def n_shots(self) -> int:
        """How many solved examples precede the question."""
        ...

    @property
    def system(self) -> str | None:
        """A system prompt."""
        ...

    @property
    def hash(self) -> str:
        """Hash of all that decides the prompt of an item."""
        ...

    def labels_for(self, n_options: int) -> tuple[str, ...]:
        """Return the label of each place."""
        ...

    def render(self, item: Item, positions: Sequence[int], shots: Sequence[Item] = ()) -> str:
        """Return the prompt of an item whose content ``j`` is shown at place ``positions[j]``."""
        ...


@dataclass(frozen=True, slots=True)
class Template:
    """How a question is put.

    Parameters
    ----------
    source
        A Jinja template with ``question``, ``passage`` (may be None), ``options`` (in shown order, each with ``label``
        and ``text``) and ``separator``. Rendered in a sandbox; an unknown name is an error.
    labels
        One of ``LABEL_STYLES``.
    n_shots
        How many solved examples precede the question.
    system
        A system prompt, for models asked through a chat template.

    Raises
    ------
    ArgumentError
        If the template does not parse, the style is unknown, or ``n_shots`` is negative.

    Examples
    --------
    >>> item = Item("1", "2 + 2?", ("3", "4"), gold=1)
    >>> print(Template().render(item, (1, 0)))
    Question: 2 + 2?
    A. 4
    B. 3
    Answer:
    """

    source: str = BODY
    labels: str = "letters"
    n_shots: int = 0
    system: str | None = None
    _compiled: Any = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.labels not in _LABELS:
            raise ArgumentError(f"`labels` must be one of {', '.join(LABEL_STYLES)}. Got {self.labels!r}.")
        if self.n_shots < 0:
            raise ArgumentError(f"`n_shots` must be 0 or more. Got {self.n_shots}.")
        from orderbias.templating import Sandboxed

        object.__setattr__(self, "_compiled", Sandboxed(self.source))

    @property
    def hash(self) -> str:
        """Hash of all that decides the prompt of an item, but for the solved examples themselves."""
        return text_hash([self.source, self.labels, str(self.n_shots), self.system or ""])

    def labels_for(self, n_options: int) -> tuple[str, ...]:
        """Return the label of each place."""
        return tuple(_LABELS[self.labels][1][:n_options])

    def render(self, item: Item, positions: Sequence[int], shots: Sequence[Item] = ()) -> str:
        """Return the prompt of an item whose content ``j`` is shown at place ``positions[j]``.

        Parameters
        ----------
        item
            The question asked.
        positions
            A permutation of ``0..K-1``.
        shots
            Items to choose the solved examples from; see :func:`pick_shots`. They keep their canonical order.

        Raises
        ------
        ArgumentError
            If ``positions`` is no permutation of the item's options.
        DataError
            If there are too few solved examples, or one has no gold.
        """
        if sorted(positions) != list(range(len(item.options))):
            raise ArgumentError(
                f"`positions` must be a permutation of 0..{len(item.options) - 1} for item {item.id!r}. "
                f"Got {list(positions)}."
            )
        solved = [self._solved(shot) for shot in pick_shots(item, shots, self.n_shots)]
        return SHOT_SEPARATOR.join([*solved, self._body(item, positions)])

    def _body(self, item: Item, positions: Sequence[int]) -> str:
        labels = self.labels_for(len(item.options))
        shown = np.argsort(positions)
        options = [{"label": label, "text": item.options[j]} for label, j in zip(labels, shown, strict=True)]
        try:
            return str(
                self._compiled.render(
                    question=item.question, passage=item.passage, options=options, separator=_LABELS[self.labels][0]
                )
            )
        except Exception as error:  # a user's template may fail in any way
            why = str(error).rstrip(".") or type(error).__name__
            raise ArgumentError(f"The template cannot be rendered for item {item.id!r}: {why}.") from error

    def _solved(self, shot: Item) -> str:
        if shot.gold is None:
            raise DataError(f"A solved example needs a gold. Item {shot.id!r} has none.")
        canonical = range(len(shot.options))
        return f"{self._body(shot, canonical)} {self.labels_for(len(shot.options))[shot.gold]}"


def pick_shots(item: Item, shots: Sequence[Item], n_shots: int) -> tuple[Item, ...]:
    """Return the first ``n_shots`` examples: of the item's own group where there are some, else of all.

    They do not depend on the model or the ordering (two-factors, A.3); MMLU's are its subject's, as is usual.

    Raises
    ------
    DataError
        If there are fewer than ``n_shots``.
    """
    if n_shots == 0:
        return ()
    # Compared by text: ids are unique within a set only.
    others = [s for s in shots if (s.question, s.options) != (item.question, item.options)]
    own = [s for s in others if item.group is not None and s.group == item.group]
    picked = tuple(own or others)[:n_shots]
    if len(picked) < n_shots:
        raise DataError(
            f"{n_shots} solved examples were asked for, but there are {len(picked)} for item {item.id!r}. "
            "Give a development split (--shots-from), or lower --shots."
        )
    return picked


def check_order_shown(template: Template, items: Iterable[Item]) -> None:
    """Raise unless every place of a prompt shows what the ordering puts there.

    A template that leaves an option out, or shows all of them in one order whatever the ordering, makes a model look
    as if it moved with the order (or never did) though it was always asked the same.

    Parameters
    ----------
    template
        Judged on the first item of each number of options that has no two options of one text.
    items
        The items that will be asked.

    Raises
    ------
    ArgumentError
        If exchanging two neighbours, or changing an option's text, leaves the prompt as it was.
    """
    judged: dict[int, Item] = {}
    for item in items:
        if len({option.strip() for option in item.options}) == len(item.options):
            judged.setdefault(len(item.options), item)
    plain = replace(template, n_shots=0)
    for k, item in judged.items():
        before = plain.render(item, range(k))
        for place in range(k):
            changed = replace(item, options=(*item.options[:place], "another text", *item.options[place + 1 :]))
            exchanged = [*range(place), place + 1, place, *range(place + 2, k)]
            if plain.render(changed, range(k)) == before:
                raise _not_shown(item, f"the text at place {place} is changed")
            if place + 1 < k and plain.render(item, exchanged) == before:
                raise _not_shown(item, f"the options at places {place} and {place + 1} are exchanged")


def _not_shown(item: Item, when: str) -> ArgumentError:
    return ArgumentError(
        f"A template must show every option where the ordering puts it. The prompt of item {item.id!r} stays the same "
        f"when {when}. Go through `options` in a loop and show the `text` of each."
    )
