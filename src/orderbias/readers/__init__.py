"""A file or a data set of the hub -> `ItemSet`: finds the rows, the columns and the golds, and says how they were read.

Joins `row_files` and its modules `hub` (rows), `field_map` (columns), `cleaning` (items) and `self_referring`; must not
hold a rule of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from orderbias.errors import ArgumentError, DataError
from orderbias.items import ItemSet
from orderbias.readers.cleaning import clean_rows
from orderbias.readers.field_map import map_fields
from orderbias.readers.hub import hub_rows
from orderbias.readers.self_referring import MODES, treat
from orderbias.row_files import Rows, read_rows

#: What starts the name of a data set of the hub.
HUB = "hf:"


def read_items(
    source: str | Path,
    *,
    fields: Mapping[str, str | Sequence[str] | None] | None = None,
    name: str | None = None,
    gold_base: int | None = None,
    self_referring: str = "keep",
    duplicates: str = "error",
    split: str | None = None,
) -> ItemSet:
    """Read multiple-choice items.

    Parameters
    ----------
    source
        A file (``.jsonl``, ``.json``, ``.csv``, ``.tsv``, ``.parquet``; text files also with ``.gz`` behind), a folder
        written by ``datasets.save_to_disk``, or ``hf:org/name`` or ``hf:org/name:config`` for a data set of the hub.
    fields
        Columns of the parts ``question, options, gold, id, group, passage``. ``options`` is the column of a list, or a
        sequence of columns with one option each. A column may be a path (``question.choices[].text``). ``None`` means
        that the part is not there (for ``id``: row numbers from 1). Parts left out are found by their usual names.
    name
        Name of the set; the file's name without its ending by default.
    gold_base
        0 or 1: from where numbered golds count. Needed only where the whole file does not tell.
    self_referring
        ``keep``, ``pin`` or ``drop`` items with an option such as "none of the above".
    duplicates
        ``error``, or ``first`` to keep the first of equal items.
    split
        Which split of a data set of the hub.

    Returns
    -------
    ItemSet
        Its ``notices`` say which columns were read, in which form the golds were, and what was left out.

    Raises
    ------
    ArgumentError
        If an argument breaks its rule or the source does not exist.
    DataError
        With every fault of the file, each naming its line.
    MissingExtra
        If a data set is asked for and the package `datasets` is missing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "colours.csv")
    ...     _ = file.write_text("question,A,B,answer\\nSky?,blue,green,A\\nGrass?,blue,green,B\\n")
    ...     read = read_items(file)
    >>> read.items[1].options, read.items[1].gold, read.items[1].id
    (('blue', 'green'), 1, '2')
    >>> print(*read.notices, sep="\\n")
    Read question from question; options from A, B; gold from answer.
    Golds read as letters, from `answer`.
    """
    if gold_base not in (None, 0, 1):
        raise ArgumentError(f"`gold_base` must be 0 or 1. Got {gold_base!r}.")
    if duplicates not in ("error", "first"):
        raise ArgumentError(f"`duplicates` must be error or first. Got {duplicates!r}.")
    if self_referring not in MODES:
        raise ArgumentError(f"`self_referring` must be one of {', '.join(MODES)}. Got {self_referring!r}.")
    table = _rows(source, split)
    if not table.rows:
        raise DataError([fault.text for fault in table.faults] or f"{table.file} holds no items.")
    mapped = map_fields(table, fields)
    cleaned = clean_rows(table, mapped, gold_base=gold_base, duplicates=duplicates)
    if cleaned.faults:
        raise DataError(fault.text for fault in cleaned.faults)
    items, treated = treat(cleaned.items, self_referring)
    if not items:
        raise DataError(f"{table.file}: no item is left after dropping those with a self-referring option.")
    return ItemSet(name or _name(source), items, notices=(f"Read {mapped}.", *cleaned.notices, *treated))


def _rows(source: str | Path, split: str | None) -> Rows:
    text = str(source)
    if text.startswith(HUB):
        dataset, _, config = text.removeprefix(HUB).partition(":")
        return hub_rows(dataset, config or None, split)
    if Path(source).is_dir():
        return hub_rows(text, None, split)
    if split is not None:
        raise ArgumentError(f"`split` goes with a data set of the hub, and {Path(source).name} is a file.")
    return read_rows(Path(source))


def _name(source: str | Path) -> str:
    text = str(source)
    if text.startswith(HUB):
        return text.removeprefix(HUB)
    path = Path(os.fsencode(source).decode("utf-8", "backslashreplace"))  # names of files may hold any bytes
    return (path.with_suffix("") if path.suffix == ".gz" else path).stem
