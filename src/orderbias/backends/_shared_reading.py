"""A batch of prompts read by a model of transformers, every distinct beginning once; must not know what follows.

Prompts of one item begin alike: a chat's opening, the question, an earlier reply. They are read as one tree, without
padding; then every prompt is handed the keys and values of its own tokens, all but the last, which is read to go on.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orderbias.backends._head import next_token_logprobs
from orderbias.backends._labels import Ids
from orderbias.backends._prefix_tree import build
from orderbias.backends._tree_attention import PIECE_OVERHEAD, Plan, Row, tree_attention


@dataclass(frozen=True, slots=True)
class Layout:
    """Prompts as a model continues them: token ids ``(n_rows, n)``, padded on the left, and the mask of real ones.

    ``given`` holds keys and values of all columns but the last, as transformers wants them; it is empty where nothing
    is read yet.
    """

    ids: Any
    mask: Any
    given: dict[str, Any] = field(default_factory=dict)


def unread(rows: Sequence[Ids], device: Any) -> Layout:
    """Lay out prompts of which nothing is read."""
    import torch

    longest = max(map(len, rows))
    # What stands under the mask is never seen; 0 is a token of every vocabulary.
    ids = torch.tensor([(0,) * (longest - len(row)) + tuple(row) for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    mask = (torch.arange(longest, device=device) >= longest - lengths[:, None]).long()
    return Layout(ids, mask)


def read(model: Any, rows: Sequence[Ids]) -> Layout:
    """Read prompts as one tree and lay them out.

    Parameters
    ----------
    model
        A causal language model of transformers.
    rows
        Prompts as token ids, each of two or more.

    Raises
    ------
    UnsupportedError
        If the architecture mixes positions in a way that no tree can follow.
    """
    import torch
    from transformers import DynamicCache

    cut = [np.array(row[:-1], np.int64) for row in rows]
    tree = build(cut, overhead=PIECE_OVERHEAD[model.device.type])
    row = Row(tree, 0, keep=True)
    tokens, depths, end = (torch.from_numpy(a).to(model.device) for a in (tree.tokens, tree.depths, tree.ends[:1]))
    with tree_attention(model, Plan([row])):
        next_token_logprobs(model, end, [(0,)], input_ids=tokens[None], position_ids=depths[None])
    longest = max(map(len, tree.lines))
    # Any node serves as padding: the mask hides it.
    at = torch.from_numpy(np.array([np.pad(line, (longest - len(line), 0)) for line in tree.lines])).to(model.device)
    cache = DynamicCache(config=model.config)
    with torch.inference_mode():
        for layer, (keys, values) in sorted(row.kept.items()):
            cache.update(keys[0][:, at].transpose(0, 1), values[0][:, at].transpose(0, 1), layer)
    layout = unread(rows, model.device)
    # The newer name of the two, where there is one.
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    return Layout(layout.ids, layout.mask, {name: cache})
