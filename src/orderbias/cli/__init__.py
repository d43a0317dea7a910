"""The command line: one file a command; parse, call, print. It computes nothing itself.

Exit codes: 0 fine or gate passed, 1 gate failed, 2 undecided, 3 could not run, 130 interrupted.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Sequence

import click

from orderbias import __version__
from orderbias.cli._saying import prepare_streams, say
from orderbias.errors import OrderbiasError

COULD_NOT_RUN = 3
INTERRUPTED = 130

#: Command name -> its one line of help. The module is imported only when the command is called.
COMMANDS = {
    "demo": "Measure a small real model on the embedded benchmark (or --simulated, in two seconds).",
    "run": "Ask a model every item under every ordering of a design; resumable.",
    "measure": "Print the two factors and all that belongs beside them, from a run or a file of answers.",
    "mitigate": "Compare the known remedies: what each changes, what it leaves, what it costs.",
    "prior": "Fit a label prior on a run, keep it as a file, divide it out of other records.",
    "judge": "Check LLM judges by their verdicts on pairs shown in both orders.",
    "judge-run": "Ask a judge about pairs in both orders, into a run directory; resumable.",
    "study": "Answer a whole question: models x benchmarks x strategies from one file; resumable.",
    "panel": "Many checkpoints on many benchmarks: run, resume, pass on, analyse.",
    "verify": "Check that a run directory is whole and says what it should.",
    "benchmarks": "List the benchmarks known by name.",
}


class _Lazy(click.Group):
    """A group that imports a command's module when it is called, so that --help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"orderbias.cli.{cmd_name.replace('-', '_')}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="orderbias")
def orderbias() -> None:
    """How much of a multiple-choice score comes from the order in which the options were shown.

    Start with `orderbias demo --simulated`, then `orderbias run` (you have a model) or `orderbias measure` (you have
    a file of answers).
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(args))


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; an expected error is one message on standard error."""
    prepare_streams()
    try:
        return _run(args)
    except OSError:  # standard error is full or closed: nobody can be told why
        return COULD_NOT_RUN


def _run(args: Sequence[str] | None) -> int:
    try:
        result = orderbias.main(args, prog_name="orderbias", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.Abort:  # click has ended the line of the ^C
        say("Interrupted.")
        return INTERRUPTED
    except KeyboardInterrupt:
        say("\nInterrupted.")
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return COULD_NOT_RUN
    except BrokenPipeError:
        # The reader of our output has left (`| head`); closing stderr keeps Python from complaining on exit.
        sys.stderr.close()
        return 0
    except OrderbiasError as error:
        say(f"Error: {error}")
        return COULD_NOT_RUN
    except OSError as error:
        say(f"Error: {error.strerror or error}: {error.filename or ''}".rstrip(": "))
        return COULD_NOT_RUN
    except MemoryError:
        say("Error: There is not enough memory for this. Give less data at a time, or a smaller number.")
        return COULD_NOT_RUN
    except Exception:  # a fault of this program must not look like a gate that failed
        say(traceback.format_exc())
        say("Error: This is a fault of orderbias itself, not of what it was given. Please report the lines above.")
        return COULD_NOT_RUN
