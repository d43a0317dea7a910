"""What every operation keeps, whatever it does: one table of operations, one set of tests."""

from dataclasses import fields, replace

import numpy as np
import pytest
from operation_cells import answered, planted, planted_per_item, with_gaps

from orderbias.operations import NAMES, FittedVariants, parse_operation, presented_alone, take_items
from orderbias.predictions import OK, Predictions

OPERATIONS = (
    "none",
    "pride",
    "pride:alpha=0.5",
    "pride:on=evaluated",
    "pride:scored=canonical",
    "batch-calibration",
    "log-calibration",
    "letter-permuted",
    "letter-permuted:of=batch-calibration:n=5:seed=3",
    "reversal-product",
    "agree-or-abstain",
    "majority-vote",
    "majority-vote:ties=hash:seed=4",
    "mean-probability",
    "mean-logprob",
    "add-preference:shape=front-to-back:strength=0.7",
    "pride>reversal-product",
    "batch-calibration>reversal-product",
    "pride>batch-calibration",
    "letter-permuted>reversal-product",
    "reversal-product>majority-vote",
    "mean-probability>pride",
    "add-preference:shape=first-only:strength=1>pride>reversal-product",
)
KS = (2, 3, 4, 5, 10)


def cases():
    """Every operation at every K, but for products of two options, which are refused."""
    return [(name, k) for name in OPERATIONS for k in KS if not (k == 2 and "product" in name)]


def cell_of(kind, k, n_items=23):
    preference = np.linspace(0.8, -0.4, k)
    make = planted if kind == "shared" else planted_per_item
    return make(n_items, k, preference, seed=k)


def outputs(name, calibration, evaluation):
    return [fitted.apply(evaluation) for fitted in parse_operation(name).fit(calibration).variants]


def possible(name, kind):
    """A design of each item may lack the canonical ordering; that case is tested apart."""
    return not (kind == "per-item" and "canonical" in name)


@pytest.fixture(params=["shared", "per-item"])
def kind(request):
    return request.param


def test_the_table_holds_every_name():
    assert {part.split(":")[0] for name in OPERATIONS for part in name.split(">")} == set(NAMES)


@pytest.mark.parametrize(("name", "k"), cases())
def test_shapes_and_normalisation(name, k, kind):
    if not possible(name, kind):
        pytest.skip("no canonical ordering")
    cell = cell_of(kind, k)
    for out in outputs(name, cell_of(kind, k, 17), cell):
        shown = out.positions[..., out.presented, :]
        expected = np.arange(k)[None] if "canonical" in name else cell.positions[..., cell.presented, :]
        assert np.array_equal(shown, expected)
        assert out.n_options == k
        for field in ("gold", "item_ids", "group"):
            assert np.array_equal(getattr(out, field), getattr(cell, field))
        scored = out.scored
        assert (out.choice[scored] >= 0).all() or "abstain" in name
        assert np.array_equal(out.status == OK, out.choice >= 0)
        assert not out.ties[out.choice < 0].any()
        if out.logprobs is None:
            continue
        good = out.choice >= 0
        assert np.isnan(out.logprobs[~good]).all()
        assert np.abs(np.logaddexp.reduce(out.logprobs[good], axis=-1)).max() < 1e-12
        chosen = np.take_along_axis(out.logprobs, np.maximum(out.places, 0)[..., None].astype(int), 2)[..., 0]
        assert np.array_equal(chosen[good], out.logprobs[good].max(axis=-1))
        several = (out.logprobs[good] == out.logprobs[good].max(axis=-1, keepdims=True)).sum(axis=-1) > 1
        assert np.array_equal(out.ties[good], several)


@pytest.mark.parametrize("name", OPERATIONS)
def test_input_is_left_as_it_was(name):
    cell = with_gaps(cell_of("shared", 4))
    before = {f.name: np.array(getattr(cell, f.name), copy=True) for f in fields(Predictions) if f.name != "source"}
    outputs(name, cell, cell)
    for field, value in before.items():
        now = np.array(getattr(cell, field))
        same = np.array_equal(now, value, equal_nan=True) if value.dtype.kind == "f" else np.array_equal(now, value)
        assert same, field


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_gold_is_read(name):
    cell = cell_of("shared", 4)
    blind = replace(cell, gold=np.full(cell.n_items, -1))
    for out, same in zip(outputs(name, cell, cell), outputs(name, blind, blind), strict=True):
        assert np.array_equal(out.choice, same.choice)


@pytest.mark.parametrize("name", OPERATIONS)
def test_masked_items_stay_masked_and_touch_no_other(name, kind):
    if not possible(name, kind):
        pytest.skip("no canonical ordering")
    cell = with_gaps(cell_of(kind, 4))
    rest = np.arange(3, cell.n_items)
    alone = take_items(cell, rest)
    for out, without in zip(outputs(name, cell, cell), outputs(name, alone, alone), strict=True):
        # Item 2 lacks only a reversal, so an estimate may count it: the fit is compared apart, below.
        assert not out.usable[0]
        assert (out.choice[0] == -1).all()
        width = min(out.n_orderings, int(cell.presented.sum()))
        assert np.array_equal(out.status[0, :width], cell.status[0][cell.presented][:width])
        if "canonical" not in name:
            assert not out.usable[1]
        assert (out.n_items, without.n_items) == (cell.n_items, len(rest))
    fit = parse_operation(name).fit(alone)
    for fitted in fit.variants:
        if "evaluated" in name:
            continue
        whole, part = fitted.apply(cell), fitted.apply(alone)
        assert np.array_equal(whole.choice[3:], part.choice)
        if part.logprobs is not None:
            assert np.array_equal(whole.logprobs[3:], part.logprobs, equal_nan=True)


