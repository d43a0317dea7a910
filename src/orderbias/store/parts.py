"""Parts: the files that hold a run's records, each whole or not counted; knows no settings and no items.

A part is ``part-FIRST[-LAST]-SHA.parquet``: numbers in the order of writing and the start of the file's own SHA-256,
so that damage shows without any list that could disagree with the files. ``FIRST-LAST`` marks a merged part, which
replaces the parts of those numbers; whatever of them is still there after a kill is passed over.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orderbias.errors import DataError
from orderbias.records import Records, concatenate, from_parquet, to_parquet
from orderbias.store.atomic import write_whole

_NAME = re.compile(r"part-(\d{8})(?:-(\d{8}))?-([0-9a-f]{16})\.parquet")
DAMAGED = ".damaged"

#: Parts smaller than this are merged when a run is closed, so that a long run leaves few files.
MERGED_BELOW = 16 * 2**20


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """One file: the numbers it stands for, ``first`` to ``last``, its hash and its place."""

    first: int
    last: int
    sha: str
    path: Path

    @classmethod
    def parse(cls, path: Path) -> Part | None:
        """Read a name; None if it is not that of a part."""
        match = _NAME.fullmatch(path.name)
        if match is None:
            return None
        first, last, sha = match.groups()
        return cls(int(first), int(last or first), sha, path)

    def read(self) -> Records:
        """Return its records.

        Raises
        ------
        DataError
            If the file is damaged: its hash is not that of its name, or it holds no records.
        FileNotFoundError
            If it has been merged away.
        """
        data = self.path.read_bytes()
        if _sha(data) != self.sha:
            raise DataError(f"{self.path.name} must have the hash of its name. It is damaged or cut off.")
        return from_parquet(data, self.path.name)


@dataclass(frozen=True, slots=True)
class Shelf:
    """The parts of a directory: those that count with their records, and those that do not."""

    parts: tuple[Part, ...] = ()
    records: tuple[Records, ...] = ()
    damaged: tuple[Part, ...] = ()
    replaced: tuple[Part, ...] = ()

    @property
    def all_records(self) -> Records | None:
        """Every record, in the order of writing; None where there is none."""
        return concatenate(self.records) if self.records else None

    @property
    def notices(self) -> tuple[str, ...]:
        """What is to be said of damaged parts."""
        if not self.damaged:
            return ()
        names = ", ".join(part.path.name for part in self.damaged)
        return (f"{len(self.damaged)} damaged parts are left out ({names}); their queries will be asked again.",)


def write_part(directory: Path, number: int, records: Records, last: int | None = None) -> Part:
    """Write one part; it counts once this returns.

    Raises
    ------
    OSError
        If it cannot be written; the directory is as before then.
    """
    data = to_parquet(records)
    span = f"{number:08d}" if last is None else f"{number:08d}-{last:08d}"
    path = directory / f"part-{span}-{_sha(data)}.parquet"
    write_whole(path, data)
    part = Part.parse(path)
    assert part is not None
    return part


def read_shelf(directory: Path) -> Shelf:
    """Read every part of a directory; changes nothing in it.

    A writer may merge parts away while they are read; the list is then taken anew.
    """
    for _ in range(5):
        try:
            return _read(list_parts(directory))
        except FileNotFoundError:
            continue
    return _read(list_parts(directory), gone_is_damaged=True)  # a link that leads nowhere


def list_parts(directory: Path) -> list[Part]:
    """List the files that are named as parts, in the order of their numbers, a merged part before its parts."""
    found = [Part.parse(path) for path in directory.glob("part-*.parquet")]
    return sorted((p for p in found if p is not None), key=lambda p: (p.first, -p.last, p.sha))


def merge(shelf: Shelf) -> None:
    """Merge small neighbouring parts into one each; safe against a kill at any moment.

    Raises
    ------
    OSError
        If the disk refuses; nothing is lost then.
    """
    held = dict(zip(shelf.parts, shelf.records, strict=True))
    for group in neighbours(shelf.parts):
        records = replace(concatenate([held[part] for part in group]), notices=())
        made = write_part(group[0].path.parent, group[0].first, records, group[-1].last)
        replaced: Sequence[Part] = group
        try:
            made.read()
        except DataError:  # only what can be read back replaces anything
            replaced = (made,)
        for part in replaced:
            part.path.unlink(missing_ok=True)


def neighbours(parts: Sequence[Part]) -> list[list[Part]]:
    """Group small parts that follow each other; a large or a missing part ends a group."""
    groups: list[list[Part]] = [[]]
    for part in parts:
        if part.path.stat().st_size >= MERGED_BELOW:
            groups.append([])
            continue
        if groups[-1] and groups[-1][-1].last + 1 != part.first:
            groups.append([])
        groups[-1].append(part)
    return [group for group in groups if len(group) > 1]


def _read(listed: Sequence[Part], gone_is_damaged: bool = False) -> Shelf:
    parts, records, damaged, replaced = [], [], [], []
    covered = -1
    for part in listed:
        if part.last <= covered:
            replaced.append(part)
            continue
        try:
            records.append(part.read())
        except (DataError, IsADirectoryError):
            damaged.append(part)
            continue
        except FileNotFoundError:
            if not gone_is_damaged:
                raise
            damaged.append(part)
            continue
        parts.append(part)
        covered = part.last
    return Shelf(tuple(parts), tuple(records), tuple(damaged), tuple(replaced))


def next_number(directory: Path) -> int:
    """Return a number above that of every part that is or was there, damaged ones as well."""
    names = [path.name.removesuffix(DAMAGED) for path in directory.glob("part-*")]
    found = [Part.parse(Path(name)) for name in names]
    return max((p.last for p in found if p is not None), default=-1) + 1


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
