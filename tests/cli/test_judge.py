"""`orderbias judge`: files and runs in; tables, JSON and verdicts out; exit codes, and what is refused."""

import csv
import json
import os
import random
import re
import shutil
import time

import numpy as np
import pytest

from orderbias.cli import run
from orderbias.cli._verdict_file import verdicts_path
from orderbias.errors import ArgumentError
from orderbias.inference.uniformity import holm
from orderbias.judge import JudgeOptions, judge_reports, read_judgments
from orderbias.report.text import visible
from orderbias.signature import Signature

#: What is promised for each judge.
KEYS = {
    "judge": str, "n_pairs": int, "n_complete": int, "consistency": float, "first_position_rate": float,
    "p_value": float, "contradiction_rate": float, "lean": float, "lean_p_value": float, "outcomes": dict,
    "verdicts": list, "intervals": dict, "not_checked": dict, "verdict_text": str, "signature": str,
}  # fmt: skip
HEADER = "pair_id,order,verdict"


def both(first, second, n=1, start=0, more=""):
    return "".join(f"{i},AB,{first}{more}\n{i},BA,{second}{more}\n" for i in range(start, start + n))


@pytest.fixture
def table(tmp_path):
    def write(rows, header=HEADER, name="verdicts.csv"):
        path = tmp_path / name
        path.write_text(f"{header}\n{rows}")
        return str(path)

    return write


@pytest.fixture
def judge(capsys):
    def judging(*args, code=0):
        """Return what is printed and what is said."""
        assert run(["judge", *map(str, args)]) == code, capsys.readouterr().err
        return capsys.readouterr()

    return judging


@pytest.fixture
def judges(judge):
    """Return the values of each judge as JSON has them."""
    return lambda *args, code=0: json.loads(judge(*args, "--json", code=code).out)["judges"]


@pytest.fixture
def refused(judge):
    """Return the one message of a command that could not run."""

    def refusing(*args):
        captured = judge(*args, code=3)
        assert captured.out == ""
        message = captured.err
        assert message.count("Error:") == 1
        assert "Traceback" not in message
        assert "fault of orderbias" not in message
        return message

    return refusing


# ------------------------------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(("rows", "code", "kind"), [
    (both("first", "second", 40), 0, "none"),
    (both("first", "first", 20), 0, "first"),
    (both("second", "second", 20), 0, "second"),
    (both("first", "first", 50) + both("second", "second", 50, 50), 0, "noise"),
    (both("first", "first", 3), 2, "undecided"),
    (both("first", "first", 2) + both("second", "second", 2, 2) + both("first", "second", 9, 4), 2, "undecided"),
])  # fmt: skip
def test_the_exit_code_says_whether_anything_is_decided(table, judges, rows, code, kind):
    (found,) = judges(table(rows), code=code)
    assert found["conclusion"] == kind


def test_one_undecided_judge_of_two_is_undecided(table, judge):
    rows = both("first", "second", 40, more=",sure") + both("first", "first", 3, more=",few")
    path = table(rows, HEADER + ",judge")
    judge(path, code=2)
    judge(path, "--judge", "sure")
    judge(path, "--judge", "few", code=2)


# ------------------------------------------------------------------------------------------------------------- JSON


def test_json_holds_what_is_promised(table, judges):
    rows = both("first", "first", 9) + both("first", "second", 8, 9) + both("tie", "first", 4, 17) + "90,AB,first\n"
    (found,) = judges(table(rows))
    for key, kind in KEYS.items():
        assert type(found[key]) is kind, key
    assert (found["judge"], found["n_pairs"], found["n_complete"]) == ("verdicts", 22, 21)
    assert found["consistency"] == 8 / 21
    assert found["contradiction_rate"] == 9 / 21
    assert (found["lean"], found["lean_p_value"]) == (1.0, 2 / 2**9)
    assert found["first_position_rate"] == (18 + 8 + 4) / (18 + 16 + 4)
    assert sum(found["outcomes"].values()) == 21
    assert len(found["outcomes"]) == 9
    assert (found["outcomes"]["first_then_first"], found["outcomes"]["tie_then_first"]) == (9, 4)
    assert found["verdicts"] == ["tie"] * 9 + ["A"] * 8 + ["tie"] * 4 + [None]
    assert set(found["intervals"]) == {"consistency", "first_position_rate", "contradiction_rate", "lean"}
    for key, (low, high) in found["intervals"].items():
        assert low <= found[key] <= high
    assert found["verdict_text"].startswith("The judge leans to the answer shown first: 9 of 9 contradictions")
    assert "data:" in found["signature"]


