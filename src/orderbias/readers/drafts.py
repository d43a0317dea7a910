"""One raw row -> the parts of an item, still with the golds as written; must not know of the other rows."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orderbias.items import Item
from orderbias.readers.field_map import FieldMap, getter
from orderbias.row_files import Fault, Row, shown

#: As many as there are letters to label them with.
MAX_OPTIONS = 26


@dataclass(frozen=True, slots=True)
class Draft:
    """A row whose texts are sound and whose golds are still as written, one for each column that may hold it."""

    row: Row
    id: str
    question: str
    options: tuple[str | None, ...]
    labels: tuple[str, ...] | None
    golds: tuple[object, ...]
    group: str | None
    passage: str | None


def drafter(fields: FieldMap, blank_is_null: bool) -> Callable[[Row], Draft | Fault]:
    """Return the function that takes a row apart; a fault instead of a draft says why it cannot."""
    get_question, get_options = getter(fields.question), _options_getter(fields)
    get_golds = [getter(path) for path in fields.gold]
    get_id, get_group, get_passage = (getter(p) if p else None for p in (fields.id, fields.group, fields.passage))

    def draft(row: Row) -> Draft | Fault:
        def text(part: str, get: Callable[[Mapping[str, object]], object] | None) -> str | None:
            return None if get is None else _as_text(part, get(row.values))

        try:
            question, id_ = text("question", get_question), text("id", get_id)
            group, passage = text("group", get_group), text("passage", get_passage)
            options, labels = get_options(row.values)
            if question is None or not question.strip():
                raise ValueError(f"`question` must not be empty. Got {shown(question)}.")
            if get_id is not None and (id_ is None or not id_.strip()):
                raise ValueError("`id` is missing. Give every row one, or use row numbers with --field id=")
        except ValueError as error:
            return Fault(row.line, f"{row.where}: {error}")
        golds = tuple(get(row.values) for get in get_golds)
        return Draft(row, (id_ or str(row.number)).strip(), question, options, labels, golds, group, passage or None)

    return draft


def _as_text(part: str, value: object) -> str | None:
    """Return a text or a number as text and a null or NaN as ``None``; raise ``ValueError`` for anything else."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and value not in (math.inf, -math.inf):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"`{part}` must be a text. Got {shown(value)}.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"`{part}` holds half of a character pair. Got {shown(value)}.") from None
    return value


_Options = tuple[tuple[str | None, ...], tuple[str, ...] | None]


def _options_getter(fields: FieldMap) -> Callable[[Mapping[str, object]], _Options]:
    """Return the function that finds the options of a row and, where they have any, their own labels."""
    if not isinstance(fields.options, str):
        columns = [getter(path) for path in fields.options]
        return lambda values: (tuple(_as_text("options", get(values)) for get in columns), None)
    get, get_labels = getter(fields.options), getter(fields.labels) if fields.labels else None

    def options(values: Mapping[str, object]) -> _Options:
        found, labels = _listed(get(values)), get_labels(values) if get_labels else None
        if isinstance(found, Mapping):  # {"A": "text", "B": "text"}
            found, labels = list(found.values()), list(found)
        if not isinstance(found, list | tuple):
            raise ValueError(f"`options` must be a list of texts. Got {shown(found)}.")
        texts = tuple(_as_text("options", option) for option in found)
        if not isinstance(labels, list | tuple) or len(labels) != len(texts) or None in labels:
            return texts, None
        return texts, tuple(str(label).strip() for label in labels)

    return options


def _listed(value: object) -> object:
    """Return the list that a cell of text writes out, as JSON or as Python; anything else as it is."""
    if isinstance(value, str) and value.strip().startswith(("[", "{")):
        for read in (json.loads, ast.literal_eval):
            try:
                return read(value)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                continue
    return value


def option_fault(draft: Draft, k: int, blank_is_null: bool) -> Fault | None:
    """Return what is wrong with the options of a row: one is empty, or they are too few or too many.

    A file that can only write nulls as empty cells has them behind the last option; an empty cell before is a hole.
    """
    options, row = draft.options, draft.row
    last = max((i for i, option in enumerate(options) if option is not None), default=-1)
    for i, option in enumerate(options):
        hole = option is None and blank_is_null and i < last
        if hole or (option is not None and not option.strip()):
            return Fault(row.line, f"{row.where}: no option may be empty. Option {i + 1} of {len(options)} is.")
    if not 2 <= k <= MAX_OPTIONS:
        return Fault(row.line, f"{row.where}: an item needs 2 to {MAX_OPTIONS} options. Got {k}.")
    return None


def draft_item(draft: Draft, gold: int | None) -> Item:
    """Return the item without its null options; ``gold`` counts them and the item's does not."""
    if None in draft.options and gold is not None:
        gold -= sum(option is None for option in draft.options[:gold])
    options = tuple(option for option in draft.options if option is not None)
    return Item(draft.id, draft.question, options, gold, draft.group, draft.passage)
