"""Plan the runs of a study and fill them: a model is loaded once, and what fails leaves all else as it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orderbias.cli._jobs import Job, ask_into
from orderbias.cli._saying import say
from orderbias.cli._study_items import Drawn, draw
from orderbias.cli._study_models import SharedModel, Unasked, cost_of
from orderbias.cli._study_runs import CALIBRATION, FIRST_TOKEN, Place, StudyRun, job, places, runs, times
from orderbias.cli._study_settings import StudySettings
from orderbias.errors import AskingStopped, MissingExtra, ModelError, OrderbiasError
from orderbias.strict_json import loads

if TYPE_CHECKING:
    from orderbias.store import Run

SKIPPED = "skipped.json"


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """What a run has left to ask; ``cost`` is None without prices."""

    path: str
    n_queries: int
    n_stored: int
    calls: int
    tokens: int
    reply_tokens: int
    cost: float | None
    takes: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "path": self.path, "n_queries": self.n_queries, "n_stored": self.n_stored, "calls": self.calls,
            "tokens": self.tokens, "reply_tokens": self.reply_tokens, "cost": self.cost, "takes": self.takes,
        }  # fmt: skip


def without(study: StudySettings) -> dict[str, str]:
    """Return the strategies that cannot be had here, with the reason; one that was asked for by name is an error."""
    if "grid" not in study.wanted:
        return {}
    from orderbias.backends.embedding import embedder

    try:
        embedder(study.writing.embedder)  # what cannot be matched need not be asked
    except (MissingExtra, ModelError) as error:
        if study.strategies is not None:
            raise
        return {"grid": str(error)}
    return {}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A study with its items drawn, and why a strategy cannot be had."""

    study: StudySettings
    out: str
    drawn: Mapping[str, Drawn]
    skipped: Mapping[str, str]

    def by_model(self) -> Iterator[list[Place]]:
        """Yield the places of each model."""
        for _, of_model in groupby(places(self.study, self.out), key=lambda place: place.model):
            yield list(of_model)


def prepare(study: StudySettings, out: str) -> Prepared:
    """Read and draw the items, and find out what can be had; asks nothing."""
    drawn = {}
    for benchmark in study.benchmarks:
        n_calibration = benchmark.calibration if "pride" in study.wanted else 0
        found = drawn[benchmark.shown] = draw(benchmark, study.seed, n_calibration=n_calibration)
        calibrating = f", {len(found.calibration):,} more calibrate" if len(found.calibration) else ""
        say(f"{benchmark.shown}: {len(found.items):,} items drawn with seed {study.seed}{calibrating}.")
        for notice in found.items.notices:
            say(f"      {notice}")
    skipped = without(study)
    for strategy, reason in skipped.items():
        say(f"Skipped: {strategy}. {reason}")
    return Prepared(study, out, drawn, skipped)


def _skipped(place: Place, skipped: Mapping[str, str]) -> dict[str, str]:
    """Return what is skipped everywhere, and what this benchmark leaves no items for."""
    if place.benchmark.calibration or "pride" not in place.study.wanted:
        return dict(skipped)
    return {**skipped, "pride": "The benchmark has `calibration` = 0."}


def plan_study(prepared: Prepared) -> tuple[PlannedRun, ...]:
    """Return what is left to ask in every run, without asking."""
    planned = []
    for of_model in prepared.by_model():
        shared = SharedModel()
        for place in of_model:
            for run in runs(place.study, frozenset(_skipped(place, prepared.skipped))):
                planned.append(_planned(run, place, prepared.drawn[place.benchmark.shown], shared))
    return tuple(planned)


def ask_study(prepared: Prepared) -> None:
    """Fill every run; a model that fails leaves the others' runs to be filled."""
    for of_model in prepared.by_model():
        shared = SharedModel()
        try:
            for place in of_model:
                _ask_place(place, prepared.drawn[place.benchmark.shown], shared, prepared.skipped)
        except ModelError as error:
            capped = " Caps hold over all runs of a model." if isinstance(error, AskingStopped) else ""
            say(f"{of_model[0].model.shown} is asked no more: {error}{capped}")


def _planned(run: StudyRun, place: Place, drawn: Drawn, shared: SharedModel) -> PlannedRun:
    from orderbias.collect import all_queries
    from orderbias.orderings import parse_design

    existing = _existing(place.path(run.name))
    if run.takes is not None:
        n_total = sum(1 for _ in all_queries(drawn.items, parse_design("cyclic"), times(run, place)))
        n_stored = 0 if existing is None else len(existing.stored(failed=False))
        return PlannedRun(place.path(run.name), n_total, n_stored, 0, 0, 0, None, place.path(run.takes))
    made = job(run, place, drawn)
    return planned_job(made, shared, shown=made.out)


