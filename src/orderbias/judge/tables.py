"""The rows of a table of verdicts that anyone can write -> calls; must not know the formats of other tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orderbias.errors import DataError
from orderbias.judge.columns import NOTHING, Facts, Layout, Probabilities, cell_text, named_member, number
from orderbias.judge.gathering import Call
from orderbias.judge.pairs import Tally
from orderbias.row_files import Row, shown
from orderbias.verdicts import UNREAD, Terms, read_word

REQUIRED = ("pair_id", "order", "verdict")
_ORDERS = {"AB": 0, "BA": 1, "ab": 0, "ba": 1}
#: Words longer than this are replies, each read once; shorter ones are remembered.
_LONGEST_REMEMBERED, _MOST_REMEMBERED = 40, 10_000


@dataclass(slots=True)
class Source:
    """The file that rows come from, and what its rows have in common with those of the other files."""

    path: Path
    #: Which model is A, by question and models: the one that was shown first in the first row that was seen.
    members: dict[object, str] = field(default_factory=dict)
    #: Columns that are not read.
    unused: set[str] = field(default_factory=set)
    #: Whether rows name no judge.
    unnamed: bool = False
    #: What was met that is to be told, by sentence.
    told: dict[str, Tally] = field(default_factory=dict)

    @property
    def stem(self) -> str:
        """The name of the file without its ends, which names a judge that its rows do not name."""
        return self.path.name.split(".")[0] if self.path.name.endswith(".gz") else self.path.stem

    def tell(self, sentence: str, where: str, value: object) -> None:
        """Count something that is told once for the whole file."""
        self.told.setdefault(sentence, Tally()).add(where, value)


def missing_columns(columns: Iterable[str]) -> Sequence[str]:
    """Return the columns that a table of verdicts needs and that are not among these."""
    known = Layout(columns).known
    return [name for name in REQUIRED if name not in known]


class Table:
    """Reads the rows of one table; remembers words and the last pair, since rows repeat them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._stem = source.stem
        self._layouts: dict[tuple[str, ...], tuple[Layout, Probabilities, tuple[str, ...]]] = {}
        self._words: dict[str, tuple[int, Terms]] = {}
        self._cells: tuple[object, ...] = ()
        self._facts: Facts = NOTHING

    def __call__(self, row: Row) -> tuple[Call]:
        """Return the call of a row.

        Raises
        ------
        DataError
            If a cell breaks its rule.
        """
        values = row.values
        columns = tuple(values)
        layout, probabilities, (id_column, order_column, verdict_column) = self._layouts.get(columns) or self._lay_out(
            columns
        )
        facts = self.facts(layout, values)
        verdict = values[verdict_column]
        code, terms = self._word(verdict, facts)
        known = layout.known
        judge = cell_text(values[known["judge"]], "judge") if "judge" in known else None
        return (
            Call(
                pair_id(values[id_column]),
                _order(values[order_column]),
                code,
                judge or self._stem,
                facts,
                verdict,
                terms,
                _repeat(values[known["repeat"]]) if "repeat" in known else 0,
                probabilities.read(values) if probabilities.wanted else None,
            ),
        )

    def facts(self, layout: Layout, values: Mapping[str, object]) -> Facts:
        """Read what a row says of its pair, or return what the row before said if the cells are the same."""
        cells = layout.pick(values)
        if cells != self._cells:
            self._facts = layout.facts(cells)
            self._cells = cells
        return self._facts

    def _lay_out(self, columns: tuple[str, ...]) -> tuple[Layout, Probabilities, tuple[str, ...]]:
        layout = Layout(columns)
        missing = [name for name in REQUIRED if name not in layout.known]
        if missing:
            raise DataError(f"needs the columns {', '.join(missing)}. Got {', '.join(columns)}. See docs/judge.md.")
        self.source.unused.update(layout.unused)
        self.source.unnamed |= "judge" not in layout.known
        needed = tuple(layout.known[name] for name in REQUIRED)
        found = self._layouts[columns] = (layout, Probabilities(layout.known), needed)
        return found

    def _word(self, verdict: object, facts: Facts) -> tuple[int, Terms]:
        """Read a verdict: a word, else the name of one of the two models."""
        if not isinstance(verdict, str) or len(verdict) > _LONGEST_REMEMBERED:
            return _read(verdict, facts)
        found = self._words.get(verdict)
        if found is None:
            found = read_word(verdict)
            text = verdict.strip()
            if found[0] == UNREAD or _names_a_model(text, facts):
                return _read(verdict, facts)
            if len(self._words) < _MOST_REMEMBERED:
                self._words[verdict] = found
        elif _names_a_model(verdict, facts):
            return _read(verdict, facts)
        return found


def _names_a_model(word: str, facts: Facts) -> bool:
    return word == facts.model_a or word == facts.model_b


def _read(verdict: object, facts: Facts) -> tuple[int, Terms]:
    """Read a verdict that may be the name of a model."""
    code, terms = read_word(verdict)
    text = str(verdict).strip() if isinstance(verdict, str | int | float) and not isinstance(verdict, bool) else ""
    named = named_member(text, facts.model_a, facts.model_b) if text else UNREAD
    if code == UNREAD and named == UNREAD and text in ("0", "0.0"):
        raise DataError(
            "`verdict` 0 can be a tie, or the first of 0 and 1. Write verdicts as first, second, tie, or as model_a, "
            "model_b, tie."
        )
    if named == UNREAD:
        return code, terms
    if code == UNREAD:
        return named, Terms.PAIR
    if code != named:
        raise DataError(
            f"`verdict` {shown(verdict)} is the name of model_{'ab'[named]}, and a word with another meaning. Rename "
            "the models."
        )
    return code, terms  # a model named A: the word stays as open as it is


def pair_id(value: object) -> str:
    """Read the id of a pair.

    Raises
    ------
    DataError
        If it is empty, or no text or number.
    """
    found = value.strip() if isinstance(value, str) else cell_text(value, "pair_id")
    if not found or (len(found) == 3 and found.lower() == "nan"):
        raise DataError(f"`pair_id` must not be empty. Got {shown(value)}.")
    return found


def _order(value: object) -> int:
    if isinstance(value, str):
        found = _ORDERS.get(value)
        if found is None:
            found = _ORDERS.get(value.strip().upper())
        if found is not None:
            return found
    raise DataError(f"`order` must be AB (the pair's A was shown first) or BA (its B was). Got {shown(value)}.")


def _repeat(value: object) -> int:
    if value is None or value == "":
        return 0
    found = number(value, "repeat")
    if not (found >= 0 and found.is_integer()):
        raise DataError(f"`repeat` must be a whole number, 0 for the first call. Got {shown(value)}.")
    return int(found)
