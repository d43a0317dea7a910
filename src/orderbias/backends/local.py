"""A model of transformers on this machine, asked for the next-token probability of labels.

Must not know what the labels stand for or why prompts of one item resemble each other; that they do is why they are
scored together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

from orderbias.backends import LabelReply, LabelRequest, Workload
from orderbias.backends._labels import FORMS, Continuation, LabelTokenizer, Path, Readout
from orderbias.backends._loading import Loaded, load_model
from orderbias.backends._plain import PlainEngine
from orderbias.errors import ArgumentError, ModelError
from orderbias.signature import text_hash

LabelForms = Literal["best", "sum"]
EngineName = Literal["auto", "tree", "plain"]

#: Items whose first prompts decide the form of labels and check the engine.
PROBE_ITEMS = 8
DEFAULT_TOKEN_BUDGET = 2048


class _Engine(Protocol):
    def score(self, groups: Sequence[Sequence[Path]]) -> list[list[list[float]]]: ...


class LocalBackend:
    """Next-token log-probabilities of labels from a causal language model; see :meth:`load`.

    Attributes
    ----------
    notices : tuple of str
        What a user should be told of how the numbers were made.
    """

    def __init__(
        self,
        loaded: Loaded,
        *,
        chat: bool = False,
        label_forms: LabelForms = "best",
        label_form: str | None = None,
        token_budget: int = DEFAULT_TOKEN_BUDGET,
        engine: EngineName = "auto",
    ) -> None:
        _check_choice("label_forms", label_forms, ("best", "sum"))
        _check_choice("engine", engine, ("auto", "tree", "plain"))
        if token_budget < 1:
            raise ArgumentError(f"`token_budget` must be at least 1. Got {token_budget}.")
        self.notices: tuple[str, ...] = ()
        self._loaded = loaded
        self._chat = chat
        self._label_forms = label_forms
        self._labels = LabelTokenizer(loaded.tokenizer, chat=chat)
        self._engine: _Engine = PlainEngine(loaded.model, token_budget)
        self._forms: tuple[str, ...] | None = None
        self._limit = _longest(loaded.model.config)
        if label_form is not None:
            self.label_form = label_form

    @classmethod
    def load(
        cls,
        model: str,
        *,
        revision: str | None = None,
        dtype: str = "float32",
        device: str = "auto",
        chat: bool = False,
        label_forms: LabelForms = "best",
        label_form: str | None = None,
        token_budget: int = DEFAULT_TOKEN_BUDGET,
        trust_remote_code: bool = False,
        engine: EngineName = "auto",
    ) -> LocalBackend:
        """Load a model.

        Parameters
        ----------
        model
            Hub id, local folder, or GGUF file (converted once into the user's cache).
        revision
            Commit, tag or branch of a hub id.
        dtype
            ``float32``, ``bfloat16``, ``float16`` or ``auto`` (as stored). The head is computed in float32 always.
        device
            ``auto``, ``cpu``, ``cuda`` or ``cuda:N``.
        chat
            Wrap prompts in the model's chat template, as a user's message.
        label_forms
            ``best``: labels with or without a space before them, whichever holds more probability on the first items,
            the same for the whole run. ``sum``: the probabilities of both forms added.
        label_form
            With ``best``, the form found by an earlier part of the run: ``"A"`` or ``" A"``.
        token_budget
            Tokens of one batch.
        trust_remote_code
            Whether code that comes with a hub model may run.
        engine
            ``tree`` computes each distinct prefix once, ``plain`` every prompt by itself; ``auto`` takes the tree where
            it agrees with one prompt at a time.

        Raises
        ------
        ArgumentError
            If an option is outside its range.
        ModelError
            If the model cannot be loaded, or not with these options.
        """
        loaded = load_model(model, revision=revision, dtype=dtype, device=device, trust_remote_code=trust_remote_code)
        return cls(
            loaded, chat=chat, label_forms=label_forms, label_form=label_form, token_budget=token_budget, engine=engine
        )

    @property
    def identity(self) -> Mapping[str, str]:
        """What makes the numbers reproducible; ``label_form`` joins once it is known (see :meth:`settle`)."""
        entries = {
            "model": self._loaded.name,
            "revision": self._loaded.revision,
            "dtype": str(self._loaded.model.dtype).removeprefix("torch."),
            "chat_template": text_hash(str(self._loaded.tokenizer.chat_template)) if self._chat else "none",
            "label_forms": self._label_forms,
        }
        form = self.label_form
        return entries if form is None else {**entries, "label_form": form}

    @property
    def label_form(self) -> str | None:
        """The form in use, shown on the letter A: ``"A"``, ``" A"``, or both joined by ``+``; None until known."""
        return None if self._forms is None else "+".join(f"{form}A" for form in self._forms)

    @label_form.setter
    def label_form(self, form: str) -> None:
        known = {"+".join(f"{f}A" for f in forms): forms for forms in (("",), (" ",), FORMS)}
        if form not in known:
            raise ArgumentError(f"`label_form` must be one of {sorted(known)}. Got {form!r}.")
        if self._label_forms == "best" and len(known[form]) > 1:
            raise ArgumentError(f"`label_form` must be one form where `label_forms` is 'best'. Got {form!r}.")
        self._forms = known[form]

    def workload(self, requests: Sequence[LabelRequest]) -> Workload:
        """Count prompt tokens, and the distinct prefixes among the prompts of each item."""
        self._settle_forms(requests)
        tokens = unique = 0
        for group in _by_item(requests):
            contexts = [c.context for form in self._forms or () for c in self._labels.continuations(group, form)]
            tokens += sum(len(c) for c in contexts[: len(group)])
            unique += len({c[:n] for c in contexts for n in range(1, len(c) + 1)})
        return Workload(tokens, unique)

    def settle(self, requests: Sequence[LabelRequest]) -> None:
        """Decide, on the first requests of a run, all that stays the same for the rest of it.

        That is the form of labels and the engine. :meth:`ask` does it by itself; call it earlier where ``identity``
        must be complete before the first answer.
        """
        self._settle_forms(requests)

    def ask(self, requests: Sequence[LabelRequest]) -> list[LabelReply]:
        """Answer requests, in their order.

        A prompt longer than the model can read is answered with status ``error``; it is never cut.

        Raises
        ------
        ModelError
            If labels cannot be told apart by their tokens.
        """
        self.settle(requests)
        return [reply for group in self._score(requests, self._forms or FORMS) for reply in group]

    def _score(self, requests: Sequence[LabelRequest], forms: Sequence[str]) -> Iterator[list[LabelReply]]:
        groups = list(_by_item(requests))
        read = iter(list(zip(*(self._labels.continuations(requests, form) for form in forms), strict=True)))
        continuations = [[next(read) for _ in group] for group in groups]
        readouts = [[Readout.of(c) for c in group] for group in continuations]
        paths = [[p for r in group for p in r.paths if len(p.ids) <= self._limit] for group in readouts]
        for group, parts, values in zip(readouts, continuations, self._engine.score(paths), strict=True):
            found = dict(zip([p for r in group for p in r.paths if len(p.ids) <= self._limit], values, strict=True))
            yield [self._reply(r, c, found) for r, c in zip(group, parts, strict=True)]

    def _reply(
        self, readout: Readout, parts: Sequence[Continuation], found: Mapping[Path, list[float]]
    ) -> LabelReply:
        tokens = len(parts[0].context)
        longest = max(len(p.ids) for p in readout.paths)
        if longest > self._limit:
            reason = f"the prompt has {longest} tokens, the model reads at most {self._limit}; it was not cut"
            return LabelReply(None, tokens, "error", reason)
        logprobs = readout.logprobs([found[p] for p in readout.paths])
        if any(math.isnan(v) for v in logprobs):
            return LabelReply(None, tokens, "error", f"the model's logits are not finite in {self._loaded.model.dtype}")
        return LabelReply(logprobs, tokens)

    def _settle_forms(self, requests: Sequence[LabelRequest]) -> None:
        if self._forms is not None or not requests:
            return
        firsts = [group[0] for group in _by_item(requests)][:PROBE_ITEMS]
        usable, reasons = [], []
        for form in FORMS:
            try:
                self._labels.continuations(firsts, form)
                usable.append(form)
            except ModelError as e:
                reasons.append(str(e))
        if not usable:
            raise ModelError(" ".join(reasons))
        if self._label_forms == "sum" or len(usable) == 1:
            self._forms = tuple(usable)
            return
        masses = [self._mass(firsts, form) for form in usable]
        self._forms = (usable[masses.index(max(masses))],)

    def _mass(self, requests: Sequence[LabelRequest], form: str) -> float:
        replies = [r for group in self._score(requests, [form]) for r in group]
        return sum(math.exp(v) for r in replies for v in r.logprobs or ())


def _by_item(requests: Sequence[LabelRequest]) -> Iterator[list[LabelRequest]]:
    """Split requests where the item changes."""
    group: list[LabelRequest] = []
    for request in requests:
        if group and request.item_id != group[-1].item_id:
            yield group
            group = []
        group.append(request)
    if group:
        yield group


def _longest(config: Any) -> int:
    """Return the most tokens that a model reads."""
    text = config.get_text_config()
    return int(getattr(text, "max_position_embeddings", None) or 1 << 30)


def _check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ArgumentError(f"`{name}` must be one of {', '.join(allowed)}. Got {value!r}.")
