"""Priors as files, splits, names, chains, interventions, the canonical ordering alone: values and their refusals."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operation_cells import answered, planted, planted_per_item

from orderbias.errors import ArgumentError, DataError
from orderbias.operations import (
    DEFAULT_OPERATIONS,
    AddPreference,
    AgreeOrAbstain,
    LetterPermuted,
    MajorityVote,
    PriDe,
    Prior,
    PriorCorrection,
    ReversalProduct,
    calibration_items,
    canonical_alone,
    chain,
    estimate_prior,
    label_permutations,
    mirror_split,
    parse_operations,
    preference,
    published_pride,
    reversal_slots,
    split,
    take_items,
)
from orderbias.operations.interventions import ROUNDING
from orderbias.orderings import all_orderings
from orderbias.predictions import MISSING
from orderbias.signature import Signature

#: Array work has no steady time on a busy machine, so no deadline.
many = settings(deadline=None, max_examples=60)

# --- priors ------------------------------------------------------------------------------------------------------


@many
@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=26), st.integers(0, 10**6), st.text(max_size=8))
def test_a_prior_survives_json(weights, n_items, model):
    values = np.array(weights) / np.sum(weights)
    prior = Prior("pride", tuple(values), n_items, model, "t", Signature.of(seed=3, data="d"))
    assert Prior.from_dict(json.loads(json.dumps(prior.to_dict()))) == prior


def test_a_fitted_prior_carries_where_it_comes_from():
    prior = estimate_prior(planted(40, 4))
    assert (prior.kind, prior.n_items, prior.model, prior.template) == ("pride", 40, "planted", "t0")
    assert prior.signature.as_dict() == {"template": "t0", "seed": "0", "prior": "pride", "n_calibration": "40"}


def test_mismatch_of_options_is_an_error_of_model_or_template_a_notice():
    fitted = PriDe().fit(planted(30, 4))
    assert fitted.notices(planted(30, 4, seed=0)) == ()
    other = planted(30, 4, model="another", source=Signature.of(template="t1"))
    notices = fitted.notices(other)
    assert len(notices) == 2
    assert "another model: planted, and is applied to another" in notices[0]
    assert "another template: t0, and is applied to t1" in notices[1]
    assert chain(PriDe(), ReversalProduct()).fit(planted(30, 4)).notices(other) == notices
    assert LetterPermuted().fit(planted(30, 4)).notices(other) == notices
    for attempt in (fitted.apply, fitted.notices):
        with pytest.raises(ArgumentError, match="over 4 labels and answers over 5"):
            attempt(planted(10, 5))


BAD_PRIORS = [
    ([], "must be a JSON object"),
    ({"format": "other"}, "must be a JSON object"),
    ({"version": 2}, "`version` must be 1"),
    ({"kind": ""}, "`kind` must name"),
    ({"values": "x"}, "`values` must be a list"),
    ({"values": [0.5, True]}, "`values` must be a list"),
    ({"n_options": 3}, "`n_options` must be"),
    ({"n_items": -1}, "`n_items` must be"),
    ({"n_items": True}, "`n_items` must be"),
    ({"model": 3}, "`model` must be a string"),
    ({"signature": [1]}, "`signature` must be"),
    ({"values": [0.5, 0.6]}, "sum to 1"),
    ({"values": [1.0, 0.0]}, "probabilities above 0"),
    ({"values": [float("nan"), 0.5]}, "probabilities above 0"),
]


@pytest.mark.parametrize(("change", "message"), BAD_PRIORS)
def test_bad_prior_files_are_refused_by_name(change, message):
    data = change if isinstance(change, list) else {**Prior.uniform(2).to_dict(), **change}
    with pytest.raises(DataError, match=message) as error:
        Prior.from_dict(data, "p.json")
    assert all(fault.startswith("p.json: ") for fault in error.value.faults)


def test_every_fault_of_a_prior_file_is_told():
    data = {**Prior.uniform(2).to_dict(), "kind": 1, "n_items": "x", "values": None}
    with pytest.raises(DataError) as error:
        Prior.from_dict(data)
    assert len(error.value.faults) == 3


def test_a_prior_without_ground_is_refused():
    cell = planted(10, 4)
    with pytest.raises(ArgumentError, match="every content at every place equally often"):
        estimate_prior(canonical_alone(cell))
    assert estimate_prior(canonical_alone(cell), "batch-calibration").n_items == 10
    with pytest.raises(ArgumentError, match="at least one calibration item"):
        estimate_prior(take_items(cell, np.zeros(10, bool)))
    with pytest.raises(ArgumentError, match="`kind` must be one of pride, batch-calibration, log-calibration"):
        estimate_prior(cell, "mode")
    impossible = np.array(cell.logprobs)
    impossible[:, :, 2] = -np.inf
    with pytest.raises(ArgumentError, match="never has any probability"):
        estimate_prior(replace(cell, logprobs=impossible))


def test_items_with_a_pinned_option_are_left_out_of_prides_prior():
    """An item whose own design is unbalanced would lend its contents' strengths to the prior."""
    cell = planted_per_item(20, 4, noise=0.0, preference=np.array([1.0, 0, 0, -1]))
    positions = np.array(cell.positions)
    positions[0] = positions[0, :1]
    mixed = answered(
        cell.logprobs, positions, presented=cell.presented, asked=cell.asked, gold=cell.gold, status=cell.status
    )
    prior = estimate_prior(mixed)
    assert prior.n_items == 19
    assert prior.values == pytest.approx(np.exp([1.0, 0, 0, -1]) / np.exp([1.0, 0, 0, -1]).sum())


