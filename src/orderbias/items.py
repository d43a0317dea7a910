"""Items and sets of them; must not know where they came from, how they are shown or who answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
