"""Bad input on the command line: one clear message, exit code 3, nothing written."""

import gzip

import pytest

from orderbias.cli import run

HEAD = "item_id,positions,place,gold"
OK = f"{HEAD}\nq,0 1,0,0\nq,1 0,1,0\n"

RECORDS = {
    "empty": ("a.csv", "", "none"),
    "header only": ("a.csv", f"{HEAD}\n", "no"),
    "no such column": ("a.csv", "id,order,answer\n1,0 1,0\n", "item_id"),
    "malformed json": ("a.jsonl", '{"item_id": "q", "positions": [0, 1], "place": 0}\n{"item_id": \n', "line 2"),
    "truncated json": ("a.jsonl", '{"item_id": "q", "positions": [0, 1], "pl', "line 1"),
    "json list": ("a.jsonl", "[1, 2]\n", "line 1"),
    "gold out of range": ("a.csv", f"{HEAD}\nq,0 1,0,2\n", "gold"),
    "place out of range": ("a.csv", f"{HEAD}\nq,0 1,2,0\n", "place"),
    "one option": ("a.csv", f"{HEAD}\nq,0,0,0\n", "option"),
    "no permutation": ("a.csv", f"{HEAD}\nq,0 0,0,0\n", "positions"),
    "positions from 1": ("a.csv", f"{HEAD}\nq,1 2,0,0\n", "0"),
    "two golds": ("a.csv", f"{HEAD}\nq,0 1,0,0\nq,1 0,1,1\n", "gold"),
    "asked twice": ("a.csv", f"{OK}q,1 0,0,0\n", "line"),
    "positive logprob": ("a.csv", "item_id,positions,logprobs\nq,0 1,0.5 -1\n", "logprobs"),
    "nan logprob": ("a.csv", "item_id,positions,logprobs\nq,0 1,nan -1\n", "logprobs"),
    "short logprobs": ("a.csv", "item_id,positions,logprobs\nq,0 1,-1\n", "logprobs"),
    "place against logprobs": ("a.csv", "item_id,positions,logprobs,place\nq,0 1,-0.1 -3,1\n", "place"),
    "unknown status": ("a.csv", "item_id,positions,place,status\nq,0 1,,lost\n", "status"),
    "neither place nor logprobs": ("a.csv", "item_id,positions\nq,0 1\n", "place"),
    "words for numbers": ("a.csv", f"{HEAD}\nq,first second,0,0\n", "positions"),
    "not parquet": ("a.parquet", "PAR1 nothing", "a.parquet"),
    "not gzip": ("a.csv.gz", "plain", "a.csv.gz"),
    "unknown kind": ("a.xlsx", OK, "xlsx"),
}


