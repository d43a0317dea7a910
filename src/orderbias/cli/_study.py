"""The job of ``orderbias study label-free``: settings, plan, asking, reading back, tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orderbias.cli._running import check_out
from orderbias.cli._saying import say
from orderbias.cli._study_settings import StudySettings, folder, read_study
from orderbias.errors import ArgumentError, RunError
from orderbias.inference.proportions import check_draws, check_level

if TYPE_CHECKING:
    from orderbias.cli._study_asking import PlannedRun
    from orderbias.studies.label_free_cell import RunState, StudyCell

#: Something failed, or is left to ask.
UNFINISHED = 2


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """What ``orderbias study label-free`` was told."""

    study: str
    out: str
    dry_run: bool = False
    report_only: bool = False
    resamples: int = 10_000
    level: float = 0.95
    as_json: bool = False
    csv_path: str | None = None
    markdown: str | None = None


def label_free_study(options: StudyOptions) -> int:
    """Ask what is left of a study, analyse what is there; returns the exit code.

    Raises
    ------
    ArgumentError
        If options do not go together or a setting breaks its rule.
    RunError
        If there is nothing to analyse.
    """
    from orderbias.cli._study_asking import ask_study, plan_study, prepare

    _check(options)
    study = read_study(options.study)
    if not options.report_only:
        prepared = prepare(study, options.out)
        planned = plan_study(prepared)
        say_plan(planned)
        say_caps(study, options.out, planned)
        if options.dry_run:
            if options.as_json:
                click.echo(json.dumps({"plan": [run.as_dict() for run in planned], **total(planned)}, indent=1))
            say("Nothing was asked: --dry-run.")
            return 0
        ask_study(prepared)
    cells, unfinished = _analysed(study, options)
    _show(cells, options)
    for line in unfinished:
        say(line)
    return UNFINISHED if unfinished else 0


def _check(options: StudyOptions) -> None:
    check_out(options.out)
    check_level(options.level)
    check_draws(options.resamples, 0)
    if options.dry_run and options.report_only:
        raise ArgumentError("--dry-run must not go with --report-only: one plans, the other reads what is there.")
    for name, path in (("--csv", options.csv_path), ("--markdown", options.markdown)):
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise ArgumentError(f"{name} must be a file in a directory that is there. Got {path!r}.")


def total(planned: Sequence[PlannedRun]) -> dict[str, float | int | None]:
    """Sum up what is left to ask."""
    costs = [run.cost for run in planned if run.cost is not None]
    return {
        "calls": sum(run.calls for run in planned),
        "tokens": sum(run.tokens for run in planned),
        "reply_tokens": sum(run.reply_tokens for run in planned),
        "cost": sum(costs) if costs else None,
    }


def say_plan(planned: Sequence[PlannedRun]) -> None:
    """Say what is left to ask in each run, and in all."""
    from orderbias.backends._limits import money

    say("Plan:")
    for run in planned:
        done = f", {run.n_stored:,} of {run.n_queries:,} queries stored" if run.n_stored else ""
        if run.takes is not None:
            say(f"  {run.path}: no calls, replies of {Path(run.takes).name}{done}.")
            continue
        cost = "" if run.cost is None else f", costs about {money(run.cost)}"
        say(f"  {run.path}: {run.calls:,} calls, {run.tokens:,} tokens of prompts, at most {run.reply_tokens:,} of "
            f"replies{cost}{done}.")  # fmt: skip
    whole = total(planned)
    cost = "" if whole["cost"] is None else f", costs about {money(whole['cost'])}"
    say(f"  In all: {whole['calls']:,} calls, {whole['tokens']:,} tokens of prompts, at most "
        f"{whole['reply_tokens']:,} of replies{cost}.")  # fmt: skip


def say_caps(study: StudySettings, out: str, planned: Sequence[PlannedRun]) -> None:
    """Say which caps the plan of a model may pass: asking will stop there."""
    from orderbias.backends._limits import money

    for model in study.models:
        place = Path(out) / folder(model.shown)
        whole = total([run for run in planned if Path(run.path).is_relative_to(place)])
        tokens = (whole["tokens"] or 0) + (whole["reply_tokens"] or 0)
        plan = {"max_calls": (whole["calls"], "calls"), "max_tokens_total": (tokens, "tokens"),
                "max_cost": (whole["cost"], "of cost")}  # fmt: skip
        for key, (most, unit) in plan.items():
            cap = getattr(model, key)
            if cap is not None and most is not None and most > cap:
                said = money(most) if key == "max_cost" else f"{most:,}"
                say(f"  {model.shown} may come to {said} {unit}; it is asked no more at {key} = {cap:,}.")


def _analysed(study: StudySettings, options: StudyOptions) -> tuple[list[StudyCell], list[str]]:
    """Return the cells, and a line for everything that is left."""
    from orderbias.cli._study_arms import gather
    from orderbias.cli._study_runs import places
    from orderbias.studies.label_free_cell import analyse

    cells, unfinished, begun = [], [], False
    for place in places(study, options.out):
        found = gather(place)
        begun |= any(run.n_queries for run in found.runs)
        where = f"{place.model.shown} on {place.benchmark.shown}"
        unfinished += [line for run in found.runs if (line := _left(where, run)) is not None]
        for data in found.cells:
            cells.append(analyse(data, level=options.level, resamples=options.resamples, seed=study.seed))
    if not begun:
        first = next(iter(places(study, options.out))).folder
        raise RunError(
            f"{options.out} must hold runs of this study. It has none: {first} was looked for first. Give the --out "
            "directory of this study, or run it without --report-only."
        )
    if not cells:
        unfinished.append("Nothing can be said before all queries of a direct run were asked.")
    return cells, unfinished


def _left(where: str, run: RunState) -> str | None:
    if not run.n_queries:
        return f"{where}: {run.name} has not been run."
    if not run.n_left:
        return None
    return f"{where}: {run.name} has {run.n_left:,} of {run.n_queries:,} queries left or failed."


def _show(cells: Sequence[StudyCell], options: StudyOptions) -> None:
    from orderbias.report.study import study_markdown, study_tables
    from orderbias.report.study_csv import study_csv
    from orderbias.report.tables import print_table

    if options.csv_path is not None:
        _write(options.csv_path, study_csv(cells))
    if options.markdown is not None:
        _write(options.markdown, study_markdown(cells))
    if options.as_json:
        click.echo(json.dumps({"cells": [cell.as_dict() for cell in cells]}, indent=1, allow_nan=False))
        return
    for i, cell in enumerate(cells):
        if i:
            click.echo()
        print_table(study_tables(cell))


def _write(path: str, text: str) -> None:
    from orderbias.cli._whole_files import write_files

    write_files(Path(path).absolute().parent, {Path(path).name: text})
