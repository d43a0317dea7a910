"""A batch of prompts read by a model of transformers, what several of them begin with once; must not know what follows.

Prompts of one item begin alike: a chat's opening, the question, an earlier reply. Such a beginning (a head) is read
once and its keys and values are handed to every prompt that has it; then the rests (the tails) are read together.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orderbias.backends._labels import Ids
from orderbias.backends._prefixes import shared_prefixes


@dataclass(frozen=True, slots=True)
class Layout:
    """Prompts as a model continues them: token ids ``(n_rows, n)`` and the mask of those that are real.

    ``given`` holds keys and values of the first columns, the heads, as transformers wants them; it is empty where
    nothing is read yet. Heads and tails are each padded on the left: a model that goes by the mask sees no gap between.
    """

    ids: Any
    mask: Any
    given: dict[str, Any] = field(default_factory=dict)


def padded(rows: Sequence[Ids], device: Any) -> Layout:
    """Lay out rows of which nothing is shared."""
    import torch

    longest = max(map(len, rows))
    # What stands under the mask is never seen; 0 is a token of every vocabulary.
    ids = torch.tensor([(0,) * (longest - len(row)) + tuple(row) for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    mask = (torch.arange(longest, device=device) >= longest - lengths[:, None]).long()
    return Layout(ids, mask)


def head_lengths(rows: Sequence[Ids]) -> list[int]:
    """Return how many tokens at the beginning of each row are worth reading once for several; 0 everywhere if none are.

    A head ends before the last token of a row, which is to be read for what follows it.

    Examples
    --------
    >>> head_lengths([(*range(40), 1), (*range(40), 2, 3), (7, 8)]), head_lengths([(1, 2), (1, 3)])
    ([40, 40, 1], [0, 0])
    """
    shared = shared_prefixes([np.array(row) for row in rows])
    if not any(shared) or min(map(len, rows)) < 2:
        return [0] * len(rows)
    # A row without a head would be all padding among the heads, of which a model makes nothing that is a number.
    return [max(1, min(n, len(row) - 1)) for n, row in zip(shared, rows, strict=True)]


def lay_out(model: Any, rows: Sequence[Ids], heads: Sequence[int]) -> Layout:
    """Lay out prompts, their heads read once each.

    Parameters
    ----------
    model
        A causal language model of transformers.
    rows
        Prompts as token ids.
    heads
        Lengths of their heads, from 1 to one less than the row; 0 for all: nothing is read.
    """
    if not any(heads):
        return padded(rows, model.device)
    import torch

    own = [tuple(row[:n]) for row, n in zip(rows, heads, strict=True)]
    distinct = {head: i for i, head in enumerate(dict.fromkeys(own))}
    read = padded(list(distinct), model.device)
    where = {"position_ids": (read.mask.cumsum(-1) - 1).clamp_min(0), "logits_to_keep": 1}
    known = inspect.signature(model.forward).parameters
    out = model(
        input_ids=read.ids,
        attention_mask=read.mask,
        use_cache=True,
        return_dict=True,
        **{name: value for name, value in where.items() if name in known},
    )
    which = torch.tensor([distinct[head] for head in own], device=model.device)
    kept = kept_rows(out, which)
    tails = padded([row[n:] for row, n in zip(rows, heads, strict=True)], model.device)
    ids, mask = (torch.cat([a[which], b], dim=1) for a, b in ((read.ids, tails.ids), (read.mask, tails.mask)))
    return Layout(ids, mask, kept)


def kept_rows(out: Any, rows: Any) -> dict[str, Any]:
    """Return what was computed of some rows, as transformers wants it; nothing where it cannot be cut to rows."""
    for name in ("cache", "past_key_values"):
        if name in out:
            try:
                out[name].batch_select_indices(rows)
            except AttributeError:  # a state that is no list of tokens, as Mamba's
                return {}
            return {name: out[name]}
    return {}


def longest_with_gaps(config: Any) -> float:
    """Return the longest layout in which a gap between head and tail is no matter: a window would count it as well."""
    text = config.get_text_config()
    windows = [getattr(text, name, None) for name in ("sliding_window", "attention_chunk_size")]
    return min((int(w) for w in windows if w), default=float("inf"))
