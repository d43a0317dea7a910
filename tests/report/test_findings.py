import csv
import io
import json
import math
import re

import pytest
from rich.console import Console

from orderbias.report.entries import column_parts, entry_parts, head, under
from orderbias.report.finding_files import csv_files, latex_files, latex_text
from orderbias.report.findings import broken, finding_tables, findings_json, skipped_line
from orderbias.studies.findings import Column, Finding, Number, Table

NASTY = '<script>alert("50 % of A_1 & B$")</script>{}#~^\\'
COLUMNS = (
    Column("name", "statistic", "text"), Column("n", "cells", "count"), Column("share", "flip rate", "percent"),
    Column("gap", "change", "points"), Column("r", "r_s"), Column("shift", "log skew", "log"), Column("p", "p", "p"),
)  # fmt: skip
ROWS = (
    ("first", 1200, Number(0.683, 0.653, 0.712), Number(-0.0214, -0.05, 0.01), Number(-0.95, -0.965, -0.935), -0.5,
     0.0421),
    ("second", 7, Number(None), 0.0, 0.01234, Number(0.25, 0.125, 0.5), 1e-9),
    ("third", None, 0.5, None, math.nan, None, None),
)  # fmt: skip
TABLE = Table("all", "Every style", COLUMNS, ROWS, "checkpoints, each with all its cells", 0.975,
              "two-factors, Table 5", ("A note.",))  # fmt: skip
FINDING = Finding("made-up", "Is every style drawn?", (TABLE,), {"points": ({"x": math.nan, "y": 1},)}, ("It is.",),
                  None, ("The rest: needs more.",))  # fmt: skip


def drawn(finding, width=80, **options):
    console = Console(width=width, highlight=False, markup=False, file=io.StringIO(), color_system=None)
    console.print(finding_tables(finding, **options))
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("entry", "style", "value", "interval"),
    [
        (0.683, "percent", "68.3 %", ""),
        (Number(0.683), "percent", "68.3 %", ""),
        (Number(0.683, 0.653, 0.712), "percent", "68.3", "[65.3, 71.2]"),
        (0.0214, "points", "+2.1", ""),
        (-0.00001, "points", "0.0", ""),
        (Number(-0.02, -0.1, 0.0), "points", "-2.0", "[-10.0, 0.0]"),
        (0.5, "log", "+0.500", ""),
        (-0.95, "number", "-0.950", ""),
        (0.01234, "number", "0.0123", ""),
        (0.99996, "number", "1.00", ""),
        (123456.0, "number", "123,456", ""),
        (1.5e9, "number", "1.50e+09", ""),
        (0.0000123, "number", "1.23e-05", ""),
        (0.0, "number", "0", ""),
        # An interval decides how many decimals its value deserves.
        (Number(0.0012, -0.31, 0.3), "number", "0.001", "[-0.310, 0.300]"),
        (0.0421, "p", "0.042", ""),
        (0.0, "p", "< 1e-300", ""),
        (1200, "count", "1,200", ""),
        (12.5, "count", "12.5", ""),
        ("a\nb\x1b[2J", "text", "a b\\x1b[2J", ""),
        (True, "text", "yes", ""),
        (None, "percent", "–", ""),
        (math.nan, "number", "–", ""),
        (Number(None), "log", "–", ""),
    ],
)
def test_entries_are_written_by_the_style_of_their_column(entry, style, value, interval):
    assert entry_parts(entry, style) == (value, interval)


def test_where_the_head_has_the_per_cent_sign_no_entry_has_it():
    assert column_parts(TABLE, 2) == [("68.3", "[65.3, 71.2]"), ("–", ""), ("50.0", "")]


def test_a_number_names_a_row_where_words_do_not():
    columns = (
        Column("shape", "shape", "text"),
        Column("alpha", "strength"),
        *(Column(f"x{i}", f"head {i}") for i in "abcde"),
    )
    rows = tuple(("outer", a, *(Number(0.5, 0.25, 0.75),) * 5) for a in (-0.125, 0.125))
    text = drawn(Finding("w", "W", (Table("w", "Wide", columns, rows, "items"),)))
    assert text.count("strength") == text.count(" 0.125") == text.count("-0.125") == 2


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("batch-calibration>reversal-product", ["batch-calibration>", "reversal-product"]),
        ("Checkpoint-70B-with-a-long-name", ["Checkpoint-70B-with-a-", "long-name"]),
        ("two words that are long", ["two words that are", "long"]),
        ("short", ["short"]),
        ("x" * 30, ["x" * 30]),
    ],
)
def test_words_are_broken_where_they_are_joined(text, lines):
    assert broken(text, 22).split("\n") == lines


def test_a_unit_is_in_the_head_where_entries_do_not_carry_it():
    assert [head(TABLE, i) for i in range(len(COLUMNS))] == [
        "statistic", "cells", "flip rate (%)", "change (points)", "r_s", "log skew", "p",
    ]  # fmt: skip
    bare = Table("t", "T", (Column("a", "share", "percent"),), ((0.5,),))
    assert head(bare, 0) == "share"


