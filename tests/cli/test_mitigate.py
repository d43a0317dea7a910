"""``orderbias mitigate`` and ``orderbias prior`` end to end: what they print, their keys, their exit codes."""

import json
import sys

import numpy as np
import pytest

from orderbias.cli import run
from orderbias.mitigation import CHANGES
from orderbias.orderings import cyclic_with_reversals
from orderbias.records import Record, from_rows, read_records, write_records

DEFAULT = ["none", "pride", "batch-calibration", "reversal-product", "pride>reversal-product",
           "batch-calibration>reversal-product", "majority-vote"]  # fmt: skip
WITH = ("--design", "cyclic+reversals", "--resamples", "100")


def answers(n_items=40, k=4, *, logprobs=True, model="planted", benchmark="planted", seed=0):
    """Records of a model that leans to the first places, under cyclic orderings and their reversals."""
    rng = np.random.default_rng(seed)
    design = cyclic_with_reversals(k).positions
    rows = []
    for i in range(n_items):
        strengths = rng.standard_normal(k) + (np.arange(k) == i % k)
        for positions in design:
            scores = np.linspace(1, -1, k) + 0.3 * rng.standard_normal(k)
            scores[positions] += strengths
            scores -= np.logaddexp.reduce(scores)
            rows.append(
                Record(model=model, benchmark=benchmark, readout="first-token", item_id=f"{i}", gold=i % k,
                       group=f"g{i % 5}", positions=tuple(positions.tolist()), place=int(scores.argmax()),
                       logprobs=tuple(scores.tolist()) if logprobs else None)
            )  # fmt: skip
    return rows


@pytest.fixture
def planted(tmp_path):
    path = tmp_path / "planted.parquet"
    write_records(path, from_rows(answers()))
    return str(path)


def as_json(capsys):
    return json.loads(capsys.readouterr().out)


def test_json_has_the_keys_of_the_contract(planted, capsys):
    assert run(["mitigate", planted, *WITH, "--json"]) == 0
    (cell,) = as_json(capsys)["cells"]
    assert [o["name"] for o in cell["operations"]] == DEFAULT
    for o in cell["operations"]:
        assert set(o) >= {"name", "measures", "changes", "intervals", "calls_per_item", "n_calibration", "signature"}
        assert set(o["changes"]) == set(o["intervals"]["changes"]) == set(CHANGES)
        assert f"operations:{o['name']}" in o["signature"]
    assert cell["sentence"].startswith("pride ")
    assert set(cell["pareto"]) <= set(DEFAULT)
    assert cell["n_left_out"] == 0
    assert "transitions" not in cell
    assert "shapes" not in cell
    assert {(d["operation"], d["minus"]) for d in cell["differences"]} >= {
        ("pride>reversal-product", "pride"), ("pride>reversal-product", "reversal-product"),
        ("reversal-product", "pride"),
    }  # fmt: skip


def test_transitions_and_shapes_come_when_asked(planted, capsys):
    assert run(["mitigate", planted, *WITH, "--operations", "pride>reversal-product", "--transitions", "--shapes",
                "--json"]) == 0  # fmt: skip
    (cell,) = as_json(capsys)["cells"]
    assert [o["name"] for o in cell["operations"]] == ["none", "pride", "reversal-product", "pride>reversal-product"]
    assert [m["operation"] for m in cell["transitions"]["moves"]] == [o["name"] for o in cell["operations"][1:]]
    assert {p["shape"] for p in cell["shapes"]["points"]} == {
        "front-to-back", "alternating", "outer-inner", "first-only"
    }  # fmt: skip


