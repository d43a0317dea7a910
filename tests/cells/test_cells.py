"""From records to cells: the design found, every answer in its slot, nothing imputed, nothing lost uncounted."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orderbias.cells import cell_filter, cells, same_text_groups
from orderbias.errors import ArgumentError, DataError
from orderbias.items import Item
from orderbias.orderings import Design, all_orderings, cyclic, cyclic_with_reversals, parse_design
from orderbias.predictions import ERROR, MISSING, OK, REFUSED, UNPARSED, Predictions
from orderbias.records import Record, from_rows
from orderbias.signature import Signature

ROTATIONS = [tuple(r) for r in cyclic(4).positions.tolist()]


def answer(item, positions, content=0, **fields):
    """A record that chose ``content``; or with ``content=None`` one that has no usable answer."""
    place = None if content is None else positions[content]
    status = "unparsed" if content is None else "ok"
    return Record(**{"item_id": str(item), "positions": tuple(positions), "place": place, "status": status,
                     "model": "m", "benchmark": "b", "readout": "r", **fields})  # fmt: skip


def built(rows, **options):
    return cells(from_rows(rows), **options)


def only(rows, **options):
    (cell,) = built(rows, **options).predictions
    return cell


def by_hand(rows):
    """Every answer by item and ordering, straight from the rows."""
    return {
        (r.item_id, r.positions): -1 if r.place is None else r.positions.index(r.place) for r in rows if r.repeat == 0
    }


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_each_answer_stands_in_its_slot_whatever_the_design(data):
    k = data.draw(st.integers(2, 4))
    every = list(itertools.permutations(range(k)))
    rows = []
    for item in range(data.draw(st.integers(1, 6))):
        orderings = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True, max_size=5))
        for positions in orderings:
            rows.append(answer(item, positions, data.draw(st.sampled_from([None, *range(k)])), gold=item % k))
    rows = data.draw(st.permutations(rows))
    expected = by_hand(rows)
    for design in ("auto", "per-item"):
        cell = only(rows, design=design)
        found = {}
        for i, item in enumerate(cell.item_ids):
            assert cell.gold[i] == int(item) % k
            for s in range(cell.n_orderings):
                if cell.asked is not None and not cell.asked[i, s]:
                    assert cell.choice[i, s] == -1
                    continue
                positions = tuple((cell.positions[i, s] if cell.per_item else cell.positions[s]).tolist())
                if cell.status[i, s] == MISSING:
                    assert (item, positions) not in expected
                else:
                    found[(item, positions)] = int(cell.choice[i, s])
        if cell.per_item:
            assert found == expected
        else:
            shared = {tuple(p) for p in cell.positions.tolist()}
            assert found == {key: value for key, value in expected.items() if key[1] in shared}
            whole = [{p for i, p in expected if i == item} for item in {i for i, _ in expected}]
            assert 2 * sum(w == shared for w in whole) > len(whole)


def test_orderings_stand_canonical_first_then_lexicographic_whatever_the_order_of_rows():
    rows = [answer(i, p) for i in range(3) for p in reversed(all_orderings(3).positions.tolist())]
    assert only(rows).positions.tolist() == sorted(all_orderings(3).positions.tolist())
    ragged = [answer(0, p) for p in ((2, 1, 0), (0, 1, 2))] + [answer(1, p) for p in ((1, 2, 0), (2, 0, 1), (0, 2, 1))]
    cell = only(ragged)
    assert cell.positions[0, :2].tolist() == [[0, 1, 2], [2, 1, 0]]
    assert cell.positions[1].tolist() == [[0, 2, 1], [1, 2, 0], [2, 0, 1]]
    assert cell.asked.tolist() == [[True, True, False], [True] * 3]


def test_a_model_that_always_names_the_first_place_chooses_by_place_not_by_content():
    cell = only([Record(item_id="q", positions=p, place=0, gold=1) for p in ROTATIONS])
    assert sorted(cell.choice[0].tolist()) == [0, 1, 2, 3]
    assert (cell.places == 0).all()


def test_one_rotation_missing_one_twice_rows_shuffled():
    rows = [answer(i, p) for i in range(4) for p in ROTATIONS]
    lacking = [r for r in rows if not (r.item_id == "2" and r.positions == ROTATIONS[1])]
    with pytest.raises(DataError, match="answered once"):
        from_rows([*lacking, lacking[0]])
    again = Record(**{n: getattr(lacking[0], n) for n in Record.__dataclass_fields__} | {"repeat": 1, "place": 3})
    lacking = [lacking[i] for i in np.random.default_rng(0).permutation(len(lacking))]
    found = built([again, *lacking])
    (cell,) = found.predictions
    assert not cell.per_item
    usable = dict(zip(cell.item_ids, cell.usable, strict=True))
    assert usable == {"0": True, "1": True, "2": False, "3": True}
    assert cell.status[list(cell.item_ids).index("2")].tolist() == [OK, MISSING, OK, OK]
    assert (cell.choice[list(cell.item_ids).index("0")] == 0).all()
    assert any("1 answers are repeats" in n for n in found.notices)


def test_statuses_are_kept_apart_and_an_item_without_any_answer_stays():
    rows = [answer(0, p) for p in ROTATIONS[:2]]
    for item, status in ((1, "unparsed"), (2, "refused"), (3, "error")):
        rows += [answer(item, p, None, status=status, text="I cannot answer that.") for p in ROTATIONS[:2]]
    cell = only(rows)
    assert cell.n_items == 4
    assert cell.usable.tolist() == [True, False, False, False]
    assert cell.status.tolist() == [[s, s] for s in (OK, UNPARSED, REFUSED, ERROR)]
    assert (cell.choice[1:] == -1).all()


def test_extra_orderings_beside_a_shared_design_are_left_out_and_counted():
    rows = [answer(i, p) for i in range(3) for p in ROTATIONS] + [answer(1, (3, 2, 1, 0))]
    found = built(rows)
    assert found.predictions[0].n_orderings == 4
    assert found.predictions[0].usable.all()
    assert any("1 answers of 1 items" in n for n in found.notices)


def test_shared_and_per_item_decide():
    rows = [answer(i, p) for i in range(4) for j, p in enumerate(ROTATIONS) if i != j]  # each item lacks another one
    auto = built(rows)
    assert auto.predictions[0].per_item
    assert any("3 orderings an item" in n and "'shared'" in n for n in auto.notices)
    shared = only(rows, design="shared")
    assert shared.positions.tolist() == [list(p) for p in ROTATIONS]
    assert not shared.usable.any()
    assert only([answer(i, p) for i in range(3) for p in ROTATIONS], design="per-item").per_item
    with pytest.raises(DataError, match="shared design"):
        only([answer(i, p) for i, p in enumerate(ROTATIONS)], design="shared")
    with pytest.raises(ArgumentError, match=r"auto, shared, per-item .* 'shred'"):
        only(rows, design="shred")


def test_reversals_of_a_manifest_are_queried_only():
    design = cyclic_with_reversals(4)
    rows = [answer(i, tuple(p)) for i in range(3) for p in design.positions.tolist()]
    cell = only(rows, designs={4: design})
    assert cell.positions.tolist() == design.positions.tolist()
    assert cell.presented.tolist() == [True] * 4 + [False] * 4
    assert cell.source.as_dict()["design"] == "cyclic+reversals"
    bare = built(rows)
    assert bare.predictions[0].presented.all()
    assert bare.predictions[0].source.as_dict()["design"] == "shared:8 orderings"
    assert any("'cyclic+reversals'" in n for n in bare.notices)
    named = only(rows, design="cyclic+reversals")
    assert named.presented.tolist() == cell.presented.tolist()
    lost = [r for r in rows if r.item_id != "1" or r.positions != (3, 2, 1, 0)]
    assert only(lost, designs={4: design}).usable.all()  # a reversal that was not answered costs no item


@pytest.mark.parametrize("name", ["canonical", "cyclic", "all"])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_named_designs_are_recognised(name, k):
    design = parse_design(name).design(k)
    rows = [answer(i, tuple(p)) for i in range(2) for p in design.positions.tolist()]
    found = only(rows).source.as_dict()["design"]
    assert found == ("cyclic" if (name, k) == ("all", 2) else name)


def test_a_drawn_design_by_name_shows_what_is_missing():
    spec = parse_design("random:3:7")
    rows = [answer(i, tuple(p)) for i in range(5) for p in spec.design(4, str(i)).positions.tolist()]
    whole = only(rows, design="random:3:7")
    assert whole.per_item
    assert whole.usable.all()
    cell = only(rows[:4] + rows[5:] + [answer(2, p) for p in all_orderings(4).positions.tolist()
                                       if tuple(p) not in {r.positions for r in rows if r.item_id == "2"}][:1],
                design="random:3:7")  # fmt: skip
    assert cell.asked.sum(axis=1).tolist() == [3] * 5
    assert cell.usable.tolist() == [True, False, True, True, True]


def test_mixed_numbers_of_options_and_models_are_cells_of_their_own():
    rows = [answer(f"{k}-{i}", tuple(p), model=model) for model in ("b", "a") for k in (4, 3) for i in range(3)
            for p in cyclic(k).positions.tolist()]  # fmt: skip
    found = built(rows).predictions
    assert [(c.model, c.n_options, c.n_items) for c in found] == [("b", 3, 3), ("b", 4, 3), ("a", 3, 3), ("a", 4, 3)]
    assert len({str(c.source) for c in found}) == 4


def test_logprobs_mass_ties_and_group_go_along():
    logprobs = (-1.0, -1.0, -3.0, -4.0)
    rows = [Record(item_id="q", positions=p, logprobs=logprobs, mass=0.25, group="law") for p in ROTATIONS] + [
        answer("r", p, 1, model="unnamed", benchmark="unnamed", readout="unknown") for p in ROTATIONS
    ]
    cell = only(rows)
    assert cell.logprobs[0].tolist() == [list(logprobs)] * 4
    assert np.isnan(cell.logprobs[1]).all()
    assert cell.ties.tolist() == [[True] * 4, [False] * 4]
    assert cell.mass[0].tolist() == [0.25] * 4
    assert np.isnan(cell.mass[1]).all()
    assert list(cell.group) == ["law", None]
    assert only(rows[4:]).logprobs is None
    assert only(rows[4:]).group is None


def test_the_source_names_data_design_and_cell_and_known_settings_go_first():
    rows = [answer(i, p, gold=0) for i in range(3) for p in ROTATIONS]
    cell = only(rows)
    assert str(cell.source).split("|")[1:] == ["benchmark:b", "design:cyclic", "readout:r", "model:m"]
    assert only(rows[::-1]).source == cell.source
    changed = [answer(i, p, gold=1 if i == 2 else 0) for i in range(3) for p in ROTATIONS]
    assert only(changed).source != cell.source
    known = only(rows, source=Signature.of(data="abc", seed=3)).source.as_dict()
    assert (known["data"], known["seed"]) == ("abc", "3")


def test_the_data_hash_keeps_golds_and_ids_apart():
    def data(*pairs):
        return only([answer(i, p, gold=g) for i, g in pairs for p in ROTATIONS]).source.as_dict()["data"]

    assert len({data(("a", 0), ("b", 1)), data(("a", 1), ("b", 0)), data(("a", 0), ("c", 1)), data(("a", 0))}) == 4


def test_gold_is_taken_from_any_row_that_knows_it():
    rows = [answer(0, ROTATIONS[0]), answer(0, ROTATIONS[1], gold=2), answer(1, ROTATIONS[0]), answer(1, ROTATIONS[1])]
    assert only(rows).gold.tolist() == [2, -1]


ITEMS = [Item(str(i), "?", ("w", "x", "y", "z"), 0, "law") for i in range(4)]


def test_items_without_any_record_are_counted():
    rows = [answer(i, p) for i in (0, 1) for p in ROTATIONS]
    for design, usable in (("auto", 2), ("per-item", 2)):
        found = built(rows, items=ITEMS, design=design)
        cell = found.predictions[0]
        assert list(cell.item_ids) == ["0", "1", "2", "3"]
        assert cell.usable.sum() == usable
        assert cell.gold.tolist() == [0] * 4
        assert list(cell.group) == ["law"] * 4
        assert any("2 of 4 items have no record" in n for n in found.notices)
    with pytest.raises(DataError, match="one gold"):
        built([answer(0, ROTATIONS[0], gold=1)], items=ITEMS)


def test_most_items_unasked_do_not_hide_the_design():
    rows = [answer(0, p) for p in ROTATIONS]
    cell = only(rows, items=ITEMS)
    assert not cell.per_item
    assert cell.n_orderings == 4


def test_options_of_the_same_text_are_one_content():
    rows = [answer("d", p, c, gold=3) for p, c in zip(ROTATIONS, (1, 3, 1, 3), strict=True)]
    rows += [answer("e", p, c, gold=3) for p, c in zip(ROTATIONS, (1, 3, 1, 3), strict=True)]
    items = [Item("d", "?", ("a", "b", "c", "b"), 3), Item("e", "?", ("a", "b", "c", "d"), 3)]
    assert same_text_groups(items) == {"d": (0, 1, 2, 1)}
    for options in ({"items": items}, {"same_text": {"d": (0, 1, 2, 1)}}):
        cell = only(rows, **options)
        assert cell.choice.tolist() == [[1, 1, 1, 1], [1, 3, 1, 3]]
        assert cell.gold.tolist() == [1, 3]
    assert only(rows).choice.tolist() == [[1, 3, 1, 3]] * 2
    with pytest.raises(ArgumentError, match="4 contents for item 'd'"):
        only(rows, same_text={"d": (0, 1)})


def test_repeats_alone_are_no_first_answers():
    with pytest.raises(DataError, match="`repeat` 0"):
        built([answer(0, p, repeat=1) for p in ROTATIONS])


def test_designs_of_very_different_size_are_refused_rather_than_padded(monkeypatch):
    monkeypatch.setattr("orderbias.cells.layout._MAX_PADDED", 1000)
    rows = [answer(i, ROTATIONS[i % 4]) for i in range(50)] + [
        answer(99, tuple(p)) for p in all_orderings(4).positions.tolist()
    ]
    with pytest.raises(DataError, match=r"largest has 24 orderings"):
        built(rows)


def test_more_options_than_a_64_bit_key_holds():
    rng = np.random.default_rng(1)
    orderings = [tuple(range(20))] + [tuple(rng.permutation(20).tolist()) for _ in range(3)]
    rows = [answer(i, p, i) for i in range(3) for p in orderings]
    cell = only(rows)
    assert cell.positions.tolist() == sorted(list(p) for p in orderings)
    assert (cell.choice == np.arange(3)[:, None]).all()


def with_usable(n, **names):
    choice = np.zeros((10, 2), int)
    choice[n:] = -1
    return Predictions(choice, np.array([[0, 1], [1, 0]]), np.zeros(10, int), **names)


def test_the_filter_keeps_cells_with_nine_tenths_of_the_modal_count():
    first = [with_usable(n, model=str(i), benchmark="b", readout="first-token") for i, n in enumerate((10, 10, 9, 8))]
    thought = [with_usable(n, model=str(i), benchmark="b", readout="cot") for i, n in enumerate((8, 8, 9))]
    kept = cell_filter([*first, *thought])
    assert [(c.readout, c.model) for c in kept] == [("first-token", m) for m in "012"] + [("cot", "2")]
    assert cell_filter(thought) == tuple(thought)
    assert cell_filter(first, 0.75) == tuple(first)
    other = with_usable(3, model="x", benchmark="other", readout="cot")
    assert cell_filter([*first, other])[-1] is other
    with pytest.raises(ArgumentError, match=r"0\.\.1"):
        cell_filter(first, 90)


def test_a_design_for_another_number_of_options_leaves_the_rest_to_the_rows():
    rows = [answer(i, p) for i in range(2) for p in ROTATIONS]
    assert only(rows, designs={3: Design([[0, 1, 2]])}).n_orderings == 4


def test_large_designs_of_each_item_take_memory_by_their_answers():
    import tracemalloc

    spec = parse_design("random:720:3")
    rows = [
        Record(item_id=f"q{i}", positions=tuple(p), place=0)
        for i in range(40)
        for p in spec.design(7, f"q{i}").positions.tolist()
    ]
    records = from_rows(rows)
    tracemalloc.start()
    (cell,) = cells(records, design="random:720:3").predictions
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert cell.usable.all()
    assert (cell.places[cell.asked] == 0).all()
    assert peak < 30e6  # every answer against every slot would be 145 MB
