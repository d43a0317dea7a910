"""How a whole file writes its golds: as indices from 0 or 1, letters, labels or texts; must not know of files.

One value rarely says what it is: ``1`` may be the second option, the first, or the option "1". A whole file mostly
does, and where it does not the caller is asked instead of being given a guess.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from orderbias.row_files import shown

_LETTER = re.compile(r"\(?([A-Za-z])[).:]?")
_DIGITS = re.compile(r"[+-]?\d{1,18}(\.0+)?")

#: From where numbers may count.
_BASES = (0, 1)


@dataclass(frozen=True, slots=True)
class Written:
    """A gold as a row writes it, with what it may refer to.

    ``options`` are the texts as the row lists them, null ones included; ``labels`` the row's own labels for them.
    """

    value: object
    options: tuple[str | None, ...]
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class GoldReading:
    """The content index of each gold (``None`` where there is none), how they were read, and what does not fit.

    ``faults`` holds ``(row index, rule and value)``; a row index of -1 concerns the whole file.
    """

    golds: tuple[int | None, ...]
    form: str
    faults: tuple[tuple[int, str], ...] = ()


def read_golds(written: Sequence[Written], gold_base: int | None = None) -> GoldReading:
    """Read the golds of one file, all in the same form.

    Parameters
    ----------
    written
        One entry a row.
    gold_base
        0 or 1 if the caller says from where numbers count; else a 0 or a K in the file must tell.

    Returns
    -------
    GoldReading
        With ``form`` empty if no row has a gold.

    Examples
    --------
    >>> options = ("red", "green", "blue")
    >>> read_golds([Written("B", options), Written("C", options)]).golds
    (1, 2)
    >>> read_golds([Written(1, options), Written(3, options)]).form
    'numbers from 1'
    >>> read_golds([Written(1, options)]).faults[0][1]
    '`gold` may count from 0 or from 1: no 0 and no last option tells which. Pass --gold-base 0 or --gold-base 1.'
    """
    values = [_single(w.value) for w in written]
    present = [i for i, value in enumerate(values) if not _missing(value)]
    if not present:
        return GoldReading((None,) * len(written), "")
    rows = {i: Written(values[i], written[i].options, written[i].labels) for i in present}
    base = gold_base if gold_base is not None else _base(list(rows.values()))
    forms = _forms(base)
    read = {name: {i: reader(row) for i, row in rows.items()} for name, reader in forms.items()}
    whole = [name for name, found in read.items() if None not in found.values()]
    if "labels" in whole:  # the file itself says which option each label means
        whole = ["labels"]
    numbers = all(_integer(row.value) is not None for row in rows.values())
    if numbers and gold_base is not None:
        return _reading(len(written), rows, read, f"numbers from {base}", base, stated=True)
    if numbers and base is None and "labels" not in whole:
        return GoldReading((None,) * len(written), "", (_no_base(rows, whole),))
    if len({tuple(read[name].values()) for name in whole}) > 1:
        return GoldReading((None,) * len(written), "", ((-1, _two_forms(whole)),))
    fits = {name: sum(v is not None for v in found.values()) for name, found in read.items()}
    best = whole[0] if whole else max(fits, key=lambda name: fits[name]) if any(fits.values()) else "texts"
    return _reading(len(written), rows, read, best, base, stated=gold_base is not None)


def _reading(
    n_rows: int,
    rows: dict[int, Written],
    read: dict[str, dict[int, int | None]],
    form: str,
    base: int | None,
    *,
    stated: bool,
) -> GoldReading:
    found = read[form]
    faults = [(i, _misfit(form, row, base, stated)) for i, row in rows.items() if found[i] is None]
    for i, index in found.items():
        if index is not None and rows[i].options[index] is None:
            faults.append((i, f"`gold` must name an option. Got {shown(rows[i].value)}, whose option is null."))
    return GoldReading(tuple(found.get(i) for i in range(n_rows)), form, tuple(sorted(faults)))


def _single(value: object) -> object:
    """Unwrap a list of one."""
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _integer(value: object) -> int | None:
    """Return the integer a value stands for: 2, 2.0, "2" and "2.0", but no truth value and nothing gigantic."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal):  # an exact number column of Parquet
        return int(value) if value.is_finite() and value == value.to_integral_value() and abs(value) < 2**53 else None
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value.is_integer() and abs(value) < 2**53 else None
    text = value.strip() if isinstance(value, str) else ""
    return int(text.split(".")[0]) if _DIGITS.fullmatch(text) else None


