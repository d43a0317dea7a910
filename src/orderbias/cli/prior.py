"""``orderbias prior``: a label prior as a file, fitted on one run and divided out of other records."""

from __future__ import annotations

import click

KINDS = ("pride", "batch-calibration", "log-calibration")


@click.group("prior")
def command() -> None:
    """Fit a model's label prior once, keep it as a file, and divide it out of other records."""


@command.command("fit")
@click.argument("paths", nargs=-1, required=True, metavar="RUN...", type=click.Path())
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False), help="The prior's file (JSON).")
@click.option("--kind", default="pride", show_default=True, type=click.Choice(KINDS), help="The estimator.")
@click.option("--share", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Fit on this share of the "
              "items (those that `mitigate` calibrates on); all by default.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the share's items.")
@click.option("--only", multiple=True, metavar="KEY=VALUE", help="One cell of several: model, benchmark, readout or "
              "n_options.")  # fmt: skip
def fit(paths: tuple[str, ...], out: str, kind: str, share: float | None, seed: int, only: tuple[str, ...]) -> int:
    """Estimate a prior on RUN, a run directory or files of records with log-probabilities. No gold is read."""
    from orderbias.cli._priors import fit_to_file

    return fit_to_file(paths, out, kind, share, seed, only)


@command.command("apply")
@click.argument("prior", type=click.Path(exists=True, dir_okay=False))
@click.argument("paths", nargs=-1, required=True, metavar="RECORDS...", type=click.Path())
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False), help="Corrected records: .parquet, "
              ".jsonl or .csv.")  # fmt: skip
@click.option("--alpha", default=1.0, show_default=True, type=click.FloatRange(0), help="The prior's exponent.")
def apply(prior: str, paths: tuple[str, ...], out: str, alpha: float) -> int:
    """Divide PRIOR out of RECORDS (files or a run directory) and write them with new answers.

    Another number of options is an error, another model or template a warning.
    """
    from orderbias.cli._priors import apply_from_file

    return apply_from_file(prior, paths, out, alpha)
