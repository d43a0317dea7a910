"""Token sequences scored as trees: every distinct prefix is computed once.

Knows paths and groups of paths that share much; must not know of labels, items or orderings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.backends._cpu import PackedLinears
from orderbias.backends._head import next_token_logprobs
from orderbias.backends._labels import Path
from orderbias.backends._prefix_tree import Tokens, Tree, build, shared_lengths
from orderbias.backends._prefixes import WINDOW, WORTH_TOKENS, PrefixCache, common_prefix, shared_prefixes
from orderbias.backends._tree_attention import PIECE_OVERHEAD, KeyValue, Plan, Row, UnsupportedError, tree_attention

#: A tree larger than this is cut in several, which share their trunk as a prefix.
_LARGEST_TREE = 8192
#: Bytes of keys and values kept of prefixes, and of float32 logits of one batch.
_CACHE_BYTES = 1 << 30
_LOGIT_BYTES = 1 << 29


@dataclass(slots=True, eq=False)
class _Job:
    """A tree to be computed: its paths, and the prefix it starts from."""

    paths: list[Path]
    tokens: list[Tokens]
    prefix_length: int = 0
    prefix: dict[int, KeyValue] | None = None


class TreeEngine:
    """Scores groups of sequences through the prefix tree of each.

    Parameters
    ----------
    model
        A causal language model of transformers.
    token_budget
        Nodes of one batch; a larger tree makes a batch of its own.

    Raises
    ------
    UnsupportedError
        If the architecture mixes positions in a way that no tree can follow.
    """

    def __init__(self, model: Any, token_budget: int) -> None:
        config = model.config.get_text_config()
        kinds = set(getattr(config, "layer_types", None) or ()) - {"full_attention", "sliding_attention"}
        if kinds:
            raise UnsupportedError(f"it has layers of kind {', '.join(sorted(kinds))}")
        self._model = model
        self._linears = PackedLinears(model)
        self._budget = token_budget
        self._most_rows = max(1, _LOGIT_BYTES // (4 * config.vocab_size))
        self.forget()

    def score(self, groups: Sequence[Sequence[Path]]) -> list[list[list[float]]]:
        """Return, for every path of every group, the log-probabilities of its wanted tokens."""
        done: dict[Path, list[float]] = {}
        for start in range(0, len(groups), WINDOW):
            jobs = [job for group in groups[start : start + WINDOW] for job in _jobs(group)]
            if jobs:
                self._find_prefixes(jobs)
                for batch in self._batches(jobs):
                    self._forward(batch, done)
        return [[done[p] for p in group] for group in groups]

    def forget(self) -> None:
        """Drop every cached prefix."""
        self._cache = PrefixCache(_CACHE_BYTES)
        self._last = np.empty(0, np.int64)

    def _find_prefixes(self, jobs: Sequence[_Job]) -> None:
        """Give each job the best prefix that is cached, or worth computing now."""
        commons = [common_prefix(job.tokens) for job in jobs]
        # The group before this call counts as one more: items that come one at a time share prefixes with it.
        lengths = shared_prefixes([*commons, self._last])[:-1]
        self._last = commons[-1]
        fresh: dict[bytes, _Job] = {}
        for common, n in zip(commons, lengths, strict=True):
            known, parent = self._cache.longest(common[:n])
            if n - known >= WORTH_TOKENS:
                tokens = common[:n]
                fresh.setdefault(tokens.tobytes(), _Job([], [tokens], known, parent))
        for new in fresh.values():
            kept = self._keep(new)
            self._cache.add(new.tokens[0], kept, sum(t.nbytes for pair in kept.values() for t in pair))
        for job, common in zip(jobs, commons, strict=True):
            known, value = self._cache.longest(common)
            if known >= WORTH_TOKENS:
                job.prefix_length, job.prefix = known, value

    def _batches(self, jobs: Sequence[_Job]) -> Iterator[list[tuple[_Job, Tree]]]:
        batch: list[tuple[_Job, Tree]] = []
        nodes = rows = 0
        for job in jobs:
            tree = self._tree(job)
            if batch and (nodes + tree.n_nodes > self._budget or rows + len(job.paths) > self._most_rows):
                yield batch
                batch, nodes, rows = [], 0, 0
            batch.append((job, tree))
            nodes += tree.n_nodes
            rows += len(job.paths)
        yield batch

    def _tree(self, job: _Job) -> Tree:
        return build(job.tokens, job.prefix_length, PIECE_OVERHEAD[self._model.device.type])

    def _forward(self, batch: Sequence[tuple[_Job, Tree]], done: dict[Path, list[float]]) -> None:
        rows: list[Row] = []
        start = 0
        for job, tree in batch:
            rows.append(Row(tree, start, job.prefix_length, job.prefix or {}))
            start += tree.n_nodes
        paths = [p for job, _ in batch for p in job.paths]
        ends = np.concatenate([row.start + row.tree.ends for row in rows])
        values = self._run(rows, ends, [p.wanted for p in paths])
        done.update(zip(paths, values, strict=True))

    def _keep(self, job: _Job) -> dict[int, KeyValue]:
        """Compute a prefix and return its keys and values by layer."""
        row = Row(self._tree(job), 0, job.prefix_length, job.prefix or {}, keep=True)
        self._run([row], row.tree.ends, [(0,)])
        return row.kept

    def _run(self, rows: Sequence[Row], ends: NDArray[np.intp], wanted: Sequence[Sequence[int]]) -> list[list[float]]:
        import torch

        device = self._model.device
        tokens, depths, at = (
            torch.from_numpy(a).to(device)
            for a in (
                np.concatenate([r.tree.tokens for r in rows]),
                np.concatenate([r.tree.depths for r in rows]),
                ends,
            )
        )
        with self._linears.used(), tree_attention(self._model, Plan(rows)):
            return next_token_logprobs(self._model, at, wanted, input_ids=tokens[None], position_ids=depths[None])


def _jobs(group: Sequence[Path]) -> Iterator[_Job]:
    """Sort a group's distinct paths and cut them where their tree grows too large."""
    paths = sorted(set(group), key=lambda p: p.ids)
    tokens = [np.array(p.ids, np.int64) for p in paths]
    start = nodes = 0
    for i, shared in enumerate(shared_lengths(tokens)):
        new = len(tokens[i]) - shared
        if i > start and nodes + new > _LARGEST_TREE:
            yield _Job(paths[start:i], tokens[start:i])
            start, new, nodes = i, len(tokens[i]), 0
        nodes += new
    if paths:
        yield _Job(paths[start:], tokens[start:])
