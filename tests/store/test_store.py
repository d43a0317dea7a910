"""A run directory keeps every answer that `append` returned for, through kills, damage and full disks."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orderbias.errors import ArgumentError, DataError, RunError, SettingsChanged
from orderbias.items import Item, ItemSet
from orderbias.orderings import cyclic, cyclic_with_reversals, parse_design
from orderbias.records import Record
from orderbias.signature import Signature
from orderbias.store import Manifest, Run
from orderbias.store import parts as parts_module

ITEMS = ItemSet(
    "toy",
    tuple(
        Item(f"q{i}", f"Why {i}?\u2028", ("w", "x", "y", "z "), i % 4, "g", "p" if i % 2 else None) for i in range(6)
    ),
    (Item("s", "Shot?", ("w", "x"), 1, pinned=(1,)),),
    ("one notice",),
)
SETTINGS = Signature.of(data=ITEMS.data_hash, design="cyclic", model="m", seed=3)
MANIFEST = Manifest(SETTINGS, {4: cyclic(4)}, "{{ question }}", {"numpy": "2"}, 24)


def answer(item, shift, **fields):
    gold = next((i.gold for i in ITEMS if i.id == f"q{item}"), None)
    logprobs = fields.get("logprobs", (-0.5, -1.0 - item, -2.0, -3.0 - shift))
    return Record(**{"item_id": f"q{item}", "positions": tuple((j + shift) % 4 for j in range(4)), "gold": gold,
                     "place": logprobs and 0, "logprobs": logprobs, "mass": 0.75, "group": "g",
                     "model": "m", "benchmark": "toy", "readout": "r", **fields})  # fmt: skip


EVERY = [answer(i, s) for i in range(6) for s in range(4)]


def key(record):
    return record.item_id, record.positions, record.repeat


def part_paths(path):
    return sorted((Path(path) / "records").glob("part-*.parquet"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run"


def filled(path, rows=EVERY, size=4):
    run = Run.create(path, MANIFEST, ITEMS)
    for i in range(0, len(rows), size):
        run.append(rows[i : i + size])
    return run


# --- making, opening, reading ------------------------------------------------------------------------------------


def test_what_was_stored_comes_back_exactly(path):
    with filled(path) as run:
        assert run.stored() == {key(r) for r in EVERY}
    again = Run.open(path)
    assert list(again.records()) == EVERY
    assert again.items() == ITEMS
    assert again.manifest.settings == SETTINGS
    assert again.manifest.designs == {4: cyclic(4)}
    assert (again.manifest.template, again.manifest.n_queries, again.manifest.versions) == (
        "{{ question }}",
        24,
        {"numpy": "2"},
    )
    assert again.verify().faults == ()
    assert again.verify().n_left == 0


def test_presented_orderings_are_kept(path):
    manifest = Manifest(SETTINGS, {4: cyclic_with_reversals(4), 3: cyclic(3)}, "T", {}, 48)
    Run.create(path, manifest, ITEMS).close()
    assert Run.open(path).manifest.designs == manifest.designs


def test_a_run_can_be_moved(path, tmp_path):
    filled(path).close()
    path.rename(tmp_path / "elsewhere")
    assert Run.open(tmp_path / "elsewhere").verify().faults == ()
    for file in (tmp_path / "elsewhere").rglob("*"):
        assert not file.is_file() or str(tmp_path).encode() not in file.read_bytes()


def test_an_empty_run_has_nothing_stored_and_says_so(path):
    run = Run.create(path, MANIFEST, ITEMS)
    assert run.stored() == set()
    assert run.verify().n_left == 24
    with pytest.raises(RunError, match="at least one answer"):
        run.records()
    run.append([])
    assert part_paths(path) == []


def test_the_same_settings_resume_and_others_are_refused_by_name(path):
    filled(path, EVERY[:8]).close()
    with Run.create(path, MANIFEST, ITEMS) as run:
        run.append(EVERY[8:])
    assert list(Run.open(path).records()) == EVERY
    other = Manifest(SETTINGS.extended(seed=4, model="n"), {4: cyclic(4)}, "{{ question }}", {}, 24)
    with pytest.raises(SettingsChanged) as caught:
        Run.create(path, other, ITEMS)
    assert caught.value.changes == ("model: m -> n", "seed: 3 -> 4")
    with pytest.raises(SettingsChanged, match="seed: 3 -> 5"):
        Run.open(path).check(SETTINGS.extended(seed=5))
    Run.open(path).check(SETTINGS)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"template": "other"}, "template_hash"),
        ({"designs": {4: parse_design("latin:1").design(4)}}, "design_hash"),
        ({"n_queries": 12}, "n_queries: 24 -> 12"),
    ],
)
def test_changes_that_no_setting_names_are_refused_too(change, name, path):
    filled(path).close()
    fields = {f: getattr(MANIFEST, f) for f in ("settings", "designs", "template", "versions", "n_queries")}
    with pytest.raises(SettingsChanged, match=name):
        Run.create(path, Manifest(**{**fields, **change}), ITEMS)


def test_other_items_are_refused(path):
    filled(path).close()
    with pytest.raises(SettingsChanged, match="data_hash"):
        Run.create(path, MANIFEST, ItemSet("toy", ITEMS.items[:5]))


def test_other_versions_are_not_a_change(path):
    filled(path).close()
    Run.create(path, Manifest(SETTINGS, {4: cyclic(4)}, "{{ question }}", {"numpy": "3"}, 24), ITEMS).close()


def test_a_directory_of_other_files_is_left_alone(path):
    path.mkdir()
    (path / "thesis.tex").write_text("x")
    with pytest.raises(RunError, match="other files"):
        Run.create(path, MANIFEST, ITEMS)
    assert [p.name for p in path.iterdir()] == ["thesis.tex"]
    (path / "file").write_text("x")
    with pytest.raises(RunError, match="other files"):
        Run.create(path / "file", MANIFEST, ITEMS)


def test_no_run_and_a_damaged_manifest_are_named(path):
    with pytest.raises(RunError, match="must be a run directory"):
        Run.open(path)
    assert not Run.exists(path)
    filled(path).close()
    assert Run.exists(path)
    manifest = path / "manifest.json"
    manifest.write_text(manifest.read_text()[:100])
    with pytest.raises(RunError, match="damaged"):
        Run.open(path)
    manifest.write_text(json.dumps({"format": 99}))
    with pytest.raises(RunError, match="newer"):
        Run.open(path)


@pytest.mark.parametrize("value", ["/home/me/model", "~/model", r"C:\model", "sk-" + "a1" * 16, "hf_" + "Ab1" * 10])
def test_neither_paths_nor_keys_are_stored(value):
    with pytest.raises(ArgumentError, match="`model`"):
        Manifest(Signature.of(model=value))


def test_names_that_look_a_little_like_keys_are_fine():
    Manifest(Signature.of(model="hf-internal-testing/tiny-random-LlamaForCausalLM", design="cyclic+reversals"))


# --- a half-made run ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "left", [[], ["lock"], ["lock", "items.jsonl"], ["items.jsonl.partial"], ["manifest.json.partial"]]
)
def test_a_half_made_directory_is_completed(left, path):
    (path / "records").mkdir(parents=True)
    for name in left:
        (path / name).write_text("half")
    assert not Run.exists(path)
    with pytest.raises(RunError, match="not fully made"):
        Run.open(path)
    with filled(path) as run:
        assert list(run.records()) == EVERY
    assert not list(path.rglob("*.partial"))
    assert Run.open(path).items() == ITEMS


def test_lost_items_are_written_anew(path):
    filled(path).close()
    (path / "items.jsonl").write_text("{")
    assert any("items cannot be read" in f for f in Run.open(path).verify().faults)
    with pytest.raises(RunError, match="damaged"):
        Run.open(path).items()
    with Run.create(path, MANIFEST, ITEMS) as run:
        assert any("written anew" in n for n in run.notices)
    assert Run.open(path).items() == ITEMS


# --- damage ------------------------------------------------------------------------------------------------------


def cut(data):
    return data[: len(data) // 2]


def flip(data):
    return data[:40] + bytes([data[40] ^ 1]) + data[41:]


@pytest.mark.parametrize("harm", [cut, flip, lambda data: b"", lambda data: b"\0" * len(data)])
def test_a_damaged_part_is_dropped_said_and_asked_again(harm, path):
    filled(path).close()
    victim = part_paths(path)[2]
    victim.write_bytes(harm(victim.read_bytes()))
    lost = {key(r) for r in EVERY[8:12]}
    reader = Run.open(path)
    assert reader.stored() == {key(r) for r in EVERY} - lost
    assert any(victim.name in n for n in reader.records().notices)
    assert any(victim.name in f for f in reader.verify().faults)
    assert victim.exists()
    with Run.create(path, MANIFEST, ITEMS) as run:
        assert any(victim.name in n for n in run.notices)
        stored = run.stored()
        run.append([r for r in EVERY if key(r) not in stored])
    assert {key(r) for r in Run.open(path).records()} == {key(r) for r in EVERY}
    assert Run.open(path).verify().faults == ()
    assert victim.with_name(victim.name + ".damaged").exists()


def test_leftovers_of_a_killed_writer_are_dropped_and_said(path):
    filled(path, EVERY[:4]).close()
    (path / "records" / "part-00000001-0123456789abcdef.parquet.partial").write_bytes(b"half")
    assert len(Run.open(path).records()) == 4
    assert list(path.rglob("*.partial"))
    with Run.create(path, MANIFEST, ITEMS) as run:
        assert any("1 partial files" in n for n in run.notices)
    assert not list(path.rglob("*.partial"))


def test_a_number_is_never_used_twice(path):
    filled(path, EVERY[:8]).close()
    last = part_paths(path)[-1]
    last.write_bytes(b"")
    with Run.create(path, MANIFEST, ITEMS) as run:
        run.append(EVERY[4:8])
    assert [p.name.split("-")[1] for p in part_paths(path)] == ["00000000", "00000002"]


# --- writing -----------------------------------------------------------------------------------------------------


def test_an_answered_query_is_not_stored_again(path):
    with filled(path, EVERY[:8]) as run:
        with pytest.raises(RunError, match="stored once"):
            run.append(EVERY[6:10])
        assert len(run.stored()) == 8
    with Run.create(path, MANIFEST, ITEMS) as run, pytest.raises(RunError, match="stored once"):
        run.append(EVERY[:1])


def test_a_failed_query_may_be_asked_again_and_its_answer_counts(path):
    failed = [answer(0, s, logprobs=None, status="error", text="timeout") for s in range(4)]
    with filled(path, failed) as run:
        assert len(run.stored()) == 4
        assert run.stored(failed=False) == set()
        run.append([answer(0, 1)])
        run.append([answer(0, 2, logprobs=None, status="error", text="again")])
        assert run.stored(failed=False) == {key(answer(0, 1))}
    records = list(Run.open(path).records())
    assert [r.status for r in records] == ["error", "error", "error", "ok"]
    assert {r.text for r in records} == {"timeout", None}
    found = Run.open(path).verify()
    assert (found.n_answered, found.n_duplicates, found.faults) == (4, 0, ())


def test_wrong_records_are_refused_and_nothing_is_stored(path):
    with Run.create(path, MANIFEST, ITEMS) as run:
        with pytest.raises(DataError, match="argmax"):
            run.append([answer(0, 0), answer(0, 1, place=3)])
        assert run.stored() == set()


def test_a_second_writer_is_refused_and_a_reader_is_not(path):
    with filled(path, EVERY[:4]) as run:
        with pytest.raises(RunError, match=f"one writer at a time. Process {os.getpid()} is writing"):
            Run.create(path, MANIFEST, ITEMS)
        second = Run.open(path)
        assert len(second.records()) == 4
        with pytest.raises(RunError, match="one writer"):
            second.append(EVERY[4:8])
        run.append(EVERY[4:8])
    second.append(EVERY[8:12])
    second.close()
    assert len(Run.open(path).records()) == 12


def test_the_lock_of_a_dead_process_does_not_hold(path):
    filled(path, EVERY[:4]).close()
    taking = "import os, sys; from orderbias.store import Run; Run.open(sys.argv[1])._lock.acquire()"
    code = f"{taking}; os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -signal.SIGKILL
    with Run.create(path, MANIFEST, ITEMS) as run:
        run.append(EVERY[4:])


@pytest.mark.parametrize("when", ["write", "fsync", "replace"])
def test_a_disk_that_refuses_leaves_the_run_intact(when, path, monkeypatch):
    run = filled(path, EVERY[:8])

    def refuse(*arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, when, refuse)
        with pytest.raises(RunError, match=r"No space left.*intact.*Make room"):
            run.append(EVERY[8:12])
    assert not list(path.rglob("*.partial"))
    assert len(run.stored()) == 8
    run.append(EVERY[8:])
    run.close()
    assert list(Run.open(path).records()) == EVERY
    assert Run.open(path).verify().faults == ()


def test_a_write_that_comes_through_in_pieces_is_whole(path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data)[:100]))
    filled(path).close()
    assert list(Run.open(path).records()) == EVERY


LIMITED = """
import resource, sys
from orderbias.store import Run
sys.path.insert(0, {tests!r})
import test_store as t
run = Run.create({path!r}, t.MANIFEST, t.ITEMS)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    run.append(t.EVERY[4:])
except t.RunError as error:
    print(error)
