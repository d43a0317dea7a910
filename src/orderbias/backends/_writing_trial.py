"""Whether texts stay the same when prompts are padded, or read as a tree: tried on the first prompts of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orderbias.backends._engines import TOLERANCE
from orderbias.backends._labels import Ids
from orderbias.backends._shared_reading import Layout, read, unread

#: Tokens whose probabilities must not depend on padding, and for how many tokens of a reply.
COMPARED_TOKENS, COMPARED_STEPS = 100, 3


@dataclass(frozen=True, slots=True)
class Settled:
    """Whether prompts may be continued in ``batches``, whether these share beginnings, and what is to be said."""

    batches: bool
    shares: bool
    notices: tuple[str, ...]


def settle(model: Any, prompts: Sequence[Ids], limit: int, *, shares: bool) -> Settled | None:
    """Compare the shortest and the longest prompt, together, with each alone.

    Parameters
    ----------
    model
        A causal language model of transformers.
    prompts
        As token ids.
    limit
        The most tokens of a prompt and its reply in a batch; longer ones are left out.
    shares
        Whether a tree is to be tried.

    Returns
    -------
    Settled or None
        None where these prompts tell nothing: all have one length, or the model answers them with no numbers.
    """
    told = [prompt for prompt in prompts if 1 < len(prompt) < limit]
    if len(set(map(len, told))) < 2:
        return None
    name = type(model).__name__
    tried = [min(told, key=len), max(told, key=len)]
    steps = min(COMPARED_STEPS, limit - len(tried[1]))
    alone = [_begun(model, unread([prompt], model.device), steps)[0] for prompt in tried]
    if not all(bool(one.logprobs.isfinite().any()) for one in alone):
        return None

    allowed, notices = TOLERANCE[model.dtype.itemsize], []
    worst = _error(_begun(model, unread(tried, model.device), steps), alone)
    if not worst <= allowed:
        notices.append(
            f"{name} answers differently when a prompt is padded (its log-probabilities differ by {worst:.2g}). "
            "Texts are written one at a time."
        )
        return Settled(False, shares, tuple(notices))
    if shares:
        try:
            shares = _error(_begun(model, read(model, tried), steps), alone) <= allowed
        except Exception:  # whatever an unknown architecture throws means that it does not take part
            shares = False
        if not shares:
            notices.append(f"{name} cannot read prompts as a tree. Each is read whole.")
    if model.dtype.itemsize < 4:
        notices.append("In half precision a reply may hang on which others it was computed with, by rounding.")
    return Settled(True, shares, tuple(notices))


@dataclass(frozen=True, slots=True)
class _Begun:
    """The first tokens of a reply, and the log-probabilities at each, ``(n_steps, n_tokens)``."""

    tokens: list[int]
    logprobs: Any


def _error(found: Sequence[_Begun], expected: Sequence[_Begun]) -> float:
    """Return the largest difference of log-probabilities, as far as the replies are the same.

    Only the most probable tokens are compared: far out, half precision is all rounding.
    """
    import torch

    worst = []
    for one, other in zip(found, expected, strict=True):
        for step in range(len(other.tokens)):
            if one.tokens[:step] != other.tokens[:step]:
                break
            top = other.logprobs[step].topk(min(COMPARED_TOKENS, other.logprobs.shape[-1])).indices
            worst.append((one.logprobs[step] - other.logprobs[step])[top].abs().max())
    return float(torch.stack(worst).max())


def _begun(model: Any, layout: Layout, steps: int) -> list[_Begun]:
    """Begin the most probable reply to each prompt, as continuing it does."""
    import torch

    with torch.inference_mode(), bare_settings(model, ()) as settings:
        settings.max_new_tokens, settings.output_logits, settings.return_dict_in_generate = steps, True, True
        out = model.generate(
            input_ids=layout.ids, attention_mask=layout.mask, generation_config=settings, **layout.given
        )
        logprobs = torch.log_softmax(torch.stack(out.logits, dim=1).double(), dim=-1)
    tokens = out.sequences[:, layout.ids.shape[1] :].tolist()
    return [_Begun(*row) for row in zip(tokens, logprobs, strict=True)]


@contextlib.contextmanager
def bare_settings(model: Any, ends: Sequence[int]) -> Iterator[Any]:
    """Put aside the generation settings that a model carries, which would fill in whatever a call leaves open."""
    from transformers import GenerationConfig

    own = model.generation_config
    ending = list(ends) or None
    model.generation_config = GenerationConfig(eos_token_id=ending, pad_token_id=ending[0] if ending else 0)
    try:
        yield GenerationConfig(do_sample=False, eos_token_id=ending, pad_token_id=ending[0] if ending else 0)
    finally:
        model.generation_config = own
