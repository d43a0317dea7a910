"""``orderbias verify``: whether a run directory is whole."""

from __future__ import annotations

import json

import click


@click.command("verify")
@click.argument("path", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(path: str, as_json: bool) -> int:
    """Re-derive the hashes and counts of the run directory PATH. Exit code 1 says that something is wrong."""
    from orderbias.report.text import visible
    from orderbias.store import Run

    found = Run.open(path).verify()
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=1))
    else:
        for line in found.lines():
            click.echo(visible(line))
    return 1 if found.faults else 0
