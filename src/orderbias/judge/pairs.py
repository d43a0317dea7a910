"""What is known of pairs of answers, in arrays that grow; must not know of judges, orders or files."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import DataError
from orderbias.judge.columns import Facts, majority
from orderbias.row_files import shown
from orderbias.verdicts import UNREAD

_SHOWN = 5


@dataclass(slots=True)
class Tally:
    """How often something was met, and the first places and an example of it."""

    count: int = 0
    places: list[str] = field(default_factory=list)
    example: str = ""

    def add(self, where: str, value: object) -> None:
        """Count one more."""
        self.count += 1
        if len(self.places) < _SHOWN:
            self.places.append(where)
            # An empty cell says less than a text that could not be read.
            self.example = self.example if self.example not in ("", "None", "''") else shown(value)

    def __str__(self) -> str:
        file = self.places[0].rpartition(" ")[0]
        rest = [place.removeprefix(f"{file} ") for place in self.places[1:]]
        more = ["..."] * (self.count > len(self.places))
        return f"{', '.join([self.places[0], *rest, *more])}; such as {self.example}"


class _Column:
    """One fact of each pair, growing; texts are kept once and by number."""

    __slots__ = ("cells", "missing", "numbers", "texts")

    def __init__(self, kind: str, missing: float, texts: bool = False) -> None:
        self.cells: Any = array(kind)
        self.missing = missing
        self.numbers: dict[str, int] | None = {} if texts else None
        self.texts: list[str | None] = []

    def put(self, row: int, value: Any) -> Any:
        """Set a cell if it is not set, and return the value that was there if it is another."""
        if self.numbers is not None:
            code = self.numbers.get(value)
            if code is None:
                code = self.numbers[encodable(value)] = len(self.texts)
                self.texts.append(value)
            value = code
        cells = self.cells
        short = row - len(cells)
        if short >= 0:
            if short:
                cells.extend([self.missing] * short)
            cells.append(value)
            return None
        old = cells[row]
        if old == self.missing or old != old:
            cells[row] = value
        elif old != value:
            return self.texts[old] if self.numbers is not None else old
        return None

    def take(self, rows: NDArray[np.intp]) -> NDArray[Any] | None:
        """Return the cells of pairs as an array, None where none of them is set."""
        cells = np.frombuffer(self.cells, self.cells.typecode)
        out = np.full(len(rows), self.missing, cells.dtype)
        inside = rows < len(cells)
        out[inside] = cells[rows[inside]]
        if (np.isnan(out) if math.isnan(self.missing) else out == self.missing).all():
            return None
        return np.array([*self.texts, None], object)[out] if self.numbers is not None else out


class Pairs:
    """What is known of each pair, under its number."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self.columns: dict[str, _Column] = {
            "human": _Column("b", UNREAD),
            "model_a": _Column("i", -1, texts=True),
            "model_b": _Column("i", -1, texts=True),
            "group": _Column("i", -1, texts=True),
            "len_a": _Column("d", math.nan),
            "len_b": _Column("d", math.nan),
            "identical": _Column("b", -1),
        }
        # In the order of Facts, whose first fields they are.
        self._in_order = tuple(self.columns.values())
        self.raters: dict[str, _Column] = {}
        self.unread = Tally()

    def number(self, pair_id: str) -> int:
        """Return the number of a pair, a new one if it is new."""
        found = self.index.get(pair_id)
        if found is None:
            found = self.index[encodable(pair_id)] = len(self.index)
        return found

    def learn(self, row: int, facts: Facts, where: str) -> list[str]:
        """Keep what a row says of a pair, and return a sentence for each fact that an earlier row denies."""
        denied = []
        for name, column, value in zip(self.columns, self._in_order, facts, strict=False):
            if value is not None and value == value:
                old = column.put(row, value)
                if old is not None:
                    denied.append(_denied(name, value, old))
        for name, label in facts.raters:
            column = self.raters.get(name) or self.raters.setdefault(name, _Column("b", UNREAD))
            old = column.put(row, label) if label is not None else None
            if old is not None:
                denied.append(_denied(name, label, old))
        for word in facts.unread:
            self.unread.add(where, word)
        return denied

    def take(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """Return the columns of `Judgments` for some pairs; the label of several people is their majority."""
        found: dict[str, Any] = {name: column.take(rows) for name, column in self.columns.items()}
        if found["identical"] is not None:
            found["identical"] = found["identical"] == 1
        raters = [column.take(rows) for column in self.raters.values()]
        known = [column for column in raters if column is not None]
        table = np.stack(known, axis=1) if known else None
        if table is not None:
            label = majority(table)
            human = found["human"]
            found["human"] = label if human is None else np.where(human == UNREAD, label, human)
            found["raters"] = table if len(known) > 1 else None
        return found


def _denied(name: str, value: object, old: object) -> str:
    return (
        f"`{name}` is {_said(name, value)} here and {_said(name, old)} in an earlier row of the same pair. It is a "
        "fact of the pair, the same in both orders: A is the pair's first member, not the answer shown first."
    )


def _said(name: str, value: Any) -> str:
    """Return a fact as a message shows it; labels of people are codes by now."""
    if name in ("model_a", "model_b", "group"):
        return shown(value)
    if name in ("len_a", "len_b"):
        return f"{value:g}"
    return ("no", "yes")[value] if name == "identical" else ("a", "b", "tie")[value]


def encodable(text: str) -> str:
    """Return a text, which must be one that can be written again."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"text must be valid Unicode. Got {shown(text)}.") from None
    return text


def fill(columns: dict[str, Any], ids: NDArray[np.object_], offered: Pairs) -> None:
    """Take from another file of pairs what the verdicts' own does not say.

    Raises
    ------
    DataError
        If the two say different things of a label or a model.
    """
    known = np.array([pair in offered.index for pair in ids], bool)
    if not known.any():
        return
    rows = np.array([offered.index[pair] for pair in ids[known]], np.intp)
    for name, values in offered.take(rows).items():
        if values is None:
            continue
        there = columns.get(name)
        if there is None:
            blank: Any = UNREAD if values.dtype == np.int8 else (False if values.dtype == np.bool_ else None)
            blank = math.nan if values.dtype == np.float64 else blank
            columns[name] = np.full((len(ids), *values.shape[1:]), blank, values.dtype)
            columns[name][known] = values
        elif name in ("human", "model_a", "model_b", "group"):  # lengths may be in another unit
            here = there[known]
            unset, silent = _unset(here), _unset(values)
            differs = ~unset & ~silent & (here != values)
            if name != "group" and differs.any():
                first = int(differs.argmax())
                raise DataError(
                    f"`{name}` of the pair {shown(ids[known][first])} is {_said(name, here[first])} beside the "
                    f"verdicts and {_said(name, values[first])} in the file of pairs (pairs with two values: "
                    f"{differs.sum():,})."
                )
            columns[name][known] = np.where(unset, values, here)


def _unset(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype == object:
        return np.array([value is None for value in values], bool)
    return np.asarray(values == UNREAD)
