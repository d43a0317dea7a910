"""Files of items that made other readers crash, hang or guess: each is one clear error, or is read as it stands."""

import decimal
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orderbias.errors import ArgumentError, DataError
from orderbias.readers import read_items

BASE = {"question": ["p", "q"], "A": ["a", "b"], "B": ["c", "d"], "answer": ["A", "B"]}


def lines(tmp_path, *texts):
    path = tmp_path / "items.jsonl"
    path.write_text("".join(text + "\n" for text in texts))
    return path


@pytest.mark.parametrize(
    "cell",
    ["{[1]: 2}", "{1, 2}", "[" * 100_000, "[" + "-" * 100_000 + "1]", "{'a': {'b': 1}}", "[1, [2]]", "(1)", "['a', b]"],
)
def test_a_cell_that_is_no_list_of_texts(cell, tmp_path):
    with pytest.raises(DataError, match=r"line 1: `options` must be"):
        read_items(lines(tmp_path, json.dumps({"question": "q", "options": cell, "gold": "A"})))


@pytest.mark.parametrize("value", ["\ud800", float("inf"), float("-inf"), True, ["x"], {"x": 1}])
def test_a_question_that_is_no_text(value, tmp_path):
    with pytest.raises(DataError, match=r"line 1: `question`"):
        read_items(lines(tmp_path, json.dumps({"question": value, "options": ["a", "b"], "gold": "A"})))


@pytest.mark.parametrize(
    ("gold", "got"),
    [("\ud800", "ud800"), (float("nan"), "nan"), (float("inf"), "inf"), (True, "True"), ("None of them", "None of")],
)
def test_a_gold_that_fits_nothing_is_asked_for_in_words_that_help(gold, got, tmp_path):
    with pytest.raises(DataError, match=r"must be a number, a letter or the text") as error:
        read_items(lines(tmp_path, json.dumps({"question": "q", "options": ["a", "b"], "gold": gold})))
    assert got in str(error.value)


def test_a_field_of_any_length_is_read_and_the_limit_of_the_process_stays(tmp_path):
    import csv

    before = csv.field_size_limit()
    path = tmp_path / "items.csv"
    path.write_text(f"question,A,B,answer\n{'x' * 300_000},a,b,B\n")
    (item,) = read_items(path)
    assert (len(item.question), item.gold) == (300_000, 1)
    assert csv.field_size_limit() == before


def write(tmp_path, columns):
    pq.write_table(pa.table(columns), tmp_path / "items.parquet")
    return tmp_path / "items.parquet"


@pytest.mark.parametrize(
    "column",
    [
        pa.array([10**15, 1], pa.timestamp("s")),
        pa.array([2**62, 1], pa.duration("s")),
        pa.array([1, 2], pa.timestamp("s", "Mars/Base")),
        pa.Array.from_buffers(
            pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xff")]
        ),
    ],
)
def test_a_parquet_column_that_python_cannot_hold(column, tmp_path):
    with pytest.raises(DataError, match=r"items\.parquet is no readable Parquet file"):
        read_items(write(tmp_path, {**BASE, "when": column}))


def test_two_parquet_columns_of_one_name(tmp_path):
    table = pa.Table.from_arrays([*(pa.array(v) for v in BASE.values()), pa.array(["B", "A"])], names=[*BASE, "answer"])
    pq.write_table(table, tmp_path / "items.parquet")
    with pytest.raises(DataError, match=r"needs a name of its own. Got 'answer' twice"):
        read_items(tmp_path / "items.parquet")


def test_exact_numbers_and_codes_of_parquet_are_golds(tmp_path):
    read = read_items(write(tmp_path, {**BASE, "answer": [decimal.Decimal(0), decimal.Decimal(1)]}))
    assert [item.gold for item in read] == [0, 1]
    read = read_items(write(tmp_path, {**BASE, "answer": pa.array(["A", "B"]).dictionary_encode()}))
    assert [item.gold for item in read] == [0, 1]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"options": ("A", "A")}, "different columns"),
        ({"question": ("question", "A")}, "one column"),
        ({"id": ("question", "A")}, "one column"),
    ],
)
def test_a_field_map_that_says_two_things(fields, words, tmp_path):
    with pytest.raises(ArgumentError, match=words):
        read_items(write(tmp_path, BASE), fields=fields)


def test_a_folder_without_data_is_not_searched(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "x.parquet").write_bytes(b"")
    with pytest.raises(DataError, match="hold data files"):
        read_items(tmp_path)
    with pytest.raises(ArgumentError, match="must have a name"):
        read_items("hf:")