def planned_job(made: Job, shared: SharedModel, *, shown: str) -> PlannedRun:
    """Return what a job has left to ask; ``shown`` is what its run is called."""
    from orderbias.backends._limits import Used
    from orderbias.collect import Asker, plan

    existing = _existing(made.out)
    stored = frozenset() if existing is None else frozenset(existing.stored(failed=False))
    todo = plan(made.items, made.design, stored, made.repeats)
    backend = shared(made.model, made.items, made.loading)
    try:
        asker = Asker(backend, made.strategy, made.template, made.items.shots, made.items.name, made.readout)
        work = asker.workload(todo.queries)
    finally:
        getattr(backend, "close", lambda: None)()
    calls = work.calls or len(todo.queries)
    cost = cost_of(made.model, made.loading, Used(calls, work.tokens, work.reply_tokens))
    return PlannedRun(
        shown, todo.n_total, todo.n_stored, calls if todo.queries else 0, work.tokens, work.reply_tokens, cost
    )


def _existing(path: str) -> Run | None:
    from orderbias.store import Run

    return Run.open(path) if Run.exists(path) else None


def _ask_place(place: Place, drawn: Drawn, shared: SharedModel, skipped: Mapping[str, str]) -> None:
    reasons = _skipped(place, skipped)
    _remember(place, reasons)
    for run in runs(place.study, frozenset(reasons)):
        if any(strategy not in reasons for strategy in run.for_):
            say(f"\n{place.model.shown} on {place.benchmark.shown}: {run.name}")
            reason = _ask_run(run, place, drawn, shared)
            if reason is not None:
                reasons |= dict.fromkeys(run.for_, reason)
                _remember(place, reasons)
                say(f"Skipped: {', '.join(run.for_)}. {reason}")


def _ask_run(run: StudyRun, place: Place, drawn: Drawn, shared: SharedModel) -> str | None:
    """Fill one run; returns the reason where the model cannot be asked so.

    Raises
    ------
    ModelError
        If the model cannot be asked at all, or no more.
    """
    if run.takes is not None:
        _match(run, place, drawn)
        return None
    made = job(run, place, drawn)
    if run.name == CALIBRATION:
        made = _as_settled(made, place)
    try:
        progress, _ = ask_into(made, shared)
    except AskingStopped:
        raise
    except ModelError as error:
        if run.readout == FIRST_TOKEN and not getattr(shared.last, "has_logprobs", True):
            return "The model shows no log-probabilities."
        raise ModelError(f"{run.name}: {error}") from error
    say(f"{progress.n_done:,} answered, {progress.n_failed:,} of them with an error.")
    if progress.stopped is not None:
        raise AskingStopped(progress.stopped)
    return None


def _as_settled(made: Job, place: Place) -> Job:
    """Have the calibration items asked with the form of labels of the run that is calibrated."""
    other = _existing(place.path(FIRST_TOKEN))
    if other is None:
        return made
    settled = other.manifest.settings.as_dict()
    return replace(made, loading=replace(made.loading, label_form=settled.get("label_form"), settled=settled))


def _match(run: StudyRun, place: Place, drawn: Drawn) -> None:
    """Match the first-stage replies of another run; where those have changed since, match them anew."""
    source, existing = _existing(place.path(run.takes or "")), _existing(place.path(run.name))
    if source is None:
        return
    made = job(run, place, drawn)
    own = made.settings.as_dict()
    model = {k: v for k, v in source.manifest.settings.as_dict().items() if k not in own and k not in _READING}
    if existing is not None and existing.manifest.settings.as_dict().get("stage_one") != own["stage_one"]:
        say(f"{made.out} is matched anew: more first-stage replies are there.")
        shutil.rmtree(made.out)
    ask_into(made, lambda *_: Unasked(model))


#: Settings of a stage two by the model that one by matching has not.
_READING = ("letters", "fallback")


def _remember(place: Place, reasons: Mapping[str, str]) -> None:
    """Keep which strategies are skipped and why, for a report without the model."""
    from orderbias.store.atomic import write_whole

    place.folder.mkdir(parents=True, exist_ok=True)
    write_whole(place.folder / SKIPPED, (json.dumps(dict(reasons), indent=1) + "\n").encode())


def remembered(place: Place) -> dict[str, str]:
    """Return which strategies were skipped and why."""
    path = Path(place.folder) / SKIPPED
    if not path.is_file():
        return {}
    try:
        found = loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise OrderbiasError(f"{path} must be what a study wrote. Remove it, and run the study again.") from error
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}