@pytest.mark.parametrize("case", RECORDS)
def test_files_of_records(case, tmp_path, capsys):
    name, text, word = RECORDS[case]
    (tmp_path / name).write_text(text)
    assert run(["measure", str(tmp_path / name), "--json"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert word in captured.err
    assert "Traceback" not in captured.err
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_truncated_gzip(tmp_path, capsys):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(OK.encode() * 50)[:-9])
    assert run(["measure", str(path)]) == 3
    assert "a.csv.gz" in capsys.readouterr().err


ITEMS = {
    "empty": ("i.jsonl", "", "no items"),
    "malformed": ("i.jsonl", '{"question": "q"', "line 1"),
    "one option": ("i.jsonl", '{"question": "q", "options": ["a"], "answer": 0}', "option"),
    "gold out of range": ("i.jsonl", '{"question": "q", "options": ["a", "b"], "gold": "C"}', "gold"),
    "empty option": ("i.jsonl", '{"question": "q", "options": ["a", " "], "gold": "A"}', "option"),
    "no question": ("i.csv", "a,b\n1,2\n", "question"),
    "the same item twice": ("i.jsonl", '{"question": "q", "options": ["a", "b"], "gold": "A"}\n' * 2, "line 2"),
}


@pytest.mark.parametrize("case", ITEMS)
def test_files_of_items(case, tmp_path, capsys):
    name, text, word = ITEMS[case]
    (tmp_path / name).write_text(text)
    assert run(["run", str(tmp_path / name), "--model", "simulated", "--out", str(tmp_path / "r")]) == 3
    captured = capsys.readouterr()
    assert word in captured.err
    assert "Traceback" not in captured.err
    assert [p.name for p in tmp_path.iterdir()] == [name]


ARGUMENTS = {
    "unknown command": ["mesure"],
    "unknown option": ["measure", "x.csv", "--gate"],
    "unknown measure": ["measure", "OK", "--measures", "flip_rte"],
    "unknown design": ["measure", "OK", "--design", "cyclc"],
    "no such file": ["measure", "nowhere.csv"],
    "bad level": ["measure", "OK", "--level", "1.5"],
    "bad resamples": ["measure", "OK", "--resamples", "-1"],
    "unknown column": ["measure", "OK", "--cluster", "school"],
    "unknown benchmark": ["run", "mmlu-6", "--model", "simulated", "--out", "r"],
    "unknown model kind": ["run", "mmlu-five", "--model", "gpt", "--out", "r"],
    "model nowhere": ["run", "mmlu-five", "--model", "local:./nowhere", "--out", "r"],
    "unknown labels": ["run", "mmlu-five", "--model", "simulated", "--out", "r", "--labels", "roman"],
    "system without chat": ["run", "mmlu-five", "--model", "simulated", "--out", "r", "--system", "s"],
    "too many shots": ["run", "mmlu-five", "--model", "simulated", "--out", "r", "--shots", "6"],
    "a field that is none": ["run", "OK", "--model", "simulated", "--out", "r", "--field", "x"],
    "verify nothing": ["verify", "nowhere"],
    "no path": ["measure", ""],
    "standard input": ["measure", "-"],
    "a folder that is no run": ["measure", "."],
    "the same path twice": ["measure", "OK", "./OK"],
    "too many resamples": ["measure", "OK", "--resamples", "1000000000"],
    "no level": ["measure", "OK", "--level", "nan"],
    "no cluster": ["measure", "OK", "--cluster", ""],
    "no measure": ["measure", "OK", "--measures", ""],
    "a seed in other digits": ["measure", "OK", "--design", "latin:²"],
    "a seed of thousands of digits": ["measure", "OK", "--design", "latin:" + "1" * 5000],
    "a design of millions": ["measure", "OK", "--design", "random:100000000:0"],
    "no source": ["run", "", "--model", "simulated", "--out", "r"],
    "no out": ["run", "mmlu-five", "--model", "simulated", "--out", ""],
    "no model": ["run", "mmlu-five", "--model", "", "--out", "r"],
    "no labels": ["run", "mmlu-five", "--model", "simulated", "--out", "r", "--labels", ""],
    "more orderings than there are": [
        "run",
        "mmlu-five",
        "--model",
        "simulated",
        "--out",
        "r",
        "--design",
        "random:25:0",
    ],
    "more shots than anyone has": ["run", "mmlu-five", "--model", "simulated", "--out", "r", "--shots", "1" + "0" * 30],
    "a field of a benchmark": ["run", "mmlu-five", "--model", "simulated", "--out", "r", "--field", "gold=x"],
    "a split of a benchmark": ["run", "mmlu-five", "--model", "simulated", "--out", "r", "--split", "x"],
    "a gold base of a benchmark": ["run", "mmlu-five", "--model", "simulated", "--out", "r", "--gold-base", "1"],
    "a template without end": ["run", "mmlu-five", "--model", "simulated", "--out", "r", "--template", "/dev/zero"],
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(case, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.csv").write_text(OK)
    assert run([a.replace("OK", "ok.csv") for a in ARGUMENTS[case]]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Error" in captured.err
    assert [p.name for p in tmp_path.iterdir()] == ["ok.csv"]


def test_out_must_not_be_a_folder_of_other_things(tmp_path, capsys):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "thesis.tex").write_text("mine")
    assert run(["run", "mmlu-five", "--model", "simulated", "--out", str(tmp_path / "r"), "--limit", "3"]) == 3
    assert [p.name for p in (tmp_path / "r").iterdir()] == ["thesis.tex"]
