"""What a stored ``panel.json`` must be, whoever wrote it; knows no folder and no analysis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from orderbias.cli._panel_settings import Readout
from orderbias.errors import ArgumentError
from orderbias.orderings import parse_design

_Count = Annotated[int, Field(ge=0)]
_Positive = Annotated[int, Field(ge=1)]
#: A file beside panel.json, and none elsewhere.
_FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Named(_Stored):
    name: Annotated[str, Field(min_length=1)]


class _Model(_Named):
    family: str | None
    parameters: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None
    post_trained: bool | None
    base: str | None


class _Benchmark(_Named):
    n_items: _Positive | None
    groups: _Positive | None
    per_group: _Positive | None


class _Sweep(_Named):
    readout: Readout
    orderings: str
    n_items: _Positive | None
    repeats: _Positive


class _Cell(_Stored):
    sweep: str
    model: str
    benchmark: str


class _ExportedCell(_Cell):
    rows: tuple[_Count, _Count]
    settings: dict[str, str]


class _ExportedFile(_Stored):
    name: _FileName
    sha256: str


class _ExportedDesign(_Stored):
    positions: list[list[int]]
    presented: list[bool]


class _Exported(_Stored):
    files: dict[str, _ExportedFile]
    designs: dict[str, dict[str, _ExportedDesign]]
    same_text: dict[str, dict[str, list[int]]]
    cells: list[_ExportedCell]
    left_out: list[str]


class StoredPanel(_Stored):
    """A whole file."""

    format: int
    seed: _Count
    models: list[_Model]
    benchmarks: list[_Benchmark]
    sweeps: list[_Sweep]
    cells: list[_Cell]
    exported: _Exported | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        known = [_names(key, entries) for key, entries in
                 (("sweeps", self.sweeps), ("models", self.models), ("benchmarks", self.benchmarks))]  # fmt: skip
        cells = [(cell.sweep, cell.model, cell.benchmark) for cell in self.cells]
        _once("cells", cells)
        for cell in cells:
            if any(name not in names for name, names in zip(cell, known, strict=True)):
                raise ValueError(f"cells must be of sweeps, models and benchmarks that are there, not {cell}")
        for sweep in self.sweeps:
            try:
                parse_design(sweep.orderings)
            except ArgumentError as error:
                raise ValueError(f"sweep {sweep.name}: {error}") from error
        for model in self.models:
            if model.base is not None and (model.base == model.name or model.base not in known[1]):
                raise ValueError(f"base of {model.name} must be another model, not {model.base!r}")
        return self


def _names(key: str, entries: Sequence[_Named]) -> list[str]:
    names = [entry.name for entry in entries]
    _once(key, names)
    return names


def _once(key: str, names: Iterable[Any]) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{key} must each be there once; {name!r} is there again")
        seen.add(name)
