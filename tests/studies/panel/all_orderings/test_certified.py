"""A certificate must be sound: no probability within the envelope changes a certified answer; and worth having."""

import numpy as np
import pytest

from orderbias.operations import PriDe, ReversalProduct, split
from orderbias.orderings import all_orderings, cyclic_with_reversals
from orderbias.predictions import Predictions
from orderbias.studies.panel.all_orderings.certified import (
    BOTH,
    NONE,
    OPERATIONS,
    PRIDE,
    PRODUCT,
    certified_answers,
    log_bounds,
    prior_bounds,
    prior_leads,
    reversal_products,
)
from orderbias.studies.panel.all_orderings.full_orderings import cyclic_indices

#: Wide, so that many answers depend on it.
WIDE = 0.004


def cell(k=4, n_items=80, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    rows = all_orderings(k).positions
    scores = rng.normal(0, spread, (n_items, k))
    logits = (
        scores[:, np.argsort(rows, axis=1)] + np.linspace(0.4, -0.4, k) + rng.normal(0, 0.4, (n_items, len(rows), k))
    )
    return answered(np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True))


def answered(p):
    k = p.shape[-1]
    rows = all_orderings(k).positions
    place = p.argmax(axis=-1)
    choice = np.take_along_axis(np.broadcast_to(np.argsort(rows, axis=1), p.shape), place[..., None], axis=-1)[..., 0]
    with np.errstate(divide="ignore"):
        return Predictions(choice, rows, np.zeros(len(p)), logprobs=np.log(p))


def by_hand(p, chosen):
    """The answers of the four operations in plain loops; ``p`` by place, ``chosen`` the calibration items."""
    n_items, total, k = p.shape
    rows = all_orderings(k).positions
    prior = np.zeros(k)
    for i in np.flatnonzero(chosen):
        geometric = np.ones(k)
        for s in cyclic_indices(k):
            geometric *= p[i, s] ** (1 / k)
        prior += geometric / geometric.sum()
    prior /= chosen.sum()
    found = {name: np.zeros((n_items, total), int) for name in OPERATIONS}
    for i in range(n_items):
        for s in range(total):
            mirror = [tuple(row) for row in rows.tolist()].index(tuple(k - 1 - rows[s]))
            plain = [p[i, s, rows[s][j]] for j in range(k)]
            other = [p[i, mirror, rows[mirror][j]] for j in range(k)]
            fair = [plain[j] / prior[rows[s][j]] for j in range(k)]
            fair_other = [other[j] / prior[rows[mirror][j]] for j in range(k)]
            for name, score in (
                (NONE, plain), (PRIDE, fair), (PRODUCT, np.multiply(plain, other)),
                (BOTH, np.multiply(fair, fair_other)),
            ):  # fmt: skip
                found[name][i, s] = int(np.argmax(score))
    return found


@pytest.mark.parametrize("k", [3, 4])
def test_answers_are_those_of_the_formulas(k):
    p = cell(k, 30)
    chosen = split(p, seed=5).chosen
    expected = by_hand(np.exp(p.logprobs), chosen)
    evaluated, found = certified_answers(p, seed=5)
    assert evaluated.n_items == 29
    for name in OPERATIONS:
        assert (found[name].contents == expected[name][~chosen]).all(), name


def test_the_products_are_those_of_the_operation_on_the_cyclic_orderings():
    p = cell(4, 40)
    design = cyclic_with_reversals(4)
    rows = [tuple(row) for row in p.positions.tolist()]
    slots = np.array([rows.index(tuple(row)) for row in design.positions.tolist()])
    queried = Predictions(
        p.choice[:, slots], design.positions, p.gold, logprobs=p.logprobs[:, slots], presented=design.presented
    )
    direct = ReversalProduct().fit(queried).apply(queried)
    assert (reversal_products(p).choice[:, slots[design.presented]] == direct.choice).all()
    # The prior over the cyclic orderings is the one of two-factors, D.1.
    parts = split(queried, seed=0)
    paper = PriDe().fit(parts.calibration).apply(parts.evaluation)
    ours = certified_answers(p, seed=0)[1][PRIDE].contents[:, slots]
    assert (ours == paper.choice).all()


