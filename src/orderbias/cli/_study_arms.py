"""From the run directories of a model on a benchmark to the arms of the study; asks nothing and loads no model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from orderbias.cli._found import noise_notes, reading_notes
from orderbias.cli._readouts import CHAIN, DIRECT, INDEPENDENT
from orderbias.cli._study_asking import remembered
from orderbias.cli._study_lots import lots, voted
from orderbias.cli._study_runs import CALIBRATION, FIRST_TOKEN, Place, StudyRun, expected, runs, two_stage_name
from orderbias.errors import ArgumentError, DataError
from orderbias.items import ItemSet, option_counts, question_kind
from orderbias.operations import PriDe
from orderbias.operations.slices import take_items
from orderbias.predictions import MISSING, OK, Predictions
from orderbias.strategies.independent import count_scores
from orderbias.studies.grid import CELLS
from orderbias.studies.label_free_cell import GRID_ARMS, CellData, RunState

if TYPE_CHECKING:
    from orderbias.records import Records
    from orderbias.store import Run

#: The way of finding an answer that the sensitivity to the fallback is about (two-factors, A.3).
STANDALONE = "standalone"


@dataclass(frozen=True, slots=True)
class Gathered:
    """The cells of one model on one benchmark, one a number of options, and the runs behind them."""

    cells: tuple[CellData, ...]
    runs: tuple[RunState, ...]


#: The answers to the items of one number of options, in the order of the items; each time, where asked again.
_Cell = tuple[Predictions, NDArray[np.int8] | None]


@dataclass(slots=True)
class _Reading:
    """The runs of a place that are there, read once each."""

    place: Place
    items: ItemSet
    sources: Mapping[str, str]
    opened: dict[str, Run] = field(default_factory=dict)
    records: dict[str, Records] = field(default_factory=dict)
    _cells: dict[tuple[str, tuple[str, ...]], dict[int, _Cell]] = field(default_factory=dict)

    def settings(self, name: str) -> dict[str, str]:
        """Return the settings of a run."""
        return self.opened[name].manifest.settings.as_dict()

    def predictions(self, name: str, n_options: int, ways: tuple[str, ...] = ()) -> Predictions | None:
        """Return a run's answers to the items of one number of options, in the order of the items."""
        return self._built(name, ways).get(n_options, (None, None))[0]

    def repeats(self, name: str, n_options: int) -> NDArray[np.int8] | None:
        """Return the contents that the same items were answered with each time, where they were asked again."""
        return self._built(name).get(n_options, (None, None))[1]

    def _built(self, name: str, ways: tuple[str, ...] = ()) -> dict[int, _Cell]:
        """Return the cells of a run by number of options, made once; none where it has no answers."""
        from orderbias.records import without_found
        from orderbias.run_cells import cells_of

        if name not in self.records:
            return {}
        if (name, ways) not in self._cells:
            run, records = self.opened[name], self.records[name]
            built = cells_of(run, without_found(records, ways) if ways else records)
            order = {item.id: row for row, item in enumerate(run.items())}
            found = self._cells[name, ways] = {}
            for cell, again in zip(built.predictions, built.repeats, strict=True):
                rows = np.argsort([order[item_id] for item_id in cell.item_ids])
                found[cell.n_options] = (take_items(cell, rows), None if again is None else again[rows])
        return self._cells[name, ways]


