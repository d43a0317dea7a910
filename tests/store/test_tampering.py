"""A run that was changed by hand, or lost a file, is refused or mended: it never gives other numbers unseen."""

import json
import os
import shutil

import pytest

from orderbias.cli import run as command
from orderbias.errors import ArgumentError, RunError
from orderbias.orderings import cyclic
from orderbias.signature import Signature
from orderbias.store import Manifest, Run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    source = folder / "items.jsonl"
    source.write_text("".join(
        json.dumps({"question": f"q{i}", "options": ["a", "b", f"c{i}"], "gold": "ABC"[i % 3]}) + "\n" for i in range(6)
    ))  # fmt: skip
    assert command(["run", str(source), "--model", "simulated", "--out", str(folder / "r")]) == 0
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "copy")
    return tmp_path / "copy"


def resume(folder):
    return command(["run", str(folder / "items.jsonl"), "--model", "simulated", "--out", str(folder / "r")])


def change(path, name, value):
    stored = json.loads(path.read_text())
    *outer, last = name.split(".")
    inside = stored
    for step in outer:
        inside = inside[step]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    path.write_text(json.dumps(stored))


CHANGES = {
    "no design": ("settings.design", None),
    "another design": ("settings.design", "canonical"),
    "a design of nonsense": ("settings.design", "foo"),
    "another model": ("settings.model", "gpt-9"),
    "a setting that is no text": ("settings.model", {"a": 1}),
    "half a character": ("settings.model", "\ud800"),
    "settings that are a list": ("settings", []),
    "other orderings": ("designs.3.positions", [[0, 1, 2], [2, 1, 0], [1, 0, 2]]),
    "fewer presented": ("designs.3.presented", [True, False, False]),
    "orderings of two options": ("designs.3", {"positions": [[0, 1], [1, 0]], "presented": [True, True]}),
    "ragged orderings": ("designs.3.positions", [[0, 1, 2], [0]]),
    "no designs": ("designs", {}),
    "endless queries": ("n_queries", float("inf")),
    "fewer than no queries": ("n_queries", -5),
    "another number of items": ("n_items", 99),
    "another template": ("template", "{{ question }}"),
    "a template that is a number": ("template", 5),
    "a version that is a number": ("versions.numpy", 2),
    "another data hash": ("data_hash", "0" * 12),
    "a format that is no number": ("format", True),
    "a later format": ("format", 2),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_manifest_changed_by_hand_is_refused(case, folder, capsys):
    change(folder / "r" / "manifest.json", *CHANGES[case])
    assert command(["measure", str(folder / "r"), "--json"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "manifest.json must be" in captured.err
    assert "Traceback" not in captured.err
    assert resume(folder) == 3
    assert command(["verify", str(folder / "r")]) in (1, 3)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "null", "[]", "{", "[" * 100_000, '{"format": 1}', "\0"])
def test_a_manifest_that_is_none(text, folder, capsys):
    (folder / "r" / "manifest.json").write_text(text)
    for code in (command(["measure", str(folder / "r")]), command(["verify", str(folder / "r")]), resume(folder)):
        assert code == 3
    err = capsys.readouterr().err
    assert "damaged" in err
    assert "Traceback" not in err


def test_a_manifest_of_an_early_version_is_read(folder):
    change(folder / "r" / "manifest.json", "manifest_hash", None)
    assert command(["measure", str(folder / "r"), "--json"]) == 0
    assert command(["verify", str(folder / "r")]) == 0


ITEMS = {
    "other golds": lambda text: text.replace('"gold": 0', '"gold": 1'),
    "two options made one": lambda text: text.replace('"a", "b"', '"a", "a"'),
    "an item gone": lambda text: text.replace('"n_items": 6', '"n_items": 5').rsplit("\n", 2)[0] + "\n",
    "options that are a text": lambda text: text.replace('["a", "b", "c0"]', '"abc"'),
    "options that are a number": lambda text: text.replace('["a", "b", "c0"]', "5"),
    "a gold that is a letter": lambda text: text.replace('"gold": 0', '"gold": "A"'),
    "a gold outside": lambda text: text.replace('"gold": 0', '"gold": 7'),
    "endless items": lambda text: text.replace('"n_items": 6', '"n_items": 1e400'),
    "no head": lambda text: "[]\n" + text.split("\n", 1)[1],
    "nothing": lambda text: "",
    "nested too deeply": lambda text: "[" * 100_000,
}


@pytest.mark.parametrize("case", ITEMS)
def test_items_changed_by_hand_are_refused_and_written_anew(case, folder, capsys):
    path = folder / "r" / "items.jsonl"
    before = path.read_text()
    path.write_text(ITEMS[case](before))
    assert path.read_text() != before
    assert command(["measure", str(folder / "r"), "--json"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "items.jsonl must" in captured.err
    assert "Traceback" not in captured.err
    assert command(["verify", str(folder / "r")]) == 1
    assert resume(folder) == 0
    assert path.read_text() == before
    assert command(["measure", str(folder / "r"), "--json"]) == 0


def parts(folder):
    return sorted((folder / "r" / "records").glob("part-*.parquet"))


def test_answers_without_a_manifest_are_not_taken_for_those_of_another_run(folder, capsys):
    (folder / "r" / "manifest.json").unlink()
    assert resume(folder) == 3
    assert command(["measure", str(folder / "r")]) == 3
    assert "it is gone" in capsys.readouterr().err
    assert len(parts(folder)) == 1


@pytest.mark.parametrize("kind", ["a link that leads nowhere", "a folder"])
def test_a_part_that_cannot_be_read_is_asked_again(kind, folder, capsys):
    (part,) = parts(folder)
    part.unlink()
    if kind == "a folder":
        part.mkdir()
    else:
        part.symlink_to("nowhere")
    assert command(["measure", str(folder / "r")]) == 3
    assert resume(folder) == 0
    assert command(["measure", str(folder / "r"), "--json"]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_a_part_copied_under_another_number_counts_once(folder, capsys):
    assert command(["measure", str(folder / "r"), "--json", "--resamples", "50"]) == 0
    once = capsys.readouterr().out
    (part,) = parts(folder)
    shutil.copy(part, part.with_name(part.name.replace("00000000", "00000005")))
    assert command(["measure", str(folder / "r"), "--json", "--resamples", "50"]) == 0
    assert capsys.readouterr().out == once
    assert command(["verify", str(folder / "r")]) == 1


def test_a_run_behind_links_is_a_run(folder):
    os.rename(folder / "r" / "records", folder / "elsewhere")
    (folder / "r" / "records").symlink_to(folder / "elsewhere")
    (folder / "link").symlink_to(folder / "r")
    assert command(["measure", str(folder / "link"), "--json"]) == 0
    assert command(["measure", str(folder / "link"), str(folder / "r")]) == 3  # the same run twice


@pytest.mark.parametrize("option", [["--design", "canonical"], ["--cluster", "school"]])
def test_an_option_that_a_run_cannot_follow_is_refused(option, folder, capsys):
    assert command(["measure", str(folder / "r"), *option]) == 3
    assert option[0] in capsys.readouterr().err


def test_an_empty_name_is_not_the_folder_one_is_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for use in (Run.open, lambda path: Run.create(path, None, None)):
        with pytest.raises(RunError, match="empty name"):
            use("")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "value",
    [
        "local:/home/me/m",
        "at /srv/models/x",
        "(/data/x)",
        "a=~/x",
        r"at D:\models",
        "D:/models",
        "file:///x",
        r"\\host\x",
    ],
)
def test_a_path_within_a_setting_is_refused(value):
    with pytest.raises(ArgumentError, match="neither a path"):
        Manifest(Signature.of(model=value), {4: cyclic(4)})


@pytest.mark.parametrize(
    "value", ["org/name", "https://host:80/v1", "A/B", "and/or", "K=4: a/b", "7b~q4", "1:2:3", "~"]
)
def test_a_name_with_a_slash_is_no_path(value):
    Manifest(Signature.of(model=value), {4: cyclic(4)})


def test_nothing_of_this_machine_is_written(folder):
    secrets = [str(folder).encode(), os.path.expanduser("~").encode() + b"/", os.getcwd().encode()]
    for path in (folder / "r").rglob("*"):
        if path.is_file():
            assert not any(secret in path.read_bytes() for secret in secrets), path
