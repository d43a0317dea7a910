"""The words of a pairwise verdict, in files and in replies; must not know of pairs, judges or what verdicts show.

A verdict names a place (the answer shown first, the one shown second), a member of the pair (A, B), or neither. Words
such as ``first`` or ``model_a`` say which of the two is meant; a letter does not: a judge's ``[[A]]`` is the answer
shown first, a table's ``A`` may be the pair's first member in whatever order it was shown.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum

#: Codes of a verdict. Of a place: 0 the answer shown first, 1 the one shown second. Of a member: 0 A, 1 B.
FIRST, SECOND, TIE = 0, 1, 2
#: Asked, but no verdict can be read.
UNREAD = -1
#: Not asked, or not in the file.
NOT_ASKED = -2


class Terms(StrEnum):
    """What a word of a verdict is about."""

    SHOWN = "shown"
    PAIR = "pair"
    EITHER = "either"


#: Every word that is read, in lower case and without brackets.
WORDS: dict[str, tuple[int, Terms]] = {
    **dict.fromkeys(("first", "first shown", "shown first"), (FIRST, Terms.SHOWN)),
    **dict.fromkeys(("second", "second shown", "shown second"), (SECOND, Terms.SHOWN)),
    **dict.fromkeys(("model_a", "model_1", "output_1", "answer_a", "answer_1", "response_a"), (FIRST, Terms.PAIR)),
    **dict.fromkeys(("model_b", "model_2", "output_2", "answer_b", "answer_2", "response_b"), (SECOND, Terms.PAIR)),
    **dict.fromkeys(("a", "1", "a>b", "a>>b", "output (a)"), (FIRST, Terms.EITHER)),
    **dict.fromkeys(("b", "2", "b>a", "b>>a", "output (b)"), (SECOND, Terms.EITHER)),
    **dict.fromkeys(("tie", "c", "a=b", "b=a", "draw", "equal", "both", "tie (bothbad)"), (TIE, Terms.EITHER)),
}

_BRACKETS = re.compile(r"^[\[({<\"'*\s]+|[\])}>\"'*.\s]+$")
#: The verdict that a judge writes at the end of its reasoning.
_MARK = re.compile(r"\[\[\s*(A>>B|A>B|B>>A|B>A|A=B|B=A|A|B|C|tie)\s*\]\]", re.IGNORECASE)
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
#: Longer than this, a text is a reply rather than a word.
_LONGEST_WORD = 24


def read_word(value: object) -> tuple[int, Terms]:
    """Read a cell of a table as a verdict: its code, and whether it names a place, a member or may be either.

    A long text is read as a judge's reply by :func:`read_reply`. What is no verdict is ``UNREAD``.

    Examples
    --------
    >>> read_word("[[A]]"), read_word("model_b")
    ((0, <Terms.EITHER: 'either'>), (1, <Terms.PAIR: 'pair'>))
    >>> read_word("neither of them")[0] == read_word(None)[0] == UNREAD
    True
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return UNREAD, Terms.EITHER
    if isinstance(value, float) and not math.isfinite(value):
        return UNREAD, Terms.EITHER
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    word = text.lower()
    if word in WORDS:
        return WORDS[word]
    if len(text) <= _LONGEST_WORD:
        bare = _BRACKETS.sub("", word)
        if bare in WORDS:
            return WORDS[bare]
    return read_reply(text), Terms.EITHER


def read_reply(text: str) -> int:
    """Read the verdict of a judge's reply: the one that stands in double brackets.

    A reply that gives two different verdicts is ambiguous and ``UNREAD``, whichever comes last; what stands between
    ``<think>`` and ``</think>`` is no part of the reply.

    Examples
    --------
    >>> read_reply("Both are fine, the first is shorter. [[A]]")
    0
    >>> read_reply("[[B]] rather than [[A]]") == read_reply("The first is better.") == UNREAD
    True
    """
    reply = _THINKING.sub("", text)
    found = {WORDS[mark.lower()][0] for mark in _MARK.findall(reply)}
    return found.pop() if len(found) == 1 else UNREAD
