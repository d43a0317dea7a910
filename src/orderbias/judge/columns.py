"""The columns of a table of verdicts or of pairs, and how a cell is read; must not know of judges, orders or files."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import DataError
from orderbias.row_files import shown
from orderbias.verdicts import TIE, UNREAD, Terms, read_word

#: Every column that is read, with the names it may have, in lower case.
NAMES: Mapping[str, tuple[str, ...]] = {
    "pair_id": ("pair_id", "id", "idx"),
    "order": ("order",),
    "verdict": ("verdict",),
    "judge": ("judge",),
    "repeat": ("repeat",),
    "model_a": ("model_a", "model_1", "generator_1"),
    "model_b": ("model_b", "model_2", "generator_2"),
    "human": ("human", "human_label", "label"),
    "group": ("group", "category"),
    "len_a": ("len_a",),
    "len_b": ("len_b",),
    "answer_a": ("answer_a", "output_1", "response_a", "response1"),
    "answer_b": ("answer_b", "output_2", "response_b", "response2"),
    "p_first": ("p_first",),
    "p_second": ("p_second",),
    "p_tie": ("p_tie",),
    "logprobs": ("logprobs",),
    "question": ("question", "instruction", "prompt", "input"),
}
#: Columns of several people: ``rater_1``, ``human_2``, ``annotator3``.
_RATER = re.compile(r"(rater|human|annotator)[_ ]?\w+")
#: A name is no longer than this; a text that is, is in the wrong column.
LONGEST_NAME = 1000
#: Columns that say something of the pair, the same in both orders.
_OF_PAIR = ("model_a", "model_b", "human", "group", "len_a", "len_b", "answer_a", "answer_b")


class Facts(NamedTuple):
    """What a row says of its pair, whatever was shown first; None where nothing is said.

    A named tuple, since there is one per pair of files of millions.
    """

    human: int | None = None
    model_a: str | None = None
    model_b: str | None = None
    group: str | None = None
    len_a: float = math.nan
    len_b: float = math.nan
    identical: bool | None = None
    raters: tuple[tuple[str, int | None], ...] = ()
    #: Labels of people that are no verdict.
    unread: tuple[object, ...] = ()


NOTHING = Facts()


class Layout:
    """Which column of a row is which; made once for all rows that have the same columns."""

    __slots__ = ("_present", "_texts", "known", "pick", "raters", "unused")

    def __init__(self, columns: Iterable[str]) -> None:
        columns = list(columns)
        spelled = {column.strip().lower(): column for column in reversed(columns)}
        spelled |= {column: column for column in columns if column in spelled}  # as it is written here comes first
        self.known: dict[str, str] = {}
        for name, spellings in NAMES.items():
            found = [spelled[s] for s in spellings if s in spelled]
            if found:
                self.known[name] = found[0]
        taken = set(self.known.values())
        self.raters = tuple(c for s, c in reversed(spelled.items()) if c not in taken and _RATER.fullmatch(s))
        self.unused = tuple(c for c in columns if c not in taken and c not in self.raters)
        self._present = tuple(name for name in _OF_PAIR if name in self.known)
        self._texts = "answer_a" in self.known or "answer_b" in self.known
        picked = [self.known[name] for name in self._present] + list(self.raters)
        #: Takes the cells of a row that say something of the pair.
        self.pick: Callable[[Mapping[str, object]], tuple[object, ...]] = _getter(picked)

    def facts(self, cells: tuple[object, ...]) -> Facts:
        """Read the cells that :attr:`pick` returned."""
        if not cells:
            return NOTHING
        get = dict(zip(self._present, cells, strict=False)).get
        model_a, model_b = cell_text(get("model_a"), "model_a"), cell_text(get("model_b"), "model_b")
        unread: list[object] = []
        human = get("human")
        label = None if human is None else member(human, model_a, model_b, unread)
        raters: tuple[tuple[str, int | None], ...] = ()
        if self.raters:
            said = zip(self.raters, cells[len(self._present) :], strict=True)
            raters = tuple((column, member(cell, model_a, model_b, unread)) for column, cell in said)
        text_a = text_b = same = None
        if self._texts:
            text_a, text_b = _answer(get("answer_a"), "answer_a"), _answer(get("answer_b"), "answer_b")
            same = same_text(text_a, text_b)
        return Facts(
            label,
            model_a,
            model_b,
            cell_text(get("group"), "group"),
            _length(get("len_a"), text_a, "len_a"),
            _length(get("len_b"), text_b, "len_b"),
            same,
            raters,
            tuple(unread),
        )


def _getter(columns: list[str]) -> Callable[[Mapping[str, object]], tuple[object, ...]]:
    if len(columns) > 1:
        return itemgetter(*columns)
    return lambda values: tuple(values[column] for column in columns)


def member(value: object, model_a: str | None, model_b: str | None, unread: list[object]) -> int | None:
    """Read a person's label, always of a member of the pair: 0 A, 1 B, 2 a tie; None where there is none.

    What is no label joins ``unread``: people say which member is better, so ``first`` is not read.
    """
    if value is None or value != value or value == "":
        return None
    code, terms = read_word(value)
    if code == UNREAD or terms is Terms.SHOWN:
        code = named_member(str(value).strip(), model_a, model_b)
    if code == UNREAD:
        if str(value).strip() in ("0", "0.0"):
            raise DataError(
                "a label of a person must say a, b or tie (or 1, 2). Got 0, which can be a tie or the first of 0 and "
                "1. Write the labels as words."
            )
        unread.append(value)
        return None
    return code


def named_member(text: str, model_a: str | None, model_b: str | None) -> int:
    """Return 0 or 1 if a text is the name of just that model, else ``UNREAD``."""
    if text in (model_a, model_b):
        return UNREAD if model_a == model_b else int(text == model_b)
    lower = text.lower()
    is_a, is_b = lower == (model_a or "").lower(), lower == (model_b or "").lower()
    return int(is_b) if is_a != is_b else UNREAD


def cell_text(value: object, column: str) -> str | None:
    """Read a name or an id: numbers as the text that they print as (1, 1.0 and "1" are one id), None where empty."""
    if value is None:
        return None
    if isinstance(value, str):
        if len(value) > LONGEST_NAME:
            raise DataError(
                f"`{column}` must be a name of at most {LONGEST_NAME:,} characters. Got {len(value):,}: {shown(value)}."
            )
        return value.strip() or None
    if value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise DataError(f"`{column}` must be text or a number. Got {shown(value)}.")
    try:
        return str(value)
    except ValueError as error:  # an integer too long to print
        raise DataError(f"`{column}` must be text or a number. Got {shown(value)}.") from error


def number(value: object, column: str) -> float:
    """Read a number, NaN where empty."""
    if value is None or value == "":
        return math.nan
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"`{column}` must be a number. Got {shown(value)}.") from None


def _length(value: object, text: str | None, column: str) -> float:
    if value is None:
        return math.nan if text is None else float(len(text))
    length = number(value, column)
    if length < 0 or math.isinf(length):
        raise DataError(f"`{column}` must be a length, 0 or more. Got {shown(value)}.")
    return length if length == length else (math.nan if text is None else float(len(text)))


def _answer(value: object, column: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)  # the turns of a conversation
    return cell_text(value, column)


def same_text(a: str | None, b: str | None) -> bool | None:
    """Whether two answers are the same text apart from space around them; None where one is not known."""
    return None if a is None or b is None else a.strip() == b.strip()


def text_facts(a: object, b: object) -> dict[str, Any]:
    """Return the facts that two answers themselves give: their lengths in characters, and whether they are the same."""
    text_a, text_b = _answer(a, "answer_a"), _answer(b, "answer_b")
    return {
        "len_a": _length(None, text_a, "len_a"),
        "len_b": _length(None, text_b, "len_b"),
        "identical": same_text(text_a, text_b),
    }


@dataclass(slots=True)
class Probabilities:
    """Reads the probabilities of a row, in shown terms: columns ``p_first, p_second, p_tie`` or ``logprobs``."""

    known: Mapping[str, str] = field(default_factory=dict)

    @property
    def wanted(self) -> bool:
        """Whether the row has such columns."""
        return "logprobs" in self.known or "p_first" in self.known or "p_second" in self.known

    def read(self, values: Mapping[str, object]) -> tuple[float, float, float] | None:
        """Return natural logs of (first, second, tie) that are renormalised, or None where nothing is said."""
        logs = self._logs(values.get(self.known.get("logprobs", "")))
        if logs is None:
            cells = [values.get(self.known.get(name, "")) for name in ("p_first", "p_second", "p_tie")]
            if cells[0] is None and cells[1] is None:
                return None
            p = [number(cell, name) for cell, name in zip(cells, ("p_first", "p_second", "p_tie"), strict=True)]
            p[2] = 0.0 if math.isnan(p[2]) else p[2]
            if not all(0 <= each <= 1 for each in p) or not 0 < sum(p) <= 1.001:
                raise DataError(
                    "`p_first`, `p_second` and, if a tie was offered, `p_tie` must be probabilities of 0 to 1 whose "
                    f"sum is at most 1. Got {', '.join(map(shown, cells))}. Leave all of them empty where unknown."
                )
            logs = [math.log(each) if each else -math.inf for each in p]
        return normalised(logs)

    def _logs(self, cell: object) -> list[float] | None:
        if cell is None or cell == "":
            return None
        given = cell
        if isinstance(cell, str):  # a CSV holds a list as JSON or with spaces
            try:
                cell = json.loads(cell) if cell.lstrip().startswith(("[", "{")) else cell.split()
            except ValueError:
                cell = None
        if isinstance(cell, Mapping):
            cell = [cell.get(place) for place in ("first", "second", "tie")]
        if isinstance(cell, list | tuple) and len(cell) in (2, 3):
            logs = [-math.inf if part is None else number(part, "logprobs") for part in [*cell, None][:3]]
            if all(each <= 1e-3 for each in logs) and max(logs) > -math.inf:
                return logs
        raise DataError(
            f"`logprobs` must hold natural logs for first, second and, if it was offered, tie. Got {shown(given)}."
        )


def normalised(logs: Iterable[float]) -> tuple[float, float, float]:
    """Return three logs so that their exponentials add up to 1."""
    first, second, tie = logs
    top = max(first, second, tie)
    total = top + math.log(sum(math.exp(each - top) for each in (first, second, tie)))
    return first - total, second - total, tie - total


def majority(raters: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the label that more people gave than any other, int8 ``(n_pairs,)``; a tie where there is none.

    Parameters
    ----------
    raters
        Int8 ``(n_pairs, n_raters)`` of codes 0 A, 1 B, 2 a tie, -1 unknown. A pair without any label is -1.

    Examples
    --------
    >>> majority(np.array([[0, 0, 1], [0, 1, 2], [1, -1, -1], [-1, -1, -1]], np.int8)).tolist()
    [0, 2, 1, -1]
    """
    counts = np.stack([(raters == code).sum(axis=1) for code in (0, 1, TIE)], axis=1)
    most = counts.max(axis=1)
    alone = (counts == most[:, None]).sum(axis=1) == 1
    label = np.where(alone, counts.argmax(axis=1), TIE)
    return np.where(most == 0, UNREAD, label).astype(np.int8)
