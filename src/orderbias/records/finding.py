"""How answers were found in replies, counted; records without those found in some way. Knows no way itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.records.values import RECORD_STATUSES, Records


def found_counts(records: Records) -> dict[str, int]:
    """Count the answers by how they were found, and the rows without an answer by their status.

    Parameters
    ----------
    records
        Any records; an answer that does not say how it was found counts under ``ok``.

    Returns
    -------
    dict
        The ways in order of first appearance, then the statuses; what does not occur is left out.

    Examples
    --------
    >>> from orderbias.records import Record, from_rows
    >>> rows = [Record(item_id="1", positions=(0, 1), place=0, found="explicit"),
    ...         Record(item_id="2", positions=(0, 1), status="unparsed")]
    >>> found_counts(from_rows(rows))
    {'explicit': 1, 'unparsed': 1}
    """
    answered = records.status == 0
    counts: dict[str, int] = {}
    told = np.zeros(len(records), bool)
    if records.found is not None:
        for code, word in enumerate(records.found.words):
            rows = answered & (records.found.codes == code)
            told |= rows
            if rows.any():
                counts[str(word)] = int(rows.sum())
    for code, status in enumerate(RECORD_STATUSES):
        n = int(((records.status == code) & ~told).sum())
        if n:
            counts[status] = n
    return counts


def without_found(records: Records, ways: Collection[str]) -> Records:
    """Return records in which the answers found in some ways count as unparsed, to see what hangs on them.

    Parameters
    ----------
    records
        Records that say how their answers were found.
    ways
        Such as ``standalone``, the letter that merely stands in a reply (two-factors, A.3).

    Raises
    ------
    ArgumentError
        If no record was found in one of the ways.

    Examples
    --------
    >>> from orderbias.records import Record, from_rows
    >>> records = from_rows([Record(item_id="1", positions=(0, 1), place=0, found="standalone")])
    >>> without_found(records, ["standalone"]).row(0).status
    'unparsed'
    """
    words = [] if records.found is None else [str(w) for w in records.found.words]
    unknown = [way for way in ways if way not in words]
    if unknown:
        raise ArgumentError(
            f"`ways` must be among those in which answers were found: {', '.join(words) or 'none is said'}. "
            f"Got {', '.join(unknown)}."
        )
    dropped = _found_as(records, ways) & (records.status == 0)
    logprobs = records.logprobs
    if logprobs is not None and dropped.any():
        logprobs = np.where(np.repeat(dropped, records.n_options), np.nan, logprobs)
    return replace(
        records,
        place=np.where(dropped, -1, records.place).astype(np.int8),
        ties=records.ties & ~dropped,
        status=np.where(dropped, RECORD_STATUSES.index("unparsed"), records.status).astype(np.int8),
        logprobs=logprobs,
    )


def _found_as(records: Records, ways: Collection[str]) -> NDArray[np.bool_]:
    if records.found is None:
        return np.zeros(len(records), bool)
    wanted = [code for code, word in enumerate(records.found.words) if word in ways]
    return np.isin(records.found.codes, wanted)