def test_a_small_table_on_a_terminal():
    table = Table("t", "Shares", (COLUMNS[0], COLUMNS[1], COLUMNS[2]), tuple(row[:3] for row in ROWS),
                  "checkpoints, each with all its cells", source="two-factors, Table 5")  # fmt: skip
    lines = [
        line.rstrip() for line in drawn(Finding("t", "A question?", (table,), sentences=("An answer.",))).split("\n")
    ]
    assert lines == [
        "A question?",
        "An answer.",
        "",
        "Shares",
        "statistic  cells      flip rate (%)",
        "first      1,200  68.3 [65.3, 71.2]",
        "second         7                  –",
        "third          –               50.0",
        "95 % intervals, resampling checkpoints, each with all its cells. See",
        "two-factors, Table 5.",
        "",
        "",
    ]


@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_wide_table_fits_eighty_columns_and_loses_nothing(width):
    text = drawn(FINDING, width)
    assert max(map(len, text.split("\n"))) <= 80
    for i, column in enumerate(COLUMNS):
        for part in filter(None, sum(column_parts(TABLE, i), ())):
            assert part in text, column.key
    assert "97.5 % intervals, resampling checkpoints, each with all its cells." in text
    assert "Part skipped: The rest: needs more." in text


def test_each_part_of_a_wide_table_names_its_rows():
    columns = (Column("c", "checkpoint", "text"), Column("b", "benchmark", "text"),
               *(Column(f"x{i}", f"head {i}") for i in range(12)))  # fmt: skip
    # Two columns are needed to tell the rows apart.
    rows = tuple(("Checkpoint-with-a-long-name-instruct", f"benchmark-{r}", *(Number(r + 0.5, r, r + 1),) * 12)
                 for r in range(3))  # fmt: skip
    text = drawn(Finding("w", "W", (Table("w", "Wide", columns, rows, "items"),)))
    n_parts = text.count("checkpoint ")
    assert n_parts > 1
    assert max(map(len, text.split("\n"))) <= 80
    assert all(text.count(f"benchmark-{r}") == n_parts for r in range(3))
    assert sorted(map(int, re.findall(r"head\s(\d+)", text))) == list(range(12))


def test_a_long_table_is_cut_and_says_so():
    rows = tuple((f"cell {i}", i) for i in range(1030))
    text = drawn(Finding("l", "L", (Table("l", "Long", COLUMNS[:2], rows),)), most_rows=30)
    assert "cell 29 " in text
    assert "cell 30 " not in text
    assert "1,000 more rows: --json or --csv" in text


def test_what_was_skipped_says_what_is_missing_and_draws_no_table():
    text = drawn(Finding("s", "S?", skipped="needs at least 3 checkpoints; there are 2."))
    assert text.split("\n")[:2] == ["S?", "Skipped: needs at least 3 checkpoints; there are 2."]


def test_a_terminal_shows_names_as_they_are():
    names = ("[bold]x[/bold]", "\x1b[2J", NASTY[:30])
    text = drawn(Finding("n", "[red]t", (Table("n", "N", COLUMNS[:1], tuple((name,) for name in names)),)))
    assert "[bold]x[/bold]" in text
    assert "\\x1b[2J" in text
    assert "\x1b" not in text


def test_json_holds_no_nan():
    found = json.loads(json.dumps(findings_json([FINDING]), allow_nan=False))["findings"][0]
    assert found["tables"][0]["rows"][0]["share"] == {"value": 0.683, "interval": [0.653, 0.712]}
    assert found["tables"][0]["rows"][2]["r"] is None
    assert found["series"]["points"] == [{"x": None, "y": 1}]


def test_csv_has_the_ends_of_intervals_beside_the_values_in_full():
    rows = list(csv.DictReader(io.StringIO(csv_files([FINDING])["made-up-all.csv"])))
    assert list(rows[0]) == [
        "name", "n", "share", "share_low", "share_high", "gap", "gap_low", "gap_high", "r", "r_low", "r_high",
        "shift", "shift_low", "shift_high", "p",
    ]  # fmt: skip
    assert (rows[0]["share"], rows[0]["share_low"], rows[0]["share_high"]) == ("0.683", "0.653", "0.712")
    assert (rows[0]["gap"], rows[0]["shift"], rows[0]["shift_low"]) == ("-0.0214", "-0.5", "")
    assert [row["share"] for row in rows] == ["0.683", "", "0.5"]
    assert (rows[2]["n"], rows[2]["r"], rows[1]["p"]) == ("", "", "1e-09")


def test_a_benchmark_in_the_name_of_a_table_leads_to_no_other_folder():
    tables = tuple(Table(name, "T", COLUMNS[:2], (("x", 1),)) for name in ("../../a b", "..-..-A-b", "c/d"))
    assert list(csv_files([Finding("f", "F", tables)])) == ["f-..-..-a-b.csv", "f-..-..-A-b-2.csv", "f-c-d.csv"]


def test_csv_keeps_names_that_hold_commas_quotes_and_lines():
    table = Table("t", "T", COLUMNS[:2], (('a, "b"\nc', 1),))
    text = csv_files([Finding("f", "F", (table,))])["f-t.csv"]
    assert next(csv.DictReader(io.StringIO(text))) == {"name": 'a, "b"\nc', "n": "1"}