def test_what_is_undefined_is_null(table, judges):
    (found,) = judges(table(both("tie", "tie", 9)))
    assert [found[key] for key in ("first_position_rate", "p_value", "lean", "lean_p_value")] == [None] * 4
    assert found["intervals"]["lean"] is None
    assert found["consistency"] == 1.0


NEEDS = {
    "identical": "needs the texts of the answers",
    "single_order": "needs pairs judged in one order only",
    "repeats": "needs pairs asked at least twice in each order",
    "order_effect": "needs contradicting pairs; there is none",
    "probabilities": "needs the probabilities of the verdicts",
    "agreement": "needs `human`",
    "length": "needs `len_a` and `len_b`, or the texts",
    "self_preference": "needs `model_a` and `model_b`",
}


def test_every_check_is_made_or_says_what_it_needs(table, judges, judge):
    path = table(both("first", "second", 9))
    (found,) = judges(path)
    assert found["not_checked"] == NEEDS
    printed = judge(path).out
    for name, why in NEEDS.items():
        assert f"  {name.replace('_', ' ')}: {why}\n" in printed


def test_every_check_can_be_made(tmp_path, judges, judge):
    rng = random.Random(3)
    rows = []
    for i in range(60):
        texts = {"answer_a": "x" * rng.randint(1, 99), "answer_b": "y" * rng.randint(1, 99)}
        if i < 4:
            texts["answer_b"] = texts["answer_a"]
        facts = {"pair_id": i, "human": rng.choice(["a", "b"]), "rater_1": "a", "rater_2": rng.choice(["a", "b"]),
                 "model_a": "gpt-4", "model_b": "llama", "group": "xy"[i % 2], **texts}  # fmt: skip
        for order in ("AB", "BA") if i % 5 else ("AB",):
            for repeat in range(2):
                p = rng.random()
                rows.append({**facts, "order": order, "repeat": repeat, "judge": "gpt-4o",
                             "verdict": "first" if p > 0.5 else "second", "p_first": p, "p_second": 1 - p})  # fmt: skip
    path = tmp_path / "all.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (found,) = judges(path, code=2)
    assert found["not_checked"] == {}
    assert set(NEEDS) <= set(found)
    printed = judge(path, code=2).out
    assert "Not checked" not in printed
    for title in ("Identical answers", "Pairs in one order", "Asking again", "Effect of standing first",
                  "Probabilities", "Agreement with people", "Length", "Its own family"):  # fmt: skip
        assert f"\n{title}" in printed


# -------------------------------------------------------------------------------------------------------- signatures


def signature(found):
    return Signature.from_mapping(dict(part.split(":", 1) for part in found["signature"].split("|")))


def test_all_that_changes_a_number_changes_the_signature(table, judges, tmp_path):
    rows = both("A", "B", 90, more=",a,m,n") + both("B", "B", 40, 90, more=",b,m,n") + both("A", "A", 2, 130, ",a,m,n")
    path = table(rows, HEADER + ",human,model_a,model_b", "gpt-4.csv")
    plain = ["--terms", "shown"]
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("pair_id,len_a,len_b\n0,1,2\n")
    base = signature(judges(path, *plain)[0])
    changes = {
        "terms": ["--terms", "pair"],
        "unreadable": [*plain, "--unreadable", "wrong"],
        "scoring": [*plain, "--scoring", "both"],
        "families": [*plain, "--family", "m=OpenAI"],
        "level": [*plain, "--level", "0.9500001"],
        "resampling": [*plain, "--resamples", "9"],
        "seed": [*plain, "--seed", "9"],
        "data": [*plain, "--pairs", pairs],
    }
    for key, options in changes.items():
        (change,) = base.differences(signature(judges(path, *options)[0]))
        assert change.startswith(f"{key}: ")
    assert signature(judges(path, *plain)[0]) == base


# ---------------------------------------------------------------------------------------------------- several judges


