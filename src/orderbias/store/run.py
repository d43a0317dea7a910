"""A run directory: manifest, items and records that survive a kill at any moment; knows no model and no measure.

::

    DIR/manifest.json    everything that must not change, the designs, the template; written last: it makes a run
    DIR/items.jsonl      the items, exactly
    DIR/records/         append-only Parquet parts
    DIR/lock             held by the one process that writes
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, Self

from orderbias.errors import RunError, SettingsChanged
from orderbias.items import ItemSet
from orderbias.records import Record, Records, from_rows
from orderbias.signature import Signature
from orderbias.store.atomic import Lock, partials, sync_directory, write_whole
from orderbias.store.checks import check_manifest, named, read_items, refuse_orphans
from orderbias.store.manifest import Manifest, items_to_jsonl, may_hold_run
from orderbias.store.parts import DAMAGED, list_parts, merge, next_number, read_shelf, write_part
from orderbias.store.queries import QueryKey, query_set, settle
from orderbias.store.verification import Verification, verify

#: So many parts may stay as they are when a run is closed, and when one that was killed is taken up again.
PARTS_LEFT = 8
PARTS_MANY = 100


class Run:
    """A run directory, open for reading until the first :meth:`append`; close it, or use it as a context."""

    __slots__ = ("_asked", "_derived", "_first", "_lock", "_next", "_written", "manifest", "notices", "path")

    def __init__(self, path: Path, manifest: Manifest, written: dict[str, str], derived: dict[str, str]) -> None:
        self.path = path
        self.manifest = manifest
        #: What opening it found: leftovers of a kill, damaged parts.
        self.notices: tuple[str, ...] = ()
        self._written = written
        self._derived = derived
        self._lock = Lock(path / "lock")
        self._asked: set[QueryKey] = set()
        self._first = self._next = 0

    @staticmethod
    def exists(path: str | os.PathLike[str]) -> bool:
        """Whether there is a run at ``path``; a directory that was not fully made is none."""
        return (Path(path) / "manifest.json").is_file()

    @classmethod
    def create(cls, path: str | os.PathLike[str], manifest: Manifest, items: ItemSet, *, first_part: int = 0) -> Run:
        """Make a run directory, or open one made under the same settings; either way for writing.

        Parameters
        ----------
        path
            A directory that is not there, is empty, was half made by a process that was killed, or holds a run.
        manifest, items, first_part
            What the run is; the lowest number of a new part, where others write to copies of the run.

        Raises
        ------
        SettingsChanged
            If the run there was made under other settings; each is named.
        RunError
            If the directory holds other files, another process writes to it, or the disk refuses.
        """
        root = named(path)
        if not may_hold_run(root):
            raise RunError(
                f"{root} must be a new directory or that of a run. It holds other files. Name another directory."
            )
        lock = Lock(root / "lock")
        try:
            (root / "records").mkdir(parents=True, exist_ok=True)
            lock.acquire()
            if not cls.exists(root):
                refuse_orphans(root)
                write_whole(root / "items.jsonl", items_to_jsonl(items).encode())
                sync_directory(root.absolute().parent)
                write_whole(root / "manifest.json", manifest.to_json(items).encode())
            run = cls.open(root)
            run._check_all(manifest, items)
            run._lock = lock
            run._first = first_part
            run._take_over()
            run._mend_items(items)
            run._merge_many(PARTS_MANY)
        except OSError as error:
            lock.release()
            raise RunError(f"{root} could not be made or opened: {error.strerror or error}.") from error
        except BaseException:
            lock.release()
            raise
        return run

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Run:
        """Open a run for reading; nothing is changed, and another process may go on writing.

        Raises
        ------
        RunError
            If there is no run, or its manifest is damaged.
        """
        root = named(path)
        if not cls.exists(root):
            refuse_orphans(root)
            half = (root / "records").is_dir()
            what = "It was not fully made: start the run again." if half else "There is no manifest.json in it."
            raise RunError(f"{root} must be a run directory. {what}")
        text = (root / "manifest.json").read_text(encoding="utf-8", errors="replace")
        return cls(root, *Manifest.from_json(text, str(root / "manifest.json")))

    def check(self, settings: Signature) -> None:
        """Raise SettingsChanged, naming each difference, unless the run was made under these settings.

        Raises
        ------
        RunError
            If the manifest was changed by hand.
        """
        check_manifest(self.path, self._derived, self._written)
        changes = self.manifest.settings.differences(settings)
        if changes:
            raise SettingsChanged(str(self.path), changes)

    def _check_all(self, manifest: Manifest, items: ItemSet) -> None:
        self.check(manifest.settings)
        changes = list(self.manifest.differences(manifest))
        if self._written["data_hash"] != items.data_hash:
            changes.append(f"data_hash: {self._written['data_hash']} -> {items.data_hash}")
        if changes:
            raise SettingsChanged(str(self.path), changes)

    def _mend_items(self, items: ItemSet) -> None:
        """Write the items anew where their file was lost or damaged; they are the same by their hash."""
        with contextlib.suppress(RunError):
            self.items()
            return
        write_whole(self.path / "items.jsonl", items_to_jsonl(items).encode())
        self.notices = (*self.notices, "items.jsonl was damaged or missing, and was written anew.")

    # --- reading -------------------------------------------------------------------------------------------------

    def items(self) -> ItemSet:
        """Return the items, exactly as they were given.

        Raises
        ------
        RunError
            If the file is missing, damaged or another one.
        """
        return read_items(self.path / "items.jsonl", self._written)

    def records(self) -> Records:
        """Return every answer, one a query.

        Where a query failed and was asked again, the answer counts. Damaged parts are left out, and ``notices`` of
        the result say so.

        Raises
        ------
        RunError
            If nothing is stored yet, or the manifest was changed by hand.
        """
        check_manifest(self.path, self._derived, self._written)
        shelf = read_shelf(self.path / "records")
        records = shelf.all_records
        if records is None:
            raise RunError(f"{self.path} must hold at least one answer. It holds none.{' '.join(('', *shelf.notices))}")
        kept, again = settle(records)
        notices = [f"{again} answers of queries that were answered already are left out."] if again else []
        notices += shelf.notices
        return replace(kept, notices=(*kept.notices, *(f"{self.path.name}: {notice}" for notice in notices)))

    def stored(self, *, failed: bool = True) -> set[QueryKey]:
        """Return what need not be asked again: ``(item id, positions, repeat)`` of every stored answer.

        ``failed=False`` leaves out the queries whose status is ``error``, so that they are asked once more.
        """
        records = read_shelf(self.path / "records").all_records
        return set() if records is None else query_set(records, failed)

    def verify(self) -> Verification:
        """Re-derive hashes and counts; see :class:`~orderbias.store.verification.Verification`."""
        shelf = read_shelf(self.path / "records")
        return verify(self.path.name, self.manifest, self._written, self._derived, self.path / "items.jsonl", shelf)

    # --- writing -------------------------------------------------------------------------------------------------

    def append(self, records: Sequence[Record]) -> None:
        """Store answers; they are on the disk, all of them, once this returns, and none if it raises.

        Parameters
        ----------
        records
            Answers to queries that have none yet (or a failed one). None is allowed to be stored twice.

        Raises
        ------
        DataError
            If a record breaks a rule.
        RunError
            If a query is answered already, another process is writing, or the disk refuses (full, say): the run is
            intact then, with everything stored before.
        """
        if not records:
            return
        self._become_writer()
        made = from_rows(records)
        fresh = query_set(made, failed=False)
        again = fresh & self._asked
        if again:
            item_id, positions, repeat = min(again)
            raise RunError(
                f"A query must be stored once. {len(again)} of these are stored in {self.path} already, such as item "
                f"{item_id!r} with `positions` {list(positions)}, repeat {repeat}. Ask only what `stored()` lacks."
            )
        try:
            write_part(self.path / "records", self._next, made)
        except OSError as error:
            self._refused(error)
        self._next += 1
        self._asked |= fresh

    def _become_writer(self) -> None:
        if not self._lock.held:
            self._lock.acquire()
            self._take_over()

    def _refused(self, error: OSError) -> NoReturn:
        raise RunError(
            f"{self.path} could not be written to: {error.strerror or error}. The run is intact: everything stored "
            "before stays. Make room and start it again; it goes on where it stopped."
        ) from error

    def _take_over(self) -> None:
        """Clear what a killed writer left: partial files go, damaged parts are moved aside, merged ones deleted."""
        directory = self.path / "records"
        notices = []
        if left := [*partials(directory), *partials(self.path)]:
            for path in left:
                path.unlink(missing_ok=True)
            notices.append(f"{len(left)} partial files of an interrupted writer were dropped.")
        shelf = read_shelf(directory)
        notices += shelf.notices
        for part in shelf.damaged:
            os.replace(part.path, part.path.with_name(part.path.name + DAMAGED))
        for part in shelf.replaced:
            part.path.unlink(missing_ok=True)
        self.notices = (*self.notices, *notices)
        self._next = max(self._first, next_number(directory))
        records = shelf.all_records
        self._asked = set() if records is None else query_set(records, failed=False)

    def compact(self) -> None:
        """Merge small neighbouring parts into one, safely against a kill at any moment.

        Raises
        ------
        RunError
            If another process is writing, or the disk refuses; nothing is lost then.
        """
        self._become_writer()
        try:
            merge(read_shelf(self.path / "records"))
        except OSError as error:
            self._refused(error)
        self._next = max(self._first, next_number(self.path / "records"))

    def _merge_many(self, n_left: int) -> None:
        if self._lock.held and len(list_parts(self.path / "records")) > n_left:
            with contextlib.suppress(RunError):  # a full disk: many files are as good as few
                self.compact()

    def close(self) -> None:
        """Merge small parts, if there are many, and let another writer in."""
        try:
            self._merge_many(PARTS_LEFT)
        finally:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.close()
        else:  # whatever went wrong matters more than few files
            self._lock.release()
