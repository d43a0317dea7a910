"""One answer as a value, and many as columns; knows nothing of files, checks or what is measured.

A record is the only thing that collecting and analysing share: one reply of one model to one item under one ordering.
:class:`Record` is a row, :class:`Records` holds millions of them as arrays (about 90 bytes a row at four options).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.records.words import Words, join_words

#: What may become of a query. The index is the code in ``Records.status``.
RECORD_STATUSES = ("ok", "unparsed", "refused", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One answer.

    Parameters
    ----------
    model, benchmark, readout
        Names of the cell that it belongs to.
    item_id
        The item's id, unique within its benchmark.
    positions
        ``positions[j]`` is the 0-based place at which content ``j`` was shown.
    group
        Subject or category, or None.
    gold
        Content index of the right option, or None.
    place
        The chosen place, or None. Where there are ``logprobs`` it is their argmax, ties to the lowest place.
    logprobs
        Natural logs of the label probabilities, by place; or None.
    mass
        Probability on the labels before renormalising, 0 to 1; or None.
    status
        One of ``RECORD_STATUSES``; only ``ok`` has an answer.
    repeat
        0 for the first time a query was asked, 1 for the second ...
    found
        How the answer was found in the reply (``explicit``, ``standalone``, ``exact``, ``tie`` ...), or None.
    text
        The raw reply, or what went wrong; or None.
    tokens_in, tokens_out
        Tokens of prompt and reply, or None.
    """

    model: str = "unnamed"
    benchmark: str = "unnamed"
    readout: str = "unknown"
    item_id: str
    group: str | None = None
    positions: tuple[int, ...]
    gold: int | None = None
    place: int | None = None
    logprobs: tuple[float, ...] | None = None
    mass: float | None = None
    status: str = "ok"
    repeat: int = 0
    found: str | None = None
    text: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Many answers as columns of ``n_rows`` each.

    Parameters
    ----------
    model, benchmark, readout, item_id
        Names, never null.
    group, found, text
        Strings or nulls.
    positions
        All orderings one after another, int8 ``(sum of n_options,)``; row ``i`` is
        ``positions[offsets[i]:offsets[i + 1]]``.
    offsets
        int64 ``(n_rows + 1,)``.
    gold, place
        int8; -1 where unknown, or where there is no usable answer.
    ties
        Bool: ``place`` is one of several places of exactly equal log-probability.
    logprobs
        float64, laid out as ``positions`` but by place; NaN in rows without any. None if no row has them.
    mass
        float64, NaN where unknown; or None.
    status
        int8 index into ``RECORD_STATUSES``.
    repeat
        int32.
    tokens_in, tokens_out
        int32, -1 where unknown; or None.
    notices
        What reading them changed, dropped, assumed or found suspicious.
    """

    model: Words
    benchmark: Words
    readout: Words
    item_id: Words
    group: Words
    positions: NDArray[np.int8]
    offsets: NDArray[np.int64]
    gold: NDArray[np.int8]
    place: NDArray[np.int8]
    ties: NDArray[np.bool_]
    status: NDArray[np.int8]
    repeat: NDArray[np.int32]
    logprobs: NDArray[np.float64] | None = None
    mass: NDArray[np.float64] | None = None
    found: Words | None = None
    text: Words | None = None
    tokens_in: NDArray[np.int32] | None = None
    tokens_out: NDArray[np.int32] | None = None
    notices: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.status)

    def __iter__(self) -> Iterator[Record]:
        return (self.row(i) for i in range(len(self)))

    @property
    def n_options(self) -> NDArray[np.int64]:
        """K of each row, int64 ``(n_rows,)``."""
        return np.diff(self.offsets)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Bool ``(n_rows,)``: rows whose ``logprobs`` are there."""
        if self.logprobs is None:
            return np.zeros(len(self), bool)
        return ~np.isnan(self.logprobs[self.offsets[:-1]])

    def row(self, i: int) -> Record:
        """Return one row as a value."""
        span = slice(int(self.offsets[i]), int(self.offsets[i + 1]))
        logprobs = None if self.logprobs is None else tuple(self.logprobs[span].tolist())
        if logprobs is not None and np.isnan(logprobs[0]):
            logprobs = None
        mass = None if self.mass is None or np.isnan(self.mass[i]) else float(self.mass[i])
        return Record(
            model=str(self.model[i]),
            benchmark=str(self.benchmark[i]),
            readout=str(self.readout[i]),
            item_id=str(self.item_id[i]),
            group=self.group[i],
            positions=tuple(self.positions[span].tolist()),
            gold=_known(self.gold, i),
            place=_known(self.place, i),
            logprobs=logprobs,
            mass=mass,
            status=RECORD_STATUSES[self.status[i]],
            repeat=int(self.repeat[i]),
            found=None if self.found is None else self.found[i],
            text=None if self.text is None else self.text[i],
            tokens_in=_known(self.tokens_in, i),
            tokens_out=_known(self.tokens_out, i),
        )

    def take(self, rows: NDArray[np.integer]) -> Records:
        """Keep some rows, in the order given."""
        sizes = self.n_options[rows]
        offsets = offsets_of(sizes)
        flat = np.repeat(self.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
        columns: dict[str, Any] = {"offsets": offsets}
        for name in ("positions", "logprobs"):
            values = getattr(self, name)
            columns[name] = None if values is None else values[flat]
        for name in ("gold", "place", "ties", "status", "repeat", "mass", "tokens_in", "tokens_out"):
            values = getattr(self, name)
            columns[name] = None if values is None else values[rows]
        for name in ("model", "benchmark", "readout", "item_id", "group", "found", "text"):
            words = getattr(self, name)
            columns[name] = None if words is None else words.take(rows)
        return replace(self, **columns)


def _known(column: NDArray[np.integer] | None, i: int) -> int | None:
    return None if column is None or column[i] < 0 else int(column[i])


def offsets_of(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where each row starts in a flat column, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def blocks(offsets: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64] | slice, NDArray[np.int64] | None]]:
    """Yield the rows of each length K: ``(K, rows, flat)``, ``flat`` being ``(len(rows), K)`` indices.

    Where every row has the same length, ``rows`` is the full slice and ``flat`` None: reshape instead of gathering.
    """
    sizes = np.diff(offsets)
    lengths = np.flatnonzero(np.bincount(sizes)) if sizes.size else np.array([], np.int64)
    for k in lengths.tolist():
        if len(lengths) == 1:
            yield k, slice(None), None
        else:
            rows = np.flatnonzero(sizes == k)
            yield k, rows, offsets[rows][:, None] + np.arange(k)


