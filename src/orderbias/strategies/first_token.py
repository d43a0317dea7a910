"""The first-token readout: softmax over the K labels at the next position (two-factors, A.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from orderbias.backends import LabelRequest
from orderbias.items import Item
from orderbias.prompts import Prompter
from orderbias.strategies import Answer, Asking, ask_labels


def first_token(
    item: Item, positions: Sequence[int], template: Prompter, shots: Sequence[Item], repeat: int = 0
) -> Asking:
    """Ask once for the probabilities of the labels; the answer is the most probable, ties to the lowest place.

    Asked again, it answers the same.

    Examples
    --------
    >>> from orderbias.backends import LabelReply
    >>> from orderbias.prompts import Template
    >>> asking = first_token(Item("1", "2 + 2?", ("3", "4")), (0, 1), Template(), ())
    >>> next(asking).labels
    ('A', 'B')
    >>> try:
    ...     asking.send(LabelReply((-2.0, -1.0)))
    ... except StopIteration as done:
    ...     print(done.value.place, round(done.value.mass, 3))
    1 0.503
    """
    request = LabelRequest(
        item.id,
        tuple(int(p) for p in positions),
        template.render(item, positions, shots),
        template.labels_for(len(item.options)),
        template.system,
    )
    reply = yield from ask_labels(request)
    if reply.logprobs is None:
        return Answer(None, status=reply.status, text=reply.text, tokens_in=reply.tokens_in)
    scores = np.array(reply.logprobs)
    if not np.isfinite(scores).all():
        return Answer(None, status="error", text="a label has no finite log-probability", tokens_in=reply.tokens_in)
    total = float(np.logaddexp.reduce(scores))
    logprobs = np.minimum(scores - total, 0.0)
    return Answer(
        int(scores.argmax()),
        tuple(logprobs.tolist()),
        min(math.exp(total), 1.0),
        tokens_in=reply.tokens_in,
    )
