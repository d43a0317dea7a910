"""Raw columns -> records, or every fault in them; knows nothing of file formats.

Each rule is one vectorised pass that marks the rows that break it. Rows with a fault in their ordering are not judged
by the rules that need the number of options.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.orderings import MAX_OPTIONS
from orderbias.records.answers import settle_answers
from orderbias.records.raw import Faults, Numbers, Raw, list_at
from orderbias.records.values import RECORD_STATUSES, Records, block, blocks, offsets_of
from orderbias.records.words import Words


def check_rows(raw: Raw, benchmark: str, faults: list[str]) -> Records | None:
    """Judge each row by itself.

    Parameters
    ----------
    raw
        The columns of one file.
    benchmark
        The name of the benchmark where the file gives none.
    faults
        Every fault found is appended here.

    Returns
    -------
    Records or None
        None if there was a fault.
    """
    found = Faults(raw.source)
    notices = list(raw.notices)
    offsets, positions, sound = _check_positions(raw, found)
    _check_item_ids(raw, found)
    columns = _check_numbers(raw, offsets, sound, found)
    status = _check_status(raw, found)
    answers = settle_answers(raw, offsets, columns.pop("place"), status, sound, found)
    names = _names(raw, benchmark, notices)
    faults += found.found
    if found.found or raw.broken.any():
        return None
    return Records(
        **names,
        **columns,
        positions=positions,
        offsets=offsets,
        place=answers.place,
        ties=answers.ties,
        status=answers.status,
        logprobs=answers.logprobs,
        notices=(*notices, *answers.notices),
    )


def _check_item_ids(raw: Raw, found: Faults) -> None:
    ids = raw.words["item_id"]
    empty = np.append([not str(w).strip() for w in ids.words], True).astype(bool)
    bad = empty[ids.codes] & ~raw.broken
    found.add(np.flatnonzero(bad), "`item_id` must be a name.", lambda i: "null" if ids[i] is None else repr(ids[i]))


def _check_positions(raw: Raw, found: Faults) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.bool_]]:
    """Return offsets, int8 positions and which rows hold a permutation of ``0..K - 1``, 2 <= K <= 26."""
    series = raw.series["positions"]
    offsets = offsets_of(series.sizes)
    sound = (series.sizes >= 2) & (series.sizes <= MAX_OPTIONS)
    one_based = np.zeros(raw.n_rows, bool)
    known = np.ones(len(series.values), bool) if series.known is None else series.known
    with np.errstate(invalid="ignore"):
        whole = known & (series.values >= -1) & (series.values <= MAX_OPTIONS)
        if series.values.dtype.kind == "f":
            whole &= series.values == np.floor(series.values)
    values = np.where(whole, series.values, -1).astype(np.int8)
    for k, rows, flat in blocks(offsets):
        if 2 <= k <= MAX_OPTIONS:
            table = block(values, k, flat)
            sound[rows] = _hold_each(table, 0)
            if not sound[rows].all():
                one_based[rows] = _hold_each(table, 1)
    bad = ~sound & ~raw.broken
    show = list_at(series, offsets)
    rule = f"`positions` must hold each of 0..K - 1 once, for 2 to {MAX_OPTIONS} options: the place of each content."
    hint = "Places are 0-based: subtract 1 from each."
    found.add(np.flatnonzero(bad & ~one_based), rule, show)
    found.add(np.flatnonzero(bad & one_based), rule, show, hint)
    return offsets, values, sound & ~raw.broken


def _hold_each(table: NDArray[np.int8], base: int) -> NDArray[np.bool_]:
    """Whether each row of ``(n, K)`` holds each of ``base..base + K - 1`` once: K bits set by K numbers."""
    bits = np.zeros(len(table), np.int32)
    inside = np.ones(len(table), bool)
    for column in table.T:
        inside &= column >= base
        bits |= np.int32(1) << np.maximum(column, 0).astype(np.int32)
    held: NDArray[np.bool_] = inside & (bits == ((1 << table.shape[1]) - 1) << base)
    return held


def _check_numbers(raw: Raw, offsets: NDArray[np.int64], sound: NDArray[np.bool_], found: Faults) -> dict[str, Any]:
    """Check ranges, and return the scalar columns in the types of records."""
    n_options = np.diff(offsets)
    columns: dict[str, Any] = {"mass": None, "tokens_in": None, "tokens_out": None}
    for name, dtype, filler in (
        ("gold", np.int8, -1),
        ("place", np.int8, -1),
        ("repeat", np.int32, 0),
        ("tokens_in", np.int32, -1),
        ("tokens_out", np.int32, -1),
    ):
        column = raw.numbers.get(name)
        if column is None:
            if name not in columns:
                columns[name] = np.full(raw.n_rows, filler, dtype)
            continue
        top = n_options - 1 if name in ("gold", "place") else np.iinfo(np.int32).max
        judged = sound if name in ("gold", "place") else ~raw.broken
        with np.errstate(invalid="ignore"):
            right = (column.values >= 0) & (column.values <= top) & (column.values == np.floor(column.values))
        bad = column.known & ~right & judged
        _add_range_faults(name, column, bad, n_options, found)
        columns[name] = np.where(column.known & right, column.values, filler).astype(dtype)
    mass = raw.numbers.get("mass")
    if mass is not None:
        with np.errstate(invalid="ignore"):
            bad = mass.known & ~((mass.values >= 0) & (mass.values <= 1 + 1e-3)) & ~raw.broken
        found.add(np.flatnonzero(bad), "`mass` must be a probability, 0..1, or null.", lambda i: mass.values[i])
        columns["mass"] = np.where(mass.known, np.minimum(mass.values, 1.0), np.nan)
    return columns


def _add_range_faults(
    name: str, column: Numbers, bad: NDArray[np.bool_], n_options: NDArray[np.int64], found: Faults
) -> None:
    if not bad.any():
        return
    if name not in ("gold", "place"):
        rule = f"`{name}` must be a whole number from 0 to {np.iinfo(np.int32).max}."
        found.add(np.flatnonzero(bad), rule, lambda i: column.values[i])
        return
    hint = "Golds are content indices in canonical order, 0-based." if name == "gold" else "Places are 0-based."
    for k in np.unique(n_options[bad]).tolist():
        rows = np.flatnonzero(bad & (n_options == k))
        found.add(rows, f"`{name}` must be 0..{k - 1} for {k} options.", lambda i: column.values[i], hint)


def _check_status(raw: Raw, found: Faults) -> NDArray[np.int8]:
    """Return the code of each row's status, -1 where none is given."""
    words = raw.words.get("status")
    if words is None:
        return np.full(raw.n_rows, -1, np.int8)
    codes = [RECORD_STATUSES.index(w) if w in RECORD_STATUSES else -2 for w in words.words]
    status = np.append(np.array(codes, np.int8), np.int8(-1))[words.codes]
    bad = np.flatnonzero((status == -2) & ~raw.broken)
    found.add(bad, f"`status` must be one of {', '.join(RECORD_STATUSES)}.", lambda i: repr(words[i]))
    return np.asarray(status, np.int8)


def _names(raw: Raw, benchmark: str, notices: list[str]) -> dict[str, Any]:
    """Return the columns of strings, with their defaults; and say which were taken."""
    names: dict[str, Any] = {}
    for name, default in (("model", "unnamed"), ("benchmark", benchmark), ("readout", "unknown")):
        column = raw.words.get(name)
        if column is None or (column.codes < 0).any():
            which = "has no column" if column is None else "has nulls in"
            notices.append(f"{raw.source.file} {which} `{name}`: {default!r} stands for it.")
        names[name] = (column or Words.constant(None, raw.n_rows)).filled(default)
    names["item_id"] = raw.words["item_id"]
    names["group"] = raw.words.get("group") or Words.constant(None, raw.n_rows)
    for name in ("found", "text"):
        column = raw.words.get(name)
        names[name] = None if column is None or not (column.codes >= 0).any() else column
    return names
