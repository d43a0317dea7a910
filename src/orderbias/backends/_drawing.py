"""What is done with the logits of a batch, row by row: looked at, and drawn from; must not know what is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orderbias.backends import TextRequest


class Soundness:
    """Remembers where logits were no numbers: half precision overflows, and a token would be made of it."""

    def __init__(self) -> None:
        self._fine: list[Any] = []

    def taken(self) -> list[int]:
        """Return for each row how many of the tokens since the last time are of numbers."""
        import torch

        fine, self._fine = torch.stack(self._fine, dim=1), []
        return [int(n) for n in fine.int().cumprod(dim=1).sum(dim=1).tolist()]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        self._fine.append(scores.amax(dim=-1).isfinite())  # NaN is the largest of all
        return scores


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
                # From the largest down: a small temperature then overflows where nothing is drawn from.
                below = (scores[row] - scores[row].amax()) / temperature
                scores[row] = below + gumbel.to(scores.device, scores.dtype)
        return scores
