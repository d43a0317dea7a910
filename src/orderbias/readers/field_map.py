"""Which column of a row holds which part of an item, and how to find it there; must not judge what it finds.

A column is named by a path: ``question.stem`` goes into an object, ``question.choices[].text`` into every element of
a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from orderbias.errors import ArgumentError, DataError
from orderbias.row_files import Row, Rows

#: The parts of an item that a column may hold.
FIELDS = ("question", "options", "gold", "id", "group", "passage")

_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question.stem", "question_stem", "question", "stem", "prompt", "query", "input", "goal", "sentence",
                 "ctx"),
    "options": ("question.choices[].text", "choices[].text", "choices.text", "choices", "options[].text",
                "options.text", "options", "endings", "candidates"),
    "gold": ("gold", "gold_index", "gold_idx", "answerKey", "answer_key", "answer_index", "answer_idx", "answer_id",
             "correct_option", "correct_index", "correct_idx", "correct_answer", "correct", "label", "target",
             "answer", "cop"),
    "id": ("id", "item_id", "question_id", "qid", "qID", "ID"),
    "group": ("group", "subject", "category"),
    "passage": ("passage", "context", "article"),
}  # fmt: skip

_OPTION_COLUMN = re.compile(
    r"(?P<stem>|(?:option|opt|op|choice|ending|sol|candidate)[ _-]?)(?P<which>[A-Za-z]|\d{1,2})"
)


@dataclass(frozen=True, slots=True)
class FieldMap:
    """The paths of an item's parts. Several ``gold`` paths must all say the same; ``id=None`` means row numbers."""

    question: str
    options: str | tuple[str, ...]
    gold: tuple[str, ...] = ()
    id: str | None = None
    group: str | None = None
    passage: str | None = None

    @property
    def labels(self) -> str | None:
        """The path of the options' own labels, where each option is an object with a ``text`` and a ``label``."""
        if isinstance(self.options, str) and self.options.endswith(".text"):
            return self.options.removesuffix("text") + "label"
        return None

    def __str__(self) -> str:
        options = self.options if isinstance(self.options, str) else ", ".join(self.options)
        parts = {"question": self.question, "options": options, "gold": ", ".join(self.gold), "id": self.id,
                 "group": self.group, "passage": self.passage}  # fmt: skip
        return "; ".join(f"{part} from {path}" for part, path in parts.items() if path)


def getter(path: str) -> Callable[[Mapping[str, object]], object]:
    """Return a function that follows a path into a row; it gives ``None`` where the path leads nowhere.

    Examples
    --------
    >>> getter("choices[].text")({"choices": [{"text": "a"}, {"text": "b"}]})
    ['a', 'b']
    """
    if "." not in path and "[]" not in path:
        return lambda values: values.get(path)

    def follow(values: Mapping[str, object]) -> object:
        # A column may itself be called "a.b": its plain name comes first.
        return values[path] if path in values else _follow(values, path.split("."))

    return follow


def _follow(value: object, steps: Sequence[str]) -> object:
    for depth, step in enumerate(steps):
        if not isinstance(value, Mapping):
            return None
        value = value.get(step.removesuffix("[]"))
        if step.endswith("[]"):
            if not isinstance(value, list) or not all(isinstance(v, Mapping) for v in value):
                return None
            return [_follow(v, steps[depth + 1 :]) for v in value]
    return value


def parse_fields(pairs: Iterable[str], parts: Sequence[str] = FIELDS) -> dict[str, str | tuple[str, ...] | None]:
    """Read field maps as a command line gives them: ``options=A,B,C,D`` ``gold=answer`` ``id=`` (row numbers).

    Raises
    ------
    ArgumentError
        If a pair has no ``=`` or names no part of an item.

    Examples
    --------
    >>> parse_fields(["gold=answer", "options=A,B", "id="])
    {'gold': 'answer', 'options': ('A', 'B'), 'id': None}
    """
    fields: dict[str, str | tuple[str, ...] | None] = {}
    for pair in pairs:
        part, equals, path = (piece.strip() for piece in pair.partition("="))
        if not equals or part not in parts:
            raise ArgumentError(f"A field must be PART=COLUMN with PART one of {', '.join(parts)}. Got {pair!r}.")
        names = tuple(name.strip() for name in path.split(","))
        fields[part] = None if not path else names if len(names) > 1 else path
    return fields


