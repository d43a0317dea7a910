"""What a model that writes its answer is told to write; item and text in, prompt out. Knows no model and no reply.

Every prompt begins with the body of :mod:`orderbias.prompts`, or with its question alone where options are hidden. The
sentence that asks for reasoning is the one of two-factors, A.3, in every strategy, so that arms which reason do so at
the same request; what follows it names the form of the final answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orderbias.items import Item
from orderbias.signature import text_hash

#: The cue that ends a prompt which is answered at once.
CUE = "Answer:"

QUESTION = "Question: {question}"
STEPS = "Let's think step by step, then provide your final answer as {form}."
LETTER_FORM = '"The answer is [X]" where X is {labels}'
HIDDEN = "Answer in a short phrase, without explanation."
HIDDEN_FORM = '"Answer: X" where X is a short phrase'
VISIBLE = "Answer with the text of the right option, not with its letter and without explanation."
VISIBLE_FORM = '"Answer: X" where X is the text of the right option, not its letter'
MATCHING = (
    "{question}\n\nSomebody answered:\n<reply>\n{reply}\n</reply>\n\nOptions:\n{options}\n\n"
    "Which option says what this reply says, or comes closest to it? Write its letter and nothing else.\n" + CUE
)
SCORING = "{question}\nProposed answer: {content}\n\n{task}"
SCORE = (
    "How likely is it that the proposed answer is right? Write a number from 0 (certainly wrong) to 100 (certainly "
    "right) in a tag, as <score>X</score>, and nothing else."
)
SCORE_FORM = (
    '"<score>X</score>" where X is a number from 0 (the proposed answer is certainly wrong) to 100 (certainly right)'
)

#: Every text above, by name: what a run has to remember of its prompts besides the template.
TEXTS = {
    "cue": CUE,
    "question": QUESTION,
    "steps": STEPS,
    "letter form": LETTER_FORM,
    "hidden": HIDDEN,
    "hidden form": HIDDEN_FORM,
    "visible": VISIBLE,
    "visible form": VISIBLE_FORM,
    "matching": MATCHING,
    "scoring": SCORING,
    "score": SCORE,
    "score form": SCORE_FORM,
}


def instructions_hash() -> str:
    """Hash of every text, which a run's settings hold."""
    return text_hash(part for pair in TEXTS.items() for part in pair)


def snapshot(template: str, *texts: Mapping[str, str | None]) -> str:
    """Return a template and the texts around it, by name, as one text for a run to keep; None is no text."""
    return "\n".join(
        [template, *(f"\n[{k}]\n{text}" for part in texts for k, text in part.items() if text is not None)]
    )


def without_cue(prompt: str) -> str:
    """Return a prompt without the cue that ends it, if one does.

    Examples
    --------
    >>> without_cue("Question: 2 + 2?\\nA. 3\\nB. 4\\nAnswer:")
    'Question: 2 + 2?\\nA. 3\\nB. 4'
    """
    return prompt.rstrip().removesuffix(CUE).rstrip()


def named(labels: Sequence[str]) -> str:
    """Return labels as a phrase.

    Examples
    --------
    >>> named(("A", "B")), named(("A", "B", "C", "D"))
    ('A or B', 'A, B, C, or D')
    """
    *others, last = labels
    if not others:
        return last
    return f"{others[0]} or {last}" if len(others) == 1 else f"{', '.join(others)}, or {last}"


def step_by_step(prompt: str, labels: Sequence[str]) -> str:
    """Return the prompt of chain of thought: the cue replaced, after a blank line, by a request to reason (A.3).

    Examples
    --------
    >>> print(step_by_step("Question: 2 + 2?\\nA. 3\\nB. 4\\nAnswer:", ("A", "B")))
    Question: 2 + 2?
    A. 3
    B. 4
    <BLANKLINE>
    Let's think step by step, then provide your final answer as "The answer is [X]" where X is A or B.
    """
    return f"{without_cue(prompt)}\n\n{STEPS.format(form=LETTER_FORM.format(labels=named(labels)))}"


def hidden(item: Item, *, reasoning: bool) -> str:
    """Return the prompt that shows the question and none of its options.

    Examples
    --------
    >>> print(hidden(Item("1", "2 + 2?", ("3", "4")), reasoning=False))
    Question: 2 + 2?
    <BLANKLINE>
    Answer in a short phrase, without explanation.
    Answer:
    """
    return f"{_question(item)}\n\n{STEPS.format(form=HIDDEN_FORM) if reasoning else _cued(HIDDEN)}"


def visible(prompt: str, *, reasoning: bool) -> str:
    """Return the prompt that shows the options, of which the text is to be written."""
    return f"{without_cue(prompt)}\n\n{STEPS.format(form=VISIBLE_FORM) if reasoning else _cued(VISIBLE)}"


def matching(item: Item, labels: Sequence[str], shown: Sequence[int], reply: str) -> str:
    """Return the prompt that asks which option a reply comes closest to; ``shown`` are the contents by place."""
    options = "\n".join(
        f"{label}{'' if label.endswith(')') else '.'} {item.options[content]}"
        for label, content in zip(labels, shown, strict=True)
    )
    return MATCHING.format(question=_question(item), reply=reply.strip(), options=options)


def scoring(item: Item, content: int, *, reasoning: bool) -> str:
    """Return the prompt that shows one option alone and asks how likely it is to be right.

    Examples
    --------
    >>> print(scoring(Item("1", "2 + 2?", ("3", "4")), 1, reasoning=False).splitlines()[1])
    Proposed answer: 4
    """
    task = STEPS.format(form=SCORE_FORM) if reasoning else SCORE
    return SCORING.format(question=_question(item), content=item.options[content], task=task)


def _question(item: Item) -> str:
    asked = QUESTION.format(question=item.question)
    return f"{item.passage}\n{asked}" if item.passage else asked


def _cued(task: str) -> str:
    return f"{task}\n{CUE}"
