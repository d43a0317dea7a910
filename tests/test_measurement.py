"""``measure`` as a user meets it: keys, JSON, frame, page, signature, seeds, clusters, errors."""

import dataclasses
import itertools
import json
import pickle

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap

from orderbias.errors import ArgumentError, DataError
from orderbias.inference.resampling import percentile_interval
from orderbias.measurement import Measurement, measure
from orderbias.measures import MEASURES
from orderbias.orderings import cyclic
from orderbias.predictions import Predictions
from orderbias.signature import Signature

#: The keys that every program reading our JSON relies on.
KEYS = (
    "n_items", "n_options", "n_orderings", "n_unusable", "n_ties", "accuracy", "accuracy_canonical",
    "flip_rate", "positional_skew", "pooled_sd", "design_deviation_sd", "corrected_pooled_sd", "stable_correct",
    "stable_wrong", "selection_share", "flip_share", "accuracy_by_place", "placement_factor", "balanced_rstd",
    "placement_range", "canonical_rstd", "flip_cap", "scaled_flip_rate", "fluctuation_rate",
    "pairwise_disagreement", "content_entropy", "per_item_sd", "per_item_kl", "forward_kl", "forward_kl_bound",
    "ckld",
)  # fmt: skip


def planted(n=300, K=4, seed=0, lean=0.3, **more):
    """A model that is right, else picks the first place, else anything."""
    rng = np.random.default_rng(seed)
    design = cyclic(K).positions
    gold = rng.integers(0, K, n)
    free = np.where(rng.random((n, K)) < lean, design.argmin(axis=1), rng.integers(0, K, (n, K)))
    choice = np.where(rng.random((n, 1)) < 0.5, gold[:, None], free)
    return Predictions(choice=choice, positions=design, gold=gold, model="m", benchmark="b", readout="r", **more)


@pytest.fixture(scope="module")
def found():
    return measure(planted(), resamples=2000)


def test_every_key_is_there_as_attribute_item_and_json(found):
    printed = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    for key in KEYS:
        assert key in printed
        assert getattr(found, key) == found[key]
    assert list(printed)[:3] == ["model", "benchmark", "readout"]
    assert printed["n_items"] == 300
    assert printed["n_options"] == printed["n_orderings"] == 4
    assert len(printed["selection_share"]) == len(printed["flip_share"]) == 4
    assert all(len(v) == 2 for v in printed["intervals"].values())
    assert set(printed["intervals"]) == {m.name for m in MEASURES.values() if m.kind != "list"}
    assert printed["signature"] == str(found.signature)


def test_json_says_null_where_a_measure_is_undefined():
    right = Predictions(np.zeros((5, 4), int), cyclic(4).positions, np.zeros(5, int))
    printed = json.loads(json.dumps(measure(right, resamples=50).as_dict(), allow_nan=False))
    for key in ("positional_skew", "flip_share", "placement_factor", "scaled_flip_rate", "canonical_rstd"):
        assert printed[key] is None
    assert printed["flip_rate"] == 0
    assert printed["tests"]["rotation"] is None


def test_what_has_no_value_has_a_reason_and_no_interval():
    # Place 0 is gold for two items and never chosen: CKLD is infinite, though not in every resample.
    choice = np.array([[1], [1], [1], [2], [3]])
    found = measure(Predictions(choice, [[0, 1, 2, 3]], [0, 0, 1, 2, 3]), resamples=500)
    assert found.ckld is None
    assert found.intervals["ckld"] is None
    assert "infinite" in found.undefined["ckld"]
    stable = measure(Predictions(np.ones((6, 4), int), cyclic(4).positions, np.ones(6, int)), resamples=200)
    assert "no item flips" in stable.undefined["positional_skew"]
    assert "right option" in stable.undefined["canonical_rstd"]
    assert "cap" in stable.undefined["scaled_flip_rate"]
    for cell in (found, stable):
        none = {name for name in MEASURES if cell.values[name] is None}
        assert none == set(cell.undefined)
        assert all(cell.intervals[name] is None for name in none & set(cell.intervals))


def test_one_ordering_asked_twice_shows_no_consistency():
    found = measure(Predictions([[0, 0], [1, 2]], [[0, 1, 2], [0, 1, 2]], [0, 1]), resamples=50)
    for key in ("flip_rate", "content_entropy", "pairwise_disagreement", "stable_correct"):
        assert found.values[key] is None
        assert "two different orderings" in found.undefined[key]


