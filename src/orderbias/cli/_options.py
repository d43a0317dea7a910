"""Options that every command which asks a model has: how it is loaded and addressed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

MODEL_HELP = "local:NAME (hub id, folder or .gguf), demo (give --chat), or simulated."

_OPTIONS = (
    click.option("--system", help="A system prompt; needs --chat."),
    click.option("--chat", is_flag=True, help="Put prompts through the model's chat template."),
    click.option(
        "--label-forms",
        default="best",
        show_default=True,
        type=click.Choice(["best", "sum"]),
        help="Score one token form of a label, or add 'A' and ' A'.",
    ),
    click.option("--revision", help="Commit or tag of a hub model."),
    click.option(
        "--dtype", default="float32", show_default=True, type=click.Choice(["float32", "bfloat16", "float16", "auto"])
    ),
    click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1 ..."),
    click.option(
        "--engine",
        default="auto",
        show_default=True,
        type=click.Choice(["auto", "tree", "plain"]),
        help="Share prefixes, or ask whole prompts in batches.",
    ),
    click.option(
        "--token-budget", default=2048, show_default=True, type=click.IntRange(1), help="Tokens of one batch."
    ),
    click.option("--trust-remote-code", is_flag=True, help="Let code that comes with a hub model run."),
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of ``ModelOptions``, and ``--system``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