def test_an_answer_without_logprobs_is_not_corrected():
    cell = planted(10, 4)
    scores = np.array(cell.logprobs)
    scores[3, 1] = np.nan
    out = PriDe().fit(cell).apply(replace(cell, logprobs=scores))
    assert cell.choice[3, 1] >= 0
    assert out.choice[3, 1] == -1
    assert out.status[3, 1] == MISSING
    assert out.usable.sum() == 9


# --- the control -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(2, 11))
def test_permutations_are_distinct_and_never_the_identity(k):
    orders = label_permutations(k)
    assert len(set(orders)) == len(orders) == (math.factorial(k) - 1 if k <= 4 else 23)
    assert all(sorted(order) == list(range(k)) for order in orders)
    assert tuple(range(k)) not in orders
    if k > 4:
        assert orders == label_permutations(k)
        assert orders != label_permutations(k, seed=1)


def test_all_permutations_but_the_identity_can_be_drawn():
    orders = label_permutations(5, 119)
    assert len(set(orders)) == 119
    assert tuple(range(5)) not in orders


def test_permuted_priors_hold_the_same_values():
    cell = planted(60, 4, [1, 0.5, -0.5, -1])
    prior = estimate_prior(cell)
    variants = LetterPermuted().fit(cell).variants
    assert {tuple(sorted(v.priors[0].values)) for v in variants} == {tuple(sorted(prior.values))}
    assert prior.values not in {v.priors[0].values for v in variants}
    assert prior.permuted((1, 0, 2, 3)).values == (prior.values[1], prior.values[0], *prior.values[2:])
    with pytest.raises(ArgumentError, match=r"each of 0\.\.3 once"):
        prior.permuted((0, 0, 1, 2))


# --- splits ------------------------------------------------------------------------------------------------------


@many
@given(st.integers(2, 400), st.floats(0.01, 0.99), st.integers(0, 5))
def test_the_split_takes_its_share_whatever_the_order_of_items(n_items, share, seed):
    ids = np.array([f"q{i}" for i in range(n_items)], object)
    cell = answered(np.zeros((n_items, 1, 2)), [[0, 1]], item_ids=ids)
    chosen = calibration_items(cell, share, seed)
    assert chosen.sum() == min(max(1, math.floor(share * n_items + 1e-9)), n_items - 1)
    order = np.random.default_rng(seed).permutation(n_items)
    again = calibration_items(take_items(cell, order), share, seed)
    assert set(ids[order][again]) == set(ids[chosen])
    parts = split(cell, share, seed)
    assert set(parts.calibration.item_ids) == set(ids[chosen])
    assert set(parts.evaluation.item_ids) == set(ids[~chosen])


def test_the_split_is_uniform_and_another_for_another_seed():
    cell = answered(np.zeros((200, 1, 2)), [[0, 1]])
    counts = sum(calibration_items(cell, 0.05, seed).astype(int) for seed in range(400))
    assert counts.sum() == 400 * 10
    # Binomial(400, 0.05): mean 20, SD 4.36; 200 of them stay within five SDs.
    assert counts.min() > 20 - 5 * 4.36
    assert counts.max() < 20 + 5 * 4.36


def test_the_split_takes_usable_items_only():
    scores = np.zeros((40, 2, 2))
    scores[::2, 0] = np.nan
    cell = answered(scores, [[0, 1], [1, 0]])
    chosen = calibration_items(cell, 0.5)
    assert chosen.sum() == 10
    assert not chosen[::2].any()


def test_splits_that_cannot_be_are_refused():
    cell = answered(np.zeros((4, 1, 2)), [[0, 1]])
    for share in (0, 1, -0.1, math.nan):
        with pytest.raises(ArgumentError, match="`share` must be above 0 and below 1"):
            calibration_items(cell, share)
    with pytest.raises(ArgumentError, match="two usable items"):
        split(take_items(cell, np.array([0])))
    with pytest.raises(ArgumentError, match="`n_splits`"):
        published_pride(planted(10, 3), n_splits=0)


