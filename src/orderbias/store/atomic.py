"""Files that are there whole or not at all, and one writer a directory; knows nothing of runs.

A file is written beside its place, flushed to the disk, renamed into place, and the directory is flushed: after a
kill or a power cut the file has its old content or its new one, and what a function has returned for stays.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from orderbias.errors import RunError

PARTIAL = ".partial"


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all.

    Raises
    ------
    OSError
        If the disk is full or the like; nothing is left behind then.
    """
    if path.exists() and not path.is_file():  # a device or a directory is not replaced by a file
        raise OSError(errno.EINVAL, "It is no ordinary file", str(path))
    partial = path.with_name(path.name + PARTIAL)
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Flush the names in a directory to the disk, where the system can."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except (OSError, PermissionError):  # a directory cannot be opened on Windows, which flushes names by itself
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise
    finally:
        os.close(handle)


#: EINVAL and ENOTSUP: some network file systems do not flush directories.
_NO_DIRECTORY_SYNC = (22, 95)


def partials(directory: Path) -> Iterator[Path]:
    """List what writers that were killed left behind."""
    return iter(sorted(directory.glob(f"*{PARTIAL}")))


class Lock:
    """The right to write to a directory; the system takes it back when its process ends, however it ends."""

    __slots__ = ("_handle", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._handle is not None

    def acquire(self) -> None:
        """Take it.

        Raises
        ------
        RunError
            If another process (or another object of this one) holds it.
        """
        if self._handle is not None:
            return
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except OSError as error:
            owner = os.read(handle, 32).decode(errors="replace").strip()
            os.close(handle)
            who = f"process {owner}" if owner.isdigit() else "another process"
            raise RunError(
                f"{self.path.parent} must have one writer at a time. {who.capitalize()} is writing to it. Wait for it "
                "to end, or stop it; what it has stored stays."
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0) if hasattr(os, "pwrite") else None
        self._handle = handle

    def release(self) -> None:
        """Give it back."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        return
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
