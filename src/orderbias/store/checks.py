"""What must hold before a run is believed: a name, the manifest as it was written, the items that were asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from orderbias.errors import RunError
from orderbias.items import ItemSet
from orderbias.store.manifest import hash_faults, items_from_jsonl, shots_hash
from orderbias.store.parts import list_parts


def named(path: str | os.PathLike[str]) -> Path:
    """Return a path that was given; the empty one would be the folder one happens to be in."""
    if not os.fspath(path):
        raise RunError("A run must have a directory. Got an empty name.")
    return Path(path)


def refuse_orphans(root: Path) -> None:
    """Raise RunError if there are answers without a manifest: nothing says under which settings they were given."""
    if list_parts(root / "records"):
        raise RunError(
            f"{root} must have the manifest.json of its answers. There are answers, and it is gone. Put it back, or "
            "name another directory."
        )


def check_manifest(root: Path, derived: Mapping[str, str], written: Mapping[str, str]) -> None:
    """Raise RunError if a manifest was changed by hand: numbers under other settings would be wrong unseen."""
    faults = hash_faults(derived, written)
    if faults:
        raise RunError(
            f"{root / 'manifest.json'} must be as it was written. {' '.join(faults)} It was changed: put the old one "
            "back, or run anew into another directory."
        )


def read_items(path: Path, written: Mapping[str, str]) -> ItemSet:
    """Read the items of a run.

    Raises
    ------
    RunError
        If the file is missing, damaged, or holds other items than were asked.
    """
    try:
        items = items_from_jsonl(path.read_text(encoding="utf-8", errors="replace"), str(path))
    except (FileNotFoundError, IsADirectoryError) as error:
        raise RunError(f"{path} must be there: it holds the items of the run.") from error
    faults = hash_faults({"data_hash": items.data_hash, "shots_hash": shots_hash(items)}, written)
    if faults:
        raise RunError(
            f"{path} must hold the items that were asked. {' '.join(faults)} Start the run again with the right "
            "source: it writes the file anew and asks nothing twice."
        )
    return items
