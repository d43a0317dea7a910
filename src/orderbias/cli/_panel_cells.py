"""The cells of a panel: which run directory holds what, and the job that fills it; asks nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from orderbias.cli._asking import check_model
from orderbias.cli._job import Job
from orderbias.cli._panel_settings import FIVE_SHOT, WRITTEN, CheckpointSettings, PanelSettings, SweepSettings
from orderbias.cli._readouts import WritingOptions
from orderbias.cli._running import RunOptions, job_of
from orderbias.cli._saying import say
from orderbias.cli._study_items import draw, ranked
from orderbias.cli._study_settings import folder
from orderbias.errors import ArgumentError
from orderbias.items import ItemSet


@dataclass(frozen=True, slots=True)
class CellPlace:
    """One run directory of a panel: by its names, and ``path``, relative to the panel's folder."""

    sweep: str
    model: str
    benchmark: str

    @property
    def path(self) -> str:
        """The directory, with slashes."""
        return "/".join(folder(name) for name in (self.sweep, self.model, self.benchmark))

    @property
    def named(self) -> str:
        """The cell as a reader knows it."""
        return f"{self.model} on {self.benchmark} ({self.sweep})"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A panel with its items drawn, by the benchmarks' names."""

    settings: PanelSettings
    items: Mapping[str, ItemSet]

    def places(self, model: CheckpointSettings) -> list[CellPlace]:
        """Return the cells of a model."""
        return [
            CellPlace(sweep.shown, model.shown, benchmark.shown)
            for sweep, whose, benchmark in self.settings.cells()
            if whose is model
        ]

    def job(self, place: CellPlace, out: str, *, dry_run: bool = False) -> Job:
        """Return the job that fills a cell's run directory at ``out``.

        Raises
        ------
        ArgumentError
            If settings do not go together, or not with the items.
        """
        sweep = next(s for s in self.settings.sweeps if s.shown == place.sweep)
        model = next(m for m in self.settings.models if m.shown == place.model)
        benchmark = next(b for b in self.settings.benchmarks if b.shown == place.benchmark)
        written = sweep.readout in WRITTEN
        options = RunOptions(
            benchmark.source,
            model.model,
            out,
            design=str(sweep.design),
            shots=FIVE_SHOT if sweep.readout == "five-shot" else 0,
            system=model.system,
            repeats=self.settings.times(sweep, model),
            readout=sweep.readout if written else "auto",
            reading=benchmark.reading,
            loading=model.loading,
            writing=self.settings.written() if written else WritingOptions(),
            dry_run=dry_run,
        )
        return replace(job_of(options, self._asked(sweep, place.benchmark)), following=None)

    def _asked(self, sweep: SweepSettings, benchmark: str) -> ItemSet:
        """Return the items of a sweep: all that are drawn, or so many of them."""
        items = self.items[benchmark]
        if sweep.n_items is None or sweep.n_items >= len(items):
            return items
        kept = {item.id for item in ranked(items, self.settings.seed)[: sweep.n_items]}
        return replace(items, items=tuple(item for item in items if item.id in kept))


def prepare(settings: PanelSettings) -> Prepared:
    """Read and draw the items, and try every job, so that what is wrong is said before anything is asked.

    Raises
    ------
    ArgumentError
        If a model is of no known kind, items cannot be read, or settings do not go together.
    """
    for model in settings.models:
        try:
            check_model(model.model, model.loading)
        except ArgumentError as error:
            raise ArgumentError(f"{model.shown}: {error}") from error
    items = {}
    for benchmark in settings.benchmarks:
        found = items[benchmark.shown] = draw(benchmark, settings.seed, golds=False).items
        say(f"{benchmark.shown}: {len(found):,} items drawn with seed {settings.seed}.")
        for notice in found.notices:
            say(f"      {notice}")
    prepared = Prepared(settings, items)
    for model in settings.models:
        for place in prepared.places(model):
            prepared.job(place, "unused")
    return prepared
