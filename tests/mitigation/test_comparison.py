"""What a comparison must be: paired, defined only where it is, the same as ``measure``, and true to planted laws."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operation_cells import answered, planted, planted_per_item, with_gaps

from orderbias.backends import LabelRequest
from orderbias.backends.simulated import SimulatedBackend
from orderbias.errors import ArgumentError, DataError
from orderbias.items import Item
from orderbias.measurement import measure
from orderbias.measures import build_columns, chosen_measures
from orderbias.mitigation import CHANGES, mitigate
from orderbias.mitigation.changes import LEVELS, difference
from orderbias.mitigation.joint import join, joint_draws
from orderbias.operations import (
    DEFAULT_OPERATIONS,
    LetterPermuted,
    MajorityVote,
    PriDe,
    parse_operation,
    parse_operations,
    split,
    take_items,
)
from orderbias.orderings import cyclic, cyclic_with_reversals
from orderbias.predictions import Predictions

LEAN = (0.9, 0.2, -0.3, -0.8)
FACTORS = ("log_flip_rate", "log_positional_skew", "log_pooled_sd")


@pytest.fixture(scope="module")
def found():
    return mitigate(planted(300, 4, LEAN), resamples=400)


def test_the_default_set_comes_in_its_order(found):
    assert [o.name for o in found.operations] == DEFAULT_OPERATIONS.split(",")
    assert found.n_calibration == 15
    assert found.n_items == 285
    calls = {o.name: o.calls_per_item for o in found.operations}
    assert calls == {
        "none": 1, "pride": 1, "batch-calibration": 1, "reversal-product": 2, "pride>reversal-product": 2,
        "batch-calibration>reversal-product": 2, "majority-vote": 4,
    }  # fmt: skip
    assert {o.name: o.n_calibration for o in found.operations if o.n_calibration} == dict.fromkeys(
        ("pride", "batch-calibration", "pride>reversal-product", "batch-calibration>reversal-product"), 15
    )


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(3, 8), st.integers(20, 120))
def test_on_a_balanced_design_the_factors_changes_add_up(seed, k, n_items):
    cell = planted(n_items, k, np.linspace(1, -1, k), noise=0.6, seed=seed)
    for outcome in mitigate(cell, resamples=0).operations:
        flip, skew, pooled = (outcome.changes.values[name] for name in FACTORS)
        if None not in (flip, skew):
            assert pooled == pytest.approx(flip + skew, abs=1e-9)


def test_the_identity_holds_in_every_draw():
    cell = planted(200, 4, LEAN, noise=0.8)
    parts = split(cell)
    versions = [parse_operation(n).fit(parts.calibration).apply(parts.evaluation) for n in ("none", "reversal-product")]
    draws = joint_draws(
        join([build_columns(v) for v in versions]), chosen_measures(LEVELS), 500, np.random.default_rng(1)
    )
    before, after = ({name: values[None] for name, values in d.items()} for d in draws)
    flip, skew, pooled = (difference(CHANGES[name], after, before) for name in FACTORS)
    assert np.ptp(pooled) > 0.1
    np.testing.assert_allclose(pooled, flip + skew, atol=1e-9)


def test_identical_operations_differ_by_exactly_nothing():
    found = mitigate(planted(300, 4, LEAN), "pride>pride:alpha=0", resamples=300)
    same = found.difference("pride>pride:alpha=0", "pride").changes
    assert set(same.values.values()) == {0.0}
    q = 1 - 0.025 ** (1 / 285)
    for name, change in CHANGES.items():
        # No draw shows a difference: a bound for shares, none for the others, never an interval of no width.
        assert same.intervals[name] == (pytest.approx((-q, q)) if change.share else None)
    assert set(found["none"].changes.values.values()) == {0.0}
    assert set(found["none"].changes.intervals.values()) == {(0.0, 0.0)}


def test_differences_are_paired_in_each_draw():
    # Changes from none rest on one draw for all, so b - a is (b - none) - (a - none) sample by sample: the interval of
    # a paired difference is far narrower than that of independent ones.
    cell = planted(400, 4, LEAN, noise=0.3)
    found = mitigate(cell, "pride>reversal-product", resamples=2000)
    paired = found.difference("pride>reversal-product", "reversal-product").changes.intervals["accuracy"]
    levels = [found[n].intervals["accuracy"] for n in ("pride>reversal-product", "reversal-product")]
    assert paired[1] - paired[0] < 0.3 * math.hypot(*(high - low for low, high in levels))


def test_levels_are_those_of_measure():
    cell = with_gaps(planted(120, 4, LEAN, noise=0.7))
    found = mitigate(cell, "pride,reversal-product", resamples=4000)
    parts = split(cell)
    common = parts.evaluation.usable
    for name in ("pride", "reversal-product"):
        common &= parse_operation(name).fit(parts.calibration).apply(parts.evaluation).usable
    for outcome in found.operations:
        output = parse_operation(outcome.name).fit(parts.calibration).apply(parts.evaluation)
        m = measure(take_items(output, common), resamples=4000)
        assert found.n_items == m.n_items
        for name, value in outcome.measures.items():
            assert m[name] == value
        for name, ends in outcome.intervals.items():
            assert ends == pytest.approx(m.intervals[name], abs=0.02 if name not in ("flip_rate",) else 1e-12)


def test_a_vote_has_no_factor_to_compare(found):
    vote = found["majority-vote"]
    assert vote.measures["flip_rate"] == 0
    assert vote.measures["positional_skew"] is None
    for name in FACTORS:
        assert vote.changes.values[name] is None
        assert vote.changes.intervals[name] is None
        assert vote.changes.undefined[name]
    assert vote.changes.values["placement_range"] == -found["none"].measures["placement_range"]
    assert vote.intervals["flip_rate"][1] > 0


@pytest.mark.parametrize("k", [3, 7])
def test_a_pooled_sd_of_nothing_but_rounding_is_zero(k):
    # A balanced vote's shares are 1/3 or 1/7 each, whose SD is a rounding error and not a number to take a log of.
    vote = mitigate(planted(50, k, np.linspace(1, -1, k)), "majority-vote", resamples=50)["majority-vote"]
    assert vote.changes.values["log_pooled_sd"] is None


def test_an_interval_is_withheld_where_a_factor_is_often_zero():
    # One item of 40 flips: a third of the samples have none.
    design = cyclic(4).positions
    choice = np.zeros((42, 4), int)
    choice[:, 0] = 1
    after = np.zeros((42, 4), int)
    after[41, 0] = 1
    cell = Predictions(choice=choice, positions=design, gold=np.zeros(42, int), model="before")

    class Settle:
        name = "settle"
        needs = MajorityVote().needs
        leaves = MajorityVote().leaves
        calls_per_item = staticmethod(lambda predictions: 1.0)

        @staticmethod
        def fit(calibration):
            row = {str(i): after[i] for i in range(42)}
            fitted = MajorityVote().fit(calibration)
            return replace(fitted, rule=lambda p: replace(p, choice=np.array([row[i] for i in p.item_ids])))

    seed = next(s for s in range(9) if not split(cell, seed=s).chosen[41])
    changes = mitigate(cell, [Settle()], resamples=2000, seed=seed)["settle"].changes
    assert changes.values["log_flip_rate"] == pytest.approx(math.log(1 / 40))
    assert changes.intervals["log_flip_rate"] is None
    assert "too many" in changes.undefined["log_flip_rate"]


def test_the_permuted_control_is_the_mean_over_permutations():
    cell = planted(150, 4, LEAN)
    control = mitigate(cell, "letter-permuted", resamples=200)
    outcome = control["letter-permuted"]
    assert outcome.n_variants == 23
    parts = split(cell)
    single = [measure(v.apply(parts.evaluation), resamples=0) for v in LetterPermuted().fit(parts.calibration).variants]
    before = control["none"].measures
    for name in ("flip_rate", "positional_skew", "placement_range", "accuracy"):
        assert outcome.measures[name] == pytest.approx(np.mean([m[name] for m in single]))
    logs = [math.log(m["positional_skew"]) for m in single]
    assert outcome.changes.values["log_positional_skew"] == pytest.approx(
        np.mean(logs) - math.log(before["positional_skew"])
    )
    low, high = outcome.intervals["positional_skew"]
    assert low < outcome.measures["positional_skew"] < high
    assert outcome.changes.values["log_positional_skew"] > 0


def simulated(n_items, preference, noise=0.0, **laws):
    k = len(preference)
    items = [Item(f"q{i}", "?", tuple(f"{i} {j}" for j in range(k)), gold=i % k) for i in range(n_items)]
    backend = SimulatedBackend(items, preference, noise=noise, **laws)
    design = cyclic_with_reversals(k)
    requests = [
        LabelRequest(item_id=item.id, positions=tuple(row), prompt="", labels=tuple("ABCDEFGHIJ"[:k]))
        for item in items
        for row in design.positions.tolist()
    ]
    scores = np.array([reply.logprobs for reply in backend.ask(requests)]).reshape(n_items, len(design.positions), k)
    return answered(scores, design.positions, presented=design.presented, gold=np.arange(n_items) % k,
                    item_ids=np.array([i.id for i in items], object))  # fmt: skip


def test_pride_takes_a_planted_preference_out_and_finds_it():
    preference = (1.0, 0.3, 0.0, -1.3)
    found = mitigate(simulated(400, preference), resamples=1000)
    pride = found["pride"]
    prior = np.exp(preference) / np.exp(preference).sum()
    np.testing.assert_allclose(pride.priors[0].values, prior, atol=1e-9)
    # The planted model has no other reason to change an answer.
    assert found["none"].measures["flip_rate"] > 0.3
    assert pride.measures["flip_rate"] == 0
    assert pride.measures["placement_range"] == 0
    assert pride.changes.values["log_flip_rate"] is None
    assert pride.changes.intervals["placement_range"][1] < -0.2
    # What mirrored labels have in common, (1 - 1.3, 0.3 + 0) / 2, gets through the product.
    assert found["reversal-product"].measures["placement_range"] > 0
    assert found["pride>reversal-product"].measures["placement_range"] == 0
    assert "improves the flip rate" in found.sentence


def test_the_published_item():
    # ARC-Challenge test, first item, LLaMA-7B (Zheng et al. 2024): row i shows options[i:] + options[:i].
    rows = [[0.17669, 0.29731, 0.25320, 0.27281], [0.21563, 0.30755, 0.22766, 0.24916],
            [0.22322, 0.28761, 0.24129, 0.24789], [0.16072, 0.25817, 0.25753, 0.32357]]  # fmt: skip
    positions = [[(j - i) % 4 for j in range(4)] for i in range(4)]
    cell = answered(np.log([rows, rows]), np.array(positions), gold=[2, 2])
    found = mitigate(cell, "pride,majority-vote,mean-probability", resamples=100)
    assert found["pride"].priors[0].values == pytest.approx((0.193106, 0.288290, 0.245698, 0.272906), abs=3e-6)
    assert found["none"].measures["accuracy"] == 0.5  # contents B, C, D, C
    assert found["majority-vote"].measures["stable_correct"] == 1
    assert found["mean-probability"].measures["stable_correct"] == 1


def test_answers_alone_leave_what_can_be_done():
    cell = replace(planted(60, 4, LEAN), logprobs=None)
    found = mitigate(cell, resamples=50)
    assert [o.name for o in found.operations] == ["none", "majority-vote"]
    (notice,) = found.notices
    assert "`logprobs`" in notice
    assert "pride, batch-calibration, reversal-product" in notice
    with pytest.raises(ArgumentError, match="`logprobs`"):
        mitigate(cell, "pride")
    agree = mitigate(cell, "agree-or-abstain", resamples=50)
    assert agree["agree-or-abstain"].n_left_out == agree.n_left_out > 0
    assert "agree-or-abstain leaves" in agree.notices[0]


def test_two_options_have_no_product():
    cell = planted(80, 2, (0.7, -0.7))
    found = mitigate(cell, resamples=50)
    assert [o.name for o in found.operations] == ["none", "pride", "batch-calibration", "majority-vote"]
    assert "refused for 2 options" in found.notices[0]
    with pytest.raises(ArgumentError, match="refused for 2 options"):
        mitigate(cell, "reversal-product")


def test_without_reversals_the_product_is_left_out():
    found = mitigate(planted(80, 4, LEAN, design=cyclic(4)), resamples=50)
    assert "reversal-product" not in [o.name for o in found.operations]
    assert "cyclic+reversals" in found.notices[0]


def test_without_golds_the_factors_are_still_compared():
    cell = planted(80, 4, LEAN)
    cell = replace(cell, gold=np.full(80, -1))
    found = mitigate(cell, resamples=50, transitions=True)
    pride = found["pride"]
    assert pride.changes.values["log_positional_skew"] < 0
    assert pride.measures["accuracy"] is None
    assert pride.changes.values["accuracy"] is None
    assert found["none"].changes.values["accuracy"] is None
    assert found.pareto is None
    assert "not defined: placement range, accuracy, stable-wrong share" in found.sentence
    assert found.transitions.moves[0].resolved_wrong is None
    assert found.transitions.moves[0].settling is None
    json.dumps(found.as_dict(), allow_nan=False)


def test_designs_of_each_item():
    found = mitigate(planted_per_item(60, 4, np.array(LEAN)), resamples=50)
    assert found["reversal-product"].measures["flip_rate"] < found["none"].measures["flip_rate"]


def test_golds_and_input_are_left_alone():
    cell = planted(100, 4, LEAN)
    before = cell.logprobs.copy()
    first = mitigate(cell, resamples=50)
    assert np.array_equal(cell.logprobs, before)
    other = mitigate(replace(cell, gold=(cell.gold + 1) % 4), resamples=50)
    for o in first.operations:
        assert other[o.name].priors == o.priors
        assert other[o.name].measures["flip_rate"] == o.measures["flip_rate"]


def test_the_same_seed_gives_the_same_numbers_whatever_the_order_of_items():
    cell = planted(100, 4, LEAN)
    turned = take_items(cell, np.random.default_rng(0).permutation(100))
    one, other = (mitigate(c, resamples=200).as_dict() for c in (cell, turned))
    for a, b in zip(one["operations"], other["operations"], strict=True):
        assert a["changes"] == pytest.approx(b["changes"])
        assert a["measures"].keys() == b["measures"].keys()
        for name, value in a["measures"].items():
            assert value == (None if value is None else pytest.approx(b["measures"][name]))


def test_signatures_tell_settings_apart():
    cell = planted(100, 4, LEAN)
    variants = [
        mitigate(cell, "pride", resamples=20),
        mitigate(cell, "pride", resamples=21),
        mitigate(cell, "pride", resamples=20, seed=1),
        mitigate(cell, "pride", resamples=20, level=0.9),
        mitigate(cell, "pride", resamples=20, calibration_share=0.1),
        mitigate(cell, "pride", resamples=20, cluster="group"),
        mitigate(cell, "pride:alpha=0.5", resamples=20),
    ]
    texts = [str(m.operations[i].signature) for m in variants for i in (0, 1)]
    assert len(set(texts)) == len(texts) - 1  # `none` beside pride:alpha=0.5 is none beside pride
    assert str(mitigate(cell, "pride", resamples=20)["pride"].signature) == texts[1]
    assert "operations:pride" in texts[1]


def test_clusters_are_drawn_whole():
    cell = planted(200, 4, LEAN)
    alone = mitigate(cell, "pride", resamples=500, cluster=list(range(200)))
    together = mitigate(cell, "pride", resamples=500, cluster=["all"] * 200)
    # 20 copies of each of 10 items are worth 10 items.
    ten = take_items(cell, np.repeat(np.arange(10, 20), 20))
    ten = replace(ten, item_ids=np.array([str(i) for i in range(200)], object))
    copied = mitigate(ten, "pride", resamples=500, cluster=np.repeat(np.arange(10), 20))
    plain = mitigate(ten, "pride", resamples=500)

    def width(m):
        low, high = m["none"].intervals["accuracy"]
        return high - low

    assert width(alone) == pytest.approx(width(mitigate(cell, "pride", resamples=500)), rel=0.2)
    assert together["pride"].changes.intervals["accuracy"] is None
    assert width(copied) > 3 * width(plain)
    with pytest.raises(ArgumentError, match="`cluster` must hold 200 labels"):
        mitigate(cell, "pride", cluster=["a"])


def test_nothing_to_compare_is_said():
    cell = planted(30, 4, LEAN)
    with pytest.raises(ArgumentError, match="at least one remedy"):
        mitigate(cell, "none")
    with pytest.raises(ArgumentError, match="must be one of"):
        mitigate(cell, "prid")
    with pytest.raises(ArgumentError, match="`calibration_share`"):
        mitigate(cell, calibration_share=1.0)
    with pytest.raises(ArgumentError, match="`resamples`"):
        mitigate(cell, resamples=-1)
    with pytest.raises(ArgumentError, match="two usable items"):
        mitigate(take_items(cell, np.arange(1)))
    disagreeing = Predictions(choice=[[0, 1]] * 6, positions=[[0, 1], [1, 0]], gold=[0] * 6)
    with pytest.raises(DataError, match="usable under every operation"):
        mitigate(disagreeing, "agree-or-abstain")
    with pytest.raises(ArgumentError, match="An operation must be one of none, pride"):
        mitigate(cell, "pride", resamples=0)["reversal-product"]


def test_operations_may_be_values():
    cell = planted(60, 4, LEAN)
    one = mitigate(cell, [PriDe(), *parse_operations("majority-vote")], resamples=20)
    assert one.as_dict() == mitigate(cell, ["pride", "majority-vote"], resamples=20).as_dict()


def test_without_resampling_only_exact_intervals_remain():
    found = mitigate(planted(60, 4, LEAN), "pride", resamples=0)
    assert found["pride"].intervals["flip_rate"] is not None
    assert found["pride"].intervals["positional_skew"] is None
    assert set(found["pride"].changes.intervals.values()) == {None}


def test_frames_and_json_hold_the_same_numbers(found):
    frame = found.to_frame()
    row = frame[(frame.operation == "pride") & (frame.kind == "change") & (frame.name == "accuracy")].iloc[0]
    plain = next(o for o in found.as_dict()["operations"] if o["name"] == "pride")
    assert [row.value, row.low, row.high] == [
        plain["changes"]["accuracy"], *plain["intervals"]["changes"]["accuracy"]
    ]  # fmt: skip


def test_options_of_one_text_stay_one_content():
    # Contents 0 and 1 are the same text: a correction that moves the answer from one to the other changes nothing.
    design = cyclic(3).positions
    scores = np.log(np.tile([[[0.42, 0.38, 0.2], [0.38, 0.42, 0.2], [0.2, 0.42, 0.38]]], (10, 1, 1)))
    cell = answered(scores, design, gold=[0] * 10)
    same = np.tile([0, 0, 2], (10, 1))
    cell = replace(cell, same_text=same, choice=cell.counted_as(cell.choice))
    marked = replace(cell, choice=cell.counted_as(cell.choice))
    for name in ("pride", "batch-calibration", "mean-probability", "majority-vote"):
        operation = parse_operation(name)
        output = operation.fit(marked).apply(marked)
        assert not (output.choice == 1).any(), name
