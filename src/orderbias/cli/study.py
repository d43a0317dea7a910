"""``orderbias study``: questions asked of many models, benchmarks and strategies at once."""

from __future__ import annotations

import click


@click.group("study")
def command() -> None:
    """Answer a whole question with one command: what to ask, of whom, is in a file (docs/study.md)."""


@command.command("label-free", short_help="Does removing the order's influence buy accuracy?")
@click.argument("study", type=click.Path(exists=True, dir_okay=False), metavar="STUDY.toml")
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Directory of all runs; made or resumed.")
@click.option("--dry-run", is_flag=True, help="Print what every run would ask and cost, and stop.")
@click.option("--report-only", is_flag=True, help="Read what is there; load no model.")
@click.option("--resamples", default=10_000, show_default=True, type=click.IntRange(0), help="Bootstrap samples.")
@click.option("--level", default=0.95, show_default=True, type=float, help="Confidence level of the intervals.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--csv", "csv_path", type=click.Path(dir_okay=False), help="Write the strategies' rows to this file.")
@click.option("--markdown", type=click.Path(dir_okay=False), help="Write all tables to this file.")
def label_free(
    study: str,
    out: str,
    dry_run: bool,
    report_only: bool,
    resamples: int,
    level: float,
    as_json: bool,
    csv_path: str | None,
    markdown: str | None,
) -> int:
    """Does removing the order's influence buy accuracy? Models x benchmarks x strategies of STUDY.toml.

    What is answered already is not asked again. Exit code 2 says that an answer failed or is left.
    """
    from orderbias.cli._study import StudyOptions, label_free_study

    return label_free_study(
        StudyOptions(study, out, dry_run, report_only, resamples, level, as_json, csv_path, markdown)
    )
