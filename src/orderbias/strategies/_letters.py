"""Letters that stand alone in a text, and which of them an author may have meant; must not know what is an answer.

A letter stands alone where it is no part of a word, a number, an abbreviation or a formula. Of those, some are no
choice of one option: the article *A* and the pronoun *I*, a letter that is denied (*not A*, *A is wrong*), one that
stands beside another as an alternative (*B or C*), and the labels of a list that goes through them.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

#: Characters that make one word with a letter beside them: Latin, Greek, Cyrillic, digits. Han, Kana and Hangul do not.
JOINED = "A-Za-z0-9_\u00aa-\u00ba\u00c0-\u024f\u0370-\u052f"
#: What may enclose a letter: Markdown, LaTeX, brackets, quotation marks.
_ENCLOSING = r"[*_`~\"'“”‘’«»「」『』【】〈〉<>()\[\]{}$]"
OPENING = rf"(?:\s|{_ENCLOSING}|\\(?:boxed|textbf|textrm|textit|text|mathbf|mathrm|mathit|math|left|\(|\[)){{0,32}}"
_CLOSING = rf"(?:{_ENCLOSING}|\\\)|\\\])*"
#: What a letter may not stand right behind, or right before.
BEFORE = rf"(?<![{JOINED}&/°\\+@-])(?<![{JOINED}]['’])(?<!\b[A-Za-z]\.)"
AFTER = rf"(?![{JOINED}°#+&/@^-])(?!['’][{JOINED}])(?!\.[A-Za-z]\b)"
#: Nor, where nothing announces it, in a formula, behind a number (25 C) or as an argument (f(A)).
_NO_FORMULA_BEFORE = rf"(?<!\d )(?<!\d\u00a0)(?<![{JOINED}]\()"
_NO_FORMULA_AFTER = r"(?!\()(?!\s?=)"

_NOUNS = r"(?:(?:the\s+)?(?:options?|choices?|answers?|letters?)\s+)?"
_AND = r"and/or|and|or|nor|vs\.?|versus|und|oder|et|ou|y|o|e|и|или|dan|atau"
_CJK_AND = "或者?|和|与|與|、|と|か|または|及び|또는|와|과"
#: Between two letters of which neither is chosen; with a comma alone, or with a word.
_COMMA = re.compile(rf"{_CLOSING}[^\S\n]*[,;][^\S\n]*{_NOUNS}{_ENCLOSING}*")
_SIGN = re.compile(rf"{_CLOSING}[^\S\n]*[&/|][^\S\n]*{_NOUNS}{_ENCLOSING}*")
_WORD = re.compile(
    rf"{_CLOSING}(?:[^\S\n]*[,;]?[^\S\n]+(?:{_AND})[^\S\n]+(?:even\s+|maybe\s+|perhaps\s+|possibly\s+)?|"
    rf"[^\S\n]*(?:{_CJK_AND})[^\S\n]*){_NOUNS}{_ENCLOSING}*",
    re.IGNORECASE,
)
_SINGULAR = re.compile(rf"{_CLOSING}[^\S\n]+(?:is|was|would|has|can|cannot|does|isn['’]t|seems)\b", re.IGNORECASE)

_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|neither|nor|except(?:\s+for)?|rather\s+than|instead\s+of|without|against|cannot\s+be|"
    r"rul(?:e|es|ed|ing)\s+out|eliminat(?:e|es|ed|ing)|exclud(?:e|es|ed|ing)|discard(?:s|ed|ing)?|reject(?:s|ed|ing)?|"
    r"nicht|kein|pas|не)|n['’]t(?:\s+be)?|不是|不选|不選|排除)"
    rf"\s*(?:likely\s+|really\s+)?{_NOUNS}{OPENING}$",
    re.IGNORECASE,
)
_VERBS = "is|was|are|seems|looks|would|must|can|ca(?=n['’]t)|could|does|did|has|should|will|wo(?=n['’]t)|do"
_DENIED_AFTER = re.compile(
    rf"{_CLOSING}\s*(?:\([^)\n]{{0,80}}\)\s*)?(?:(?:(?:{_VERBS})\s*)?"
    r"(?:(?:also|clearly|obviously|therefore|thus|definitely|simply|just|be)\s+)*"
    r"(?:n['’]t\b|not\b|cannot\b|wrong\b|incorrect\b|false\b|out\b|(?:eliminated|excluded|ruled\s+out)\b)|"
    rf"[:.–—-]{_CLOSING}\s*(?:wrong|incorrect|false)\b)",
    re.IGNORECASE,
)

#: Words that follow a letter as a name; any other word makes an *A* at the start of a sentence an article.
_FOLLOWING = (
    "is|was|because|since|as|for|seems|appears|looks|would|will|must|should|can|could|may|might|has|does|says|states|"
    "describes|fits|matches|works|makes|which|that|and|or|but|due|so|given|it|if|therefore|rather|instead"
)
_ARTICLE = re.compile(rf"[^\S\n]+(?!(?:{_FOLLOWING})\b)[A-Za-z]")
_SENTENCE_START = re.compile(rf"(?:^|[.!?:;\n–—])(?:\s|{_ENCLOSING}|#)*$")
_PRONOUN = re.compile(r"[^\S\n]+(?!(?:is|because|since)\b)[A-Za-z]")
_NAMED_BEFORE = re.compile(r"(?:[(\[{*_\"“$]|\b(?:option|choice|answer|letter)\s)$", re.IGNORECASE)
_NAMED_AFTER = re.compile(r"[)\]}*_\"”$]")


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter that stands alone: the place that it labels and where it is; ``lower`` where it is not a capital."""

    place: int
    start: int
    end: int
    lower: bool


