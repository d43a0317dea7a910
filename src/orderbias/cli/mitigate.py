"""``orderbias mitigate``: what each remedy does to the answers in a run directory or in files of records."""

from __future__ import annotations

import click


@click.command("mitigate")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option(
    "--operations",
    help='Separated by commas; "a>b" is a composition, name:key=value sets an option. Default: pride, '
    "batch-calibration, reversal-product, each correction followed by it, majority-vote; less what PATH cannot do.",
)
@click.option("--calibration", default=0.05, show_default=True, type=click.FloatRange(0, 1, min_open=True,
              max_open=True), help="Share of the items that priors are estimated on.")  # fmt: skip
@click.option("--ties", default="content", show_default=True, type=click.Choice(["content", "hash"]),
              help="Who wins a tied vote: the lowest content index, or a hash of the item.")  # fmt: skip
@click.option("--transitions", is_flag=True, help="Which items stop and start flipping, and what they settle on.")
@click.option("--shapes", is_flag=True, help="Add preferences of known shape and strength; see what gets through.")
@click.option("--chart", type=click.Path(dir_okay=False), help="Draw --shapes as .svg, .png or .html.")
@click.option("--design", default="auto", show_default=True, help="As for `measure`.")
@click.option("--resamples", default=10_000, show_default=True, type=click.IntRange(0), help="Bootstrap samples.")
@click.option("--level", default=0.95, show_default=True, type=float, help="Confidence level of the intervals.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of calibration and bootstrap.")
@click.option("--cluster", help="Resample clusters whole: `group`, or another column of the records.")
@click.option("--duplicates", default="error", show_default=True, type=click.Choice(["error", "first"]))
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(
    paths: tuple[str, ...],
    operations: str | None,
    calibration: float,
    ties: str,
    transitions: bool,
    shapes: bool,
    chart: str | None,
    design: str,
    resamples: int,
    level: float,
    seed: int,
    cluster: str | None,
    duplicates: str,
    as_json: bool,
) -> int:
    """Compare remedies on each cell of PATH: both factors, placement range, accuracy, stability and cost.

    All are scored on the same held-out items, and differences are paired. PATH is a run directory, or records as JSONL,
    CSV or Parquet; most remedies need the column logprobs, the reversal product a run with --design cyclic+reversals.
    """
    from orderbias.cli._measuring import MeasureOptions
    from orderbias.cli._mitigating import MitigateOptions, mitigate_paths

    reading = MeasureOptions(design, None, resamples, level, seed, cluster, duplicates)
    options = MitigateOptions(reading, operations, calibration, ties, transitions, shapes, chart)
    return mitigate_paths(paths, options, as_json=as_json)
