"""From paths to judges on the terminal: the job of ``orderbias judge``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orderbias.cli._saying import say
from orderbias.cli._verdict_file import verdicts_path, write_verdicts
from orderbias.errors import ArgumentError
from orderbias.report.text import short

if TYPE_CHECKING:
    from orderbias.judge import Judgments
    from orderbias.judge.judging import JudgeOptions

UNDECIDED = 2
#: So many judges are named in a message.
MOST_TOLD = 20


@dataclass(frozen=True, slots=True)
class JudgeCommand:
    """What ``orderbias judge`` was told."""

    paths: tuple[str, ...]
    judging: JudgeOptions
    terms: str | None = None
    format: str | None = None
    pairs: str | None = None
    judges: tuple[str, ...] = ()
    duplicates: str = "error"
    verdicts: str | None = None
    as_json: bool = False

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> JudgeCommand:
        """Sort the command's options."""
        from orderbias.judge.judging import JudgeOptions

        given = dict(options)
        names = ("unreadable", "scoring", "level", "resamples", "seed")
        judging = JudgeOptions(
            **{name: given.pop(name) for name in names}, families=_families(given.pop("families")) or None
        )
        return cls(judging=judging, format=given.pop("format_"), **given)


def _families(given: Sequence[str]) -> dict[str, str]:
    families: dict[str, str] = {}
    for text in given:
        name, sign, family = text.partition("=")
        if not (sign and name.strip() and family.strip()):
            raise ArgumentError(f"--family must be NAME=FAMILY, as in --family my-judge=Llama. Got {text!r}.")
        if families.setdefault(name.strip(), family.strip()) != family.strip():
            raise ArgumentError(f"--family must name one family of {name.strip()}. Got two.")
    return families


def judge_paths(command: JudgeCommand) -> int:
    """Read, check and print; returns the exit code."""
    from orderbias.judge.judging import judge_reports

    verdicts = None if command.verdicts is None else verdicts_path(command.verdicts, _inputs(command))
    judgments = _chosen(_read(command), command.judges)
    _check_families(command.judging.families or {}, judgments)
    for notice in dict.fromkeys(notice for one in judgments for notice in one.notices):
        say(notice)
    reports = judge_reports(judgments, command.judging)
    if verdicts is not None:
        write_verdicts(verdicts, command.verdicts or "", judgments, reports)
    if command.as_json:
        click.echo(json.dumps({"judges": [report.as_dict() for report in reports]}, indent=1, allow_nan=False))
    else:
        from orderbias.report.judging import print_reports

        print_reports(reports)
    return UNDECIDED if any(report.conclusion.kind == "undecided" for report in reports) else 0


def _read(command: JudgeCommand) -> tuple[Judgments, ...]:
    from orderbias.judge import read_judgments
    from orderbias.judge.pair_files import with_pairs

    missing = [path for path in command.paths if not path or not Path(path).exists()]
    if missing:
        raise ArgumentError(f"PATH must exist. Got {', '.join(path or repr(path) for path in missing)}.")
    runs = [path for path in command.paths if Path(path).is_dir()]
    files = [Path(path) for path in command.paths if not Path(path).is_dir()]
    for option, given in (
        ("--terms", command.terms), ("--format", command.format), ("--duplicates", command.duplicates != "error")
    ):  # fmt: skip
        if given and not files:
            raise ArgumentError(f"{option} is for files; a run says its own. Leave it out for {runs[0]}.")
    found: list[Judgments] = []
    if runs:
        from orderbias.cli._judged_runs import judgments_of_runs, named_apart

        of_runs = judgments_of_runs(runs)
        found += of_runs if command.pairs is None else [with_pairs(one, command.pairs) for one in of_runs]
    if files:
        found += read_judgments(
            files,
            terms=command.terms,  # type: ignore[arg-type]
            format=command.format,
            duplicates=command.duplicates,  # type: ignore[arg-type]
            pairs=None if command.pairs is None else Path(command.pairs),
        )
    return tuple(named_apart(found, runs) if runs else found)


def _inputs(command: JudgeCommand) -> list[str]:
    return [*command.paths, *([] if command.pairs is None else [command.pairs])]


def _check_families(families: Mapping[str, str], judgments: Sequence[Judgments]) -> None:
    """Raise ArgumentError for a name that nobody has: a slip of the pen would change nothing, unseen."""
    names = {one.judge for one in judgments}
    for one in judgments if families else ():
        for models in (one.model_a, one.model_b):
            names |= set(() if models is None else models.tolist())
    unknown = [name for name in families if name not in names]
    if unknown:
        raise ArgumentError(
            f"--family must name a judge or a model of the data. Got {_told(map(repr, unknown))}. Judges: "
            f"{_told(one.judge for one in judgments)}."
        )


def _told(names: Iterable[str]) -> str:
    every = [short(name) for name in names]
    return ", ".join(every[:MOST_TOLD]) + (f" and {len(every) - MOST_TOLD:,} more" if len(every) > MOST_TOLD else "")


def _chosen(judgments: tuple[Judgments, ...], names: Sequence[str]) -> tuple[Judgments, ...]:
    known = [one.judge for one in judgments]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ArgumentError(f"--judge must be one of {_told(known)}. Got {_told(map(repr, unknown))}.")
    return tuple(one for one in judgments if not names or one.judge in names)
