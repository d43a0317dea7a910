"""``orderbias run``: ask a model every item under every ordering, into a directory that survives kills."""

from __future__ import annotations

from typing import Any

import click

from orderbias.cli._options import MODEL_HELP, model_options
from orderbias.cli._writing_options import writing_options

DESIGNS = (
    "canonical, cyclic, cyclic+reversals, all, latin:SEED, random:M:SEED, random-shared:M:SEED, gold-balanced:SEED"
)


@click.command("run")
@click.argument("source")
@click.option("--model", required=True, help=MODEL_HELP)
@click.option("--out", required=True, type=click.Path(file_okay=False), help="The run directory; made or resumed.")
@click.option("--design", default="cyclic", show_default=True, help=f"One of {DESIGNS}.")
@click.option(
    "--shots", default=0, show_default=True, type=click.IntRange(0), help="Solved examples before the question."
)
@click.option("--shots-from", help="File with the solved examples, for a SOURCE that has none.")
@click.option(
    "--template", type=click.Path(exists=True, dir_okay=False), help="A Jinja file in place of the usual prompt."
)
@click.option("--labels", default="letters", show_default=True, help="letters, lower, digits or parentheses.")
@model_options
@writing_options
@click.option(
    "--repeats",
    default=1,
    show_default=True,
    type=click.IntRange(1, 100),
    help="Ask every query N times, to tell noise from the order's effect (docs/measures.md).",
)
@click.option("--data-dir", type=click.Path(exists=True, file_okay=False), help="Local copies of the benchmarks.")
@click.option("--split", help="Split of a hub dataset.")
@click.option("--field", "fields", multiple=True, metavar="OURS=THEIRS", help="Field map: gold=answer, options=a,b,c.")
@click.option("--gold-base", type=click.Choice(["0", "1"]), help="Whether golds given as numbers start at 0 or 1.")
@click.option(
    "--self-referring",
    default="keep",
    show_default=True,
    type=click.Choice(["keep", "pin", "drop"]),
    help="Options such as 'none of the above': leave them, keep them in place (such items are asked, but are no part "
    "of a balanced design's measures), or drop the item.",
)
@click.option(
    "--duplicates",
    default="error",
    show_default=True,
    type=click.Choice(["error", "first"]),
    help="Items with the texts or the id of another: refuse, or keep the first.",
)
@click.option("--limit", type=click.IntRange(1), help="N items only: a file's first, a benchmark's evenly spread.")
@click.option("--dry-run", is_flag=True, help="Print the plan and the first prompt, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(**options: Any) -> int:
    """Ask a model every item of SOURCE under every ordering of a design.

    SOURCE is a benchmark's name (see `orderbias benchmarks`), a JSONL, CSV or Parquet file, or hf:NAME. What is
    answered already is not asked again; a directory made under other settings is refused. Files of items, designs,
    templates and solved examples: docs/items.md.
    """
    from orderbias.cli._running import RunOptions, run_to_directory

    return run_to_directory(RunOptions.from_options(options))
