"""How the answers of a run were found, counted over all that it has stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from orderbias.cli._job import Job
from orderbias.cli._saying import say
from orderbias.strategies.extraction import EXPLICIT, OPENS, STANDALONE, VALID_LETTERS, Fallback, LetterRule
from orderbias.strategies.independent import SCORE, TIE, UNSCORED
from orderbias.strategies.matching import COSINE, EXACT, SUBSTRING
from orderbias.strategies.two_stage import stages_of

if TYPE_CHECKING:
    from orderbias.records import Record

#: Every way in which an answer of a run is found.
WAYS = (OPENS, EXPLICIT, STANDALONE, EXACT, SUBSTRING, COSINE, SCORE, TIE, UNSCORED)


def reading_notes(records: Iterable[Record], settings: Mapping[str, str]) -> tuple[str, ...]:
    """Say what must be known of how the replies of a run were read; of those that a letter was read from, or matched.

    Parameters
    ----------
    records
        Of the run, or some of them.
    settings
        Of the run.
    """
    readout = settings.get("readout", "")
    if not readout.startswith(("direct", "chain", "two-stage")):
        return ()
    some = [r for r in records if r.status != "error"]
    stages = [stages_of(r) for r in some] if readout.startswith("two-stage") else []
    letters = [(two.second or "") if two else "" for two in stages] if stages else [r.text or "" for r in some]
    unread = [(text, len(r.positions)) for text, r in zip(letters, some, strict=True) if r.status == "unparsed"]
    notes, of = [], f"of {len(some):,} replies"
    if n_beyond := sum(_beyond(text, k, settings) for text, k in unread):
        notes.append(
            f"{n_beyond:,} {of} answer with a letter beyond the first {VALID_LETTERS}, which are all that is read, as "
            "published (but for the letter that a direct answer opens with). Their items are unusable; "
            'letters = "all" (--letters all) reads them.'
        )
    most = int(settings.get("max_tokens", 0)) + int(settings.get("thinking_tokens", 0))
    if stages:
        n_cut = sum(two is not None and not two.first.finished for two in stages)
        said = f"{n_cut:,} {of} of the first stage were cut off after {most:,} tokens"
    else:
        n_cut = sum(r.tokens_out is not None and r.tokens_out >= most for r in some)
        said = f"{n_cut:,} {of} used all the {most:,} tokens that they may have, and may have been cut off"
    return (*notes, f"{said} (max_tokens and thinking_tokens).") if n_cut and most else tuple(notes)


def _beyond(reply: str, k: int, settings: Mapping[str, str]) -> bool:
    """Whether an unread reply answers with a letter that the rule does not take as valid."""
    if settings.get("letters") != str(VALID_LETTERS) or k <= VALID_LETTERS:
        return False
    opening, fallback = not settings.get("readout", "").startswith("chain"), settings.get("fallback", "always")
    rule = LetterRule(opening, None, cast(Fallback, fallback))
    # Whether a reply had ended is not stored: where that matters, an announced letter counts alone.
    place = rule.read(reply, k, finished=fallback != "finished").place
    return place is not None and place >= VALID_LETTERS


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
