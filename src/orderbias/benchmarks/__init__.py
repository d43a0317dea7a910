"""Benchmarks by name -> `ItemSet` with exemplars: from a local folder, the copy that is shipped, or the hub.

What is peculiar to a benchmark stands in :mod:`orderbias.benchmarks.table`; must not name one here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orderbias.benchmarks.table import BENCHMARKS, Benchmark, Copy, Files, Hub
from orderbias.errors import ArgumentError, DataError
from orderbias.items import Item, ItemSet
from orderbias.readers.cleaning import Cleaned, clean_rows
from orderbias.readers.hub import hub_rows
from orderbias.readers.self_referring import treat
from orderbias.row_files import Fault, Row, Rows, read_rows

#: How many exemplars go before an item (two-factors, A.3).
N_SHOTS = 5

#: Rows of a training split that are looked at to find the exemplars.
_SHOT_ROWS = 100

_EMBEDDED = Path(__file__).parents[1] / "data"


@dataclass(frozen=True, slots=True)
class Listing:
    """A benchmark as a table shows it. ``n_items`` is the whole split after the rule of exactly K options."""

    name: str
    n_items: int
    n_options: int
    split: str
    licence: str
    source: str
    shots: str


def listings() -> tuple[Listing, ...]:
    """Return what there is to choose from.

    Examples
    --------
    >>> [row.n_items for row in listings() if row.name == "mmlu-five"]
    [535]
    """
    return tuple(
        Listing(b.name, b.n_items, b.n_options, b.split, b.licence, "embedded" if b.embedded else b.source, b.shots)
        for b in BENCHMARKS.values()
    )


def benchmark_names() -> tuple[str, ...]:
    """Return the names of the benchmarks."""
    return tuple(BENCHMARKS)


def benchmark(name: str) -> Benchmark:
    """Return a benchmark by name; ``ArgumentError`` lists the names there are."""
    if name not in BENCHMARKS:
        raise ArgumentError(f"A benchmark must be one of {', '.join(BENCHMARKS)}. Got {name!r}.")
    return BENCHMARKS[name]


def embedded() -> ItemSet:
    """Return the five-subject MMLU subset that is shipped: 535 items, and five exemplars for each subject.

    Examples
    --------
    >>> items = embedded()
    >>> len(items), len(items.shots)
    (535, 25)
    """
    return load_benchmark("mmlu-five")


def load_benchmark(
    name: str, data_dir: str | Path | None = None, limit: int | None = None, self_referring: str = "keep"
) -> ItemSet:
    """Load a benchmark.

    Parameters
    ----------
    name
        One of ``BENCHMARKS``.
    data_dir
        A folder with the benchmark's files as its table entry names them (``arc/ARC-Easy-Test.jsonl``). Without it,
        the shipped copy is used where there is one, else the hub.
    limit
        Take only so many items, evenly spaced over the whole set so that every subject has its share.
    self_referring
        ``keep``, ``pin`` or ``drop`` items with an option such as "none of the above".

    Returns
    -------
    ItemSet
        ``shots`` holds five exemplars, or five of each group (with ``group`` set) where a benchmark has a
        development set a subject; none where this copy has no such split, which a notice says.

    Raises
    ------
    ArgumentError
        If the name is unknown, ``limit`` is below 1, or the folder has not the files.
    DataError
        With every fault of the rows.
    """
    chosen = benchmark(name)
    if limit is not None and limit < 1:
        raise ArgumentError(f"`limit` must be at least 1. Got {limit}.")
    copy = chosen.local if data_dir is not None else chosen.embedded or chosen.hub
    folder = Path(data_dir) if data_dir is not None else _EMBEDDED
    cleaned, notices = _clean(chosen, copy, copy.items, folder)
    notices += cleaned.notices
    if len(cleaned.items) != chosen.n_items:
        notices.append(f"This copy holds {len(cleaned.items)} of the {chosen.n_items} items of {chosen.title}.")
    if chosen.note:
        notices.append(chosen.note)
    items, treated = treat(cleaned.items, self_referring)
    notices += treated
    if limit is not None and limit < len(items):
        notices.append(f"{limit} of {len(items)} items taken, evenly spaced.")
        items = tuple(items[i * len(items) // limit] for i in range(limit))
    shots = _shots(chosen, copy, folder)
    if chosen.shots and not shots:
        notices.append(f"This copy has no {chosen.shots} split, so there are no exemplars for few-shot prompts.")
    return ItemSet(name, items, shots, tuple(notices))


def _shots(chosen: Benchmark, copy: Copy, folder: Path) -> tuple[Item, ...]:
    """Return the first items of the exemplars' split, with ids that no item has."""
    if copy.shots is None:
        return ()
    found = _clean(chosen, copy, copy.shots, folder)[0].items
    taken: Counter[str | None] = Counter()
    shots = []
    for item in found:
        group = item.group if chosen.shots_by_group else None
        taken[group] += 1
        if taken[group] <= N_SHOTS and item.gold is not None:
            shots.append(replace(item, id=f"{chosen.shots}/{item.id}", group=group))
    return tuple(shots)


