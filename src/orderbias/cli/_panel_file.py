"""``panel.json``: what a report needs of a panel without its TOML; and the folder it is in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ValidationError

from orderbias.cli._panel_cells import CellPlace
from orderbias.cli._panel_settings import PanelSettings
from orderbias.cli._panel_stored import StoredPanel
from orderbias.errors import ArgumentError, RunError
from orderbias.studies.panel import Checkpoint

NAME = "panel.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class SweepEntry:
    """A sweep as it was asked."""

    name: str
    readout: str
    orderings: str
    n_items: int | None = None
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class BenchmarkEntry:
    """How a benchmark's items were drawn."""

    name: str
    n_items: int | None = None
    groups: int | None = None
    per_group: int | None = None


@dataclass(frozen=True, slots=True)
class PanelFile:
    """What ``panel.json`` says.

    ``cells`` are in the order of the panel's file. ``exported`` is what an exported panel has besides.
    """

    seed: int
    models: tuple[Checkpoint, ...]
    benchmarks: tuple[BenchmarkEntry, ...]
    sweeps: tuple[SweepEntry, ...]
    cells: tuple[CellPlace, ...]
    exported: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, settings: PanelSettings) -> PanelFile:
        """Take from the settings what is kept; never a source or a model's place, which may be of this machine."""
        return cls(
            settings.seed,
            tuple(Checkpoint(m.shown, m.family, m.parameters, m.post_trained, m.base) for m in settings.models),
            tuple(BenchmarkEntry(b.shown, b.n_items, b.groups, b.per_group) for b in settings.benchmarks),
            tuple(SweepEntry(s.shown, s.readout, str(s.design), s.n_items, s.repeats) for s in settings.sweeps),
            tuple(CellPlace(s.shown, m.shown, b.shown) for s, m, b in settings.cells()),
        )

    def checkpoint(self, place: CellPlace) -> Checkpoint:
        """Return who answered a cell."""
        return next(model for model in self.models if model.name == place.model)

    def sweep(self, place: CellPlace) -> SweepEntry:
        """Return the sweep of a cell."""
        return next(sweep for sweep in self.sweeps if sweep.name == place.sweep)

    def to_json(self) -> bytes:
        """Return the text of the file."""
        stored = {"format": FORMAT, **asdict(self)}
        if self.exported is None:
            del stored["exported"]
        return (json.dumps(stored, indent=1) + "\n").encode()

    @classmethod
    def from_json(cls, data: bytes, where: str) -> PanelFile:
        """Read the file.

        Raises
        ------
        RunError
            If it is damaged, or one of a later format.
        """
        try:
            stored = json.loads(data)
            if isinstance(stored, dict) and stored.get("format") not in (None, FORMAT):
                raise RunError(f"{where} must be of format {FORMAT}. Got {stored['format']!r}. Use a newer orderbias.")
            StoredPanel.model_validate_json(data)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            what = (f"{key}: " if key else "") + str(first["msg"]).removeprefix("Value error, ").rstrip(".")
            raise RunError(f"{where} must be what `orderbias panel` wrote. It is damaged: {what}.") from error
        except (ValueError, RecursionError) as error:
            raise RunError(f"{where} must be what `orderbias panel` wrote. It is damaged: {error}.") from error
        return cls(
            stored["seed"],
            tuple(Checkpoint(**entry) for entry in stored["models"]),
            tuple(BenchmarkEntry(**entry) for entry in stored["benchmarks"]),
            tuple(SweepEntry(**entry) for entry in stored["sweeps"]),
            tuple(CellPlace(**entry) for entry in stored["cells"]),
            stored.get("exported"),
        )

    def check(self, earlier: PanelFile, where: str) -> None:
        """Raise ArgumentError if a folder was begun with other settings: its cells would not be of one panel."""
        if earlier.exported is not None:
            raise ArgumentError(f"--out must be a folder of runs. {where} was exported, and holds none.")
        changes = [f"seed: {earlier.seed} -> {self.seed}"] if earlier.seed != self.seed else []
        for key in ("benchmarks", "sweeps"):
            before = {entry.name: entry for entry in getattr(earlier, key)}
            for entry in getattr(self, key):
                old = before.get(entry.name, entry)
                changes += [
                    f"{name} of {entry.name}: {value} -> {asdict(entry)[name]}"
                    for name, value in asdict(old).items()
                    if value != asdict(entry)[name]
                ]
        if changes:
            raise ArgumentError(
                f"{where} was begun with other settings: {'; '.join(changes)}. Use another --out, another name for "
                "what changed, or the settings it was begun with."
            )
