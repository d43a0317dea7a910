"""Items and sets of them; must not know where they came from, how they are shown or who answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.signature import text_hash


@dataclass(frozen=True, slots=True)
class Item:
    """One multiple-choice question.

    ``options`` are the contents in canonical order, ``gold`` the index of the right one (``None`` if unknown),
    ``passage`` a text shown before the question, ``pinned`` the contents that keep their canonical place under every
    ordering.
    """

    id: str
    question: str
    options: tuple[str, ...]
    gold: int | None = None
    group: str | None = None
    passage: str | None = None
    pinned: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemSet:
    """Named items with unique ids, the solved examples that go before them, and what a user must be told of them.

    ``shots`` are items with golds (a development split); ``notices`` are sentences about what reading changed,
    dropped or found suspicious.
    """

    name: str
    items: tuple[Item, ...]
    shots: tuple[Item, ...] = ()
    notices: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    @property
    def data_hash(self) -> str:
        """Hash of every item's id, texts, gold and pins, in order; not of the shots, which are in the prompts."""
        return text_hash(part for item in self.items for part in _parts(item))


def _parts(item: Item) -> Iterator[str]:
    yield item.id
    yield item.passage or ""
    yield item.question
    yield from item.options
    yield f"{item.gold} {item.group} {item.pinned}"


def same_text_groups(item: Item) -> tuple[tuple[int, ...], ...]:
    """Return the contents of an item that show the same text, as groups of two or more indices.

    Two options with one text cannot be told apart by whoever answers, so moving from one to the other is no flip:
    a measure has to count each group as a single content. Space around a text does not make it another one.

    Examples
    --------
    >>> same_text_groups(Item("1", "2 + 2?", ("4", "5", "4", "6")))
    ((0, 2),)
    """
    places: dict[str, list[int]] = {}
    for index, text in enumerate(item.options):
        places.setdefault(text.strip(), []).append(index)
    return tuple(tuple(group) for group in places.values() if len(group) > 1)


def option_counts(items: Iterable[Item]) -> dict[int, int]:
    """Return how many items there are of each number of options, the smallest number first.

    Examples
    --------
    >>> option_counts([Item("1", "?", ("a", "b")), Item("2", "?", ("a", "b", "c")), Item("3", "?", ("a", "b"))])
    {2: 2, 3: 1}
    """
    return dict(sorted(Counter(len(item.options) for item in items).items()))


def gold_place_counts(items: Iterable[Item], n_options: int) -> NDArray[np.int64]:
    """Count the canonical places of the golds, over the items with ``n_options`` options and a known gold.

    A data set whose gold stands at some places more often than at others makes a model with a taste for those places
    look right (or wrong) in the canonical ordering alone; the counts belong before any measure.

    Parameters
    ----------
    items
        Any items; those with another number of options are passed over.
    n_options
        K.

    Returns
    -------
    numpy.ndarray
        Int64 of shape ``(n_options,)``: how many golds stand at each place.

    Examples
    --------
    >>> gold_place_counts([Item("1", "?", ("a", "b"), 0), Item("2", "?", ("a", "b"), 0), Item("3", "?", ("a", "b"))], 2)
    array([2, 0])
    """
    golds = [item.gold for item in items if item.gold is not None and len(item.options) == n_options]
    return np.bincount(np.array(golds, np.intp), minlength=n_options).astype(np.int64)


#: A question that names its options, so that it cannot be answered without them, and one that can.
OF_THE_FOLLOWING, SELF_CONTAINED = "which of the following", "self-contained"

_SHOWN = r"(?:the\s+)?(?:following|these|those|options|choices|answers|alternatives|above|below)"
_PLAIN = r"(?!\s+(?:numbers|values|data|kinds?|forms?|types?|sorts?)\b)"
_OF_THE_FOLLOWING = re.compile(
    rf"\b(?:which|what|one|two|all|any|each|none|both|either|neither|best|most|least)\s+(?:\w+\s+){{0,3}}?of\s+{_SHOWN}\b{_PLAIN}"
    rf"|\b(?:of|among)\s+the\s+following\b{_PLAIN}"
    r"|\bwhich\s+(?:\w+\s+){0,2}?(?:statements?|sentences?|options?|choices?|answers?|examples?|pairs?|lists?|"
    r"descriptions?|definitions?|explanations?|conclusions?|phrases?)\b"
    r"|\bthe\s+following\b[^.?!]{0,80}\b(?:except|is\s+(?:not\s+)?(?:true|correct|false))\b"
    r"|\b(?:choose|select|pick|identify|mark)\s+the\s+(?:\w+\s+)?(?:option|answer|statement|alternative|choice)\b"
    # Not "the layer in which most clouds form".
    r"|(?<!\bin )(?<!\bof )(?<!\bat )(?<!\bon )(?<!\bby )(?<!\bto )(?<!\bfor )(?<!\bfrom )(?<!\bwith )(?<!\bduring )"
    r"\bwhich\s+(?:best|correctly|accurately|(?:most|least)\s+\w+ly)\s+\w+s\b"
    r"|\b(?:except|but not)\b\W*$",
    re.IGNORECASE,
)


def question_kind(question: str) -> str:
    """Return whether a question asks for one of its options, or could be asked without them.

    *Which of the following is true?* means nothing to whoever does not see the options; a strategy that hides them
    should be looked at apart on such items (label-free).

    Parameters
    ----------
    question
        The text of the question, without its options.

    Returns
    -------
    str
        ``OF_THE_FOLLOWING`` or ``SELF_CONTAINED``, by the words of the question alone (English).

    Examples
    --------
    >>> question_kind("Which of the following statements is true?"), question_kind("What is the capital of France?")
    ('which of the following', 'self-contained')
    """
    return OF_THE_FOLLOWING if _OF_THE_FOLLOWING.search(question) else SELF_CONTAINED