def _clean(chosen: Benchmark, copy: Copy, place: Files | Hub, folder: Path) -> tuple[Cleaned, list[str]]:
    """Read and clean one split; rows known to be invalid become a notice, any other fault is raised."""
    parts = _local(place, folder) if isinstance(place, Files) else _remote(place, chosen, place is copy.shots)
    rows, faults, invalid = _prepared(parts, copy, chosen)
    if len(invalid) > chosen.n_invalid:
        faults, invalid = faults + invalid, []
    whole = Rows(chosen.name, tuple(rows), tuple(faults))
    cleaned = clean_rows(whole, copy.fields, gold_base=copy.gold_base, duplicates="keep", n_options=chosen.n_options)
    if cleaned.faults:
        raise DataError(fault.text for fault in cleaned.faults)
    if not cleaned.items:
        raise DataError(f"{chosen.title}: no item with {chosen.n_options} options was found.")
    notices = [f"{len(invalid)} rows left out: " + "; ".join(fault.text for fault in invalid) + "."] if invalid else []
    return cleaned, notices


def _prepared(
    parts: Sequence[tuple[str, Rows]], copy: Copy, chosen: Benchmark
) -> tuple[list[Row], list[Fault], list[Fault]]:
    """Give the rows their part and id, and convert them; return rows, faults of reading and rows not convertible."""
    rows: list[Row] = []
    faults: list[Fault] = []
    invalid: list[Fault] = []
    within: Counter[str] = Counter()
    for part, table in parts:
        faults += table.faults
        for row in table.rows:
            values = {**row.values, "@part": part, "@id": str(row.number)}
            if copy.numbered_by:
                key = str(values.get(copy.numbered_by))
                within[key] += 1
                values["@id"] = f"{key}/{within[key]}"
            if chosen.subjects and copy.fields.group and values.get(copy.fields.group) not in chosen.subjects:
                continue
            try:
                rows.append(replace(row, values=copy.convert(values) if copy.convert else values))
            except ValueError as error:
                invalid.append(Fault(row.line, f"{row.where}: {error}"))
    return rows, faults, invalid


def _local(place: Files, folder: Path) -> list[tuple[str, Rows]]:
    parts = []
    for pattern in place.patterns:
        paths = sorted(folder.glob(pattern))
        if not paths:
            raise ArgumentError(f"The data folder must hold {pattern}. {folder} does not.")
        for path in paths:
            table = read_rows(path, columns=place.columns, quoted=place.quoted)
            stem = path.name.split(".")[0].removesuffix("_test").removesuffix("_dev")
            parts.append((stem, _with_golds(table, folder / place.golds) if place.golds else table))
    return parts


def _with_golds(table: Rows, path: Path) -> Rows:
    """Add the golds that stand one a line in a file of their own."""
    try:
        golds = path.read_text(encoding="utf-8").split()
    except OSError as error:
        raise ArgumentError(f"The golds of {table.file} must be in {path}. It cannot be read.") from error
    if len(golds) != len(table.rows):
        raise DataError(f"{path.name} must have a line for each of the {len(table.rows)} rows of {table.file}. "
                        f"Got {len(golds)}.")  # fmt: skip
    rows = (replace(row, values={**row.values, "label": gold}) for row, gold in zip(table.rows, golds, strict=True))
    return replace(table, rows=tuple(rows))


def _remote(place: Hub, chosen: Benchmark, for_shots: bool) -> list[tuple[str, Rows]]:
    few = _SHOT_ROWS if for_shots and not chosen.shots_by_group else None
    return [(config, hub_rows(place.dataset, config or None, place.split, limit=few)) for config in place.configs]
