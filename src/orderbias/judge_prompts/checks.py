"""What a template of one's own must show, and what it had better; must not know of models or replies.

A judge that is asked the same twice looks perfectly consistent, one that is asked under exchanged letters looks wrong,
and none of it is to be seen in the verdicts. So it is looked for in the prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from orderbias.errors import ArgumentError
from orderbias.items import Item
from orderbias.judge_prompts.template import BUILT_IN, WRITTEN, JudgeTemplate, fence

#: Texts that hold no letter on its own and no bracket, to look at what a template says around them.
_QUESTION, _FIRST, _SECOND = "...question...", "...one...", "...two..."


def check_pair_shown(template: JudgeTemplate, pairs: Iterable[Item]) -> tuple[str, ...]:
    """Raise unless the prompts show both answers and the question, each answer where the order puts it.

    Parameters
    ----------
    template
        One of the built-in templates has nothing to show.
    pairs
        The pairs that will be asked: the prompts of each of different answers must differ between its orders, and
        those of the first must change with each of its texts.

    Returns
    -------
    tuple of str
        What a user must be told, such as that a template without a fence lets a candidate speak for the judge.

    Raises
    ------
    ArgumentError
        If exchanging the answers, or changing a text, leaves a prompt as it was.
    """
    if (template.source, template.verdict) in BUILT_IN.values():
        return ()
    different = [pair for pair in pairs if pair.options[0].strip() != pair.options[1].strip()]
    if not different:
        return ()
    _check_texts(template, different[0])
    for pair in different:
        line, pins = fence(pair), _pins(pair)
        if template.body(pair, (0, 1, *pins), line) == template.body(pair, (1, 0, *pins), line):
            raise _unchanged(pair, "the answers are exchanged")
    return tuple(_notices(template, different[0]))


def _pins(pair: Item) -> tuple[int, ...]:
    return tuple(range(2, len(pair.options)))


def _unchanged(pair: Item, when: str) -> ArgumentError:
    return ArgumentError(
        "A judge's template must show the `question`, the answer shown `first` and the one shown `second`. The prompt "
        f"of pair {pair.id!r} stays the same when {when}."
    )


def _check_texts(template: JudgeTemplate, pair: Item) -> None:
    a, b, *rest = pair.options
    line, order, other = fence(pair), (0, 1, *_pins(pair)), "another text"
    before = template.body(pair, order, line)
    changed = {
        "answer A is changed": replace(pair, options=(other, b, *rest)),
        "answer B is changed": replace(pair, options=(a, other, *rest)),
        "the question is changed": replace(pair, question=other),
    }
    for when, another in changed.items():
        if template.body(another, order, line) == before:
            raise _unchanged(pair, when)


def _notices(template: JudgeTemplate, pair: Item) -> Iterator[str]:
    order = (0, 1, *_pins(pair))
    prompt = template.render(pair, order)
    if template.body(pair, order, "another line") == prompt:
        yield (
            "The template does not use `fence`: an answer that holds a verdict or instructions may mislead the judge."
        )
    if not all(text.strip() in prompt for text in (pair.question, *pair.options[:2])):
        yield (
            f"The template does not show the texts as they are: those of pair {pair.id!r} are cut or changed in its "
            "prompt."
        )
    bare = replace(pair, question=_QUESTION, options=(_FIRST, _SECOND, *pair.options[2:]))
    yield from _letters(template, template.render(bare, order), template.labels_for(len(pair.options)))


def _letters(template: JudgeTemplate, prompt: str, labels: tuple[str, ...]) -> Iterator[str]:
    """Say what the prompt of a pair without any letter in its texts leaves open about the letters."""
    missing = [label for label in labels if not re.search(rf"\b{label}\b", prompt)]
    if missing:
        yield (
            f"The template never says what {' and '.join(missing)} may stand for, which the judge can answer: use "
            "`label_first`, `label_second` and `label_tie`"
            + (", or pass --no-tie." if missing == [labels[-1]] and len(labels) > 2 else ".")
        )
    if template.verdict == WRITTEN and "[[" not in prompt:
        yield "The template never shows a verdict in double brackets, as in [[A]]: without them no verdict is read."
    before_first, before_second = (_last_letter(prompt.partition(text)[0], labels[:2]) for text in (_FIRST, _SECOND))
    if (before_first, before_second) == (labels[1], labels[0]):
        yield (
            f"The template seems to call the answer shown first {labels[1]} and the second {labels[0]}. A verdict of "
            f"{labels[0]} is read as the answer shown first: see that it is."
        )


def _last_letter(text: str, labels: tuple[str, ...]) -> str | None:
    """Return the label that stands last in a text; `A` may be a word there, `B` is none."""
    found = re.findall(rf"\b({'|'.join(labels)})\b", text)
    return found[-1] if found else None
