"""``orderbias panel``: many checkpoints on many benchmarks, and what two-factors finds in them."""

from __future__ import annotations

from typing import Any

import click


@click.group("panel")
def command() -> None:
    """Run a panel of checkpoints on benchmarks, pass it on, analyse it (docs/panel.md)."""


@command.command("run")
@click.argument("panel", type=click.Path(exists=True, dir_okay=False), metavar="PANEL.toml")
@click.option(
    "--out", required=True, metavar="FOLDER", help="A directory, s3://..., gs://..., hdfs://... or file://..."
)
@click.option("--ray", metavar="ADDRESS", help="Spread the models over a Ray cluster: its address, auto, or local.")
@click.option("--dry-run", is_flag=True, help="Print what every cell would ask and cost, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print how far each cell is as JSON.")
def run(panel: str, out: str, ray: str | None, dry_run: bool, as_json: bool) -> int:
    """Ask every model of PANEL.toml every benchmark in every sweep; resumable.

    What is answered already is not asked again. Exit code 2 says that an answer failed or is left.
    """
    from orderbias.cli._panel import PanelOptions, run_panel

    return run_panel(PanelOptions(panel, out, dry_run, ray, as_json))


@command.command("status")
@click.argument("folder")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def status(folder: str, as_json: bool) -> int:
    """Say what is done and what is left of a panel. Exit code 2: something is left."""
    from orderbias.cli._panel import panel_status

    return panel_status(folder, as_json=as_json)


@command.command("export")
@click.argument("folder")
@click.argument("out")
def export(folder: str, out: str) -> int:
    """Write the answers of FOLDER to OUT without items and replies: what a report needs, to be passed on.

    Exit code 2 says that cells are not finished; they are no part of it.
    """
    from orderbias.cli._panel_export import export_panel

    return export_panel(folder, out)


@command.command("report")
@click.argument("folder")
@click.option("--only", multiple=True, metavar="NAME", help="One analysis; may be given several times.")
@click.option("--resamples", default=10_000, show_default=True, type=click.IntRange(100), help="Bootstrap draws.")
@click.option("--level", default=0.95, show_default=True, type=float, help="Confidence level of the intervals.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of every draw.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--csv", metavar="DIR", type=click.Path(file_okay=False), help="Write each table as CSV.")
@click.option("--latex", metavar="DIR", type=click.Path(file_okay=False), help="Write each table as LaTeX.")
@click.option("--figures", metavar="DIR", type=click.Path(file_okay=False), help="Write figures as SVG, PNG and PDF.")
@click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Write one page with everything.")
def report(folder: str, **options: Any) -> int:
    """Analyse the finished cells of FOLDER, of runs or exported; load no model.

    Exit code 2 says that FOLDER supports none of the analyses.
    """
    from orderbias.cli._panel_report import ReportOptions, report_panel

    return report_panel(ReportOptions(folder, **options))
