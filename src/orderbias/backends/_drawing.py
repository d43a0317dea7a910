"""Drawing tokens of a batch, each row with a generator of its own; must not know what is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orderbias.backends import TextRequest


class Drawing:
    """Turns the most probable token into a drawn one: the largest of logits with Gumbel noise is a draw from them.

    Each row has a generator of its own, advanced once a token, so that its draws do not depend on its neighbours.
    """

    def __init__(self, requests: Sequence[TextRequest]) -> None:
        import torch

        self.needed = any(r.temperature > 0 for r in requests)
        self._temperatures = [r.temperature for r in requests]
        self._generators = [torch.Generator().manual_seed(r.seed) for r in requests]

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with some rows only."""
        self._temperatures = [self._temperatures[n] for n in rows]
        self._generators = [self._generators[n] for n in rows]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        scores = scores.float()
        for row, (temperature, generator) in enumerate(zip(self._temperatures, self._generators, strict=True)):
            if temperature > 0:
                waiting = torch.empty(scores.shape[-1], dtype=torch.float64).exponential_(generator=generator)
                gumbel = -torch.log(waiting.clamp_min(1e-300))
                scores[row] = scores[row] / temperature + gumbel.to(scores.device, scores.dtype)
        return scores
