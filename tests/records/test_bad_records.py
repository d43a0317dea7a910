"""Every way in which a file of records can be wrong is one clear fault that names file, line and column."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from orderbias.errors import ArgumentError, DataError
from orderbias.records import read_records

GOOD = {"item_id": "q1", "positions": [0, 1, 2, 3], "gold": 2, "place": 1}
LOGPROBS = [-0.5, -1.5, -2.0, -3.0]


def jsonl(tmp_path, *rows, name="answers.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows) + "\n")
    return path


def faults_of(path, **options):
    with pytest.raises(DataError) as caught:
        read_records(path, **options)
    return caught.value.faults


#: What is changed in the second line of a good file, and words that its one fault must hold.
BROKEN = {
    "gold above": ({"gold": 4}, ["`gold`", "0..3 for 4 options", "Got 4", "0-based"]),
    "gold below": ({"gold": -1}, ["`gold`", "Got -1"]),
    "gold half": ({"gold": 1.5}, ["`gold`", "Got 1.5"]),
    "gold as letter": ({"gold": "C"}, ["`gold`", "number", '"C"']),
    "gold true": ({"gold": True}, ["`gold`", "number", "true"]),
    "one option": ({"positions": [0], "gold": 0, "place": 0}, ["`positions`", "2 to 26", "[0"]),
    "no option": ({"positions": [], "gold": None, "place": None}, ["`positions`", "[]"]),
    "27 options": ({"positions": list(range(27))}, ["`positions`", "2 to 26"]),
    "repeated place": ({"positions": [0, 1, 1, 3]}, ["`positions`", "[0", "once"]),
    "one-based": ({"positions": [1, 2, 3, 4]}, ["`positions`", "subtract 1"]),
    "far place": ({"positions": [0, 1, 2, 300]}, ["`positions`", "300"]),
    "null place in positions": ({"positions": [0, 1, None, 3]}, ["`positions`", "null"]),
    "half positions": ({"positions": [0, 0.5, 2, 3]}, ["`positions`", "0.5"]),
    "no positions": ({"positions": None}, ["`positions`", "null"]),
    "positions as text": ({"positions": "0123"}, ["`positions`", "list of numbers", '"0123"']),
    "positions of text": ({"positions": ["0", "1"]}, ["`positions`", "list of numbers"]),
    "no id": ({"item_id": None}, ["`item_id`", "null"]),
    "empty id": ({"item_id": " "}, ["`item_id`"]),
    "id a list": ({"item_id": ["q"]}, ["`item_id`", "string"]),
    "place above": ({"place": 4}, ["`place`", "0..3", "Got 4"]),
    "place below": ({"place": -1}, ["`place`", "Got -1"]),
    "place huge": ({"place": 10**400}, ["`place`", "number"]),
    "nan": ({"place": None, "logprobs": [-1.0, float("nan"), -1.0, -1.0]}, ["`logprobs`", "nan"]),
    "positive": ({"place": None, "logprobs": [-1.0, 0.1, -1.0, -1.0]}, ["`logprobs`", "at most 0", "0.1"]),
    "infinite": ({"place": None, "logprobs": [-1.0, float("inf"), -1.0, -1.0]}, ["`logprobs`", "at most 0"]),
    "probabilities": ({"place": None, "logprobs": [0.1, 0.2, 0.3, 0.4]}, ["`logprobs`", "logarithm"]),
    "short": ({"place": None, "logprobs": [-1.0, -1.0, -1.0]}, ["`logprobs`", "each place"]),
    "long": ({"place": None, "logprobs": [-1.0] * 5}, ["`logprobs`", "each place"]),
    "not the argmax": ({"place": 1, "logprobs": LOGPROBS}, ["`place`", "argmax", "place 1, argmax 0"]),
    "unknown status": ({"status": "OK"}, ["`status`", "ok, unparsed, refused, error", "'OK'"]),
    "place of a refusal": ({"status": "refused"}, ["`place`", "null", "refused"]),
    "ok without answer": ({"status": "ok", "place": None}, ["`place` or `logprobs`", "unparsed"]),
    "negative repeat": ({"repeat": -1}, ["`repeat`", "-1"]),
    "mass above one": ({"mass": 1.5}, ["`mass`", "1.5"]),
    "negative tokens": ({"tokens_in": -3}, ["`tokens_in`", "-3"]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_row_is_one_fault(case, tmp_path):
    change, words = BROKEN[case]
    row = {**GOOD, "item_id": "q2", **change}
    faults = faults_of(jsonl(tmp_path, GOOD, row, {**GOOD, "item_id": "q3"}))
    assert len(faults) == 1, faults
    for word in [*words, "answers.jsonl line 2"]:
        assert word in faults[0]


#: Cases that a Parquet column cannot hold beside good values.
TEXT_ONLY = {"gold as letter", "gold true", "positions as text", "positions of text", "id a list", "place huge"}


@pytest.mark.parametrize("case", sorted(set(BROKEN) - TEXT_ONLY))
def test_a_broken_row_of_parquet_is_the_same_fault(case, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    change, words = BROKEN[case]
    rows = [GOOD, {**GOOD, "item_id": "q2", **change}, {**GOOD, "item_id": "q3"}]
    pq.write_table(pa.Table.from_pylist([{**dict.fromkeys(change), **r} for r in rows]), tmp_path / "answers.parquet")
    faults = faults_of(tmp_path / "answers.parquet")
    assert len(faults) == 1, faults
    for word in [*(w for w in words if w != "Got 4"), "answers.parquet row 2"]:
        assert word in faults[0]


def test_every_fault_is_listed_not_only_the_first(tmp_path):
    rows = [{**GOOD, "item_id": f"q{i}", **change} for i, (change, _) in enumerate(BROKEN.values())]
    faults = faults_of(jsonl(tmp_path, GOOD, *rows))
    lines = {int(f.split("line ")[1].split(")")[0]) for f in faults}
    assert lines == set(range(2, len(BROKEN) + 2))


def test_thousands_of_faults_are_counted(tmp_path):
    path = tmp_path / "many.parquet"
    pd.DataFrame({"item_id": [f"q{i}" for i in range(5000)], "positions": [[1, 2]] * 5000, "place": 0}).to_parquet(path)
    faults = faults_of(path)
    assert len(faults) == 1001
    assert "4000 more" in faults[-1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["at least one record"]),
        ("\n\n", ["at least one record"]),
        ("[1, 2]\n", ["JSON object", "line 1"]),
        ('{"item_id": "a", "posi', ["cut off or malformed", "line 1"]),
        (json.dumps(GOOD) + "\n" + json.dumps(GOOD)[:30], ["cut off or malformed", "line 2"]),
        (json.dumps({"id": "a", "answer": 1}), ["`item_id` is required", "columns: id, answer"]),
    ],
)
def test_a_file_of_lines_that_is_empty_cut_off_or_malformed(text, words, tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(text)
    joined = "\n".join(faults_of(path))
    for word in [*words, "answers.jsonl"]:
        assert word in joined


def test_each_missing_column_is_named(tmp_path):
    faults = faults_of(jsonl(tmp_path, {"model": "m"}))
    assert [f.split("`")[1] for f in faults] == ["item_id", "positions", "place"]


HEADER = "item_id,positions,place\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER, ["at least one record"]),
        (HEADER + "q1,0 1 2 3\n", ["3 fields", "Got 2", "line 2"]),
        (HEADER + "q1,0 1 2 3,0\nq2,0 1 2 3,0,5\n", ["3 fields", "Got 4", "line 3"]),
        (HEADER + 'q1,"0 1 2 3,0\n', ["CSV", "line 2"]),
        (HEADER + "q1,0-1-2-3,0\n", ["`positions`", "list of numbers", '"0-1-2-3"', "line 2"]),
        (HEADER + "q1,0 1 2 3,B\n", ["`place`", "number", '"B"', "line 2"]),
        (HEADER + '"q\n1",0 1 2 3,0\nq2,0 1 2 3,9\n', ["`place`", "Got 9", "line 4"]),
        ("item_id,positions,place,place\nq1,0 1,0,0\n", ["`place`", "more than once"]),
        ("item_id;positions;place\n", ["at least one record"]),
    ],
)
def test_a_csv_file_that_is_wrong(text, words, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(text)
    joined = "\n".join(faults_of(path))
    for word in [*words, "answers.csv"]:
        assert word in joined


def test_text_that_is_not_utf8(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_bytes(HEADER.encode() + b"caf\xe9,0 1 2 3,0\n")
    assert "UTF-8" in "\n".join(faults_of(path))


def test_a_truncated_gzip_file(tmp_path):
    path = tmp_path / "answers.jsonl.gz"
    rows = "\n".join(json.dumps({**GOOD, "item_id": str(i)}) for i in range(2000))
    path.write_bytes(gzip.compress(rows.encode())[:-300])
    assert any("answers.jsonl.gz must be readable to its end" in f for f in faults_of(path))


@pytest.mark.parametrize("cut", [0, 10, 200, -1, -20])
def test_a_truncated_parquet_file(cut, tmp_path):
    path = tmp_path / "answers.parquet"
    pd.DataFrame([GOOD]).to_parquet(path)
    path.write_bytes(path.read_bytes()[:cut])
    faults = faults_of(path)
    assert len(faults) == 1
    assert "answers.parquet must be a whole Parquet file" in faults[0]


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("positions", ["0 1 2 3"], ["`positions`", "lists of numbers", "string"]),
        ("place", ["B"], ["`place`", "numbers", "string"]),
        ("item_id", [1.5], ["`item_id`", "strings", "double"]),
        ("gold", [True], ["`gold`", "numbers", "bool"]),
        ("logprobs", [[["a"]]], ["`logprobs`", "lists of numbers"]),
    ],
)
def test_a_parquet_column_of_another_type(column, values, words, tmp_path):
    frame = pd.DataFrame([GOOD])
    frame[column] = values
    frame.to_parquet(tmp_path / "answers.parquet")
    faults = faults_of(tmp_path / "answers.parquet")
    assert len(faults) == 1
    for word in [*words, "answers.parquet"]:
        assert word in faults[0]


def test_an_empty_parquet_file(tmp_path):
    pd.DataFrame([GOOD]).iloc[:0].to_parquet(tmp_path / "answers.parquet")
    assert "at least one record" in "\n".join(faults_of(tmp_path / "answers.parquet"))


def test_one_item_with_two_golds_names_both_lines(tmp_path):
    path = jsonl(tmp_path, GOOD, {**GOOD, "positions": [1, 2, 3, 0], "gold": 3})
    (fault,) = faults_of(path)
    assert "one `gold`" in fault
    assert "2 (answers.jsonl line 1)" in fault
    assert "3 (answers.jsonl line 2)" in fault


def test_one_item_with_two_groups_or_numbers_of_options(tmp_path):
    path = jsonl(tmp_path, {**GOOD, "group": "law"}, {**GOOD, "positions": [0, 1, 2], "group": "physics"})
    faults = faults_of(path)
    assert len(faults) == 2
    assert "'law'" in faults[0]
    assert "number of options" in faults[1]


def test_the_same_id_in_two_benchmarks_is_two_items(tmp_path):
    path = jsonl(tmp_path, {**GOOD, "benchmark": "a"}, {**GOOD, "benchmark": "b", "gold": 0})
    assert len(read_records(path)) == 2


def test_a_query_answered_twice_names_both_lines(tmp_path):
    path = jsonl(tmp_path, GOOD, {**GOOD, "item_id": "q2"}, {**GOOD, "place": 3})
    (fault,) = faults_of(path)
    assert "line 1 and in answers.jsonl line 3" in fault
    assert "repeat" in fault


def test_a_query_answered_in_two_files_names_both_files(tmp_path):
    row = {**GOOD, "benchmark": "b"}  # else the files' names would make two benchmarks of them
    (fault,) = faults_of([jsonl(tmp_path, row, name="one.jsonl"), jsonl(tmp_path, row, name="two.jsonl")])
    assert "one.jsonl line 1" in fault
    assert "two.jsonl line 1" in fault


def test_duplicates_first_keeps_the_first_and_says_so(tmp_path):
    path = jsonl(tmp_path, GOOD, {**GOOD, "place": 3}, {**GOOD, "item_id": "q2"})
    records = read_records(path, duplicates="first")
    assert records.place.tolist() == [1, 1]
    assert any("1 rows repeat" in n and "line 2" in n for n in records.notices)


def test_the_same_query_with_another_repeat_is_no_duplicate(tmp_path):
    assert read_records(jsonl(tmp_path, GOOD, {**GOOD, "repeat": 1})).repeat.tolist() == [0, 1]


def test_bad_arguments(tmp_path):
    with pytest.raises(ArgumentError, match="must end in"):
        read_records(tmp_path / "answers.xlsx")
    with pytest.raises(ArgumentError, match="'error' or 'first'"):
        read_records(jsonl(tmp_path, GOOD), duplicates="last")
    with pytest.raises(ArgumentError, match="at least one file"):
        read_records([])
    with pytest.raises(DataError, match="none of that name"):
        read_records(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="directory"):
        read_records(tmp_path / "folder.csv")


def test_a_group_column_must_be_there(tmp_path):
    path = jsonl(tmp_path, {**GOOD, "subject": "law"})
    assert read_records(path, group="subject").group.to_list() == ["law"]
    assert "`topic` was named as the group" in faults_of(path, group="topic")[0]


def test_a_fault_in_one_of_two_files_is_not_blamed_on_the_other(tmp_path):
    one = jsonl(tmp_path, *[{**GOOD, "item_id": str(i)} for i in range(7)], name="one.jsonl")
    two = jsonl(tmp_path, {**GOOD, "item_id": "x"}, {**GOOD, "item_id": "y", "gold": 9}, name="two.jsonl")
    (fault,) = faults_of([one, two])
    assert "two.jsonl line 2" in fault


def test_two_files_of_one_name_are_told_apart(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    one, two = jsonl(tmp_path / "a", GOOD), jsonl(tmp_path / "b", {**GOOD, "gold": 9})
    (fault,) = faults_of([one, two])
    assert str(two) in fault


def test_infinity_in_a_positions_column(tmp_path):
    frame = pd.DataFrame({"item_id": ["a"], "positions": [np.array([0.0, np.inf])], "place": [0]})
    frame.to_parquet(tmp_path / "answers.parquet")
    assert "`positions`" in faults_of(tmp_path / "answers.parquet")[0]
