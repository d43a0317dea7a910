"""A file of pairs of answers -> `ItemSet`, each pair an item of two options; must not know who judges them.

An item's question is the instruction, its options are answer A, answer B and, where a judge may call it a tie, a third
that keeps its place. Its gold is what a person preferred.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orderbias.errors import ArgumentError, DataError
from orderbias.items import Item, ItemSet
from orderbias.readers.field_map import getter
from orderbias.readers.pair_notices import pair_notices
from orderbias.row_files import Fault, Row, Rows, read_rows, shown
from orderbias.verdicts import TIE, UNREAD, read_word

#: The parts of a pair that a column may hold.
PAIR_FIELDS = ("question", "answer_a", "answer_b", "human", "id", "group")
#: The third option of a pair where a tie is offered, and the place that it keeps.
TIE_TEXT = "tie"

_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "instruction", "prompt", "input", "query"),
    "human": ("human", "label", "gold", "preference", "winner"),
    "id": ("pair_id", "id", "idx"),
    "group": ("group", "category", "subset", "source"),
}
#: Names of the two answers that go together.
_ANSWERS = tuple(
    tuple(f"{stem}{joint}{letter}" for letter in letters)
    for letters in ("ab", "AB", "12")
    for stem in ("answer", "output", "response", "completion")
    for joint in ("_", "")
)
#: A group's name is no longer than this; a text that is, is in the wrong column.
LONGEST_GROUP = 1000
#: Beside an instruction, the text that it is about.
_BESIDE_INSTRUCTION = "input"


@dataclass(frozen=True, slots=True)
class _Columns:
    """The column of each part, and the one that is read behind the question, if any."""

    question: str
    answer_a: str
    answer_b: str
    human: str | None = None
    id: str | None = None
    group: str | None = None
    context: str | None = None

    def __str__(self) -> str:
        question = self.question + (f" and {self.context}" if self.context else "")
        parts = [f"question from {question}", f"answers A and B from {self.answer_a} and {self.answer_b}"]
        parts += [f"{part} from {path}" for part in ("human", "id", "group") if (path := getattr(self, part))]
        return "; ".join(parts)


def read_pairs(
    source: str | Path,
    *,
    fields: Mapping[str, str | Sequence[str] | None] | None = None,
    name: str | None = None,
    ties: bool = True,
    duplicates: str = "error",
) -> ItemSet:
    """Read pairs of answers to be judged.

    Parameters
    ----------
    source
        A ``.jsonl``, ``.json``, ``.csv``, ``.tsv`` or ``.parquet`` file with a row for each pair.
    fields
        Columns of the parts ``question, answer_a, answer_b, human, id, group``; None means that the part is not there.
        Parts left out are found by their usual names.
    name
        Name of the set; the file's name without its ending by default.
    ties
        Whether a tie is offered: it is the third option then, and keeps its place.
    duplicates
        ``error``, or ``first`` to keep the first of equal pairs. A pair with its answers exchanged is the same.

    Returns
    -------
    ItemSet
        ``gold`` is the answer that a person preferred: 0 A, 1 B, 2 a tie.

    Raises
    ------
    ArgumentError
        If an argument breaks its rule or there is no such file.
    DataError
        With every fault of the file, each naming its line.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "pairs.csv")
    ...     _ = file.write_text("instruction,output_1,output_2,label\\nSay hi.,Hi!,No.,1\\nCount.,1 2 3,1 2 3,tie\\n")
    ...     read = read_pairs(file)
    >>> [(item.options, item.gold) for item in read]
    [(('Hi!', 'No.', 'tie'), 0), (('1 2 3', '1 2 3', 'tie'), 2)]
    >>> print(*read.notices, sep="\\n")
    Read question from instruction; answers A and B from output_1 and output_2; human from label.
    People preferred A in 1 pair, B in 0, neither in 1.
    1 pair has two identical answers: it tells a judge's taste for a place, and nothing of the answers.
    """
    if duplicates not in ("error", "first"):
        raise ArgumentError(f"`duplicates` must be error or first. Got {duplicates!r}.")
    path = Path(source)
    table = read_rows(path)
    if not table.rows:
        raise DataError([fault.text for fault in table.faults] or f"{table.file} holds no pairs.")
    columns = _find(table, dict(fields or {}))
    read = _Reading(table, columns, ties, duplicates)
    for row in table.rows:
        read.add(row)
    if read.faults:
        raise DataError(fault.text for fault in sorted(read.faults))
    stem = path.with_suffix("") if path.suffix == ".gz" else path
    return ItemSet(
        name or stem.stem,
        tuple(read.items),
        notices=(f"Read {columns}.", *pair_notices(read.items, ties, read.dropped, read.lost_ties)),
    )


# --- columns -----------------------------------------------------------------------------------------------------


def _find(table: Rows, given: dict[str, str | Sequence[str] | None]) -> _Columns:
    """Decide which column holds which part: those that are given, the others by their usual names."""
    unknown = sorted(set(given) - set(PAIR_FIELDS))
    if unknown:
        raise ArgumentError(f"`fields` may hold {', '.join(PAIR_FIELDS)}. Got {', '.join(unknown)}.")
    several = [part for part, path in given.items() if path is not None and not isinstance(path, str)]
    if several:
        raise ArgumentError(f"`{several[0]}` must be in one column. Got {', '.join(given[several[0]] or ())}.")
    there = dict.fromkeys(name for row in table.rows for name, value in row.values.items() if value is not None)
    paths: dict[str, str | None] = {
        part: next((name for name in names if name in there), None) for part, names in _NAMES.items()
    }
    pair = next((two for two in _ANSWERS if set(two) <= set(there)), (None, None))
    paths |= dict(zip(("answer_a", "answer_b"), pair, strict=True))
    paths |= {part: path for part, path in given.items() if path is None or isinstance(path, str)}
    if paths["question"] == "instruction" and _BESIDE_INSTRUCTION in there:
        paths["context"] = _BESIDE_INSTRUCTION
    _check(table, paths, given, list(there))
    return _Columns(**paths)  # type: ignore[arg-type]


def _check(table: Rows, paths: Mapping[str, str | None], given: Mapping[str, object], columns: Sequence[str]) -> None:
    listed = f"Columns: {', '.join(columns) or 'none'}."
    faults = [
        f"{table.file}: no column holds {what}. {listed} Say which does, as in --field {part}=COLUMN."
        for part, what in (("question", "the question"), ("answer_a", "answer A"), ("answer_b", "answer B"))
        if paths[part] is None
    ]
    for part in given:
        path = paths[part]
        if path is not None and not any(getter(path)(row.values) is not None for row in table.rows):
            faults.append(f"{table.file}: no row has the column {path!r} given for `{part}`. {listed}")
    if faults:
        raise DataError(faults)
    if paths["answer_a"] == paths["answer_b"]:
        raise ArgumentError(f"`answer_a` and `answer_b` must be in different columns. Got {paths['answer_a']} twice.")


# --- rows --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    """The items of a file as they are read, and what is wrong or must be said."""

    table: Rows
    columns: _Columns
    ties: bool
    duplicates: str
    items: list[Item] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    dropped: int = 0
    lost_ties: int = 0
    _seen: dict[object, Row] = field(default_factory=dict)
    _get: dict[str, Callable[[Mapping[str, object]], object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.faults += self.table.faults
        for part in (*PAIR_FIELDS, "context"):
            path = getattr(self.columns, part)
            self._get[part] = getter(path) if path else lambda values: None

    def add(self, row: Row) -> None:
        """Read one row."""
        before = len(self.faults)
        question, first, second = (self._text(row, part) for part in ("question", "answer_a", "answer_b"))
        human, item_id, group = self._human(row), self._name(row, "id"), self._name(row, "group")
        context = self._get["context"](row.values)
        if isinstance(context, str) and context.strip():
            question = f"{question}\n\n{self._encodable(row, context)}"
        if len(self.faults) > before:
            return
        item_id = item_id or str(row.number)
        if self._repeated(row, item_id, (question, frozenset((first, second)))):
            return
        options, pins = ((first, second, TIE_TEXT), (2,)) if self.ties else ((first, second), ())
        self.items.append(Item(item_id, question, options, human, group, pinned=pins))

    def _text(self, row: Row, part: str) -> str:
        value = _numeral(self._get[part](row.values))
        # A model may have answered with nothing at all; where null and nothing are written alike, nobody can tell.
        if not isinstance(value, str) or (part == "question" and not value.strip()):
            rule = "must be a text" + (" that is not empty" if part == "question" or self.table.blank_is_null else "")
            column = getattr(self.columns, part)
            self.faults.append(Fault(row.line, f"{row.where}: `{column}` {rule}. Got {shown(value)}."))
            return ""
        return self._encodable(row, value)

    def _encodable(self, row: Row, text: str) -> str:
        """Return a text, which must be one that can be written again: half of a surrogate pair cannot."""
        try:
            text.encode()
        except UnicodeEncodeError:
            self.faults.append(Fault(row.line, f"{row.where}: text must be valid Unicode. Got {shown(text)}."))
        return text

    def _human(self, row: Row) -> int | None:
        value = self._get["human"](row.values)
        if value is None or value != value or (isinstance(value, str) and not value.strip()):
            return None
        code, _ = read_word(value)
        if code == UNREAD:
            hint = " Labels count from 1." if str(value).strip() in ("0", "0.0") else ""
            self.faults.append(
                Fault(
                    row.line,
                    f"{row.where}: `{self.columns.human}` must name the better answer: 1 or 2, A or B, model_a or "
                    f"model_b, A>B or B>A, or tie. Got {shown(value)}.{hint} Pass --field human= to read no label.",
                )
            )
            return None
        if code == TIE and not self.ties:
            self.lost_ties += 1
            return None
        return code

    def _name(self, row: Row, part: str) -> str | None:
        value = _numeral(self._get[part](row.values))
        if value is None or not str(value).strip():
            return None
        if not isinstance(value, str) or (part == "group" and len(value) > LONGEST_GROUP):
            column = getattr(self.columns, part)
            rule = "must be a text or a number" + f" of at most {LONGEST_GROUP:,} characters" * (part == "group")
            self.faults.append(Fault(row.line, f"{row.where}: `{column}` {rule}. Got {shown(value)}."))
            return None
        return self._encodable(row, value)

    def _repeated(self, row: Row, item_id: str, content: object) -> bool:
        """Whether a pair with this id or content was there before; a fault unless the first is to be kept."""
        for key, what in ((("id", item_id), f"the id {shown(item_id)}"), (("content", content), "the texts")):
            if key not in self._seen:
                continue
            if self.duplicates == "first":
                self.dropped += 1
            else:
                earlier = self._seen[key].where
                self.faults.append(
                    Fault(
                        row.line,
                        f"{row.where}: each pair must be there once. It has {what} of {earlier}. "
                        "Pass --duplicates first to keep the first.",
                    )
                )
            return True
        self._seen |= {("id", item_id): row, ("content", content): row}
        return False


def _numeral(value: object) -> object:
    """Return a number as the text that it prints as (1 and 1.0 are one), and None for what is none."""
    if value != value:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        return str(int(value) if isinstance(value, float) and value.is_integer() else value)
    except ValueError:  # an integer too long to print
        return value
