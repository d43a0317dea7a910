"""Samples that show no spread: no interval may claim certainty, and none may miss what the sample says."""

import numpy as np
import pytest
from scipy.stats import binomtest

from orderbias.measurement import measure
from orderbias.measures import MEASURES
from orderbias.orderings import cyclic
from orderbias.predictions import Predictions

#: No chance enters these on a balanced design: they are 0 whatever the model answers.
FIXED_BY_DESIGN = {"design_deviation_sd", "design_deviation_bound"}
LARGEST_SD = np.sqrt(3) / 4


def cell(rows, gold=0, n=1, **more):
    choice = np.tile(np.atleast_2d(rows), (n, 1))
    golds = np.broadcast_to(gold, len(choice))
    return Predictions(choice=choice, positions=cyclic(choice.shape[1]).positions, gold=golds, **more)


ALWAYS_A = [0, 3, 2, 1]
SAMPLES = {
    "always the first place": cell(ALWAYS_A, n=12),
    "always right": cell([0, 0, 0, 0], n=50),
    "always the same wrong content": cell([1, 1, 1, 1], n=50),
    "every item half right": cell([0, 0, 1, 1], n=20),
    "one item": cell(ALWAYS_A),
    "one flip in fifty": cell([ALWAYS_A, *[[0] * 4] * 49]),
    "stable, half of them right": cell([[0] * 4, [1] * 4] * 20),
    "golds everywhere, all right": cell([[j] * 4 for j in range(4)] * 5, gold=np.arange(20) % 4),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_no_interval_claims_certainty_and_each_holds_its_value(name):
    found = measure(SAMPLES[name], resamples=400)
    for key, interval in found.intervals.items():
        if interval is None or key in FIXED_BY_DESIGN:
            continue
        low, high = interval
        assert low <= found[key] <= high, key
        # The cap of a model that is mostly wrong is 1 for any accuracy near its own.
        assert high - low > 1e-3 or (key == "flip_cap" and low == 1), (key, interval)


def test_all_flips_and_no_flips_get_the_exact_interval():
    assert measure(cell(ALWAYS_A, n=12)).intervals["flip_rate"] == pytest.approx((0.735, 1), abs=5e-4)
    assert measure(cell([0] * 4, n=50)).intervals["flip_rate"] == pytest.approx((0, 0.0711), abs=5e-5)
    assert measure(cell(ALWAYS_A, n=12)).intervals["flip_rate"][1] == 1


def test_without_flips_spreads_are_bounded_by_the_flips_that_may_have_gone_unseen():
    found = measure(cell([0] * 4, n=50))
    q = binomtest(0, 50).proportion_ci(method="exact").high
    expected = {"pooled_sd": LARGEST_SD, "corrected_pooled_sd": LARGEST_SD, "balanced_rstd": 0.5, "placement_range": 1,
                "forward_kl": 2, "forward_kl_bound": 2, "pairwise_disagreement": 1, "content_entropy": 2,
                "per_item_kl": 2, "per_item_sd": LARGEST_SD}  # fmt: skip
    for key, peak in expected.items():
        assert found.intervals[key] == pytest.approx((0, q * peak), abs=1e-12), key
    assert found.intervals["accuracy"] == pytest.approx((1 - q, 1), abs=1e-12)
    assert found.intervals["flip_cap"] == pytest.approx((0, 4 * q), abs=1e-12)
    assert found.positional_skew is None
    assert found.intervals["positional_skew"] is None
    assert found.intervals["scaled_flip_rate"] is None


def test_when_all_items_lean_alike_the_skew_is_bounded_from_the_number_of_flips():
    n = 200
    found = measure(cell(ALWAYS_A, n=n))
    q = binomtest(0, n).proportion_ci(method="exact").high
    assert found.intervals["positional_skew"] == pytest.approx(((1 - 2 * q) * LARGEST_SD, LARGEST_SD), abs=1e-12)
    assert found.intervals["accuracy"] == pytest.approx((0.25 * (1 - q), 0.25 + 0.75 * q), abs=1e-12)
    assert found.intervals["scaled_flip_rate"] == pytest.approx((1 - q, 1), abs=1e-9)
    assert found.intervals["canonical_rstd"] is None  # undefined: three labels are never gold


def test_one_flip_says_next_to_nothing_of_the_skew():
    found = measure(cell([ALWAYS_A, *[[0] * 4] * 49]))
    assert found.intervals["positional_skew"] == pytest.approx((0, LARGEST_SD), abs=0.02)


@pytest.mark.parametrize(("n", "rate"), [(30, 0.02), (60, 0.05)])
def test_alike_samples_are_covered_as_often_as_promised(n, rate):
    # Items flip (always first place) at a small rate, else are stable and right. Exactly, over the number of flips:
    # how often does the interval of each measure hold the population value?
    values = {
        "flip_rate": rate,
        "pooled_sd": rate * LARGEST_SD,
        "pairwise_disagreement": rate,
        "accuracy": 1 - 0.75 * rate,
    }
    covered = dict.fromkeys(values, 0.0)
    for k in range(12):
        weight = float(np.prod([(n - i) / (i + 1) for i in range(k)]) * rate**k * (1 - rate) ** (n - k))
        found = measure(cell([*[ALWAYS_A] * k, *[[0] * 4] * (n - k)]), resamples=400, measures=list(values))
        for key, value in values.items():
            low, high = found.intervals[key]
            covered[key] += weight * (low <= value <= high)
    assert covered["flip_rate"] >= 0.95
    # Had samples without a flip given [0, 0], what they weigh would be missing.
    print(covered)
    assert min(covered.values()) - (1 - rate) ** n >= 0


def test_a_cluster_bootstrap_that_shows_no_spread_gives_no_interval():
    found = measure(cell([0] * 4, n=50), cluster=np.arange(50) % 5, resamples=200)
    assert found.flip_rate == 0
    assert all(v is None for k, v in found.intervals.items() if k not in FIXED_BY_DESIGN | {"flip_cap"})


def test_one_cluster_gives_no_interval():
    found = measure(cell([[0] * 4, ALWAYS_A], n=10), cluster=["a"] * 20, resamples=200)
    assert all(v is None for v in found.intervals.values())


def test_every_scalar_measure_has_an_interval_beside_it():
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 4, 400)
    rows = np.where(rng.random((400, 4)) < 0.5, gold[:, None], rng.integers(0, 4, (400, 4)))
    found = measure(cell(rows, gold=gold), resamples=1000)
    scalars = {m.name for m in MEASURES.values() if m.kind != "list"}
    assert set(found.intervals) == scalars
    for key in scalars:
        low, high = found.intervals[key]
        assert low <= high, key


def test_accuracy_under_one_ordering_is_a_share_of_items():
    choice = np.array([[0]] * 9 + [[1]])
    found = measure(Predictions(choice=choice, positions=[[0, 1]], gold=np.zeros(10, int)))
    exact = binomtest(9, 10).proportion_ci(method="exact")
    assert found.intervals["accuracy"] == pytest.approx((exact.low, exact.high))
    assert found.flip_rate is None
    assert "two different orderings" in found.undefined["flip_rate"]
