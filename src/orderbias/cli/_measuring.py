"""From paths to measured cells on the terminal: the job of ``orderbias measure`` and of the demo."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orderbias.cli._saying import say
from orderbias.errors import ArgumentError

if TYPE_CHECKING:
    from orderbias.cells import Cells
    from orderbias.measurement import Measurement
    from orderbias.noise import Noise
    from orderbias.predictions import Predictions
    from orderbias.records import Records
    from orderbias.store import Run

UNDECIDED = 2


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """What ``orderbias measure`` was told."""

    design: str = "auto"
    measures: tuple[str, ...] | None = None
    resamples: int = 10_000
    level: float = 0.95
    seed: int = 0
    cluster: str | None = None
    duplicates: str = "error"
    share: float | None = None
    without: tuple[str, ...] = ()


def measure_paths(paths: Sequence[str], options: MeasureOptions, *, as_json: bool) -> int:
    """Read, measure and print; returns the exit code."""
    return show(read_cells(paths, options), options, as_json=as_json)


def read_cells(paths: Sequence[str], options: MeasureOptions) -> Cells:
    """Read run directories (one at a time, each with its own manifest) or files of records (together)."""
    from orderbias.cells import Cells, cells
    from orderbias.records import read_records
    from orderbias.store import Run

    _check_paths(paths, options)
    found: list[Cells] = []
    files = [path for path in paths if not Path(path).is_dir()]
    for path in paths:
        if Path(path).is_dir():
            found.append(_cells_of_run(Run.open(path), options.without))
    if files:
        group = None if options.cluster in (None, "group") else options.cluster
        records = read_records(files, duplicates=options.duplicates, group=group)
        found.append(cells(_without(records, options.without), design=options.design))
    return Cells(
        tuple(p for f in found for p in f.predictions),
        tuple(dict.fromkeys(n for f in found for n in f.notices)),
        tuple(r for f in found for r in f.repeats),
    )


def _check_paths(paths: Sequence[str], options: MeasureOptions) -> None:
    missing = [path for path in paths if not path or not Path(path).exists()]
    if missing:
        raise ArgumentError(f"PATH must exist. Got {', '.join(path or repr(path) for path in missing)}.")
    places = [Path(path).resolve() for path in paths]
    again = [path for i, path in enumerate(paths) if places[i] in places[:i]]
    if again:
        raise ArgumentError(
            f"Each PATH must be named once, or its items would count twice. Got {', '.join(again)} again."
        )
    if options.cluster is not None and not options.cluster.strip():
        raise ArgumentError(f"--cluster must be `group` or the name of a column. Got {options.cluster!r}.")
    runs = [path for path in paths if Path(path).is_dir()]
    if runs and options.design != "auto":
        raise ArgumentError(f"--design is for files of records; a run says its own. Leave it out for {runs[0]}.")
    if runs and options.cluster not in (None, "group"):
        raise ArgumentError(f"--cluster must be `group` for a run, which has no other column. Got {options.cluster!r}.")


def _without(records: Records, ways: tuple[str, ...]) -> Records:
    """Leave out the answers found in some ways, and say how many there were."""
    from orderbias.cli._found import WAYS
    from orderbias.records import found_counts, without_found

    if not ways:
        return records
    counts = found_counts(records)
    # A way that occurs in other runs may occur in no answer of this one; any other word is a slip.
    dropped = without_found(records, [way for way in ways if way in counts or way not in WAYS])
    n = sum(counts.get(way, 0) for way in ways)
    say(f"Counted as unparsed by --without-found: {n:,} of {len(records):,} answers ({', '.join(ways)}).")
    return dropped


def _cells_of_run(run: Run, without: tuple[str, ...] = ()) -> Cells:
    """Read a run, and say how its answers were found."""
    from orderbias.cli._found import WAYS, found_line, noise_notes, reading_notes
    from orderbias.records import found_counts
    from orderbias.run_cells import cells_of

    settings, records = run.manifest.settings.as_dict(), run.records()
    found = cells_of(run, _without(records, without))
    counts = found_counts(records)
    said = [found_line(counts)] if set(counts) & set(WAYS) else []
    return replace(found, notices=(*found.notices, *said, *reading_notes(records, settings), *noise_notes(settings)))


def show(found: Cells, options: MeasureOptions, *, as_json: bool) -> int:
    """Measure and print cells; a cell without a usable item is named and makes the outcome undecided."""
    from orderbias.cells import cell_filter
    from orderbias.measurement import measure_cells

    for notice in found.notices:
        say(notice)
    kept = found.predictions if options.share is None else cell_filter(found.predictions, options.share)
    for cell in found.predictions:
        if not any(cell is k for k in kept):
            say(f"Left out by --filter: {cell_name(cell)}, {int(cell.usable.sum()):,} usable items.")
    usable = [cell for cell in kept if cell.usable.any()]
    for cell in kept:
        if not cell.usable.any():
            say(f"No usable item: {cell_name(cell)}, {_statuses(cell)}.")
    measurements = measure_cells(
        usable,
        resamples=options.resamples,
        seed=options.seed,
        level=options.level,
        cluster=None if options.cluster is None else "group",
        measures=options.measures,
    )
    noises = [noise_beside(found, cell, options) for cell in usable]
    shown = [show_drawn(*row) for row in zip(usable, measurements, noises, strict=True)]
    if as_json:
        as_dicts = [with_noise(m.as_dict(), noise) for m, noise in zip(shown, noises, strict=True)]
        click.echo(json.dumps({"cells": as_dicts}, indent=1, allow_nan=False))
    else:
        from orderbias.report.noise import noise_table
        from orderbias.report.tables import measurement_table, print_table

        for i, (cell, measurement, noise) in enumerate(zip(usable, shown, noises, strict=True)):
            if i:
                click.echo()
            print_table(measurement_table(measurement, cell))
            if noise is not None:
                click.echo()
                print_table(noise_table(noise, options.level))
    return 0 if usable and len(usable) == len(kept) else UNDECIDED


def noise_beside(found: Cells, cell: Predictions, options: MeasureOptions) -> Noise | None:
    """Return the noise table of one of the cells, where it was asked again."""
    from orderbias.noise import noise_of

    repeats = next(r for p, r in zip(found.predictions, found.repeats, strict=True) if p is cell)
    cluster = None if options.cluster is None else cell.group
    return noise_of(cell, repeats, cluster=cluster, level=options.level, resamples=options.resamples, seed=options.seed)


def with_noise(plain: dict[str, Any], noise: Noise | None) -> dict[str, Any]:
    """Put the noise table beside a cell's other values."""
    return {**plain, "noise": None if noise is None else noise.as_dict()}


def show_drawn(cell: Predictions, measurement: Measurement, noise: Noise | None) -> Measurement:
    """Withhold flip rates of drawn answers where nothing says how often drawing alone would change them."""
    from orderbias.noise import drawn, withheld

    return withheld(measurement) if noise is None and drawn(cell.source) else measurement


def cell_name(cell: Predictions) -> str:
    return f"{cell.model} on {cell.benchmark} ({cell.readout}, K = {cell.n_options})"


def _statuses(cell: Predictions) -> str:
    from orderbias.predictions import status_counts

    return ", ".join(f"{n:,} answers {status}" for status, n in status_counts(cell).items())