def map_fields(table: Rows, given: Mapping[str, str | Sequence[str] | None] | None) -> FieldMap:
    """Decide which column holds which part: those that the user gives, the others by their usual names.

    Raises
    ------
    ArgumentError
        If ``given`` names a part that an item does not have.
    DataError
        If the question or the options are nowhere, or a given column is in no row.
    """
    chosen = dict(given or {})
    unknown = sorted(set(chosen) - set(FIELDS))
    if unknown:
        raise ArgumentError(f"`fields` may hold {', '.join(FIELDS)}. Got {', '.join(unknown)}.")
    columns = _columns(table.rows)
    faults = _absent(table, chosen, columns)
    paths: dict[str, tuple[str, ...]] = {}
    for part in FIELDS:
        if part in chosen:
            value = chosen[part]
            paths[part] = () if value is None else (value,) if isinstance(value, str) else tuple(value)
        else:
            paths[part] = _recognised(part, table.rows, columns)
    _refuse_repeats(paths)
    for part in ("question", "options"):
        if not paths[part]:
            faults.append(
                f"{table.file}: no column holds the {part}. Columns: {', '.join(columns) or 'none'}. "
                f"Say which it is, as in --field {part}=COLUMN."
            )
    if faults:
        raise DataError(faults)
    options = paths["options"]
    id_, group, passage = (paths[part][0] if paths[part] else None for part in ("id", "group", "passage"))
    return FieldMap(paths["question"][0], options[0] if len(options) == 1 else options, paths["gold"], id_, group,
                    passage)  # fmt: skip


def _refuse_repeats(paths: Mapping[str, tuple[str, ...]]) -> None:
    for part in ("question", "id", "group", "passage"):
        if len(paths[part]) > 1:
            raise ArgumentError(f"`{part}` must be in one column. Got {', '.join(paths[part])}.")
    if len(set(paths["options"])) < len(paths["options"]):
        raise ArgumentError(f"`options` must be in different columns. Got {', '.join(paths['options'])}.")


def _columns(rows: Sequence[Row]) -> dict[str, None]:
    """Return the columns that hold something in at least one row, in the order met."""
    return dict.fromkeys(name for row in rows for name, value in row.values.items() if value is not None)


def _absent(table: Rows, chosen: Mapping[str, str | Sequence[str] | None], columns: Mapping[str, None]) -> list[str]:
    faults = []
    for part, value in chosen.items():
        for path in (value,) if isinstance(value, str) else value or ():
            if not _holds(table.rows, path):
                faults.append(
                    f"{table.file}: no row has the column {path!r} given for the {part}. Columns: {', '.join(columns)}."
                )
    return faults


def _recognised(part: str, rows: Sequence[Row], columns: Mapping[str, None]) -> tuple[str, ...]:
    roots = {re.split(r"\.|\[\]", path)[0] for path in _NAMES[part]} & set(columns)
    found = [p for p in _NAMES[part] if re.split(r"\.|\[\]", p)[0] in roots and _holds(rows, p)]
    if part == "gold":
        return tuple(found)
    if part == "options" and not found:
        return _option_columns(columns)
    return tuple(found[:1])


def _holds(rows: Sequence[Row], path: str) -> bool:
    """Whether a path leads somewhere in at least one row; an empty list does not say what its elements would be."""
    get = getter(path)
    found = (get(row.values) for row in rows)
    if "[]" in path:
        return any(isinstance(value, list) and any(v is not None for v in value) for value in found)
    return any(value is not None for value in found)


def _option_columns(columns: Mapping[str, None]) -> tuple[str, ...]:
    """Find ``A, B, C...``, ``option1, option2...`` and the like: one stem, and letters or numbers without a gap."""
    families: dict[tuple[str, bool], list[tuple[int, str]]] = {}
    for name in columns:
        match = _OPTION_COLUMN.fullmatch(name) or _OPTION_COLUMN.fullmatch(name.lower())
        if match and (match["stem"] or not match["which"].isdigit()):
            digit = match["which"].isdigit()
            rank = int(match["which"]) if digit else ord(match["which"].upper()) - ord("A")
            families.setdefault((match["stem"].lower(), digit), []).append((rank, name))
    for family in families.values():
        ranks = sorted(rank for rank, _ in family)
        if len(family) > 1 and ranks[0] in (0, 1) and ranks == list(range(ranks[0], ranks[0] + len(ranks))):
            return tuple(name for _, name in sorted(family))
    return ()
