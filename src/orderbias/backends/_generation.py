"""Texts written by a model of transformers, many prompts at a time; must not know what they are about.

Prompts of like length are continued together, padded on the left. Each reply is what its prompt alone would be given:
the most probable tokens, or tokens drawn with a generator of its own. Nothing but what a request says decides it: the
settings that a model carries along (a repetition penalty, a top-k) are put aside.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from orderbias.backends import TextReply, TextRequest
from orderbias.backends._engines import TOLERANCE, alone_above
from orderbias.backends._labels import Ids
from orderbias.backends._loading import Loaded

#: A batch of texts may hold so many times the tokens of a batch that is only read: at each step one a text is computed.
TEXT_BUDGET = 4
#: Steps of the first round; each further round has twice as many. Most letters are written in fewer.
FIRST_STEPS = 6
#: Tokens whose probabilities must not depend on padding.
COMPARED_TOKENS = 100


@dataclass(frozen=True, slots=True)
class _Row:
    """A request with its prompt's tokens, and how many more may follow them."""

    request: TextRequest
    ids: Ids
    room: int

    @property
    def size(self) -> int:
        """The most tokens it can come to."""
        return len(self.ids) + self.room


class Writer:
    """Continues prompts.

    Parameters
    ----------
    loaded
        A causal language model of transformers with its tokenizer.
    token_budget
        Tokens of a batch that is read; one that is written may hold ``TEXT_BUDGET`` times as many, replies included.
    limit
        The most tokens that the model reads.
    chat
        Whether replies are turns of a chat, which end with the token that ends a turn in the chat template.
    """

    def __init__(self, loaded: Loaded, token_budget: int, limit: int, *, chat: bool = False) -> None:
        self._loaded = loaded
        self._budget = TEXT_BUDGET * token_budget
        self._limit = limit
        self._alone_above = alone_above(loaded.model.config)
        self._ends = end_tokens(loaded, chat=chat)
        self._batches_agree: bool | None = None

    def write(self, requests: Sequence[TextRequest], prompts: Sequence[Ids]) -> tuple[list[TextReply], tuple[str, ...]]:
        """Return the reply to each request, whose prompt has the tokens of ``prompts``, and what must be said of it.

        A prompt that leaves no room for a reply is answered with status ``error``; it is never cut.
        """
        rows = [_Row(r, p, min(r.max_tokens, self._limit - len(p))) for r, p in zip(requests, prompts, strict=True)]
        fitting = sorted((i for i, row in enumerate(rows) if row.room > 0), key=lambda i: (rows[i].size, i))
        notices = self._settle([rows[i] for i in fitting])
        replies = {i: self._too_long(row) for i, row in enumerate(rows) if row.room <= 0}
        for batch in self._batches(fitting, rows):
            replies.update(zip(batch, self._continue([rows[i] for i in batch]), strict=True))
        return [replies[i] for i in range(len(rows))], notices

    def _too_long(self, row: _Row) -> TextReply:
        reason = f"the prompt has {len(row.ids)} tokens, the model reads at most {self._limit}; it was not cut"
        return TextReply(None, len(row.ids), status="error", reason=reason)

    def _batches(self, order: Sequence[int], rows: Sequence[_Row]) -> Iterator[list[int]]:
        """Cut rows, sorted by size, into batches within the budget."""
        batch: list[int] = []
        for i in order:
            size = rows[i].size
            alone = not self._batches_agree or (self._alone_above is not None and size > self._alone_above)
            if batch and (alone or (len(batch) + 1) * size > self._budget):
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch

    def _settle(self, rows: Sequence[_Row]) -> tuple[str, ...]:
        """Find out, on the first prompts of unequal length, whether padding leaves the model's answers alone."""
        if self._batches_agree is not None or not rows or len(rows[0].ids) == len(rows[-1].ids):
            return ()
        worst = _padding_error(self._loaded.model, rows[0].ids, rows[-1].ids)
        self._batches_agree = worst <= TOLERANCE[self._loaded.model.dtype.itemsize]
        if self._batches_agree:
            return ()
        return (
            f"{type(self._loaded.model).__name__} answers differently when a prompt is padded (its log-probabilities "
            f"differ by {worst:.2g}). Texts are written one at a time.",
        )

    def _continue(self, batch: Sequence[_Row]) -> list[TextReply]:
        """Write the replies of one batch, in rounds: a row whose reply has ended is not computed any further."""
        import torch

        model = self._loaded.model
        ids, mask = _padded([row.ids for row in batch], model.device)
        drawing = _Drawing([row.request for row in batch])
        written: list[list[int]] = [[] for _ in batch]
        rows, steps, kept = list(range(len(batch))), FIRST_STEPS, _Kept()
        with torch.inference_mode(), _bare_settings(model, self._ends) as settings:
            settings.return_dict_in_generate = True
            while rows:
                settings.max_new_tokens = min(steps, max(batch[i].room - len(written[i]) for i in rows))
                out = model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    generation_config=settings,
                    logits_processor=[drawing] if drawing.needed else None,
                    **kept.given,
                )
                for i, tokens in zip(rows, out.sequences[:, ids.shape[1] :].tolist(), strict=True):
                    written[i] += tokens
                going = [n for n, i in enumerate(rows) if self._goes_on(batch[i], written[i])]
                rows, steps = [rows[n] for n in going], 2 * steps
                if rows:
                    added = out.sequences.shape[1] - ids.shape[1]
                    ids = out.sequences[going]
                    mask = torch.cat([mask[going], mask.new_ones(len(going), added)], dim=1)
                    drawing.keep(going)
                    kept = _Kept.of(out, torch.tensor(going, device=ids.device))
        return [self._reply(row, tokens) for row, tokens in zip(batch, written, strict=True)]

    def _goes_on(self, row: _Row, tokens: list[int]) -> bool:
        return len(tokens) < row.room and not any(token in self._ends for token in tokens)

    def _reply(self, row: _Row, tokens: list[int]) -> TextReply:
        """Cut a row of a batch where its own reply ends."""
        own = tokens[: row.room]
        end = next((n for n, token in enumerate(own) if token in self._ends), None)
        kept = own if end is None else own[:end]
        text = str(self._loaded.tokenizer.decode(kept, skip_special_tokens=True))
        n_out = len(kept) + (end is not None)
        return TextReply(text, len(row.ids), n_out, finished=end is not None)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What need not be computed again, as transformers wants it back; nothing where it cannot be cut to rows."""

    given: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, out: Any, rows: Any) -> _Kept:
        """Keep some rows of what a round computed."""
        for name in ("cache", "past_key_values"):
            if name in out:
                try:
                    out[name].batch_select_indices(rows)
                except AttributeError:  # a state that is no list of tokens, as Mamba's
                    return cls()
                return cls({name: out[name]})
        return cls()


def _padded(rows: Sequence[Ids], device: Any) -> tuple[Any, Any]:
    """Return token ids padded on the left, and the mask of those that are real."""
    import torch

    longest = max(map(len, rows))
    # What stands under the mask is never seen; 0 is a token of every vocabulary.
    ids = torch.tensor([(0,) * (longest - len(row)) + tuple(row) for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    mask = (torch.arange(longest, device=device) >= longest - lengths[:, None]).long()
    return ids, mask


def _padding_error(model: Any, short: Ids, long: Ids) -> float:
    """Return the largest difference that a longer neighbour makes to the first log-probabilities after a prompt.

    Only the most probable tokens are compared: far out, half precision is all rounding.
    """
    import torch

    found = []
    for rows in ([short], [short, long]):
        ids, mask = _padded(rows, model.device)
        with torch.inference_mode(), _bare_settings(model, ()) as settings:
            settings.max_new_tokens, settings.output_logits, settings.return_dict_in_generate = 1, True, True
            logits = model.generate(input_ids=ids, attention_mask=mask, generation_config=settings).logits[0][0]
        found.append(torch.log_softmax(logits.double(), dim=-1))
    top = found[0].topk(min(COMPARED_TOKENS, len(found[0]))).indices
    return float((found[0] - found[1])[top].abs().max())


class _Drawing:
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


@contextlib.contextmanager
def _bare_settings(model: Any, ends: Sequence[int]) -> Iterator[Any]:
    """Put aside the generation settings that a model carries, which would fill in whatever a call leaves open."""
    from transformers import GenerationConfig

    own = model.generation_config
    ending = list(ends) or None
    model.generation_config = GenerationConfig(eos_token_id=ending, pad_token_id=ending[0] if ending else 0)
    try:
        yield GenerationConfig(do_sample=False, eos_token_id=ending, pad_token_id=ending[0] if ending else 0)
    finally:
        model.generation_config = own


def end_tokens(loaded: Loaded, *, chat: bool) -> tuple[int, ...]:
    """Return the tokens that end a reply: the model's, which may be several, the tokenizer's, and that of a turn."""
    found: list[int] = []
    for said in (
        getattr(loaded.model.generation_config, "eos_token_id", None),
        getattr(loaded.model.config.get_text_config(), "eos_token_id", None),
        loaded.tokenizer.eos_token_id,
        _end_of_turn(loaded.tokenizer) if chat else None,
    ):
        found += [] if said is None else said if isinstance(said, list | tuple) else [said]
    return tuple(dict.fromkeys(int(token) for token in found))


def _end_of_turn(tokenizer: Any) -> int | None:
    """Return the special token that a chat template puts right after a reply; None where it puts none."""
    mark = "a reply"
    turns = [{"role": "user", "content": "a question"}, {"role": "assistant", "content": mark}]
    try:
        text = str(tokenizer.apply_chat_template(turns, tokenize=False))
    except Exception:  # a template may refuse anything; the other ends remain
        return None
    following = tokenizer(text.rpartition(mark)[2].strip(), add_special_tokens=False)["input_ids"][:1]
    return following[0] if following and following[0] in tokenizer.all_special_ids else None
