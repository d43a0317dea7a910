"""Operations against the same thing written out item by item, and against a published item."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from operation_cells import answered, flip_rate, planted, planted_per_item, scored_rows, skew

from orderbias.operations import (
    AgreeOrAbstain,
    BatchCalibration,
    LogCalibration,
    MajorityVote,
    MeanLogprob,
    MeanProbability,
    PriDe,
    Prior,
    ReversalProduct,
    estimate_prior,
    item_priors,
    published_cost,
    published_pride,
    vote_counts,
)
from orderbias.predictions import ABSTAINED, Predictions

#: ARC-Challenge test, first item, LLaMA-7B zero-shot: rows are cyclic orderings as Zheng et al. store them (row i shows
#: options[i:] + options[:i]), columns the letters, to five digits; gold C.
PUBLISHED = np.array(
    [
        [0.17669, 0.29731, 0.25320, 0.27281],
        [0.21563, 0.30755, 0.22766, 0.24916],
        [0.22322, 0.28761, 0.24129, 0.24789],
        [0.16072, 0.25817, 0.25753, 0.32357],
    ]
)


@pytest.fixture
def published():
    shown = [[0, 1, 2, 3][i:] + [0, 1, 2, 3][:i] for i in range(4)]
    positions = np.argsort(shown, axis=1)
    return answered(np.log(PUBLISHED)[None], positions, gold=[2])


def test_published_item(published):
    averaged = MeanProbability().fit(published).apply(published)
    assert averaged.choice.tolist() == [[2, 2, 2, 2]]
    by_content = np.exp(averaged.logprobs[0, 0])
    assert by_content == pytest.approx([0.231329, 0.254588, 0.276884, 0.237199], abs=5e-6)
    assert estimate_prior(published).values == pytest.approx([0.193106, 0.288290, 0.245698, 0.272906], abs=5e-6)
    assert published.places.tolist() == [[1, 1, 1, 3]]
    assert published.choice.tolist() == [[1, 2, 3, 2]]
    assert MajorityVote().fit(published).apply(published).choice.tolist() == [[2, 2, 2, 2]]


def test_published_cost():
    assert published_cost(13_592, 4, 0.05) == pytest.approx(1.14987, abs=5e-6)


def slots_of(cell, i):
    """Presented slots of an item, and its queries as {ordering: slots}."""
    positions = cell.positions[i] if cell.per_item else cell.positions
    asked = cell.asked[i] if cell.asked is not None else np.ones(cell.n_orderings, bool)
    shown = [s for s in range(cell.n_orderings) if asked[s] and cell.presented[s]]
    queries = {}
    for s in range(cell.n_orderings):
        if asked[s] and not cell.presented[s]:
            queries.setdefault(tuple(positions[s].tolist()), []).append(s)
    return positions, shown, queries


@pytest.mark.parametrize("make", [planted, planted_per_item])
@pytest.mark.parametrize("k", [3, 4, 5])
def test_reversal_product_by_hand(make, k):
    cell = make(30, k, np.linspace(1, 0, k))
    out = ReversalProduct().fit(cell).apply(cell)
    for i in range(cell.n_items):
        positions, shown, queries = slots_of(cell, i)
        for column, s in enumerate(shown):
            place = positions[s].tolist()
            partner = queries[tuple(k - 1 - p for p in place)].pop(0)
            product = [
                math.exp(cell.logprobs[i, s, place[j]] + cell.logprobs[i, partner, positions[partner][j]])
                for j in range(k)
            ]
            slot = [t for t in range(out.n_orderings) if out.scored[i, t]][column]
            assert out.choice[i, slot] == int(np.argmax(product))
            share = np.exp(out.logprobs[i, slot])[place]
            assert share == pytest.approx(np.array(product) / sum(product))


@pytest.mark.parametrize("make", [planted, planted_per_item])
def test_agreement_by_hand(make):
    cell = make(40, 4, np.linspace(1, 0, 4))
    out = AgreeOrAbstain().fit(cell).apply(cell)
    n_abstained = 0
    for i in range(cell.n_items):
        positions, shown, queries = slots_of(cell, i)
        for column, s in enumerate(shown):
            partner = queries[tuple(3 - p for p in positions[s].tolist())].pop(0)
            slot = [t for t in range(out.n_orderings) if out.scored[i, t]][column]
            agreed = cell.choice[i, s] == cell.choice[i, partner]
            assert out.choice[i, slot] == (cell.choice[i, s] if agreed else -1)
            assert (out.status[i, slot] == ABSTAINED) == (not agreed)
            n_abstained += not agreed
    assert 0 < n_abstained < 160


@pytest.mark.parametrize("make", [planted, planted_per_item])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_pools_by_hand(make, k):
    cell = make(40, k, np.linspace(1, 0, k))
    vote, prob, logp = (op.fit(cell).apply(cell) for op in (MajorityVote(), MeanProbability(), MeanLogprob()))
    counts = vote_counts(cell)
    n_tied = 0
    for i in range(cell.n_items):
        positions, shown, _ = slots_of(cell, i)
        count = Counter(int(cell.choice[i, s]) for s in shown)
        assert counts[i].tolist() == [count[j] for j in range(k)]
        most = max(count.values())
        tied = [j for j in sorted(count) if count[j] == most]
        probability = [np.mean([math.exp(cell.logprobs[i, s, positions[s][j]]) for s in shown]) for j in range(k)]
        log_mean = [np.mean([cell.logprobs[i, s, positions[s][j]] for s in shown]) for j in range(k)]
        for t in np.flatnonzero(vote.scored[i]):
            assert vote.choice[i, t] == tied[0]
            assert vote.ties[i, t] == (len(tied) > 1)
            assert prob.choice[i, t] == int(np.argmax(probability))
            assert logp.choice[i, t] == int(np.argmax(log_mean))
            places = (prob.positions[i] if prob.per_item else prob.positions)[t]
            content = np.exp(prob.logprobs[i, t])[places]
            assert content == pytest.approx(probability)
        n_tied += len(tied) > 1
    assert n_tied > 0


@pytest.mark.parametrize("make", [planted, planted_per_item])
def test_priors_by_hand(make):
    cell = make(25, 4, np.linspace(1, 0, 4))
    geometric, arithmetic, logs = [], [], []
    for i in range(cell.n_items):
        rows = np.exp([cell.logprobs[i, s] for s in range(cell.n_orderings) if cell.scored[i, s]])
        mean = np.prod(rows, axis=0) ** (1 / len(rows))
        geometric.append(mean / mean.sum())
        arithmetic.append(rows.mean(axis=0))
        logs.append(np.log(rows).mean(axis=0))
    assert item_priors(cell.logprobs, cell.scored) == pytest.approx(np.array(geometric))
    centre = np.exp(np.mean(logs, axis=0))
    expected = {
        "pride": np.mean(geometric, axis=0),
        "batch-calibration": np.mean(arithmetic, axis=0),
        "log-calibration": centre / centre.sum(),
    }
    for kind, values in expected.items():
        prior = estimate_prior(cell, kind)
        assert prior.values == pytest.approx(values)
        assert prior.n_items == 25
    for operation in (PriDe(alpha=0.4), BatchCalibration(), LogCalibration()):
        out = operation.fit(cell).apply(cell)
        prior = np.array(expected[operation.kind])
        for i, s in itertools.product(range(cell.n_items), range(cell.n_orderings)):
            if cell.choice[i, s] >= 0:
                p = np.exp(cell.logprobs[i, s]) / prior**operation.alpha
                assert np.exp(out.logprobs[i, s]) == pytest.approx(p / p.sum())
                assert out.places[i, s] == int(np.argmax(p))


def test_vote_has_no_flip_and_no_skew():
    cell = planted(200, 4, [1.0, 0, 0, -1])
    assert flip_rate(cell) > 0.2
    out = MajorityVote().fit(cell).apply(cell)
    assert flip_rate(out) == 0
    assert skew(out) is None
    assert len(list(scored_rows(out))) == 200


def test_hashed_ties_lean_to_no_content_and_repeat():
    choice = np.tile([3, 1, 3, 1], (4000, 1))
    cell = Predictions(choice=choice, positions=[[0, 1, 2, 3]] * 4, gold=np.zeros(4000))
    low = MajorityVote().fit(cell).apply(cell)
    assert (low.choice == 1).all()
    assert low.ties.all()
    hashed = MajorityVote("hash", 1).fit(cell).apply(cell)
    share = (hashed.choice[:, 0] == 1).mean()
    assert abs(share - 0.5) < 5 * 0.5 / math.sqrt(4000)
    assert set(np.unique(hashed.choice)) == {1, 3}
    assert np.array_equal(hashed.choice, MajorityVote("hash", 1).fit(cell).apply(cell).choice)
    assert not np.array_equal(hashed.choice, MajorityVote("hash", 2).fit(cell).apply(cell).choice)


def test_product_ties_go_to_the_earliest_label_of_the_presented_ordering():
    # Contents 0 and 1 trade 0.5 and 0.3 between every ordering and its reversal, so all products of theirs are equal.
    positions = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [1, 0, 2], [0, 2, 1]])
    by_content = np.array([[0.5, 0.3, 0.2]] * 3 + [[0.3, 0.5, 0.2]] * 3)
    by_place = np.take_along_axis(by_content, np.argsort(positions, axis=1), axis=1)
    cell = answered(np.log(by_place)[None], positions, presented=[True] * 3 + [False] * 3)
    out = ReversalProduct().fit(cell).apply(cell)
    assert out.ties.tolist() == [[True, True, True]]
    # 0 1 _ : content 0 first; _ 0 1: content 0 first; 1 _ 0: content 1 first.
    assert out.choice.tolist() == [[0, 0, 1]]
    shifted = answered(
        np.log(by_place)[None] + [[[1e3], [1], [1], [-7], [0.1], [3]]], positions, presented=cell.presented
    )
    assert ReversalProduct().fit(shifted).apply(shifted).ties.all(), "rounding must not settle an exact tie"


def test_correction_ties_go_to_the_lowest_place_and_are_marked():
    cell = answered(np.log([[[0.2, 0.4, 0.4]] * 3]), [[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    out = PriDe().with_prior(Prior("by-hand", (0.2, 0.4, 0.4))).apply(cell)
    assert out.ties.all()
    assert (out.places == 0).all()
    assert np.exp(out.logprobs) == pytest.approx(1 / 3)


def test_published_protocol_by_hand():
    cell = planted(120, 4, [0.8, 0.2, 0, -1.0], seed=5)
    found = published_pride(cell, share=0.1, n_splits=3, seed=7)
    assert found.calls_per_item == pytest.approx((4 * 12 + 108) / 120)
    for run, chosen, prior, accuracy in zip(found.runs, found.chosen, found.priors, found.accuracies, strict=True):
        assert chosen.sum() == 12
        assert run.choice.shape == (120, 1)
        assert run.positions.tolist() == [[0, 1, 2, 3]]
        profile = np.exp(cell.logprobs[chosen][:, :4].mean(axis=1))
        assert prior.values == pytest.approx((profile / profile.sum(axis=1, keepdims=True)).mean(axis=0))
        right = 0
        for i in range(120):
            if chosen[i]:
                mean = [np.mean([math.exp(cell.logprobs[i, s, (j + s) % 4]) for s in range(4)]) for j in range(4)]
                answer = int(np.argmax(mean))
            else:
                answer = int(np.argmax(np.exp(cell.logprobs[i, 0]) / prior.values))
            assert run.choice[i, 0] == answer
            right += answer == cell.gold[i]
        assert accuracy == pytest.approx(right / 120)
    assert found.accuracy == pytest.approx(np.mean(found.accuracies))
    assert len({tuple(c.tolist()) for c in found.chosen}) == 3
