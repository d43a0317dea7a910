"""A run directory on any filesystem that pyarrow opens, worked on in a copy on this machine; knows no answer.

Parts never change once they are written, so that keeping two directories alike is copying what one has and the other
lacks: the items and the manifest first, then each part as it is written, under a temporary name that is then moved.

A worker that was given up for lost may go on writing. Each writer therefore claims a number, by which it numbers its
parts: whatever comes late stands beside what others wrote and never in its place, and of two answers to one query the
first counts (:meth:`orderbias.store.run.Run.records`). A writer that sees a later claim stops.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orderbias.errors import RunError
from orderbias.records import Record
from orderbias.store.atomic import PARTIAL, write_whole
from orderbias.store.parts import Part, list_parts

if TYPE_CHECKING:
    from orderbias.store.run import Run

_WRITER = re.compile(r"writer-(\d{3})-[0-9a-f]{32}")
#: Parts that a writer may number before it comes into the numbers of the next, and how many writers there can be.
PARTS_A_WRITER, MOST_WRITERS = 100_000, 999
#: How often parts are listed anew where they are merged while they are copied.
PULLS = 5
#: What a run has besides its records; in this order, so that only what is whole has a manifest.
_BEFORE = ("items.jsonl", "manifest.json")


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory of a ``pyarrow.fs`` filesystem.

    Every failure of the filesystem is a RunError that names the directory.
    """

    filesystem: Any
    path: str

    @classmethod
    def of(cls, place: str) -> Folder:
        """Open ``s3://...``, ``gs://...``, ``hdfs://...``, ``file://...``, or a directory of this machine.

        Raises
        ------
        RunError
            If pyarrow cannot open it.
        """
        from pyarrow import ArrowException, fs

        try:
            filesystem, path = fs.FileSystem.from_uri(place if "://" in place else str(Path(place).absolute()))
        except (ArrowException, OSError, ValueError) as error:
            raise RunError(
                f"A folder must be a directory, or the address of one that pyarrow opens (s3://, gs://, hdfs://, "
                f"file://). Got {without_keys(place)!r}: {type(error).__name__}."
            ) from error
        return cls(filesystem, path.rstrip("/"))

    def child(self, path: str) -> Folder:
        """Return a directory within."""
        return Folder(self.filesystem, f"{self.path}/{path}")

    def names(self) -> list[str]:
        """List the files here; none where there is no such directory."""
        from pyarrow import fs

        with self._asked("listed"):
            found = self.filesystem.get_file_info(fs.FileSelector(self.path, allow_not_found=True))
            return sorted(info.base_name for info in found if info.type == fs.FileType.File)

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None where there is none."""
        from pyarrow import fs

        path = f"{self.path}/{name}"
        with self._asked("read"):
            if self.filesystem.get_file_info(path).type != fs.FileType.File:
                return None
            try:
                with self.filesystem.open_input_stream(path) as stream:
                    return bytes(stream.read())
            except FileNotFoundError:  # it was there when we looked
                return None

    def write(self, name: str, data: bytes) -> None:
        """Write a file so that it is there whole or not at all."""
        partial = f"{self.path}/{name}.{uuid.uuid4().hex}{PARTIAL}"
        with self._asked("written to"):
            self.filesystem.create_dir(self.path, recursive=True)
            with self.filesystem.open_output_stream(partial) as stream:
                stream.write(data)
            self.filesystem.move(partial, f"{self.path}/{name}")

    def delete(self, name: str) -> None:
        """Delete a file, if it is there."""
        with self._asked("written to"):
            try:
                self.filesystem.delete_file(f"{self.path}/{name}")
            except FileNotFoundError:
                return

    @contextmanager
    def _asked(self, what: str) -> Iterator[None]:
        from pyarrow import ArrowException

        try:
            yield
        except (ArrowException, OSError) as error:
            raise RunError(f"{self.path} could not be {what}: {error}. What was stored before stays.") from error


def without_keys(address: str) -> str:
    """Return an address without what it may say of keys: neither its user nor its query.

    Examples
    --------
    >>> without_keys("s3://KEY:SECRET@bucket/panel?region=x"), without_keys("runs/a@b?c")
    ('s3://bucket/panel', 'runs/a@b?c')
    """
    scheme, found, rest = address.partition("://")
    return f"{scheme}://{re.sub(r'^[^/]*@', '', rest.partition('?')[0])}" if found else address


class Mirror:
    """A run directory elsewhere, and the copy of it on this machine that is worked on."""

    __slots__ = ("_claim", "local", "remote")

    def __init__(self, remote: Folder, local: Path) -> None:
        self.remote = remote
        self.local = local
        self._claim = ""

    def pull(self) -> None:
        """Copy here what is there and not yet here; the manifest last, as it makes a run.

        Raises
        ------
        RunError
            If the filesystem refuses.
        """
        (self.local / "records").mkdir(parents=True, exist_ok=True)
        for _ in range(PULLS):
            if self._pull_parts():
                break
        for name in _BEFORE:
            data = None if (self.local / name).exists() else self.remote.read(name)
            if data is not None:
                write_whole(self.local / name, data)

    def _pull_parts(self) -> bool:
        """Copy the parts that are there; False where one was merged away meanwhile."""
        records, whole = self.remote.child("records"), True
        for name in records.names():
            path = self.local / "records" / name
            if Part.parse(path) is not None and not path.exists():
                data = records.read(name)
                if data is None:
                    whole = False
                else:
                    write_whole(path, data)
        return whole

    def claim(self) -> int:
        """Become the run's writer; returns the number of the first part to write.

        Raises
        ------
        RunError
            If the filesystem refuses, or the run was taken up too often.
        """
        records = self.remote.child("records")
        while True:
            names = records.names()
            parts = [part for name in names if (part := Part.parse(Path(name))) is not None]
            number = 1 + max([_number(name) for name in names] + [p.last // PARTS_A_WRITER for p in parts], default=0)
            if number > MOST_WRITERS:
                raise RunError(
                    f"{self.remote.path} must be taken up at most {MOST_WRITERS} times. Copy the folder to this "
                    "machine, and run it there."
                )
            self._claim = f"writer-{number:03d}-{uuid.uuid4().hex}"
            records.write(self._claim, b"\n")
            # Whoever sees another of the same number goes on to the next: at most one of them can see none.
            if [name for name in records.names() if _number(name) >= number] == [self._claim]:
                return number * PARTS_A_WRITER

    def push(self) -> None:
        """Copy there what is here and not yet there: items, manifest, parts; delete there what was merged here.

        Raises
        ------
        RunError
            If the filesystem refuses, or another writer has taken the run over.
        """
        records = self.remote.child("records")
        there = records.names()
        self._check_claim(there)
        known = self.remote.names()
        for name in _BEFORE:
            if name not in known and (self.local / name).exists():
                self.remote.write(name, (self.local / name).read_bytes())
        here = list_parts(self.local / "records")
        for part in here:
            if part.path.name not in there:
                records.write(part.path.name, part.path.read_bytes())
        for name in _merged(there, here):
            records.delete(name)

    def _check_claim(self, there: Sequence[str]) -> None:
        if any(_number(name) > _number(self._claim) for name in there):
            raise RunError(
                f"{self.remote.path} must have one writer at a time. Another has taken it over; what was stored stays."
            )


@dataclass(frozen=True, slots=True)
class Pushed:
    """A run whose every part is pushed as it is written."""

    run: Run
    mirror: Mirror

    def append(self, records: Sequence[Record]) -> None:
        """Store records; they are in both places once this returns."""
        self.run.append(records)
        self.mirror.push()


def _number(name: str) -> int:
    match = _WRITER.fullmatch(name)
    return int(match[1]) if match else 0


def _merged(there: Sequence[str], here: Sequence[Part]) -> list[str]:
    """Return the parts there that a merged part here stands for, and that are here no more."""
    names = {part.path.name for part in here}
    wide = [part for part in here if part.last > part.first]
    found = []
    for name in there:
        part = Part.parse(Path(name))
        if part is None or name in names:
            continue
        if any(w.first <= part.first and part.last <= w.last for w in wide):
            found.append(name)
    return found