@pytest.mark.parametrize("name", [n for n in OPERATIONS if "product" in n])
def test_a_pair_without_its_reversal_is_unusable(name):
    cell = with_gaps(cell_of("shared", 4))
    assert cell.usable[2]
    for out in outputs(name, cell, cell):
        assert not out.usable[2]
        assert out.usable[3:].all()


@pytest.mark.parametrize(("name", "k"), [(n, k) for n, k in cases() if "canonical" not in n])
def test_relabelling_contents_relabels_answers(name, k, kind):
    cell = cell_of(kind, k, 40)
    relabel = np.random.default_rng(k).permutation(k)
    positions = np.empty_like(cell.positions)
    positions[..., relabel] = cell.positions
    again = replace(
        cell, positions=positions, gold=relabel[cell.gold], choice=np.where(cell.choice < 0, -1, relabel[cell.choice])
    )
    for out, moved in zip(outputs(name, cell, cell), outputs(name, again, again), strict=True):
        # A tied vote goes to the lowest content index, which relabelling changes.
        clear = ~out.ties
        assert clear.mean() > 0.4
        expected = np.where(out.choice < 0, -1, relabel[out.choice])
        assert np.array_equal(moved.choice[clear], expected[clear])
        if out.logprobs is not None:
            assert np.allclose(out.logprobs, moved.logprobs, rtol=0, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize(("name", "k"), cases())
def test_single_precision_is_taken(name, k):
    cell = cell_of("shared", k)
    single = answered(np.array(cell.logprobs, np.float32), cell.positions, presented=cell.presented, gold=cell.gold)
    for out, exact in zip(outputs(name, single, single), outputs(name, cell, cell), strict=True):
        assert np.array_equal(out.choice, exact.choice)
        if out.logprobs is not None:
            assert out.logprobs.dtype == np.float64
            assert np.allclose(out.logprobs, exact.logprobs, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name", [n for n in OPERATIONS if "evaluated" not in n and "canonical" not in n])
def test_no_item_gives_no_answer(name, kind):
    cell = cell_of(kind, 4)
    for out in outputs(name, cell, take_items(cell, np.arange(0))):
        assert out.choice.shape == (0, out.n_orderings)


@pytest.mark.parametrize("name", OPERATIONS)
def test_needs_are_true(name):
    """An operation that says it works on answers alone does; one that needs log-probabilities names the column."""
    operation = parse_operation(name)
    cell = cell_of("shared", 4)
    bare = replace(cell, logprobs=None)
    if operation.needs.logprobs:
        with pytest.raises(ValueError, match=r"`logprobs`"):
            outputs(name, bare, bare)
    else:
        assert np.array_equal(outputs(name, bare, bare)[0].choice, outputs(name, cell, cell)[0].choice)
    shown = presented_alone(cell)
    if operation.needs.reversals:
        with pytest.raises(ValueError, match=r"was asked without .*--design cyclic\+reversals"):
            outputs(name, shown, shown)
    else:
        full, part = outputs(name, cell, cell), outputs(name, shown, shown)
        assert np.array_equal(full[0].choice[:, full[0].presented], part[0].choice[:, part[0].presented])


@pytest.mark.parametrize("name", OPERATIONS)
def test_leaves_are_true(name):
    operation = parse_operation(name)
    cell = cell_of("shared", 4)
    for out in outputs(name, cell, cell):
        assert (out.logprobs is not None) == operation.leaves.logprobs
        assert (out.n_orderings == cell.n_orderings) == operation.leaves.reversals


@pytest.mark.parametrize("name", OPERATIONS)
def test_names_read_back(name):
    operation = parse_operation(name)
    assert operation.name == name
    assert parse_operation(operation.name) == operation
    cell = cell_of("shared", 4)
    fitted = operation.fit(cell)
    assert fitted.name == name
    for out in (v.apply(cell) for v in fitted.variants):
        assert out.source.as_dict().get("operations", "none") == name


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("none", 1),
        ("pride", 1),
        ("reversal-product", 2),
        ("pride>reversal-product", 2),
        ("agree-or-abstain", 2),
        ("majority-vote", 4),
        ("mean-probability", 4),
        ("reversal-product>majority-vote", 8),
    ],
)
def test_calls_per_item(name, calls):
    assert parse_operation(name).calls_per_item(cell_of("shared", 4)) == calls


def test_calls_of_designs_of_different_size():
    cell = cell_of("per-item", 4)
    sizes = cell.scored.sum(axis=1)
    assert set(sizes) == {4, 8}
    assert parse_operation("majority-vote").calls_per_item(cell) == sizes.mean()


def test_variants_are_not_applied_as_one():
    fitted = parse_operation("letter-permuted>reversal-product").fit(cell_of("shared", 4))
    assert isinstance(fitted, FittedVariants)
    assert len(fitted.variants) == 23
    with pytest.raises(ValueError, match="average the measures"):
        fitted.apply(cell_of("shared", 4))
