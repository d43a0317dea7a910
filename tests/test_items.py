"""Items: what is known of a single one, and of the golds of many."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from orderbias.items import Item, ItemSet, gold_place_counts, option_counts, same_text_groups


@given(st.lists(st.sampled_from(["a", "b ", " b", "c", "A"]), min_size=2, max_size=8))
def test_same_text_groups_are_the_classes_of_equal_texts(options: list[str]) -> None:
    groups = same_text_groups(Item("1", "?", tuple(options)))
    together = {(i, j) for group in groups for i in group for j in group if i < j}
    expected = {
        (i, j)
        for i in range(len(options))
        for j in range(i + 1, len(options))
        if options[i].strip() == options[j].strip()
    }
    assert together == expected
    assert all(len(group) > 1 for group in groups)


def test_gold_places_are_counted_over_items_with_that_many_options_and_a_gold() -> None:
    items = [Item(str(i), "?", ("a", "b", "c"), g) for i, g in enumerate([0, 2, 2, None])] + [
        Item("x", "?", ("a", "b"), 1)
    ]
    np.testing.assert_array_equal(gold_place_counts(items, 3), [1, 0, 2])
    np.testing.assert_array_equal(gold_place_counts(items, 2), [0, 1])
    np.testing.assert_array_equal(gold_place_counts(items, 4), [0, 0, 0, 0])
    assert option_counts(items) == {2: 1, 3: 4}


def test_the_data_hash_sees_texts_golds_and_pins_but_not_shots() -> None:
    item = Item("1", "q", ("a", "b"), 0)
    base = ItemSet("n", (item,)).data_hash
    assert ItemSet("other name", (item,), shots=(item,)).data_hash == base
    changed = [
        Item("2", "q", ("a", "b"), 0),
        Item("1", "qa", ("b",), 0),
        Item("1", "q", ("b", "a"), 0),
        Item("1", "q", ("a", "b"), 1),
        Item("1", "q", ("a", "b"), 0, pinned=(1,)),
        Item("1", "q", ("a", "b"), 0, passage="p"),
    ]
    assert len({base, *(ItemSet("n", (c,)).data_hash for c in changed)}) == len(changed) + 1
