"""The letter that a written reply gives as its answer (two-factors, A.3); must not know who wrote it or what was asked.

The answer is the latest valid explicit answer (*The answer is C*, ``Answer: **C**``, ``\\boxed{C}``) or, where there is
none, the last valid letter that stands alone. A direct answer is first read by the letter that the reply opens with.
Only labels among the first few are valid, and a reply without any is no answer at all: never a place, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from orderbias.errors import ArgumentError
from orderbias.strategies._letters import (
    AFTER,
    BEFORE,
    JOINED,
    OPENING,
    Letter,
    beside_others,
    denied,
    is_word,
    listed_labels,
    standing_alone,
)

#: How an answer was found.
EXPLICIT, OPENS, STANDALONE = "explicit", "opening", "standalone"

#: Letters that A.3 takes as valid, whatever the number of options above it.
VALID_LETTERS = 4

Fallback = Literal["always", "finished", "never"]
FALLBACKS = ("always", "finished", "never")


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was read: the ``place`` and how it was ``found``, or neither and a ``status`` that says why."""

    place: int | None
    found: str | None = None
    status: str = "ok"


@dataclass(frozen=True, slots=True)
class LetterRule:
    """The rule by which a letter is read from a reply (two-factors, A.3).

    Parameters
    ----------
    opening
        Whether the letter that the reply opens with is taken first, of any of the options: the direct answer.
    n_valid
        How many of the first labels are valid otherwise, at most; 4 in the paper, None for all of them.
    fallback
        When a letter that merely stands alone is taken: ``always``, as in the paper; ``finished``, in replies that
        were not cut off, since others may have gone on to another letter; ``never``.

    Raises
    ------
    ArgumentError
        If ``n_valid`` is below 1, or ``fallback`` unknown.

    Examples
    --------
    >>> LetterRule().read("First I thought A, so the answer is A. No: the answer is D", 4)
    Extracted(place=3, found='explicit', status='ok')
    >>> LetterRule(opening=True).read("C. 12", 4)
    Extracted(place=2, found='opening', status='ok')
    >>> LetterRule().read("Maybe B or C", 4)
    Extracted(place=None, found=None, status='unparsed')
    """

    opening: bool = False
    n_valid: int | None = VALID_LETTERS
    fallback: Fallback = "always"

    def __post_init__(self) -> None:
        if self.n_valid is not None and self.n_valid < 1:
            raise ArgumentError(f"`n_valid` must be 1 or more, or None. Got {self.n_valid}.")
        if self.fallback not in FALLBACKS:
            raise ArgumentError(f"`fallback` must be one of {', '.join(FALLBACKS)}. Got {self.fallback!r}.")

    def valid_for(self, n_options: int) -> int:
        """Return how many of the labels of an item are valid."""
        return n_options if self.n_valid is None else min(n_options, self.n_valid)

    def read(self, reply: str, n_options: int, finished: bool = True) -> Extracted:
        """Read the answer of a reply.

        Parameters
        ----------
        reply
            What was written; what a model thought before (between ``<think>`` and ``</think>``) is left out.
        n_options
            K, at most 26.
        finished
            Whether the reply ended by itself.

        Returns
        -------
        Extracted
            Without a place, its status is ``refused`` where the reply declines to answer, else ``unparsed``.
        """
        said = after_thinking(reply)
        passed = beside_others(said, n_options) | listed_labels(said, n_options)
        if self.opening:
            place = _opens_with(said, n_options, passed)
            if place is not None:
                return Extracted(place, OPENS)
        n_valid = self.valid_for(n_options)
        announced = [
            letter for letter in _explicit(said, n_valid)
            if letter.start not in passed and not denied(said, letter) and not is_word(said, letter, announced=True)
        ]  # fmt: skip
        if announced:
            return Extracted(max(announced, key=lambda letter: letter.start).place, EXPLICIT)
        if declines(said):
            return Extracted(None, status="refused")
        if self.fallback == "always" or (self.fallback == "finished" and finished):
            for letter in reversed(standing_alone(said, n_options)):
                if letter.place < n_valid and _may_be_meant(said, letter, passed):
                    return Extracted(letter.place, STANDALONE)
        return Extracted(None, status="unparsed")


#: The rule of a trace (chain of thought), and that of a direct answer.
TRACE, OPENING_FIRST = LetterRule(), LetterRule(opening=True)