def several(leans):
    """Return rows of judges, each with its number of contradictions on the first place and on the second."""
    return "".join(
        both("first", "first", first, more=f",j{i}")
        + both("second", "second", second, first, more=f",j{i}")
        + both("first", "second", 20, first + second, more=f",j{i}")
        for i, (first, second) in enumerate(leans)
    )


def test_judges_side_by_side_are_adjusted_by_holm(table, judges, judge):
    leans = [(12, 1), (9, 2), (3, 3), (0, 0), (2, 14)]
    found = judges(table(several(leans), HEADER + ",judge"), code=2)
    tested = [one for one in found if one["lean_p_value"] is not None]
    assert [one["judge"] for one in tested] == ["j0", "j1", "j2", "j4"]
    assert [one["lean_p_holm"] for one in tested] == holm([one["lean_p_value"] for one in tested]).tolist()
    assert found[3]["lean_p_holm"] is None
    assert all("|judges:5" in one["signature"] for one in found)


def test_a_lean_of_one_judge_among_many_has_to_hold_among_them(table, judges):
    """Twenty fair judges: one that would be called leaning alone is no finding."""
    leans = [(7, 0)] + [(3, 3)] * 19
    path = table(several(leans), HEADER + ",judge")
    found = judges(path, code=2)
    assert (found[0]["lean_p_value"], found[0]["lean_p_holm"]) == (2 / 2**7, 20 * 2 / 2**7)
    assert found[0]["conclusion"] == "undecided"
    assert "of 20 judges some would by chance (p = 0.31 after Holm's adjustment" in found[0]["verdict_text"]
    (alone,) = judges(path, "--judge", "j0")
    assert alone["conclusion"] == "first"


def test_a_strong_lean_holds_among_many(table, judges):
    found = judges(table(several([(30, 0)] + [(3, 3)] * 19), HEADER + ",judge"), code=2)
    assert found[0]["conclusion"] == "first"


def test_fair_judges_are_rarely_called_leaning_however_many_they_are(table):
    """Of 40 sets of twelve fair judges, at most 2 are expected to hold one that is called leaning."""
    rng = np.random.default_rng(5)
    called = 0
    for _ in range(40):
        leans = rng.binomial(25, 0.5, 12)
        path = table(several([(int(k), 25 - int(k)) for k in leans]), HEADER + ",judge")
        reports = judge_reports(read_judgments(path), JudgeOptions(resamples=0))
        called += any(report.conclusion.kind in ("first", "second") for report in reports)
    assert called <= 5


def test_few_judges_are_printed_whole_and_many_side_by_side(table, judge):
    path = table(several([(12, 1), (9, 2), (3, 3)]), HEADER + ",judge")
    few = judge(path, code=2).out
    assert few.count("Verdict with A first") == 3
    path = table(several([(12, 1)] * 5), HEADER + ",judge")
    many = judge(path).out
    assert "Verdict with A first" not in many
    assert "5 judges; --judge NAME shows one whole" in many


# ------------------------------------------------------------------------------------------------------------ tables


def test_tables_fit_a_hundred_columns(tmp_path, judge):
    rng = random.Random(1)
    rows = [
        {"pair_id": f"pair {i} " + "p" * 200, "order": order, "verdict": rng.choice(["first", "second", "tie", "?"]),
         "judge": f"judge-{j}-" + "j" * 300, "model_a": "model-a-" + "m" * 300, "model_b": f"model-{i % 3}-" + "n" * 90,
         "human": rng.choice("a"), "group": f"g{i % 3}" + "g" * 200, "len_a": 10**12, "len_b": i + 1}
        for j in range(2) for i in range(2000) for order in ("AB", "BA")
    ]  # fmt: skip
    path = tmp_path / "wide.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    printed = judge(path).out
    assert max(len(line) for line in printed.splitlines() if not line.startswith("signature ")) <= 100