"""


def test_a_real_refusal_of_the_system_leaves_the_run_intact(path):
    filled(path, EVERY[:4]).close()
    code = LIMITED.format(tests=str(Path(__file__).parent), path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "The run is intact" in done.stdout
    with Run.create(path, MANIFEST, ITEMS) as run:
        assert list(run.records()) == EVERY[:4]
        assert run.notices == ()
        run.append(EVERY[4:])


# --- merging -----------------------------------------------------------------------------------------------------


def test_many_parts_are_merged_on_closing_and_nothing_changes(path):
    filled(path, size=1).close()
    assert len(part_paths(path)) == 1
    assert list(Run.open(path).records()) == EVERY
    assert Run.open(path).verify().faults == ()
    assert Run.open(path).verify().as_dict()["statuses"] == {"ok": 24}


@pytest.mark.parametrize("kept", [0, 1, 11, 23])
def test_a_kill_while_merging_loses_and_doubles_nothing(kept, path, monkeypatch):
    run = filled(path, size=1)
    originals = {p: p.read_bytes() for p in part_paths(path)}
    run.compact()
    for p, data in list(originals.items())[kept:]:
        p.write_bytes(data)
    run._lock.release()
    assert list(Run.open(path).records()) == EVERY
    with Run.create(path, MANIFEST, ITEMS):
        assert len(part_paths(path)) == 1
    assert list(Run.open(path).records()) == EVERY


def test_a_damaged_merged_part_beside_its_parts_costs_nothing(path):
    run = filled(path, size=1)
    originals = {p: p.read_bytes() for p in part_paths(path)}
    run.compact()
    run._lock.release()
    (merged,) = part_paths(path)
    for p, data in originals.items():
        p.write_bytes(data)
    merged.write_bytes(merged.read_bytes()[:-50])
    assert list(Run.open(path).records()) == EVERY


def test_large_parts_and_gaps_are_not_merged_over(path, monkeypatch):
    run = filled(path, size=2)
    part_paths(path)[4].write_bytes(b"")
    run.close()
    assert len(part_paths(path)) == 3  # one of them the damaged one
    with Run.create(path, MANIFEST, ITEMS) as run:
        run.compact()
    assert len(part_paths(path)) == 2
    assert len(Run.open(path).records()) == 22
    monkeypatch.setattr(parts_module, "MERGED_BELOW", 1)
    with Run.create(path, MANIFEST, ITEMS) as run:
        run.compact()
    assert len(part_paths(path)) == 2


def test_a_reader_beside_a_merging_writer(path, monkeypatch):
    run = filled(path, size=1)
    list_parts, stale = parts_module.list_parts, parts_module.list_parts(path / "records")
    calls = []

    def listing(directory):
        calls.append(directory)
        if len(calls) > 1:
            return list_parts(directory)
        with monkeypatch.context() as patched:
            patched.setattr(parts_module, "list_parts", list_parts)
            run.compact()
        return stale

    monkeypatch.setattr(parts_module, "list_parts", listing)
    assert list(parts_module.read_shelf(path / "records").all_records) == EVERY
    assert len(calls) == 2


# --- verifying ---------------------------------------------------------------------------------------------------


def faults(path):
    return "\n".join(Run.open(path).verify().faults)


def test_verify_counts_by_status_and_what_is_left(path):
    filled(path, [*EVERY[:10], answer(2, 2, logprobs=None, status="refused", text="no")]).close()
    found = Run.open(path).verify()
    assert found.faults == ()
    assert (found.n_items, found.n_queries, found.n_answered, found.n_left) == (6, 24, 11, 13)
    assert found.statuses == {"ok": 10, "refused": 1}
    assert len(found.parts) == 3
    assert all(sha in name for name, sha in found.parts.items())
    assert "13 left" in found.lines()[0]
    assert json.loads(json.dumps(found.as_dict()))["n_left"] == 13


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (answer(99, 0), "1 records are of items that the run does not have"),
        (answer(0, 0, positions=(3, 2, 1, 0)), "1 records are under orderings that are no part of the plan"),
        (answer(0, 0, gold=3), "1 records have another gold"),
        (answer(0, 0, positions=(0, 1, 2), logprobs=(-1.0, -2.0, -3.0)), "1 records have another number of options"),
        (answer(0, 0, model="other"), "one `model`. Got m, other"),
    ],
)
def test_verify_finds_answers_that_do_not_belong(row, words, path):
    filled(path, [answer(5, 3), row]).close()
    assert words in faults(path)


def test_verify_finds_changed_files(path):
    filled(path).close()
    manifest = path / "manifest.json"
    stored = json.loads(manifest.read_text())
    for name, value, word in (
        ("template", "changed", "template hash"),
        ("designs", {"4": {"positions": [[0, 1, 2, 3]], "presented": [True]}}, "design hash"),
        ("n_queries", 23, "24 queries a repeat"),
        ("settings", {**stored["settings"], "data": "0123"}, "setting `data`"),
    ):
        manifest.write_text(json.dumps({**stored, name: value}))
        assert word in faults(path)
    manifest.write_text(json.dumps(stored))
    items = path / "items.jsonl"
    items.write_text(items.read_text().replace("Why 3?", "Why 4?"))
    assert "data hash" in faults(path)


def test_verify_finds_answers_given_twice(path):
    filled(path, EVERY[:4]).close()
    from orderbias.records import from_rows

    parts_module.write_part(path / "records", 7, from_rows([EVERY[0]]))
    found = Run.open(path).verify()
    assert found.n_duplicates == 1
    assert "answered already" in found.faults[0]
    records = Run.open(path).records()
    assert len(records) == 4
    assert any("1 answers" in n for n in records.notices)


def test_verify_plans_designs_per_item_and_pinned_items_anew(path):
    from orderbias.collect import all_queries

    pinned = Item("p", "?", ("w", "x", "y", "none of the above"), 0, pinned=(3,))
    items = ItemSet("toy", (*ITEMS.items, pinned))
    spec = parse_design("random:3:5")
    queries = list(all_queries(items, spec))
    settings = Signature.of(data=items.data_hash, design=str(spec))
    rows = [Record(item_id=q.item.id, positions=q.positions, place=0, gold=q.item.gold) for q in queries]
    with Run.create(path, Manifest(settings, {}, "T", {}, len(queries)), items) as run:
        run.append(rows[:-1])
        assert run.verify().faults == ()
        assert run.verify().n_left == 1
        run.append([Record(item_id="p", positions=(3, 2, 1, 0), place=0, gold=0)])
    assert "no part of the plan" in faults(path)


# --- kill -9 -----------------------------------------------------------------------------------------------------

WRITER = """
import os, sys, time
sys.path.insert(0, {tests!r})
import test_store as t
run = t.Run.create(sys.argv[1], t.LONG_MANIFEST, t.LONG_ITEMS)
stored = run.stored()
left = [r for r in t.LONG if t.key(r) not in stored]
for i in range(0, len(left), 3):
    time.sleep(0.02)  # however fast the machine, twenty kills come before the end
    run.append(left[i:i + 3])
    for record in left[i:i + 3]:
        os.write(1, (record.item_id + " " + str(record.positions[0]) + "\\n").encode())