def _may_be_meant(text: str, letter: Letter, passed: frozenset[int]) -> bool:
    return letter.start not in passed and not denied(text, letter) and not is_word(text, letter)


# --- explicit answers --------------------------------------------------------------------------------------------

_ANSWER = (
    "answer|ans|choice|option|selection|pick|solution|antwort|lösung|respuesta|réponse|reponse|resposta|risposta|"
    "antwoord|odpowiedź|odpowiedz|odpověď|svar|svaret|vastaus|cevap|yanıt|ответ|відповідь|απάντηση|jawaban|jawabannya|"
    "đáp án|câu trả lời|opción|opção|opzione|вариант"
)
_ANSWER_JOINED = "答案|答え|回答|正解|解答|答|정답|답|उत्तर|الإجابة|الجواب|جواب|คำตอบ"
_IS = (
    "is|was|would be|should be|must be|will be|has to be|seems to be|seems|appears to be|looks like|ist|lautet|wäre|"
    "es|sería|est|serait|é|è|seria|sarebbe|jest|je|är|adalah|là|είναι"
)
_IS_JOINED = "应该是|應該是|应为|應為|是|为|為|は|が|은|는|है|هي|هو|คือ"
_SIGN = r"[:：=＝–—]|->|=>|→|⇒|(?<=\s)-(?=\s)"
_LINK = rf"(?:(?:\b(?:{_IS})\b|['’]s\b|{_IS_JOINED})(?:\s*(?:{_SIGN}))?|{_SIGN})"
_FILLER = (
    r"(?:\s*(?:therefore|thus|clearly|definitely|probably|most likely|likely|indeed|simply|just|still|obviously|"
    r"certainly|actually|now|surely|option|choice|answer|letter|the|la|die|opción|opção|opzione|вариант|选项|選項|選択肢|"
    r"보기)\b[,:]?|\s*(?:选项|選項))*"
)
_CHOOSE = (
    r"\b(?:i|we|i['’]d|i['’]ll|i['’]m|i would|i will|i have|let['’]s|let us)\s+(?:choose|chose|pick|picked|select|"
    r"selected|go with|going with|went with|opt for|vote for|answer|would (?:choose|pick|select|go with))\b"
)
_CJK_CHOOSE = "(?:应|應|应该|故|所以|因此|就)?(?:选择|選擇|选|選)"

#: Phrases behind which the letter stands.
_BEFORE_LETTER = (
    # The answer to this question, I believe, is (C
    rf"(?:\b(?:{_ANSWER})\b|(?:{_ANSWER_JOINED}))(?P<gap>[^.!?\n:：=]{{0,60}}?){_LINK}{_FILLER}",
    # Answer C, at the start of a line
    rf"^[\W_]*(?:final\s+|correct\s+)?(?:{_ANSWER}|{_ANSWER_JOINED})\b",
    # \boxed{\text{C, <answer>C, [[C
    r"\\boxed\s*\{", r"<(?:final[_ ]?)?(?:answer|choice|option)>", r"\[\[",
    rf"{_CHOOSE}{_FILLER}", _CJK_CHOOSE,
)  # fmt: skip
#: Phrases before which it stands: C is the correct answer; option C is right.
_AFTER_LETTER = (
    r"[*_)\]}\"'”]*\s+(?:is|seems to be|must be|would be)\s+"
    r"(?:(?:clearly|definitely|therefore|thus|indeed|probably)\s+)?(?:the|my|our)\s+"
    r"(?:(?:most\s+)?(?:only\s+)?(?:correct|right|best|proper|appropriate|likely|final|accurate)\s+)*"
    r"(?:answer|option|choice|one)\b"
)
_CORRECT = r"[*_)\]}\"'”]*\s+(?:is|must be)\s+(?:therefore\s+|thus\s+|clearly\s+)?(?:correct|right)\b"
#: Of a phrase that goes on to another subject than the answer, or leaves it open.
_OPEN = re.compile(r"\b(?:choices|options|answers|either|neither|whether|if|unless|could|might|may|which)\b", re.I)

#: Of one that has given another letter already: "the answer is G, so it must be C". Not "the answer is not G, it is C".
_ANOTHER = re.compile(rf"(?<!not )(?<!not the )(?<![{JOINED}])[A-HJ-Z](?![{JOINED}'’])")


