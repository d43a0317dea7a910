"""Inputs that made other tools print wrong numbers, each by name, through the command line as a user would meet it.

``ELSEWHERE`` names the tests of the traps that are better held where they belong.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from orderbias import measure
from orderbias.cli import run
from orderbias.orderings import cyclic
from orderbias.predictions import Predictions

TESTS = Path(__file__).parent
CYCLIC = [[(j + s) % 4 for j in range(4)] for s in range(4)]

ELSEWHERE = {
    "2 % true rate, n = 30": "inference/test_proportions.py::test_coverage_is_never_below_the_level",
    "two options with the same text": "cells/test_cells.py::test_options_of_the_same_text_are_one_content",
    "orders drawn with one seed for all questions":
        "measures/test_against_definitions.py::test_orders_drawn_with_one_seed_are_named_and_corrected",
    "every other form of a gold":
        "readers/test_readers.py::test_every_form_of_the_same_golds_reads_alike_or_is_refused",
    "options that speak of the others":
        "readers/test_self_referring.py::test_whole_phrases_about_other_options_are_found",
    "labels that are several tokens":
        "backends/test_local.py::test_labels_of_several_tokens_are_scored_as_sequences",
    "a label that cannot be read": "backends/test_labels.py::test_labels_the_model_does_not_know_are_refused",
    "two beginnings of a text": "backends/test_labels.py::test_a_chat_has_one_whoever_writes_it",
    "a prompt that ends in a space": "backends/test_local.py::test_every_end_of_a_prompt_is_read_at_its_true_boundary",
    "a logit of half precision": "backends/test_local.py::test_half_precision_answers_from_a_head_in_float32",
    "the same question in another batch": "backends/test_local.py::test_results_do_not_depend_on_the_batch",
    "a prompt too long": "backends/test_local.py::test_a_prompt_too_long_is_an_error_and_never_cut",
    "a run killed": "cli/test_kills.py::test_twenty_kills",
    "a truncated part": "cli/test_commands.py::test_a_damaged_part_is_found_and_asked_again",
    "a reply that failed": "test_collect.py::test_a_failed_reply_is_a_counted_status_and_the_rest_is_kept",
    "markup in a name": "cli/test_terminal.py::test_a_name_is_printed_as_it_is_and_commands_nothing",
    "a path or a key in a manifest": "store/test_store.py::test_neither_paths_nor_keys_are_stored",
    "a path within a setting": "store/test_tampering.py::test_a_path_within_a_setting_is_refused",
}  # fmt: skip


@pytest.mark.parametrize("trap", ELSEWHERE)
def test_the_trap_has_its_test(trap):
    file, name = ELSEWHERE[trap].split("::")
    assert re.search(rf"def {name}\(", (TESTS / file).read_text())


def write(path, rows):
    base = {"model": "m", "benchmark": "b", "readout": "r", "gold": 0}
    path.write_text("".join(json.dumps({**base, **row}) + "\n" for row in rows))
    return str(path)


def rows_of(n_items, place, *, orderings=CYCLIC, gold=lambda i: i % 4):
    """Return a row for each item and ordering; ``place(i, positions)`` is the answer."""
    return [
        {"item_id": f"q{i}", "positions": p, "place": place(i, p), "gold": gold(i)}
        for i in range(n_items)
        for p in orderings
    ]


@pytest.fixture
def measured(tmp_path, capsys):
    """Return a function from rows to the JSON of the one cell (or of several), and the table."""

    def measured(rows, *options, code=0, single=True):
        path = write(tmp_path / "answers.jsonl", rows)
        assert run(["measure", path, "--json", "--resamples", "500", *options]) == code
        captured = capsys.readouterr()
        cells = json.loads(captured.out)["cells"]
        assert run(["measure", path, "--resamples", "500", *options]) == code
        table = capsys.readouterr()
        return (cells[0] if single else cells), captured.err + " ".join(table.out.split())

    return measured


# --- measuring a rate --------------------------------------------------------------------------------------------


def test_12_flips_of_12(measured):
    m, _ = measured(rows_of(12, lambda i, p: i % 4))
    assert m["flip_rate"] == 1
    assert m["intervals"]["flip_rate"] == [pytest.approx(0.735, abs=5e-4), 1]


def test_0_flips_of_50(measured):
    m, _ = measured(rows_of(50, lambda i, p: p[0]))
    assert m["flip_rate"] == 0
    assert m["intervals"]["flip_rate"] == [0, pytest.approx(0.0711, abs=5e-5)]
    assert m["positional_skew"] is None


@pytest.mark.parametrize("gold", range(4))
def test_a_model_that_always_answers_the_first_label(gold, measured):
    m, text = measured(rows_of(20, lambda i, p: 0, gold=lambda i: gold))
    assert (m["flip_rate"], m["accuracy"]) == (1, 0.25)
    assert m["selection_share"] == m["flip_share"] == [1, 0, 0, 0]
    assert m["stable_correct"] == m["stable_wrong"] == 0
    assert "lean: 100 % of their answers land on A" in text


def test_a_model_that_always_picks_the_same_wrong_content(measured):
    m, text = measured(rows_of(20, lambda i, p: p[(i + 1) % 4]))
    assert (m["flip_rate"], m["stable_wrong"], m["accuracy"]) == (0, 1, 0)
    assert "No answer moved with the order." in text


def test_a_model_that_picks_at_random(measured):
    rng = np.random.default_rng(5)
    m, text = measured(rows_of(400, lambda i, p: int(rng.integers(4))))
    assert m["flip_rate"] == pytest.approx(1 - 4**-3, abs=0.02)
    assert m["tests"]["rotation"]["p_value"] > 0.05
    assert "no lean beyond chance" in text


def test_orders_drawn_once_without_the_identity(measured):
    m, _ = measured(rows_of(20, lambda i, p: 0, orderings=[[1, 2, 3, 0], [1, 0, 3, 2]]))
    assert "design:shared:2 orderings" in m["signature"]
    assert m["corrected_pooled_sd"] is not None
    assert m["design_deviation_bound"] is not None
    assert m["placement_range"] is None
    assert m["accuracy_canonical"] is None
    assert "placement_range" in m["undefined"]


def test_questions_with_3_4_and_5_options_in_one_file(measured):
    rows = [
        {"item_id": f"{k}-{i}", "positions": [(j + s) % k for j in range(k)], "place": s % 2, "gold": 0}
        for k, n in ((3, 6), (4, 7), (5, 8))
        for i in range(n)
        for s in range(k)
    ]
    cells, _ = measured(rows, single=False)
    assert [(c["n_options"], c["n_items"], len(c["selection_share"])) for c in cells] == [
        (3, 6, 3),
        (4, 7, 4),
        (5, 8, 5),
    ]


def test_the_same_refusal_under_every_ordering(measured):
    rows = rows_of(10, lambda i, p: p[0])
    for row in rows[:12]:
        row.update(place=None, status="refused", text="I cannot answer that.")
    m, text = measured(rows)
    assert (m["n_items"], m["n_unusable"], m["flip_rate"]) == (7, 3, 0)
    assert "12 refused" in text
    assert "3 items left out as unusable" in text


def test_nothing_but_refusals(measured):
    rows = [{**row, "place": None, "status": "refused"} for row in rows_of(3, lambda i, p: 0)]
    cells, text = measured(rows, code=2, single=False)
    assert cells == []
    assert "No usable item" in text
    assert "12 answers refused" in text


@pytest.mark.parametrize("status", ["unparsed", "refused", "error", None])
def test_an_unparsed_reply_is_no_answer(status, measured):
    rows = rows_of(10, lambda i, p: p[i % 4])
    rows[5].update(place=None, status=status)
    m, text = measured(rows)
    assert (m["n_items"], m["n_unusable"], m["accuracy"], m["flip_rate"]) == (9, 1, 1, 0)
    assert m["selection_share"] == [0.25] * 4
    assert f"1 {status or 'unparsed'}" in text


def test_one_rotation_missing_and_rows_shuffled(measured):
    rows = rows_of(10, lambda i, p: p[i % 4])
    del rows[6]
    m, text = measured(list(np.random.default_rng(1).permutation(np.array(rows, object))))
    assert (m["n_items"], m["n_unusable"], m["n_orderings"]) == (9, 1, 4)
    assert "1 missing" in text


def test_one_rotation_asked_twice(tmp_path, capsys):
    rows = rows_of(10, lambda i, p: p[i % 4])
    path = write(tmp_path / "a.jsonl", [*rows, {**rows[3], "place": 0}])
    assert run(["measure", path]) == 3
    assert "line 4 and in a.jsonl line 41" in capsys.readouterr().err
    assert run(["measure", path, "--duplicates", "first", "--json", "--resamples", "9"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"][0]["n_items"] == 10
    write(tmp_path / "a.jsonl", [*rows, {**rows[3], "place": 0, "repeat": 1}])
    assert run(["measure", path, "--json", "--resamples", "9"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"][0]["flip_rate"] == 0


def test_two_letters_of_exactly_equal_probability(measured):
    rows = rows_of(8, lambda i, p: 0)
    for i, row in enumerate(rows):
        row.update(place=None, logprobs=[-0.7, -0.7, -5.0, -6.0] if i < 4 else [-0.1, -3.0, -4.0, -5.0])
        del row["place"]
    m, text = measured(rows)
    assert m["n_ties"] == 4
    assert m["tie_share"] == 1 / 8
    assert re.search(r"[Tt]ies, given to the lowest place", text)
    assert "4 answers" in text
    assert "12.5 % of the items" in text


GOLDS = {
    "text": ["c", "a", "b"],
    "letter": ["C", "A", "B"],
    "1-based number": [3, 1, 2],
    "0-based number": [2, 0, 1],
    "number as a text": ["2", "0", "1"],
    "a list of one": [["C"], ["A"], ["B"]],
}


def items(tmp_path, rows, name="items.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps({"question": f"q{i}", **row}) + "\n" for i, row in enumerate(rows)))
    return str(path)


def ask(source, out, *options):
    return run(["run", source, "--model", "simulated", "--out", str(out), *options])


@pytest.mark.parametrize("form", GOLDS)
def test_a_gold_in_another_form(form, tmp_path, capsys):
    source = items(tmp_path, [{"options": ["a", "b", "c"], "gold": gold} for gold in GOLDS[form]])
    assert ask(source, tmp_path / "r") == 0
    assert "Golds read as" in capsys.readouterr().err
    stored = [json.loads(line) for line in (tmp_path / "r" / "items.jsonl").read_text().splitlines()[1:]]
    assert [item["gold"] for item in stored] == [2, 0, 1]


def test_a_gold_as_a_digit_label(tmp_path):
    choices = [{"label": str(i + 1), "text": text} for i, text in enumerate("abc")]
    source = items(tmp_path, [{"choices": choices, "answerKey": key} for key in "312"])
    assert ask(source, tmp_path / "r") == 0
    stored = [json.loads(line) for line in (tmp_path / "r" / "items.jsonl").read_text().splitlines()[1:]]
    assert [item["gold"] for item in stored] == [2, 0, 1]


@pytest.mark.parametrize("gold", ["D", "Ａ", "А", 7, -1, 1.5, True, ["A", "B"], "nowhere"])
def test_a_gold_outside_the_options_or_in_a_look_alike_letter(gold, tmp_path, capsys):
    rows = [{"options": ["x", "y", "z"], "gold": "A"}, {"options": ["x", "y", "z"], "gold": gold}]
    assert ask(items(tmp_path, rows), tmp_path / "r") == 3
    assert "items.jsonl line 2" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("place", ["A", "А", "Ａ", " A", "0 ", 0.5, 4, -1, [0]])
def test_a_place_that_is_no_place(place, tmp_path, capsys):
    path = write(tmp_path / "a.jsonl", [{"item_id": "q", "positions": [0, 1, 2, 3], "place": place}])
    assert run(["measure", path]) == 3
    assert "a.jsonl line 1" in capsys.readouterr().err


def test_a_null_fifth_option_and_an_empty_one(tmp_path, capsys):
    rows = [{"options": ["v", "w", "x", "y", None], "gold": "B"}, {"options": ["v", "w", "x", "y", "z"], "gold": "E"}]
    assert ask(items(tmp_path, rows), tmp_path / "r") == 0
    assert "1 null option left out" in capsys.readouterr().err
    rows[0]["options"][4] = " "
    assert ask(items(tmp_path, rows), tmp_path / "s") == 3
    assert "items.jsonl line 1: no option may be empty" in capsys.readouterr().err


def test_a_gold_that_is_always_first(tmp_path, capsys):
    source = items(tmp_path, [{"options": ["w", "x", "y", "z"], "gold": 0} for _ in range(30)])
    assert ask(source, tmp_path / "r", "--field", "id=", "--gold-base", "0") == 0
    assert "The gold is option 1 in all 30 items" in capsys.readouterr().err
    assert run(["measure", str(tmp_path / "r"), "--resamples", "9"]) == 0
    out = capsys.readouterr().out
    assert 0 <= out.find("Gold by canonical place: A 30, B 0, C 0, D 0.") < out.find("flip rate")


def test_options_that_speak_of_the_others(tmp_path, capsys):
    last = ["None of the above", "Both A and C", "A nor B", "Iron and B12 deficiency",
            "Country A and B have identical living standards"]  # fmt: skip
    source = items(tmp_path, [{"options": ["w", "x", "y", text], "gold": "A"} for text in last])
    for mode, n in (("keep", 5), ("pin", 5), ("drop", 2)):
        assert ask(source, tmp_path / mode, "--self-referring", mode) == 0
        assert "3 items have an option that speaks of the others" in capsys.readouterr().err
        stored = (tmp_path / mode / "items.jsonl").read_text().splitlines()[1:]
        assert len(stored) == n
        assert sum(json.loads(line)["pinned"] == [3] for line in stored) == (3 if mode == "pin" else 0)
    assert run(["measure", str(tmp_path / "pin"), "--json", "--resamples", "9"]) == 0
    m = json.loads(capsys.readouterr().out)["cells"][0]
    assert (m["n_items"], m["n_unusable"]) == (2, 3)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_an_empty_file(name, tmp_path):
    (tmp_path / name).write_text("")
    assert run(["measure", str(tmp_path / name)]) == 3
    assert ask(str(tmp_path / name), tmp_path / "r") == 3


@pytest.mark.parametrize("options", [["--measures", "flip_rte"], ["--design", "cyclc"], ["--duplicates", "last"]])
def test_an_unknown_name_lists_the_valid_ones(options, tmp_path, capsys):
    path = write(tmp_path / "a.jsonl", rows_of(2, lambda i, p: 0))
    assert run(["measure", path, *options]) == 3
    valid = {"--measures": "flip_rate", "--design": "cyclic", "--duplicates": "first"}[options[0]]
    assert valid in capsys.readouterr().err


def test_the_same_item_twice_in_a_file(tmp_path, capsys):
    rows = [{"question": "q", "options": ["x", "y"], "gold": "A"}] * 2
    assert ask(items(tmp_path, rows), tmp_path / "r") == 3
    assert "items.jsonl line 2" in capsys.readouterr().err
    assert ask(items(tmp_path, rows), tmp_path / "r", "--duplicates", "first") == 0
    assert "Plan: 1 items" in capsys.readouterr().err


# --- asking a model ----------------------------------------------------------------------------------------------


def test_the_label_mass_is_tiny(measured):
    rows = [{**row, "mass": 0.12} for row in rows_of(5, lambda i, p: 0)]
    _, text = measured(rows)
    assert "median 0.12" in text
    assert "Warning: below 0.5" in text
    assert "chat template" in text
    assert "trailing space" in text


@pytest.mark.parametrize("missing", [None, -9999, -9999.0, float("-inf")])
def test_log_probabilities_missing_for_a_label(missing, measured):
    rows = [{**row, "logprobs": [-0.1, -3.0, -4.0, -5.0]} for row in rows_of(6, lambda i, p: 0)]
    rows[2]["logprobs"] = [-0.1, missing, -4.0, -5.0]
    m, text = measured(rows)
    assert (m["n_items"], m["n_unusable"]) == (5, 1)
    assert "1 error" in text
    assert "lack the log-probability of a label" in text


CHANGED = {
    "design": ["--design", "latin:1"],
    "template": ["--template", "other.txt"],
    "labels": ["--labels", "lower"],
    "data": ["--limit", "2"],
    "self_referring": ["--self-referring", "drop"],
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_run_restarted_with_another_setting(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("other.txt").write_text("{% for option in options %}{{ option.label }} {{ option.text }} {% endfor %}")
    source = items(tmp_path, [{"options": ["a", "b", "c", f"d{i}"], "gold": "B"} for i in range(4)])
    assert ask(source, "r") == 0
    before = {path: path.read_bytes() for path in Path("r").rglob("*") if path.is_file()}
    assert ask(source, "r") == 0
    assert "Nothing to do" in capsys.readouterr().err
    assert ask(source, "r", *CHANGED[name]) == 3
    assert f"{name}: " in capsys.readouterr().err
    assert before == {path: path.read_bytes() for path in Path("r").rglob("*") if path.is_file()}


# --- showing it --------------------------------------------------------------------------------------------------


def test_a_script_in_a_name_is_escaped_in_the_page():
    script = "<script>alert('x')</script>\"'&"
    design = cyclic(2).positions
    cell = Predictions(np.zeros((9, 2)), design, np.zeros(9), model=script, benchmark=script, readout=script)
    page = measure(cell, resamples=9)._repr_html_()
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 3


def test_a_script_in_a_question_or_an_option_stays_text(tmp_path, capsys):
    script = "<script>alert(1)</script>[red]{{ 7 * 7 }}"
    source = items(tmp_path, [{"question": script + str(i), "options": [script, "b"], "gold": "A"} for i in range(3)])
    assert ask(source, tmp_path / "r") == 0
    assert run(["measure", str(tmp_path / "r"), "--resamples", "9"]) == 0
    assert "49" not in capsys.readouterr().err
    stored = json.loads((tmp_path / "r" / "items.jsonl").read_text().splitlines()[1])
    assert stored["options"][0] == script
