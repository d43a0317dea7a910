"""Token sequences scored in right-padded batches, last positions only: exact for every causal architecture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from orderbias.backends._head import next_token_logprobs
from orderbias.backends._labels import Path


class PlainEngine:
    """Scores each distinct sequence by itself, several to a batch.

    Parameters
    ----------
    model
        A causal language model of transformers.
    token_budget
        Tokens of a batch, padding included. A longer sequence makes a batch of its own.
    """

    def __init__(self, model: Any, token_budget: int) -> None:
        self._model = model
        self._budget = token_budget

    def score(self, groups: Sequence[Sequence[Path]]) -> list[list[list[float]]]:
        """Return, for every path of every group, the log-probabilities of its wanted tokens."""
        paths = sorted({p for group in groups for p in group}, key=lambda p: len(p.ids))
        done: dict[Path, list[float]] = {}
        for batch in _batches(paths, self._budget):
            done.update(zip(batch, self._forward(batch), strict=True))
        return [[done[p] for p in group] for group in groups]

    def _forward(self, batch: Sequence[Path]) -> list[list[float]]:
        import torch

        lengths = torch.tensor([len(p.ids) for p in batch])
        longest = int(lengths.max())
        # Padding stands to the right, where a causal model's real tokens never look.
        ids = torch.tensor([p.ids + (0,) * (longest - len(p.ids)) for p in batch])
        mask = (torch.arange(longest) < lengths[:, None]).long()
        rows = torch.arange(len(batch)) * longest + lengths - 1
        device = self._model.device
        inputs = {"input_ids": ids.to(device)}
        if len(batch) > 1:
            inputs["attention_mask"] = mask.to(device)
        return next_token_logprobs(self._model, rows.to(device), [p.wanted for p in batch], **inputs)


def _batches(paths: Sequence[Path], budget: int) -> Iterator[Sequence[Path]]:
    """Cut paths, sorted by length, into batches whose padded size stays within a budget."""
    start = 0
    for stop in range(1, len(paths) + 1):
        if stop == len(paths) or (stop + 1 - start) * len(paths[stop].ids) > budget:
            yield paths[start:stop]
            start = stop
