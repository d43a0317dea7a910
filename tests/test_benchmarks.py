"""Benchmarks by name: counts of the source files, the rules of the paper, and the copies against each other."""

from __future__ import annotations

import csv
import json
import shutil
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orderbias import benchmarks
from orderbias.benchmarks import embedded, listings, load_benchmark
from orderbias.benchmarks.rows import choices_cell, lettered_block, lettered_list, single_true_target
from orderbias.benchmarks.table import BENCHMARKS, MMLU_FIVE, Hub
from orderbias.errors import ArgumentError, DataError
from orderbias.items import gold_place_counts, same_text_groups
from orderbias.row_files import record_rows

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")

# Items with exactly K options in the local files, and their golds by place, as the SOURCE.md files say them (or as a
# count of the raw files gives them, where those say it for all numbers of options together).
LOCAL = {
    "piqa": (2, 1838, [910, 928]),
    "winogrande": (2, 1267, [628, 639]),
    "arc-easy": (4, 2365, None),
    "arc-challenge": (4, 1165, None),
    "hellaswag": (4, 2000, [521, 469, 521, 489]),
    "mmlu-five": (4, 535, None),
    "mmlu": (4, 14042, [3222, 3462, 3582, 3776]),
    "openbookqa": (4, 500, [138, 126, 132, 104]),
    "logiqa": (4, 651, [132, 159, 179, 181]),
    "race-middle": (4, 1436, [309, 388, 374, 365]),
    "truthfulqa-mc1": (4, 208, None),
    "bbh-mc": (4, 732, None),
    "mmlu-pro": (10, 2339, None),
    "csqa": (5, 1221, [239, 255, 241, 251, 235]),
}


def test_every_benchmark_of_the_paper_is_there() -> None:
    assert set(BENCHMARKS) == set(LOCAL)
    rows = {row.name: row for row in listings()}
    assert {name: row.n_options for name, row in rows.items()} == {name: k for name, (k, _, _) in LOCAL.items()}
    assert all(row.licence and row.source and row.split in ("test", "validation") for row in rows.values())
    # A.1: the validation split where no test split with golds is public.
    validation = {"piqa", "winogrande", "hellaswag", "truthfulqa-mc1", "csqa"}
    assert {name for name, row in rows.items() if row.split == "validation"} == validation


@needs_data
@pytest.mark.parametrize("name", LOCAL)
def test_counts_equal_those_of_the_source(name: str) -> None:
    n_options, n_items, golds = LOCAL[name]
    loaded = load_benchmark(name, DATA)
    assert loaded.name == name
    assert len(loaded) == n_items
    assert {len(item.options) for item in loaded} == {n_options}
    assert len({item.id for item in loaded}) == n_items
    assert all(item.gold is not None for item in loaded)
    if golds is not None:
        assert gold_place_counts(loaded, n_options).tolist() == golds
    assert any("of the" in notice and "This copy holds" in notice for notice in loaded.notices) == (
        n_items != BENCHMARKS[name].n_items
    )


@needs_data
@pytest.mark.parametrize(
    ("name", "dropped"),
    [
        ("arc-challenge", "7 items left out for not having 4 options (4 with 3, 3 with 5)."),
        ("arc-easy", "11 items left out for not having 4 options (7 with 3, 4 with 5)."),
    ],
)
def test_items_with_other_numbers_of_options_are_counted(name: str, dropped: str) -> None:
    assert dropped in load_benchmark(name, DATA).notices


