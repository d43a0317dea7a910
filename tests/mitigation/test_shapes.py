"""Added preferences: what mirroring cancels never reaches the product, and every point is the chain's own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from operation_cells import answered, placement_range, planted

from orderbias.errors import ArgumentError
from orderbias.mitigation import added_shapes
from orderbias.operations import AddPreference, PriDe, chain, parse_operations, split

REAL = Path(__file__).parents[1] / "operations" / "smollm2_mmlu.npz"
OPERATIONS = parse_operations("none,pride,reversal-product,pride>reversal-product")


def real():
    with np.load(REAL) as data:
        return answered(data["logprobs"], data["positions"], presented=data["presented"], gold=data["gold"],
                        item_ids=data["item_ids"].astype(object))  # fmt: skip


@pytest.mark.parametrize("cell", [real(), planted(200, 4, (0.6, 0.1, -0.2, -0.5))], ids=["real", "planted"])
def test_front_to_back_and_alternating_leave_the_product_as_it_was(cell):
    found = added_shapes(OPERATIONS, split(cell), (-2, 1, 2), resamples=200)
    assert found.strengths == (-2, 0, 1, 2)
    for shape in ("front-to-back", "alternating"):
        for point in found.curve("reversal-product", shape):
            assert set(point.changes.values()) == {0.0}
    passes = [p.changes["placement_range"] for p in found.curve("reversal-product", "outer-inner") if p.strength]
    assert min(passes) > 0.2
    largest = {n: max(abs(p.changes["placement_range"]) for p in found.points if p.operation == n)
               for n in ("none", "pride")}  # fmt: skip
    assert largest["pride"] < 0.5 * largest["none"]


def test_a_point_is_the_chain_with_the_addition_first():
    cell = planted(120, 5, (0.6, 0.3, 0.0, -0.4, -0.5), noise=0.8)
    parts = split(cell)
    found = added_shapes(parse_operations("pride"), parts, (1.5,), resamples=300)
    operation = chain(AddPreference("outer-inner", 1.5), PriDe())
    by_chain = placement_range(operation.fit(parts.calibration).apply(parts.evaluation))
    plain = placement_range(PriDe().fit(parts.calibration).apply(parts.evaluation))
    (point,) = [p for p in found.curve("pride", "outer-inner") if p.strength]
    assert point.measures["placement_range"] == pytest.approx(by_chain)
    assert point.changes["placement_range"] == pytest.approx(by_chain - plain)
    raised = added_shapes(parse_operations("none"), parts, (1.5,), resamples=300).curve("none", "front-to-back")
    assert raised[0].interval is None
    low, high = raised[1].interval
    assert low <= raised[1].changes["placement_range"] <= high
    assert high - low > 0.01


def test_what_cannot_be_added_is_said():
    two = added_shapes(parse_operations("none,pride"), split(planted(60, 2, (0.5, -0.5))), (1,), resamples=0)
    assert "outer-inner" not in two.shapes
    assert two.notices[0].startswith("outer-inner is left out")
    alone = replace(planted(60, 4), logprobs=None)
    with pytest.raises(ArgumentError, match="`logprobs`"):
        added_shapes(OPERATIONS, split(alone))
    with pytest.raises(ArgumentError, match="`strengths`"):
        added_shapes(OPERATIONS, split(planted(60, 4)), (float("nan"),))
    no_golds = replace(planted(60, 4), gold=np.full(60, -1))
    unknown = added_shapes(parse_operations("none"), split(no_golds), (1,), resamples=20)
    assert {p.changes["placement_range"] for p in unknown.points} == {None}
    assert {p.interval for p in unknown.points} == {None}
