"""How the answers of a run were found, counted over all that it has stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

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


def cut_short(records: Records, settings: Mapping[str, str]) -> int:
    """Count the replies with a letter that had not ended when their tokens were used up."""
    if not settings.get("readout", "").startswith(("direct", "chain")) or records.tokens_out is None:
        return 0
    return int((records.tokens_out >= _most_tokens(settings)).sum())


def _most_tokens(settings: Mapping[str, str]) -> int:
    return int(settings.get("max_tokens", 0)) + int(settings.get("thinking_tokens", 0)) or 1 << 31


def reading_notes(records: Records, settings: Mapping[str, str]) -> tuple[str, ...]:
    """Say what must be known of how the replies of a run were read."""
    notes = []
    if n_beyond := beyond_letters(records, settings):
        notes.append(
            f"{n_beyond:,} replies answer with a letter beyond the first {VALID_LETTERS}, which are all that is read "
            'unless a reply opens with it, as published. Their items are unusable; letters = "all" (--letters all) '
            "reads them."
        )
    if n_cut := cut_short(records, settings):
        notes.append(
            f"{n_cut:,} of {len(records):,} replies had not ended after {_most_tokens(settings):,} tokens "
            "(max_tokens, --max-tokens): an answer that merely stands there may not be the last."
        )
    return tuple(notes)


def found_outcome(job: Job) -> dict[str, Any]:
    """Return what a run of written answers adds to its outcome: how many were found in each way, and what to know."""
    from orderbias.records import found_counts
    from orderbias.store import Run

    if not job.written or not Run.exists(job.out) or not Run.open(job.out).stored():
        return {}
    run = Run.open(job.out)
    records = run.records()
    return {"found": found_counts(records), "notes": list(reading_notes(records, run.manifest.settings.as_dict()))}


def found_line(counts: Mapping[str, int]) -> str:
    """Say it in a line, with what must not be overlooked."""
    total = sum(counts.values())
    parts = ", ".join(f"{way} {n:,} ({n / total:.0%})" for way, n in counts.items())
    n_lots = counts.get(UNSCORED, 0)
    lots = f" {n_lots:,} of them are lots among all options: not one of their replies held a score." if n_lots else ""
    return f"Answers by how they were found: {parts}.{lots}"


def say_found(job: Job) -> None:
    """Say it of a run that was just asked."""
    outcome = found_outcome(job)
    for line in (found_line(outcome["found"]), *outcome["notes"]) if outcome else ():
        say(f"      {line}")
