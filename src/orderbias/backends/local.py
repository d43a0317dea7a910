"""A model of transformers on this machine, asked for the next-token probability of labels or for a written reply.

Must not know what the labels stand for or why prompts of one item resemble each other; that they do is why they are
scored together.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from orderbias.backends import (
    LabelReply,
    LabelRequest,
    Reply,
    Request,
    TextReply,
    TextRequest,
    Workload,
    answered_by_kind,
    by_kind,
)
from orderbias.backends._cpu import keep_freed_memory
from orderbias.backends._engines import CHECKED_GROUPS, Engine, EngineName, choose_engine
from orderbias.backends._generation import Writer
from orderbias.backends._labels import FORMS, LabelTokenizer, Path, Readout
from orderbias.backends._loading import Loaded, load_model
from orderbias.backends._prefixes import count_shared
from orderbias.errors import ArgumentError, ModelError
from orderbias.signature import text_hash

LabelForms = Literal["best", "sum"]

#: Items whose first prompts decide the form of labels.
PROBE_ITEMS = 8
DEFAULT_TOKEN_BUDGET = 2048


class LocalBackend:
    """Next-token log-probabilities of labels, and texts, from a causal language model; see :meth:`load`.

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
        self._token_budget = token_budget
        self._engine_name: EngineName = engine
        self._engine: Engine | None = None
        self._forms: tuple[str, ...] | None = None
        self._lock = threading.Lock()
        self._limit = loaded.limit
        self._writer = Writer(loaded, token_budget, self._limit, chat=chat, shares=engine != "plain")
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
            ``best``: labels with or without a space before them, whichever weighs more at first. ``sum``: both.
        label_form
            With ``best``, the form found by an earlier part of the run: ``"A"`` or ``" A"``.
        token_budget
            Tokens of one batch.
        trust_remote_code
            Whether code that comes with a hub model may run.
        engine
            ``tree`` computes each distinct prefix once, ``plain`` every prompt; ``auto`` takes the tree where it may.

        Raises
        ------
        ArgumentError
            If an option is outside its range.
        ModelError
            If the model cannot be loaded, or not with these options.
        """
        keep_freed_memory()
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
            "chat_template": "none" if self.chat_template is None else text_hash(self.chat_template),
            "label_forms": self._label_forms,
        }
        form = self.label_form
        return entries if form is None else {**entries, "label_form": form}

    @property
    def chat_template(self) -> str | None:
        """The text of the chat template, where one is used."""
        return str(self._loaded.tokenizer.chat_template) if self._chat else None

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

    def workload(self, requests: Sequence[Request]) -> Workload:
        """Count prompt tokens, those left to compute where prompts share their beginnings, and those of replies."""
        for_labels, for_texts = by_kind(requests)
        prompts = sum(map(len, self._labels.prompts(for_texts)))
        texts = Workload(prompts, prompts, sum(r.max_tokens for r in for_texts))
        return self._label_workload(for_labels) + texts

    def _label_workload(self, requests: Sequence[LabelRequest]) -> Workload:
        forms = self._forms or self._usable_forms(requests[:1])
        tokens = 0
        groups = []
        for group in _by_item(requests):
            contexts = [c.context for form in forms for c in self._labels.continuations(group, form)]
            tokens += sum(len(c) for c in contexts[: len(group)])
            groups.append([np.array(c, np.int64) for c in sorted(set(contexts))])
        return Workload(tokens, count_shared(groups))

    def settle(self, requests: Sequence[Request]) -> None:
        """Decide, on the first requests of a run, all that stays the same for the rest of it.

        That is the form of labels and the engine. :meth:`ask` does it by itself; ``identity`` is whole after it.
        """
        with self._lock:
            self._settle(by_kind(requests)[0])

    def _settle(self, requests: Sequence[LabelRequest]) -> None:
        if not requests or (self._forms is not None and self._engine is not None):
            return
        groups = list(_by_item(requests))
        firsts = [group[0] for group in groups[:PROBE_ITEMS]]
        forms = self._forms or self._usable_forms(firsts)
        if self._engine is None:
            paths = [[p for r in self._readouts(g, forms) for p in self._readable(r)] for g in groups]
            if not any(paths):
                return
            paths = [group for group in paths if group][:CHECKED_GROUPS]
            chosen = choose_engine(self._loaded.model, self._token_budget, self._engine_name, paths)
            self._engine = chosen.engine
            self.notices += chosen.notices
        if self._forms is None:
            several = self._label_forms == "best" and len(forms) > 1
            self._forms = (self._heaviest(self._engine, firsts, forms),) if several else forms

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer requests, in their order.

        A prompt longer than the model can read is answered with status ``error``; it is never cut.

        Raises
        ------
        ModelError
            If labels cannot be told apart by their tokens.
        """
        with self._lock:
            return answered_by_kind(requests, self._score, self._write)

    def _write(self, requests: Sequence[TextRequest]) -> list[TextReply]:
        replies, notices = self._writer.write(requests, self._labels.prompts(requests))
        self.notices += notices
        return replies

    def _score(self, requests: Sequence[LabelRequest]) -> list[LabelReply]:
        if not requests:
            return []
        self._settle(requests)
        # Nothing is settled as long as no prompt was short enough to be read.
        readouts = iter(self._readouts(requests, self._forms or self._usable_forms(requests)))
        groups = [[next(readouts) for _ in group] for group in _by_item(requests)]
        paths = [[p for readout in group for p in self._readable(readout)] for group in groups]
        replies = []
        scored: list[list[list[float]]] = [[] for _ in paths] if self._engine is None else self._engine.score(paths)
        for group, asked, values in zip(groups, paths, scored, strict=True):
            found = dict(zip(asked, values, strict=True))
            replies += [self._reply(readout, found) for readout in group]
        return replies

    def _readouts(self, requests: Sequence[LabelRequest], forms: Sequence[str]) -> list[Readout]:
        by_form = [self._labels.continuations(requests, form) for form in forms]
        return [Readout.of(continuations) for continuations in zip(*by_form, strict=True)]

    def _readable(self, readout: Readout) -> tuple[Path, ...]:
        """Return the paths to compute: none where one is longer than the model reads."""
        return readout.paths if readout.longest <= self._limit else ()

    def _reply(self, readout: Readout, found: Mapping[Path, list[float]]) -> LabelReply:
        if readout.longest > self._limit:
            reason = f"the prompt has {readout.longest} tokens, the model reads at most {self._limit}; it was not cut"
            return LabelReply(None, readout.tokens, "error", reason)
        logprobs = readout.logprobs([found[p] for p in readout.paths])
        if any(math.isnan(v) for v in logprobs):
            reason = f"the model's logits are not finite in {self._loaded.model.dtype}"
            return LabelReply(None, readout.tokens, "error", reason)
        return LabelReply(logprobs, readout.tokens)

    def _usable_forms(self, requests: Sequence[LabelRequest]) -> tuple[str, ...]:
        """Return the forms under which labels can be told apart."""
        usable, reasons = [], []
        for form in FORMS:
            try:
                self._labels.continuations(requests, form)
                usable.append(form)
            except ModelError as e:
                reasons.append(str(e))
        if not usable:
            raise ModelError(" ".join(reasons))
        return tuple(usable)

    def _heaviest(self, engine: Engine, requests: Sequence[LabelRequest], forms: Sequence[str]) -> str:
        """Return the form whose labels hold the most probability over some requests."""
        both = [self._readable(readout) for readout in self._readouts(requests, forms)]
        found = {
            (path.ids, token): value
            for paths, rows in zip(both, engine.score(both), strict=True)
            for path, values in zip(paths, rows, strict=True)
            for token, value in zip(path.wanted, values, strict=True)
        }
        masses = []
        for form in forms:
            readouts = [r for r, paths in zip(self._readouts(requests, [form]), both, strict=True) if paths]
            values = [[[found[p.ids, t] for t in p.wanted] for p in r.paths] for r in readouts]
            logprobs = [r.logprobs(v) for r, v in zip(readouts, values, strict=True)]
            masses.append(sum(math.exp(v) for row in logprobs for v in row))
        return forms[masses.index(max(masses))]


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


def _check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ArgumentError(f"`{name}` must be one of {', '.join(allowed)}. Got {value!r}.")
