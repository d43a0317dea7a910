"""Whole reports of simulated panels of 41 checkpoints x 12 benchmarks: what is planted is found, what is not is not."""

import numpy as np
import pytest
from bench.panel_laws import Laws, simulated_panel

from orderbias.studies.panel import Settings
from orderbias.studies.panel.analyses import ANALYSES

SETTINGS = Settings(resamples=120, seed=1)


def report(laws):
    panel = simulated_panel(41, 12, 60, laws=laws, seed=5, settings=SETTINGS)
    return {name: ANALYSES[name](panel) for name in ANALYSES if name not in ("all-orderings", "repeats")}


@pytest.fixture(scope="module")
def planted():
    return report(Laws(lean=0.9, wobble=0.7))


@pytest.fixture(scope="module")
def unplanted():
    """Nobody knows anything, nobody leans: answers move by chance alone."""
    return report(Laws(lean=0.0, wobble=1.0, strength=(0.0, 0.0)))


def row(finding, table, **wanted):
    found = finding.table(table)
    keys = [column.key for column in found.columns]
    rows = [dict(zip(keys, r, strict=True)) for r in found.rows]
    (one,) = [r for r in rows if all(r[k] == v for k, v in wanted.items())]
    return one


def holds(number, value):
    return number.low <= value <= number.high


def test_flips_follow_accuracy_where_strength_differs(planted, unplanted):
    found = row(planted["factors"], "correlations", options="all")
    assert found["flip_rate"].high < -0.5
    assert found["flip_rate_less_pooled_sd"].low > 0
    # With four options and no knowledge, only chance tells the 410 cells apart: a correlation has an SD of 0.05.
    for measure in ("flip_rate", "positional_skew", "pooled_sd"):
        assert abs(row(unplanted["factors"], "correlations", options="4")[measure].value) < 0.2


def test_cells_of_opposite_factors_are_opposite(planted):
    a, b = (row(planted["factors"], "like_cells", cell=name) for name in "AB")
    assert abs(np.log(a["pooled_sd"].value / b["pooled_sd"].value)) < 0.05
    ratio = a["flip_rate"].value / b["flip_rate"].value, a["positional_skew"].value / b["positional_skew"].value
    assert min(ratio) < 0.7
    assert max(ratio) > 1 / 0.7


def test_margins_tell_flips_from_stable_items_for_more_than_accuracy(planted):
    found = planted["margin"]
    assert row(found, "canonical-margin", comparison="flipping against stable", cells="all")["gap"].low > 0.65
    controls = {r[0]: r[1] for r in found.table("margin-controls").rows if "minus" not in r[0] and "wrong" not in r[0]}
    assert len(controls) >= 4
    assert all(gap.low > 0.5 for gap in controls.values())


def test_the_prior_is_found_where_it_is_planted_alone(planted, unplanted):
    cosine = "median cosine of g and the prior, four options"
    assert row(planted["prior"], "held-out-prior", statistic=cosine)["value"].low > 0.8
    assert holds(row(unplanted["prior"], "held-out-prior", statistic=cosine)["value"], 0)
    estimated = {"alpha": 1.0, "prior": "estimated"}
    assert row(planted["prior"], "prior-divided-out", **estimated)["log_skew"].high < 0
    assert row(planted["prior"], "prior-divided-out", alpha=1.0, prior="letters permuted")["log_skew"].low > 0
    # On four items a prior of nothing is noise: dividing it out can only add a lean.
    assert row(unplanted["prior"], "prior-divided-out", **estimated)["log_skew"].value > 0


def test_factors_are_reliable_where_checkpoints_differ(planted, unplanted):
    def halves(found, statistic):
        return row(found["variance"], "reliability", over="all cells", statistic=statistic)["split_half"]

    assert halves(planted, "flip rate").low > 0.7
    assert halves(planted, "positional skew").low > 0.5
    shares = row(planted["variance"], "shares", options="all")
    assert sum(shares[k].value for k in ("flip_rate", "positional_skew", "covariance")) == pytest.approx(1)
    assert row(planted["variance"], "uniformity", options="all")["n_rejected"] > 40
    assert row(unplanted["variance"], "uniformity", options="all")["n_rejected"] == 0


def test_the_cap_alone_does_not_explain_what_uncertainty_makes(planted, unplanted):
    assert row(planted["controls"], "cap_null", options="4", subset="cap one")["p"] < 0.01
    assert row(unplanted["controls"], "cap_null", options="4", subset="cap one")["p"] > 0.01
    disjoint = row(planted["controls"], "disjoint", statistic="flip rate")
    assert disjoint["items"].high < -0.5
    assert disjoint["benchmarks"].high < -0.5


def test_corrections_move_the_skew_and_products_the_flip_rate(planted, unplanted):
    found, nothing = planted["operations"], unplanted["operations"]
    pride, product = (row(found, "operations", operation=name) for name in ("pride", "reversal-product"))
    assert pride["log_positional_skew"].high < 0
    assert product["log_flip_rate"].high < 0
    assert pride["log_flip_rate"].value > product["log_flip_rate"].value
    both = row(found, "operations", operation="pride>reversal-product")
    assert both["placement_range"].value < min(pride["placement_range"].value, product["placement_range"].value)
    # Two guesses multiplied still settle more often than one; a prior of nothing settles none.
    assert row(nothing, "operations", operation="pride")["log_flip_rate"].value == pytest.approx(0, abs=0.02)


def test_rankings_are_reordered_by_what_leans(planted, unplanted):
    found = planted["leaderboard"].table("benchmarks")
    keys = [column.key for column in found.columns]
    shares = [r[keys.index("rank_reversals")] for r in found.rows]
    # Nobody is better than anybody else in the other panel: most pairs change order.
    others = [r[keys.index("rank_reversals")] for r in unplanted["leaderboard"].table("benchmarks").rows]
    assert np.mean(shares) < 0.5 * np.mean(others)


def test_comparisons_of_nothing_are_seldom_resolved(planted, unplanted):
    name = {"comparison": "checkpoint pairs"}
    found, nothing = (row(f["pairs"], "opposite", **name) for f in (planted, unplanted))
    assert found["n"] == nothing["n"] == 12 * 41 * 40 // 2
    # Both of two changes of nothing are resolved in at most one pair of twenty.
    assert nothing["n_resolved_pooled_sd"] < 0.05 * nothing["n"]
    assert found["n_resolved_pooled_sd"] > 0.3 * found["n"]