def gather(place: Place) -> Gathered:
    """Read what the runs of a place hold.

    Raises
    ------
    DataError
        If runs are not of the same items, or not what the study has asked.
    """
    from orderbias.store import Run

    wanted_names: frozenset[str] = frozenset(place.study.wanted)
    skipped = {name: reason for name, reason in remembered(place).items() if name in wanted_names}
    wanted = [run for run in runs(place.study) if not all(strategy in skipped for strategy in run.for_)]
    opened = {run.name: Run.open(place.path(run.name)) for run in wanted if Run.exists(place.path(run.name))}
    _check_settings(place, wanted, opened)
    unasked = {name: run.manifest.n_queries - len(run.stored()) for name, run in opened.items()}
    records = {name: run.records() for name, run in opened.items() if unasked[name] < run.manifest.n_queries}
    states = tuple(_state(run, opened, records) for run in wanted)
    # Where asking has not come to its end, what is not there is no wrong answer: such a run is in no arm.
    asked = {name: found for name, found in records.items() if not unasked[name]}
    base = _direct(place)
    if base not in asked:
        return Gathered((), states)
    items = opened[base].items()
    _check_items(opened, base)
    reading = _Reading(place, items, _sources(place, skipped), opened, asked)
    missing: dict[str, str] = {}
    for run in (run for run in wanted if run.name not in asked):
        begun = run.name in records
        lacks = f"has {unasked[run.name]:,} queries that were not asked yet" if begun else "has no answers"
        for strategy in run.for_:
            missing.setdefault(strategy, f"{run.name} {lacks}.")
    found = [_cell(reading, k, states, skipped, missing) for k in option_counts(items)]
    return Gathered(tuple(cell for cell in found if cell is not None), states)


def _direct(place: Place) -> str:
    return CHAIN if place.study.reasoning == "all" else DIRECT


def _check_settings(place: Place, wanted: Sequence[StudyRun], opened: Mapping[str, Run]) -> None:
    """Every run is of the readout that its directory is named after, as the study has it, and of one model."""
    model = None
    for run in (run for run in wanted if run.name in opened):
        found = opened[run.name].manifest.settings.as_dict()
        model = found.get("model") if model is None else model
        counted = {"repeats": found.get("repeats", "1"), "n_items": len(opened[run.name].items())}
        for key, rule in (*expected(run, place).items(), ("model", model)):
            got = {**found, **counted}.get(key, rule)
            if got != rule and not (key == "matching" and str(got).startswith(str(rule))):
                raise DataError(
                    f"{opened[run.name].path} must be of {key} {rule}, as the study's file has it. It is of {got}. "
                    "Mend the file, give the --out directory of this study, or run the study into another."
                )


def _check_items(opened: Mapping[str, Run], base: str) -> None:
    """All runs but the calibration are of the same items, which that has none of."""
    wanted = opened[base].items()
    for name, run in opened.items():
        items = run.items()
        if name == CALIBRATION:
            if {i.id for i in items} & {i.id for i in wanted}:
                raise DataError(f"{run.path} must have none of the items that are asked. It calibrates on some.")
        elif items.data_hash != wanted.data_hash:
            raise DataError(f"{run.path} must be over the items of {opened[base].path}. It has others.")


def _state(run: StudyRun, opened: Mapping[str, Run], records: Mapping[str, Records]) -> RunState:
    from orderbias.records import found_counts

    if run.name not in opened:
        return RunState(run.name, 0, 0, strategies=run.for_)
    n_queries = opened[run.name].manifest.n_queries
    n_left = n_queries - len(opened[run.name].stored(failed=False))
    if run.name not in records:
        return RunState(run.name, n_queries, n_left, strategies=run.for_)
    found = found_counts(records[run.name])
    scores = count_scores(records[run.name]) if run.readout == INDEPENDENT else (0, 0)
    return RunState(run.name, n_queries, n_left, found, *scores, run.for_)


def _cell(
    reading: _Reading,
    k: int,
    states: tuple[RunState, ...],
    skipped: Mapping[str, str],
    missing: Mapping[str, str],
) -> CellData | None:
    items = [item for item in reading.items if len(item.options) == k]
    if reading.predictions(_direct(reading.place), k) is None:
        return None
    reasons = dict(skipped)
    arms = _arms(reading, k, reasons)
    reasons |= {strategy: reason for strategy, reason in missing.items() if strategy not in reasons}
    return CellData(
        reading.place.model.shown,
        reading.place.benchmark.shown,
        arms,
        [question_kind(item.question) for item in items],
        lots(arms, items, reading.records.get(reading.sources.get("independent", "")), reading.place.study.seed),
        _without(reading, k, arms),
        _again(reading, k, arms),
        states,
        reasons,
        tuple(_notices(reading, k)),
    )


