"""The command line end to end: what it prints, its keys, its exit codes. Nothing here asks a real model."""

import json
import subprocess
import sys
import time

import pytest

from orderbias.cli import COMMANDS, run
from orderbias.measures.table import MEASURES

HAND = "item_id,positions,place,gold\n" + "".join(
    f"q{i},{positions},0,{i % 4}\n" for i in range(12) for positions in ("0 1 2 3", "1 2 3 0", "2 3 0 1", "3 0 1 2")
)


@pytest.fixture
def hand(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(HAND)
    return str(path)


def test_help_answers_at_once_and_names_every_command(capsys):
    # Compared with an interpreter that loads nothing, so that a slow machine does not fail it.
    def seconds(*args):
        started = time.perf_counter()
        subprocess.run([sys.executable, *args], check=True, capture_output=True)
        return time.perf_counter() - started

    bare = min(seconds("-c", "import click") for _ in range(3))
    assert min(seconds("-m", "orderbias", "--help") for _ in range(3)) < 4 * bare
    assert run(["--help"]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name, capsys):
    assert run([name, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, orderbias; orderbias.measure; orderbias.read_records; orderbias.parse_design;"
        "heavy = {'pandas', 'pyarrow', 'torch', 'transformers', 'datasets', 'click', 'rich', 'jinja2', 'statsmodels'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "[]"


def test_json_has_the_keys_of_the_contract(hand, capsys):
    assert run(["measure", hand, "--json", "--resamples", "200"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert set(cell) >= {"model", "benchmark", "readout", "intervals", "signature", "tests", *MEASURES}
    assert cell["flip_rate"] == 1
    assert cell["intervals"]["flip_rate"][0] == pytest.approx(0.735, abs=5e-4)
    assert cell["accuracy"] == 0.25
    assert cell["selection_share"] == [1, 0, 0, 0]


def test_undefined_is_null(tmp_path, capsys):
    path = tmp_path / "stable.jsonl"
    rows = [{"item_id": str(i), "positions": [p, 1 - p], "place": p} for i in range(5) for p in (0, 1)]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert run(["measure", str(path), "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["flip_rate"] == 0
    assert cell["positional_skew"] is None
    assert cell["accuracy"] is None
    assert cell["intervals"]["pooled_sd"][1] > 0


def test_the_table_fits_a_terminal_and_starts_with_the_factors(hand, capsys):
    assert run(["measure", hand]) == 0
    *lines, signature = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert signature.startswith("signature data:")
    assert "|version:" in signature  # one line, to be copied
    assert lines[0].startswith("unnamed · answers")
    assert "place    all answers    flipping answers    accuracy if right there" in "\n".join(lines)
    names = [line for line in lines if line.startswith(("flip rate  ", "positional skew", "accuracy, all"))]
    assert [n.split("  ")[0] for n in names] == ["flip rate", "positional skew", "accuracy, all orderings"]


def test_the_table_calls_the_pooled_sd_a_product_under_balanced_designs_only(hand, tmp_path, capsys):
    assert run(["measure", hand, "--resamples", "0"]) == 0
    assert "pooled SD (= flip rate x skew)" in capsys.readouterr().out
    path = tmp_path / "unbalanced.csv"
    stable = "".join(f"s{i},{positions},{positions[0]},0\n" for i in range(6) for positions in ("0 1 2 3", "1 2 3 0"))
    path.write_text("".join(line for line in HAND.splitlines(True) if " 0 1" not in line) + stable)
    assert run(["measure", str(path), "--resamples", "0"]) == 0
    out = capsys.readouterr().out
    assert "pooled SD, design corrected" in out
    assert "(= flip rate x skew)" not in out


def test_measures_asked_for_alone_are_shown_alone_and_judged_the_same(hand, capsys):
    assert run(["measure", hand, "--measures", "flip_rate,positional_skew"]) == 0
    printed = capsys.readouterr().out
    assert "pooled SD" not in printed
    assert "and they lean (p = " in printed


def test_a_single_item_and_cells_in_a_row(tmp_path, capsys):
    path = tmp_path / "two.csv"
    path.write_text("item_id,positions,place\na,0 1,0\na,1 0,0\nb,0 1 2,0\nb,1 2 0,1\nb,2 0 1,2\n")
    assert run(["measure", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "\n1 item x 2 orderings; 0 items left out as unusable.\n" in printed
    assert "\n\nunnamed · two · unknown · K = 3\n" in printed


def test_a_cell_without_usable_items_is_undecided(tmp_path, capsys):
    path = tmp_path / "refused.csv"
    path.write_text("item_id,positions,place,status\nq,0 1,,refused\nq,1 0,,refused\n")
    assert run(["measure", str(path)]) == 2
    assert "2 answers refused" in capsys.readouterr().err


def test_options_of_different_number_are_cells_of_their_own(tmp_path, capsys):
    path = tmp_path / "mixed.csv"
    path.write_text("item_id,positions,place\na,0 1,0\na,1 0,0\nb,0 1 2,0\nb,1 2 0,1\nb,2 0 1,2\n")
    assert run(["measure", str(path), "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [(c["n_options"], c["flip_rate"]) for c in cells] == [(2, 1.0), (3, 0.0)]


def test_the_simulated_demo_finds_what_was_planted(capsys):
    assert run(["demo", "--simulated", "--json"]) == 0
    captured = capsys.readouterr()
    (cell,) = json.loads(captured.out)["cells"]
    assert "Planted" in captured.err
    shares = cell["flip_share"]
    assert sorted(shares, reverse=True) == shares
    assert cell["tests"]["rotation"]["p_value"] < 0.001
    assert cell["n_items"] == 535


def ask(out, *more, source="mmlu-five"):
    return run(["run", source, "--model", "simulated", "--out", str(out), "--limit", "20", *more])


def test_run_resumes_does_nothing_when_complete_and_refuses_other_settings(tmp_path, capsys):
    out = tmp_path / "r"
    assert ask(out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_asked"] == 80
    assert ask(out, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "path": str(out), "n_queries": 80, "n_stored_before": 80, "n_asked": 0, "n_failed": 0, "n_unparsed": 0,
        "stopped": None,
    }  # fmt: skip
    assert ask(out, "--design", "canonical") == 3
    assert "design: cyclic -> canonical" in capsys.readouterr().err
    assert ask(out, "--labels", "digits") == 3
    assert "template" in capsys.readouterr().err
    assert run(["verify", str(out)]) == 0
    assert run(["measure", str(out)]) == 0


def test_a_dry_run_writes_nothing(tmp_path, capsys):
    assert ask(tmp_path / "r", "--dry-run") == 0
    said = capsys.readouterr().err
    assert "Plan: 20 items, 80 queries" in said
    assert "    | Question: " in said
    assert "    | Answer:\n" in said
    assert not list(tmp_path.iterdir())
    assert ask(tmp_path / "r", "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_asked"] == 0


def test_a_model_without_its_kind_is_told_how_to_name_it(tmp_path, capsys):
    assert run(["run", "mmlu-five", "--model", "org/name", "--out", str(tmp_path / "r")]) == 3
    assert "local:org/name" in capsys.readouterr().err


def test_reversals_are_queried_but_not_scored(tmp_path, capsys):
    out = tmp_path / "r"
    assert ask(out, "--design", "cyclic+reversals") == 0
    capsys.readouterr()
    assert run(["measure", str(out), "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["n_orderings"] == 4
    assert "cyclic+reversals" in cell["signature"]


def test_per_item_designs_and_own_templates_and_shots(tmp_path, capsys):
    template = tmp_path / "t.jinja"
    template.write_text("{{ question }}\n{% for o in options %}{{ o.label }}) {{ o.text }}\n{% endfor %}Answer:")
    out = tmp_path / "r"
    assert ask(out, "--design", "random:3:7", "--template", str(template), "--shots", "5") == 0
    capsys.readouterr()
    assert run(["measure", str(out), "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["n_orderings"] == 3
    assert cell["accuracy_by_place"] is None
    assert cell["design_deviation_sd"] > 0
    assert cell["readout"] == "first-token-5-shot"


def test_a_damaged_part_is_found_and_asked_again(tmp_path, capsys):
    out = tmp_path / "r"
    assert ask(out) == 0
    part = next((out / "records").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:200])
    assert run(["verify", str(out)]) == 1
    assert ask(out) == 0
    assert run(["verify", str(out)]) == 0