def test_shares_have_exact_intervals_and_the_rest_percentiles(found):
    cell = planted()
    flips = (cell.choice != cell.choice[:, :1]).any(axis=1)
    exact = binomtest(int(flips.sum()), 300).proportion_ci(method="exact")
    assert found.intervals["flip_rate"] == pytest.approx((exact.low, exact.high), abs=1e-12)
    hits = (cell.choice == cell.gold[:, None]).mean(axis=1)
    theirs = bootstrap((hits,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(0))
    assert found.intervals["accuracy"] == pytest.approx(tuple(theirs.confidence_interval), abs=0.004)
    assert 100 * found.flip_rate == pytest.approx(100 * flips.mean())


def test_the_interval_of_the_skew_is_that_of_resampled_items(found):
    cell = planted()
    f = np.zeros((300, 4))
    for row, places in enumerate(np.asarray(cell.places)):
        f[row] = np.bincount(places, minlength=4) / 4
    moving = (cell.choice != cell.choice[:, :1]).any(axis=1)
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(4000):
        pick = rng.integers(0, 300, 300)
        draws.append(f[pick][moving[pick]].mean(axis=0).std())
    assert found.intervals["positional_skew"] == pytest.approx(percentile_interval(np.array(draws), 0.95), abs=0.006)


def test_a_lean_is_found_and_its_absence_too(found):
    assert found.tests["rotation"]["p_value"] < 0.001
    assert measure(planted(2000), resamples=0).tests["uniformity"]["p_value"] < 1e-6
    assert 0 < found.expected["positional_skew"] < found.positional_skew / 3
    fair = measure(planted(lean=0.0), resamples=2000)
    assert fair.flip_rate > 0.4
    assert fair.tests["rotation"]["p_value"] > 0.05
    assert fair.expected["positional_skew"] == pytest.approx(fair.positional_skew, rel=1)
    assert set(fair.expected) == {"positional_skew", "pooled_sd", "corrected_pooled_sd", "balanced_rstd",
                                  "placement_range", "forward_kl", "forward_kl_bound"}  # fmt: skip


def test_every_spread_without_a_lean_is_its_mean_over_all_rotations():
    # Three flipping items and two stable ones, so that all 4^3 rotations can be listed.
    design = cyclic(4).positions
    choice = np.array([[0, 3, 2, 1], [0, 0, 1, 1], [2, 1, 1, 2], [3, 3, 3, 3], [1, 1, 1, 1]])
    gold = np.array([0, 1, 2, 3, 0])
    cell = Predictions(choice, design, gold)
    found = measure(cell, resamples=20_000)
    f, a = np.zeros((5, 4)), np.zeros((5, 4))
    for q in range(5):
        for s in range(4):
            f[q, design[s, choice[q, s]]] += 0.25
            a[q, design[s, gold[q]]] += choice[q, s] == gold[q]
    every = {name: [] for name in ("pooled_sd", "positional_skew", "forward_kl", "balanced_rstd", "placement_range")}
    for shifts in itertools.product(range(4), repeat=3):
        turn = [np.array([np.roll(v, s) for v, s in zip(x, (*shifts, 0, 0), strict=True)]) for x in (f, a)]
        share, by_place = (x.mean(axis=0) for x in turn)
        every["pooled_sd"].append(share.std())
        every["positional_skew"].append(turn[0][:3].mean(axis=0).std())
        every["forward_kl"].append(np.sum(share[share > 0] * np.log2(4 * share[share > 0])))
        every["balanced_rstd"].append(by_place.std())
        every["placement_range"].append(np.ptp(by_place))
    for name, values in every.items():
        assert found.expected[name] == pytest.approx(np.mean(values), abs=5 * np.std(values) / np.sqrt(20_000)), name
    exact = np.mean(np.array(every["positional_skew"]) >= found.positional_skew - 1e-12)
    assert found.tests["rotation"]["p_value"] == pytest.approx(exact, abs=0.02)


def test_the_rotation_test_holds_its_size():
    p_values = [measure(planted(60, lean=0.0, seed=s), resamples=400).tests["rotation"]["p_value"] for s in range(150)]
    for alpha in (0.05, 0.2):
        assert np.mean(np.array(p_values) <= alpha) <= alpha + 3 * np.sqrt(alpha * (1 - alpha) / 150)
    assert min(p_values) < 0.1  # and it does reject sometimes


def test_ties_are_counted_on_presented_answers_of_usable_items():
    ties = np.zeros((4, 2), bool)
    ties[0] = ties[1, 0] = ties[2, 1] = True
    choice = np.array([[0, 0], [0, 1], [-1, 0], [1, 1]])
    found = measure(Predictions(choice, [[0, 1], [1, 0]], np.zeros(4, int), ties=ties), resamples=50)
    assert found.n_unusable == 1
    assert found.n_ties == 3
    assert found.tie_share == 2 / 3
    exact = binomtest(2, 3).proportion_ci(method="exact")
    assert found.intervals["tie_share"] == pytest.approx((exact.low, exact.high))


def test_accuracy_of_each_presented_ordering(found):
    cell = planted()
    assert found.accuracy_by_ordering == tuple((cell.choice == cell.gold[:, None]).mean(axis=0))
    assert np.mean(found.accuracy_by_ordering) == pytest.approx(found.accuracy, abs=1e-12)


def test_the_frame_holds_one_measure_a_row(found):
    frame = found.to_frame().set_index("measure")
    assert list(frame.columns) == ["value", "low", "high", "expected"]
    assert frame.loc["flip_rate", "value"] == found.flip_rate
    assert tuple(frame.loc["flip_rate", ["low", "high"]]) == found.intervals["flip_rate"]
    assert frame.loc["flip_share[0]", "value"] == found.flip_share[0]
    assert frame.loc["positional_skew", "expected"] == found.expected["positional_skew"]
    assert (frame.dtypes == "float64").all()


def test_the_page_escapes_names():
    cell = planted()
    evil = dataclasses.replace(cell, model="<script>alert(1)</script>", source=Signature.of(data="<b>"))
    page = measure(evil, resamples=10)._repr_html_()
    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;" in page


def test_unknown_names_are_errors_that_list_the_valid_ones(found):
    with pytest.raises(ArgumentError, match=r"flip_rate.*Got 'flipp_rate'"):
        measure(planted(), measures=["flipp_rate"])
    with pytest.raises(ArgumentError, match=r"flip_rate.*Got 'skew'"):
        found["skew"]
    with pytest.raises(AttributeError, match=r"no 'skew'.*flip_rate"):
        _ = found.skew
    assert "flip_rate" in dir(found)


def test_a_measurement_is_frozen_and_can_be_pickled(found):
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.model = "other"
    again = pickle.loads(pickle.dumps(found))
    assert isinstance(again, Measurement)
    assert again == found


def test_asking_for_few_measures_gives_the_same_numbers(found):
    few = measure(planted(), resamples=2000, measures=["pooled_sd", "accuracy", "placement_range"])
    assert list(few.values)[5:] == ["accuracy", "pooled_sd", "placement_range"]
    for key in ("pooled_sd", "accuracy", "placement_range"):
        assert few[key] == found[key]
        assert few.intervals[key] == found.intervals[key]
    with pytest.raises(AttributeError, match="not asked for"):
        _ = few.flip_rate


def test_numbers_depend_on_the_seed_and_not_on_the_order_of_items(found):
    cell = planted()
    order = np.random.default_rng(3).permutation(300)
    turned = dataclasses.replace(
        cell, choice=cell.choice[order], gold=cell.gold[order], status=cell.status[order], ties=cell.ties[order],
        item_ids=cell.item_ids[order],
    )  # fmt: skip
    again = measure(turned, resamples=2000)
    assert again.intervals == found.intervals
    assert again.tests == found.tests
    other = measure(cell, resamples=2000, seed=1)
    assert other.values == found.values
    assert other.intervals["accuracy"] != found.intervals["accuracy"]


def test_the_signature_changes_with_whatever_changes_a_number(found):
    cell = planted()
    signatures = {
        str(found.signature),
        *(str(measure(cell, resamples=50, **change).signature)
          for change in ({}, {"seed": 1}, {"level": 0.9}, {"cluster": "group"}, {"cluster": [0, 1] * 150})
          if "group" not in change.values()),
        str(measure(planted(seed=1), resamples=2000).signature),
        str(measure(dataclasses.replace(cell, model="n"), resamples=2000).signature),
        str(measure(dataclasses.replace(cell, positions=cell.positions[[0, 2, 1, 3]]), resamples=2000).signature),
        str(measure(dataclasses.replace(cell, source=Signature.of(template="t")), resamples=2000).signature),
    }  # fmt: skip
    assert len(signatures) == 9
    entries = found.signature.as_dict()
    assert entries["resampling"] == "item bootstrap 2000"
    assert entries["operations"] == "none"
    assert (entries["seed"], entries["level"]) == ("0", "0.95")
    assert entries["version"]


def test_what_the_source_says_of_itself_is_kept():
    cell = planted(source=Signature.of(data="abc", design="cyclic", operations="reversal"))
    entries = measure(cell, resamples=10).signature.as_dict()
    assert list(entries)[:3] == ["data", "design", "operations"]
    assert (entries["design"], entries["operations"]) == ("cyclic", "reversal")


def test_a_wider_level_gives_wider_intervals(found):
    wider = measure(planted(), resamples=2000, level=0.99)
    for key in ("flip_rate", "accuracy", "positional_skew"):
        assert np.diff(wider.intervals[key]) > np.diff(found.intervals[key])


def test_clusters_are_resampled_whole():
    # Ten copies of each of thirty items: as clusters they say no more than thirty items do.
    base = planted(30)
    copies = Predictions(np.repeat(base.choice, 10, axis=0), base.positions, np.repeat(base.gold, 10),
                         group=np.repeat([f"g{i}" for i in range(30)], 10))  # fmt: skip
    grouped = measure(copies, resamples=4000, cluster="group")
    thirty = measure(base, resamples=4000)
    assert grouped.intervals["accuracy"] == pytest.approx(thirty.intervals["accuracy"], abs=0.03)
    assert np.diff(grouped.intervals["flip_rate"]) > 2 * np.diff(measure(copies, resamples=50).intervals["flip_rate"])
    assert grouped.tests["rotation"]["p_value"] == pytest.approx(thirty.tests["rotation"]["p_value"], abs=0.05)
    assert grouped.tests["uniformity"]["p_value"] == pytest.approx(thirty.tests["uniformity"]["p_value"], rel=1e-9)
    assert grouped.signature.as_dict()["resampling"] == "cluster bootstrap 4000"


def test_labels_may_be_given_for_all_items_and_only_usable_ones_need_one():
    base = planted(20)
    choice = base.choice.copy()
    choice[0, 0] = -1
    labels = np.array([None, *["a", "b"] * 9, "a"], object)
    found = measure(Predictions(choice, base.positions, base.gold), cluster=labels, resamples=50)
    assert found.n_items == 19


@pytest.mark.parametrize(
    ("cluster", "message"),
    [("subject", 'must be "group"'), ("group", "These predictions have none"), (["a"], "must hold 20 labels"),
     ([None, *["a"] * 19], "Got 1 without a label"), ([float("nan"), *[1.0] * 19], "Got 1 without a label")],
)  # fmt: skip
def test_clusters_that_do_not_fit_are_errors(cluster, message):
    with pytest.raises(ArgumentError, match=message):
        measure(planted(20), cluster=cluster, resamples=10)


@pytest.mark.parametrize(
    "bad", [{"resamples": -1}, {"resamples": 2.5}, {"resamples": True}, {"seed": -1}, {"seed": "0"}, {"level": 95}]
)
def test_arguments_outside_their_range_are_errors(bad):
    with pytest.raises(ArgumentError, match=f"`{next(iter(bad))}`.*Got"):
        measure(planted(10), **bad)


def test_without_resampling_points_and_exact_intervals_remain():
    found = measure(planted(), resamples=0)
    assert found.intervals["flip_rate"] is not None
    assert found.intervals["pooled_sd"] is None
    assert found.tests["rotation"] is None


def test_a_cell_without_a_usable_item_is_an_error():
    with pytest.raises(DataError, match="Got 0 usable items of 2"):
        measure(Predictions([[-1, 0], [0, -1]], [[0, 1], [1, 0]], [0, 0]))
    with pytest.raises(DataError, match="Got 0 usable items of 0"):
        measure(Predictions(np.empty((0, 2), int), [[0, 1], [1, 0]], np.empty(0, int)))


def test_measures_that_need_balance_are_null_without_it_and_say_why():
    rng = np.random.default_rng(1)
    cell = Predictions(rng.integers(0, 3, (40, 2)), [[0, 1, 2], [1, 0, 2]], rng.integers(0, 3, 40))
    found = measure(cell, resamples=200)
    for key in ("accuracy_by_place", "placement_factor", "balanced_rstd", "placement_range", "forward_kl_bound"):
        assert found[key] is None
        assert found.intervals.get(key) is None
        assert "design" in found.undefined[key]
    assert found.fluctuation_rate is None
    assert found.corrected_pooled_sd == pytest.approx(found.flip_rate * found.positional_skew, abs=1e-12)
    assert found.design_deviation_sd > 0.01
    assert found.intervals["design_deviation_bound"] is not None


def test_designs_of_different_size_weigh_items_equally():
    positions = np.array([[[0, 1], [1, 0]], [[0, 1], [0, 1]]])
    asked = np.array([[True, True], [True, False]])
    found = measure(Predictions([[0, 1], [1, -1]], positions, [0, 1], asked=asked), resamples=50)
    assert found.n_items == 2
    assert found.n_orderings == 2
    assert found.flip_rate == 0.5
    assert found.accuracy == 0.75
    # Item 0 answers the first place twice; item 1 answers content 1, at the second place, once.
    assert found.selection_share == (0.5, 0.5)
    assert found.flip_share == (1.0, 0.0)
    assert found.pairwise_disagreement is None
    assert found.accuracy_by_ordering is None