def _notices(reading: _Reading, k: int) -> Iterator[str]:
    """Say what the tables of a cell do not show by themselves."""
    for name, records in reading.records.items():
        some = records.take(np.flatnonzero(records.n_options == k))
        yield from (f"{name}: {note}" for note in reading_notes(some, reading.settings(name)))
    yield from noise_notes(reading.settings(_direct(reading.place)))


def _again(reading: _Reading, k: int, arms: Mapping[str, Predictions]) -> dict[str, NDArray[np.int8]]:
    """Return what was answered each time, of the arms that were asked again; a vote is taken in each repeat."""
    found = {name: reading.repeats(run, k) for name, run in reading.sources.items() if name in arms}
    again = {name: contents for name, contents in found.items() if contents is not None}
    if "cyclic" in arms and "direct" in again:
        times = np.moveaxis(again["direct"], 2, 0)
        votes = [voted(_answered(arms["direct"], contents), reading.place.study.seed).choice for contents in times]
        again["cyclic"] = np.stack(votes, axis=2)
    return again


def _answered(arm: Predictions, choice: NDArray[np.int8]) -> Predictions:
    """Return an arm with other answers to its queries."""
    return replace(arm, choice=choice, status=np.where(choice >= 0, OK, MISSING).astype(np.int8))


def _sources(place: Place, skipped: Mapping[str, str]) -> dict[str, str]:
    """Return the run that each arm is read from as it is, of the strategies that are wanted and can be had."""
    study = place.study
    everywhere = study.reasoning == "all"
    wanted = [strategy for strategy in study.wanted if strategy not in skipped]
    found = {"direct": _direct(place)}
    if "pride" in wanted:
        found[FIRST_TOKEN] = FIRST_TOKEN
    for cell in CELLS:
        if "grid" in wanted or ("two-stage" in wanted and GRID_ARMS[cell] == "two-stage"):
            found[GRID_ARMS[cell]] = two_stage_name(*cell, reasoning=everywhere)
    if "hybrid" in wanted and not ("grid" in wanted and everywhere):  # there it is a cell of the grid
        found["hybrid"] = two_stage_name("visible", "model", reasoning=True)
    if "independent" in wanted:
        found["independent"] = f"{INDEPENDENT}{'-reasoning' if study.reasoning != 'none' else ''}"
    return found


def _arms(reading: _Reading, k: int, reasons: dict[str, str]) -> dict[str, Predictions]:
    """Return the arms there are; ``reasons`` gains why one is not."""
    study = reading.place.study
    read = {name: reading.predictions(run, k) for name, run in reading.sources.items()}
    arms = {name: arm for name, arm in read.items() if arm is not None}
    if "cyclic" in study.wanted:
        arms["cyclic"] = voted(arms["direct"], study.seed)
    if "hybrid" in study.wanted and "hybrid" not in (*read, *reasons):
        reasons["hybrid"] = "Where all are asked to reason it is visible+model of the grid."
    if "pride" in study.wanted and "pride" not in reasons:
        calibration = reading.predictions(CALIBRATION, k)
        if FIRST_TOKEN not in arms:
            reasons["pride"] = "There are no answers of first-token yet."
        elif calibration is None:
            reasons["pride"] = f"There are no calibration items of {k} options, or no answers to them yet."
        else:
            try:
                arms["pride"] = PriDe().fit(calibration).apply(arms[FIRST_TOKEN])
            except ArgumentError as error:
                reasons["pride"] = str(error)
    order = ("direct", "cyclic", FIRST_TOKEN, "pride", *GRID_ARMS.values(), "hybrid", "independent")
    return {name: arms[name] for name in order if name in arms}


def _without(reading: _Reading, k: int, arms: Mapping[str, Predictions]) -> dict[str, Predictions]:
    """Return every arm in which an answer merely stood in a reply, with such answers as unparsed."""
    found: dict[str, Predictions] = {}
    for name, run in reading.sources.items():
        records = reading.records.get(run)
        if name not in arms or records is None or records.found is None or STANDALONE not in list(records.found.words):
            continue
        without = reading.predictions(run, k, (STANDALONE,))
        if without is None or (without.choice == arms[name].choice).all():
            continue
        found[name] = without
        if name == "direct" and "cyclic" in arms:
            found["cyclic"] = voted(without, reading.place.study.seed)
    return found
