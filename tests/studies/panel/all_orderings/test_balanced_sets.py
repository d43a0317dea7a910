"""Balanced sets found by plain search, and what answers give on them against the measures of the sliced answers."""

import itertools

import numpy as np
import pytest

from orderbias.measures import MEASURES, build_columns, evaluate
from orderbias.orderings import all_orderings, latin_squares_of_four
from orderbias.predictions import Predictions
from orderbias.studies.panel.all_orderings.balanced_sets import latin_sets, on_sets, without_reversals
from orderbias.studies.panel.all_orderings.full_orderings import cyclic_indices


def searched(k):
    """Every set of K of all K! orderings that is Latin, and whether it pairs an ordering with its reversal."""
    rows = list(itertools.permutations(range(k)))
    found = {}
    for subset in itertools.combinations(range(len(rows)), k):
        if all(len({rows[i][content] for i in subset}) == k for content in range(k)):
            mirrors = {rows.index(tuple(k - 1 - place for place in rows[i])) for i in subset}
            found[frozenset(subset)] = bool(mirrors & set(subset))
    return found


@pytest.mark.parametrize(("k", "n_latin", "n_without"), [(3, 2, 2), (4, 24, 12)])
def test_every_balanced_set_is_found_once(k, n_latin, n_without):
    brute = searched(k)
    sets = latin_sets(k)
    assert len(sets) == n_latin == len(brute)
    assert {frozenset(s) for s in sets.tolist()} == set(brute)
    kept = without_reversals(sets, k)
    assert len(kept) == n_without
    assert {frozenset(s) for s in kept.tolist()} == {s for s, paired in brute.items() if not paired}
    assert set(kept[0].tolist()) == set(cyclic_indices(k).tolist())


def test_the_twelve_are_those_of_the_orderings():
    rows = all_orderings(4).positions
    ours = {frozenset(map(tuple, rows[s].tolist())) for s in without_reversals(latin_sets(4), 4)}
    assert ours == {frozenset(map(tuple, d.positions.tolist())) for d in latin_squares_of_four()}
    # Together they use every ordering equally often, so certifying on all 24 asks for none in vain.
    used = np.bincount(without_reversals(latin_sets(4), 4).ravel(), minlength=24)
    assert (used == 2).all()


@pytest.mark.parametrize("k", [3, 4])
def test_on_sets_agrees_with_the_measures(k):
    rng = np.random.default_rng(k)
    rows, sets = all_orderings(k).positions, without_reversals(latin_sets(k), k)
    contents = rng.choice(k, (80, len(rows)), p=np.array([8, 1, 1, 1][:k]) / sum([8, 1, 1, 1][:k]))
    gold = rng.integers(0, k, 80)
    found = on_sets(contents, gold, sets)
    flips = []
    for i, subset in enumerate(sets):
        columns = build_columns(Predictions(contents[:, subset], rows[subset], gold))
        values = evaluate(columns.sums, MEASURES.values())
        assert found.flip_rate[i] == pytest.approx(float(values["flip_rate"]), abs=1e-12)
        assert found.placement_range[i] == pytest.approx(float(values["placement_range"]), abs=1e-12)
        flips.append([len(set(item)) > 1 for item in contents[:, subset].tolist()])
    moved = [f[i] for f in flips[1:] for i in range(80) if not flips[0][i]]
    assert found.elsewhere == pytest.approx(sum(moved) / len(moved), abs=1e-12)


def test_undefined_is_nan():
    sets = latin_sets(3)
    first = all_orderings(3).positions.argmin(axis=1)[None]
    assert np.isnan(on_sets(first, np.array([0]), sets).elsewhere)  # no item is stable
    assert np.isnan(on_sets(first, np.array([-1]), sets).placement_range).all()
    assert np.isnan(on_sets(first[:0], np.array([], int), sets).flip_rate).all()