NAMES = ["[red]x[/red]", "[bold", "[/]", "gear:fire:7b", "x\\", "<script>alert(1)</script>", "x\x1b[2J\x1b]0;t\x07",
         "x\u202etxt", "x\x9b31m", "\u65e5\u672c\u8a9e", "a,b;\"c'", "=1+1", "x" * 900]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_are_printed_as_they_are_and_command_nothing(name, tmp_path, judge, judges):
    path = tmp_path / "v.jsonl"
    rows = [{"pair_id": f"{name}{i}", "order": order, "verdict": verdict, "judge": name, "model_a": name,
             "model_b": "m", "group": f"{name}{i % 2}", "human": "a"}
            for i in range(8) for order, verdict in (("AB", "first"), ("BA", "second"))]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "out.csv"
    captured = judge(path, "--verdicts", out)
    for stream in captured:
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", stream)
    lines = captured.out.splitlines()
    if len(name) < 60:
        assert lines[0] == visible(name)
        assert any(line.startswith(visible(name)[:9]) and re.search(" 8 +0 +0 ", line) for line in lines)
    assert judges(path)[0]["judge"] == name
    with out.open(newline="") as stream:
        written = list(csv.reader(stream))
    assert written == [["judge", "pair_id", "verdict"], *([name, f"{name}{i}", "A"] for i in range(8))]


@pytest.mark.parametrize("column", ["judge", "model_a", "model_b", "group"])
def test_a_text_in_place_of_a_name_is_refused(column, table, refused):
    path = table(both("first", "second", 2, more=f",{'n' * 1_000_000}"), f"{HEADER},{column}")
    message = refused(path)
    assert f"`{column}` must be a name of at most 1,000 characters. Got 1,000,000" in message
    assert len(message) < 5000


def test_a_hundred_thousand_judges_are_one_message(table, refused):
    started = time.monotonic()
    message = refused(table("".join(f"1,AB,first,j{i}\n" for i in range(100_000)), HEADER + ",judge"))
    assert message.count("\n") == 1
    assert "line 1002: more than 1000 judges. `judge` must be the name of a judge." in message
    assert time.monotonic() - started < 20


def test_a_huge_id_is_cut_in_messages(table, refused, judge):
    rows = f"{'i' * 1_000_000},AB,first\n"
    judge(table(rows), code=2)
    assert len(refused(table(rows * 2))) < 500


# ---------------------------------------------------------------------------------------------------------- verdicts


def test_verdicts_are_written(table, judge, tmp_path):
    out = tmp_path / "safe.csv"
    rows = both("first", "second") + both("second", "first", 1, 1) + both("first", "first", 1, 2) + "3,AB,first\n"
    said = judge(table(rows), "--verdicts", out, code=2).err
    assert f"Wrote the verdicts of 4 pairs to {out}." in said
    assert out.read_text() == "judge,pair_id,verdict\nverdicts,0,A\nverdicts,1,B\nverdicts,2,tie\nverdicts,3,\n"
    judge(table(both("second", "first")), "--verdicts", out, code=2)  # an older one gives way
    assert out.read_text() == "judge,pair_id,verdict\nverdicts,0,B\n"
    assert sorted(tmp_path.iterdir()) == [out, tmp_path / "verdicts.csv"]


def test_verdicts_of_the_judges_that_are_chosen(table, judge, tmp_path):
    path, out = table(several([(0, 0), (0, 0)]), HEADER + ",judge"), tmp_path / "o.csv"
    judge(path, "--verdicts", out)
    assert len(out.read_text().splitlines()) == 41
    judge(path, "--judge", "j1", "--verdicts", out)
    assert {line.split(",")[0] for line in out.read_text().splitlines()[1:]} == {"j1"}


