"""``orderbias measure``: the measures of every cell in a run directory or in files of records."""

from __future__ import annotations

import click


@click.command("measure")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option(
    "--design",
    default="auto",
    show_default=True,
    help="What files of records were asked under: auto, shared, per-item, or a design by name.",
)
@click.option("--measures", help="Only these, separated by commas: their keys in the JSON.")
@click.option("--resamples", default=10_000, show_default=True, type=click.IntRange(0), help="Bootstrap samples.")
@click.option("--level", default=0.95, show_default=True, type=float, help="Confidence level of the intervals.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0))
@click.option("--cluster", help="Resample clusters whole: `group`, or another column of the records.")
@click.option(
    "--duplicates",
    default="error",
    show_default=True,
    type=click.Choice(["error", "first"]),
    help="The same query twice in a file: refuse, or keep the first.",
)
@click.option(
    "--filter",
    "share",
    type=click.FloatRange(0, 1),
    is_flag=False,
    flag_value=0.9,
    help="Leave out cells with less than this share of their benchmark's modal usable items (0.9).",
)
@click.option(
    "--without-found",
    "without",
    metavar="WAYS",
    help="Count answers found in these ways as unparsed, to see what hangs on them: standalone, say.",
)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(
    paths: tuple[str, ...],
    design: str,
    measures: str | None,
    resamples: int,
    level: float,
    seed: int,
    cluster: str | None,
    duplicates: str,
    share: float | None,
    without: str | None,
    as_json: bool,
) -> int:
    """Measure each cell (model x benchmark x readout x number of options) in PATH.

    PATH is a run directory, or records as JSONL, CSV or Parquet (docs/records.md). Exit code 2 says that a cell has no
    usable item.
    """
    from orderbias.cli._measuring import MeasureOptions, measure_paths

    names = None if measures is None else tuple(name.strip() for name in measures.split(","))
    ways = () if without is None else tuple(way.strip() for way in without.split(","))
    options = MeasureOptions(design, names, resamples, level, seed, cluster, duplicates, share, ways)
    return measure_paths(paths, options, as_json=as_json)
