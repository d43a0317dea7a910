"""Orderings: every constructor gives permutations, and the theorems on balance hold."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orderbias import orderings as o
from orderbias.errors import ArgumentError

options = st.integers(2, 10)
seeds = st.integers(0, 10_000)
SPECS = ["canonical", "cyclic", "cyclic+reversals", "latin:3", "random:2:3", "random-shared:2:3", "gold-balanced:3"]


@given(st.sampled_from(SPECS), options, seeds)
def test_every_ordering_of_every_design_is_a_bijection(spec, n_options, item):
    design = o.parse_design(spec).design(n_options, str(item), gold=item % n_options)
    assert (np.sort(design.positions, axis=1) == np.arange(n_options)).all()
    assert not design.positions.flags.writeable


@given(options)
def test_lemma_1_cyclic_is_balanced_and_each_place_is_reached_by_one_rotation(n_options):
    rows = o.cyclic(n_options).positions
    for j, r in itertools.product(range(n_options), repeat=2):
        assert [s for s in range(n_options) if rows[s, j] == r] == [(r - j) % n_options]
    assert o.cyclic(n_options).balanced
    assert o.cyclic(n_options).max_deviation == 0


@given(st.integers(3, 10))
def test_a_reversal_is_never_cyclic_for_three_options_or_more(n_options):
    rows = o.cyclic(n_options).positions
    cyclic = {tuple(r) for r in rows}
    assert not cyclic & {tuple(r) for r in o.reversal(rows)}
    both = o.cyclic_with_reversals(n_options)
    assert both.n_orderings == 2 * n_options
    assert both.scored == o.cyclic(n_options)


def test_with_two_options_the_reversals_are_the_rotations():
    assert o.cyclic_with_reversals(2) == o.cyclic(2)
    assert {tuple(r) for r in o.reversal(o.cyclic(2).positions)} == {(0, 1), (1, 0)}


@given(options, seeds)
def test_latin_squares_are_balanced_and_hold_no_reversal(n_options, seed):
    design = o.latin(n_options, o.item_rng(seed, ""))
    assert design.balanced
    assert design.n_orderings == n_options
    if n_options > 2:
        rows = {tuple(r) for r in design.positions}
        assert not rows & {tuple(r) for r in o.reversal(design.positions)}


def test_exactly_twelve_sets_of_four_by_brute_force():
    every = list(itertools.permutations(range(4)))
    found = set()
    for four in itertools.combinations(every, 4):
        balanced = all(len({row[j] for row in four}) == 4 for j in range(4))
        mirrored = any(tuple(3 - p for p in row) in four for row in four)
        if balanced and not mirrored:
            found.add(frozenset(four))
    ours = {frozenset(tuple(r) for r in d.positions.tolist()) for d in o.latin_squares_of_four()}
    assert ours == found
    assert len(found) == 12
    drawn = {frozenset(map(tuple, o.latin(4, o.item_rng(s, "")).positions.tolist())) for s in range(300)}
    assert drawn == found


@given(st.integers(2, 6))
def test_all_orderings_are_balanced_and_start_with_the_canonical(n_options):
    design = o.all_orderings(n_options)
    assert design.n_orderings == math.factorial(n_options)
    assert design.balanced
    assert design.positions[0].tolist() == list(range(n_options))


@given(options, seeds)
def test_gold_balanced_shows_the_gold_once_at_each_place(n_options, seed):
    gold = seed % n_options
    rows = o.gold_balanced(n_options, gold, o.item_rng(seed, "x")).positions
    assert sorted(rows[:, gold]) == list(range(n_options))


@given(options, seeds)
def test_random_subsets_are_distinct_and_depend_on_seed_and_item_only(n_options, seed):
    spec = o.DesignSpec("random", 2, seed)
    first, again, other = (spec.design(n_options, item) for item in ("a", "a", "b"))
    assert first == again
    assert len({tuple(r) for r in first.positions}) == 2
    shared = o.DesignSpec("random-shared", 2, seed)
    assert shared.design(n_options, "a") == shared.design(n_options, "b")
    assert first.n_options == other.n_options


def test_random_orderings_of_one_seed_differ_between_items():
    spec = o.parse_design("random:4:0")
    assert len({spec.design(4, str(i)).positions.tobytes() for i in range(50)}) > 40


@given(options, seeds)
def test_inverse_and_composition(n_options, seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.permutation(n_options) for _ in range(2))
    assert o.compose(a, o.inverse(a)).tolist() == list(range(n_options))
    shown = [None] * n_options
    for content, place in enumerate(a):
        shown[place] = content
    assert o.inverse(a).tolist() == shown
    assert [b[a[j]] for j in range(n_options)] == o.compose(a, b).tolist()


@given(st.integers(2, 16), seeds)
def test_ordering_keys_tell_orderings_apart(n_options, seed):
    rng = np.random.default_rng(seed)
    rows = rng.permuted(np.tile(np.arange(n_options), (40, 1)), axis=1)
    assert len(np.unique(o.ordering_key(rows))) == len(np.unique(rows, axis=0))


@given(options, st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_place_shares_and_balance_by_counting(n_options, draws):
    rows = np.array([np.random.default_rng(d).permutation(n_options) for d in draws])
    design = o.Design(rows)
    shares = [[np.mean(rows[:, j] == r) for r in range(n_options)] for j in range(n_options)]
    np.testing.assert_allclose(design.place_shares, shares, atol=1e-15)
    assert design.max_deviation == pytest.approx(max(np.std(u) for u in shares))
    assert design.balanced == (np.abs(np.array(shares) - 1 / n_options).max() < 1e-12)


def test_pinned_contents_keep_their_place():
    design = o.pinned(o.cyclic(3), (1,), 4)
    assert (design.positions[:, 1] == 1).all()
    assert sorted(design.positions[:, 0]) == [0, 2, 3]


@pytest.mark.parametrize(
    "spec",
    ["", "cyclc", "latin", "latin:x", "random:4", "random:0:1", "random:-1:2", "cyclic:3", "all:1", "random:4:1:2",
     "latin:²", "latin:٣", "latin:+1", "latin:1_0", "latin:" + "1" * 5000],
)  # fmt: skip
def test_unknown_designs_are_errors_that_list_the_names(spec):
    with pytest.raises(ArgumentError, match="random"):
        o.parse_design(spec)


@pytest.mark.parametrize(
    "rows", [[[0, 0, 1]], [[1, 2, 3]], [[0.0, 1.0]], [], [[]], [0, 1], [[0]], [[0, 1], [0, 2]], [list(range(27))]]
)
def test_rows_that_are_no_permutations_are_refused(rows):
    with pytest.raises(ArgumentError, match="Got"):
        o.Design(rows)


def test_designs_that_cannot_be_had_are_refused():
    with pytest.raises(ArgumentError, match="at most 7"):
        o.all_orderings(8)
    with pytest.raises(ArgumentError, match="size"):
        o.random_subset(2, 3, o.item_rng(0, ""))
    with pytest.raises(ArgumentError, match="5040"):
        o.parse_design("random:100000000:0").design(26)
    with pytest.raises(ArgumentError, match="gold"):
        o.parse_design("gold-balanced:1").design(4, "x")
    with pytest.raises(ArgumentError, match="presented"):
        o.Design([[0, 1]], [False])


@pytest.mark.parametrize("spec", [*SPECS, "all"])
def test_a_spec_prints_as_it_was_given(spec):
    assert str(o.parse_design(spec)) == spec
