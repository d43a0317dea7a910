"""The column that says how answers were found: optional, kept by every format, counted, and dropped on demand."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from orderbias.errors import ArgumentError
from orderbias.records import COLUMNS, Record, concatenate, found_counts, from_rows, read_records, without_found
from orderbias.records.parquet import to_table

ROWS = [
    Record(item_id="1", positions=(0, 1), place=0, found="explicit", text="The answer is A"),
    Record(item_id="2", positions=(1, 0), place=1, found="standalone"),
    Record(item_id="3", positions=(0, 1), place=1, logprobs=(-2.0, -0.1)),
    Record(item_id="4", positions=(0, 1), status="unparsed"),
    Record(item_id="5", positions=(0, 1), status="refused"),
    Record(item_id="6", positions=(0, 1), place=0, logprobs=(-0.1, -2.0), found="standalone"),
]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_files_written_before_the_column_was_there_are_read(suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        pq.write_table(to_table(from_rows(ROWS)).drop_columns(["found"]), path)
    elif suffix == "csv":
        path.write_text("item_id,positions,place\n1,0 1,0\n")
    else:
        path.write_text('{"item_id": "1", "positions": [0, 1], "place": 0}\n')
    records = read_records(path)
    assert records.found is None
    assert {r.found for r in records} == {None}
    assert not [notice for notice in records.notices if "found" in notice]


def test_parts_with_and_without_the_column_are_joined():
    plain = from_rows([Record(item_id="0", positions=(0, 1), place=0)])
    joined = concatenate([plain, from_rows(ROWS)])
    assert [r.found for r in joined] == [None, *(r.found for r in ROWS)]


def test_the_column_is_one_of_the_schema():
    assert "found" in COLUMNS


def test_counts_are_those_of_the_rows():
    counts = found_counts(from_rows(ROWS))
    assert counts == {"explicit": 1, "standalone": 2, "ok": 1, "unparsed": 1, "refused": 1}
    assert sum(counts.values()) == len(ROWS)
    assert found_counts(from_rows(ROWS[2:4])) == {"ok": 1, "unparsed": 1}


def test_answers_found_in_one_way_are_dropped_and_nothing_else_changes():
    records = from_rows(ROWS)
    dropped = without_found(records, ["standalone"])
    for before, after in zip(records, dropped, strict=True):
        if before.found == "standalone":
            assert (after.status, after.place, after.logprobs, after.found) == ("unparsed", None, None, "standalone")
        else:
            assert after == before
    assert records.status[1] == 0
    np.testing.assert_array_equal(dropped.answered, [False, False, True, False, False, False])


@pytest.mark.parametrize("rows", [ROWS, ROWS[2:4]])
def test_a_way_that_does_not_occur_is_an_error(rows):
    with pytest.raises(ArgumentError, match="cosine"):
        without_found(from_rows(rows), ["cosine"])
