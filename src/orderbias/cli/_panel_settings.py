"""The file that describes a panel: checkpoints, benchmarks, sweeps; read and checked before anything else."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from orderbias.cli._readouts import WritingOptions
from orderbias.cli._study_settings import (
    ItemSettings,
    ModelSettings,
    ReplySettings,
    Strict,
    check_names,
    folder,
    read_settings,
)
from orderbias.errors import ArgumentError
from orderbias.orderings import DesignSpec, parse_design

Readout = Literal["first-token", "five-shot", "direct", "chain-of-thought"]
#: The readouts that read a written reply.
WRITTEN: tuple[Readout, ...] = ("direct", "chain-of-thought")
FIVE_SHOT = 5

#: Names that a panel's folder has for itself.
RESERVED = frozenset({"panel.json", "lock"})

_Text = Annotated[str, Field(min_length=1, pattern=r"\S")]


class CheckpointSettings(ModelSettings):
    """A model, what is known of it, and what it takes to run it."""

    family: _Text | None = None
    parameters: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    post_trained: bool | None = None
    base: _Text | None = None
    gpus: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0


class PanelItemSettings(ItemSettings):
    """Items, and where their solved examples are, if not with them."""

    shots_from: str | None = None


class SweepSettings(Strict):
    """A readout under the orderings of a design, of all models on all benchmarks unless some are named."""

    readout: Readout = "first-token"
    orderings: str | None = None
    name: _Text | None = None
    models: tuple[str, ...] | None = None
    benchmarks: tuple[str, ...] | None = None
    n_items: Annotated[int, Field(ge=1)] | None = None
    repeats: Annotated[int, Field(ge=1, le=100)] = 1

    @field_validator("models", "benchmarks", mode="before")
    @classmethod
    def _tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("orderings")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        try:
            return None if value is None else str(parse_design(value))
        except ArgumentError as error:
            raise ValueError(str(error)) from error

    @property
    def shown(self) -> str:
        """The name given, else the readout."""
        return self.name or self.readout

    @property
    def design(self) -> DesignSpec:
        """The orderings; reversals are asked where there are probabilities to multiply."""
        return parse_design(self.orderings or ("cyclic" if self.readout in WRITTEN else "cyclic+reversals"))

    @property
    def scored(self) -> str:
        """What is scored: reversals are asked, not scored."""
        return str(self.design).removesuffix("+reversals")

    def covers(self, model: CheckpointSettings, benchmark: PanelItemSettings) -> bool:
        """Whether a model is asked a benchmark in this sweep."""
        in_models = self.models is None or model.shown in self.models
        return in_models and (self.benchmarks is None or benchmark.shown in self.benchmarks)


class PanelSettings(Strict):
    """A whole panel."""

    seed: Annotated[int, Field(ge=0)] = 42
    models: Annotated[tuple[CheckpointSettings, ...], Field(min_length=1)]
    benchmarks: Annotated[tuple[PanelItemSettings, ...], Field(min_length=1)]
    sweeps: Annotated[tuple[SweepSettings, ...], Field(min_length=1)] = (SweepSettings(),)
    writing: ReplySettings = ReplySettings()

    @field_validator("models", "benchmarks", "sweeps", mode="before")
    @classmethod
    def _tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, entries in (("models", self.models), ("benchmarks", self.benchmarks), ("sweeps", self.sweeps)):
            check_names(key, entries)
        self._check_bases()
        for sweep in self.sweeps:
            self._check_sweep(sweep)
        self._check_once()
        if self.writing != ReplySettings() and not any(sweep.readout in WRITTEN for sweep in self.sweeps):
            raise ValueError(f"writing must go with a sweep whose readout is {' or '.join(WRITTEN)}")
        return self

    def _check_bases(self) -> None:
        known = {model.shown for model in self.models}
        for model in self.models:
            if model.base is not None and (model.base not in known or model.base == model.shown):
                raise ValueError(
                    f"base of {model.shown} must be the name of another model of the panel, not {model.base!r}. Leave "
                    "it out where the base checkpoint is not there"
                )
            if model.base is not None and model.post_trained is False:
                raise ValueError(f"post_trained of {model.shown} must not be false: it has a base, {model.base}")
            self._check_lineage(model)

    def _check_lineage(self, model: CheckpointSettings) -> None:
        """No checkpoint came from itself."""
        bases = {m.shown: m.base for m in self.models}
        lineage = [model.shown]
        while (base := bases.get(lineage[-1])) is not None:
            lineage.append(base)
            if base in lineage[:-1]:
                raise ValueError(f"base must lead to a checkpoint without a base. Got {' -> '.join(lineage)}")

    def _check_sweep(self, sweep: SweepSettings) -> None:
        if folder(sweep.shown).lower() in RESERVED:
            raise ValueError(f"sweeps must not be named {sweep.shown}: the panel has a file of that name")
        for key, named, entries in (
            ("models", sweep.models, self.models), ("benchmarks", sweep.benchmarks, self.benchmarks),
        ):  # fmt: skip
            known = [entry.shown for entry in entries]
            strange = [name for name in named or () if name not in known]
            if strange or named == ():
                got = ", ".join(strange) or "none"
                raise ValueError(f"{key} of sweep {sweep.shown} must name some of {', '.join(known)}. Got {got}")
        asked = [model for model in self.models if sweep.models is None or model.shown in sweep.models]
        if sweep.repeats > 1 and not any(self.times(sweep, model) > 1 for model in asked):
            raise ValueError(
                f"repeats of sweep {sweep.shown} above 1 needs a model behind an API, or replies written with a "
                "temperature above 0 in [writing]: any other gives the same answer again"
            )

    def _check_once(self) -> None:
        """A cell that is there twice would count twice."""
        seen: dict[tuple[str, ...], str] = {}
        for sweep, model, benchmark in self.cells():
            key = (sweep.readout, sweep.scored, model.shown, benchmark.shown)
            other = seen.setdefault(key, sweep.shown)
            if other != sweep.shown:
                raise ValueError(
                    f"sweeps {other} and {sweep.shown} must not both ask {model.shown} the {sweep.readout} readout of "
                    f"{benchmark.shown} under the orderings {sweep.scored}: it would count twice. Restrict one by "
                    "models = [...] or benchmarks = [...]"
                )

    def cells(self) -> list[tuple[SweepSettings, CheckpointSettings, PanelItemSettings]]:
        """Return every cell, a model's together."""
        return [
            (sweep, model, benchmark)
            for model in self.models
            for sweep in self.sweeps
            for benchmark in self.benchmarks
            if sweep.covers(model, benchmark)
        ]

    def times(self, sweep: SweepSettings, model: CheckpointSettings) -> int:
        """Return how often a model is asked each query: once, where a second answer could not differ."""
        drawn = sweep.readout in WRITTEN and self.writing.temperature > 0
        return sweep.repeats if drawn or model.model.startswith("openai:") else 1

    def written(self) -> WritingOptions:
        """Return how replies are written in the sweeps that have some."""
        return WritingOptions(**self.writing.model_dump(), seed=self.seed)


def read_panel_settings(path: str) -> PanelSettings:
    """Read PANEL.toml; see :func:`orderbias.cli._study_settings.read_settings`."""
    return read_settings(path, PanelSettings, "PANEL", "docs/panel.md")
