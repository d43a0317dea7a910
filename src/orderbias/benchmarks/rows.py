"""Converters: the row of a benchmark whose layout no field map can describe -> a row that one can.

Each takes the values of a row (with ``@id`` added) and returns new ones with ``options`` as a list of texts and
``gold`` as an index or letter; ``ValueError`` means that the row has no valid gold or options.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

Values = Mapping[str, object]

_LETTERED = re.compile(r"(?:\(([A-Z])\)|([A-Z])[?.:]?\s)\s*")
_BRACKETED = re.compile(r"\(([A-Z])\)\s*")


def lettered_list(values: Values) -> Values:
    """Strip the letters that the texts of ``options`` begin with, and put the options in the order of the letters.

    LogiQA prints some lists in two columns, so that they read (A), (C), (B), (D); its gold is the printed letter. In
    a few lists a letter lost its brackets (``A No dangshen``): those go only if every option has its own letter.
    """
    options = _strings(values.get("options"))
    found = [_LETTERED.match(option) for option in options]
    letters = [match[1] or match[2] for match in found if match]
    if sorted(letters) == [chr(ord("A") + i) for i in range(len(options))]:
        by_letter = dict(zip(letters, (_LETTERED.sub("", option, count=1) for option in options), strict=True))
        return {**values, "options": [by_letter[letter] for letter in sorted(by_letter)]}
    return {**values, "options": [_BRACKETED.sub("", o, count=1) if _BRACKETED.match(o) else o for o in options]}


def choices_cell(values: Values) -> Values:
    """Split OpenBookQA's cell ``(A) ... (B) ... (C) ... (D) ...`` into options."""
    cell = str(values.get("Choices") or "")
    first, *options = re.split(r"(?:^|\s)\([A-H]\)\s", cell)
    if first.strip() or len(options) < 2:
        raise ValueError(f"the choices must be a list (A) ... (B) .... Got {cell[:60]!r}")
    return {**values, "options": [option.strip() for option in options]}


def lettered_block(values: Values) -> Values:
    """Take the list ``Options: (A) ... (B) ...`` out of a BIG-Bench Hard question; the gold is a letter in brackets."""
    question, found, block = str(values.get("input") or "").partition("\nOptions:\n")
    options = re.findall(r"^\([A-Z]\) (.*)$", block, re.MULTILINE)
    target = str(values.get("target") or "")
    letter = re.fullmatch(r"\(([A-Z])\)", target)
    if not found or not options:
        raise ValueError("the question must end in a list of lettered options")
    if not letter or ord(letter[1]) - ord("A") >= len(options):
        raise ValueError(f"the target {target!r} is no letter of its options")
    return {**values, "question": question, "options": options, "gold": letter[1]}


def single_true_target(values: Values) -> Values:
    """Read TruthfulQA's ``mc1_targets``, and put the options into an order drawn from the item's id.

    The source lists the one true option first in every item. The order is that of the hashes of id and place: the
    same on every machine and in every version.
    """
    targets = values.get("mc1_targets")
    if not isinstance(targets, Mapping):
        raise ValueError("`mc1_targets` must be an object")
    if "choices" in targets:  # the hub's layout: two parallel lists
        texts, truths = _strings(targets["choices"]), list(targets.get("labels") or [])
    else:
        texts, truths = [str(text) for text in targets], list(targets.values())
    if len(truths) != len(texts) or truths.count(1) != 1:
        raise ValueError("`mc1_targets` must hold exactly one true option")
    order = sorted(range(len(texts)), key=lambda j: hashlib.sha256(f"{values['@id']}\0{j}".encode()).digest())
    return {**values, "options": [texts[j] for j in order], "gold": order.index(truths.index(1))}


def _strings(value: object) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise ValueError("`options` must be a list of texts")
    return list(value)
