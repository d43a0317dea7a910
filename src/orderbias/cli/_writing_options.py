"""Options of ``orderbias run``: how an answer is got, and how it is written and read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

READOUTS = ("auto", "first-token", "one-letter", "direct", "chain-of-thought", "two-stage", "independent")

_OPTIONS = (
    click.option(
        "--readout",
        default="auto",
        show_default=True,
        type=click.Choice(READOUTS),
        help="How an answer is got (docs/strategies.md). auto: the probabilities of the labels, or a written letter "
        "where a server shows none.",
    ),
    click.option(
        "--reasoning", is_flag=True, help="direct, two-stage, independent: ask to think step by step before the answer."
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(1),
        help="Of a written reply. Default: 32 of one that is to be short, 500 of one that reasons or answers freely, "
        "4000 of a reasoned score.",
    ),
    click.option(
        "--thinking-tokens",
        default=0,
        show_default=True,
        type=click.IntRange(0),
        help="Allowed besides, to a model that thinks before it replies.",
    ),
    click.option(
        "--temperature", default=0.0, show_default=True, type=click.FloatRange(0, 100), help="Of written replies."
    ),
    click.option(
        "--seed", default=0, show_default=True, type=click.IntRange(0), help="Of drawn replies and of tied scores."
    ),
    click.option(
        "--letters",
        default="four",
        show_default=True,
        type=click.Choice(["four", "all"]),
        help="Labels that count in a reply: the first four, as published, or all.",
    ),
    click.option(
        "--fallback",
        default="always",
        show_default=True,
        type=click.Choice(["always", "finished", "never"]),
        help="When a letter counts that stands in a reply unannounced: always, as published; in replies that were not "
        "cut off; never.",
    ),
    click.option(
        "--stage-one",
        default="hidden",
        show_default=True,
        type=click.Choice(["hidden", "visible"]),
        help="two-stage: whether the free answer is written without the options or with them.",
    ),
    click.option(
        "--stage-two",
        default="model",
        show_default=True,
        type=click.Choice(["model", "match"]),
        help="two-stage: whether the model picks the option, or likeness of meaning does.",
    ),
    click.option(
        "--stage-one-from",
        type=click.Path(exists=True, file_okay=False),
        help="two-stage: a run whose free answers are taken.",
    ),
    click.option(
        "--embedder",
        default="sentence-transformers/all-MiniLM-L6-v2",
        show_default=True,
        metavar="NAME|FOLDER",
        help="match: a model of sentence-transformers.",
    ),
    click.option(
        "--min-characters", default=4, show_default=True, type=click.IntRange(1), help="match: of a common part."
    ),
    click.option(
        "--min-cosine", default=0.30, show_default=True, type=click.FloatRange(-1, 1), help="match: of the nearest."
    ),
)


def writing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--readout`` and the options of ``WritingOptions``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
