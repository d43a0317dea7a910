"""How the answers of a run were found, counted over all that it has stored."""

from __future__ import annotations

from collections.abc import Mapping

from orderbias.cli._job import Job
from orderbias.cli._saying import say
from orderbias.strategies.extraction import EXPLICIT, OPENS, STANDALONE
from orderbias.strategies.independent import SCORE, TIE, UNSCORED
from orderbias.strategies.matching import COSINE, EXACT, SUBSTRING

#: Every way in which an answer of a run is found.
WAYS = (OPENS, EXPLICIT, STANDALONE, EXACT, SUBSTRING, COSINE, SCORE, TIE, UNSCORED)


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
