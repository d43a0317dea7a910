"""The string that makes a number reproducible; it must not know what any of its entries means.

A signature is an ordered list of ``key:value`` pairs joined by ``|``, as sacrebleu prints beside a BLEU score. Change
any setting that could change a number, and the string changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signature:
    """An ordered set of settings.

    Examples
    --------
    >>> s = Signature.of(model="m", seed=3)
    >>> str(s.extended(version="1"))
    'model:m|seed:3|version:1'
    >>> s.differences(Signature.of(model="m", seed=4))
    ('seed: 3 -> 4',)
    """

    entries: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, /, **settings: object) -> Signature:
        """Build one from keyword settings, in their order; ``None`` entries are left out."""
        return cls(tuple((k, _clean(v)) for k, v in settings.items() if v is not None))

    @classmethod
    def from_mapping(cls, settings: Mapping[str, str]) -> Signature:
        """Build one from a stored mapping."""
        return cls(tuple((k, _clean(v)) for k, v in settings.items()))

    def extended(self, /, **settings: object) -> Signature:
        """Return this signature with more settings; a key that is there already keeps its place."""
        merged = dict(self.entries)
        merged.update(Signature.of(**settings).entries)
        return Signature(tuple(merged.items()))

    def as_dict(self) -> dict[str, str]:
        """Return the entries as a mapping, in order."""
        return dict(self.entries)

    def differences(self, other: Signature) -> tuple[str, ...]:
        """Name each setting that differs, as ``key: mine -> theirs``."""
        mine, theirs = dict(self.entries), dict(other.entries)
        keys = [*mine, *(k for k in theirs if k not in mine)]
        return tuple(
            f"{k}: {mine.get(k, '(none)')} -> {theirs.get(k, '(none)')}" for k in keys if mine.get(k) != theirs.get(k)
        )

    def __str__(self) -> str:
        return "|".join(f"{k}:{v}" for k, v in self.entries)


def _clean(value: object) -> str:
    """Keep the separator and line ends out of a value."""
    return str(value).replace("|", "/").replace("\n", " ").replace("\r", " ")


def text_hash(parts: str | Iterable[str]) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of texts, each preceded by its length.

    The length keeps ``("ab", "c")`` and ``("a", "bc")`` apart.

    Examples
    --------
    >>> text_hash("a") == text_hash(["a"])
    True
    >>> text_hash(["ab", "c"]) == text_hash(["a", "bc"])
    False
    """
    digest = hashlib.sha256()
    for part in [parts] if isinstance(parts, str) else parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:12]