def test_verdicts_go_where_a_file_may_be_written_and_nowhere_else(table, refused, tmp_path, judge):
    path = table(both("first", "second", 9))
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "to_fifo").symlink_to("fifo")
    for name, why in (("folder", "is a directory"), ("no/such/x.csv", "in a directory that is there"), ("fifo", "else"),
                      ("to_fifo", "else"), ("verdicts.csv/x.csv", "in a directory that is there")):  # fmt: skip
        assert why in refused(path, "--verdicts", tmp_path / name)
    assert "Got ''" in refused(path, "--verdicts", "")
    assert "Name another file" in refused(path, "--verdicts", tmp_path / ("x" * 300))
    assert (tmp_path / "fifo").is_fifo()
    (tmp_path / "link.csv").symlink_to("target.csv")
    judge(path, "--verdicts", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text().startswith("judge,")


def test_devices_are_no_files_for_verdicts():
    """Without writing: the check is made before anything is read."""
    for name in ("/dev/null", "/dev/stdout", "/dev/x.csv", "/proc/self/fd/1", "/proc/x"):
        with pytest.raises(ArgumentError, match="ordinary file"):
            verdicts_path(name, [])


def test_verdicts_never_overwrite_what_is_read(table, refused, tmp_path, judge):
    path = table(both("first", "second", 9))
    pairs = table("0,a\n", "pair_id,human", "pairs.csv")
    os.link(path, tmp_path / "hard.csv")
    (tmp_path / "soft.csv").symlink_to("verdicts.csv")
    before = (tmp_path / "verdicts.csv").read_text()
    for name in ("verdicts.csv", "hard.csv", "soft.csv", "pairs.csv"):
        assert "would overwrite a part of" in refused(path, "--pairs", pairs, "--verdicts", tmp_path / name)
    assert (tmp_path / "verdicts.csv").read_text() == before


def test_a_disk_that_refuses_is_one_message(table, refused, tmp_path, monkeypatch):
    import orderbias.store.atomic

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(orderbias.store.atomic.os, "fsync", full)
    message = refused(table(both("first", "second", 9)), "--verdicts", tmp_path / "o.csv")
    assert "could not be written" in message
    assert "No space left on device. Name another file." in message
    assert not (tmp_path / "o.csv").exists()


# ------------------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize(("options", "named"), [
    (["--level", "0"], "`level` must lie strictly between 0 and 1"),
    (["--level", "95"], "For 95 % give 0.95"),
    (["--level", "nan"], "`level`"),
    (["--level", "x"], "--level"),
    (["--resamples", "-1"], "--resamples"),
    (["--resamples", "2000000"], "`resamples` must be a whole number of 0 to 1,000,000"),
    (["--seed", "-1"], "--seed"),
    (["--terms", "original"], "--terms"),
    (["--terms", "pair"], "--terms pair does not fit"),
    (["--format", "mtbench"], "generic, fastchat, llmbar, judgebench, shi, alpacaeval, pandalm"),
    (["--format", "fastchat"], "needs the columns question_id, model_1"),
    (["--unreadable", "drop"], "--unreadable"),
    (["--scoring", "mean"], "--scoring"),
    (["--judge", "nobody"], "--judge must be one of verdicts. Got 'nobody'"),
    (["--judge", ""], "--judge must be one of verdicts. Got ''"),
    (["--family", "x"], "--family must be NAME=FAMILY"),
    (["--family", "="], "--family must be NAME=FAMILY"),
    (["--family", "nobody=Qwen"], "--family must name a judge or a model of the data. Got 'nobody'"),
    (["--family", "verdicts=Qwen", "--family", "verdicts=Llama"], "one family of verdicts"),
    (["--duplicates", "last"], "--duplicates"),
    (["--pairs", "nothing.csv"], "no file nothing.csv"),
    (["--pairs", ""], "no file"),
    (["--nope"], "No such option"),
])  # fmt: skip
def test_options_outside_their_range(table, refused, options, named):
    assert named in refused(table(both("first", "second", 9)), *options)


@pytest.mark.parametrize("path", ["", "nothing.csv", "-", "http://host/v.csv", "hf:org/name"])
def test_paths_that_are_not_there(refused, path):
    assert "PATH must exist" in refused(path)


def test_no_path(refused):
    assert "Missing argument" in refused()


