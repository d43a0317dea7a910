"""Raw rows -> items, with every fault found on the way; must not open files nor decide what columns mean.

Nothing is guessed: what cannot be read becomes a fault that names its line, what is left out or looks suspicious
becomes a notice with a count.
"""

from __future__ import annotations

import ast
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orderbias.field_map import FieldMap, getter
from orderbias.golds import GoldReading, Written, read_golds
from orderbias.items import Item, option_counts, same_text_groups
from orderbias.orderings import MAX_OPTIONS
from orderbias.row_files import Fault, Row, Rows, shown

#: What to do with a second copy of an item; ``keep`` (ids must still differ) is for published benchmarks.
DUPLICATES = ("error", "first", "keep")

#: From how many items on it is said that the gold stands at one place in all of them.
_MANY = 8


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The items of a file, what is wrong with the others, and what a user must be told."""

    items: tuple[Item, ...]
    faults: tuple[Fault, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A row whose texts are sound and whose golds are still as written, one for each column that may hold it."""

    row: Row
    id: str
    question: str
    options: tuple[str | None, ...]
    labels: tuple[str, ...] | None
    golds: tuple[object, ...]
    group: str | None
    passage: str | None


def clean_rows(
    table: Rows,
    fields: FieldMap,
    *,
    gold_base: int | None = None,
    duplicates: str = "error",
    n_options: int | None = None,
) -> Cleaned:
    """Turn the rows of one source into items.

    Parameters
    ----------
    table
        Rows, with the faults met while reading them, which are passed on.
    fields
        Which column holds what.
    gold_base
        0 or 1 if the caller says from where numbered golds count.
    duplicates
        One of ``DUPLICATES``.
    n_options
        Keep only items with exactly so many options (two-factors, A.1); the others are counted, not judged.

    Returns
    -------
    Cleaned
        ``faults`` in the order of their lines; the items of faulty rows are missing.
    """
    faults = list(table.faults)
    drafts, other_k, other_k_rows = [], Counter[int](), 0
    draft_of = _drafter(fields, table.blank_is_null)
    for row in table.rows:
        draft = draft_of(row)
        if isinstance(draft, Fault):
            faults.append(draft)
            continue
        k = sum(option is not None for option in draft.options)
        if n_options is not None and k != n_options:
            other_k[k] += 1
            other_k_rows += 1
        elif fault := _option_fault(draft, k, table.blank_is_null):
            faults.append(fault)
        else:
            drafts.append(draft)
    reading, notice, gold_faults = _golds(table.file, drafts, fields, gold_base)
    faults += gold_faults
    items = [_item(draft, gold) for draft, gold in zip(drafts, reading.golds, strict=True)]
    rows = [draft.row for draft in drafts]
    kept, repeat_faults, repeat_notices = _without_repeats(rows, items, duplicates)
    notices = [*notice, *_k_notice(other_k, n_options), *_null_notice(drafts), *repeat_notices, *_item_notices(kept)]
    return Cleaned(tuple(kept), tuple(sorted(faults + repeat_faults)), tuple(notices))


# --- one row -----------------------------------------------------------------------------------------------------


def _drafter(fields: FieldMap, blank_is_null: bool) -> Callable[[Row], _Draft | Fault]:
    """Return the function that takes a row apart; a fault instead of a draft says why it cannot."""
    get_question, get_options = getter(fields.question), _options_getter(fields)
    get_golds = [getter(path) for path in fields.gold]
    get_id, get_group, get_passage = (getter(path) if path else None for path in (fields.id, fields.group, fields.passage))

    def draft(row: Row) -> _Draft | Fault:
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
        return _Draft(row, (id_ or str(row.number)).strip(), question, options, labels, golds, group, passage or None)

    return draft


