"""What there is to ask: every item under every ordering of a design, minus what is stored; asks nothing itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from orderbias.items import Item, ItemSet
from orderbias.orderings import DesignSpec, SwapSample, cyclic, pinned

QueryKey = tuple[str, tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Query:
    """One item under one ordering, asked for the ``repeat``-th time."""

    item: Item
    positions: tuple[int, ...]
    repeat: int = 0

    @property
    def key(self) -> QueryKey:
        """What a store knows it by."""
        return self.item.id, self.positions, self.repeat


@dataclass(frozen=True, slots=True)
class Plan:
    """What is left to ask, of how many queries in all."""

    queries: tuple[Query, ...]
    n_total: int

    @property
    def n_stored(self) -> int:
        """Queries that are answered already."""
        return self.n_total - len(self.queries)


def all_queries(items: ItemSet, design: DesignSpec | SwapSample, repeats: int = 1) -> Iterator[Query]:
    """Yield every query of a design, the queries of an item together and items in their order.

    An item with pinned contents is asked under the rotations of its free contents (itself alone where fewer than
    two are free); it is no part of a balanced design. Each ordering is asked ``repeats`` times.
    """
    for item in items:
        for row in orderings_of(item, design):
            for repeat in range(repeats):
                yield Query(item, row, repeat)


def orderings_of(item: Item, design: DesignSpec | SwapSample) -> list[tuple[int, ...]]:
    """Return the orderings under which an item is asked."""
    n_options = len(item.options)
    if isinstance(design, SwapSample):
        return design.positions(n_options, item.id)
    if not item.pinned:
        chosen = design.design(n_options, item.id, item.gold)
    elif n_options - len(item.pinned) < 2 or design.kind == "canonical":
        return [tuple(range(n_options))]
    else:
        chosen = pinned(cyclic(n_options - len(item.pinned)), item.pinned, n_options)
    return [tuple(row) for row in chosen.positions.tolist()]


def plan(
    items: ItemSet,
    design: DesignSpec | SwapSample,
    stored: AbstractSet[QueryKey] = frozenset(),
    repeats: int = 1,
) -> Plan:
    """Return the queries of a design that are not stored yet.

    Examples
    --------
    >>> from orderbias.orderings import parse_design
    >>> items = ItemSet("two", (Item("1", "?", ("x", "y")), Item("2", "?", ("x", "y"))))
    >>> left = plan(items, parse_design("cyclic"), {("1", (0, 1), 0)})
    >>> len(left.queries), left.n_stored
    (3, 1)
    """
    every = list(all_queries(items, design, repeats))
    return Plan(tuple(q for q in every if q.key not in stored), len(every))


def by_item(queries: Sequence[Query]) -> Iterator[list[Query]]:
    """Split queries where the item changes."""
    same: list[Query] = []
    for query in queries:
        if same and same[-1].item is not query.item:
            yield same
            same = []
        same.append(query)
    if same:
        yield same
