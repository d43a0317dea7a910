"""Changes between two sets of answers against plain loops, and their intervals against a bootstrap of their own."""

import math

import numpy as np
import pytest

from orderbias.measures import build_columns
from orderbias.orderings import parse_design
from orderbias.predictions import Predictions
from orderbias.studies.panel.pairs.paired_changes import STATISTICS, Changes, changes, side


def answers(rng, ids, k=3, stay=0.5):
    """Items that keep content 0 under each ordering with chance ``stay``, else answer at random."""
    choice = np.where(rng.random((len(ids), k)) < stay, 0, rng.integers(0, k, (len(ids), k)))
    return Predictions(choice, parse_design("cyclic").design(k).positions, np.zeros(len(ids)), item_ids=np.array(ids))


def by_loops(p, rows):
    """Return flip rate, pooled SD and per-item KL of some items, one answer at a time."""
    k = p.n_options
    flips, kl, f = 0, 0.0, [0.0] * k
    for i in rows:
        contents, own = set(), [0.0] * k
        for s in range(k):
            content = int(p.choice[i, s])
            contents.add(content)
            own[(content + s) % k] += 1 / k
        flips += len(contents) > 1
        kl += sum(q * math.log2(q * k) for q in own if q > 0)
        f = [a + b for a, b in zip(f, own, strict=True)]
    n = len(rows)
    shares = [a / n for a in f]
    spread = math.sqrt(sum((a - 1 / k) ** 2 for a in shares) / k)
    return np.array([flips / n, spread, kl / n])


def loop_changes(a, b, take=None):
    """Return the changes on the items that both have, or on a sample of these."""
    common = sorted(set(a.item_ids) & set(b.item_ids))
    common = common if take is None else [common[t] for t in take]
    at = [{item: i for i, item in enumerate(p.item_ids)} for p in (a, b)]
    first, second = (by_loops(p, [where[item] for item in common]) for p, where in zip((a, b), at, strict=True))
    return second - first


def of(*predictions):
    return [side(p.item_ids, build_columns(p)) for p in predictions]


@pytest.fixture(scope="module")
def ragged():
    """Four sets of answers, each in an order of its own, two of them without some items."""
    rng = np.random.default_rng(3)
    ids = [f"q{i}" for i in range(40)]
    sets = [rng.permutation(ids)[:n] for n in (40, 40, 31, 25)]
    return [answers(rng, s, stay=stay) for s, stay in zip(sets, (0.2, 0.6, 0.9, 0.5), strict=True)]


def test_values_are_those_of_the_common_items(ragged):
    pairs = [(0, 1), (0, 2), (3, 2), (1, 3)]
    found = changes(of(*ragged), pairs, resamples=200, level=0.95, rng=np.random.default_rng(0))
    for row, (i, j) in enumerate(pairs):
        assert found.n_items[row] == len(set(ragged[i].item_ids) & set(ragged[j].item_ids))
        np.testing.assert_allclose(found.value[row], loop_changes(ragged[i], ragged[j]), atol=1e-12)


@pytest.mark.parametrize("pair", [(0, 1), (3, 2)])
def test_intervals_are_those_of_a_paired_bootstrap(ragged, pair):
    a, b = (ragged[i] for i in pair)
    found = changes(of(*ragged), [pair], resamples=20_000, level=0.9, rng=np.random.default_rng(0))
    rng, n = np.random.default_rng(1), int(found.n_items[0])
    drawn = np.array([loop_changes(a, b, rng.integers(0, n, n)) for _ in range(3000)])
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    # Monte Carlo error of both; a flip rate moves in steps of an item, and a ragged pair draws a number of them too.
    near = max(0.13 * drawn.std(axis=0).max(), 1.01 / n)
    np.testing.assert_allclose(found.low[0], low, atol=near)
    np.testing.assert_allclose(found.high[0], high, atol=near)


def test_an_interval_does_not_depend_on_the_turns(ragged, monkeypatch):
    pairs = [(0, 1), (0, 2), (3, 2), (1, 3), (1, 2)]
    every = changes(of(*ragged), pairs, resamples=8000, level=0.95, rng=np.random.default_rng(0))
    monkeypatch.setattr("orderbias.studies.panel.pairs.paired_changes._TABLE", 1)
    monkeypatch.setattr("orderbias.studies.panel.pairs.paired_changes._BLOCK", 1)
    one = changes(of(*ragged), pairs, resamples=8000, level=0.95, rng=np.random.default_rng(5))
    np.testing.assert_array_equal(one.value, every.value)
    np.testing.assert_allclose(one.low, every.low, atol=0.03)
    np.testing.assert_allclose(one.high, every.high, atol=0.03)


def test_the_interval_covers_the_true_change_as_often_as_it_says():
    # Flip rate of K independent uniform answers, against one that is kept with some chance: known exactly.
    rng = np.random.default_rng(11)
    stay = 0.7
    kept = sum((stay * (c == 0) + (1 - stay) / 2) ** 2 for c in range(2))
    truth = (1 - kept) - 0.5
    covered = 0
    for _ in range(200):
        ids = [str(i) for i in range(120)]
        pair = answers(rng, ids, k=2, stay=0.0), answers(rng, ids, k=2, stay=stay)
        found = changes(of(*pair), [(0, 1)], resamples=400, level=0.95, rng=rng)
        covered += found.low[0, 0] <= truth <= found.high[0, 0]
    assert 180 <= covered <= 199


def test_equal_answers_do_not_change_and_nothing_is_resolved(ragged):
    found = changes(of(ragged[0], ragged[0]), [(0, 1)], resamples=300, level=0.95, rng=np.random.default_rng(0))
    assert found.direction.tolist() == [[0, 0, 0]]
    assert not found.resolved.any()


def test_fewer_than_two_common_items_are_no_comparison():
    rng = np.random.default_rng(0)
    a, b, c = answers(rng, ["x", "y"]), answers(rng, ["y", "z"]), answers(rng, ["u", "v"])
    found = changes(of(a, b, c), [(0, 1), (0, 2)], resamples=100, level=0.95, rng=rng)
    assert found.n_items.tolist() == [1, 0]
    assert np.isnan(found.value).all()
    assert not found.resolved.any()


def test_joined_keeps_order_and_knows_nothing_of_nothing(ragged):
    one = changes(of(*ragged), [(0, 1)], resamples=100, level=0.95, rng=np.random.default_rng(0))
    both = Changes.joined([one, one])
    assert both.value.shape == (2, len(STATISTICS))
    assert Changes.joined([]).value.shape == (0, len(STATISTICS))
