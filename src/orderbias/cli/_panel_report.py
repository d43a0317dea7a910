"""The job of ``orderbias panel report``: read a panel, run the analyses, show and write what they find."""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from orderbias import __version__
from orderbias.cli._panel_reading import read_panel
from orderbias.cli._saying import say
from orderbias.cli._whole_files import write_files
from orderbias.errors import ArgumentError
from orderbias.inference.proportions import check_draws
from orderbias.signature import Signature, text_hash
from orderbias.store.mirror import without_keys
from orderbias.studies.findings import Finding
from orderbias.studies.panel import Panel, Settings
from orderbias.studies.panel.values import Analysis, check_settings

#: Every analysis was skipped.
NOTHING_FOUND = 2
#: Cells left out that the terminal names.
MOST_LINES = 20


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What ``orderbias panel report`` was told."""

    folder: str
    only: tuple[str, ...] = ()
    as_json: bool = False
    csv: str | None = None
    latex: str | None = None
    figures: str | None = None
    html: str | None = None
    resamples: int = 10_000
    level: float = 0.95
    seed: int = 0


def report_panel(options: ReportOptions) -> int:
    """Analyse a panel; returns the exit code.

    Raises
    ------
    ArgumentError
        If an option breaks its rule.
    RunError
        If there is no panel to analyse.
    """
    settings = Settings(options.resamples, options.level, options.seed)
    check_settings(settings)
    check_draws(options.resamples, options.seed)
    analyses = wanted(options.only)
    _check_places(options)
    panel = read_panel(options.folder, settings)
    say(f"{len(panel.cells):,} cells of {len({c.checkpoint.name for c in panel.cells}):,} checkpoints.")
    for line in panel.left_out[:MOST_LINES]:
        say(f"Left out: {line}")
    if len(panel.left_out) > MOST_LINES:
        say(f"... and {len(panel.left_out) - MOST_LINES:,} more: --json or --html.")
    findings = analysed(panel, analyses)
    _write(findings, panel, options)
    _show(findings, panel, options)
    return NOTHING_FOUND if all(finding.skipped is not None for finding in findings) else 0


def wanted(only: Sequence[str]) -> dict[str, Analysis]:
    """Return the analyses that are wanted, in their order.

    Raises
    ------
    ArgumentError
        If a name is unknown.
    """
    from orderbias.studies.panel.analyses import ANALYSES

    unknown = [name for name in only if name not in ANALYSES]
    if unknown:
        raise ArgumentError(f"--only must be one of {', '.join(ANALYSES)}. Got {', '.join(unknown)}.")
    return {name: analysis for name, analysis in ANALYSES.items() if not only or name in only}


def analysed(panel: Panel, analyses: Mapping[str, Analysis]) -> list[Finding]:
    """Run analyses one after another, and say how it goes."""
    findings = []
    for i, (name, analysis) in enumerate(analyses.items(), 1):
        started = time.monotonic()
        finding = _whole(analysis(panel))
        findings.append(finding)
        how = "skipped" if finding.skipped is not None else f"{time.monotonic() - started:.1f} s"
        say(f"[{i}/{len(analyses)}] {name}: {how}")
    return findings


def _whole(finding: Finding) -> Finding:
    """Return a finding of which every part was skipped as skipped."""
    if finding.skipped is not None or finding.tables or finding.sentences or not finding.parts_skipped:
        return finding
    return replace(finding, skipped=" ".join(finding.parts_skipped), parts_skipped=())


def signature(panel: Panel) -> Signature:
    """Return what makes the numbers of a report reproducible."""
    cells = sorted(f"{c.name} {c.readout} {c.predictions.source}" for c in panel.cells)
    s = panel.settings
    return Signature.of(
        panel=text_hash(cells), cells=len(cells), resamples=s.resamples, level=s.level, seed=s.seed,
        version=__version__,
    )  # fmt: skip


def facts(panel: Panel) -> dict[str, str]:
    """Return what stands above a report."""
    benchmarks = {cell.benchmark for cell in panel.cells}
    return {
        "checkpoints": f"{len({cell.checkpoint.name for cell in panel.cells}):,}",
        "benchmarks": f"{len(benchmarks):,}",
        "readouts": ", ".join(dict.fromkeys(cell.readout for cell in panel.cells)),
        "cells": f"{len(panel.cells):,}",
        "items": f"{sum(cell.n_items for cell in panel.cells):,} in all cells together",
        "signature": str(signature(panel)),
    }


def _check_places(options: ReportOptions) -> None:
    """Refuse before anything is computed what could not be written after."""
    for name, given in (("--csv", options.csv), ("--latex", options.latex), ("--figures", options.figures)):
        if given is not None and Path(given).exists() and not Path(given).is_dir():
            raise ArgumentError(f"{name} must be a directory. Got the file {given!r}.")
    if options.html is not None and not Path(options.html).absolute().parent.is_dir():
        raise ArgumentError(f"--html must be a file in a directory that is there. Got {options.html!r}.")


def _write(findings: Sequence[Finding], panel: Panel, options: ReportOptions) -> None:
    from orderbias.report.finding_files import csv_files, latex_files

    files: list[tuple[str | None, Mapping[str, str | bytes]]] = []
    if options.csv is not None:
        files.append((options.csv, csv_files(findings)))
    if options.latex is not None:
        files.append((options.latex, latex_files(findings)))
    if options.figures is not None:
        from orderbias.report.panel_figures import figure_files, figures

        files.append((options.figures, figure_files(figures(findings))))
    if options.html is not None:
        from orderbias.report.findings import skipped_line
        from orderbias.report.panel_page import PageHead, panel_page

        title = without_keys(options.folder).rstrip("/").rpartition("/")[2] or "Panel"
        shown = {"analyses": skipped_line(findings), **facts(panel)}
        head = PageHead(title, tuple(shown.items()), panel.left_out)
        page = Path(options.html)
        write_files(page.parent, {page.name: panel_page(findings, head)})
        say(f"Wrote {options.html}")
    for directory, texts in files:
        write_files(Path(str(directory)), texts)
        say(f"Wrote {len(texts):,} files to {directory}")


def _show(findings: Sequence[Finding], panel: Panel, options: ReportOptions) -> None:
    from orderbias.report.findings import WIDTH, finding_tables, findings_json, skipped_line
    from orderbias.report.tables import print_table, signature_line

    if options.as_json:
        head = {"panel": facts(panel), "left_out": list(panel.left_out), "signature": signature(panel).as_dict()}
        click.echo(json.dumps({**head, **findings_json(findings)}, indent=1, allow_nan=False))
        return
    for finding in findings:
        print_table(finding_tables(finding))
    click.echo(textwrap.fill(skipped_line(findings), WIDTH, break_on_hyphens=False))
    print_table(signature_line(signature(panel)))