def standing_alone(text: str, n_options: int) -> list[Letter]:
    """Return the capital letters of ``n_options`` labels that stand alone, in their order."""
    return [
        Letter(ord(found[0]) - ord("A"), found.start(), found.end(), False)
        for found in _alone(n_options).finditer(text)
    ]


@lru_cache(maxsize=64)
def _alone(n_options: int) -> re.Pattern[str]:
    labels = string.ascii_uppercase[:n_options]
    return re.compile(f"{BEFORE}{_NO_FORMULA_BEFORE}[{labels}]{AFTER}{_NO_FORMULA_AFTER}")


def denied(text: str, letter: Letter) -> bool:
    """Whether a letter is said not to be it: ``not A``, ``A is wrong``."""
    before = text[max(0, letter.start - 60) : letter.start]
    return bool(_DENIED_BEFORE.search(before) or _DENIED_AFTER.match(text, letter.end))


def is_word(text: str, letter: Letter, *, announced: bool = False) -> bool:
    """Whether a letter is the article *A* or the pronoun *I*; ``announced`` by a cue, it is so less often."""
    after = text[letter.end : letter.end + 40]
    if letter.lower:
        return bool(_ARTICLE.match(after))
    if letter.place == 0:
        before = text[max(0, letter.start - 40) : letter.start]
        shouted = before.isupper() and re.match(r"[^\S\n]+[A-Z]{2}", after)
        return bool((shouted or _SENTENCE_START.search(before)) and _ARTICLE.match(after))
    if letter.place == ord("I") - ord("A"):
        if announced:
            return bool(_PRONOUN.match(after))
        line = text[text.rfind("\n", 0, letter.start) + 1 :].partition("\n")[0]
        named = _NAMED_BEFORE.search(text[: letter.start][-12:]) or _NAMED_AFTER.match(after)
        return not (named or line.strip(" \t.:*") == "I") or bool(_PRONOUN.match(after) and not named)
    return False


def beside_others(text: str, n_options: int) -> frozenset[int]:
    """Return where letters start that stand beside another one as alternatives: ``B or C``, ``A, B and D``.

    A comma alone joins two letters only where the second ends the phrase; *and* does not where a new sentence about a
    single letter begins (``B, and A is wrong``).

    Examples
    --------
    >>> sorted(beside_others("Maybe B or C", 4)), sorted(beside_others("B, and A is wrong", 4))
    ([6, 11], [])
    """
    joined: set[int] = set()
    for labels in (string.ascii_uppercase[:n_options], string.ascii_lowercase[:n_options]):
        found = list(_any_of(labels).finditer(text))
        for one, two in reversed(list(pairwise(found))):
            if two.start() - one.end() <= 40 and _alternatives(text, one, two, onward=two.start() in joined):
                joined |= {one.start(), two.start()}
    return frozenset(joined)


@lru_cache(maxsize=64)
def _any_of(labels: str) -> re.Pattern[str]:
    return re.compile(f"{BEFORE}[{labels}]{AFTER}")


def _alternatives(text: str, one: re.Match[str], two: re.Match[str], *, onward: bool) -> bool:
    """Whether what stands between two letters makes them alternatives; ``onward`` if the second has another one."""
    gap = text[one.end() : two.start()]
    followed = bool(_FOLLOWED.match(text, two.end())) and not onward
    if _SIGN.fullmatch(gap):
        return True
    if _WORD.fullmatch(gap):
        single = _BOTH.search(gap) and _SINGULAR.match(text, two.end())
        return not (single or (followed and two[0].islower()))
    return bool(_COMMA.fullmatch(gap)) and not followed


_BOTH = re.compile(r"\W(?:and|und|et|y|и)\W", re.IGNORECASE)
_FOLLOWED = re.compile(rf"{_CLOSING}[^\S\n]+[A-Za-z]")


def listed_labels(text: str, n_options: int) -> frozenset[int]:
    """Return where the labels of a list stand that goes through the options in order from the first, one a line.

    Such a list repeats the options, or goes through them, and may be cut off; none of its labels is an answer.

    Examples
    --------
    >>> sorted(listed_labels("A. heat\\nB. light\\n\\nB. light", 4))
    [0, 8]
    """
    found: set[int] = set()
    run: list[int] = []
    at = 0
    for line in text.splitlines(keepends=True):
        label = _LABELLED.match(line)
        if label is not None and ord(label[1]) - ord("A") == len(run) < n_options:
            run.append(at + label.start(1))
        elif line.strip():
            run = [] if label is None or label[1] != "A" else [at + label.start(1)]
        if len(run) > 1:
            found.update(run)
        at += len(line)
    return frozenset(found)


_LABELLED = re.compile(r"\s*(?:[-*•>]\s+)?[*_(\[]*([A-Z])[*_)\]]*\s*[.):][*_]*\s")
