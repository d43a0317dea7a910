"""``orderbias panel``: many checkpoints on many benchmarks, and what two-factors finds in them."""

from __future__ import annotations

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
