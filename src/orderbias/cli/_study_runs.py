"""The runs of a study: which directory holds which readout of which model, and the job that fills it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orderbias.cli._job import Job
from orderbias.cli._readouts import CHAIN, DIRECT, INDEPENDENT, TWO_STAGE, WritingOptions
from orderbias.cli._running import RunOptions, job_of
from orderbias.cli._study_items import Drawn
from orderbias.cli._study_settings import BenchmarkSettings, ModelSettings, StudySettings, folder
from orderbias.prompts import Template
from orderbias.strategies.extraction import VALID_LETTERS
from orderbias.strategies.independent import SCORING_TOKENS

FIRST_TOKEN, CALIBRATION = "first-token", "first-token-calibration"
_LETTERS, _MATCHING = ("letters", "fallback"), ("embedder", "min_characters", "min_cosine")


@dataclass(frozen=True, slots=True)
class StudyRun:
    """One run directory of a model on a benchmark.

    ``name`` is that of the directory, ``readout`` and ``writing`` the options of ``orderbias run``; ``takes`` names the
    run whose first-stage replies are taken, ``for_`` the strategies that need it.
    """

    name: str
    readout: str
    writing: WritingOptions
    for_: tuple[str, ...]
    takes: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A model on a benchmark: the directory of its runs, and the settings of both."""

    folder: Path
    study: StudySettings
    model: ModelSettings
    benchmark: BenchmarkSettings

    def path(self, run: str) -> str:
        """Return the directory of a run."""
        return str(self.folder / run)


def places(study: StudySettings, out: str) -> Iterator[Place]:
    """Yield every model x benchmark, a model's benchmarks together."""
    for model in study.models:
        for benchmark in study.benchmarks:
            yield Place(Path(out) / folder(model.shown) / folder(benchmark.shown), study, model, benchmark)


def two_stage_name(one: str, two: str, *, reasoning: bool) -> str:
    """Return the name of a run of two stages, that of its readout."""
    return f"{TWO_STAGE}-{one}-{two}{'-reasoning' if reasoning else ''}"


def runs(study: StudySettings, without: frozenset[str] = frozenset()) -> tuple[StudyRun, ...]:
    """Return the runs that the wanted strategies need, but for those in ``without``; each once, in order of asking.

    A run that takes another's replies comes after it, calibration after the run whose form of labels it is to have.
    """
    wanted = [strategy for strategy in study.wanted if strategy not in without]
    everywhere = study.reasoning == "all"
    found: dict[str, StudyRun] = {}

    def add(run: StudyRun, strategy: str) -> None:
        before = found.get(run.name)
        found[run.name] = run if before is None else replace(before, for_=(*before.for_, strategy))

    for strategy in wanted:
        for run in _needed(study, strategy, everywhere):
            add(run, strategy)
    last = [name for name in (FIRST_TOKEN, CALIBRATION) if name in found]
    return tuple(found[name] for name in [*(n for n in found if n not in last), *last])


def _needed(study: StudySettings, strategy: str, everywhere: bool) -> Iterator[StudyRun]:
    letters = study.writing.model_dump(include=set(_LETTERS))
    if strategy in ("direct", "cyclic"):
        name = CHAIN if everywhere else DIRECT
        yield StudyRun(name, DIRECT, study.options(reasoning=everywhere, **letters), (strategy,))
    elif strategy == "pride":
        for name in (FIRST_TOKEN, CALIBRATION):
            yield StudyRun(name, FIRST_TOKEN, WritingOptions(), (strategy,))
    elif strategy == "independent":
        reasoning = study.reasoning != "none"
        name = f"{INDEPENDENT}{'-reasoning' if reasoning else ''}"
        # As published, scores alone reason, and at a length of their own.
        longer = (
            {"max_tokens": SCORING_TOKENS} if study.reasoning == "published" and not study.writing.max_tokens else {}
        )
        yield StudyRun(name, INDEPENDENT, study.options(reasoning=reasoning, **longer), (strategy,))
    elif strategy == "hybrid":
        yield _by_model(study, "visible", True, letters, strategy)
    else:
        stages = ("hidden", "visible") if strategy == "grid" else ("hidden",)
        for one in stages:
            yield _by_model(study, one, everywhere, letters, strategy)
        for one in stages if strategy == "grid" else ():
            writing = study.options(
                stage_one=one, stage_two="match", reasoning=everywhere, temperature=0.0,
                **study.writing.model_dump(include=set(_MATCHING)),
            )  # fmt: skip
            name = two_stage_name(one, "match", reasoning=everywhere)
            takes = two_stage_name(one, "model", reasoning=everywhere)
            yield StudyRun(name, TWO_STAGE, writing, (strategy,), takes)


def _by_model(study: StudySettings, one: str, reasoning: bool, letters: dict[str, Any], strategy: str) -> StudyRun:
    writing = study.options(stage_one=one, stage_two="model", reasoning=reasoning, **letters)
    return StudyRun(two_stage_name(one, "model", reasoning=reasoning), TWO_STAGE, writing, (strategy,))


def times(run: StudyRun, place: Place) -> int:
    """Return how often a run asks each query; probabilities of labels are not drawn."""
    return 1 if run.readout == FIRST_TOKEN else place.study.times(place.model)


def expected(run: StudyRun, place: Place) -> dict[str, object]:
    """Return what is known of a run's settings without its model and its items; those it has must be these."""
    writing, benchmark, system = run.writing, place.benchmark, place.model.system
    drawn = benchmark.n_items or (benchmark.groups or 0) * (benchmark.per_group or 0) or None
    n_items = benchmark.calibration if run.name == CALIBRATION else drawn
    return {
        "readout": FIRST_TOKEN if run.name == CALIBRATION else run.name,
        "template": Template(system=system).hash,
        "self_referring": benchmark.self_referring,
        "repeats": str(times(run, place)),
        "seed": str(place.study.seed),
        "temperature": str(writing.temperature),
        "max_tokens": str(writing.max_tokens),
        "thinking_tokens": str(writing.thinking_tokens),
        "letters": "all" if writing.letters == "all" else str(VALID_LETTERS),
        "fallback": writing.fallback,
        "matching": f"characters {writing.min_characters}, cosine {writing.min_cosine:g}, ",
        **({"n_items": n_items} if n_items is not None else {}),
        **_of_model(place.model),
    }


def _of_model(model: ModelSettings) -> dict[str, object]:
    """Return what a run's settings say of a model that nobody has loaded."""
    kind, _, name = model.model.partition(":")
    if kind == "openai":
        return {"model": name}
    if kind == "local":
        # A path's last part, or that of its folder, is its name; the hash of a chat template is not known here.
        return {"dtype": model.dtype} if model.dtype != "auto" else {}
    return {"model": kind} if kind == "simulated" else {}


def job(run: StudyRun, place: Place, drawn: Drawn, *, dry_run: bool = False) -> Job:
    """Return the job that fills a run's directory."""
    loading = place.model.loading
    if run.readout == FIRST_TOKEN and place.model.model.startswith("openai:"):
        loading = replace(loading, readout="first-token")
    writing = run.writing
    if run.takes is not None:
        writing = replace(writing, stage_one_from=place.path(run.takes))
    options = RunOptions(
        place.benchmark.source,
        place.model.model,
        place.path(run.name),
        system=place.model.system,
        repeats=times(run, place),
        readout="auto" if run.readout == FIRST_TOKEN else run.readout,
        reading=place.benchmark.reading,
        loading=loading,
        writing=writing,
        dry_run=dry_run,
    )
    return replace(job_of(options, drawn.calibration if run.name == CALIBRATION else drawn.items), following=None)
