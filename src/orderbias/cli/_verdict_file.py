"""The file of collapsed verdicts that ``orderbias judge --verdicts`` writes; computes none of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orderbias.cli._saying import say
from orderbias.errors import ArgumentError

if TYPE_CHECKING:
    from orderbias.judge import Judgments
    from orderbias.judge.judging import JudgeReport

#: What is here is no file, even where it leads to one: standard output, say.
_SYSTEM = ("/dev", "/proc")
#: Names of the verdicts by code; the last is -1, a pair without both.
_NAMES = ("A", "B", "tie", "")


def verdicts_path(name: str, inputs: Sequence[str]) -> Path:
    """Return where verdicts may be written, before anything is read.

    Raises
    ------
    ArgumentError
        If it is no place for a file: none of a name, no directory to be in, a device, or what is read itself.
    """
    try:
        return _path(name, inputs)
    except OSError as error:  # a name that is too long, a folder that may not be looked into
        raise _refused(name, error) from error


def _refused(name: str, error: OSError) -> ArgumentError:
    return ArgumentError(f"--verdicts could not be written to {name}: {error.strerror or error}. Name another file.")


def _path(name: str, inputs: Sequence[str]) -> Path:
    rule = "--verdicts must name a new or an ordinary file"
    if not name.strip():
        raise ArgumentError(f"{rule}. Got {name!r}.")
    path = Path(name).resolve()  # where a link leads is written, the link stays
    system = any(Path(name).absolute().is_relative_to(root) for root in _SYSTEM)
    if system or (path.exists() and not path.is_file()):
        raise ArgumentError(f"{rule}. {name} is something else.")
    if not path.parent.is_dir():
        raise ArgumentError(f"{rule} in a directory that is there. {Path(name).parent} is none.")
    for given in inputs:
        read = Path(given).resolve()
        if path == read or (read.is_dir() and path.is_relative_to(read)) or _same(path, read):
            raise ArgumentError(f"{rule}, apart from what is read. {name} would overwrite a part of {given}.")
    return path


def _same(path: Path, read: Path) -> bool:
    """Whether two names are of one file (a hard link)."""
    return path.exists() and read.exists() and path.samefile(read)


def write_verdicts(path: Path, name: str, judgments: Sequence[Judgments], reports: Sequence[JudgeReport]) -> None:
    """Write ``judge, pair_id, verdict``, an empty verdict where a pair is incomplete; whole or not at all.

    ``name`` is what the file was called.

    Raises
    ------
    ArgumentError
        If the file cannot be written.
    """
    from orderbias.store.atomic import write_whole

    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(("judge", "pair_id", "verdict"))
    for one, report in zip(judgments, reports, strict=True):
        table.writerows(
            (one.judge, pair_id, _NAMES[code])
            for pair_id, code in zip(one.pair_ids, report.verdicts.tolist(), strict=True)
        )
    try:
        write_whole(path, stream.getvalue().encode())
    except OSError as error:
        raise _refused(name, error) from error
    n_pairs = sum(one.n_pairs for one in judgments)
    say(f"Wrote the verdicts of {n_pairs:,} pair{'s' * (n_pairs != 1)} to {name}.")
