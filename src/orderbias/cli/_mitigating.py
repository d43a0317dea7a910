"""From paths to compared operations on the terminal: the job of ``orderbias mitigate``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from orderbias.cli._measuring import UNDECIDED, MeasureOptions, cell_name, noise_beside, read_cells, with_noise
from orderbias.cli._saying import say
from orderbias.errors import ArgumentError, OrderbiasError

if TYPE_CHECKING:
    from orderbias.mitigation import Mitigation
    from orderbias.noise import Noise
    from orderbias.predictions import Predictions

COULD_NOT_RUN = 3


@dataclass(frozen=True, slots=True)
class MitigateOptions:
    """What ``orderbias mitigate`` was told."""

    reading: MeasureOptions
    operations: str | None = None
    calibration: float = 0.05
    ties: str = "content"
    transitions: bool = False
    shapes: bool = False
    chart: str | None = None


def mitigate_paths(paths: Sequence[str], options: MitigateOptions, *, as_json: bool) -> int:
    """Read, compare and print; returns the exit code.

    A cell that cannot be compared is named and the others are printed: exit 2 if it has too few items, 3 if an
    operation that was asked for cannot be applied to it.
    """
    if options.chart is not None:
        from orderbias.report.charts import check_suffix

        check_suffix(options.chart)
    operations = _operations(options)
    found = read_cells(paths, options.reading)
    for notice in found.notices:
        say(notice)
    results: list[Mitigation] = []
    noises: list[Noise | None] = []
    code = 0
    for cell in found.predictions:
        if int(cell.usable.sum()) < 2:
            say(f"Too few usable items, one to calibrate and one to evaluate: {cell_name(cell)}.")
            code = max(code, UNDECIDED)
            continue
        try:
            noise = noise_beside(found, cell, options.reading)
            results.append(_compare(cell, operations, options, repeated=noise is not None))
            noises.append(noise)
        except OrderbiasError as error:
            say(f"Error: {cell_name(cell)}: {error}")
            code = COULD_NOT_RUN
    _print(results, noises, options.reading.level, as_json=as_json)
    if options.chart is not None and results:
        from orderbias.report.charts import save_chart, shapes_chart

        save_chart(shapes_chart(results), options.chart)
        say(f"Chart written to {options.chart}.")
    return code


def _compare(cell: Predictions, operations: str | None, options: MitigateOptions, *, repeated: bool) -> Mitigation:
    """Compare operations; without repeats, flip rates of drawn answers are withheld."""
    from orderbias.mitigation import mitigate
    from orderbias.mitigation.withholding import without_flips
    from orderbias.noise import drawn

    reading = options.reading
    found = mitigate(
        cell,
        operations,
        leave_out=options.operations is None,
        resamples=reading.resamples,
        seed=reading.seed,
        level=reading.level,
        calibration_share=options.calibration,
        cluster=None if reading.cluster is None else "group",
        transitions=options.transitions,
        shapes=options.shapes or options.chart is not None,
    )
    return without_flips(found) if drawn(cell.source) and not repeated else found


def _operations(options: MitigateOptions) -> str | None:
    """Return the operations asked for, ``None`` for the default set; ``--ties`` is the rule of every vote in it."""
    from orderbias.operations import DEFAULT_OPERATIONS

    if options.ties == "content":
        return options.operations
    text = options.operations or DEFAULT_OPERATIONS
    if "majority-vote" not in text:
        raise ArgumentError(f"--ties is the rule of majority-vote, which must be compared. Got {text!r}.")
    return re.sub(r"majority-vote(?!:)", f"majority-vote:ties={options.ties}", text)


def _print(results: Sequence[Mitigation], noises: Sequence[Noise | None], level: float, *, as_json: bool) -> None:
    for result in results:
        where = f"{result.benchmark}, K = {result.n_options}: " if len(results) > 1 else ""
        for notice in result.notices:
            say(where + notice)
    if as_json:
        plain = [with_noise(m.as_dict(), noise) for m, noise in zip(results, noises, strict=True)]
        click.echo(json.dumps({"cells": plain}, indent=1, allow_nan=False))
        return
    from orderbias.report.mitigation import mitigation_table
    from orderbias.report.noise import noise_table
    from orderbias.report.tables import print_table

    for result, noise in zip(results, noises, strict=True):
        print_table(mitigation_table(result))
        if noise is not None:
            click.echo()
            print_table(noise_table(noise, level))