@lru_cache(maxsize=64)
def _cues(n_valid: int) -> tuple[re.Pattern[str], ...]:
    last = chr(ord("A") + n_valid - 1)
    either, capital = f"(?P<letter>[A-{last}a-{last.lower()}]){AFTER}", f"(?P<letter>[A-{last}]){AFTER}"
    # Case is ignored in the words alone: (?i:...) leaves the letter as it is.
    return (
        *(
            re.compile(rf"(?i:{cue}){OPENING}(?<![{JOINED}]){letter}", re.MULTILINE)
            for cue, letter in zip(
                _BEFORE_LETTER, (either, capital, either, either, either, capital, capital), strict=True
            )
        ),
        re.compile(rf"{BEFORE}{capital}(?i:{_AFTER_LETTER})"),
        re.compile(rf"(?i:\b(?:option|choice|answer)\s+)[*_(\[\"'“]*{capital}(?i:{_CORRECT})"),
    )


def _explicit(text: str, n_valid: int) -> Iterator[Letter]:
    """Yield the letters that a text calls its answer."""
    for cue in _cues(n_valid):
        at = 0
        while (found := cue.search(text, at)) is not None:
            gap = found.groupdict().get("gap") or ""
            if _OPEN.search(gap) or _ANOTHER.search(gap):
                at = found.start() + 1  # a phrase of its own may begin within the gap
                continue
            at = found.end()
            letter = found["letter"]
            start, end = found.span("letter")
            yield Letter(ord(letter.upper()) - ord("A"), start, end, letter.islower())


def _opens_with(text: str, n_options: int, passed: frozenset[int]) -> int | None:
    """Return the place of the letter with which a text opens, whatever encloses it."""
    found = re.match(rf"\s*(?:[#>•-]+\s+)?{OPENING}(?P<letter>[A-Z]){AFTER}(?!\s?=)", text)
    if found is None:
        return None
    start, end = found.span("letter")
    letter = Letter(ord(found["letter"]) - ord("A"), start, end, False)
    if letter.place >= n_options or start in passed or denied(text, letter):
        return None
    return None if is_word(text, letter, announced=True) else letter.place


# --- what is said before, or instead ---------------------------------------------------------------------------

_THOUGHT = "think|thinking|thought|reasoning|analysis|scratchpad"
_CLOSED = re.compile(rf"</(?:{_THOUGHT})>|\[/THINK\]", re.IGNORECASE)
_OPENED = re.compile(rf"<(?:{_THOUGHT})>|\[THINK\]", re.IGNORECASE)
_CANNOT = (
    r"(?:can\s?not|can['’]t|am unable to|['’]m unable to|am not able to|['’]m not able to|won['’]t|will not|"
    r"must decline to|decline to|refuse to)"
)
_DECLINES = re.compile(
    rf"\b(?:i|we)\s?{_CANNOT}\s+(?:be able to\s+)?(?:answer|help|assist|provide|comply|respond|discuss|engage|"
    r"fulfil|fulfill|participate|give (?:you )?an answer)\b|\bunable to (?:answer|help|assist|comply|respond)\b|"
    r"\b(?:i['’]m|i am|we['’]re|we are) (?:very |so )?sorry,? (?:but|i)\b|\bi apologi[sz]e,? but\b|"
    r"^\W*(?:as an ai\b|sorry,? (?:but )?i\b)",
    re.IGNORECASE,
)


def after_thinking(text: str) -> str:
    """Return what a reply says once it has thought: nothing where it was cut off while thinking.

    A chat template may have opened the thought already, so that the reply only closes it.

    Examples
    --------
    >>> after_thinking("A is short... </think> [[B]]"), after_thinking("<think> [[A]]?"), after_thinking("[[A]]")
    (' [[B]]', '', '[[A]]')
    """
    closed = list(_CLOSED.finditer(text))
    said = text[closed[-1].end() :] if closed else text
    opened = _OPENED.search(said)
    return said if opened is None else said[: opened.start()]


def declines(text: str) -> bool:
    """Whether a reply begins by declining to answer.

    Examples
    --------
    >>> declines("I cannot answer that."), declines("I cannot see why it would be B")
    (True, False)
    """
    return bool(_DECLINES.search(text[:300]))