def block(values: NDArray[Any], n_options: int, flat: NDArray[np.int64] | None) -> NDArray[Any]:
    """Return a flat column's rows of one length as ``(n_rows, n_options)``."""
    return values.reshape(-1, n_options) if flat is None else values[flat]


def concatenate(parts: Sequence[Records]) -> Records:
    """Put records one after another; notices are kept once each."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[str, Any] = {}
    for name in ("positions", "gold", "place", "ties", "status", "repeat"):
        columns[name] = np.concatenate([getattr(p, name) for p in parts])
    columns["offsets"] = offsets_of(np.concatenate([p.n_options for p in parts]))
    for name, filler, dtype in (
        ("logprobs", np.nan, np.float64),
        ("mass", np.nan, np.float64),
        ("tokens_in", -1, np.int32),
        ("tokens_out", -1, np.int32),
    ):
        if any(getattr(p, name) is not None for p in parts):
            sizes = [len(p.positions) if name == "logprobs" else len(p) for p in parts]
            columns[name] = np.concatenate(
                [np.full(n, filler, dtype) if getattr(p, name) is None else getattr(p, name)
                 for n, p in zip(sizes, parts, strict=True)]
            )  # fmt: skip
    for name in ("model", "benchmark", "readout", "item_id", "group"):
        columns[name] = join_words([getattr(p, name) for p in parts])
    for name in ("found", "text"):
        if any(getattr(p, name) is not None for p in parts):
            columns[name] = join_words([getattr(p, name) or Words.constant(None, len(p)) for p in parts])
    return Records(**columns, notices=tuple(dict.fromkeys(n for p in parts for n in p.notices)))
