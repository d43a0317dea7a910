"""Data sets of the hub, and folders the `datasets` package saved -> raw rows; must not know what a column means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orderbias.errors import ArgumentError, DataError, MissingExtra
from orderbias.row_files import Rows, record_rows

#: Ends of the names of files that hold rows.
_DATA_FILES = frozenset({".parquet", ".jsonl", ".json", ".csv", ".tsv", ".arrow"})


def hub_rows(name: str, config: str | None = None, split: str | None = None, limit: int | None = None) -> Rows:
    """Load one split of a data set.

    Parameters
    ----------
    name
        ``org/name`` on the hub, or a local folder: one that ``save_to_disk`` wrote, or one of data files.
    config
        The configuration (subset), where there are several.
    split
        Which split; may be left out where there is one only.
    limit
        Only the first so many rows.

    Raises
    ------
    MissingExtra
        If the package `datasets` is not installed.
    ArgumentError
        If the split is missing or unknown; the message lists those there are.
    DataError
        If the data set cannot be loaded.
    """
    folder = Path(name)
    if not name.strip():
        raise ArgumentError(f"A data set must have a name, as in hf:org/name. Got {name!r}.")
    if folder.is_dir() and not _saved(folder) and not _has_data(folder):
        raise DataError(
            f"The folder {name} must be one that `datasets.save_to_disk` wrote, or hold data files (in itself, or in a "
            "folder `data`). It holds none. Name a file."
        )
    try:
        import datasets
    except ImportError as error:
        raise MissingExtra("datasets", "hub") from error
    try:
        loaded: Any = datasets.load_from_disk(name) if _saved(Path(name)) else datasets.load_dataset(name, config)
    except Exception as error:  # the package raises its own, the hub client's, requests' and pyarrow's
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(
            f"The data set {name!r}{f' ({config})' if config else ''} cannot be loaded: {reason}. "
            "Check its name, or give local files."
        ) from error
    if isinstance(loaded, dict):
        loaded = _one_split(name, loaded, split)
    elif split is not None and str(loaded.split) != split:
        raise ArgumentError(f"{name} holds the split {loaded.split} alone. Got split {split!r}.")
    if limit is not None:
        loaded = loaded.select(range(min(limit, len(loaded))))
    return record_rows(Path(name).name if _saved(Path(name)) else name, loaded.to_list())


def _saved(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("dataset_dict.json", "state.json"))


def _has_data(folder: Path) -> bool:
    """Whether there are files of rows where the hub has them; the package itself would look through every folder."""
    places = (folder, folder / "data")
    return any(path.suffix in _DATA_FILES for place in places if place.is_dir() for path in place.iterdir())


def _one_split(name: str, splits: dict[str, Any], split: str | None) -> Any:
    if split is None and len(splits) == 1:
        return next(iter(splits.values()))
    if split not in splits:
        got = "none" if split is None else repr(split)
        raise ArgumentError(f"`split` must be one of {', '.join(splits)} for {name}. Got {got}.")
    return splits[split]
