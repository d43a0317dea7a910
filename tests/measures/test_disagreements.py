"""Two calls against two calls: against plain loops, against known models, and in repeated samples."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from orderbias.errors import ArgumentError
from orderbias.inference.means import Estimate
from orderbias.judge.repeats import RepeatNoise, repeat_noise
from orderbias.judge.values import Judgments
from orderbias.measurement import measure
from orderbias.measures.repeats import disagreements, repeated_orderings
from orderbias.noise import FLIP_MEASURES, WITHHELD, drawn, noise, noise_of, withheld
from orderbias.orderings import cyclic, cyclic_with_reversals
from orderbias.predictions import Predictions
from orderbias.signature import Signature

CALLS = arrays(np.int8, array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=4), elements=st.integers(-1, 2))


def by_hand(item, repeated, how="all"):
    """The two shares of one item, call by call; None where it lacks a call."""
    calls = [[(n, c) for n, c in enumerate(row) if c >= 0] for row in item]
    for row, again in zip(calls, repeated, strict=True):
        if len(row) < (2 if again else 1):
            return None
    if how == "first" and any(row[0] < 0 for row in item):
        return None
    within = []
    for row, again in zip(calls, repeated, strict=True):
        if again:
            within.append(np.mean([x[1] != y[1] for x, y in itertools.combinations(row, 2)]))
    between = []
    for a, b in itertools.combinations(range(len(calls)), 2):
        if not (repeated[a] or repeated[b]):
            continue
        pairs = list(itertools.product(calls[a], calls[b]))
        if how == "first":
            pairs = [((0, item[a][0]), (0, item[b][0]))]
        if how == "different":
            pairs = [(x, y) for x, y in pairs if x[0] != y[0]]
        between.append(np.mean([x[1] != y[1] for x, y in pairs]))
    return np.mean(within), np.mean(between) if between else np.nan


@given(CALLS, st.data(), st.sampled_from(["all", "different"]))
@settings(max_examples=300, deadline=None)
def test_every_item_against_a_loop(calls, data, across):
    repeated = np.array(data.draw(st.lists(st.booleans(), min_size=calls.shape[1], max_size=calls.shape[1])))
    how = across if repeated.all() else "first"
    found = disagreements(calls, repeated, across=across)
    for i, item in enumerate(calls.tolist()):
        expected = by_hand(item, repeated, how) if repeated.any() else None
        if expected is None:
            assert np.isnan(found.repeat[i])
            assert np.isnan(found.reorder[i])
        else:
            np.testing.assert_allclose((found.repeat[i], found.reorder[i]), expected, atol=1e-12)
            assert not found.reorder[i] - found.repeat[i] < found.lowest - 1e-12


@given(CALLS)
@settings(deadline=None)
def test_means_are_over_the_items_that_have_the_calls(calls):
    repeated = repeated_orderings(calls)
    how = "all" if repeated.all() else "first"
    rows = [found for item in calls.tolist() if repeated.any() and (found := by_hand(item, repeated, how)) is not None]
    found = noise(calls, resamples=20)
    if not rows:
        assert found is None
        return
    assert (found.n_items, found.n_left_out) == (len(rows), len(calls) - len(rows))
    repeat, reorder = np.array(rows).mean(axis=0)
    assert found.repeat.value == pytest.approx(repeat)
    if calls.shape[1] == 1:
        assert found.reorder == found.excess == Estimate(None, None, 0)
    else:
        assert found.reorder.value == pytest.approx(reorder)
        assert found.excess.value == pytest.approx(reorder - repeat)


def test_the_structure_of_the_paper():
    """Ordering 0 asked a second time: its first call against the second, and against the first of each other one."""
    rng = np.random.default_rng(5)
    calls = np.full((200, 4, 2), -1)
    calls[:, :, 0] = rng.integers(0, 4, (200, 4))
    calls[:, 0, 1] = np.where(rng.random(200) < 0.6, calls[:, 0, 0], rng.integers(0, 4, 200))
    found = noise(calls)
    assert (found.n_repeated, found.n_repeats, found.n_items, found.n_missing) == (1, 2, 200, 0)
    assert found.repeat.value == pytest.approx((calls[:, 0, 0] != calls[:, 0, 1]).mean())
    against = [(calls[:, 0, 0] != calls[:, o, 0]).mean() for o in (1, 2, 3)]
    assert found.reorder.value == pytest.approx(np.mean(against))
    assert found.excess.value == pytest.approx(np.mean(against) - (calls[:, 0, 0] != calls[:, 0, 1]).mean())
    # A stray second answer elsewhere does not turn all other items into ones that lack a call.
    stray = calls.copy()
    stray[7, 2, 1] = 3
    assert noise(stray) == found


def sampled(rng, n, lean, n_orderings=4, n_repeats=2):
    """Calls of a model that likes contents by item and places by ``lean``, drawn anew each time."""
    taste = rng.normal(0, 1.5, (n, 1, 4))
    places = cyclic(4).positions[:n_orderings]
    logits = taste + np.array([lean, 0, 0, 0])[places][None]
    shares = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    gumbel = rng.gumbel(size=(n_repeats, n, n_orderings, 4))
    return np.moveaxis((logits + gumbel).argmax(axis=3), 0, 2), shares


def test_a_model_blind_to_the_order_has_no_excess():
    calls, _ = sampled(np.random.default_rng(1), 600, lean=0.0)
    found = noise(calls)
    assert found.repeat.value > 0.3
    assert abs(found.excess.value) < 0.03
    assert found.excess.interval[0] < 0 < found.excess.interval[1]
    # The flip rate alone would say that two thirds of the items move with the order.
    choice = calls[:, :, 0]
    assert (choice != choice[:, :1]).any(axis=1).mean() > 0.6


def test_a_model_with_a_lean_has_the_excess_that_its_law_gives():
    calls, shares = sampled(np.random.default_rng(2), 1500, lean=2.0)
    same = np.einsum("nak,nbk->nab", shares, shares)
    repeat = 1 - np.einsum("naa->na", same).mean()
    reorder = 1 - np.mean([same[:, a, b] for a, b in itertools.combinations(range(4), 2)])
    found = noise(calls)
    assert found.excess.interval[0] > 0.05
    assert found.excess.interval[0] < reorder - repeat < found.excess.interval[1]
    assert found.repeat.interval[0] < repeat < found.repeat.interval[1]


def test_a_model_that_never_draws_repeats_itself():
    first = np.tile(cyclic(4).positions.argmin(axis=1)[None, :, None], (30, 1, 3))
    found = noise(first)
    assert (found.repeat.value, found.reorder.value, found.excess.value) == (0, 1, 1)
    assert found.excess.interval[0] > 0.7


def test_replies_that_orderings_share_are_not_two_calls():
    """One reply a repeat for all orderings: no order effect can be, and none is seen, nor a negative one."""
    replies = np.random.default_rng(3).integers(0, 4, (300, 1, 2)).repeat(4, axis=1)
    assert noise(replies, across="different").excess.value == 0
    assert noise(replies).excess.value < -0.3
    for names, options in ((("two-stage-hidden-match", "independent-reasoning"), {}),
                           (("direct",), {"operations": "majority-vote"})):  # fmt: skip
        for readout in names:
            cell = Predictions(replies[:, :, 0], cyclic(4).positions, np.zeros(300), readout=readout,
                               source=Signature.of(**options))  # fmt: skip
            assert noise_of(cell, replies.astype(np.int8), resamples=50).excess.value == 0


@pytest.mark.parametrize("n_repeats", [1, 2, 3])
def test_as_for_judges(n_repeats):
    rng = np.random.default_rng(n_repeats)
    verdicts = rng.integers(-1, 3, (120, 2, n_repeats)).astype(np.int8)
    judged = repeat_noise(Judgments(np.array([str(i) for i in range(120)], object), verdicts), resamples=200)
    contents = verdicts.copy()
    contents[:, 1] = np.where(verdicts[:, 1] < 0, -1, np.array([1, 0, 2])[verdicts[:, 1]])
    found = noise(contents, resamples=200)
    if n_repeats == 1:
        assert found is None
        return
    assert RepeatNoise(found.n_repeats, found.repeat, found.reorder, found.excess) == judged


@pytest.mark.parametrize("n", [15, 60])
def test_the_interval_covers_the_excess(n):
    truth = []
    for seed in range(4):
        _, shares = sampled(np.random.default_rng(900 + seed), 20_000, lean=1.0)
        same = np.einsum("nak,nbk->nab", shares, shares)
        between = np.mean([same[:, a, b] for a, b in itertools.combinations(range(4), 2)])
        truth.append(np.einsum("naa->na", same).mean() - between)
    inside = 0
    for seed in range(150):
        calls, _ = sampled(np.random.default_rng(seed), n, lean=1.0)
        low, high = noise(calls, resamples=300, seed=seed).excess.interval
        inside += low <= np.mean(truth) <= high
    assert inside >= 138  # of 150; an interval of 95 % has fewer one time in 26, and this one is wider


def test_orderings_that_were_only_queried_do_not_count():
    design = cyclic_with_reversals(3)
    calls = np.random.default_rng(0).integers(0, 3, (40, 6, 2)).astype(np.int8)
    cell = Predictions(calls[:, :, 0], design.positions, np.zeros(40), presented=design.presented)
    assert noise_of(cell, calls) == noise(calls[:, design.presented])
    assert noise_of(cell, None) is None


def test_items_with_designs_of_their_own():
    rng = np.random.default_rng(0)
    calls = rng.integers(0, 3, (30, 3, 2)).astype(np.int8)
    asked = np.ones((30, 3), bool)
    asked[:12, 2] = False
    calls[:12, 2] = -1
    found = noise(calls, scored=asked, resamples=50)
    rows = [by_hand(item[: 2 + (i >= 12)], [True] * (2 + (i >= 12))) for i, item in enumerate(calls.tolist())]
    np.testing.assert_allclose((found.repeat.value, found.reorder.value), np.mean(rows, axis=0))
    assert (found.n_items, found.n_missing) == (30, 0)


def test_clusters_are_resampled_whole():
    """Copies of an item in one cluster say no more than the item: the interval is that of the originals."""
    calls, _ = sampled(np.random.default_rng(4), 40, lean=1.0)
    copies, labels = np.repeat(calls, 5, axis=0), np.repeat([f"c{i}" for i in range(40)], 5)
    clustered = noise(copies, cluster=labels, resamples=4000)
    alone = noise(calls, cluster=np.arange(40), resamples=4000)
    assert clustered.n_clusters == alone.n_clusters == 40
    assert clustered.excess.value == pytest.approx(alone.excess.value)
    np.testing.assert_allclose(clustered.excess.interval, alone.excess.interval, atol=0.01)
    rng = np.random.default_rng(9)
    found = disagreements(calls, np.ones(4, bool))
    draws = [np.mean((found.reorder - found.repeat)[rng.integers(0, 40, 40)]) for _ in range(4000)]
    np.testing.assert_allclose(alone.excess.interval, np.quantile(draws, [0.025, 0.975]), atol=0.01)
    narrow = noise(copies, resamples=4000).excess.interval
    assert narrow[1] - narrow[0] < 0.6 * (clustered.excess.interval[1] - clustered.excess.interval[0])
    assert noise(calls, cluster=["one"] * 40).excess.interval is None
    with pytest.raises(ArgumentError, match="one an item"):
        noise(calls, cluster=["one"])


def test_missing_calls_are_counted():
    calls = np.zeros((10, 2, 2), int)
    calls[0, 0, 1] = calls[3, 1] = -1
    found = noise(calls, resamples=50)
    assert (found.n_items, found.n_left_out, found.n_missing) == (8, 2, 3)
    assert noise(np.zeros((5, 3, 1), int)) is None


@pytest.mark.parametrize(
    ("calls", "options", "said"),
    [(np.zeros((3, 2)), {}, "n_repeats"), (np.zeros((3, 2, 2)), {}, "float64"),
     (np.full((3, 2, 2), -2), {}, "-1 or more"), (np.zeros((3, 2, 2), int), {"scored": [True]}, "`scored`"),
     (np.zeros((3, 2, 2), int), {"level": 1.5}, "`level`")],
)  # fmt: skip
def test_what_breaks_a_rule_is_named(calls, options, said):
    with pytest.raises(ArgumentError, match=said):
        noise(calls, **options)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, False), ({"temperature": "0.0"}, False), ({"temperature": "0.7"}, True), ({"temperature": "warm"}, False),
     ({"temperature": "0.0", "stage_one_temperature": "1.0"}, True),
     ({"without": "seed temperature", "logprobs": "none"}, True),
     ({"without": "seed temperature", "logprobs": "top-20"}, False), ({"logprobs": "none"}, False)],
)  # fmt: skip
def test_answers_are_drawn_where_their_settings_say_so(settings, expected):
    assert drawn(Signature.of(**settings)) is expected


def test_what_is_withheld_is_named_and_nothing_else_changes():
    calls, _ = sampled(np.random.default_rng(0), 60, lean=1.0)
    m = measure(Predictions(calls[:, :, 0], cyclic(4).positions, np.arange(60) % 4), resamples=50)
    less = withheld(m)
    for name, value in m.values.items():
        assert less.values[name] == (None if name in FLIP_MEASURES else value)
    assert {name for name, why in less.undefined.items() if why == WITHHELD} == set(FLIP_MEASURES)
    assert all(less.intervals[name] is None for name in FLIP_MEASURES if name in less.intervals)
    assert not set(less.expected) & set(FLIP_MEASURES)
    assert less.expected["pooled_sd"] == m.expected["pooled_sd"]
    assert less.values["pooled_sd"] is not None
    assert less.values["accuracy"] is not None
