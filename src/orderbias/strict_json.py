"""JSON objects whose keys are all different; knows nothing of what they hold.

Python's reader keeps the last of two values under one key without a word. Of two golds or two places in one row neither
is the right one to take.
"""

from __future__ import annotations

import json
from typing import Any


def loads(text: str) -> Any:
    """Read JSON as :func:`json.loads` does, but for objects that hold a key twice.

    Raises
    ------
    ValueError
        If the text is no JSON (``json.JSONDecodeError``), an object has a key twice, or it is nested too deeply.

    Examples
    --------
    >>> loads('{"gold": 1, "place": 2}')
    {'gold': 1, 'place': 2}
    >>> loads('{"gold": 1, "gold": 2}')
    Traceback (most recent call last):
        ...
    ValueError: the key 'gold' occurs twice; no key may be there more than once
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError as e:
        raise ValueError("brackets stand within brackets too often") from e


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {repeated!r} occurs twice; no key may be there more than once")
    return values
