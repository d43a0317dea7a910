"""A prior fitted on a run, and divided out of records: the jobs of ``orderbias prior``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orderbias.cli._measuring import MeasureOptions, cell_name, read_cells
from orderbias.cli._saying import say
from orderbias.errors import ArgumentError

if TYPE_CHECKING:
    from orderbias.predictions import Predictions
    from orderbias.records import Records

#: What `--only` may name.
CELL_KEYS = ("model", "benchmark", "readout", "n_options")


def fit_to_file(paths: Sequence[str], out: str, kind: str, share: float | None, seed: int, only: Sequence[str]) -> int:
    """Fit a prior on the one cell of the paths and write it."""
    from orderbias.mitigation.carrying import fit_prior, write_prior
    from orderbias.report.mitigation import priors_lines

    found = read_cells(paths, MeasureOptions())
    for notice in found.notices:
        say(notice)
    cell = _one_cell(found.predictions, only)
    prior = fit_prior(cell, kind, share, seed)
    write_prior(out, prior)
    say(f"{cell_name(cell)}: {kind} prior from {prior.n_items:,} items, written to {out}.")
    for line in priors_lines({kind: prior.values}):
        click.echo(line)
    return 0


def apply_from_file(prior_path: str, paths: Sequence[str], out: str, alpha: float) -> int:
    """Divide a prior's file out of records and write them anew."""
    from orderbias.mitigation.carrying import corrected_records, read_prior
    from orderbias.records import concatenate, write_records

    if Path(out).resolve() in {Path(path).resolve() for path in paths}:
        raise ArgumentError(f"-o must be another file than the records that are read. Got {out}.")
    prior = read_prior(prior_path)
    for cell in read_cells(paths, MeasureOptions()).predictions:
        for warning in prior.mismatches(cell):
            say(f"Warning: {cell_name(cell)}: {warning}")
    records = concatenate(_records(paths))
    corrected = corrected_records(records, prior, alpha)
    write_records(out, corrected)
    changed = int(((corrected.place != records.place) & (records.place >= 0)).sum())
    say(f"{len(records):,} records written to {out}; {changed:,} answers are others than before.")
    return 0


def _records(paths: Sequence[str]) -> list[Records]:
    from orderbias.records import read_records
    from orderbias.store import Run

    found = [Run.open(path).records() for path in paths if Path(path).is_dir()]
    files = [path for path in paths if not Path(path).is_dir()]
    return [*found, read_records(files)] if files else found


def _one_cell(cells: Sequence[Predictions], only: Sequence[str]) -> Predictions:
    wanted = dict(_setting(text) for text in only)
    kept = [c for c in cells if all(str(getattr(c, key)) == value for key, value in wanted.items())]
    if len(kept) != 1:
        listed = "; ".join(cell_name(c) for c in (kept or cells))
        raise ArgumentError(
            f"A prior is fitted on one cell. Got {len(kept)}: choose with --only KEY=VALUE ({', '.join(CELL_KEYS)}). "
            f"There are: {listed}."
        )
    return kept[0]


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or key not in CELL_KEYS:
        raise ArgumentError(f"--only must be KEY=VALUE with KEY one of {', '.join(CELL_KEYS)}. Got {text!r}.")
    return key, value