run.close()
os.write(1, b"done\\n")
"""

LONG_ITEMS = ItemSet("toy", tuple(Item(f"q{i}", "?", ("w", "x", "y", "z"), i % 4) for i in range(300)))
LONG_MANIFEST = Manifest(Signature.of(data=LONG_ITEMS.data_hash, design="cyclic"), {4: cyclic(4)}, "T", {}, 1200)
LONG = [
    Record(item_id=f"q{i}", positions=tuple((j + s) % 4 for j in range(4)), gold=i % 4, place=s)
    for i in range(300)
    for s in range(4)
]


def test_twenty_kills_lose_and_double_nothing(path):
    """A real writer is killed at random moments, from its first second on; it acknowledges what it has stored."""
    code = WRITER.format(tests=str(Path(__file__).parent))
    chance = random.Random(11)
    acknowledged = []
    for kill in range(20):
        with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as child:
            if kill % 2:  # half of the kills fall while answers come in, half at any time from the very start
                acknowledged.append(child.stdout.readline().decode().strip())
            time.sleep(chance.uniform(0, 0.15 if kill % 2 else 1.5))
            child.kill()
            rest = child.stdout.read().decode().splitlines()
        assert child.returncode == -signal.SIGKILL
        assert "done" not in rest, "the writer was done before it was killed: give it more to write"
        acknowledged += rest
        if not Run.exists(path):
            assert not acknowledged
            continue
        held = [f"{item} {positions[0]}" for item, positions, _ in Run.open(path).stored()]
        assert set(acknowledged) <= set(held)
        found = Run.open(path).verify()
        assert found.faults == ()
        assert sum(found.statuses.values()) == found.n_answered == len(held)
    assert len(acknowledged) > 20
    assert len(set(acknowledged)) == len(acknowledged)
    with Run.create(path, LONG_MANIFEST, LONG_ITEMS) as run:
        stored = run.stored()
        assert len(stored) < len(LONG)
        run.append([r for r in LONG if key(r) not in stored])
    assert sorted(map(key, Run.open(path).records())) == sorted(map(key, LONG))
    assert Run.open(path).verify().n_left == 0
