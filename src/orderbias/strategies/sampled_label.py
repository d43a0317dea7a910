"""A label drawn from the probabilities that the model gives the labels, instead of the most probable one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orderbias.items import Item
from orderbias.orderings import item_rng
from orderbias.prompts import Prompter
from orderbias.strategies import Answer, Asking, draw_seed
from orderbias.strategies.first_token import first_token


@dataclass(frozen=True, slots=True)
class SampledLabel:
    """Ask as the first-token readout does, and draw the answer: P(label) to the power 1 / temperature, renormalised.

    The answer carries no log-probabilities, of which it would have to be the largest; they stand in its text.

    Parameters
    ----------
    temperature
        Above 0; at 1 labels are drawn as the model weighs them.
    seed
        Decides the draw, with the query.
    """

    temperature: float
    seed: int

    def __call__(
        self, item: Item, positions: Sequence[int], template: Prompter, shots: Sequence[Item], repeat: int = 0
    ) -> Asking:
        """Return the generator that asks."""
        answer = yield from first_token(item, positions, template, shots)
        if answer.logprobs is None:
            return answer
        scores = np.array(answer.logprobs) / self.temperature
        weights = np.exp(scores - np.logaddexp.reduce(scores))
        rng = item_rng(draw_seed(self.seed, item.id, positions, repeat), "label")
        place = int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right"))
        labels = template.labels_for(len(item.options))
        shares = ", ".join(f"{label} {math.exp(p):.4f}" for label, p in zip(labels, answer.logprobs, strict=True))
        return Answer(
            min(place, len(weights) - 1),
            mass=answer.mass,
            text=f"drawn from {shares}",
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
        )
