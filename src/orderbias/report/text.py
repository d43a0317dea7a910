"""Text from outside, safe to print: what a terminal would obey is written out; knows no table."""

from __future__ import annotations

import re

#: Control characters but for the line feed and the tab, marks that turn the direction of writing, half pairs.
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Write out the characters that a terminal would obey instead of showing, as Python does in a string.

    Examples
    --------
    >>> visible("a" + chr(27) + "[2Jb")
    'a\\\\x1b[2Jb'
    """
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape", "backslashreplace").decode(), text)
