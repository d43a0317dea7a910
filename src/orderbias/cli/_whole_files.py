"""Files of a report: each is there whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from orderbias.errors import ArgumentError


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files by their names into a folder, which is made if it is not there.

    Raises
    ------
    ArgumentError
        If a file cannot be written.
    """
    from orderbias.store.atomic import write_whole

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_whole(folder / name, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise ArgumentError(f"{folder} must be a folder that can be written to. Got: {error}.") from error
