"""Records -> one :class:`~orderbias.predictions.Predictions` a cell; knows no measure, no file and no model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.cells.gathering import ItemLike, Rows, gather, known_of_items
from orderbias.cells.layout import Asked, Layout, each_its_own, lay_out, shared, slots_in
from orderbias.errors import ArgumentError
from orderbias.orderings import Design, DesignSpec, parse_design
from orderbias.predictions import MISSING, Predictions
from orderbias.records import Records
from orderbias.records.across import combine
from orderbias.signature import Signature, text_hash


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells, and what a reader must be told of how they were built.

    ``repeats`` holds of each cell the contents that were chosen each time, int8 ``(n_items, n_orderings, n_repeats)``,
    the first answers first and -1 where there is no usable one; None where nothing was asked again.
    """

    predictions: tuple[Predictions, ...]
    notices: tuple[str, ...] = ()
    repeats: tuple[NDArray[np.int8] | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.repeats:
            object.__setattr__(self, "repeats", (None,) * len(self.predictions))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """How the design of a cell is settled."""

    how: str
    spec: DesignSpec | None = None
    designs: Mapping[int, Design] = field(default_factory=dict)


def cells(
    records: Records,
    *,
    design: str = "auto",
    designs: Mapping[int, Design] | None = None,
    items: Iterable[ItemLike] | None = None,
    same_text: Mapping[str, Sequence[int]] | None = None,
    source: Signature | None = None,
) -> Cells:
    """Build one value per model, benchmark, readout and number of options.

    Only first answers (``repeat`` 0) enter; what was answered to repeats is kept beside them. An item is there if any
    row names it, with a usable answer or not, and is usable only if every presented ordering of its design was
    answered. Nothing is imputed.

    Parameters
    ----------
    records
        The answers.
    design
        ``auto``, ``shared`` or ``per-item``: see :func:`orderbias.cells.layout.lay_out`; or a design by name, such as
        ``cyclic+reversals`` or ``random:4:0``, which then is what was asked.
    designs
        The shared design of each number of options, from a run's manifest; it goes before ``design``.
    items
        All items of the benchmark: those without any row are then counted as unusable, and options of one text
        are one content (as ``same_text``).
    same_text
        For an item's id, the lowest content index of the same text, per content: choices of a double count as that
        content. See :func:`same_text_groups`.
    source
        Settings known already (from a manifest); they go before those found here.

    Returns
    -------
    Cells
        In order of first appearance, by number of options within that.

    Raises
    ------
    ArgumentError
        If ``design`` is no known name.
    DataError
        If a shared design is asked for and there is none, or an item's gold is not that of its records.
    """
    wanted = _Wanted("auto" if design not in ("shared", "per-item") else design, _spec(design), designs or {})
    listed = None if items is None else {item.id: item for item in items}
    doubles = dict(same_text or {})
    if listed is not None:
        doubles = {**same_text_groups(listed.values()), **doubles}
    parts = list(_split(records))
    built, again, notices = [], [], list(records.notices)
    for k, rows in parts:
        cell, repeats, said = _build(records, k, rows, wanted, listed, doubles, source or Signature())
        built.append(cell)
        again.append(repeats)
        prefix = f"{cell.model}, {cell.benchmark}, {cell.readout}, K = {k}: " if len(parts) > 1 else ""
        notices += [prefix + notice for notice in said]
    return Cells(tuple(built), tuple(dict.fromkeys(notices)), tuple(again))


def same_text_groups(items: Iterable[ItemLike]) -> dict[str, tuple[int, ...]]:
    """Return, for each item with two options of the same text, the lowest index of the same text per content.

    Space around a text does not count.

    Examples
    --------
    >>> from orderbias.items import Item
    >>> same_text_groups([Item("1", "?", ("x", "y", "x ")), Item("2", "?", ("x", "y"))])
    {'1': (0, 1, 0)}
    """
    groups = {}
    for item in items:
        texts = [option.strip() for option in item.options]
        if len(set(texts)) < len(texts):
            groups[item.id] = tuple(texts.index(text) for text in texts)
    return groups


def _spec(design: str) -> DesignSpec | None:
    if design in ("auto", "shared", "per-item"):
        return None
    try:
        return parse_design(design)
    except ArgumentError as error:
        raise ArgumentError(f"`design` must be auto, shared, per-item or the name of a design. {error}") from error


def _split(records: Records) -> Iterator[tuple[int, NDArray[np.int64] | slice]]:
    """Yield ``(K, rows)`` for each cell, in order of first appearance and then by K."""
    n_options = records.n_options
    names = combine(records.model.codes, records.benchmark.codes, records.readout.codes)
    key = combine(names, n_options)
    if (key == key[0]).all():
        yield int(n_options[0]), slice(None)
        return
    _, name_first, name_of = np.unique(names, return_index=True, return_inverse=True)
    _, first = np.unique(key, return_index=True)
    for row in sorted(first.tolist(), key=lambda r: (name_first[name_of[r]], n_options[r])):
        yield int(n_options[row]), np.flatnonzero(key == key[row])


def _build(
    records: Records,
    k: int,
    rows: NDArray[np.int64] | slice,
    wanted: _Wanted,
    listed: Mapping[str, ItemLike] | None,
    doubles: Mapping[str, Sequence[int]],
    source: Signature,
) -> tuple[Predictions, NDArray[np.int8] | None, list[str]]:
    at = int(np.arange(len(records))[rows][0])
    ids, answers, later, notices = gather(records, k, rows, listed)
    gold, group = known_of_items(answers, ids, records.group, listed)
    layout = _layout(Asked(answers.table, answers.item, len(ids)), ids, gold, wanted)
    merge = _doubles(ids, doubles, k)
    model, benchmark, readout = (str(getattr(records, name)[at]) for name in ("model", "benchmark", "readout"))
    data = _data_hash(ids, gold)
    found = Signature.of(data=data, benchmark=benchmark, design=layout.name, readout=readout, model=model)
    predictions = Predictions(
        **_fill(answers, layout, len(ids), merge),
        model=model,
        benchmark=benchmark,
        readout=readout,
        positions=layout.positions,
        presented=layout.presented,
        asked=layout.asked,
        gold=gold if merge is None else np.where(gold >= 0, merge[np.arange(len(ids)), np.maximum(gold, 0)], -1),
        same_text=merge,
        item_ids=ids,
        group=group,
        source=found.extended(**source.as_dict()),
    )
    repeats = None if later is None else _repeats(later, layout, merge, predictions.choice)
    return predictions, repeats, [*notices, *layout.notices]


def _layout(rows: Asked, ids: NDArray[Any], gold: NDArray[np.int8], wanted: _Wanted) -> Layout:
    k, spec = rows.n_options, wanted.spec
    if k in wanted.designs:
        return shared(rows, wanted.designs[k])
    if spec is None:
        return lay_out(rows, wanted.how)
    if not spec.per_item:
        return shared(rows, spec.design(k))
    own = [spec.design(k, i, None if g < 0 else int(g)) for i, g in zip(ids, gold, strict=True)]
    return each_its_own(rows, own)


def _fill(answers: Rows, layout: Layout, n_items: int, merge: NDArray[np.int8] | None) -> dict[str, Any]:
    """Put each answer in its slot; a slot without one is missing."""
    inside = layout.slot >= 0
    pick = slice(None) if inside.all() else inside
    item, slot = answers.item[pick], layout.slot[pick]
    shape = (n_items, len(layout.presented))
    choice, status = np.full(shape, -1, np.int8), np.full(shape, MISSING, np.int8)
    ties = np.zeros(shape, bool)
    choice[item, slot] = _contents(answers, merge)[pick]
    status[item, slot] = answers.status[pick]
    ties[item, slot] = answers.ties[pick]
    filled: dict[str, Any] = {"choice": choice, "status": status, "ties": ties, "logprobs": None, "mass": None}
    if answers.logprobs is not None and not np.isnan(answers.logprobs[:, 0]).all():
        filled["logprobs"] = np.full((*shape, answers.table.shape[1]), np.nan)
        filled["logprobs"][item, slot] = answers.logprobs[pick]
    if answers.mass is not None and not np.isnan(answers.mass).all():
        filled["mass"] = np.full(shape, np.nan)
        filled["mass"][item, slot] = answers.mass[pick]
    return filled


def _contents(answers: Rows, merge: NDArray[np.int8] | None) -> NDArray[np.int8]:
    """Return the content that each row chose, -1 where it has no usable answer."""
    content = (answers.table == answers.place[:, None]).argmax(axis=1).astype(np.int8)
    if merge is not None:
        content = merge[answers.item, content]
    return np.where(answers.place >= 0, content, -1).astype(np.int8)


def _repeats(
    later: Rows, layout: Layout, merge: NDArray[np.int8] | None, choice: NDArray[np.int8]
) -> NDArray[np.int8] | None:
    """Put the answers to repeats behind the first ones; None where all were given outside the design."""
    slot = slots_in(layout, Asked(later.table, later.item, len(choice)))
    inside = slot >= 0
    if not inside.any():
        return None
    numbers, nth = np.unique(later.repeat[inside], return_inverse=True)
    contents = np.full((*choice.shape, 1 + len(numbers)), -1, np.int8)
    contents[:, :, 0] = choice
    contents[later.item[inside], slot[inside], 1 + nth] = _contents(later, merge)[inside]
    return contents


def _doubles(ids: NDArray[Any], doubles: Mapping[str, Sequence[int]], k: int) -> NDArray[np.int8] | None:
    """Return for each item and content the content that it counts as, or None where every content is its own."""
    if not doubles:
        return None
    rows = [i for i, item_id in enumerate(ids) if item_id in doubles]
    if not rows:
        return None
    merge = np.tile(np.arange(k, dtype=np.int8), (len(ids), 1))
    for i in rows:
        if len(doubles[ids[i]]) != k:
            raise ArgumentError(f"`same_text` must give {k} contents for item {ids[i]!r}. Got {doubles[ids[i]]}.")
        merge[i] = doubles[ids[i]]
    return merge


def _data_hash(ids: NDArray[Any], gold: NDArray[np.int8]) -> str:
    """Hash ids and golds, whatever their order."""
    order = np.argsort(ids)
    return text_hash(["\n".join(ids[order].tolist()), gold[order].tobytes().hex()])
