"""What a command says beside its result: on standard error, with nothing in it that a terminal would obey."""

from __future__ import annotations

import sys

import click

from orderbias.report.text import visible


def say(text: object) -> None:
    """Print a message on standard error."""
    click.echo(visible(str(text)), err=True)


def prepare_streams() -> None:
    """Let no character end a command: what an output cannot encode is written out (a file name of odd bytes, say)."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
