"""Text from outside, safe to print: what a terminal would obey is written out; knows no table."""

from __future__ import annotations

import re

#: Control characters but for the line feed and the tab, marks that turn the direction of writing, half pairs, no
#: characters.
_OBEYED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """Write out the characters that a terminal would obey instead of showing, as Python does in a string.

    Examples
    --------
    >>> visible("a" + chr(27) + "[2Jb")
    'a\\\\x1b[2Jb'
    """
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape", "backslashreplace").decode(), text)


#: Longer names are cut in the middle, where names differ least.
MOST_NAME = 60


def short(name: str) -> str:
    """Return a name on one line, cut in the middle if it is long: for messages and the cells of tables.

    Examples
    --------
    >>> short("a" + chr(10) + "b"), len(short("x" * 1000))
    ('a\\\\nb', 60)
    """
    text = visible(name[: 2 * MOST_NAME] + name[-2 * MOST_NAME :] if len(name) > 4 * MOST_NAME else name)
    text = text.replace("\n", "\\n").replace("\t", "\\t")
    half = MOST_NAME // 2
    return text if len(text) <= MOST_NAME else f"{text[: half - 1]}…{text[-half:]}"