def test_the_tables_fit_a_terminal(planted, capsys):
    assert run(["mitigate", planted, *WITH, "--transitions", "--shapes"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 100
    for text in ("held-out items", "Change from none", "Paired differences", "Transitions", "stable-wrong items settle",
                 "Added outer-inner preference", "it costs 1 call a question", "Not beaten", "signature"):  # fmt: skip
        assert text in printed


def test_answers_alone_are_compared_by_what_they_allow(tmp_path, capsys):
    path = tmp_path / "answers.csv"
    write_records(path, from_rows(answers(logprobs=False)))
    assert run(["mitigate", str(path), *WITH, "--json"]) == 0
    out, err = capsys.readouterr()
    assert [o["name"] for o in json.loads(out)["cells"][0]["operations"]] == ["none", "majority-vote"]
    assert "Left out: pride" in err
    assert "column `logprobs`" in err
    assert run(["mitigate", str(path), *WITH, "--operations", "pride"]) == 3
    assert "column `logprobs`" in capsys.readouterr().err
    assert run(["mitigate", str(path), *WITH, "--shapes"]) == 3


def test_each_number_of_options_is_a_cell_of_its_own(tmp_path, capsys):
    path = tmp_path / "mixed.jsonl"
    mixed = [*answers(30, 4), *answers(30, 2, benchmark="pairs"), *answers(30, 5, benchmark="five")]
    write_records(path, from_rows(mixed))
    assert run(["mitigate", str(path), *WITH, "--json"]) == 0
    out, err = capsys.readouterr()
    found = {c["n_options"]: [o["name"] for o in c["operations"]] for c in json.loads(out)["cells"]}
    assert found[4] == found[5] == DEFAULT
    assert found[2] == ["none", "pride", "batch-calibration", "majority-vote"]
    assert "refused for 2 options" in err
    # Asked for by name it is an error for that cell; the others are still printed.
    assert run(["mitigate", str(path), *WITH, "--operations", "reversal-product", "--json"]) == 3
    out, err = capsys.readouterr()
    assert [c["n_options"] for c in json.loads(out)["cells"]] == [4, 5]
    assert "Error: planted on pairs" in err


def test_options_reach_the_comparison(planted, capsys):
    def signature(*options):
        assert run(["mitigate", planted, *WITH, "--operations", "pride,majority-vote", "--json", *options]) == 0
        return as_json(capsys)["cells"][0]["operations"][-1]["signature"]

    told = [(), ("--seed", "1"), ("--level", "0.9"), ("--cluster", "group"), ("--calibration", "0.2"),
            ("--ties", "hash"), ("--resamples", "101")]  # fmt: skip
    assert len({signature(*options) for options in told}) == len(told)


def test_what_cannot_be_done_is_said(planted, tmp_path, capsys):
    assert run(["mitigate", planted, "--operations", "prid"]) == 3
    assert "Did you mean 'pride'" in capsys.readouterr().err
    assert run(["mitigate", str(tmp_path / "none.csv")]) == 3
    assert run(["mitigate", planted, "--ties", "hash", "--operations", "pride"]) == 3
    assert "--ties" in capsys.readouterr().err
    assert run(["mitigate", planted, "--chart", "chart.gif"]) == 3
    assert ".svg, .png, .html" in capsys.readouterr().err
    one = tmp_path / "one.jsonl"
    write_records(one, from_rows(answers(1)))
    assert run(["mitigate", str(one), *WITH]) == 2
    assert "Too few usable items" in capsys.readouterr().err


def test_charts_need_their_extra(planted, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    assert run(["mitigate", planted, *WITH, "--operations", "pride", "--chart", str(tmp_path / "c.svg")]) == 3
    assert "pip install 'orderbias[report]'" in capsys.readouterr().err


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"<!DOCTYPE html>")])
def test_charts_are_files(planted, tmp_path, suffix, start):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    path = tmp_path / f"chart{suffix}"
    assert run(["mitigate", planted, *WITH, "--operations", "pride", "--chart", str(path)]) == 0
    data = path.read_bytes()
    assert data.lstrip().startswith(start)
    if suffix == ".svg":
        assert all(shape in data.decode() for shape in ("front-to-back", "first-only"))


def test_a_name_with_a_script_stays_text(tmp_path):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    path, chart = tmp_path / "hostile.jsonl", tmp_path / "chart.html"
    write_records(path, from_rows(answers(model="</script><script>alert(1)</script>")))
    assert run(["mitigate", str(path), *WITH, "--operations", "pride", "--chart", str(chart)]) == 0
    page = chart.read_text()
    assert "<script>alert" not in page
    assert "\\u003cscript>alert" in page


def test_a_prior_goes_from_one_run_to_another(planted, tmp_path, capsys):
    prior, out = tmp_path / "prior.json", tmp_path / "corrected.csv"
    other = tmp_path / "other.jsonl"
    write_records(other, from_rows(answers(25, seed=9, model="other")))
    assert run(["prior", "fit", planted, "-o", str(prior)]) == 0
    assert "A " in capsys.readouterr().out
    assert json.loads(prior.read_text())["n_items"] == 40
    assert run(["prior", "apply", str(prior), str(other), "-o", str(out)]) == 0
    err = capsys.readouterr().err
    assert "Warning" in err
    assert "another model: planted, and is applied to other" in err
    corrected = read_records(out)
    assert len(corrected) == len(read_records(other))
    assert run(["measure", str(other), "--design", "cyclic+reversals", "--resamples", "0", "--json"]) == 0
    before = as_json(capsys)["cells"][0]
    assert run(["measure", str(out), "--design", "cyclic+reversals", "--resamples", "0", "--json"]) == 0
    after = as_json(capsys)["cells"][0]
    assert after["positional_skew"] < 0.5 * before["positional_skew"]
    assert after["readout"] == "first-token>pride"


def test_a_prior_of_another_number_of_options_is_refused(planted, tmp_path, capsys):
    prior, five = tmp_path / "prior.json", tmp_path / "five.jsonl"
    write_records(five, from_rows(answers(10, 5)))
    assert run(["prior", "fit", planted, "-o", str(prior), "--share", "0.25", "--kind", "batch-calibration"]) == 0
    assert json.loads(prior.read_text())["n_items"] == 10
    assert run(["prior", "apply", str(prior), str(five), "-o", str(tmp_path / "out.csv")]) == 3
    assert "its own number of options" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
    assert run(["prior", "apply", str(prior), planted, "-o", planted]) == 3
    assert "another file" in capsys.readouterr().err


def test_one_prior_one_cell(tmp_path, capsys):
    path = tmp_path / "mixed.jsonl"
    write_records(path, from_rows([*answers(10, 4), *answers(10, 5, benchmark="five")]))
    target = str(tmp_path / "prior.json")
    assert run(["prior", "fit", str(path), "-o", target]) == 3
    assert "K = 4" in capsys.readouterr().err
    assert run(["prior", "fit", str(path), "-o", target, "--only", "n_options=5"]) == 0
    assert json.loads((tmp_path / "prior.json").read_text())["n_options"] == 5
    assert run(["prior", "fit", str(path), "-o", target, "--only", "k=5"]) == 3
    assert "--only must be KEY=VALUE" in capsys.readouterr().err
