"""All K! orderings by number: reversals, expectations over every subset, coverage; against plain enumeration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orderbias.orderings import all_orderings, reversal
from orderbias.predictions import Predictions
from orderbias.studies.panel.all_orderings.full_orderings import (
    all_subsets,
    changing_correctness,
    cyclic_indices,
    expected_flip_rate,
    in_full_order,
    indices_of,
)


@pytest.mark.parametrize("k", [3, 4, 5])
def test_numbers_of_orderings(k):
    rows = [tuple(row) for row in all_orderings(k).positions.tolist()]
    assert rows == sorted(rows)
    rng = np.random.default_rng(k)
    some = rng.permuted(np.tile(np.arange(k), (3, 2, 1)), axis=2)
    expected = [[rows.index(tuple(row)) for row in pair] for pair in some.tolist()]
    assert indices_of(some).tolist() == expected
    assert cyclic_indices(k).tolist() == [rows.index(tuple((j + s) % k for j in range(k))) for s in range(k)]
    # What a reversal product relies on.
    mirrored = [rows.index(tuple(row)) for row in reversal(np.array(rows)).tolist()]
    assert mirrored == [len(rows) - 1 - i for i in range(len(rows))]


def test_full_order_undoes_any_order_of_the_queries():
    rng = np.random.default_rng(0)
    rows = all_orderings(3).positions
    choice, logprobs = rng.integers(0, 3, (7, 6)), rng.normal(size=(7, 6, 3))
    shuffled = rng.permutation(6)
    twice = np.append(shuffled, 2)  # one more query that is not scored
    p = Predictions(
        choice[:, twice], rows[twice], rng.integers(0, 3, 7), logprobs=logprobs[:, twice],
        presented=np.arange(7) < 6,
    )  # fmt: skip
    found = in_full_order(p)
    assert (found.positions == rows).all()
    assert (found.choice == choice).all()
    assert (found.logprobs == logprobs).all()
    assert found.presented.all()


def test_the_expectation_is_the_mean_over_every_subset_of_four():
    rng = np.random.default_rng(1)
    contents = rng.choice(4, (12, 24), p=[0.7, 0.2, 0.06, 0.04])
    contents[0] = 2
    contents[1] = [0] * 23 + [1]
    flipped = n_sets = 0
    for subset in itertools.combinations(range(24), 4):
        n_sets += 1
        for item in contents.tolist():
            flipped += len({item[i] for i in subset}) > 1
    assert n_sets == 10_626 == len(all_subsets(4))
    assert expected_flip_rate(contents, 4, 4) == pytest.approx(flipped / n_sets / 12, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), min_size=6, max_size=6), min_size=1, max_size=5), st.integers(1, 6))
def test_the_expectation_for_any_size(items, size):
    subsets = list(itertools.combinations(range(6), size))
    brute = sum(len({item[i] for i in s}) > 1 for s in subsets for item in items) / len(subsets) / len(items)
    assert expected_flip_rate(np.array(items), 3, size) == pytest.approx(brute, abs=1e-12)


def test_coverage_counts_items_whose_correctness_changes():
    rows = all_orderings(4).positions
    rng = np.random.default_rng(2)
    choice = rng.choice(4, (60, 24), p=[0.85, 0.1, 0.03, 0.02])
    gold = rng.choice(4, 60, p=[0.6, 0.2, 0.1, 0.1])
    changing = found = 0
    for item, right in zip(choice.tolist(), gold.tolist(), strict=True):
        everywhere = {content == right for content in item}
        cyclic = {item[rows.tolist().index([(j + s) % 4 for j in range(4)])] == right for s in range(4)}
        changing += len(everywhere) > 1
        found += len(cyclic) > 1
    assert 0 < found < changing
    assert changing_correctness(Predictions(choice, rows, gold)) == (changing, found)
    gold[3] = -1
    assert all(math.isnan(n) for n in changing_correctness(Predictions(choice, rows, gold)))