@pytest.mark.parametrize(("content", "named"), [
    (b"", "holds no verdicts"),
    (b"pair_id,order,verdict\n", "holds no verdicts"),
    (bytes(range(256)) * 40, "must be UTF-8"),
    (b"pair_id,order,verdict\n1,AB,\xff\n", "line 2: text must be UTF-8"),
    ("pair_id,order,verdict\n1,AB,first\n".encode("utf-16"), "must be UTF-8"),
    (b"pair_id,order,verdict\n1,AB,\"first\n", "A quotation mark may be missing"),
    (b"pair_id,order,verdict\n1,AB\n", "2 cells where there are 3 columns"),
    (b"pair_id,order,verdict,verdict\n1,AB,first,second\n", "'verdict' twice"),
    (b"pair_id;order;verdict\n1;AB;first\n", "needs the columns pair_id, order"),
    (b"1,AB,first\n1,BA,second\n", "needs the columns pair_id, order"),
    (b"pair_id,order,verdict\n1,AB,first\n1,AB,second\n", "before (v.csv line 2)"),
    (b"pair_id,order,verdict,human\n1,AB,first,a\n1,BA,first,b\n", "`human` is b here and a in an earlier row"),
    (b"pair_id,order,verdict,len_a\n1,AB,first,inf\n", "`len_a` must be a length"),
    (b"pair_id,order,verdict,len_a\n1,AB,first,-1\n", "`len_a` must be a length"),
    (b"pair_id,order,verdict,len_a\n1,AB,first,long\n", "`len_a` must be a number"),
    (b"pair_id,order,verdict,p_first,p_second\n1,AB,first,nan,0.3\n", "must be probabilities"),
    (b"pair_id,order,verdict,p_first,p_second\n1,AB,first,inf,0.3\n", "must be probabilities"),
    (b"pair_id,order,verdict,p_first,p_second\n1,AB,first,-0.1,0.3\n", "must be probabilities"),
    (b"pair_id,order,verdict,p_first,p_second\n1,AB,first,80,20\n", "must be probabilities of 0 to 1"),
    (b"pair_id,order,verdict,p_first,p_second\n1,AB,first,0,0\n", "must be probabilities"),
    (b"pair_id,order,verdict,p_first\n1,AB,first,0.8\n", "must be probabilities"),
    (b"pair_id,order,verdict\n1,0,first\n", "`order` must be AB"),
    (b"pair_id,order,verdict\n,AB,first\n", "`pair_id` must not be empty"),
])  # fmt: skip
def test_files_that_break_a_rule(tmp_path, refused, content, named):
    path = tmp_path / "v.csv"
    path.write_bytes(content)
    message = refused(path)
    assert named in message
    assert "v.csv" in message