def _as_text(part: str, value: object) -> str | None:
    """Return a text or a number as text and a null or NaN as ``None``; raise ``ValueError`` for anything else."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
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
        named = isinstance(labels, list | tuple) and len(labels) == len(texts) and None not in labels
        return texts, tuple(str(label).strip() for label in labels) if named else None  # type: ignore[union-attr]

    return options


def _listed(value: object) -> object:
    """Return the list that a cell of text writes out, as JSON or as Python; anything else as it is."""
    if isinstance(value, str) and value.strip().startswith(("[", "{")):
        for read in (json.loads, ast.literal_eval):
            try:
                return read(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    return value


def _option_fault(draft: _Draft, k: int, blank_is_null: bool) -> Fault | None:
    options, row = draft.options, draft.row
    last = max((i for i, option in enumerate(options) if option is not None), default=-1)
    empty = [i for i, o in enumerate(options) if (o is None and blank_is_null and i < last) or (o and not o.strip()) or o == ""]
    if empty:
        return Fault(row.line, f"{row.where}: no option may be empty. Option {empty[0] + 1} of {len(options)} is.")
    if not 2 <= k <= MAX_OPTIONS:
        return Fault(row.line, f"{row.where}: an item needs 2 to {MAX_OPTIONS} options. Got {k}.")
    return None


def _item(draft: _Draft, gold: int | None) -> Item:
    if None in draft.options and gold is not None:
        gold -= sum(option is None for option in draft.options[:gold])
    options = tuple(option for option in draft.options if option is not None)
    return Item(draft.id, draft.question, options, gold, draft.group, draft.passage)


# --- the whole file ----------------------------------------------------------------------------------------------


def _golds(
    file: str, drafts: Sequence[_Draft], fields: FieldMap, gold_base: int | None
) -> tuple[GoldReading, list[str], list[Fault]]:
    """Read the golds from the one column that holds them, or from several that agree."""
    none = GoldReading((None,) * len(drafts), "")
    readings = {
        path: read_golds([Written(draft.golds[c], draft.options, draft.labels) for draft in drafts], gold_base)
        for c, path in enumerate(fields.gold)
    }
    readings = {path: reading for path, reading in readings.items() if reading.form or reading.faults}
    if not readings:
        return none, ["No item has a gold: measures that need one are left out."] if drafts else [], []
    path, reading = next(iter(readings.items()))
    names = " and ".join(f"`{name}`" for name in readings)
    if len(readings) > 1 and (any(r.faults for r in readings.values()) or len({r.golds for r in readings.values()}) > 1):
        ask = f"{file}: the columns {names} may hold the gold and do not agree. Say which does, as in --field gold={path}"
        return none, [], [Fault(0, ask)]
    faults = []
    for index, text in reading.faults:
        row = drafts[index].row if index >= 0 else None
        faults.append(Fault(row.line if row else 0, f"{row.where if row else file}: {text}"))
    notices = [f"Golds read as {reading.form}, from {names}."]
    missing = reading.golds.count(None)
    if missing:
        notices.append(f"{_count(missing, 'item has', 'items have')} no gold.")
    return (none if faults else reading), notices, faults


def _without_repeats(
    rows: Sequence[Row], items: Sequence[Item], duplicates: str
) -> tuple[list[Item], list[Fault], list[str]]:
    """Find items met before: under the same id, or with the same texts and gold."""
    by_id: dict[str, int] = {}
    by_text: dict[tuple[object, ...], int] = {}
    kept, faults, repeats = [], [], 0
    for i, (row, item) in enumerate(zip(rows, items, strict=True)):
        texts = (item.passage, item.question, item.options)
        same_id, same_text = by_id.setdefault(item.id, i), by_text.setdefault(texts, i)
        if same_text < i and items[same_text].gold != item.gold and duplicates != "keep":
            other = f"{items[same_text].gold} and {item.gold}"
            text = f"the item of {rows[same_text].where} again, with another gold ({other}, from 0). Keep the right one."
            faults.append(Fault(row.line, f"{row.where}: {text}"))
        elif min(same_id, same_text) == i:
            kept.append(item)
        elif duplicates == "first":
            repeats += 1
        elif duplicates == "keep" and same_id == i:
            repeats += 1
            kept.append(item)
        else:
            faults.append(Fault(row.line, f"{row.where}: {_repeat(rows, item, i, same_id, same_text)}"))
    done = "kept, as published" if duplicates == "keep" else "left out"
    notice = f"{_count(repeats, 'item repeats', 'items repeat')} another one's texts or id: {done}."
    return kept, faults, [notice] if repeats else []


def _repeat(rows: Sequence[Row], item: Item, i: int, same_id: int, same_text: int) -> str:
    if same_text < i:
        return f"the item of {rows[same_text].where} again. Take one out, or pass --duplicates first."
    return (
        f"the id {item.id!r} of {rows[same_id].where} again, with other texts. Ids must be unique: take another "
        "column, as in --field id=COLUMN, or row numbers with --field id="
    )


# --- notices -----------------------------------------------------------------------------------------------------


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def _k_notice(other_k: Counter[int], n_options: int | None) -> list[str]:
    if not other_k:
        return []
    listed = ", ".join(f"{n} with {k}" for k, n in sorted(other_k.items()))
    return [f"{_count(other_k.total(), 'item', 'items')} left out for not having {n_options} options ({listed})."]


def _null_notice(drafts: Sequence[_Draft]) -> list[str]:
    nulls = [draft.options.count(None) for draft in drafts if None in draft.options]
    if not nulls:
        return []
    return [f"{_count(sum(nulls), 'null option', 'null options')} left out, in {_count(len(nulls), 'item', 'items')}."]


def _item_notices(items: Sequence[Item]) -> list[str]:
    notices = []
    same = [item.id for item in items if same_text_groups(item)]
    if same:
        some = ", ".join(same[:5]) + (", ..." if len(same) > 5 else "")
        notices.append(
            f"{_count(len(same), 'item shows', 'items show')} one text as two options (id {some}): "
            "moving between them is no flip."
        )
    golds = {item.gold for item in items if item.gold is not None}
    known = sum(item.gold is not None for item in items)
    if len(golds) == 1 and known >= _MANY:
        notices.append(
            f"The gold is option {next(iter(golds)) + 1} in all {known} items: accuracy in the canonical ordering "
            "cannot be told from a taste for that place."
        )
    if len(counts := option_counts(items)) > 1:
        listed = ", ".join(f"{n} with {k}" for k, n in counts.items())
        notices.append(f"Items differ in their number of options ({listed}): each number is measured apart.")
    return notices
