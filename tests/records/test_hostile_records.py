"""Files of records that made other readers crash or guess: each is one clear error, or is read as it stands."""

import csv
import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orderbias.errors import DataError
from orderbias.records import Record, from_rows, read_records, write_records

ROW = {"item_id": "q", "positions": [0, 1], "place": 0, "gold": 0}


def lines(tmp_path, *texts):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(text + "\n" for text in texts))
    return path


def read_or_faults(path):
    try:
        return read_records(path), ()
    except DataError as error:
        return None, error.faults


def faults_of(path):
    read, faults = read_or_faults(path)
    assert read is None
    return "\n".join(faults)


def test_a_key_twice_in_one_object(tmp_path):
    path = lines(tmp_path, json.dumps(ROW), '{"item_id": "r", "positions": [0, 1], "place": 0, "place": 1}')
    found = faults_of(path)
    assert "'place'" in found
    assert "more than once (a.jsonl line 2)" in found


@pytest.mark.parametrize("name", ["item_id", "model", "benchmark", "readout", "group", "found", "text"])
def test_half_a_character(name, tmp_path):
    found = faults_of(lines(tmp_path, json.dumps({**ROW, name: "x\ud800"}), json.dumps({**ROW, "item_id": "r"})))
    assert f"`{name}`" in found
    assert "a.jsonl line 1" in found


@pytest.mark.parametrize("number", ["0_1", "１", "٣", "0x1", "1,5", "+", ".", "e5", "1 1", "--1", "1e", "true"])
@pytest.mark.parametrize("column", ["place", "positions"])
def test_a_number_of_csv_that_no_program_writes(number, column, tmp_path):
    row = {"item_id": "q", "positions": "0 1", "place": "0"} | {column: number if column == "place" else f"0 {number}"}
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, row)
        writer.writeheader()
        writer.writerow(row)
    assert f"`{column}`" in faults_of(path)


@pytest.mark.parametrize(("number", "value"), [("1", 1), ("1.0", 1), ("+1", 1), ("1e0", 1), ("-0", 0), ("-0.0", 0)])
def test_a_number_of_csv_in_every_usual_form(number, value, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"item_id,positions,place\nq,0 1,{number}\n")
    assert read_records(path).place.tolist() == [value]


def test_a_reply_of_any_length_is_read_and_the_limit_of_the_process_stays(tmp_path):
    before = csv.field_size_limit()
    path = tmp_path / "a.csv"
    path.write_text(f"item_id,positions,place,text\nq,0 1,0,{'x' * 300_000}\n")
    assert len(read_records(path).row(0).text) == 300_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "csv.gz"])
@pytest.mark.parametrize("text", ["a\rb", "a\r\nb", "a\nb", '"', ",", "\0", "\u2028", "\x85", "\ufeff", " ", "é𝔸"])
def test_texts_of_every_kind_come_back(text, suffix, tmp_path):
    made = from_rows([Record(item_id="q" + text, positions=(0, 1), place=0, text=text, model="m" + text)])
    write_records(tmp_path / f"a.{suffix}", made)
    row = read_records(tmp_path / f"a.{suffix}").row(0)
    assert (row.item_id, row.text, row.model) == ("q" + text, text, "m" + text)


def table(tmp_path, **columns):
    base = {"item_id": ["a", "a"], "positions": [[0, 1], [1, 0]], "place": [0, 0], "gold": [0, 0]}
    pq.write_table(pa.table({**base, **columns}), tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


BYTES = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32).tobytes()), pa.py_buffer(b"\xff\xff")]
)