@pytest.mark.parametrize(("name", "content"), [
    ("v.parquet", b"PAR1xxxxPAR1"), ("v.csv.gz", b"\x1f\x8b\x08\0\0"), ("v.json", b"{"), ("v.jsonl", b'{"pair_id": 1'),
    ("v.jsonl", b"[" * 100_000), ("v.txt", b"hi"), ("v", b"hi"),
    ("v.jsonl", b'{"pair_id": 1, "order": "AB", "order": "BA", "verdict": "first"}'),
    ("v.jsonl", b'{"pair_id": "\\ud800", "order": "AB", "verdict": "first"}'),
])  # fmt: skip
def test_broken_files_of_every_kind(tmp_path, refused, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    refused(path)


def test_probabilities_that_deny_the_verdict_are_told(table, judge):
    rows = "".join(f"{i},AB,first,.1,.9\n{i},BA,second,.9,.1\n" for i in range(10))
    said = judge(table(rows, HEADER + ",p_first,p_second")).err
    assert "20 of 20 verdicts are not the most probable one by their probabilities." in said
    rows = "".join(f"{i},AB,first,.9,.1\n{i},BA,tie,.1,.1\n" for i in range(10))
    assert (
        "most probable" not in judge(table(rows.replace("tie,.1,.1", "second,.1,.9"), HEADER + ",p_first,p_second")).err
    )


# --------------------------------------------------------------------------------------------------------------- runs


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Return the directory of a complete run, which no test changes."""
    folder = tmp_path_factory.mktemp("asked")
    pairs = folder / "pairs.jsonl"
    rows = [
        {"question": f"Say {i}.", "answer_a": f"{i}", "answer_b": f"Not {i}.", "human": 1 + i % 2} for i in range(40)
    ]
    pairs.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["judge-run", str(pairs), "--model", "simulated", "--out", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture
def copy(asked, tmp_path):
    def copying(name="copy"):
        shutil.copytree(asked, tmp_path / name)
        return tmp_path / name

    return copying


def test_a_run_is_judged_as_a_file_is(asked, judges, tmp_path):
    out = tmp_path / "o.csv"
    (found,) = judges(asked, "--verdicts", out)
    assert (found["judge"], found["n_pairs"], found["n_complete"]) == ("simulated", 40, 40)
    written = [line.rsplit(",", 1)[1] for line in out.read_text().splitlines()[1:]]
    assert written == found["verdicts"]
    assert "model:simulated" in found["signature"]


def test_runs_of_one_model_are_told_apart(asked, copy, judges, refused, tmp_path):
    other = copy("other")
    found = judges(asked, other)
    assert [one["judge"] for one in found] == ["simulated (run)", "simulated (other)"]
    assert [one["judge"] for one in judges(asked, other, "--judge", "simulated (other)")] == ["simulated (other)"]
    assert [one["judge"] for one in judges(asked, copy("x/run"))] == ["simulated (run)", "simulated (run) 2"]
    (file := tmp_path / "v.csv").write_text(HEADER + ",judge\n" + both("first", "second", 9, more=",simulated"))
    assert [one["judge"] for one in judges(asked, file)] == ["simulated (run)", "simulated"]
    assert "which are one" in refused(asked, asked)
    assert "which are one" in refused(asked, asked / ".." / asked.name)


@pytest.mark.parametrize("option", [("--terms", "shown"), ("--format", "generic"), ("--duplicates", "first")])
def test_options_of_files_change_nothing_of_a_run(asked, refused, option):
    assert f"{option[0]} is for files" in refused(asked, *option)


def test_a_run_that_is_not_complete_says_so(copy, judge, judges):
    from orderbias.store import Run

    folder = copy()
    (part,) = (folder / "records").glob("*.parquet")
    with Run.open(folder) as made:
        kept = list(made.records())[:50]
    part.unlink()
    with Run.open(folder) as made:
        made.append(kept)
    captured = judge(folder, "--json", code=2)
    assert "copy: 30 of 80 calls are not made yet; the command that began the run goes on with them." in captured.err
    (found,) = json.loads(captured.out)["judges"]
    assert "|calls:50 of 80" in found["signature"]
    assert found["n_complete"] == 25


DAMAGE = {
    "no manifest": lambda d: (d / "manifest.json").unlink(),
    "an empty manifest": lambda d: (d / "manifest.json").write_text("{}"),
    "a manifest of bytes": lambda d: (d / "manifest.json").write_bytes(b"\xff\x00"),
    "a manifest that was changed": lambda d: (d / "manifest.json").write_text(
        (d / "manifest.json").read_text().replace("judge-letter", "judge-other")
    ),
    "no items": lambda d: (d / "items.jsonl").unlink(),
    "items of garbage": lambda d: (d / "items.jsonl").write_text("garbage"),
    "other items": lambda d: (d / "items.jsonl").write_text(
        (d / "items.jsonl").read_text().replace("Not 3.", "Not 4.")
    ),
    "no records": lambda d: shutil.rmtree(d / "records"),
    "records of garbage": lambda d: [part.write_bytes(b"x") for part in (d / "records").iterdir()],
    "nothing at all": lambda d: [shutil.rmtree(d), d.mkdir()],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_is_one_message(copy, refused, damage):
    folder = copy()
    DAMAGE[damage](folder)
    assert "copy" in refused(folder)


def test_a_run_of_questions_is_no_judges(tmp_path, refused):
    assert run(["run", "mmlu-five", "--model", "simulated", "--limit", "3", "--out", str(tmp_path / "r")]) == 0
    assert "measure it with `orderbias measure`" in refused(tmp_path / "r")


def test_a_run_is_read_while_it_is_written(copy, judge):
    from orderbias.store.atomic import Lock

    folder = copy()
    lock = Lock(folder / "lock")
    lock.acquire()
    judge(folder)
    lock.release()


def test_verdicts_are_not_written_into_a_run(copy, refused):
    folder = copy()
    for name in ("manifest.json", "new.csv", "records/x.csv"):
        assert "would overwrite a part of" in refused(folder, "--verdicts", folder / name)


def test_a_file_of_pairs_beside_a_run(asked, judges, judge, refused, table):
    (before,) = judges(asked)
    pairs = table("1,m,n\n2,m,n\nx,m,n\n", "pair_id,model_a,model_b", "pairs.csv")
    captured = judge(asked, "--pairs", pairs, "--json")
    assert "38 of 40 pairs are not in the file of pairs." in captured.err
    assert "1 pair of the file of pairs has no verdict." in captured.err
    (found,) = json.loads(captured.out)["judges"]
    assert [rate["model"] for rate in found["win_rates"]] == ["m", "n"]
    assert found["signature"] != before["signature"]
    assert "no pair_id of it occurs among the verdicts" in refused(
        asked, "--pairs", table("x,m\n", "pair_id,model_a", "o.csv")
    )
    assert "`human` of the pair '1'" in refused(asked, "--pairs", table("1,b\n", "pair_id,human", "h.csv"))
