"""A column of strings as codes and distinct words; knows nothing of what the strings name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A column of strings: ``words[codes[i]]``, code -1 for null.

    ``codes`` is int32 ``(n_rows,)``, ``words`` an object array of distinct strings.
    """

    codes: NDArray[np.int32]
    words: NDArray[Any]

    @classmethod
    def constant(cls, word: str | None, n_rows: int) -> Words:
        """One word (or null) in every row."""
        words = np.array([] if word is None else [word], object)
        return cls(np.full(n_rows, -1 if word is None else 0, np.int32), words)

    @classmethod
    def encode(cls, values: Iterable[str | None]) -> Words:
        """Give each distinct string a code, in order of first appearance."""
        seen: dict[str | None, int] = {None: -1}
        codes = np.fromiter((seen.setdefault(v, len(seen) - 1) for v in values), np.int32)
        return cls(codes, np.array([w for w in seen if w is not None], object))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> str | None:
        code = self.codes[row]
        return None if code < 0 else str(self.words[code])

    def to_list(self) -> list[str | None]:
        """Return the strings as a list."""
        table = np.array([*self.words, None], object)
        decoded: list[str | None] = table[self.codes].tolist()
        return decoded

    def take(self, rows: NDArray[np.integer]) -> Words:
        """Keep some rows; the words stay."""
        return Words(self.codes[rows], self.words)

    def filled(self, word: str) -> Words:
        """Put a word where there is null."""
        absent = self.codes < 0
        if not absent.any():
            return self
        found = np.flatnonzero(self.words == word)
        words = self.words if found.size else np.append(self.words, word)
        return Words(np.where(absent, found[0] if found.size else len(words) - 1, self.codes).astype(np.int32), words)


def join_words(parts: Sequence[Words]) -> Words:
    """Put columns of strings one after another under one set of words."""
    seen: dict[str, int] = {}
    codes = []
    for part in parts:
        table = np.fromiter((seen.setdefault(w, len(seen)) for w in part.words), np.int32, len(part.words))
        codes.append(np.append(table, np.int32(-1))[part.codes])
    return Words(np.concatenate(codes), np.array(list(seen), object))
