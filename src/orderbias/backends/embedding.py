"""Sentences as vectors, by a model of sentence-transformers; the one module that knows the package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.backends._conversion import file_sha256, quiet
from orderbias.backends._hub import hub_is_out_of_reach
from orderbias.errors import MissingExtra, ModelError

#: The embedder of label-free, on the hub.
DEFAULT_EMBEDDER = "sentence-transformers/all-MiniLM-L6-v2"

#: Vectors kept: those of options and replies that come again.
REMEMBERED = 20_000


@dataclass(slots=True, eq=False)
class SentenceEmbedder:
    """Turns texts into vectors; loaded on first use, each text embedded once.

    Parameters
    ----------
    name
        A hub id, or a folder that holds the model.
    device
        ``cpu``, ``cuda`` ...
    revision
        Commit, tag or branch, of a hub id.

    Examples
    --------
    >>> SentenceEmbedder().name
    'sentence-transformers/all-MiniLM-L6-v2'
    """

    name: str = DEFAULT_EMBEDDER
    device: str = "cpu"
    revision: str | None = None
    _model: Any = field(init=False, repr=False, default=None)
    _known: dict[str, NDArray[np.float32]] = field(init=False, repr=False, default_factory=dict)

    def _only_local(self) -> bool:
        return not Path(self.name).expanduser().is_dir() and hub_is_out_of_reach(self.name, self.revision)

    @property
    def identity(self) -> str:
        """Name and revision for a run's settings; of a folder its own name, never where it stands, and a hash."""
        folder = Path(self.name).expanduser()
        if not folder.is_dir():
            return f"{self.name} {self.revision or ''}".strip()
        weights = sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")])
        return f"{folder.resolve().name} {' '.join(file_sha256(file)[:12] for file in weights)}".strip()

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row a text, ``(len(texts), d)``.

        Raises
        ------
        MissingExtra
            Without the package.
        ModelError
            If the model cannot be loaded.
        """
        self.load()
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            with quiet():
                rows = np.asarray(self._model.encode(new, show_progress_bar=False), np.float32)
            if len(self._known) + len(new) > REMEMBERED:
                self._known = {text: self._known[text] for text in texts if text in self._known}
            self._known.update(zip(new, rows, strict=True))
        return np.stack([self._known[text] for text in texts])

    def load(self) -> None:
        """Load the model, if it is not there yet.

        Raises
        ------
        MissingExtra
            Without the package.
        ModelError
            If the model cannot be loaded.
        """
        if self._model is not None:
            return
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra("sentence_transformers", "match") from error
        with quiet():
            try:
                self._model = SentenceTransformer(
                    self.name, device=self.device, revision=self.revision, local_files_only=self._only_local()
                )
            except Exception as error:
                told = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
                raise ModelError(
                    f"The embedder {self.name!r} cannot be loaded: {told}. Give a folder that holds it, or a hub id "
                    "that can be reached."
                ) from error


@lru_cache(maxsize=2)
def embedder(name: str) -> SentenceEmbedder:
    """Return the embedder of that name, loaded: the same one for every run of a study.

    Raises
    ------
    MissingExtra
        Without the package.
    ModelError
        If the model cannot be loaded.
    """
    found = SentenceEmbedder(name)
    found.load()
    return found
