"""Raw rows -> items, with every fault found on the way; must not open files nor decide what columns mean.

Nothing is guessed: what cannot be read becomes a fault that names its line, what is left out or looks suspicious
becomes a notice with a count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from orderbias.items import Item, option_counts, same_text_groups
from orderbias.readers.drafts import Draft, draft_item, drafter, option_fault
from orderbias.readers.field_map import FieldMap
from orderbias.readers.golds import GoldReading, Written, read_golds
from orderbias.row_files import Fault, Row, Rows

# A text that brings its label along: "(A) text", "A) text", "A. text".
_LETTERED = re.compile(r"\(([A-Z])\)|([A-Z])[.)]\s")

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#: From how many items on it is said that the gold stands at one place in all of them.
_MANY = 8


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The items of a file, what is wrong with the others, and what a user must be told."""

    items: tuple[Item, ...]
    faults: tuple[Fault, ...]
    notices: tuple[str, ...]


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
        What to do with a second copy of an item: ``error``, ``first``, or ``keep`` (ids must still differ), which is
        for published benchmarks.
    n_options
        Keep only items with exactly so many options (two-factors, A.1); the others are counted, not judged.

    Returns
    -------
    Cleaned
        ``faults`` in the order of their lines; the items of faulty rows are missing.
    """
    faults = list(table.faults)
    drafts, other_k = [], Counter[int]()
    draft_of = drafter(fields, table.blank_is_null)
    for row in table.rows:
        draft = draft_of(row)
        if isinstance(draft, Fault):
            faults.append(draft)
            continue
        k = sum(option is not None for option in draft.options)
        if n_options is not None and k != n_options:
            other_k[k] += 1
        elif fault := option_fault(draft, k, table.blank_is_null):
            faults.append(fault)
        else:
            drafts.append(draft)
    reading, notice, gold_faults = _golds(table.file, drafts, fields, gold_base)
    faults += gold_faults
    items = [draft_item(draft, gold) for draft, gold in zip(drafts, reading.golds, strict=True)]
    rows = [draft.row for draft in drafts]
    kept, repeat_faults, repeat_notices = _without_repeats(rows, items, duplicates)
    notices = [*notice, *_k_notice(other_k, n_options), *_null_notice(drafts), *repeat_notices, *_item_notices(kept)]
    return Cleaned(tuple(kept), tuple(sorted(faults + repeat_faults)), tuple(notices))


# --- the whole file ----------------------------------------------------------------------------------------------


def _golds(
    file: str, drafts: Sequence[Draft], fields: FieldMap, gold_base: int | None
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
    several = len(readings) > 1
    if several and (any(r.faults for r in readings.values()) or len({r.golds for r in readings.values()}) > 1):
        rule = f"{file}: the columns {names} may hold the gold and do not agree."
        return none, [], [Fault(0, f"{rule} Say which does, as in --field gold={path}")]
    faults = []
    for index, text in reading.faults:
        row = drafts[index].row if index >= 0 else None
        faults.append(Fault(row.line if row else 0, f"{row.where if row else file}: {text}"))
    if reading.form == "letters":
        faults += [_shuffled(draft.row) for draft in drafts if _out_of_order(draft.options)]
    notices = [f"Golds read as {reading.form}, from {names}."]
    missing = reading.golds.count(None)
    if missing:
        notices.append(f"{_count(missing, 'item has', 'items have')} no gold.")
    return reading, notices, faults


def _out_of_order(options: Sequence[str | None]) -> bool:
    letters = _letters(options)
    return letters != "".join(sorted(letters))


def _shuffled(row: Row) -> Fault:
    return Fault(
        row.line,
        f"{row.where}: options that begin with their own letters must be in the order of the letters, or a gold letter "
        "can mean two of them. Put them in order and take the letters off.",
    )


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
        first = items[same_text]
        if duplicates != "keep" and first.gold != item.gold and None not in (first.gold, item.gold):
            other = f"{first.gold} and {item.gold}"
            text = f"the item of {rows[same_text].where} again, with another gold ({other}, from 0)"
            faults.append(Fault(row.line, f"{row.where}: {text}. Keep the right one."))
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


def _null_notice(drafts: Sequence[Draft]) -> list[str]:
    nulls = [draft.options.count(None) for draft in drafts if None in draft.options]
    if not nulls:
        return []
    return [f"{_count(sum(nulls), 'null option', 'null options')} left out, in {_count(len(nulls), 'item', 'items')}."]


def _letters(options: Sequence[str | None]) -> str:
    """Return the letters that the options begin with, in the order of the options, if each has one of the first K."""
    found = [_LETTERED.match(option) for option in options if option]
    letters = "".join(match[1] or match[2] for match in found if match)
    return letters if "".join(sorted(letters)) == _ALPHABET[: len(options)] else ""


def _item_notices(items: Sequence[Item]) -> list[str]:
    notices = []
    same = [item.id for item in items if same_text_groups(item)]
    if same:
        some = ", ".join(same[:5]) + (", ..." if len(same) > 5 else "")
        notices.append(
            f"{_count(len(same), 'item shows', 'items show')} one text as two options (id {some}): "
            "moving between them is no flip."
        )
    lettered = [item.id for item in items if _letters(item.options)]
    if lettered:
        notices.append(
            f"{_count(len(lettered), 'item has', 'items have')} options that begin with letters of their own (id "
            f"{lettered[0]}): take them off, or prompts show two labels for each option."
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
