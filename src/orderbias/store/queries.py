"""Which queries a run's records answer; knows no file."""

from __future__ import annotations

import numpy as np

from orderbias.records import Records
from orderbias.records.across import query_keys
from orderbias.records.answers import ERROR
from orderbias.records.values import block, blocks

QueryKey = tuple[str, tuple[int, ...], int]


def query_set(records: Records, failed: bool) -> set[QueryKey]:
    """Return the key of each record, those with status ``error`` only if ``failed``."""
    ids, repeats, keep = records.item_id.to_list(), records.repeat.tolist(), records.status != ERROR
    keys: set[QueryKey] = set()
    for k, rows, flat in blocks(records.offsets):
        index = np.arange(len(records))[rows]
        for row, positions in zip(index.tolist(), block(records.positions, k, flat).tolist(), strict=True):
            if failed or keep[row]:
                keys.add((str(ids[row]), tuple(positions), repeats[row]))
    return keys


def settle(records: Records) -> tuple[Records, int]:
    """Keep one row a query: its first answer, or its first failure where there is no answer.

    Returns them and how many further answers were left out; failures that were asked again are not counted.
    """
    keys = query_keys(records)
    order = np.lexsort((np.arange(len(keys)), records.status == ERROR, keys))
    first = np.ones(len(keys), bool)
    first[1:] = keys[order[1:]] != keys[order[:-1]]
    if first.all():
        return records, 0
    dropped = order[~first]
    return records.take(np.sort(order[first])), int((records.status[dropped] != ERROR).sum())
