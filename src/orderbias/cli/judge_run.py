"""``orderbias judge-run``: have a model judge pairs of answers in both orders, into a directory that survives kills."""

from __future__ import annotations

from typing import Any

import click

from orderbias.cli._options import MODEL_HELP, api_readout_option, model_options


@click.command("judge-run")
@click.argument("pairs")
@click.option("--model", required=True, help=MODEL_HELP)
@click.option("--out", required=True, type=click.Path(file_okay=False), help="The run directory; made or resumed.")
@click.option(
    "--template",
    default="letter",
    show_default=True,
    metavar="NAME|FILE",
    help="letter (one letter, by the probabilities of the labels), reasoning (reasons first, then a verdict in double "
    "brackets), rubric (a letter, with rules against length and order), or a Jinja file.",
)
@click.option(
    "--verdict",
    type=click.Choice(["letter", "written"]),
    help="How a FILE is answered: by the probabilities of the letters, or by a reply with [[A]], [[B]] or [[C]].",
)
@click.option("--no-tie", is_flag=True, help="Offer no tie.")
@click.option(
    "--sample-swap",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="SHARE",
    help="Show each pair in one order drawn at random, and a sample of this share in both.",
)
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(1, 100), help="Ask every call N times.")
@click.option(
    "--temperature",
    default=0.0,
    show_default=True,
    help="Above 0, verdicts are drawn: the letter from its probabilities, the reply token by token.",
)
@click.option(
    "--max-tokens", type=click.IntRange(1, 1_000_000), help="Where written verdicts are cut off.  [default: 512]"
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Decides orders and draws.")
@model_options
@api_readout_option
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="OURS=THEIRS",
    help="Column of question, answer_a, answer_b, human, id or group: human=winner; nothing after = for none.",
)
@click.option(
    "--duplicates",
    default="error",
    show_default=True,
    type=click.Choice(["error", "first"]),
    help="Pairs with the texts or the id of another: refuse, or keep the first.",
)
@click.option("--name", help="Name of the pairs in the records; the file's by default.")
@click.option("--limit", type=click.IntRange(1), help="The first N pairs only.")
@click.option("--dry-run", is_flag=True, help="Print the plan and the first prompt, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(**options: Any) -> int:
    """Have a model judge every pair of PAIRS, each with either answer shown first.

    PAIRS is a JSONL, JSON, CSV or Parquet file with a question, two answers and, if known, which of them people
    preferred. Answers are shown between lines that stand in neither, and a verdict is read from the judge's reply
    alone. What is judged already is not judged again; a directory made under other settings is refused.
    """
    from orderbias.cli._judging_run import JudgeRunOptions, judge_to_directory

    return judge_to_directory(JudgeRunOptions.from_options(options))
