"""Where a label's tokens begin and which they are; must not know how a model computes anything.

A label is scored as it stands in the tokenised full text, prompt and label together. Where the two merge at their
boundary (a prompt that ends in a space, say), the context is cut back to the last token that they leave alone, and the
label's tokens are all that follow it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orderbias.backends import LabelRequest, Request
from orderbias.errors import ArgumentError, ModelError

#: What may stand between a prompt and a label, in the order in which ties are decided.
FORMS = ("", " ")

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Continuation:
    """A prompt's tokens up to where its labels begin, and the tokens of each label after them."""

    context: Ids
    sequences: tuple[Ids, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """A token sequence to be read, and the tokens whose log-probability is wanted right after it."""

    ids: Ids
    wanted: Ids


@dataclass(frozen=True, slots=True)
class Readout:
    """What to read for one request, and how to put it together again.

    ``terms[form][label]`` lists pairs ``(path, slot)``; the log-probability of a label in a form is the sum of those
    values, and that of the label the log of the sum over forms. ``tokens`` is the length of the prompt.
    """

    tokens: int
    paths: tuple[Path, ...]
    terms: tuple[tuple[tuple[tuple[int, int], ...], ...], ...]

    @classmethod
    def of(cls, continuations: Iterable[Continuation]) -> Readout:
        """Merge the continuations of one request, one per form; equal ones count once."""
        places: dict[Ids, int] = {}
        wanted: list[list[int]] = []
        terms = []
        distinct = list(dict.fromkeys(continuations))
        for one in distinct:
            labels = []
            for sequence in one.sequences:
                steps = []
                for n, token in enumerate(sequence):
                    path = places.setdefault(one.context + sequence[:n], len(places))
                    if path == len(wanted):
                        wanted.append([])
                    if token not in wanted[path]:
                        wanted[path].append(token)
                    steps.append((path, wanted[path].index(token)))
                labels.append(tuple(steps))
            terms.append(tuple(labels))
        paths = tuple(Path(ids, tuple(w)) for ids, w in zip(places, wanted, strict=True))
        return cls(len(distinct[0].context), paths, tuple(terms))

    @property
    def longest(self) -> int:
        """Length of the longest path."""
        return max(len(p.ids) for p in self.paths)

    def logprobs(self, values: Sequence[Sequence[float]]) -> tuple[float, ...]:
        """Return the log-probability of each label from the values read at each path."""
        forms = [[sum(values[p][s] for p, s in steps) for steps in labels] for labels in self.terms]
        return tuple(_log_sum(column) for column in zip(*forms, strict=True))


def _log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top if len(values) == 1 or top == -math.inf else top + math.log(sum(math.exp(v - top) for v in values))


class LabelTokenizer:
    """Requests to token ids.

    Every prompt is tokenised once, together with its first label. The tokens of the other labels depend on the end of
    the prompt alone; they are found from full texts once for each end that is seen, and used again only where the
    tokens around the boundary are the same.

    Parameters
    ----------
    tokenizer
        A tokenizer of transformers.
    chat
        Wrap each prompt as a user's message in the tokenizer's chat template.

    Raises
    ------
    ModelError
        If ``chat`` is asked of a tokenizer that has no chat template.
    """

    def __init__(self, tokenizer: Any, *, chat: bool = False) -> None:
        if chat and not tokenizer.chat_template:
            raise ModelError("This tokenizer has no chat template. Leave `chat` off, or choose an instruct model.")
        self._tokenizer = tokenizer
        self._chat = chat
        self._start = self._start_tokens()
        self._ends: dict[tuple[str, str, tuple[str, ...]], tuple[int, tuple[Ids, ...]]] = {}

    def text(self, request: Request) -> str:
        """Return the text that the model is shown: the prompt, or the chat that holds it."""
        if not self._chat:
            if request.system is not None:
                raise ArgumentError(
                    "`system` needs the chat template: a plain prompt has no place for it. Got a system prompt with "
                    "chat off; turn chat on, or put the text into the prompt."
                )
            return request.prompt
        messages = [] if request.system is None else [{"role": "system", "content": request.system}]
        messages.append({"role": "user", "content": request.prompt})
        try:
            return str(self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        except Exception as e:
            raise ModelError(
                f"The model's chat template refuses {'a system and ' if request.system else ''}a user message: {e}. "
                "Leave the system prompt out, or turn chat off."
            ) from e

    def prompts(self, requests: Sequence[Request]) -> list[Ids]:
        """Return the tokens of what the model is shown, nothing after it."""
        return self._encode([self.text(r) for r in requests])

    def continuations(self, requests: Sequence[LabelRequest], form: str) -> list[Continuation]:
        """Find context and label tokens of each request, with ``form`` between prompt and label.

        Raises
        ------
        ModelError
            If labels cannot be told apart by their tokens.
        """
        texts = [self.text(r) for r in requests]
        whole = self._encode([t + form + r.labels[0] for t, r in zip(texts, requests, strict=True)])
        found = []
        for text, request, ids in zip(texts, requests, whole, strict=True):
            key = (_end(text), form, request.labels)
            known = self._ends.get(key)
            if known is None or not _fits(ids, *known):
                one = self._from_full_texts(text, form, request.labels)
                self._ends[key] = (one.context[-1], one.sequences)
            else:
                one = Continuation(ids[: len(ids) - len(known[1][0])], known[1])
            found.append(one)
        return found

    def _from_full_texts(self, text: str, form: str, labels: Sequence[str]) -> Continuation:
        prompt, *full = self._encode([text, *(text + form + label for label in labels)])
        kept = min(_common(prompt, ids) for ids in full)
        if kept == 0:
            raise ModelError(
                f"The prompt {text!r} has no token of its own before the label. Give a prompt that is not empty."
            )
        sequences = tuple(ids[kept:] for ids in full)
        self._check(form, labels, sequences)
        return Continuation(prompt[:kept], sequences)

    def _check(self, form: str, labels: Sequence[str], sequences: Sequence[Ids]) -> None:
        unknown = self._tokenizer.unk_token_id
        for label, ids in zip(labels, sequences, strict=True):
            if not ids or unknown in ids:
                raise ModelError(
                    f"The label {form + label!r} is not in this model's vocabulary (token ids {list(ids)}). "
                    "Choose other labels."
                )
        order = sorted(range(len(labels)), key=lambda i: sequences[i])
        for a, b in itertools.pairwise(order):
            if sequences[b][: len(sequences[a])] == sequences[a]:
                raise ModelError(
                    f"The labels {form + labels[a]!r} (token ids {list(sequences[a])}) and {form + labels[b]!r} (token "
                    f"ids {list(sequences[b])}) cannot be told apart: the tokens of one begin those of the other. "
                    "Choose other labels."
                )

    def _encode(self, texts: Sequence[str]) -> list[Ids]:
        if not texts:
            return []
        out: Mapping[str, Any] = self._tokenizer(
            list(texts), add_special_tokens=False, return_attention_mask=False, verbose=False
        )
        return [self._started(tuple(ids)) for ids in out["input_ids"]]

    def _started(self, ids: Ids) -> Ids:
        """Put what this tokenizer puts before every text, exactly once, even where a template wrote it too."""
        bos = self._tokenizer.bos_token_id
        extra = 0
        while bos is not None and ids[extra : extra + 2] == (bos, bos):
            extra += 1
        ids = ids[extra:]
        return ids if ids[: len(self._start)] == self._start else self._start + ids

    def _start_tokens(self) -> Ids:
        bare = self._tokenizer("a", add_special_tokens=False)["input_ids"]
        dressed = self._tokenizer("a")["input_ids"]
        for n in range(len(dressed) - len(bare) + 1):
            if dressed[n : n + len(bare)] == bare:
                return tuple(dressed[:n])
        return ()


def _end(text: str) -> str:
    """Return the end of a text from the start of its last line that is not blank, line end included."""
    at = text.rfind("\n", 0, len(text.rstrip()))
    return text[max(at, 0) :]


def _fits(ids: Ids, before: int, sequences: tuple[Ids, ...]) -> bool:
    n = len(sequences[0])
    return len(ids) > n and ids[-n:] == sequences[0] and ids[-n - 1] == before


def _common(a: Ids, b: Ids) -> int:
    for n, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return n
    return min(len(a), len(b))
