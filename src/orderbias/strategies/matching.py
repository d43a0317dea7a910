"""The option that a free text means: exactly, as a part, or by likeness of meaning; must not know who wrote it.

The three steps of label-free: the same text; one option that is a part of the text or the reverse, of at least four
characters; the option of highest cosine, of at least 0.30, between the embeddings of all-MiniLM-L6-v2. A text that
comes near no option is no answer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError

#: The step that found a content.
EXACT, SUBSTRING, COSINE = "exact", "substring", "cosine"

#: Texts in, one row of numbers a text out.
Embedder = Callable[[Sequence[str]], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Match:
    """The ``content`` that a text means and the step that ``found`` it, or neither; the cosines, where computed."""

    content: int | None
    found: str | None = None
    cosines: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Matcher:
    """The rule by which a content is found in a text.

    Parameters
    ----------
    embed
        The embedder; None leaves the last step out.
    min_characters
        Of the part that one text has in common with the other, to count.
    min_cosine
        Of the nearest option, to count.

    Raises
    ------
    ArgumentError
        If ``min_characters`` is below 1, or ``min_cosine`` outside -1..1.

    Examples
    --------
    >>> matcher = Matcher()
    >>> matcher.find("Solar energy.", ("heat", "solar energy"))
    Match(content=1, found='exact', cosines=None)
    >>> matcher.find("It gives off heat", ("heat", "solar energy")).found
    'substring'
    >>> matcher.find("sound", ("heat", "solar energy")).content is None
    True
    """

    embed: Embedder | None = None
    min_characters: int = 4
    min_cosine: float = 0.30

    def __post_init__(self) -> None:
        if self.min_characters < 1:
            raise ArgumentError(f"`min_characters` must be 1 or more. Got {self.min_characters}.")
        if not -1 <= self.min_cosine <= 1:
            raise ArgumentError(f"`min_cosine` must be -1..1. Got {self.min_cosine}.")

    def find(self, text: str, options: Sequence[str]) -> Match:
        """Find the content that a text means.

        Options of one text are never found: nobody could tell which of them was meant.

        Parameters
        ----------
        text
            A free answer.
        options
            The contents, in canonical order.
        """
        said, contents = normal(text), [normal(option) for option in options]
        if not said:
            return Match(None)
        same = [j for j, content in enumerate(contents) if content == said]
        if same:
            return Match(same[0], EXACT) if len(same) == 1 else Match(None)
        parts = [j for j, content in enumerate(contents) if self._part(said, content)]
        if len(parts) == 1:
            return Match(parts[0], SUBSTRING)
        return self._nearest(text, options, contents)

    def _part(self, said: str, content: str) -> bool:
        shorter, longer = sorted((said, content), key=len)
        return len(shorter) >= self.min_characters and shorter in longer

    def _nearest(self, text: str, options: Sequence[str], contents: Sequence[str]) -> Match:
        if self.embed is None:
            return Match(None)
        cosines = cosines_to_first(np.asarray(self.embed([text.strip(), *options]), np.float64))
        best = int(cosines.argmax())
        told = tuple(float(c) for c in cosines)
        tied = int((cosines == cosines[best]).sum()) > 1 or contents.count(contents[best]) > 1
        return Match(None, None, told) if tied or cosines[best] < self.min_cosine else Match(best, COSINE, told)


#: The steps that need no embedder.
TEXT_ONLY = Matcher()


def normal(text: str) -> str:
    """Return a text as it is compared: case, spacing and what encloses or ends it do not count.

    Examples
    --------
    >>> normal(' **Solar\\n energy**. ')
    'solar energy'
    """
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return folded.strip("*_`\"'“”‘’ ").rstrip(".!?,;: ").strip("*_`\"'“”‘’ ") or folded


def cosines_to_first(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine of each row but the first with the first, -1 to 1; -1 with a row of zeros.

    Parameters
    ----------
    vectors
        ``(1 + n, d)``.

    Returns
    -------
    numpy.ndarray
        ``(n,)``.

    Examples
    --------
    >>> cosines_to_first(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])).tolist()
    [1.0, 0.0]
    """
    lengths = np.linalg.norm(vectors, axis=1)
    products = lengths[1:] * lengths[0]
    known = products > 0
    cosines: NDArray[np.float64] = np.where(known, (vectors[1:] @ vectors[0]) / np.where(known, products, 1.0), -1.0)
    return np.clip(cosines, -1.0, 1.0)
