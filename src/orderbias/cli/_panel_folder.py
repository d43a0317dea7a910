"""The folder of a panel, here or on another filesystem: its ``panel.json`` and the run directories of its cells."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orderbias.cli._panel_cells import CellPlace
from orderbias.cli._panel_file import NAME, PanelFile
from orderbias.errors import OrderbiasError, RunError
from orderbias.store import Folder, Mirror, Run
from orderbias.store.mirror import without_keys


@dataclass(frozen=True, slots=True)
class CellState:
    """How far a cell is.

    ``n_queries`` is None where it was not begun; ``n_answered`` counts failures too. ``fault`` says why it cannot be
    read.
    """

    place: CellPlace
    n_queries: int | None = None
    n_answered: int = 0
    n_failed: int = 0
    fault: str | None = None

    @property
    def whole(self) -> bool:
        """Whether every query has an answer or a failure."""
        return self.fault is None and self.n_queries == self.n_answered

    @property
    def done(self) -> bool:
        """Whether every query has an answer."""
        return self.whole and not self.n_failed

    def left(self) -> str | None:
        """Return what is left, None where nothing is."""
        if self.done:
            return None
        if self.fault is not None:
            return f"{self.place.named} cannot be read: {self.fault}"
        if self.n_queries is None:
            return f"{self.place.named} has not been begun."
        n_left = self.n_queries - self.n_answered
        both = [f"{n_left:,} of {self.n_queries:,} queries left"] if n_left else []
        both += [f"{self.n_failed:,} of {self.n_queries:,} queries that failed"] if self.n_failed else []
        return f"{self.place.named} has {', and '.join(both)}."

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        place = self.place
        return {
            "sweep": place.sweep, "model": place.model, "benchmark": place.benchmark, "path": place.path,
            "n_queries": self.n_queries, "n_answered": self.n_answered, "n_failed": self.n_failed, "fault": self.fault,
            "done": self.done,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class PanelFolder:
    """A panel's folder.

    ``shown`` is its name without keys, ``here`` where it is if it is worked on in place, None where through copies.
    """

    shown: str
    files: Folder
    here: Path | None

    @classmethod
    def of(cls, address: str, *, in_place: bool = True) -> PanelFolder:
        """Open a directory, or the address of one elsewhere.

        Raises
        ------
        RunError
            If it is an address that nothing opens.
        """
        local = "://" not in address
        return cls(without_keys(address), Folder.of(address), Path(address) if local and in_place else None)

    def panel(self) -> PanelFile | None:
        """Return what ``panel.json`` says, None where there is none."""
        data = self.files.read(NAME)
        return None if data is None else PanelFile.from_json(data, f"{self.shown}/{NAME}")

    def known_panel(self) -> PanelFile:
        """Return what ``panel.json`` says.

        Raises
        ------
        RunError
            If there is none.
        """
        found = self.panel()
        if found is None:
            raise RunError(
                f"{self.shown} must be the folder of a panel. There is no {NAME} in it: `orderbias panel run "
                "PANEL.toml --out FOLDER` makes one."
            )
        return found

    @contextmanager
    def read(self, place: CellPlace) -> Iterator[Path]:
        """Give the run directory of a cell, or a copy of it, for reading."""
        with self.write(place) as (path, _):
            yield path

    @contextmanager
    def write(self, place: CellPlace) -> Iterator[tuple[Path, Mirror | None]]:
        """Give the run directory of a cell for writing; a copy has a mirror."""
        if self.here is not None:
            yield self.here / place.path, None
            return
        with tempfile.TemporaryDirectory(prefix="orderbias-", ignore_cleanup_errors=True) as scratch:
            mirror = Mirror(self.files.child(place.path), Path(scratch) / "run")
            mirror.pull()
            yield mirror.local, mirror

    def states(self, panel: PanelFile) -> list[CellState]:
        """Return how far every cell is."""
        return [self.state(place, panel.sweep(place).orderings) for place in panel.cells]

    def state(self, place: CellPlace, orderings: str) -> CellState:
        """Return how far a cell is."""
        with self.read(place) as path:
            return state_of(place, path, orderings)


def state_of(place: CellPlace, path: Path, orderings: str) -> CellState:
    """Return how far the cell in a run directory is; one of other orderings than its sweep's has a fault."""
    from orderbias.records.answers import ERROR

    if not Run.exists(path):
        return CellState(place)
    try:
        run = Run.open(path)
        held = run.manifest.settings.as_dict().get("design")
        if held != orderings:
            return CellState(place, fault=f"its run holds the orderings {held}, and not {orderings}.")
        if not (path / "items.jsonl").is_file():
            return CellState(place, fault="items.jsonl is gone. `orderbias panel run` writes it anew.")
        if not any((path / "records").glob("part-*.parquet")):
            return CellState(place, run.manifest.n_queries)
        records = run.records()
    except OrderbiasError as error:
        return CellState(place, fault=str(error))
    return CellState(place, run.manifest.n_queries, len(records), int((records.status == ERROR).sum()))