# --- names and chains --------------------------------------------------------------------------------------------


def test_the_default_set():
    names = [operation.name for operation in parse_operations(DEFAULT_OPERATIONS)]
    assert names == DEFAULT_OPERATIONS.split(",")
    assert len(names) == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prid", r"must be one of none, pride, .*majority-vote.*Got 'prid'. Did you mean 'pride'"),
        ("", "Got ''"),
        ("pride,", "Got ''"),
        ("pride>", "Got ''"),
        ("none,none", "named once. Got 'none' twice"),
        ("pride,pride:alpha=1", "named once"),
        ("pride:alpha=x", "'pride:alpha=x': `alpha` must be a number"),
        ("pride:alpha=-1", "`alpha` must be a number of 0 or more"),
        ("pride:alpha=nan", "`alpha` must be a number of 0 or more"),
        ("pride:beta=1", "options of 'pride' are: alpha=NUMBER"),
        ("pride:alpha", "options of 'pride' are"),
        ("pride:alpha=1:alpha=2", "each once"),
        ("none:x=1", "options of 'none' are: none"),
        ("pride:on=gold", "`estimated_on` must be one of"),
        ("pride:scored=all", "`scored` must be presented or canonical"),
        ("majority-vote:ties=random", "`ties` must be one of content, hash"),
        ("majority-vote:seed=1.5", "`seed` must be a whole number"),
        ("letter-permuted:of=none", "`of` must be one of"),
        ("letter-permuted:n=0", "`n_drawn` must be"),
        ("add-preference:shape=tall", "`shape` must be one of"),
        ("add-preference:shape=1 x", "`shape` must be a name, or numbers"),
        ("add-preference:strength=inf", "`strength` must be a finite number"),
        ("majority-vote>pride", "'pride' cannot follow 'majority-vote': it needs log-probabilities"),
        ("reversal-product>agree-or-abstain", "needs the reversal of every presented ordering"),
        ("pride:scored=canonical>reversal-product", "needs the reversal"),
    ],
)
def test_names_that_are_refused(text, message):
    with pytest.raises(ArgumentError, match=message):
        parse_operations(text)


def test_chains_of_chains_are_flat():
    assert chain(chain(PriDe(), ReversalProduct()), MajorityVote()) == chain(PriDe(), ReversalProduct(), MajorityVote())
    assert chain(PriDe()) == PriDe()
    with pytest.raises(ArgumentError, match="two operations or more"):
        chain()


def test_an_operation_is_a_value():
    assert PriDe() == PriDe(1.0)
    assert PriDe() != PriDe(0.5)
    assert isinstance(PriDe(), PriorCorrection)
    assert len({PriDe(), PriDe(), PriDe(0.5)}) == 2


# --- what the product refuses ------------------------------------------------------------------------------------


def test_the_product_of_two_options_is_refused_with_the_reason():
    cell = planted(10, 2)
    with pytest.raises(ArgumentError, match="refused for 2 options: the reversal of each cyclic ordering is the other"):
        ReversalProduct().fit(cell).apply(cell)


def test_presented_orderings_that_share_a_query_are_refused():
    cell = planted(5, 3, design=all_orderings(3))
    with pytest.raises(ArgumentError, match=r"share no query\. Got 0 1 2 presented together with its reversal"):
        ReversalProduct().fit(cell).apply(cell)
    shown = np.isin(np.arange(6), [0, 3, 4])
    assert [cell.positions[s].tolist() for s in (0, 3, 4)] == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    out = ReversalProduct().fit(cell).apply(replace(cell, presented=shown))
    assert out.n_orderings == 3


def test_the_missing_reversal_is_named():
    cell = planted(5, 4)
    keep = np.arange(8) != 6
    lacking = replace(
        cell,
        choice=cell.choice[:, keep],
        positions=cell.positions[keep],
        presented=cell.presented[keep],
        logprobs=cell.logprobs[:, keep],
        status=None,
        ties=None,
        mass=None,
    )
    with pytest.raises(
        ArgumentError, match="1 of 4 presented orderings lack theirs: 2 3 0 1 was asked without 1 0 3 2"
    ):
        ReversalProduct().fit(lacking).apply(lacking)


