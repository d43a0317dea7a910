"""Two stages: a free answer, options hidden or visible; then the option that it means, by a model or by likeness.

The 2 x 2 grid of label-free. Hidden options leave the first stage nothing of the order, matching by likeness leaves the
second nothing of it. Visible options, reasoning and a model in the second stage are the hybrid that it names missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from orderbias.backends import Reply, Request, TextReply
from orderbias.errors import ArgumentError, DataError
from orderbias.instructions import hidden, matching, visible
from orderbias.items import Item
from orderbias.planning import QueryKey
from orderbias.prompts import Prompter
from orderbias.records import Record
from orderbias.strategies import Answer, Asking, ask_text
from orderbias.strategies.extraction import OPENING_FIRST, LetterRule, after_thinking, declines
from orderbias.strategies.matching import TEXT_ONLY, Match, Matcher
from orderbias.strategies.writing import IN_FULL, SHORT, Writing, read_letter


@dataclass(frozen=True, slots=True)
class FirstReply:
    """What was written in the first stage, and whether it ended by itself; ``refused`` says why nothing was."""

    text: str
    finished: bool = True
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Stages:
    """What the text of a record holds: both replies, and the cosines by content where they were computed."""

    first: FirstReply
    second: str | None = None
    cosines: tuple[float, ...] | None = None

    def joined(self) -> str:
        """Return the text of a record."""
        held = {"first": self.first.text, "first_finished": self.first.finished}
        more = {"second": self.second, "cosines": self.cosines}
        return json.dumps({**held, **{k: v for k, v in more.items() if v is not None}}, ensure_ascii=False)

    @classmethod
    def split(cls, text: str) -> Stages:
        """Take the text of a record apart, exactly.

        Raises
        ------
        DataError
            If it is not the text of a two-stage record.

        Examples
        --------
        >>> stages = Stages(FirstReply("heat"), " B")
        >>> Stages.split(stages.joined()) == stages
        True
        """
        try:
            held = json.loads(text)
            first = FirstReply(held["first"], held["first_finished"])
            cosines = held.get("cosines")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"The text of a two-stage record must be its stages as JSON. Got {text[:60]!r}.") from error
        return cls(first, held.get("second"), None if cosines is None else tuple(cosines))


def stages_of(record: Record) -> Stages | None:
    """Return the stages of a two-stage record; None where the first has no reply (an error, or a server's refusal).

    Raises
    ------
    DataError
        If a record that has an answer is not of two stages.
    """
    if record.text is None or record.status == "error":
        return None
    try:
        return Stages.split(record.text)
    except DataError:
        if record.status == "refused":
            return None
        raise


def first_replies(records: Iterable[Record]) -> dict[QueryKey, FirstReply]:
    """Return the first-stage replies of an earlier run, for another second stage to be given the same ones.

    Records without one (an error in the first stage) are passed over.

    Raises
    ------
    DataError
        If a record that has an answer is not of two stages.
    """
    found = {}
    for r in records:
        stages = stages_of(r)
        if stages is not None:
            found[r.item_id, r.positions, r.repeat] = stages.first
        elif r.status == "refused":
            found[r.item_id, r.positions, r.repeat] = FirstReply("", refused=r.text)
    return found


@dataclass(frozen=True, slots=True)
class TwoStage:
    """Have a free answer written, then find the option that it means.

    Parameters
    ----------
    first
        Whether the options are ``hidden`` or ``visible`` in the first stage.
    second
        Whether a ``model`` picks the option among the labelled ones, or a ``match`` is made by ``matcher``.
    reasoning
        Whether the first stage is asked to think step by step.
    writing
        How the first stage is written; the second is a letter, of ``SHORT`` tokens.
    rule
        How the letter of the second stage is read.
    matcher
        How contents are found; give it an embedder, or its last step is left out.
    given
        First-stage replies of an earlier run (:func:`first_replies`), in place of asking.

    Raises
    ------
    ArgumentError
        If ``first`` or ``second`` is unknown.

    Examples
    --------
    >>> from orderbias.prompts import Template
    >>> asking = TwoStage(second="match")(Item("1", "2 + 2?", ("three", "four")), (1, 0), Template(), ())
    >>> "four" in next(asking).prompt
    False
    >>> try:
    ...     asking.send(TextReply("It is four."))
    ... except StopIteration as done:
    ...     print(done.value.place, done.value.found)
    0 substring
    """

    first: Literal["hidden", "visible"] = "hidden"
    second: Literal["model", "match"] = "model"
    reasoning: bool = False
    writing: Writing = IN_FULL
    rule: LetterRule = OPENING_FIRST
    matcher: Matcher = TEXT_ONLY
    given: Mapping[QueryKey, FirstReply] | None = None

    def __post_init__(self) -> None:
        for name, known in (("first", ("hidden", "visible")), ("second", ("model", "match"))):
            if getattr(self, name) not in known:
                raise ArgumentError(f"`{name}` must be {' or '.join(known)}. Got {getattr(self, name)!r}.")

    def __call__(
        self, item: Item, positions: Sequence[int], template: Prompter, shots: Sequence[Item], repeat: int = 0
    ) -> Asking:
        """Return the generator that asks."""
        one = yield from self._first(item, positions, template, repeat)
        if one.text is None:
            return Answer(None, status=one.status, text=one.reason, tokens_in=one.tokens_in)
        said = after_thinking(one.text).strip()
        stages = Stages(FirstReply(one.text, one.finished))
        if not said:
            return _unread(stages, one)
        if self.second == "match":
            return self._matched(item, positions, said, stages, one)
        shown = np.argsort(positions).tolist()
        prompt = matching(item, template.labels_for(len(item.options)), shown, said)
        request = self.writing.request(item, positions, prompt, template.system, repeat, max_tokens=SHORT)
        two = yield from ask_text(request)
        spent = replace(two, tokens_in=one.tokens_in + two.tokens_in, tokens_out=one.tokens_out + two.tokens_out)
        answer = read_letter(spent, len(item.options), self.rule)
        return answer if two.text is None else replace(answer, text=replace(stages, second=two.text).joined())

    def _first(
        self, item: Item, positions: Sequence[int], template: Prompter, repeat: int
    ) -> Generator[Request, Reply, TextReply]:
        """Ask for the free answer, or take the one that is given."""
        if self.given is not None:
            stored = self.given.get((item.id, tuple(int(p) for p in positions), repeat))
            if stored is None:
                return TextReply(None, status="error", reason="the earlier run has no first-stage reply of this query")
            if stored.refused is not None:
                return TextReply(None, status="refused", reason=stored.refused)
            return TextReply(stored.text, finished=stored.finished)
        if self.first == "hidden":
            prompt, shows = hidden(item, reasoning=self.reasoning), ()
        else:
            prompt, shows = visible(template.render(item, positions), reasoning=self.reasoning), None
        request = self.writing.request(item, positions, prompt, template.system, repeat, wants="content", shows=shows)
        return (yield from ask_text(request))

    def _matched(self, item: Item, positions: Sequence[int], said: str, stages: Stages, one: TextReply) -> Answer:
        """Find the content of a free answer; where it was to reason, in the answer at its end."""
        phrase = final_phrase(said) if self.reasoning else said
        if phrase is None and not one.finished:
            return _unread(stages, one)
        match = self._match(phrase or said, item)
        return Answer(
            None if match.content is None else int(positions[match.content]),
            status="ok" if match.content is not None else "refused" if declines(said) else "unparsed",
            text=replace(stages, cosines=match.cosines).joined(),
            tokens_in=one.tokens_in,
            tokens_out=one.tokens_out,
            found=match.found,
        )

    def _match(self, phrase: str, item: Item) -> Match:
        # A refusal is near to some option, as any text is.
        matcher = replace(self.matcher, embed=None) if declines(phrase) else self.matcher
        return matcher.find(phrase, item.options)


def _unread(stages: Stages, one: TextReply) -> Answer:
    return Answer(None, status="unparsed", text=stages.joined(), tokens_in=one.tokens_in, tokens_out=one.tokens_out)


_FINAL = re.compile(r"\banswer\b[*_\s]*[:：](?P<phrase>[*_]*\s*\S[^\n]*)", re.IGNORECASE)


def final_phrase(text: str) -> str | None:
    """Return what follows the last ``Answer:`` of a reply that reasons, up to the end of its line; None without one.

    Examples
    --------
    >>> final_phrase("It warms the room.\\nAnswer: heat\\n"), final_phrase("**Answer:**\\nheat"), final_phrase("heat")
    ('heat', 'heat', None)
    """
    found = [m["phrase"].strip().strip("*_").strip() for m in _FINAL.finditer(text)]
    return next((phrase for phrase in reversed(found) if phrase), None)
