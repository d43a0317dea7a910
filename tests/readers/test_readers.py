"""Reading items: forms of files, columns and golds, and every kind of bad input with the place it names."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pandas as pd
import pytest
from hypothesis import given

from orderbias import orderings
from orderbias.errors import ArgumentError, DataError, MissingExtra
from orderbias.items import Item
from orderbias.readers import drafts, read_items
from orderbias.readers.field_map import parse_fields

Rows = Sequence[dict[str, Any]]


@pytest.fixture
def jsonl(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: dict[str, Any] | str, name: str = "items.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows), encoding="utf-8")
        return path

    return write


def row(gold: Any, question: str = "q", options: Any = ("w", "x", "y", "z"), **more: Any) -> dict[str, Any]:
    return {"question": question, "options": options, "gold": gold, **more}


def rows_with(golds: Sequence[Any], **more: Any) -> Rows:
    return [row(gold, f"q{i}", **more) for i, gold in enumerate(golds)]


# --- forms of the gold -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("golds", "expected", "form"),
    [
        ([0, 1, 3], [0, 1, 3], "numbers from 0"),
        (["0", "3"], [0, 3], "numbers from 0"),
        ([1, 4], [0, 3], "numbers from 1"),
        (["1", "4"], [0, 3], "numbers from 1"),
        ([1.0, 4.0], [0, 3], "numbers from 1"),
        (["A", "D"], [0, 3], "letters"),
        (["(B)", "c."], [1, 2], "letters"),
        (["x", "z"], [1, 3], "texts"),
        ([["A"], ["D"]], [0, 3], "letters"),
        ([[0], [2]], [0, 2], "numbers from 0"),
        ([0, None, ""], [0, None, None], "numbers from 0"),
    ],
)
def test_a_gold_is_read_in_the_form_of_the_whole_file(
    jsonl: Callable[..., Path], golds: list[Any], expected: list[int | None], form: str
) -> None:
    read = read_items(jsonl(*rows_with(golds)))
    assert [item.gold for item in read] == expected
    assert f"Golds read as {form}, from `gold`." in read.notices


@pytest.mark.parametrize(("base", "expected"), [(0, [1, 2]), (1, [0, 1])])
def test_where_numbers_do_not_tell_their_base_the_caller_does(
    jsonl: Callable[..., Path], base: int, expected: list[int]
) -> None:
    path = jsonl(*rows_with([1, 2]))
    with pytest.raises(DataError, match="--gold-base 0 or --gold-base 1"):
        read_items(path)
    assert [item.gold for item in read_items(path, gold_base=base)] == expected


@pytest.mark.parametrize(
    ("golds", "options", "message"),
    [
        ([0, 4], None, "items.jsonl line 2: `gold` must be 0..3 for 4 options. Got 4. Golds are 0-based; pass --gold"),
        ([4, 5], None, "items.jsonl line 2: `gold` must be 1..4 for 4 options. Got 5. Golds count from 1"),
        ([7, 2], None, "items.jsonl line 1: `gold` must be 0..3 for 4 options. Got 7"),
        ([0, -1], None, "items.jsonl line 2: `gold` must be 0..3 for 4 options. Got -1"),
        ([0, 10**40], None, "items.jsonl line 2: `gold` must be 0..3 for 4 options. Got 1000"),
        ([0, float("nan")], None, "items.jsonl line 2: `gold` must be 0..3 for 4 options. Got nan"),
        ([0, float("inf")], None, "items.jsonl line 2: `gold` must be 0..3 for 4 options. Got inf"),
        ([0, 1.5], None, "items.jsonl line 2: `gold` must be 0..3 for 4 options. Got 1.5"),
        ([0, True], None, "items.jsonl line 2: `gold` must be 0..3 for 4 options. Got True"),
        ([0, {"a": 1}], None, "items.jsonl line 2: `gold` must be 0..3 for 4 options. Got {'a': 1}"),
        (["A", "E"], None, "items.jsonl line 2: `gold` must be A..D for 4 options. Got 'E'"),
        (["A", "B", 1], None, "items.jsonl line 3: `gold` must be A..D for 4 options. Got 1"),
        (["A", ["B", "C"]], None, "items.jsonl line 2: `gold` must be one option. Got ['B', 'C']"),
        (["x", "nowhere"], None, "items.jsonl line 2: `gold` must be a number, a letter or the text of one of the 4"),
        (["Ａ"], None, "items.jsonl line 1: `gold` must be"),  # full width
        (["A", "B"], ["B", "A"], "items.jsonl: `gold` can be read as letters and as texts, and they disagree"),
        ([0, 1], ["1", "0"], "items.jsonl: `gold` can be read as numbers from 0 and as texts, and they disagree"),
        ([0, 1], ["a", None, "c"], "items.jsonl line 2: `gold` must name an option. Got 1, whose option is null"),
    ],
)  # fmt: skip
def test_a_gold_that_does_not_fit_is_an_error(
    jsonl: Callable[..., Path], golds: list[Any], options: list[Any] | None, message: str
) -> None:
    path = jsonl(*rows_with(golds, **({"options": options} if options else {})))
    with pytest.raises(DataError) as error:
        read_items(path)
    assert any(fault.startswith(message) for fault in error.value.faults), error.value.faults


@given(
    st.lists(st.tuples(st.integers(2, 6), st.integers(0, 5)), min_size=2, max_size=12),
    st.sampled_from(["index", "one", "letter", "text"]),
)
def test_every_form_of_the_same_golds_reads_alike_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, int]], form: str
) -> None:
    golds = [(k, g % k) for k, g in drawn]
    write: dict[str, Callable[[int], Any]] = {
        "index": lambda g: g,
        "one": lambda g: g + 1,
        "letter": lambda g: "ABCDEF"[g],
        "text": lambda g: f"text {g}",
    }
    path = tmp_path_factory.mktemp("golds") / "items.jsonl"
    lines = [row(write[form](g), f"q{i}", [f"text {j}" for j in range(k)]) for i, (k, g) in enumerate(golds)]
    path.write_text("\n".join(map(json.dumps, lines)))
    # Numbers tell their base by a 0 or a K; as indices from 0 no K can be there.
    told = form in ("letter", "text") or any(g == {"index": 0, "one": k - 1}[form] for k, g in golds)
    if told:
        assert [item.gold for item in read_items(path)] == [g for _, g in golds]
    else:
        with pytest.raises(DataError, match="--gold-base"):
            read_items(path)


def test_labels_of_a_row_decide_what_a_gold_means(jsonl: Callable[..., Path]) -> None:
    def nested(gold: str, labels: str) -> dict[str, Any]:
        choices = [{"text": f"t{label}", "label": label} for label in labels]
        return {"id": gold + labels, "question": {"stem": f"{gold}?", "choices": choices}, "answerKey": gold}

    read = read_items(jsonl(nested("B", "ABCD"), nested("2", "1234"), nested("3", "123")))
    assert [item.gold for item in read] == [1, 1, 2]
    assert read.items[1].options == ("t1", "t2", "t3", "t4")
    assert any("Golds read as labels" in notice for notice in read.notices)


def test_several_gold_columns_must_agree(jsonl: Callable[..., Path]) -> None:
    good = [{"question": f"q{i}", "options": ["a", "b"], "answer": "AB"[i], "answer_index": i} for i in (0, 1)]
    assert [item.gold for item in read_items(jsonl(*good))] == [0, 1]
    bad = jsonl({**good[0], "answer": "B"}, good[1])
    with pytest.raises(DataError, match="`answer_index` and `answer` may hold the gold and do not agree"):
        read_items(bad)
    assert [item.gold for item in read_items(bad, fields={"gold": "answer"})] == [1, 1]


def test_letters_before_the_options_out_of_order_are_an_error(jsonl: Callable[..., Path]) -> None:
    ordered, twisted = ["(A)p", "(B)q", "(C)r"], ["(A)p", "(C)r", "(B)q"]
    read = read_items(jsonl(row("A", "1", ordered), row("B", "2", ordered)))
    assert any("letters of their own" in notice for notice in read.notices)
    with pytest.raises(DataError, match=r"line 2: options that begin with their own letters must be in the order"):
        read_items(jsonl(row("A", "1", ordered), row("B", "2", twisted)))


# --- options -----------------------------------------------------------------------------------------------------


def test_a_null_option_is_left_out_and_the_gold_follows(jsonl: Callable[..., Path]) -> None:
    read = read_items(jsonl(row(0, "a"), row(3, "b", ["p", None, "q", "r", None])))
    assert read.items[1].options == ("p", "q", "r")
    assert read.items[1].gold == 2
    assert "2 null options left out, in 1 item." in read.notices
    assert any(
        notice.startswith("Items differ in their number of options (1 with 3, 1 with 4)") for notice in read.notices
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["a", ""], "no option may be empty. Option 2 of 2 is"),
        (["a", "  \t", "b"], "no option may be empty. Option 2 of 3 is"),
        (["a"], "an item needs 2 to 26 options. Got 1"),
        (["a", None], "an item needs 2 to 26 options. Got 1"),
        ([], "an item needs 2 to 26 options. Got 0"),
        ([str(i) for i in range(27)], "an item needs 2 to 26 options. Got 27"),
        ("text", "`options` must be a list of texts. Got 'text'"),
        (["a", ["b"]], "`options` must be a text. Got ['b']"),
        (["a", True], "`options` must be a text. Got True"),
        (["a", "\ud800"], "`options` holds half of a character pair"),
    ],
)
def test_options_that_break_the_rules(jsonl: Callable[..., Path], options: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        read_items(jsonl(row(0, "first"), row(0, "second", options)))
    assert len(error.value.faults) == 1
    assert error.value.faults[0].startswith(f"items.jsonl line 2: {message}")


def test_no_item_is_read_that_no_ordering_could_show() -> None:
    assert drafts.MAX_OPTIONS == orderings.MAX_OPTIONS


def test_two_options_with_one_text_are_said(jsonl: Callable[..., Path]) -> None:
    read = read_items(jsonl(row("x", options=["w", "x", "x"], id="q7")))
    assert read.items[0].gold == 1
    assert any("1 item shows one text as two options (id q7)" in notice for notice in read.notices)


def test_numbers_are_texts(jsonl: Callable[..., Path]) -> None:
    assert read_items(jsonl(row("A", options=[1, 2.5]), row("B", "p", options=[3, 4]))).items[0].options == ("1", "2.5")


def test_a_gold_at_one_place_in_all_items_is_said(jsonl: Callable[..., Path]) -> None:
    assert any("The gold is option 1 in all 8 items" in n for n in read_items(jsonl(*rows_with([0] * 8))).notices)
    assert not any("The gold is option" in n for n in read_items(jsonl(*rows_with([0] * 7 + [1]))).notices)


# --- ids and repeats ---------------------------------------------------------------------------------------------


def test_ids_are_row_numbers_unless_there_are_ids(jsonl: Callable[..., Path]) -> None:
    assert [i.id for i in read_items(jsonl(*rows_with([0, 1])))] == ["1", "2"]
    with_ids = jsonl(row(0, "a", id=70), row(1, "b", id="x"))
    assert [i.id for i in read_items(with_ids)] == ["70", "x"]
    assert [i.id for i in read_items(with_ids, fields={"id": None})] == ["1", "2"]


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (row(0, "a", id="2"), "line 2: the item of items.jsonl line 1 again. Take one out, or pass --duplicates first"),
        (row(0, "a", id="1"), "line 2: the item of items.jsonl line 1 again"),
        (row(0, "b", id="1"), "line 2: the id '1' of items.jsonl line 1 again, with other texts"),
        (row(1, "a", id="1"), "line 2: the item of items.jsonl line 1 again, with another gold (0 and 1, from 0)"),
        (row(1, "a", id="2"), "line 2: the item of items.jsonl line 1 again, with another gold (0 and 1, from 0)"),
        (row(0, "b", id=None), "line 2: `id` is missing"),
        (row(0, "b", id=" "), "line 2: `id` is missing"),
    ],
)
def test_a_second_copy_is_an_error(jsonl: Callable[..., Path], second: dict[str, Any], message: str) -> None:
    path = jsonl(row(0, "a", id="1"), second)
    with pytest.raises(DataError) as error:
        read_items(path)
    assert error.value.faults[0].startswith(f"items.jsonl {message}")


def test_duplicates_first_keeps_the_first_but_never_chooses_between_golds(jsonl: Callable[..., Path]) -> None:
    read = read_items(jsonl(row(0, "a", id="1"), row(0, "a", id="1"), row(0, "a", id="2")), duplicates="first")
    assert [item.id for item in read] == ["1"]
    assert "2 items repeat another one's texts or id: left out." in read.notices
    with pytest.raises(DataError, match="with another gold"):
        read_items(jsonl(row(0, "a", id="1"), row(1, "a", id="1")), duplicates="first")


# --- files -------------------------------------------------------------------------------------------------------

TABLE = [
    Item("1", 'A "quoted", question\nin two lines?', ("x, y", "z"), 0),
    Item("2", "Größe – 大小?", ("ja", "nein"), 1),
]


def as_csv(delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(["question", "A", "B", "answer"])
    writer.writerows([item.question, *item.options, "AB"[item.gold or 0]] for item in TABLE)
    return out.getvalue()


def as_records() -> list[dict[str, Any]]:
    return [{"question": i.question, "options": list(i.options), "answer": "AB"[i.gold or 0]} for i in TABLE]


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.jsonl", "t.ndjson", "t.json", "t.parquet", "t.jsonl.gz", "t.CSV"]
)
def test_every_kind_of_file_gives_the_same_items(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    lines = "\n".join(map(json.dumps, as_records()))
    if name.endswith("parquet"):
        pd.DataFrame(as_records()).to_parquet(path)
    elif name.endswith("gz"):
        path.write_bytes(gzip.compress(lines.encode()))
    else:
        text = {"csv": as_csv(), "CSV": as_csv(), "tsv": as_csv("\t"), "json": json.dumps(as_records())}
        path.write_bytes(("\ufeff" + text.get(name.split(".")[1], lines)).encode())
    read = read_items(path)
    assert list(read.items) == TABLE
    assert read.name == "t"


def test_json_lines_under_the_name_json_are_read(jsonl: Callable[..., Path]) -> None:
    assert len(read_items(jsonl(*rows_with([0, 1]), name="items.json"))) == 2


def test_parquet_with_option_columns_nulls_and_nan(tmp_path: Path) -> None:
    frame = pd.DataFrame({"question": ["p", "q"], "option1": ["a", "b"], "option2": ["c", "d"], "option3": [None, "e"],
                          "label": [1.0, 3.0]})  # fmt: skip
    frame.to_parquet(tmp_path / "t.parquet")
    read = read_items(tmp_path / "t.parquet")
    assert [(i.options, i.gold) for i in read] == [(("a", "c"), 0), (("b", "d", "e"), 2)]


def test_options_written_out_in_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        'question,choices,answer\np,"[""a"", ""b""]",B\nq,"[\'c\', \'d\']",A\nr,"{""A"": ""e"", ""B"": ""f""}",A\n'
    )
    assert [(i.options, i.gold) for i in read_items(path)] == [(("a", "b"), 1), (("c", "d"), 0), (("e", "f"), 0)]


def test_csv_lines_count_embedded_line_ends_and_empty_cells_behind_are_nulls(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('question,A,B,C,answer\n"two\nlines",p,q,r,A\n\nshort,p,q,,B\nhole,p,,r,A\nfew,p,q\nlast,p,q,r,D\n')
    with pytest.raises(DataError) as error:
        read_items(path)
    assert error.value.faults == (
        "t.csv line 6: no option may be empty. Option 2 of 3 is.",
        "t.csv line 7: 3 cells where there are 5 columns.",
        "t.csv line 8: `gold` must be A..C for 3 options. Got 'D'; the other golds are letters.",
    )
    path.write_text("question,A,B,C,answer\nshort,p,q,,B\nlong,p,q,r,C\n")
    read = read_items(path)
    assert [item.options for item in read] == [("p", "q"), ("p", "q", "r")]
    assert "1 null option left out, in 1 item." in read.notices


def test_every_fault_is_listed_in_the_order_of_lines(jsonl: Callable[..., Path]) -> None:
    path = jsonl(
        row(0), '{"question": "cut', row(9, "b"), "[1]", row(0, " "), row(0, "c", ["a"]), '{"gold": 1, "gold": 2}'
    )
    with pytest.raises(DataError) as error:
        read_items(path)
    lines = [fault.split(":")[0] for fault in error.value.faults]
    assert lines == [f"items.jsonl line {n}" for n in (2, 3, 4, 5, 6, 7)]
    assert "Unterminated string" in error.value.faults[0]
    assert "the key 'gold' occurs twice" in error.value.faults[-1]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.jsonl", b"", "e.jsonl holds no items"),
        ("e.jsonl", b"\n \n", "e.jsonl holds no items"),
        ("e.json", b"", "e.json holds no items"),
        ("e.json", b"[]", "e.json holds no items"),
        ("e.csv", b"", "e.csv holds no items"),
        ("e.csv", b"question,A,B,answer\n", "e.csv holds no items"),
        ("e.jsonl", b'{"question": "p"', "e.jsonl line 1: not valid JSON"),
        ("e.jsonl", b"9" * 5000, "e.jsonl line 1: not valid JSON"),
        ("e.jsonl", b"[" * 100_000, "e.jsonl line 1: not valid JSON"),
        ("e.json", b'[{"question": "p"}', "e.json: not valid JSON"),
        ("e.json", b"3", "e.json: a .json file must hold a list of objects"),
        ("e.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', "e.jsonl line 2: text must be UTF-8. Got the byte 0xff"),
        ("e.csv", "question,A,B\nq,é,b\n".encode("utf-16"), "e.csv line 1: text must be UTF-8"),
        ("e.csv", b'question,A,B,answer\nq,a,"b,A\nr,a,b,A\n', "e.csv line 2: not valid CSV (unexpected end of data)"),
        ("e.csv", b'question,A,B,answer\nq,a,"b"c,A\n', "e.csv line 2: not valid CSV"),
        ("e.csv", b"question,A,A,answer\nq,a,b,A\n", "e.csv line 1: each column needs a name of its own. Got 'A'"),
        ("e.parquet", b"PAR1 cut short", "e.parquet is no readable Parquet file"),
        ("e.parquet", b"", "e.parquet is no readable Parquet file"),
        ("e.jsonl.gz", gzip.compress(b'{"question": "p"}' * 100, mtime=0)[:-9], "e.jsonl.gz cannot be read"),
        ("e.jsonl.gz", b"no gzip", "e.jsonl.gz cannot be read"),
        ("e.jsonl", b'{"frage": "p", "options": ["a", "b"]}', "e.jsonl: no column holds the question. Columns: frage"),
        ("e.jsonl", b'{"question": "p", "gold": 1}', "e.jsonl: no column holds the options. Columns: question, gold"),
        ("e.csv", b"question,option1,option3,gold\nq,a,b,0\n", "e.csv: no column holds the options"),
        ("e.jsonl", b'{"question": "", "options": ["a", "b"]}', "e.jsonl line 1: `question` must not be empty"),
        ("e.jsonl", b'{"question": {"x": 1}, "options": ["a", "b"]}', "e.jsonl line 1: `question` must be a text"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_one_clear_error(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as error:
        read_items(tmp_path / name)
    assert error.value.faults[0].startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gold_base": 2}, "`gold_base` must be 0 or 1. Got 2"),
        ({"duplicates": "keep"}, "`duplicates` must be error or first. Got 'keep'"),
        ({"self_referring": "no"}, "`self_referring` must be one of keep, pin, drop. Got 'no'"),
        (
            {"fields": {"choices": "options"}},
            "`fields` may hold question, options, gold, id, group, passage. Got choices",
        ),
        ({"split": "test"}, "`split` goes with a data set of the hub"),
    ],
)
def test_arguments_are_checked(jsonl: Callable[..., Path], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match="^" + message.replace(".", r"\.")):
        read_items(jsonl(*rows_with([0, 1])), **arguments)


def test_no_file_and_unknown_endings(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="There is no file"):
        read_items(tmp_path / "none.jsonl")
    (tmp_path / "items.xlsx").write_text("x")
    with pytest.raises(ArgumentError, match=r"must end in one of \.jsonl"):
        read_items(tmp_path / "items.xlsx")


def test_given_columns_must_be_there(jsonl: Callable[..., Path]) -> None:
    path = jsonl({"q": "p", "one": "a", "two": "b", "right": "two"}, {"q": "r", "one": "a", "two": "b", "right": "one"})
    with pytest.raises(
        DataError, match=r"no row has the column 'three' given for the options\. Columns: q, one, two, right"
    ):
        read_items(path, fields={"question": "q", "options": ["one", "three"]})
    named = jsonl({"q": "p", "one": "v", "two": "w", "right": "w"}, {"q": "r", "one": "v", "two": "w", "right": "v"})
    read = read_items(named, fields={"question": "q", "options": ["one", "two"], "gold": "right"})
    assert [(i.options, i.gold) for i in read] == [(("v", "w"), 1), (("v", "w"), 0)]


def test_fields_from_a_command_line() -> None:
    assert parse_fields(["gold=answer", "options=A, B,C", "id="]) == {
        "gold": "answer",
        "options": ("A", "B", "C"),
        "id": None,
    }
    for bad in ("gold", "choices=options", "=x"):
        with pytest.raises(ArgumentError, match="PART=COLUMN"):
            parse_fields([bad])


# --- self-referring options --------------------------------------------------------------------------------------


def test_self_referring_options_are_kept_pinned_or_dropped(jsonl: Callable[..., Path]) -> None:
    path = jsonl(row(0, "a", ["p", "q", "None of the above"]), row(1, "b", ["p", "q", "r"]))
    assert [i.pinned for i in read_items(path)] == [(), ()]
    assert [i.pinned for i in read_items(path, self_referring="pin")] == [(2,), ()]
    dropped = read_items(path, self_referring="drop")
    assert [i.id for i in dropped] == ["2"]
    assert any(
        "1 item has an option that speaks of the others (none of the above 1): dropped" in n for n in dropped.notices
    )
    with pytest.raises(DataError, match="no item is left"):
        read_items(jsonl(row(0, "a", ["p", "none of these"])), self_referring="drop")


# --- the hub -----------------------------------------------------------------------------------------------------


def test_without_the_package_the_install_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install 'orderbias\[hub\]'"):
        read_items("hf:org/name")


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return pytest.importorskip("datasets")


def test_saved_data_sets_are_read(tmp_path: Path, datasets: Any) -> None:
    test = datasets.Dataset.from_list(as_records())
    test.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"test": test, "dev": test.select([1])}).save_to_disk(tmp_path / "two")
    assert list(read_items(tmp_path / "one").items) == TABLE
    assert [i.question for i in read_items(f"hf:{tmp_path / 'two'}", split="dev")] == [TABLE[1].question]
    with pytest.raises(ArgumentError, match=r"`split` must be one of test, dev for .* Got none"):
        read_items(tmp_path / "two")
    with pytest.raises(ArgumentError, match="Got 'train'"):
        read_items(tmp_path / "two", split="train")


def test_a_folder_of_parquet_files_is_read_as_the_hub_is(tmp_path: Path, datasets: Any) -> None:
    (tmp_path / "data").mkdir()
    pd.DataFrame(as_records()).to_parquet(tmp_path / "data" / "test-00000-of-00001.parquet")
    assert list(read_items(f"hf:{tmp_path / 'data'}", split="test").items) == TABLE


def test_a_data_set_that_is_not_there_is_one_clear_error(datasets: Any) -> None:
    with pytest.raises(DataError, match="The data set 'nobody/nothing' cannot be loaded"):
        read_items("hf:nobody/nothing")