@pytest.mark.parametrize("operation", [ReversalProduct(), AgreeOrAbstain()])
def test_an_item_whose_own_design_lacks_a_reversal_is_left_out_and_counted(operation):
    cell = planted_per_item(6, 4, noise=0.0)  # without noise every pair agrees
    asked = np.array(cell.asked)
    asked[3, 8] = False
    fitted = operation.fit(cell)
    assert fitted.notices(cell) == ()
    lacking = replace(cell, asked=asked)
    out, whole = fitted.apply(lacking), fitted.apply(cell)
    assert fitted.notices(lacking)[0].startswith("1 of 6 items are left out")
    lost = (out.choice[3] < 0) & (whole.choice[3] >= 0)
    assert lost.sum() == 1
    assert out.status[3][lost].tolist() == [MISSING]
    assert not out.usable[3]
    others = np.arange(6) != 3
    assert np.array_equal(out.choice[others], whole.choice[others])
    with pytest.raises(ArgumentError, match=r"lack theirs: .*\(item 3\) was asked without"):
        fitted.apply(take_items(lacking, np.array([3])))


def test_items_without_reversals_are_refused_together():
    cell = planted_per_item(6, 4)
    asked = np.array(cell.asked)
    asked[:, 8] = False
    lacking = replace(cell, asked=asked)
    with pytest.raises(
        ArgumentError, match=r"6 of \d+ presented orderings lack theirs: .*\(item 0\) was asked without"
    ):
        ReversalProduct().fit(lacking).apply(lacking)


def test_repeated_orderings_have_partners_of_their_own():
    cell = planted_per_item(12, 4)
    partner = reversal_slots(cell, "x", apart=True)
    for row in range(12):
        used = partner[row][cell.scored[row][cell.presented]]
        assert len(set(used.tolist())) == len(used)


def test_partners_above_fourteen_options():
    cell = planted(3, 16)
    assert reversal_slots(cell, "x", apart=True).tolist() == list(range(16, 32))


# --- the canonical ordering alone --------------------------------------------------------------------------------


def test_canonical_alone_of_designs_of_each_item():
    cell = planted_per_item(60, 4)
    there = (cell.positions == np.arange(4)).all(axis=2) & cell.asked
    out = canonical_alone(cell)
    assert out.positions.tolist() == [[0, 1, 2, 3]]
    assert 0 < there.any(axis=1).sum() < 60
    assert np.array_equal(out.usable, there.any(axis=1))
    for row in range(60):
        slot = int(there[row].argmax())
        assert out.choice[row, 0] == (cell.choice[row, slot] if there[row].any() else -1)
        assert out.status[row, 0] == (cell.status[row, slot] if there[row].any() else MISSING)
    with pytest.raises(ArgumentError, match=r"The canonical ordering \(0 1 2 3\) must be among those queried"):
        canonical_alone(replace(cell, positions=np.broadcast_to([1, 0, 2, 3], cell.positions.shape)))


# --- interventions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(2, 11))
@pytest.mark.parametrize("shape", ["front-to-back", "alternating", "outer-inner", "first-only", "drift"])
def test_shapes_have_mean_zero_and_root_mean_square_one(shape, k):
    if shape == "outer-inner" and k == 2:
        with pytest.raises(ArgumentError, match="must prefer some place"):
            preference(shape, k)
        return
    values = preference(shape, k)
    assert values.mean() == pytest.approx(0, abs=1e-12)
    assert (values**2).mean() == pytest.approx(1)
    antisymmetric = shape in ("front-to-back", "drift") or (shape == "alternating" and k % 2 == 0)
    assert (mirror_split(values).surviving_share < 1e-12) == (antisymmetric or (shape == "first-only" and k == 2))


def test_shapes_of_four_are_those_of_the_source():
    assert preference("front-to-back", 4).tolist() == [1, 1, -1, -1]
    assert preference("alternating", 4).tolist() == [1, -1, 1, -1]
    assert preference("outer-inner", 4).tolist() == [1, -1, -1, 1]
    assert preference("first-only", 4) == pytest.approx(np.array([3, -1, -1, -1]) / math.sqrt(3))


@many
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=12))
def test_the_mirror_split_adds_up(values):
    found = mirror_split(values)
    assert found.symmetric + found.antisymmetric == pytest.approx(np.array(values))
    assert found.symmetric == pytest.approx(found.symmetric[::-1])
    assert found.antisymmetric == pytest.approx(-found.antisymmetric[::-1])
    if np.std(values) <= ROUNDING:
        assert math.isnan(found.surviving_share)
    else:
        assert -1e-12 <= found.surviving_share <= 1 + 1e-12


def test_bad_preferences_are_refused():
    for shape in ([1, 2, 3], [1, 2, 3, math.nan], [[1, 2, 3, 4]]):
        with pytest.raises(ArgumentError, match="must be 4 finite numbers"):
            preference(shape, 4)
    with pytest.raises(ArgumentError, match="must prefer some place"):
        AddPreference((2.0, 2.0))
    cell = planted(5, 3)
    with pytest.raises(ArgumentError, match="must be 3 finite numbers"):
        AddPreference((1.0, 2.0)).fit(cell).apply(cell)
    with pytest.raises(ArgumentError, match="two or more finite numbers"):
        mirror_split([1.0])
