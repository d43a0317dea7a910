"""Write the generated parts of docs/: the command line reference. `python -m tools.docs`; a test holds them current."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from orderbias.cli import COMMANDS, orderbias

DOCS = Path(__file__).resolve().parents[1] / "docs"


def command_reference() -> str:
    """Return docs/cli.md: the help text of every command."""
    parts = [
        "# Command line",
        "",
        "Made by `make docs` from the commands themselves.",
        "",
        "Exit codes: 0 fine, 1 something is wrong (`verify`), 2 undecided (not enough usable data, or answers with",
        "errors), 3 could not run, 130 interrupted. Tables go to standard output, everything else to standard error;",
        "`--json` prints one JSON value.",
    ]
    for name in COMMANDS:
        command = importlib.import_module(f"orderbias.cli.{name.replace('-', '_')}").command
        parts += _sections(command, f"orderbias {name}")
    return "\n".join(parts) + "\n"


def _sections(command: click.Command, path: str) -> list[str]:
    # With the settings of a real call: a command remembers the help option of the context that asked for it first.
    parent = click.Context(orderbias, info_name="orderbias", **orderbias.context_settings)
    context = click.Context(command, info_name=path.removeprefix("orderbias "), parent=parent, max_content_width=100)
    context.terminal_width = 100
    parts = ["", f"## {path}", "", "```text", command.get_help(context), "```"]
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            parts += _sections(child, f"{path} {name}")
    return parts


def main() -> None:
    """Write the files."""
    (DOCS / "cli.md").write_text(command_reference(), encoding="utf-8")


if __name__ == "__main__":
    main()
