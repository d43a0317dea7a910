"""The tree against sets of prefixes, made without it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orderbias.backends._prefix_tree import build, count_nodes
from orderbias.backends._prefixes import PrefixCache, common_prefix, count_shared, shared_prefixes

words = st.lists(st.integers(0, 2), min_size=1, max_size=7)
paths = st.lists(words, min_size=1, max_size=12)


def prefixes(sequences, skip=0):
    return {tuple(s[:n]) for s in sequences for n in range(skip + 1, len(s) + 1)}


def seen_by(tree, trunk):
    """What each node sees, in order of depth: the tokens of its prefix."""
    seen = {}
    for piece in tree.pieces:
        columns = [i for a, b in (*piece.above, piece.queries) for i in range(a, b)]
        for row, node in zip(piece.visible, range(*piece.queries), strict=True):
            visible = [c for c, shown in zip(columns, row, strict=True) if shown]
            assert tree.depths[visible].tolist() == list(range(len(trunk), len(trunk) + len(visible)))
            assert node not in seen
            seen[node] = (*trunk, *tree.tokens[visible].tolist())
    return seen


@given(paths, st.lists(st.integers(0, 2), max_size=3), st.sampled_from([0, 1, 10, 100, 4096]))
def test_every_distinct_prefix_is_one_node_that_sees_itself(tails, trunk, overhead):
    sequences = [trunk + t for t in tails]
    tree = build([np.array(s) for s in sequences], len(trunk), overhead)
    seen = seen_by(tree, trunk)
    assert sorted(seen) == list(range(tree.n_nodes))
    assert set(seen.values()) == prefixes(sequences, len(trunk))
    assert len(set(seen.values())) == tree.n_nodes
    assert [seen[e] for e in tree.ends.tolist()] == [tuple(s) for s in sequences]


@given(paths)
def test_nodes_are_counted(sequences):
    assert count_nodes([np.array(s) for s in sequences]) == len(prefixes(sequences))


@given(st.lists(words, min_size=1, max_size=10), st.integers(1, 4))
def test_a_shared_prefix_is_shared_and_long_enough(sequences, worth):
    lengths = shared_prefixes([np.array(s) for s in sequences], worth)
    chosen = [tuple(s[:n]) for s, n in zip(sequences, lengths, strict=True)]
    for prefix in chosen:
        assert not prefix or (len(prefix) >= worth and chosen.count(prefix) > 1)


def test_the_deeper_of_two_levels_is_taken_where_it_spares_more():
    system = list(range(40))
    subjects = [[100 + s] * 60 for s in range(3)]
    sequences = [np.array(system + subject + [900 + i]) for subject in subjects for i in range(4)]
    assert shared_prefixes(sequences) == [100] * 12


@given(st.lists(paths, min_size=1, max_size=4))
def test_shared_work_is_between_one_tree_and_a_tree_a_group(groups):
    ordered = [[np.array(s) for s in sorted(set(map(tuple, g)))] for g in groups]
    apart = sum(count_nodes(g) for g in ordered)
    assert count_nodes([s for g in ordered for s in g]) <= count_shared(ordered) <= apart


def test_the_last_token_of_a_path_is_never_part_of_a_prefix():
    assert common_prefix([np.array([1, 2, 3])]).tolist() == [1, 2]
    assert common_prefix([np.array([1, 2]), np.array([1, 2, 3])]).tolist() == [1]


def test_the_cache_forgets_what_was_used_longest_ago():
    cache = PrefixCache(capacity=2)
    for i, name in enumerate("abc"):
        cache.add(np.array([i, 7]), name, 1)
        cache.longest(np.array([0, 7]))
    assert cache.longest(np.array([0, 7, 8])) == (2, "a")
    assert cache.longest(np.array([1, 7])) == (0, None)
    assert cache.longest(np.array([2, 5])) == (1, "c")
