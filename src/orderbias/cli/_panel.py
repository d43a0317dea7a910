"""The job of ``orderbias panel run`` and ``status``: settings, plan, asking, a table of what is left."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from orderbias.cli._panel_asking import ask_model
from orderbias.cli._panel_cells import Prepared, prepare
from orderbias.cli._panel_file import NAME, PanelFile
from orderbias.cli._panel_folder import CellState, PanelFolder
from orderbias.cli._panel_settings import read_panel_settings
from orderbias.cli._running import check_out
from orderbias.cli._saying import say
from orderbias.cli._study_asking import planned_job
from orderbias.cli._study_models import SharedModel
from orderbias.errors import OrderbiasError, RunError

#: Something failed, or is left to ask.
UNFINISHED = 2


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """What ``orderbias panel run`` was told."""

    panel: str
    out: str
    dry_run: bool = False
    ray: str | None = None
    as_json: bool = False


def run_panel(options: PanelOptions) -> int:
    """Ask what is left of a panel; returns the exit code.

    Raises
    ------
    ArgumentError
        If a setting breaks its rule, or is not that with which the folder was begun.
    RunError
        If the folder cannot be written to.
    """
    check_out(options.out)
    settings = read_panel_settings(options.panel)
    if options.ray is not None:
        from orderbias.cli._panel_ray import ask_with_ray, need_ray

        need_ray()
    folder = PanelFolder.of(options.out, in_place=options.ray is None)
    described = PanelFile.of(settings)
    earlier = folder.panel()
    if earlier is not None:
        described.check(earlier, f"{folder.shown}/{NAME}")
    prepared = prepare(settings)
    if options.dry_run:
        return _dry_run(prepared, folder, options)
    with _one_driver(folder):
        folder.files.write(NAME, described.to_json())
        _show(folder.states(described), as_json=False, to_say=True)
        if options.ray is not None:
            faults = ask_with_ray(prepared, folder, options.ray)
        else:
            faults = [fault for model in settings.models for fault in ask_model(prepared, model.shown, folder)]
    return _told(folder.states(described), options.as_json, faults)


def panel_status(folder: str, *, as_json: bool) -> int:
    """Say how far a panel is; returns the exit code."""
    opened = PanelFolder.of(folder)
    panel = opened.known_panel()
    if panel.exported is not None:
        raise RunError(f"{opened.shown} must be a folder of runs. It was exported, and nothing of it can be left.")
    return _told(opened.states(panel), as_json, ())


@contextmanager
def _one_driver(folder: PanelFolder) -> Iterator[None]:
    """Let one command at a time fill a folder of this machine; cells elsewhere are claimed one by one."""
    from pathlib import Path

    from orderbias.store.atomic import Lock

    if "://" in folder.shown:
        yield
        return
    root = Path(folder.shown)
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = Lock(root / "lock")
        lock.acquire()
    except OSError as error:
        raise RunError(f"{root} could not be made or opened: {error.strerror or error}.") from error
    try:
        yield
    finally:
        lock.release()


def _dry_run(prepared: Prepared, folder: PanelFolder, options: PanelOptions) -> int:
    from orderbias.cli._study import say_plan, total

    planned, faults = [], []
    for model in prepared.settings.models:
        shared = SharedModel()
        for place in prepared.places(model):
            try:
                with folder.read(place) as path:
                    planned.append(planned_job(prepared.job(place, str(path)), shared, shown=place.path))
            except OrderbiasError as error:
                faults.append(f"{place.named} cannot be planned: {error}")
                break
    if options.as_json:
        click.echo(json.dumps({"plan": [run.as_dict() for run in planned], **total(planned), "faults": faults}))
    say_plan(planned)
    for fault in faults:
        say(fault)
    say("Nothing was asked: --dry-run.")
    return UNFINISHED if faults else 0


def _told(states: Sequence[CellState], as_json: bool, faults: Sequence[str]) -> int:
    """Print how far a panel is; returns the exit code."""
    _show(states, as_json=as_json, to_say=False, faults=faults)
    unfinished = [line for state in states if (line := state.left()) is not None]
    for line in (*unfinished[:20], *faults):
        say(line)
    if len(unfinished) > 20:
        say(f"... and {len(unfinished) - 20:,} more cells.")
    if not unfinished and not faults:
        say(f"All {len(states):,} cells are done.")
    return UNFINISHED if unfinished or faults else 0


def _show(states: Sequence[CellState], *, as_json: bool, to_say: bool, faults: Sequence[str] = ()) -> None:
    from rich.console import Console

    from orderbias.report.tables import print_table

    if as_json:
        click.echo(json.dumps({"cells": [state.as_dict() for state in states], "faults": list(faults)}))
        return
    for table in _tables(states):
        if to_say:
            Console(stderr=True, highlight=False, markup=False, emoji=False).print(table)
        else:
            print_table(table)


def _tables(states: Sequence[CellState]) -> Iterator[Any]:
    """Draw a table a sweep: models down, benchmarks across."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from orderbias.report.text import visible

    for sweep in dict.fromkeys(state.place.sweep for state in states):
        mine = {(s.place.model, s.place.benchmark): s for s in states if s.place.sweep == sweep}
        benchmarks = list(dict.fromkeys(benchmark for _, benchmark in mine))
        table = Table(box=None, pad_edge=False, padding=(0, 1))
        table.add_column("", no_wrap=True)
        for benchmark in benchmarks:
            table.add_column(Text(visible(benchmark)), justify="right", overflow="fold")
        for model in dict.fromkeys(model for model, _ in mine):
            table.add_row(Text(visible(model)), *(Text(_entry(mine.get((model, b)))) for b in benchmarks))
        yield Group(Text(visible(sweep), style="bold"), table)


def _entry(state: CellState | None) -> str:
    """Say in a few characters how far a cell is: a whole panel stands in 100 columns."""
    if state is None:
        return ""
    if state.fault is not None:
        return "damaged"
    if not state.n_answered:
        return "-"
    if state.whole:
        return "failed" if state.n_failed else "done"
    return f"{100 * state.n_answered // (state.n_queries or 1)}%"
