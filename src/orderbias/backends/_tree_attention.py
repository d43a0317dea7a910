"""Attention over packed token trees, as an attention function of transformers; must not know what is scored.

Rows (one tree each) stand behind one another in a single sequence without padding. All layers but attention treat
positions one by one, so packing needs their consent only here: every piece of a tree attends to its shared prefix, to
the nodes above it and to itself, in windows counted in depth where a layer has one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.backends._prefix_tree import Piece, Tokens, Tree

NAME = "orderbias_tree"

#: What one more piece of attention costs, in entries of a score matrix: starting a kernel is dear on a GPU.
PIECE_OVERHEAD = {"cpu": 4096, "cuda": 1 << 20}

#: Queries of a piece that attend together, and the entries of a mask above which it is not kept for other layers: the
#: masks of one long prompt would grow with the square of its length.
QUERIES_AT_ONCE, KEPT_ENTRIES = 1024, 1 << 24

#: Keys and values of one layer, each ``(1, n_kv_heads, length, head_dim)``.
KeyValue = tuple[Any, Any]


class UnsupportedError(Exception):
    """The architecture asks of attention what a packed tree cannot give."""


@dataclass(slots=True, eq=False)
class Row:
    """One tree of a batch: its place in the packed sequence, its prefix by layer, and what is kept of it."""

    tree: Tree
    start: int
    prefix_length: int = 0
    prefix: dict[int, KeyValue] = field(default_factory=dict)
    keep: bool = False
    kept: dict[int, KeyValue] = field(default_factory=dict)


#: A mask: the row, its piece, the first and the last of the queries, and the layer's window.
_Which = tuple[int, int, tuple[int, int], int | None]


@dataclass(slots=True, eq=False)
class Plan:
    """The batch being computed, the masks made for it so far, and the layers that came by."""

    rows: Sequence[Row]
    masks: dict[_Which, Any] = field(default_factory=dict)
    layers: set[int] = field(default_factory=set)


_PLAN: ContextVar[Plan] = ContextVar("orderbias_tree_plan")


@contextlib.contextmanager
def tree_attention(model: Any, plan: Plan) -> Iterator[None]:
    """Let a model compute ``plan`` with the attention of this module.

    Raises
    ------
    UnsupportedError
        If some layer of the model does not attend through the common interface.
    """
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, _attend)
    config = model.config
    before = config._attn_implementation
    config._attn_implementation = NAME
    token = _PLAN.set(plan)
    try:
        yield
        expected = config.get_text_config().num_hidden_layers
        if len(plan.layers) != expected:
            raise UnsupportedError(f"{len(plan.layers)} of its {expected} layers attend through the common interface")
    finally:
        _PLAN.reset(token)
        config._attn_implementation = before


def _attend(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    *_: Any,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **other: Any,
) -> tuple[Any, None]:
    """Attend; the signature and the shapes ``(1, heads, tokens, head_dim)`` are those of transformers."""
    import torch

    plan = _PLAN.get()
    strange = sorted(k for k, v in other.items() if torch.is_tensor(v) and k not in ("position_ids", "cache_position"))
    if strange or not getattr(module, "is_causal", True) or attention_mask is not None:
        raise UnsupportedError(f"its attention takes {', '.join(strange) or 'a mask of its own'}")
    layer = module.layer_idx
    plan.layers.add(layer)
    out = query.new_empty(query.shape[2], query.shape[1], value.shape[3])
    for r, row in enumerate(plan.rows):
        stop = row.start + row.tree.n_nodes
        keys, values = key[:, :, row.start : stop], value[:, :, row.start : stop]
        before = [tuple(t[:, :, : row.prefix_length] for t in row.prefix[layer])] if row.prefix_length else []
        if row.keep:
            row.kept[layer] = tuple(
                torch.cat([*(b[i] for b in before), t], dim=2).clone() for i, t in enumerate((keys, values))
            )
        for p, piece in enumerate(row.tree.pieces):
            spans = [(a, b) for a, b in (*piece.above, piece.queries)]
            k, v = (
                _joined([*(b[i] for b in before), *(t[:, :, a:b] for a, b in spans)])
                for i, t in enumerate((keys, values))
            )
            for first in range(*piece.queries, QUERIES_AT_ONCE):
                some = (first, min(first + QUERIES_AT_ONCE, piece.queries[1]))
                mask = _mask(plan, (r, p, some, sliding_window), query, query.shape[1] // key.shape[1])
                own = slice(row.start + some[0], row.start + some[1])
                out[own] = _piece(query[0, :, own], k[0], v[0], mask, scaling, softcap)
    return out.unsqueeze(0), None


def _joined(parts: Sequence[Any]) -> Any:
    import torch

    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=2)


def _piece(query: Any, key: Any, value: Any, mask: Any, scaling: float | None, softcap: float | None) -> Any:
    """Attend from ``(heads, n, d)`` to ``(kv_heads, m, d)``; return ``(n, heads, d)``.

    The heads that share keys are laid out as more queries of the same head, so that no key is copied.
    """
    import torch

    heads, n, _ = query.shape
    together = query.reshape(key.shape[0], -1, query.shape[2])
    if softcap is None:
        out = torch.nn.functional.scaled_dot_product_attention(
            together[:, None], key[:, None], value[:, None], attn_mask=mask, scale=scaling
        )[:, 0]
    else:
        scores = together @ key.transpose(1, 2) * (query.shape[2] ** -0.5 if scaling is None else scaling)
        scores = softcap * torch.tanh(scores / softcap) + mask[0]
        out = torch.softmax(scores.float(), dim=-1).to(value.dtype) @ value
    return out.reshape(heads, n, -1).transpose(0, 1)


def _mask(plan: Plan, which: _Which, query: Any, repeats: int) -> Any:
    """Return the additive mask of queries of a piece, ``(1, 1, repeats * n, m)``.

    Made once for all layers with its window, where it is not too large to be kept.
    """
    import torch

    made = plan.masks.get(which)
    if made is None:
        r, p, queries, window = which
        row = plan.rows[r]
        seen = _visible(row.tree.pieces[p], queries, row.tree.depths, row.prefix_length, window)
        hidden = torch.from_numpy(~seen).to(query.device)
        made = torch.zeros(hidden.shape, dtype=query.dtype, device=query.device).masked_fill_(hidden, -torch.inf)
        made = made.repeat(repeats, 1)[None, None]
        if made.numel() <= KEPT_ENTRIES:
            plan.masks[which] = made
    return made


def _visible(
    piece: Piece, queries: tuple[int, int], depths: Tokens, prefix_length: int, window: int | None
) -> NDArray[np.bool_]:
    """Return which keys (prefix, nodes above, own nodes) some queries of a piece see, bool ``(n, m)``."""
    own, at = depths[slice(*queries)], piece.queries[0]
    shown = piece.visible[queries[0] - at : queries[1] - at]
    seen = np.concatenate([np.ones((len(own), prefix_length), bool), shown], axis=1)
    if window is not None:
        above = [depths[a:b] for a, b in piece.above]
        key_depths = np.concatenate([np.arange(prefix_length), *above, depths[slice(*piece.queries)]])
        seen &= own[:, None] - key_depths < window
    return seen
