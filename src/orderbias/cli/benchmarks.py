"""``orderbias benchmarks``: what can be asked by name."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command("benchmarks")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(as_json: bool) -> None:
    """List the benchmarks known by name, with items, options (K), licence and source."""
    from orderbias.benchmarks import listings

    rows = listings()
    if as_json:
        click.echo(json.dumps({"benchmarks": [asdict(row) for row in rows]}, indent=1))
        return
    from orderbias.report.tables import benchmark_table, print_table

    print_table(benchmark_table(rows))
