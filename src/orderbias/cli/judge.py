"""``orderbias judge``: what the verdicts of an LLM judge say of the answers, and what of where they stood."""

from __future__ import annotations

from typing import Any

import click

from orderbias.judge.swap import UNREADABLE


@click.command("judge")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option(
    "--terms",
    type=click.Choice(["shown", "pair"]),
    help="Whether verdicts such as A and B name the place an answer was shown at, or a member of the pair.",
)
@click.option("--format", "format_", help="Read PATH as this format instead of recognising it (see docs/judge.md).")
@click.option("--pairs", type=click.Path(dir_okay=False), help="A file with the pairs' texts, models and labels.")
@click.option("--judge", "judges", multiple=True, metavar="NAME", help="Only this judge; may be given again.")
@click.option(
    "--unreadable",
    default="exclude",
    show_default=True,
    type=click.Choice(UNREADABLE),
    help="A verdict that cannot be read: leave its pair out, let its partner stand as consistent, or count it wrong.",
)
@click.option(
    "--scoring",
    default="collapsed",
    show_default=True,
    type=click.Choice(["collapsed", "sum", "average", "both"]),
    help="How a pair is scored against its human label.",
)
@click.option("--family", "families", multiple=True, metavar="NAME=FAMILY", help="The family of a model or a judge.")
@click.option("--duplicates", default="error", show_default=True, type=click.Choice(["error", "first"]))
@click.option("--resamples", default=2_000, show_default=True, type=click.IntRange(0), help="Bootstrap samples.")
@click.option("--level", default=0.95, show_default=True, type=float, help="Confidence level of the intervals.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0))
@click.option("--verdicts", type=click.Path(dir_okay=False), help="Write the verdict of each pair to this CSV file.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(**options: Any) -> int:
    """Check LLM judges by their verdicts on pairs shown in both orders.

    PATH is a run directory of `orderbias judge-run`, or a file of verdicts: a table with the columns pair_id, order and
    verdict, or one of the formats in docs/judge.md. Exit code 2 says that some judge's verdicts decide nothing.
    """
    from orderbias.cli._judging import JudgeCommand, judge_paths

    return judge_paths(JudgeCommand.from_options(options))
