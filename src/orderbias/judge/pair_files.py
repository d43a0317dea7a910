"""A file of pairs beside one of verdicts: texts, labels, models; must not know how verdicts are read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from orderbias.errors import DataError
from orderbias.judge.columns import Layout
from orderbias.judge.format_rows import pandalm_facts
from orderbias.judge.pairs import Pairs, fill
from orderbias.judge.tables import pair_id
from orderbias.judge.values import Judgments
from orderbias.row_files import Fault, stream_rows

#: After so many faults the rest of the files is not read.
MOST_FAULTS = 1000
#: What a file of pairs may supply.
PAIR_COLUMNS = ("human", "raters", "model_a", "model_b", "group", "len_a", "len_b", "identical")
LABELS = "Labels of people that cannot be read count as unknown: {:,} ({})."


def with_pairs(judgments: Judgments, path: str | Path) -> Judgments:
    """Return verdicts with the labels, models, lengths and groups that a file of pairs has and they lack.

    Raises
    ------
    ArgumentError
        If there is no such file.
    DataError
        If it breaks a rule, has none of the pairs, or says something else of a label or a model.
    """
    told: dict[str, list[str]] = {}
    offered = read_pair_file(Path(path), told)
    covered = coverage(judgments.pair_ids.tolist(), offered, Path(path).name)
    columns = {name: getattr(judgments, name) for name in PAIR_COLUMNS}
    columns = {name: None if values is None else values.copy() for name, values in columns.items()}
    fill(columns, judgments.pair_ids, offered)
    settings = judgments.settings.extended(pairs=hash_of([Path(path)]))
    return replace(judgments, **columns, settings=settings, notices=(*judgments.notices, *told, *covered))


def coverage(judged: Iterable[str], offered: Pairs, file: str) -> list[str]:
    """Tell of pairs without a verdict, and of verdicts whose pair is not in the file of pairs.

    Raises
    ------
    DataError
        If the two have no pair in common.
    """
    judged, told = set(judged), []
    common = len(judged & offered.index.keys())
    if not common:
        raise DataError(f"{file}: no pair_id of it occurs among the verdicts. Both must use the same ids.")
    if len(judged) > common:
        told.append(f"{len(judged) - common:,} of {len(judged):,} pairs are not in the file of pairs.")
    if len(offered.index) > common:
        without = len(offered.index) - common
        pairs = "1 pair of the file of pairs has" if without == 1 else f"{without:,} pairs of the file of pairs have"
        told.append(f"{pairs} no verdict.")
    return told


def read_pair_file(path: Path, told: dict[str, list[str]]) -> Pairs:
    """Read a file of pairs: one row each.

    ``told`` takes sentences for the notices, each with the files of which it is true.

    Raises
    ------
    ArgumentError
        If there is no such file.
    DataError
        With every fault of it.
    """
    offered, faults = Pairs(), []
    layouts: dict[tuple[str, ...], Layout] = {}
    for row in stream_rows(path):
        if isinstance(row, Fault):
            faults.append(row.text)
            continue
        columns = tuple(row.values)
        layout = layouts.get(columns) or layouts.setdefault(columns, Layout(columns))
        try:
            if "pair_id" not in layout.known:
                found = ", ".join(columns)
                raise DataError(f"a file of pairs needs the column pair_id. Got {found}. See docs/judge.md.")
            before = len(offered.index)
            number = offered.number(pair_id(row.values[layout.known["pair_id"]]))
            if number < before:
                raise DataError("a pair must have one row in a file of pairs. This one has another above.")
            facts = pandalm_facts(row.values) if "cmp_key" in columns else layout.facts(layout.pick(row.values))
            faults += [f"{row.where}: {denied}" for denied in offered.learn(number, facts, row.where)]
        except DataError as error:
            faults += [f"{row.where}: {fault}" for fault in error.faults]
        if len(faults) >= MOST_FAULTS:
            break
    if faults:
        raise DataError(faults)
    if offered.unread.count:
        told[LABELS.format(offered.unread.count, offered.unread)] = [path.name]
    return offered


def hash_of(files: Sequence[Path]) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of the bytes of the files, one after another."""
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:12]
