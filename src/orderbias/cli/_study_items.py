"""Which items a study asks: drawn by a hash of (seed, id), so that neither their order nor their number matters."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from orderbias.cli._asking import load_items
from orderbias.cli._study_settings import ItemSettings
from orderbias.errors import ArgumentError, DataError
from orderbias.items import Item, ItemSet


@dataclass(frozen=True, slots=True)
class Drawn:
    """Items that are asked, and others that only calibrate; in the order of their source."""

    items: ItemSet
    calibration: ItemSet


def draw(settings: ItemSettings, seed: int, *, n_calibration: int = 0, golds: bool = True) -> Drawn:
    """Read a benchmark and draw from it; ``golds`` says that the right answer of every item must be known.

    Raises
    ------
    ArgumentError
        If there are fewer items or groups than are to be drawn.
    DataError
        If an item's gold is not known.
    """
    every = load_items(settings.source, settings.reading)
    unknown = [item.id for item in every if item.gold is None]
    if unknown and golds:
        raise DataError(
            f"Every item of {settings.source} must have a gold: accuracy is compared. {len(unknown):,} have none, "
            f"the first is {unknown[0]!r}."
        )
    chosen = _grouped(every, settings, seed) if settings.groups else _of_all(every, settings, seed, n_calibration)
    rest = ranked((item for item in every if item.id not in chosen), seed)
    if n_calibration > len(rest):
        raise ArgumentError(
            f"`calibration` must be at most the {len(rest):,} items of {settings.source} that are not asked. "
            f"Got {n_calibration}. Draw fewer items, or leave pride out of `strategies`."
        )
    kept = {item.id for item in rest[:n_calibration]}
    name = settings.shown
    return Drawn(
        replace(every, name=name, items=tuple(item for item in every if item.id in chosen)),
        replace(every, name=name, items=tuple(item for item in every if item.id in kept), notices=()),
    )


def _of_all(every: ItemSet, settings: ItemSettings, seed: int, n_calibration: int) -> set[str]:
    if settings.n_items is None and n_calibration >= len(every):
        raise ArgumentError(
            f"`calibration` must leave items to ask: {settings.source} has {len(every):,}. Got {n_calibration:,}."
        )
    n_items = settings.n_items or len(every) - n_calibration
    if not 1 <= n_items <= len(every):
        raise ArgumentError(
            f"`n_items` must be 1..{len(every):,}, what {settings.source} has"
            f"{f' beside {n_calibration} for calibration' if settings.n_items is None else ''}. Got {n_items:,}."
        )
    return {item.id for item in ranked(every, seed)[:n_items]}


def _grouped(every: ItemSet, settings: ItemSettings, seed: int) -> set[str]:
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in every:
        if item.group is not None:
            groups[item.group].append(item)
    per_group, n_groups = settings.per_group or 1, settings.groups or 1
    large = [group for group, items in groups.items() if len(items) >= per_group]
    if len(large) < n_groups:
        raise ArgumentError(
            f"`groups` must be at most {len(large)}: so many groups of {settings.source} have {per_group} items. "
            f"Got {n_groups}."
        )
    taken = sorted(large, key=lambda group: _rank(seed, f"group {group}"))[:n_groups]
    return {item.id for group in taken for item in ranked(groups[group], seed)[:per_group]}


def ranked(items: Iterable[Item], seed: int) -> Sequence[Item]:
    """Return items in an order that depends on (seed, id) alone."""
    return sorted(items, key=lambda item: (_rank(seed, item.id), item.id))


def _rank(seed: int, name: str) -> bytes:
    return hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=8).digest()
