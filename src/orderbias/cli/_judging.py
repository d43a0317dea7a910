"""From paths to judges on the terminal: the job of ``orderbias judge``."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orderbias.cli._saying import say
from orderbias.errors import ArgumentError

if TYPE_CHECKING:
    from orderbias.judge import Judgments
    from orderbias.judge.judging import JudgeOptions, JudgeReport

UNDECIDED = 2


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
    families = {}
    for text in given:
        name, sign, family = text.partition("=")
        if not (sign and name.strip() and family.strip()):
            raise ArgumentError(f"--family must be NAME=FAMILY, as in --family my-judge=Llama. Got {text!r}.")
        families[name.strip()] = family.strip()
    return families


def judge_paths(command: JudgeCommand) -> int:
    """Read, check and print; returns the exit code."""
    from orderbias.judge.judging import judge_reports

    judgments = _chosen(_read(command), command.judges)
    for notice in dict.fromkeys(notice for one in judgments for notice in one.notices):
        say(notice)
    reports = judge_reports(judgments, command.judging)
    if command.verdicts is not None:
        _write_verdicts(Path(command.verdicts), judgments, reports)
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
    if runs and not files and (command.terms or command.format):
        raise ArgumentError(f"--terms and --format are for files; a run says its own. Leave them out for {runs[0]}.")
    found: list[Judgments] = []
    if runs:
        from orderbias.cli._judged_runs import judgments_of_run
        from orderbias.store import Run

        of_runs = [judgments_of_run(Run.open(path)) for path in runs]
        found += of_runs if command.pairs is None else [with_pairs(one, command.pairs) for one in of_runs]
    if files:
        found += read_judgments(
            files,
            terms=command.terms,  # type: ignore[arg-type]
            format=command.format,
            duplicates=command.duplicates,  # type: ignore[arg-type]
            pairs=None if command.pairs is None else Path(command.pairs),
        )
    return tuple(found)


def _chosen(judgments: tuple[Judgments, ...], names: Sequence[str]) -> tuple[Judgments, ...]:
    known = [one.judge for one in judgments]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ArgumentError(f"--judge must be one of {', '.join(known)}. Got {', '.join(unknown)}.")
    return tuple(one for one in judgments if not names or one.judge in names)


def _write_verdicts(path: Path, judgments: Sequence[Judgments], reports: Sequence[JudgeReport]) -> None:
    """Write ``judge, pair_id, verdict``, an empty verdict where a pair is incomplete; whole or not at all."""
    from orderbias.store.atomic import write_whole

    names = ("A", "B", "tie", "")  # the last is code -1
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(("judge", "pair_id", "verdict"))
    for one, report in zip(judgments, reports, strict=True):
        table.writerows(
            (one.judge, pair_id, names[code])
            for pair_id, code in zip(one.pair_ids, report.verdicts.tolist(), strict=True)
        )
    write_whole(path, stream.getvalue().encode())
    say(f"Wrote the verdicts of {sum(one.n_pairs for one in judgments):,} pairs to {path}.")
