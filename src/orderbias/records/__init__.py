"""Records: one answer a row, the one thing that collecting and analysing share; knows no model and no measure.

``positions[j]`` is the place at which content ``j`` was shown; ``logprobs`` and ``place`` are by place; ``gold`` is a
content index. Files are Parquet, JSON lines or CSV with the same column names, so that anyone can write one by hand.
"""

from orderbias.records.files import from_parquet, from_rows, read_records, with_notices, write_records
from orderbias.records.finding import found_counts, without_found
from orderbias.records.parquet import schema, to_parquet
from orderbias.records.raw import COLUMNS
from orderbias.records.values import RECORD_STATUSES, Record, Records, concatenate
from orderbias.records.words import Words

__all__ = [
    "COLUMNS",
    "RECORD_STATUSES",
    "Record",
    "Records",
    "Words",
    "concatenate",
    "found_counts",
    "from_parquet",
    "from_rows",
    "read_records",
    "schema",
    "to_parquet",
    "with_notices",
    "without_found",
    "write_records",
]