@pytest.mark.parametrize("name", ["item_id", "model", "text", "found", "group"])
def test_a_parquet_text_that_is_not_utf8(name, tmp_path):
    found = faults_of(table(tmp_path, **{name: BYTES}))
    assert f"`{name}` must hold UTF-8" in found


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("item_id", pa.array(["a", "a"]).dictionary_encode()),
        ("gold", pa.array([0, 0]).dictionary_encode()),
        ("positions", pa.array([[0, 1], [1, 0]], pa.large_list(pa.int64()))),
        ("positions", pa.array([[0, 1], [1, 0]], pa.list_(pa.uint8(), 2))),
        ("positions", pa.array([[-0.0, 1.0], [1.0, -0.0]])),
        ("mass", pa.array([np.float16(0.5)] * 2, pa.float16())),
        *([("item_id", pa.array(["a", "a"], pa.string_view()))] if hasattr(pa, "string_view") else []),
        *([("positions", pa.array([[0, 1], [1, 0]], pa.list_view(pa.int64())))] if hasattr(pa, "list_view") else []),
    ],
    ids=str,
)
def test_parquet_types_that_hold_the_same_values(name, column, tmp_path):
    read = read_records(table(tmp_path, **{name: column}))
    assert [r.positions for r in read] == [(0, 1), (1, 0)]
    assert {r.item_id for r in read} == {"a"}


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("positions", pa.array([[None, None], [1, 0]])),
        ("positions", pa.array([[0, 2**64 - 1], [1, 0]], pa.list_(pa.uint64()))),
        ("positions", pa.array([{"x": 1}, {"x": 2}])),
        ("positions", pa.array([[[0, 1]], [[1, 0]]])),
        ("positions", pa.array([[False, True], [True, False]])),
        ("gold", pa.array([2**64 - 1, 0], pa.uint64())),
        ("gold", pa.array([1, 2], pa.timestamp("s"))),
        ("logprobs", pa.array([[], []], pa.list_(pa.null()))),
        ("status", pa.array([True, True])),
        ("item_id", pa.array([b"a", b"a"])),
    ],
    ids=str,
)
def test_parquet_types_and_values_that_cannot_be_meant(name, column, tmp_path):
    assert f"`{name}`" in faults_of(table(tmp_path, **{name: column}))


def test_logits_that_were_taken_for_log_probabilities_are_said(tmp_path):
    row = {"item_id": "q", "positions": [0, 1]}
    path = lines(tmp_path, json.dumps({**row, "logprobs": [-0.1, -0.2]}),
                 json.dumps({**row, "item_id": "r", "logprobs": [-0.1, -9.0]}))  # fmt: skip
    (notice,) = (n for n in read_records(path).notices if "sum to more than 1" in n)
    assert "of 1 rows" in notice
    assert "a.jsonl line 1" in notice


VALUES = [
    None, True, False, 0, 1, -1, 2, 26, 27, 10**19, 10**400, -0.0, 0.5, 1e308, float("nan"), float("inf"), "", " ", "0",
    "0 1", "A", "ok", "\0", "é", "\ud800", [], [0], [0, 1], [1, 0], [0, 1, 2], [0, 0], [0, None], [[0, 1]], ["0", "1"],
    [-0.1, -3.0], [0.1, 0.9], [-9999, -9999], [float("nan"), -1], [float("-inf"), -1], [0, 10**400], {}, {"a": 1},
]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_any_mutation_is_read_or_is_a_clear_error(seed, tmp_path):
    rng = random.Random(seed)
    names = [*Record.__dataclass_fields__, "other"]
    for _ in range(40):
        rows = [{**ROW, "item_id": f"q{i}"} for i in range(3)]
        for _ in range(rng.randint(1, 3)):
            row, name = rng.choice(rows), rng.choice(names)
            if rng.random() < 0.1:
                row.pop(name, None)
            else:
                row[name] = rng.choice(VALUES)
        read, faults = read_or_faults(lines(tmp_path, *map(json.dumps, rows)))
        assert all("a.jsonl" in fault for fault in faults)
        assert faults or len(read) == 3
        for record in read or ():
            assert sorted(record.positions) == list(range(len(record.positions)))
            assert record.place is None or 0 <= record.place < len(record.positions)
            assert (record.place is not None) == (record.status == "ok")


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "jsonl.gz", "csv.gz"])
def test_any_damage_to_the_bytes_is_read_or_is_a_clear_error(suffix, tmp_path):
    rng = random.Random(suffix)
    made = from_rows(
        [Record(item_id=f"q{i}", positions=p, logprobs=(-0.1, -3.0), gold=i % 2, text="x,\n\"é")
         for i in range(6) for p in ((0, 1), (1, 0))]
    )  # fmt: skip
    path = tmp_path / f"a.{suffix}"
    write_records(path, made)
    whole = path.read_bytes()
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            kind = rng.random()
            if kind < 0.5:
                data[at] = rng.randrange(256)
            elif kind < 0.75:
                del data[at : at + rng.randint(1, 20)]
            else:
                data[at:at] = rng.choice([b"\0", b"\r", b"\n", b"\xef\xbb\xbf", b"\xff", b'"', b",", b"[" * 5000])
        path.write_bytes(data)
        _, faults = read_or_faults(path)
        assert all("a." in fault or "Item" in fault for fault in faults)
