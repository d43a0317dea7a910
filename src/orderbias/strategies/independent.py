"""Independent scoring: each option alone, scored 0 to 100; the highest is the answer, whatever the order (label-free).

A reply without a score counts 0 and takes part all the same, as in the paper; how many there were is stored. Ties are
broken by (seed, item id) alone, so that another seed's answers follow from stored scores without asking again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from orderbias.errors import ArgumentError, DataError
from orderbias.instructions import scoring
from orderbias.items import Item
from orderbias.orderings import item_rng
from orderbias.prompts import Prompter
from orderbias.records import Record
from orderbias.strategies import Answer, Asking, ask_text
from orderbias.strategies.extraction import after_thinking
from orderbias.strategies.writing import AT_ONCE, Writing

#: How the answer was found: by the one highest score, by a lot among several, or by a lot where no reply had a score.
SCORE, TIE, UNSCORED = "score", "tie", "unscored"

#: Tokens of a reply that reasons before it scores (label-free).
SCORING_TOKENS = 4000

_SCORE = re.compile(r"<score>\s*([0-9]{1,3}(?:\.[0-9]+)?)\s*(?:%|/\s*100)?\s*</score>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Scores:
    """What the text of a record holds, by content: the score of each reply, None where it had none, and the reply."""

    scores: tuple[float | None, ...]
    replies: tuple[str, ...] = ()

    @property
    def n_failed(self) -> int:
        """Replies without a score."""
        return sum(score is None for score in self.scores)

    @property
    def counted(self) -> tuple[float, ...]:
        """Scores as they take part: 0 where there is none."""
        return tuple(0.0 if score is None else score for score in self.scores)

    def joined(self) -> str:
        """Return the text of a record."""
        return json.dumps({"scores": self.scores, "replies": self.replies}, ensure_ascii=False)

    @classmethod
    def split(cls, text: str) -> Scores:
        """Take the text of a record apart, exactly.

        Raises
        ------
        DataError
            If it is not the text of a record of scores.

        Examples
        --------
        >>> Scores.split(Scores((87.0, None), ("<score>87</score>", "?")).joined()).counted
        (87.0, 0.0)
        """
        try:
            held = json.loads(text)
            scores = tuple(None if score is None else float(score) for score in held["scores"])
            return cls(scores, tuple(held["replies"]))
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"The text of a record of scores must hold them as JSON. Got {text[:60]!r}.") from error


@dataclass(frozen=True, slots=True)
class Independent:
    """Ask once an option, which stands alone, how likely it is to be right.

    Parameters
    ----------
    reasoning
        Whether each reply is asked to think step by step; the paper has it so, with ``SCORING_TOKENS``.
    writing
        How replies are written.
    seed
        Breaks ties, with the item's id.
    """

    reasoning: bool = False
    writing: Writing = AT_ONCE
    seed: int = 0

    def __call__(
        self, item: Item, positions: Sequence[int], template: Prompter, shots: Sequence[Item], repeat: int = 0
    ) -> Asking:
        """Return the generator that asks."""
        replies, tokens_in, tokens_out = [], 0, 0
        for content in range(len(item.options)):
            prompt = scoring(item, content, reasoning=self.reasoning)
            request = self.writing.request(
                item, positions, prompt, template.system, repeat, wants="score", shows=(content,)
            )
            reply = yield from ask_text(request)
            tokens_in, tokens_out = tokens_in + reply.tokens_in, tokens_out + reply.tokens_out
            if reply.text is None:
                return Answer(None, status=reply.status, text=reply.reason, tokens_in=tokens_in, tokens_out=tokens_out)
            replies.append(reply.text)
        scores = Scores(tuple(map(read_score, replies)), tuple(replies))
        return Answer(
            int(positions[break_tie(scores.counted, self.seed, item.id)]),
            text=scores.joined(),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            found=_how(scores),
        )


def _how(scores: Scores) -> str:
    if scores.n_failed == len(scores.scores):
        return UNSCORED
    return SCORE if scores.counted.count(max(scores.counted)) == 1 else TIE


def read_score(reply: str) -> float | None:
    """Return the last score of 0 to 100 in a tag, or None.

    Examples
    --------
    >>> [read_score(r) for r in ("<score>87</score>", "<score> 9.5% </score>", "<score>5</score>, <SCORE>6</SCORE>")]
    [87.0, 9.5, 6.0]
    >>> [read_score(r) for r in ("87", "<score>X</score>", "<score>101</score>", "<score>87", "<score>-3</score>")]
    [None, None, None, None, None]
    """
    scores = [float(found) for found in _SCORE.findall(after_thinking(reply))]
    return next((score for score in reversed(scores) if score <= 100), None)


def count_scores(records: Iterable[Record]) -> tuple[int, int]:
    """Return how many replies were to hold a score, and how many of them held none; of a run of independent scores.

    An option is scored once an item and repeat, whatever the ordering.

    Raises
    ------
    DataError
        If a record that has an answer holds no scores.
    """
    texts = {(r.item_id, r.repeat): r.text for r in records if r.text is not None and r.status == "ok"}
    found = [Scores.split(text) for text in texts.values()]
    return sum(len(scores.scores) for scores in found), sum(scores.n_failed for scores in found)


def break_tie(scores: Sequence[float], seed: int, item_id: str) -> int:
    """Return the content of the highest score, one drawn by (seed, item id) where several have it.

    Parameters
    ----------
    scores
        By content; failures are 0.
    seed, item_id
        All that the draw depends on: neither the ordering nor the model.

    Raises
    ------
    ArgumentError
        If there are no scores, or one is no number.

    Examples
    --------
    >>> break_tie([10, 90, 20], 42, "q1"), {break_tie([50, 50], seed, "q1") for seed in range(20)}
    (1, {0, 1})
    """
    values = np.asarray(scores, np.float64)
    if not values.size or np.isnan(values).any():
        raise ArgumentError(f"`scores` must be numbers, at least one. Got {list(scores)}.")
    best = np.flatnonzero(values == values.max())
    return int(best[0] if len(best) == 1 else item_rng(seed, f"tie {item_id}").choice(best))
