"""Texts written by a model of transformers, many prompts at a time; must not know what they are about.

Prompts of like length are read together, what they begin with alike once, and continued together, padded on the left.
Each reply is what its prompt alone would be given: the most probable tokens, or tokens drawn with a generator of its
own. Nothing but what a request says decides it: the settings that a model carries along (a repetition penalty, a top-k)
are put aside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from orderbias.backends import TextReply, TextRequest
from orderbias.backends._drawing import Drawing, Soundness
from orderbias.backends._engines import alone_above, one_line
from orderbias.backends._labels import Ids
from orderbias.backends._loading import Loaded
from orderbias.backends._shared_reading import Layout, read, unread
from orderbias.backends._writing_trial import bare_settings, settle
from orderbias.errors import ModelError

#: A batch of texts may hold so many times the tokens of a batch that is only read: at each step one a text is computed.
TEXT_BUDGET = 4
#: Steps of the first round; each further round has twice as many. Most letters are written in fewer.
FIRST_STEPS = 6


@dataclass(frozen=True, slots=True)
class _Row:
    """A request with its prompt's tokens, and how many more may follow them."""

    request: TextRequest
    ids: Ids
    room: int

    @property
    def fits(self) -> bool:
        """Whether there is something to continue, and room for it."""
        return bool(self.ids) and self.room > 0

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
    shares
        Whether what prompts begin with alike is read once, if the model's answers stay the same.
    """

    def __init__(
        self, loaded: Loaded, token_budget: int, limit: int, *, chat: bool = False, shares: bool = True
    ) -> None:
        self._loaded = loaded
        self._budget = TEXT_BUDGET * token_budget
        self._limit = limit
        self._alone_above = alone_above(loaded.model.config)
        self._ends = end_tokens(loaded, chat=chat)
        self._batches_agree: bool | None = None
        self._shares = shares

    def write(self, requests: Sequence[TextRequest], prompts: Sequence[Ids]) -> tuple[list[TextReply], tuple[str, ...]]:
        """Return the reply to each request, whose prompt has the tokens of ``prompts``, and what must be said of it.

        A prompt that leaves no room for a reply is answered with status ``error``; it is never cut.
        """
        rows = [_Row(r, p, min(r.max_tokens, self._limit - len(p))) for r, p in zip(requests, prompts, strict=True)]
        replies = {i: self._unfit(row) for i, row in enumerate(rows) if not row.fits}
        fitting = _in_order(rows)
        notices = self._settle([rows[i].ids for i in fitting])
        for batch in self._batches(fitting, rows):
            try:
                replies.update(zip(batch, self._continue([rows[i] for i in batch]), strict=True))
            except (RuntimeError, ValueError, IndexError) as e:  # what models throw that cannot, or find no memory
                raise ModelError(
                    f"{type(self._loaded.model).__name__} must be able to continue {len(batch)} prompts. It failed: "
                    f"{one_line(e)}. Use a smaller --token-budget if memory ran out, else another version of "
                    "transformers."
                ) from e
        return [replies[i] for i in range(len(rows))], notices

    def _unfit(self, row: _Row) -> TextReply:
        if not row.ids:
            return TextReply(None, 0, status="error", reason="the prompt has no token")
        reason = f"the prompt has {len(row.ids)} tokens, the model reads at most {self._limit}; it was not cut"
        return TextReply(None, len(row.ids), status="error", reason=reason)

    def _batches(self, order: Sequence[int], rows: Sequence[_Row]) -> Iterator[list[int]]:
        """Cut rows into batches within the budget."""
        batch: list[int] = []
        largest = 0
        for i in order:
            size = rows[i].size
            if not self._batches_agree or (self._alone_above is not None and size > self._alone_above):
                yield [i]
                continue
            if batch and (len(batch) + 1) * max(largest, size) > self._budget:
                yield batch
                batch, largest = [], 0
            batch.append(i)
            largest = max(largest, size)
        if batch:
            yield batch

    def _settle(self, prompts: Sequence[Ids]) -> tuple[str, ...]:
        """Find out, on the first prompts that tell, whether padding and shared reading leave answers alone."""
        if self._batches_agree is not None:
            return ()
        # A prompt that is written alone tells nothing of a batch.
        longest = min(self._limit, self._alone_above or self._limit)
        found = settle(self._loaded.model, prompts, longest, shares=self._shares)
        if found is None:
            return ()
        self._batches_agree, self._shares = found.batches, found.shares
        return found.notices

    def _continue(self, batch: Sequence[_Row]) -> list[TextReply]:
        """Write the replies of one batch, in rounds: a row whose reply has ended is not computed any further."""
        import torch

        model = self._loaded.model
        drawing, sound = Drawing([row.request for row in batch]), Soundness()
        written: list[list[int]] = [[] for _ in batch]
        broken: set[int] = set()
        rows, steps = list(range(len(batch))), FIRST_STEPS
        with torch.inference_mode(), bare_settings(model, self._ends) as settings:
            layout = self._layout(batch)
            ids, mask, given = layout.ids, layout.mask, layout.given
            settings.return_dict_in_generate = True
            while rows:
                if ids.shape[1] >= self._limit:  # some models cannot hold a longer batch, padding and all
                    ids, mask, given = *_unpadded(ids, mask), {}
                # No row is computed past its own room: positions beyond a model's limit change, or break, all others.
                rooms = (batch[i].room - len(written[i]) for i in rows)
                settings.max_new_tokens = min(steps, self._limit - ids.shape[1], *rooms)
                out = model.generate(
                    input_ids=ids,
                    attention_mask=mask,
                    generation_config=settings,
                    logits_processor=[sound, drawing] if drawing.needed else [sound],
                    **given,
                )
                new = out.sequences[:, ids.shape[1] :].tolist()
                for i, tokens, n_fine in zip(rows, new, sound.taken(), strict=True):
                    written[i] += tokens
                    if n_fine < len(tokens) and not self._ended(tokens[:n_fine]):
                        broken.add(i)
                going = [n for n, i in enumerate(rows) if i not in broken and self._goes_on(batch[i], written[i])]
                rows, steps = [rows[n] for n in going], 2 * steps
                if rows:
                    added = out.sequences.shape[1] - ids.shape[1]
                    ids = out.sequences[going]
                    mask = torch.cat([mask[going], mask.new_ones(len(going), added)], dim=1)
                    drawing.keep(going)
                    given = _kept(out, torch.tensor(going, device=ids.device))
        return [self._broken(row) if i in broken else self._reply(row, written[i]) for i, row in enumerate(batch)]

    def _layout(self, batch: Sequence[_Row]) -> Layout:
        prompts = [row.ids for row in batch]
        if self._shares and self._batches_agree and len(batch) > 1 and min(map(len, prompts)) > 1:
            return read(self._loaded.model, prompts)
        return unread(prompts, self._loaded.model.device)

    def _broken(self, row: _Row) -> TextReply:
        kind = str(self._loaded.model.dtype).removeprefix("torch.")
        reason = f"the model's logits are no numbers in {kind}; float32 or bfloat16 hold larger ones"
        return TextReply(None, len(row.ids), status="error", reason=reason)

    def _goes_on(self, row: _Row, tokens: list[int]) -> bool:
        return len(tokens) < row.room and not self._ended(tokens)

    def _ended(self, tokens: list[int]) -> bool:
        return any(token in self._ends for token in tokens)

    def _reply(self, row: _Row, tokens: list[int]) -> TextReply:
        """Cut a row of a batch where its own reply ends."""
        own = tokens[: row.room]
        end = next((n for n, token in enumerate(own) if token in self._ends), None)
        kept = own if end is None else own[:end]
        text = str(self._loaded.tokenizer.decode(kept, skip_special_tokens=True))
        n_out = len(kept) + (end is not None)
        return TextReply(text, len(row.ids), n_out, finished=end is not None)


def _unpadded(ids: Any, mask: Any) -> tuple[Any, Any]:
    """Leave out the columns that are padding in all rows."""
    first = int(mask.any(dim=0).int().argmax())
    return ids[:, first:], mask[:, first:]


def _kept(out: Any, rows: Any) -> dict[str, Any]:
    """Return what a round computed of some rows, as transformers wants it; nothing where it cannot be cut to rows.

    A state that is no list of keys and values, as Mamba's, is read again: not every kind of it is cut as it should be.
    """
    from transformers import DynamicCache

    for name in ("cache", "past_key_values"):
        if name in out:
            cache = out[name]
            if type(cache) is not DynamicCache or any(type(layer).__name__ not in _PLAIN for layer in cache.layers):
                return {}
            cache.batch_select_indices(rows)
            return {name: cache}
    return {}


#: Layers of a cache that hold keys and values and nothing else.
_PLAIN = ("DynamicLayer", "DynamicSlidingWindowLayer")


def _in_order(rows: Sequence[_Row]) -> list[int]:
    """Return the numbers of the rows that fit: an item's together, items of like length next to each other."""
    fitting = [i for i, row in enumerate(rows) if row.fits]
    longest: dict[str, int] = {}
    for i in fitting:
        longest[rows[i].request.item_id] = max(rows[i].size, longest.get(rows[i].request.item_id, 0))
    return sorted(fitting, key=lambda i: (longest[rows[i].request.item_id], rows[i].request.item_id, rows[i].size, i))


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