@needs_data
def test_mmlu_texts_are_those_of_the_files_and_repeats_are_kept() -> None:
    started = time.perf_counter()
    loaded = load_benchmark("mmlu", DATA)
    assert time.perf_counter() - started < 4  # about 0.6 s alone; room for a busy machine
    raw = []
    for path in sorted((DATA / "mmlu" / "test").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            raw += [(path.name.removesuffix("_test.csv"), *row) for row in csv.reader(file)]
    got = [(i.group, i.question, *i.options, "ABCD"[i.gold]) for i in loaded if i.gold is not None]
    assert got == raw
    assert sum(bool(same_text_groups(item)) for item in loaded) == 9
    assert sum(n - 1 for n in Counter(got).values()) == 27
    assert "105 items repeat another one's texts or id: kept, as published." in loaded.notices
    assert len(loaded.shots) == 285


@needs_data
def test_exemplars_of_mmlu_are_the_five_of_the_subject_in_order() -> None:
    loaded = load_benchmark("mmlu-five", DATA)
    assert Counter(shot.group for shot in loaded.shots) == dict.fromkeys(MMLU_FIVE, 5)
    assert Counter(item.group for item in loaded) == dict(zip(MMLU_FIVE, (100, 135, 100, 100, 100), strict=True))
    with (DATA / "mmlu" / "dev" / "anatomy_dev.csv").open(encoding="utf-8", newline="") as file:
        expected = [row[0] for row in csv.reader(file)]
    assert [shot.question for shot in loaded.shots if shot.group == "anatomy"] == expected
    assert {shot.id for shot in loaded.shots}.isdisjoint(item.id for item in loaded)


@needs_data
@pytest.mark.parametrize("name", LOCAL)
def test_exemplars_are_five_with_golds_or_their_absence_is_said(name: str) -> None:
    loaded = load_benchmark(name, DATA)
    said = any("no exemplars" in notice for notice in loaded.notices)
    chosen = BENCHMARKS[name]
    assert bool(loaded.shots) == (chosen.local.shots is not None)
    assert said == (bool(chosen.shots) and not loaded.shots)
    if loaded.shots and not chosen.shots_by_group:
        assert len(loaded.shots) == 5
    assert all(s.gold is not None and len(s.options) == chosen.n_options for s in loaded.shots)
    if not chosen.shots_by_group:  # a prompt takes the exemplars of an item's group where they have groups
        assert {s.group for s in loaded.shots} <= {None}


# --- the embedded copy -------------------------------------------------------------------------------------------


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was asked for")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setitem(sys.modules, "datasets", None)


@pytest.mark.usefixtures("no_network")
def test_the_embedded_benchmark_needs_neither_files_nor_network() -> None:
    loaded = load_benchmark("mmlu-five")
    assert (len(loaded), len(loaded.shots)) == (535, 25)
    assert loaded.items == embedded().items


@needs_data
def test_the_embedded_copy_equals_the_source() -> None:
    local, shipped = load_benchmark("mmlu-five", DATA), embedded()
    assert shipped.items == local.items
    assert shipped.shots == local.shots
    assert shipped.data_hash == local.data_hash


@needs_data
def test_the_embedded_files_are_made_again_byte_for_byte() -> None:
    scope: dict[str, Any] = {"__name__": "embed_mmlu", "__file__": str(ROOT / "tools" / "embed_mmlu.py")}
    exec(compile((ROOT / "tools" / "embed_mmlu.py").read_text(), "embed_mmlu.py", "exec"), scope)
    loaded = load_benchmark("mmlu-five", DATA)
    folder = ROOT / "src" / "orderbias" / "data"
    assert scope["compressed"](loaded.items) == (folder / "mmlu_five_test.jsonl.gz").read_bytes()
    assert scope["compressed"](loaded.shots, "dev/") == (folder / "mmlu_five_dev.jsonl.gz").read_bytes()


def test_the_licence_is_beside_the_data() -> None:
    text = (ROOT / "src" / "orderbias" / "data" / "LICENSE-MMLU").read_text()
    assert text.startswith("MIT License")
    assert "Dan Hendrycks" in text


# --- what is peculiar to one -------------------------------------------------------------------------------------


@needs_data
def test_bbh_questions_lose_their_list_and_the_three_bad_targets_are_named() -> None:
    loaded = load_benchmark("bbh-mc", DATA)
    assert not any("Options:" in item.question or "(A)" in item.question for item in loaded)
    notice = next(notice for notice in loaded.notices if notice.startswith("3 rows left out"))
    for text in (
        "movie_recommendation.json item 164",
        "Monsters, Inc",
        "dearth, wind, & fire",
        "rita, sue and bob poo",
    ):
        assert text in notice
    # A.1: most of them from temporal sequences, ruin names and movie recommendation.
    most = Counter(item.group for item in loaded).most_common(3)
    assert dict(most) == {"temporal_sequences": 250, "ruin_names": 247, "movie_recommendation": 231}


@needs_data
def test_more_bad_rows_than_known_are_an_error(tmp_path: Path) -> None:
    shutil.copytree(DATA / "bbh", tmp_path / "bbh", copy_function=shutil.copyfile)
    path = tmp_path / "bbh" / "snarks.json"
    content = json.loads(path.read_text())
    content["examples"][0]["target"] = "B"
    path.chmod(0o644)
    path.write_text(json.dumps(content))
    with pytest.raises(DataError) as error:
        load_benchmark("bbh-mc", tmp_path)
    assert "snarks.json item 1: the target 'B' is no letter of its options" in error.value.faults
    assert len(error.value.faults) == 4


@needs_data
def test_truthfulqa_golds_are_spread_and_right() -> None:
    loaded = load_benchmark("truthfulqa-mc1", DATA)
    raw = json.loads((DATA / "truthfulqa" / "mc_task.json").read_text())
    for item in loaded:
        targets = raw[int(item.id) - 1]["mc1_targets"]
        assert item.gold is not None
        assert targets[item.options[item.gold]] == 1
        assert sorted(item.options) == sorted(targets)
    counts = gold_place_counts(loaded, 4)
    assert counts.min() > 30  # 52 expected, standard deviation 6.2; the source has all 208 at the first place
    assert any("gold first in every item" in notice for notice in loaded.notices)


@needs_data
def test_race_items_of_one_article_have_ids_of_their_own() -> None:
    loaded = load_benchmark("race-middle", DATA)
    assert loaded.items[0].id == "middle2177.txt/1"
    assert all(item.passage for item in loaded)


@needs_data
def test_logiqa_lists_printed_out_of_order_follow_their_letters() -> None:
    loaded = load_benchmark("logiqa", DATA)
    # Valve 1 opens valve 2 and closes 5; 2 closes 4; as 3 and 4 are not both closed, 3 is open: valves 2 and 3.
    valves = loaded.items[108]
    assert valves.gold is not None
    assert valves.options[valves.gold] == "No.2 valve and No.3 valve."
    assert valves.options[2] == "No.3 valve and No.5 valve."
    assert sum(option.startswith("(") for item in loaded for option in item.options) == 0
    assert all(item.passage for item in loaded)


def test_limit_takes_items_evenly_spaced() -> None:
    loaded = load_benchmark("mmlu-five", limit=5)
    whole = load_benchmark("mmlu-five").items
    assert loaded.items == tuple(whole[i] for i in (0, 107, 214, 321, 428))
    assert "5 of 535 items taken, evenly spaced." in loaded.notices
    assert len(load_benchmark("mmlu-five", limit=10_000)) == 535


def test_self_referring_options_are_treated() -> None:
    assert sum(bool(item.pinned) for item in load_benchmark("mmlu-five", self_referring="pin")) == 9
    assert len(load_benchmark("mmlu-five", self_referring="drop")) == 526


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "mmlu5"}, "A benchmark must be one of piqa, winogrande"),
        ({"name": "mmlu-five", "limit": 0}, "`limit` must be at least 1. Got 0"),
        ({"name": "piqa", "data_dir": "/nowhere"}, "The data folder must hold piqa/valid.jsonl"),
        ({"name": "mmlu-five", "self_referring": "no"}, "`self_referring` must be one of"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        load_benchmark(**arguments)


@needs_data
def test_golds_in_a_file_of_their_own_must_be_as_many_as_rows(tmp_path: Path) -> None:
    (tmp_path / "piqa").mkdir()
    shutil.copyfile(DATA / "piqa" / "valid.jsonl", tmp_path / "piqa" / "valid.jsonl")
    with pytest.raises(ArgumentError, match=r"must be in .*valid-labels\.lst"):
        load_benchmark("piqa", tmp_path)
    (tmp_path / "piqa" / "valid-labels.lst").write_text("0\n1\n")
    with pytest.raises(DataError, match="a line for each of the 1838 rows"):
        load_benchmark("piqa", tmp_path)


# --- converters --------------------------------------------------------------------------------------------------


def test_lettered_lists() -> None:
    def options(*texts: str) -> object:
        return lettered_list({"options": list(texts)})["options"]

    assert options("(A)p", "(C)r", "(B)q", "(D)s") == ["p", "q", "r", "s"]
    assert options("A first", "B Third", "C Fourth", "D fifth") == ["first", "Third", "Fourth", "fifth"]
    assert options("(A) p", "(B)q", "C? r", "D? s") == ["p", "q", "r", "s"]
    assert options("A dog", "(B)q", "no letter", "(D)s") == ["A dog", "q", "no letter", "s"]


def test_other_converters_refuse_what_they_cannot_read() -> None:
    assert choices_cell({"Choices": "(A) a (b) c (B) d"})["options"] == ["a (b) c", "d"]
    block = lettered_block({"input": "Which?\nOptions:\n(A) p\n(B) q", "target": "(B)"})
    assert (block["question"], block["options"], block["gold"]) == ("Which?", ["p", "q"], "B")
    hub = single_true_target({"@id": "1", "mc1_targets": {"choices": ["a", "b", "c"], "labels": [0, 1, 0]}})
    assert hub["options"][hub["gold"]] == "b"  # type: ignore[index]
    for convert, values in [
        (choices_cell, {"Choices": "no list"}),
        (lettered_block, {"input": "Which?", "target": "(A)"}),
        (lettered_block, {"input": "Which?\nOptions:\n(A) p\n(B) q", "target": "(C)"}),
        (single_true_target, {"@id": "1", "mc1_targets": {"a": 1, "b": 1}}),
        (single_true_target, {"@id": "1", "mc1_targets": None}),
        (lettered_list, {"options": "a"}),
    ]:
        with pytest.raises(ValueError, match=r"must|is no letter"):
            convert(values)


# --- the hub's layouts -------------------------------------------------------------------------------------------


def jsonl(path: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, (DATA / path).read_text(encoding="utf-8").splitlines())


def hub_copy(name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the local rows of a benchmark in the columns of its data set on the hub, by configuration."""
    if name == "arc-challenge":
        flat = [
            {"id": r["id"], "question": r["question"]["stem"], "answerKey": r["answerKey"],
             "choices": {"text": [c["text"] for c in r["question"]["choices"]],
                         "label": [c["label"] for c in r["question"]["choices"]]}}
            for r in jsonl("arc/ARC-Challenge-Test.jsonl")
        ]  # fmt: skip
        return {"ARC-Challenge": flat}
    if name == "mmlu-five":
        items = load_benchmark("mmlu", DATA).items
        columns = [
            {"question": i.question, "subject": i.group, "choices": list(i.options), "answer": i.gold} for i in items
        ]
        return {"all": columns}
    if name == "bbh-mc":
        files = sorted((DATA / "bbh").glob("*.json"))
        return {f.stem: json.loads(f.read_text(encoding="utf-8"))["examples"] for f in files}
    if name == "truthfulqa-mc1":
        raw = json.loads((DATA / "truthfulqa" / "mc_task.json").read_text(encoding="utf-8"))
        parallel = [{"choices": list(r["mc1_targets"]), "labels": list(r["mc1_targets"].values())} for r in raw]
        rows = [{"question": r["question"], "mc1_targets": t} for r, t in zip(raw, parallel, strict=True)]
        return {"multiple_choice": rows}
    if name == "winogrande":
        return {"winogrande_xl": [{k: v for k, v in r.items() if k != "qID"} for r in jsonl("winogrande/dev.jsonl")]}
    if name == "race-middle":
        return {"middle": list(jsonl("race_middle/middle.jsonl"))}
    golds = (DATA / "piqa" / "valid-labels.lst").read_text().split()
    return {"": [{**r, "label": int(g)} for r, g in zip(jsonl("piqa/valid.jsonl"), golds, strict=True)]}


@needs_data
@pytest.mark.parametrize(
    "name", ["piqa", "winogrande", "arc-challenge", "mmlu-five", "race-middle", "truthfulqa-mc1", "bbh-mc"]
)
def test_the_hub_gives_the_same_items_as_the_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copies, asked = hub_copy(name), []

    def hub_rows(dataset: str, config: str | None, split: str, limit: int | None = None) -> Any:
        asked.append((dataset, split))
        return record_rows(dataset, copies[config or ""][:limit])

    monkeypatch.setattr(benchmarks, "hub_rows", hub_rows)
    monkeypatch.setattr(benchmarks, "BENCHMARKS", {name: replace_embedded(name)})
    hub, local = load_benchmark(name), load_benchmark(name, DATA)
    assert [(i.question, i.options, i.gold, i.group, i.passage) for i in hub] == [
        (i.question, i.options, i.gold, i.group, i.passage) for i in local
    ]
    if name != "winogrande":  # its rows on the hub have no ids
        assert hub.items == local.items
    place = BENCHMARKS[name].hub.items
    assert isinstance(place, Hub)
    assert asked[0] == (place.dataset, place.split)


def replace_embedded(name: str) -> Any:
    from dataclasses import replace

    return replace(BENCHMARKS[name], embedded=None)
