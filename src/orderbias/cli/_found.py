"""How the answers of a run were found, counted over all that it has stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from orderbias.cli._job import Job
from orderbias.cli._saying import say
from orderbias.records.values import RECORD_STATUSES
from orderbias.strategies.extraction import EXPLICIT, OPENS, STANDALONE, VALID_LETTERS, Fallback, LetterRule
from orderbias.strategies.independent import SCORE, TIE, UNSCORED
from orderbias.strategies.matching import COSINE, EXACT, SUBSTRING
from orderbias.strategies.two_stage import stages_of

if TYPE_CHECKING:
    from orderbias.records import Records

#: Every way in which an answer of a run is found.
WAYS = (OPENS, EXPLICIT, STANDALONE, EXACT, SUBSTRING, COSINE, SCORE, TIE, UNSCORED)


def reading_notes(records: Records, settings: Mapping[str, str]) -> tuple[str, ...]:
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
    replied = records.status != RECORD_STATUSES.index("error")
    notes, of = [], f"of {int(replied.sum()):,} replies"
    if n_beyond := _n_beyond(records, settings):
        notes.append(
            f"{n_beyond:,} {of} answer with a letter beyond the first {VALID_LETTERS}, which are all that is read, as "
            "published (but for the letter that a direct answer opens with). Their items are unusable; "
            'letters = "all" (--letters all) reads them.'
        )
    most = int(settings.get("max_tokens", 0)) + int(settings.get("thinking_tokens", 0))
    if readout.startswith("two-stage"):
        stages = map(stages_of, records)
        n_cut = sum(two is not None and not two.first.finished for two in stages)
        said = f"{n_cut:,} {of} of the first stage were cut off after {most:,} tokens"
    else:
        n_cut = 0 if records.tokens_out is None else int((replied & (records.tokens_out >= most)).sum())
        said = f"{n_cut:,} {of} used all the {most:,} tokens that they may have, and may have been cut off"
    return (*notes, f"{said} (max_tokens and thinking_tokens).") if n_cut and most else tuple(notes)


def _n_beyond(records: Records, settings: Mapping[str, str]) -> int:
    """Count the unread replies that answer with a letter which the rule does not take as valid."""
    if settings.get("letters") != str(VALID_LETTERS):
        return 0
    readout, fallback = settings.get("readout", ""), settings.get("fallback", "always")
    rule = LetterRule(not readout.startswith("chain"), None, cast(Fallback, fallback))
    unread = (records.status == RECORD_STATUSES.index("unparsed")) & (records.n_options > VALID_LETTERS)
    n_beyond = 0
    for r in map(records.row, np.flatnonzero(unread).tolist()):
        two = stages_of(r) if readout.startswith("two-stage") else None
        reply = (r.text if two is None else two.second) or ""
        # Whether a reply had ended is not stored: where that matters, an announced letter counts alone.
        place = rule.read(reply, len(r.positions), finished=fallback != "finished").place
        n_beyond += place is not None and place >= VALID_LETTERS
    return n_beyond


def noise_notes(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Say what must be known of the flips of a model behind an API that was asked each thing once."""
    if "server" not in settings or settings.get("repeats", "1") != "1":
        return ()
    return (
        "A model behind an API may answer differently when it is asked the same again, and was not: flips hold that "
        "noise as well as the order's effect. Repeats tell the two apart.",
    )


def found_outcome(job: Job) -> dict[str, Any]:
    """Return what a run of written answers adds to its outcome: how many were found in each way, and what to know."""
    from orderbias.records import found_counts
    from orderbias.store import Run

    if not job.written or not Run.exists(job.out):
        return {}
    run = Run.open(job.out)
    if not run.stored():
        return {}
    records = run.records()
    return {"found": found_counts(records), "notes": list(reading_notes(records, run.manifest.settings.as_dict()))}


def found_line(counts: Mapping[str, int]) -> str:
    """Say it in a line, with what must not be overlooked."""
    total = sum(counts.values())
    parts = ", ".join(f"{way} {n:,} ({n / total:.0%})" for way, n in counts.items())
    n_lots = counts.get(UNSCORED, 0)
    lots = f" {n_lots:,} of them are lots among all options: not one of their replies held a score." if n_lots else ""
    return f"Answers by how they were found: {parts}.{lots}"


def say_found(outcome: Mapping[str, Any]) -> None:
    """Say it of a run that was just asked."""
    for line in (found_line(outcome["found"]), *outcome["notes"]) if outcome else ():
        say(f"      {line}")
