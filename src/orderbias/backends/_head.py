"""The model's own output head, at a few rows only and in float32; must not know which tokens are labels.

The causal model is called whole, so that everything an architecture does to its logits (scaling, soft caps) is done by
its own code. Only the matrix product of the head is exchanged: it sees the wanted rows, and computes in float32.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ModelError

#: Values of a weight matrix cast to float32 at a time.
_CHUNK = 1 << 26


def next_token_logprobs(model: Any, rows: Any, wanted: Sequence[Sequence[int]], **inputs: Any) -> list[list[float]]:
    """Run a causal model and return log-probabilities of wanted tokens after some of its positions.

    Parameters
    ----------
    model
        A causal language model of transformers.
    rows
        Indices into the flattened ``(batch * length)`` positions, a tensor of shape ``(n,)``.
    wanted
        Token ids for each row.
    **inputs
        What the model is called with.

    Returns
    -------
    list of list of float
        Natural logs of P(token | everything before), over the whole vocabulary, in the order of ``wanted``.
    """
    import torch

    with torch.inference_mode(), _float32_rows(model, rows):
        logits = model(**inputs, use_cache=False, return_dict=True).logits.reshape(len(rows), -1)
        total = torch.logsumexp(logits, dim=1).double()
        lengths = [len(w) for w in wanted]
        at = torch.tensor(np.repeat(np.arange(len(wanted)), lengths), device=logits.device)
        tokens = torch.tensor([t for w in wanted for t in w], device=logits.device)
        values: NDArray[np.float64] = (logits[at, tokens].double() - total[at]).cpu().numpy()
    return [v.tolist() for v in np.split(values, np.cumsum(lengths)[:-1])]


@contextlib.contextmanager
def _float32_rows(model: Any, rows: Any) -> Iterator[None]:
    """Let the head see ``rows`` of the flattened hidden states alone, and answer in float32."""
    import torch

    head = model.get_output_embeddings()
    if head is None:
        raise ModelError(f"{type(model).__name__} has no output head to read next-token probabilities from.")
    own = head.forward
    plain = type(head) is torch.nn.Linear

    def forward(hidden: Any) -> Any:
        picked = hidden.reshape(-1, hidden.shape[-1])[rows]
        out = _linear(picked.float(), head.weight, head.bias) if plain else own(picked).float()
        return out.unsqueeze(0)

    replaced = "forward" in vars(head)
    head.forward = forward
    try:
        yield
    finally:
        if replaced:
            head.forward = own
        else:
            del head.forward


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    import torch

    bias = None if bias is None else bias.float()
    if weight.dtype == torch.float32:
        return torch.nn.functional.linear(x, weight, bias)
    out = torch.cat([x @ w.float().T for w in weight.split(max(1, _CHUNK // weight.shape[1]))], dim=1)
    return out if bias is None else out + bias
