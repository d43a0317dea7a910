"""How the answers of a run were found, counted over all that it has stored."""

from __future__ import annotations

from orderbias.cli._job import Job
from orderbias.cli._saying import say


def found_outcome(job: Job) -> dict[str, dict[str, int]]:
    """Return what a run of written answers adds to its outcome: how many were found in each way."""
    from orderbias.records import found_counts
    from orderbias.store import Run

    if not job.written or not Run.exists(job.out):
        return {}
    return {"found": found_counts(Run.open(job.out).records())}


def say_found(job: Job) -> None:
    """Say it in a line."""
    for counts in found_outcome(job).values():
        total = sum(counts.values())
        parts = ", ".join(f"{way} {n:,} ({n / total:.0%})" for way, n in counts.items())
        say(f"      Replies of the run, by how their answer was found: {parts}.")
