"""Records: three formats hold the same, defaults are said, and `place` follows from the log-probabilities."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orderbias.predictions import STATUSES
from orderbias.records import (
    COLUMNS,
    RECORD_STATUSES,
    Record,
    Records,
    concatenate,
    from_parquet,
    from_rows,
    read_records,
    schema,
    to_parquet,
    write_records,
)
from orderbias.records.across import combine, lexicographic_codes, ordering_codes

SUFFIXES = (".parquet", ".jsonl", ".csv", ".jsonl.gz", ".csv.gz", ".parquet.gz")

TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=8)
NAMES = TEXTS.filter(lambda t: t.strip())


@st.composite
def rows(draw):
    """Valid records of one model: distinct items of 2 to 5 options, with and without answers."""
    made = []
    for i in range(draw(st.integers(1, 5))):
        k = draw(st.integers(2, 5))
        status = draw(st.sampled_from(RECORD_STATUSES))
        logprobs = draw(st.none() | st.tuples(*[st.floats(-700, 0)] * k)) if status == "ok" else None
        place = None
        if status == "ok":
            place = int(np.argmax(logprobs)) if logprobs else draw(st.integers(0, k - 1))
        made.append(
            Record(
                model=draw(NAMES), benchmark=draw(NAMES), readout="r", item_id=f"{i}{draw(NAMES)}",
                group=draw(st.none() | NAMES), positions=tuple(draw(st.permutations(range(k)))),
                gold=draw(st.none() | st.integers(0, k - 1)), place=place, logprobs=logprobs,
                mass=draw(st.none() | st.floats(0, 1)), status=status, repeat=draw(st.integers(0, 3)),
                found=draw(st.none() | NAMES), text=draw(st.none() | NAMES),
                tokens_in=draw(st.none() | st.integers(0, 9)),
                tokens_out=draw(st.none() | st.integers(0, 9)),
            )
        )  # fmt: skip
    return made


@settings(max_examples=60, deadline=None)
@given(made=rows(), suffix=st.sampled_from(SUFFIXES))
def test_every_format_gives_back_what_was_written(made, suffix, tmp_path_factory):
    path = tmp_path_factory.mktemp("formats") / f"answers{suffix}"
    write_records(path, from_rows(made))
    assert list(read_records(path)) == made
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@settings(max_examples=60, deadline=None)
@given(made=rows())
def test_bytes_give_back_what_was_written_and_depend_on_the_records_only(made):
    records = from_rows(made)
    assert list(from_parquet(to_parquet(records), "x")) == made
    assert to_parquet(records) == to_parquet(from_rows(made))


@settings(max_examples=60, deadline=None)
@given(made=rows(), data=st.data())
def test_taking_rows_and_joining_parts(made, data):
    records = from_rows(made)
    chosen = data.draw(st.lists(st.integers(0, len(made) - 1), min_size=1, max_size=6))
    assert list(records.take(np.array(chosen))) == [made[i] for i in chosen]
    joined = concatenate([records.take(np.array([i])) for i in range(len(made))])
    assert list(joined) == made


def test_statuses_are_those_of_predictions():
    assert STATUSES[: len(RECORD_STATUSES)] == RECORD_STATUSES


def test_the_schema_has_every_column_in_order():
    assert tuple(schema().names) == COLUMNS


def test_a_hand_written_file_needs_three_columns_and_the_defaults_are_said(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("item_id,positions,place\nq1,0 1 2,2\nq1,1 2 0,\n")
    records = read_records(path)
    assert records.row(0) == Record(
        model="unnamed", benchmark="mine", readout="unknown", item_id="q1", positions=(0, 1, 2), place=2
    )
    assert records.row(1).status == "unparsed"
    said = "\n".join(records.notices)
    for word in ("`model`: 'unnamed'", "`benchmark`: 'mine'", "`readout`: 'unknown'", "count as `unparsed`"):
        assert word in said


def test_the_stem_of_a_zipped_file_is_its_benchmark(tmp_path):
    path = tmp_path / "mmlu.v2.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"item_id": "a", "positions": [0, 1], "place": 0}\n'))
    assert read_records(path).benchmark[0] == "mmlu.v2"


def test_names_with_nulls_take_the_default_there_only(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"item_id": 1, "positions": [0, 1], "place": 0}\n'
        '{"item_id": 2, "positions": [0, 1], "place": 0, "model": "m"}\n'
    )
    records = read_records(path)
    assert records.model.to_list() == ["unnamed", "m"]
    assert records.item_id.to_list() == ["1", "2"]
    assert any("has nulls in `model`" in n for n in records.notices)


def test_unknown_columns_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item_id,positions,place,golden,note\nq1,0 1,0,1,x\n")
    records = read_records(path)
    assert any("golden, note" in n for n in records.notices)
    assert records.gold.tolist() == [-1]


def one(**fields):
    return from_rows([Record(item_id="q", positions=(0, 1, 2, 3), **fields)])


def test_place_is_the_argmax_and_ties_go_to_the_lowest_place_and_are_counted():
    assert one(logprobs=(-3.0, -1.0, -2.0, -1.5)).place.tolist() == [1]
    tied = one(logprobs=(-3.0, -1.0, -1.0, -1.5))
    assert (tied.place.tolist(), tied.ties.tolist()) == ([1], [True])
    assert one(logprobs=(-3.0, -1.0, -1.0, -1.5), place=2).place.tolist() == [1]
    assert one(logprobs=(-3.0, -1.0, -1.0 - 1e-12, -1.5)).ties.tolist() == [False]


@pytest.mark.parametrize("filler", [None, -9999.0, -1e4, float("-inf"), -1e9])
@pytest.mark.parametrize("status", ["ok", None])
def test_a_label_without_log_probability_is_censored(filler, status, tmp_path):
    lines = [
        {"item_id": "a", "positions": [0, 1, 2, 3], "logprobs": [-1.0, filler, -2.0, -3.0], "status": status},
        {"item_id": "b", "positions": [0, 1, 2, 3], "logprobs": [-1.0, -700.0, -2.0, -3.0], "status": status},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    pd.DataFrame(lines).to_parquet(tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.parquet"):
        if name == "a.parquet" and filler is None:
            continue  # a data frame makes NaN of it; see the next test
        records = read_records(tmp_path / name)
        assert [r.status for r in records] == ["error", "ok"]
        assert records.row(0).place is None
        assert records.row(0).logprobs is None
        assert records.row(1).logprobs == (-1.0, -700.0, -2.0, -3.0)
        assert any("1 rows lack" in n and "`error`" in n for n in records.notices)


def test_a_null_within_a_parquet_list_is_censored(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"item_id": ["a", "b"], "positions": [[0, 1], [0, 1]], "logprobs": [[-1.0, None], [-1.0, -2.0]]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert [r.status for r in read_records(tmp_path / "a.parquet")] == ["error", "ok"]


def test_a_censored_row_that_names_its_place_is_an_error_all_the_same(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item_id,positions,place,logprobs\nq1,0 1 2,0,-0.1 null -3\nq2,0 1 2,0,-0.1 -2 -3\n")
    assert [r.place for r in read_records(path)] == [None, 0]


def test_rounding_above_zero_is_allowed():
    assert one(logprobs=(5e-7, -20.0, -20.0, -20.0)).place.tolist() == [0]


def test_log_probabilities_of_a_failed_row_are_not_kept():
    records = one(logprobs=(-1.0, -2.0), status="error", text="timeout")
    assert records.row(0).logprobs is None
    assert records.row(0).text == "timeout"


def test_a_data_frame_with_nulls_is_read(tmp_path):
    frame = pd.DataFrame(
        {
            "item_id": [1, 2, 3],
            "positions": [np.array([1, 0])] * 3,
            "gold": [0.0, np.nan, 1.0],
            "place": [1.0, 0.0, np.nan],
            "group": ["a", None, "a"],
            "mass": [0.5, np.nan, 0.25],
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    records = read_records(tmp_path / "a.parquet")
    assert records.gold.tolist() == [0, -1, 1]
    assert records.place.tolist() == [1, 0, -1]
    assert [r.status for r in records] == ["ok", "ok", "unparsed"]
    assert [r.mass for r in records] == [0.5, None, 0.25]
    assert records.group.to_list() == ["a", None, "a"]


@pytest.mark.parametrize("kind", ["large_list", "fixed", "dictionary", "float32", "chunks"])
def test_parquet_of_other_tools(kind, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids, positions, logprobs = ["a", "b", "a"], [[0, 1], [0, 1], [1, 0]], [[-0.25, -2.0], None, [-3.0, -0.5]]
    types = {
        "large_list": (pa.large_string(), pa.large_list(pa.int64()), pa.large_list(pa.float64())),
        "fixed": (pa.string(), pa.list_(pa.uint8(), 2), pa.list_(pa.float64(), 2)),
        "dictionary": (pa.dictionary(pa.int32(), pa.string()), pa.list_(pa.int32()), pa.list_(pa.float64())),
        "float32": (pa.string(), pa.list_(pa.float64()), pa.list_(pa.float32())),
        "chunks": (pa.string(), pa.list_(pa.int8()), pa.list_(pa.float64())),
    }[kind]
    table = pa.table(
        [pa.array(v, t) for v, t in zip((ids, positions, logprobs), types, strict=True)],
        names=["item_id", "positions", "logprobs"],
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1 if kind == "chunks" else None)
    records = read_records(tmp_path / "a.parquet")
    assert records.item_id.to_list() == ids
    assert [list(r.positions) for r in records] == positions
    assert [None if r.logprobs is None else list(r.logprobs) for r in records] == logprobs
    assert [r.place for r in records] == [0, None, 1]


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_text("before")
    monkeypatch.setattr("orderbias.records.files.write_jsonl", lambda records, stream: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_records(path, one(place=0))
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]
    assert path.read_text() == "before"


def test_row_order_and_files_do_not_matter(tmp_path):
    made = [Record(item_id=str(i), positions=(0, 1), place=i % 2, model="m", benchmark="b") for i in range(6)]
    write_records(tmp_path / "one.csv", from_rows(made[:2]))
    write_records(tmp_path / "two.parquet", from_rows(made[2:]))
    assert list(read_records([tmp_path / "one.csv", tmp_path / "two.parquet"])) == made


@given(st.integers(2, 18), st.data())
@settings(max_examples=60, deadline=None)
def test_codes_of_orderings_sort_as_the_orderings_do(k, data):
    table = [tuple(data.draw(st.permutations(range(k)))) for _ in range(6)] + [tuple(range(k))]
    codes = lexicographic_codes(np.array(table, np.int8)).tolist()
    for a, x in zip(codes, table, strict=True):
        for b, y in zip(codes, table, strict=True):
            assert (a < b) == (x < y)
            assert (a == b) == (x == y)


def test_codes_of_orderings_of_several_k_differ():
    made = [Record(item_id=str(i), positions=tuple(range(k)), place=0) for i, k in enumerate((2, 3, 2, 16, 4))]
    codes = ordering_codes(from_rows(made)).tolist()
    assert codes[0] == codes[2]
    assert len(set(codes)) == 4


def test_combined_keys_stay_exact_beyond_64_bits():
    rng = np.random.default_rng(0)
    columns = [rng.choice([0, 5, 2**40], size=200) for _ in range(4)]
    keys = combine(*columns)
    tuples = list(zip(*(c.tolist() for c in columns), strict=True))
    assert len(set(keys.tolist())) == len(set(tuples))
    assert len(set(zip(keys.tolist(), tuples, strict=True))) == len(set(tuples))


def test_memory_a_row_is_small():
    made = from_rows(
        [Record(item_id=str(i), positions=(0, 1, 2, 3), logprobs=(-1.0, -2.0, -3.0, -4.0)) for i in range(1000)]
    )
    arrays = [getattr(made, name) for name in Records.__dataclass_fields__]
    arrays += [w.codes for w in arrays if hasattr(w, "codes")]
    n_bytes = sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))
    assert n_bytes <= 110 * 1000