def _base(rows: Sequence[Written]) -> int | None:
    """Return 0 if a 0 is among the numbers, else 1 if a K is, else ``None``."""
    numbers = [(_integer(row.value), len(row.options)) for row in rows]
    if any(number == 0 for number, _ in numbers):
        return 0
    return 1 if any(number == k for number, k in numbers) else None


def _forms(base: int | None) -> dict[str, Callable[[Written], int | None]]:
    """Return each form with its reader: a content index, or ``None`` where a value does not have the form."""
    forms: dict[str, Callable[[Written], int | None]] = {"labels": _by_label, "letters": _by_letter}
    if base is not None:
        forms[f"numbers from {base}"] = lambda row: _by_number(row, base)
    forms["texts"] = _by_text
    return forms


def _by_label(row: Written) -> int | None:
    value = str(row.value).strip()
    return row.labels.index(value) if row.labels and row.labels.count(value) == 1 else None


def _by_letter(row: Written) -> int | None:
    match = _LETTER.fullmatch(row.value.strip()) if isinstance(row.value, str) else None
    index = ord(match[1].upper()) - ord("A") if match else len(row.options)
    return index if index < len(row.options) else None


def _by_number(row: Written, base: int) -> int | None:
    number = _integer(row.value)
    return number - base if number is not None and 0 <= number - base < len(row.options) else None


def _by_text(row: Written) -> int | None:
    if isinstance(row.value, bool | list | dict):
        return None
    value = str(row.value).strip()
    return next((i for i, text in enumerate(row.options) if text is not None and text.strip() == value), None)


def _no_base(rows: dict[int, Written], whole: Sequence[str]) -> tuple[int, str]:
    for i, row in rows.items():
        if not any(_by_number(row, base) is not None for base in _BASES):
            n = len(row.options)
            return i, f"`gold` must be 0..{n - 1} for {n} options. Got {shown(row.value)}."
    or_text = " or be an option's text" if whole else ""
    return -1, (
        f"`gold` may count from 0 or from 1{or_text}: no 0 and no last option tells which. "
        "Pass --gold-base 0 or --gold-base 1."
    )


def _two_forms(whole: Sequence[str]) -> str:
    return (
        f"`gold` can be read as {' and as '.join(whole)}, and they disagree. "
        "Write the golds as numbers from 0 and pass --gold-base 0."
    )


def _misfit(form: str, row: Written, base: int | None, stated: bool) -> str:
    n, got = len(row.options), shown(row.value)
    if isinstance(row.value, list | tuple):
        return f"`gold` must be one option. Got {got}."
    if form == "letters":
        return f"`gold` must be A..{chr(ord('A') + n - 1)} for {n} options. Got {got}; the other golds are letters."
    if form == "labels":
        return f"`gold` must be one of the labels {', '.join(row.labels or ())}. Got {got}."
    if form == "texts":
        return f"`gold` must be a number, a letter or the text of one of the {n} options. Got {got}."
    rule = f"`gold` must be {base}..{n - 1 + (base or 0)} for {n} options. Got {got}. Golds "
    if stated:
        return rule + f"count from {base}, as --gold-base says."
    return rule + (
        "are 0-based; pass --gold-base 1 if yours are not."
        if base == 0
        else "count from 1 (there is no 0 in the file); pass --gold-base 0 if yours are 0-based."
    )