def unescaped(text, sign):
    """Count a sign of LaTeX where it is not escaped."""
    return len(re.findall(r"(?<!\\)(?:\\\\)*" + re.escape(sign), text))


def check_latex(text):
    """Check what a compiler would check first: balance of groups, environments and mathematics, and columns of rows."""
    assert unescaped(text, "{") == unescaped(text, "}")
    assert unescaped(text, "$") % 2 == 0
    opened = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    specification = re.search(r"\\begin\{(?:tabular|longtable)\}\{([lr]+)\}", text)[1]
    body = text.split("\\toprule\n")[-1].split("\\bottomrule")[0]
    for line in body.strip().split("\n"):
        if line.endswith(r"\\"):
            assert unescaped(line.removesuffix(r"\\"), "&") == len(specification) - 1
    for rule in ("toprule", "midrule", "bottomrule"):
        assert f"\\{rule}" in text
    # A per cent sign begins a comment: none may stand after the first line.
    assert unescaped(text.split("\n", 1)[1], "%") == 0


def test_a_small_table_in_latex():
    table = Table("pair_one", "Shares", (COLUMNS[0], COLUMNS[2], COLUMNS[3]),
                  (("A_1", Number(0.5, 0.25, 0.75), Number(-0.1, -0.2, 0.1)),), "cells",
                  source="two-factors, Table 5")  # fmt: skip
    files = latex_files([Finding("made-up", "?", (table,))])
    assert list(files) == ["made-up-pair_one.tex"]
    assert files["made-up-pair_one.tex"].split("\n") == [
        r"% Needs \usepackage{booktabs}.",
        r"\begin{table}",
        r"\centering",
        r"\caption{Shares. 95 \% intervals, resampling cells. See two-factors, Table 5.}",
        r"\label{tab:made-up-pair-one}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"statistic & flip rate (\%) & change (points) \\",
        r"\midrule",
        r"A\_1 & 50.0 [25.0, 75.0] & $-$10.0 [$-$20.0, +10.0] \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]


@pytest.mark.parametrize("n_rows", [1, 41])
def test_latex_is_balanced_whatever_names_it_holds(n_rows):
    rows = (*ROWS, (NASTY, 1, 0.5, 0.5, 0.5, 0.5, 0.5), ("[0.1]", 1, 0.5, 0.5, 0.5, 0.5, 0.5)) * n_rows
    table = Table("t", NASTY, (*COLUMNS[:-1], Column("p", NASTY, "p")), rows, "cells", notes=(NASTY,))
    text = latex_files([Finding("f", "F", (table,))])["f-t.tex"]
    check_latex(text)
    assert ("longtable" in text) == (n_rows > 1)
    assert "{}[0.1] &" in text  # not the option of the line break before it


def test_latex_text_escapes_every_sign_that_latex_obeys():
    assert latex_text("a&b%c$d#e_f{g}h") == r"a\&b\%c\$d\#e\_f\{g\}h"
    assert latex_text("~^\\<>") == (
        r"\textasciitilde{}\textasciicircum{}\textbackslash{}\textless{}\textgreater{}"
    )  # fmt: skip
    assert latex_text("2×3 – α→β") == r"2$\times$3 -- $\alpha$$\to$β"


def test_skipped_findings_have_no_file():
    assert csv_files([Finding("s", "S", skipped="needs more.")]) == {}
    assert latex_files([Finding("s", "S", skipped="needs more.")]) == {}


def test_what_a_panel_cannot_support_is_counted():
    found = [FINDING, Finding("b", "B?", skipped="needs 2."), Finding("c", "C?", skipped="needs 3.")]
    assert skipped_line(found) == "3 analyses: 1 done, 2 skipped (b, c); of those done, 1 parts skipped."
    stored = findings_json(found)
    assert (stored["n_analyses"], stored["n_skipped"], stored["n_parts_skipped"]) == (3, 2, 1)


def test_heads_take_the_room_there_is():
    columns = (
        Column("c", "Comparison of two", "text"),
        Column("a", "AUC of the gap"),
        Column("b", "AUC of the entropy"),
    )
    text = drawn(Finding("f", "F", (Table("t", "T", columns, (("one", 0.5, 0.25),)),)))
    assert "AUC of the gap  AUC of the entropy" in text


def test_a_long_title_fits_eighty_columns():
    assert max(map(len, drawn(Finding("f", "word " * 40)).split("\n"))) <= 80


def test_a_table_without_rows_or_intervals_says_so():
    columns = (Column("c", "Name", "text"), Column("x", "x"))
    empty = Table("t", "T", columns, (), resampled="items", source="two-factors, Table 5")
    assert under(empty) == ["There are none.", "See two-factors, Table 5."]
    text = drawn(Finding("f", "F", (empty,)))
    assert "There are none." in text
    assert "Name" not in text
    bare = Table("t", "T", columns, (("a", Number(0.5)),), resampled="cells")
    assert under(bare) == ["No interval could be drawn by resampling cells."]
