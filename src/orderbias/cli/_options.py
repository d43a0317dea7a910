"""Options that every command which asks a model has: how it is loaded and addressed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

MODEL_HELP = (
    "local:NAME (hub id, folder or .gguf), openai:NAME (any server with OpenAI's API), demo (give --chat), or "
    "simulated."
)

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
    click.option("--base-url", metavar="URL", help="openai: the server, up to /v1. Default: OPENAI_BASE_URL."),
    click.option("--key-env", metavar="VARIABLE", help="openai: what holds the key. Default: OPENAI_API_KEY."),
    click.option(
        "--endpoint",
        default="auto",
        show_default=True,
        type=click.Choice(["auto", "chat", "completions"]),
        help="openai: auto is chat where the server has it.",
    ),
    click.option(
        "--letter-tokens",
        default=16,
        show_default=True,
        type=click.IntRange(1),
        help="openai: tokens of a written letter, thinking included.",
    ),
    click.option(
        "--concurrency", default=8, show_default=True, type=click.IntRange(1), help="openai: calls at a time."
    ),
    click.option("--rpm", type=click.IntRange(1), help="openai: calls a minute."),
    click.option("--tpm", type=click.IntRange(1), help="openai: tokens a minute."),
    click.option(
        "--timeout",
        default=120.0,
        show_default=True,
        type=click.FloatRange(0, min_open=True),
        help="openai: seconds of one try.",
    ),
    click.option(
        "--retries", default=5, show_default=True, type=click.IntRange(0), help="openai: tries after the first."
    ),
    click.option("--max-calls", type=click.IntRange(0), help="openai: stop before more calls, tries included."),
    click.option("--max-tokens-total", type=click.IntRange(0), help="openai: stop before more tokens."),
    click.option("--max-cost", type=click.FloatRange(0), help="openai: stop before more money; needs --prices."),
    click.option(
        "--prices",
        type=click.Path(exists=True, dir_okay=False),
        help="openai: JSON or TOML, model -> input and output, prices of a million tokens.",
    ),
    click.option("--extra-body", metavar="JSON", help="openai: fields that every call has besides."),
)


#: How an answer is got of a model behind an API.
API_READOUTS = ("auto", "first-token", "one-letter")

api_readout_option = click.option(
    "--readout",
    default="auto",
    show_default=True,
    type=click.Choice(API_READOUTS),
    help="openai: log-probabilities of the first token, or a written letter; auto takes what there is.",
)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of ``ModelOptions``, and ``--system``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