@pytest.mark.parametrize("k", [3, 4])
def test_no_probability_within_the_envelope_changes_a_certified_answer(k):
    p = cell(k, 60, seed=k)
    chosen = split(p, seed=0).chosen
    _, found = certified_answers(p, seed=0, envelope=WIDE)
    rng = np.random.default_rng(0)
    stored = np.exp(p.logprobs)
    changed = {name: np.zeros(int((~chosen).sum()), bool) for name in OPERATIONS}
    for attempt in range(20):
        # Mostly the corners: one label's prior pushed up and the others' down is the worst there is.
        signs = rng.choice([-1.0, 1.0], stored.shape)
        if attempt % 2:
            signs[chosen] = np.where(np.arange(k) == attempt // 2 % k, 1.0, -1.0)
        noisy = by_hand(np.maximum(stored + WIDE * signs, 1e-300), chosen)
        for name in OPERATIONS:
            changed[name] |= (noisy[name][~chosen] != found[name].contents).any(axis=1)
    for name in OPERATIONS:
        certified = found[name].certified
        assert not changed[name][certified].any(), name
        assert 0 < certified.sum() < len(certified), name
        assert changed[name].any(), name


def test_six_decimals_never_change_a_certified_answer():
    """Answers to probabilities rounded to six decimals are certified only where the unrounded ones agree."""
    exact = cell(4, 3_000, seed=9, spread=3.0)
    rounded = answered(np.round(np.exp(exact.logprobs), 6))
    _, ours = certified_answers(rounded, seed=0)
    _, truth = certified_answers(exact, seed=0)
    for name in OPERATIONS:
        kept = ours[name].certified
        assert (ours[name].contents[kept] == truth[name].contents[kept]).all()
        assert kept.mean() > 0.5


def test_a_tie_is_never_certified():
    p = np.full((20, 24, 4), 0.25)
    _, found = certified_answers(answered(p), seed=0)
    assert not any(found[name].certified.any() for name in OPERATIONS)


def test_prior_bounds_hold_every_prior_within_the_envelope():
    p = cell(4, 10, seed=3)
    slots = cyclic_indices(4)
    ends = log_bounds(p, WIDE)
    bounds = prior_bounds(ends.low[:, slots], ends.high[:, slots])
    rng = np.random.default_rng(1)
    stored = np.exp(p.logprobs)[:, slots]
    for attempt in range(200):
        up = np.arange(4) == attempt % 4
        signs = np.where(up, 1.0, -1.0) if attempt < 8 else rng.uniform(-1, 1, stored.shape)
        signs = -signs if 4 <= attempt < 8 else signs
        geometric = np.prod(np.maximum(stored + WIDE * signs, 0), axis=1) ** (1 / 4)
        prior = (geometric / geometric.sum(axis=1, keepdims=True)).mean(axis=0)
        assert (np.exp(bounds.low) <= prior + 1e-12).all()
        assert (prior <= np.exp(bounds.high) + 1e-12).all()
        # Where one label moves against all others they are reached.
        if attempt < 8:
            end = bounds.high if attempt < 4 else bounds.low
            assert prior[attempt % 4] == pytest.approx(np.exp(end[attempt % 4]), abs=1e-12)


def test_a_mirrored_pair_shares_its_priors():
    p = cell(4, 10)
    ends = log_bounds(p, WIDE)
    bounds = prior_bounds(ends.low, ends.high)
    leads = prior_leads(bounds, paired=True)
    assert leads[0, 3] == leads[3, 0] == leads[1, 2] == leads[2, 1] == 0
    assert leads[0, 1] == pytest.approx(bounds.high[[0, 3]].sum() - bounds.low[[1, 2]].sum())
    assert prior_leads(bounds, paired=False)[0, 3] == pytest.approx(bounds.high[0] - bounds.low[3])


def test_no_prior_where_a_label_has_no_probability():
    p = np.exp(cell(4, 20).logprobs)
    p[..., 2] = 0
    _, found = certified_answers(answered(p / p.sum(axis=-1, keepdims=True)), seed=0)
    assert set(found) == {NONE, PRODUCT}
