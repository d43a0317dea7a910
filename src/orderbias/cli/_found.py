"""How the answers of a run were found, counted over all that it has stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from orderbias.cli._job import Job
from orderbias.cli._saying import say
from orderbias.strategies.extraction import EXPLICIT, OPENS, STANDALONE, VALID_LETTERS, Fallback, LetterRule
from orderbias.strategies.independent import SCORE, TIE, UNSCORED
from orderbias.strategies.matching import COSINE, EXACT, SUBSTRING
from orderbias.strategies.two_stage import Stages

if TYPE_CHECKING:
    from orderbias.records import Record, Records

#: Every way in which an answer of a run is found.
WAYS = (OPENS, EXPLICIT, STANDALONE, EXACT, SUBSTRING, COSINE, SCORE, TIE, UNSCORED)


def beyond_letters(records: Records, settings: Mapping[str, str]) -> int:
    """Count the replies without an answer that have one in a letter beyond those that the run's rule takes as valid."""
    if settings.get("letters") != str(VALID_LETTERS):
        return 0
    opening, fallback = not settings.get("readout", "").startswith("chain"), settings.get("fallback", "always")
    rule = LetterRule(opening, None, cast(Fallback, fallback))
    n_beyond = 0
    for r in records:
        if r.status == "unparsed" and len(r.positions) > VALID_LETTERS:
            place = rule.read(_letter_reply(r), len(r.positions)).place
            n_beyond += place is not None and place >= VALID_LETTERS
    return n_beyond


def _letter_reply(record: Record) -> str:
    if not record.text or not record.readout.startswith("two-stage"):
        return record.text or ""
    return Stages.split(record.text).second or ""


def beyond_line(n: int) -> str:
    """Say it; empty where there is none."""
    if not n:
        return ""
    return (
        f"{n:,} replies answer with a letter beyond the first {VALID_LETTERS}, which are all that is read unless a "
        'reply opens with it, as published. Their items are unusable; letters = "all" (--letters all) reads them.'
    )


def found_outcome(job: Job) -> dict[str, dict[str, int]]:
    """Return what a run of written answers adds to its outcome: how many were found in each way."""
    from orderbias.records import found_counts
    from orderbias.store import Run

    if not job.written or not Run.exists(job.out) or not Run.open(job.out).stored():
        return {}
    return {"found": found_counts(Run.open(job.out).records())}


def found_line(counts: Mapping[str, int]) -> str:
    """Say it in a line, with what must not be overlooked."""
    total = sum(counts.values())
    parts = ", ".join(f"{way} {n:,} ({n / total:.0%})" for way, n in counts.items())
    n_lots = counts.get(UNSCORED, 0)
    lots = f" {n_lots:,} of them are lots among all options: not one of their replies held a score." if n_lots else ""
    return f"Answers by how they were found: {parts}.{lots}"


def say_found(job: Job) -> None:
    """Say it of a run that was just asked."""
    for counts in found_outcome(job).values():
        say(f"      {found_line(counts)}")
