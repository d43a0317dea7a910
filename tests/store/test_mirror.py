"""A run kept alike in two places: whole files, in order, by one writer at a time; what comes late does no harm."""

from pathlib import Path

import pytest

from orderbias.errors import RunError
from orderbias.items import Item, ItemSet
from orderbias.orderings import parse_design
from orderbias.records import Record
from orderbias.signature import Signature
from orderbias.store import Folder, Manifest, Mirror, Run
from orderbias.store import run as run_module
from orderbias.store.atomic import PARTIAL
from orderbias.store.mirror import PARTS_A_WRITER, Pushed

ITEMS = ItemSet("two", tuple(Item(f"q{i}", "?", ("x", "y"), 0) for i in range(40)))
DESIGN = parse_design("cyclic").design(2)
MANIFEST = Manifest(Signature.of(data=ITEMS.data_hash, design="cyclic", model="m"), {2: DESIGN}, "t", {}, 80)


def record(i, row=0, place=0):
    return Record(item_id=f"q{i}", positions=tuple(DESIGN.positions[row].tolist()), place=place, gold=0, model="m")


@pytest.fixture
def remote(tmp_path):
    return Folder.of((tmp_path / "remote").as_uri()).child("sweep/model/benchmark")


class Worker:
    """One that takes the run up in a scratch directory of its own."""

    def __init__(self, remote, scratch):
        self.mirror = Mirror(remote, scratch)
        self.mirror.pull()
        self.known = Run.open(scratch).stored() if Run.exists(scratch) else set()
        self.run = Run.create(scratch, MANIFEST, ITEMS, first_part=self.mirror.claim())
        self.mirror.push()
        self.sink = Pushed(self.run, self.mirror)

    def close(self):
        self.run.close()
        self.mirror.push()


def pulled(remote, path):
    Mirror(remote, path).pull()
    return Run.open(path)


def keys(run):
    return [(r.item_id, r.positions) for r in run.records()]


def test_every_part_is_there_as_it_is_written(remote, tmp_path):
    worker = Worker(remote, tmp_path / "a")
    assert remote.names() == ["items.jsonl", "manifest.json"]
    for i in range(3):
        worker.sink.append([record(i)])
        assert len(pulled(remote, tmp_path / f"read{i}").records()) == i + 1
    # The worker is lost here; another goes on where it stopped.
    other = Worker(remote, tmp_path / "b")
    assert {item for item, _, _ in other.known} == {"q0", "q1", "q2"}
    other.sink.append([record(3)])
    other.close()
    found = pulled(remote, tmp_path / "end")
    assert sorted(keys(found)) == sorted((f"q{i}", (0, 1)) for i in range(4))
    assert found.verify().faults == ()
    assert list(found.items()) == list(ITEMS)


def test_one_given_up_for_lost_stops_and_doubles_nothing(remote, tmp_path):
    zombie = Worker(remote, tmp_path / "a")
    zombie.sink.append([record(0)])
    heir = Worker(remote, tmp_path / "b")
    heir.sink.append([record(1, place=0), record(2)])
    with pytest.raises(RunError, match="Another has taken it over"):
        zombie.sink.append([record(1, place=1), record(3)])
    heir.sink.append([record(3, place=1)])
    heir.close()
    found = pulled(remote, tmp_path / "end")
    assert sorted(keys(found)) == sorted((f"q{i}", (0, 1)) for i in range(4))
    assert {r.item_id: r.place for r in found.records()} == {"q0": 0, "q1": 0, "q2": 0, "q3": 1}


def test_a_push_that_was_under_way_all_the_while_doubles_nothing(remote, tmp_path):
    """What the zombie wrote before it was given up arrives after the heir has merged its parts."""
    zombie = Worker(remote, tmp_path / "a")
    zombie.sink.append([record(0)])
    zombie.run.append([record(1, place=1), record(4)])  # written, not pushed yet
    heir = Worker(remote, tmp_path / "b")
    for i in range(1, 4):
        heir.sink.append([record(i)])
    heir.run.compact()
    heir.close()
    for part in sorted((tmp_path / "a" / "records").glob("part-*")):
        remote.child("records").write(part.name, part.read_bytes())
    found = pulled(remote, tmp_path / "end")
    assert sorted(keys(found)) == sorted((f"q{i}", (0, 1)) for i in range(5))
    next_one = Worker(remote, tmp_path / "c")
    assert len(next_one.known) == 5


def test_numbers_of_writers_differ(remote, tmp_path):
    firsts = [Mirror(remote, tmp_path / str(i)).claim() for i in range(3)]
    assert firsts == [PARTS_A_WRITER, 2 * PARTS_A_WRITER, 3 * PARTS_A_WRITER]


def test_of_two_that_claim_at_once_at_most_one_keeps_a_number(remote, tmp_path, monkeypatch):
    claims = []
    # Another claims between this one's look and its claim: both would have number 1.
    look = Folder.names
    looked = []

    def stale(self):
        found = look(self)
        if not looked:
            looked.append(True)
            claims.append(Mirror(remote, tmp_path / "b").claim())
        return found

    monkeypatch.setattr(Folder, "names", stale)
    mine = Mirror(remote, tmp_path / "a").claim()
    assert claims == [PARTS_A_WRITER]
    assert mine == 2 * PARTS_A_WRITER


def test_merged_parts_replace_theirs(remote, tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "PARTS_LEFT", 2)
    worker = Worker(remote, tmp_path / "a")
    for i in range(6):
        worker.sink.append([record(i)])
    assert sum(name.startswith("part-") for name in remote.child("records").names()) == 6
    worker.close()
    (part,) = [name for name in remote.child("records").names() if name.startswith("part-")]
    assert part.startswith(f"part-{PARTS_A_WRITER:08d}-{PARTS_A_WRITER + 5:08d}-")
    assert len(pulled(remote, tmp_path / "end").records()) == 6


def test_a_part_that_is_merged_while_it_is_copied(remote, tmp_path, monkeypatch):
    worker = Worker(remote, tmp_path / "a")
    for i in range(4):
        worker.sink.append([record(i)])
    read, merged = Folder.read, []

    def slow(self, name):
        if name.startswith("part-") and not merged:
            merged.append(True)
            worker.run.compact()
            worker.mirror.push()
        return read(self, name)

    monkeypatch.setattr(Folder, "read", slow)
    assert len(pulled(remote, tmp_path / "b").records()) == 4


def test_a_cut_push_leaves_nothing_that_counts(remote, tmp_path):
    worker = Worker(remote, tmp_path / "a")
    worker.sink.append([record(0)])
    place = Path(remote.path) / "records"
    whole = next(place.glob("part-*"))
    (place / (whole.name + ".0" + PARTIAL)).write_bytes(whole.read_bytes()[:50])
    assert len(pulled(remote, tmp_path / "b").records()) == 1
    assert Worker(remote, tmp_path / "c").run.notices == ()


def test_a_folder_that_refuses_says_so(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="could not be written to"):
        Folder.of(str(tmp_path / "file" / "within")).write("a", b"x")
    with pytest.raises(RunError, match="must be a directory, or the address"):
        Folder.of("nowhere://x/y")


def test_a_folder_of_this_machine_and_its_address_are_one(tmp_path):
    Folder.of(str(tmp_path)).child("a b").write("f", b"1")
    assert Folder.of(tmp_path.as_uri()).child("a b").read("f") == b"1"
    assert Folder.of(tmp_path.as_uri()).read("none") is None
    assert Folder.of(str(tmp_path / "none")).names() == []
