"""Options that speak of the other options ("none of the above", "both A and C"), by patterns of the whole option.

Such an option changes its meaning, or names a wrong letter, once the options are shown in another order. Only an
option that is such a phrase from its first word to its last counts: "Iron and B12 deficiency" and "Country A and B
have identical living standards" are answers like any other. Must not know where items come from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from orderbias.errors import ArgumentError
from orderbias.items import Item

#: What to do with an item that has such an option.
MODES = ("keep", "pin", "drop")

# Patterns of a text in lower case without its last full stop; L is any letter that labels one of the item's options.
_STRICT = (
    ("all of the above", "all of the above"),
    ("none of the above", "none of the above"),
    ("both A and B", "both L and L"),
    ("A and B", "L and L"),
    ("A, B and C", "L, L,? and L"),
)

_NAMED = "(?:options|choices|answers)"
_OTHERS = (
    f"(?:(?:the )?(?:above|below|preceding|foregoing|following)(?: {_NAMED}| statements)?|these(?: {_NAMED})?|them"
    f"|(?:the )?(?:other |given |listed ){_NAMED}|the {_NAMED}(?: (?:given|listed|above))*"
    f"|{_NAMED} (?:given|listed|above))"
)
_VERDICT = (
    "(?: (?:is|are)(?: all)?(?: an?)?(?: valid| possible)?"
    "(?: (?:true|false|correct|incorrect|right|wrong|answers?|statements?|conclusions?))*)?"
)

# Patterns of a text whose commas, brackets and points are gone too and whose "&" is an "and": tried after the others.
_WIDE = (
    ("all of these", f"all(?: of)? {_OTHERS}{_VERDICT}"),
    ("none of these", f"(?:none|neither|not any)(?: of)? {_OTHERS}{_VERDICT}"),
    ("some of these", f"(?:any|some|both|either|two|more than one|one or more)(?: of)? {_OTHERS}{_VERDICT}"),
    ("neither A nor B", "(?:neither )?(?:option |answer |choice )?L nor (?:option |answer |choice )?L"),
    ("either A or B", f"(?:only |either )?(?:{_NAMED} |option |answer )?L or L(?: but not both| only)?"),
    ("both of A and B", f"both (?:{_NAMED} )?L and L(?: above| only)?{_VERDICT}"),
    ("A and B only", f"(?:only )?(?:{_NAMED} )?L and L(?: above| only)?{_VERDICT}"),
    ("A, B and C only", f"(?:only |all of )?(?:{_NAMED} )?L(?: L)+ and L(?: above| only)?{_VERDICT}"),
)

#: Every kind of phrase; the first five are word for word.
KINDS = tuple(name for name, _ in (*_STRICT, *_WIDE))

# A cheap test that every pattern implies; it spares most options the regular expressions.
_MAY_REFER = re.compile(r"\b(?:all|none|neither|not|any|some|both|either|two|one|and|or|nor)\b|&", re.IGNORECASE)

#: An option longer than this is a sentence of its own.
_LONGEST = 80


def kind(text: str, n_options: int) -> str | None:
    """Return which phrase about the other options a text is as a whole, or ``None``.

    Parameters
    ----------
    text
        An option. Case, space and final punctuation do not matter.
    n_options
        K: only the first K letters can stand for options.

    Returns
    -------
    str or None
        One of ``KINDS``.

    Examples
    --------
    >>> kind("Both A and C.", 4), kind("NONE OF THE ABOVE", 4), kind("a nor b", 4)
    ('both A and B', 'none of the above', 'neither A nor B')
    >>> kind("Iron and B12 deficiency", 4), kind("Country A and B have identical living standards", 4)
    (None, None)
    >>> kind("A and T", 4)  # two bases, as no option is labelled T
    """
    if len(text) > _LONGEST or not _MAY_REFER.search(text):
        return None
    plain = " ".join(text.lower().split()).strip(" .,;:!?\"'“”‘’")
    bare = " ".join(re.sub(r"[^\w\s]", " ", plain.replace("&", " and ")).split())
    strict, wide = _compiled(n_options)
    for name, pattern in strict:
        if pattern.fullmatch(plain):
            return name
    return next((name for name, pattern in wide if pattern.fullmatch(bare)), None)


_Patterns = tuple[tuple[str, re.Pattern[str]], ...]


@lru_cache(maxsize=32)
def _compiled(n_options: int) -> tuple[_Patterns, _Patterns]:
    letter = f"[a-{chr(ord('a') + min(n_options, 26) - 1)}]"

    def compiled(patterns: Iterable[tuple[str, str]]) -> _Patterns:
        return tuple((name, re.compile(pattern.replace("L", letter))) for name, pattern in patterns)

    return compiled(_STRICT), compiled(_WIDE)


def self_referring_options(item: Item) -> tuple[int, ...]:
    """Return the contents of an item that speak of its other options.

    Examples
    --------
    >>> self_referring_options(Item("1", "Which?", ("iron", "zinc", "both A and B", "neither of these")))
    (2, 3)
    """
    return tuple(i for i, text in enumerate(item.options) if kind(text, len(item.options)))


def treat(items: Iterable[Item], mode: str) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """Keep, pin or drop the items that have a self-referring option, and say how many there are of each kind.

    Parameters
    ----------
    items
        Any items.
    mode
        ``keep`` changes nothing; ``pin`` adds such contents to ``Item.pinned``, so that they stay in their canonical
        place; ``drop`` leaves the items out.

    Returns
    -------
    tuple
        The items, and a notice if there was anything to treat.

    Raises
    ------
    ArgumentError
        If ``mode`` is none of these.
    """
    if mode not in MODES:
        raise ArgumentError(f"`self_referring` must be one of {', '.join(MODES)}. Got {mode!r}.")
    kept: list[Item] = []
    kinds: Counter[str] = Counter()
    for item in items:
        found = self_referring_options(item)
        if found:
            kinds[kind(item.options[found[0]], len(item.options)) or ""] += 1
            if mode == "drop":
                continue
        pinned = tuple(sorted({*item.pinned, *found})) if mode == "pin" else item.pinned
        kept.append(item if pinned == item.pinned else replace(item, pinned=pinned))
    return tuple(kept), _notice(kinds, mode)


def _notice(kinds: Counter[str], mode: str) -> tuple[str, ...]:
    total = kinds.total()
    if not total:
        return ()
    what = {
        "keep": "kept as they are (self_referring=pin or drop treats them)",
        "pin": "that option pinned to its canonical place",
        "drop": "dropped",
    }[mode]
    some = f"{total} items have" if total > 1 else "1 item has"
    listed = ", ".join(f"{name} {count}" for name, count in kinds.most_common())
    return (f"{some} an option that speaks of the others ({listed}): {what}.",)
