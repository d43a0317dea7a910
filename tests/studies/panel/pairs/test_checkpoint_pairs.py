"""Comparisons read off the pooled SD: planted directions, PriDe against loops, trends against SciPy."""

import math
from dataclasses import replace

import numpy as np
import pytest
from bench.panel_laws import Laws, answered, simulated_panel
from scipy import stats

from orderbias.operations import calibration_items
from orderbias.predictions import Predictions
from orderbias.studies.panel import Checkpoint, Panel, Settings, panel_cell
from orderbias.studies.panel.pairs import pairs, post_training_pairs
from orderbias.studies.panel.pairs.pride import before_and_after, log_changes, pride_cells, skew_shares
from orderbias.studies.panel.pairs.trends import directions, scale_trends

SETTINGS = Settings(resamples=500, seed=1)
BASE, POST = Checkpoint("base"), Checkpoint("post", base="base")


def cell(checkpoint, rng, *, wobble, prior=0.0, benchmark="quiz", n_items=400, k=4, strength=2.0, logprobs=True):
    """A cell of items answered with a lean to the first place and a wobble."""
    scores = rng.normal(0, 1, (n_items, k))
    gold = rng.integers(0, k, n_items)
    scores[np.arange(n_items), gold] += strength
    lean = prior * (np.arange(k) == 0)
    p = answered(scores, gold, lean, wobble, "cyclic", rng)
    p = Predictions(
        p.choice, p.positions, p.gold, logprobs=p.logprobs if logprobs else None, benchmark=benchmark,
        readout="first-token",
    )  # fmt: skip
    return panel_cell(p, checkpoint)


def row(finding, comparison, table="opposite"):
    t = finding.table(table)
    found = next(r for r in t.rows if r[0] == comparison)
    return dict(zip([c.key for c in t.columns], found, strict=True))


def test_a_planted_opposite_pair_is_found_and_resolved():
    rng = np.random.default_rng(0)
    # The base moves much without a lean, the post-trained one little and always towards the first place.
    panel = Panel((cell(BASE, rng, wobble=3.0), cell(POST, rng, wobble=0.1, prior=1.5)), settings=SETTINGS)
    found = pairs(panel)
    told = row(found, "post-training pairs")
    assert (told["n"], told["opposite_pooled_sd"], told["n_resolved_pooled_sd"]) == (1, 1.0, 1)
    assert told["opposite_resolved_pooled_sd"] == 1.0
    (point,) = found.series["post-training"]
    assert point["opposite"]
    assert point["resolved"]
    assert point["flip_rate_change"] < 0 < point["pooled_sd_change"]
    assert point["flip_rate_high"] < 0 < point["pooled_sd_low"]
    assert point["name"] == "base to post on quiz"
    assert any("In 1 of those with fewer flips the pooled SD rises" in s for s in found.sentences)


def test_a_planted_pair_that_moves_one_way_is_not_opposite():
    rng = np.random.default_rng(0)
    panel = Panel((cell(BASE, rng, wobble=0.5, prior=2.5), cell(POST, rng, wobble=0.1, prior=0.5)), settings=SETTINGS)
    told = row(pairs(panel), "post-training pairs")
    assert (told["opposite_pooled_sd"], told["n_resolved_pooled_sd"], told["opposite_resolved_pooled_sd"]) == (0, 1, 0)


def test_little_is_resolved_where_all_checkpoints_are_alike():
    rng = np.random.default_rng(5)
    cells = [cell(Checkpoint(f"m{i}"), rng, wobble=1.0, prior=0.5, n_items=200) for i in range(12)]
    told = row(pairs(Panel(tuple(cells), settings=SETTINGS)), "checkpoint pairs")
    assert told["n"] == 66
    assert told["n_resolved_pooled_sd"] <= 5


def test_pairs_are_of_one_benchmark_and_one_number_of_options():
    rng = np.random.default_rng(0)
    cells = (
        cell(BASE, rng, wobble=1.0, benchmark="a"), cell(POST, rng, wobble=1.0, benchmark="b"),
        cell(POST, rng, wobble=1.0, benchmark="a", k=3), cell(Checkpoint("other", base="absent"), rng, wobble=1.0,
                                                            benchmark="a"),
    )  # fmt: skip
    pool = Panel(cells).pool()
    groups = pool.by_benchmark
    assert sorted(tuple(group.tolist()) for group in groups) == [(0, 3), (1,), (2,)]
    assert post_training_pairs(pool, groups) == [[], [], []]
    found = pairs(Panel(cells, settings=SETTINGS))
    assert "post-training" not in found.series
    assert row(found, "checkpoint pairs")["n"] == 1
    assert any(s.startswith("Post-training pairs: no checkpoint has its base") for s in found.parts_skipped)


def test_every_share_counts_what_the_series_shows():
    panel = simulated_panel(10, 4, 150, settings=SETTINGS, seed=2)
    found = pairs(panel)
    points, told = found.series["post-training"], row(found, "post-training pairs")
    assert told["n"] == len(points) == 20
    opposite = [p["flip_rate_change"] * p["pooled_sd_change"] < 0 for p in points]
    resolved = [
        all(p[f"{m}_low"] > 0 or p[f"{m}_high"] < 0 for m in ("flip_rate", "pooled_sd")) for p in points
    ]  # fmt: skip
    assert [p["opposite"] for p in points] == opposite
    assert [p["resolved"] for p in points] == resolved
    assert told["opposite_pooled_sd"] == pytest.approx(np.mean(opposite))
    assert told["n_resolved_pooled_sd"] == sum(resolved)
    assert told["opposite_resolved_pooled_sd"] == pytest.approx(np.mean(np.array(opposite)[resolved]))
    by_cell = {(c.checkpoint.name, c.benchmark): c for c in panel.cells}
    for p in points:
        ends = [by_cell[p[who], p["benchmark"]].measures for who in ("base", "post_trained")]
        for m in ("flip_rate", "pooled_sd", "per_item_kl"):
            assert p[f"{m}_change"] == pytest.approx(ends[1][m] - ends[0][m])
    sizes = found.table("post-training-sizes").rows
    assert sizes[0][1] == 20
    assert sizes[1][1] + sizes[2][1] == sum(opposite)
    assert sizes[0][2] == pytest.approx(np.median([abs(p["pooled_sd_change"]) for p in points]))


def test_all_pairs_are_the_changes_between_cells():
    panel = simulated_panel(5, 2, 150, settings=SETTINGS, seed=4)
    told = row(pairs(panel), "checkpoint pairs")
    opposite = []
    for b in ("benchmark-0", "benchmark-1"):
        cells = [c.measures for c in panel.cells if c.benchmark == b]
        opposite += [
            (x["flip_rate"] - y["flip_rate"]) * (x["per_item_kl"] - y["per_item_kl"]) < 0
            for i, x in enumerate(cells) for y in cells[:i]
        ]  # fmt: skip
    assert told["n"] == 20
    assert told["opposite_per_item_kl"] == pytest.approx(np.mean(opposite))


def pride_by_loops(p, seed):
    """Return what the log of pooled SD and of skew change by under PriDe, from the formulas of the paper."""
    chosen, k = calibration_items(p, 0.05, seed), p.n_options
    logprobs = p.logprobs[:, :k]
    prior = np.zeros(k)
    for item in logprobs[chosen]:
        means = np.exp([sum(item[s][r] for s in range(k)) / k for r in range(k)])
        prior += means / means.sum()
    prior /= chosen.sum()
    logs = []
    for corrected in (logprobs[~chosen], logprobs[~chosen] - np.log(prior)):
        f, g, flips = np.zeros(k), np.zeros(k), 0
        for item in corrected:
            places = [int(np.argmax(scores)) for scores in item]
            contents = {(r - s) % k for s, r in enumerate(places)}
            histogram = np.bincount(places, minlength=k) / k
            f += histogram
            flips += len(contents) > 1
            g += histogram * (len(contents) > 1)
        n = len(corrected)
        logs.append((math.log((f / n).std()), math.log((g / flips).std()), math.log(flips / n)))
    return np.subtract(logs[1], logs[0])


@pytest.mark.parametrize("k", [2, 4])
def test_pride_on_a_cell_is_what_loops_find(k):
    rng = np.random.default_rng(k)
    one = cell(BASE, rng, wobble=0.7, prior=1.0, k=k, n_items=120)
    _, before, after = before_and_after(one, seed=3)
    np.testing.assert_allclose(log_changes(before, after), pride_by_loops(one.predictions, 3), rtol=1e-9)


def test_attribution_is_the_median_over_the_cells_that_fall_or_rise():
    panel = simulated_panel(8, 3, 150, laws=Laws(lean=0.3), settings=SETTINGS, seed=7)
    found = pairs(panel)
    expected = [pride_by_loops(c.predictions, SETTINGS.seed) for c in panel.cells]
    for name, falls in (("lowers the pooled SD", True), ("raises the pooled SD", False)):
        here = [e for e in expected if (e[0] < 0) == falls]
        assert here, "the panel must have both kinds"
        told = row(found, name, "pride-attribution")
        assert told["n_cells"] == len(here)
        assert told["skew_share"].value == pytest.approx(np.median([e[1] / e[0] for e in here]))
        assert told["flip_rate_share"].value == pytest.approx(np.median([e[2] / e[0] for e in here]))
        assert told["flip_rate_not_lower"].value == pytest.approx(np.mean([e[2] > -1e-9 for e in here]))
        assert told["skew_share"].low <= told["skew_share"].value <= told["skew_share"].high


def test_pride_takes_a_strong_lean_out_and_finds_little_where_nobody_leans():
    leaning = pairs(simulated_panel(6, 2, 300, laws=Laws(lean=2.0, front=1.0), settings=SETTINGS, seed=1))
    upright = pairs(simulated_panel(6, 2, 300, laws=Laws(lean=0.0), settings=SETTINGS, seed=1))
    assert row(leaning, "lowers the pooled SD", "pride-attribution")["n_cells"] >= 10
    assert row(leaning, "lowers the pooled SD", "pride-attribution")["skew_share"].value > 0.5
    assert row(leaning, "PriDe cells")["n_resolved_pooled_sd"] >= 6
    assert row(upright, "PriDe cells")["n_resolved_pooled_sd"] <= 1


def test_the_share_of_the_skew_and_that_of_the_flip_rate_add_up():
    changed = np.array([[-1.0, -1.2, 0.2], [0.5, 0.5, 0.0]])
    np.testing.assert_allclose(skew_shares(changed), [1.2, 1.0])
    np.testing.assert_allclose(1 - skew_shares(changed), changed[:, 2] / changed[:, 0])


def test_cells_without_flips_have_no_logarithm_and_one_checkpoint_no_interval():
    rng = np.random.default_rng(0)
    stable = cell(BASE, rng, wobble=0.0, strength=40.0)
    leaning = cell(BASE, rng, wobble=0.5, prior=2.0, benchmark="other")
    panel = Panel((stable, leaning), settings=SETTINGS)
    pool = panel.pool()
    found = pride_cells(pool, pool.by_benchmark, SETTINGS)
    assert np.isnan(found.attribution[0]).all()
    assert not np.isnan(found.attribution[1]).any()
    told = row(pairs(panel), "lowers the pooled SD", "pride-attribution")
    assert told["n_cells"] == 1
    assert told["skew_share"].low is None


def test_a_prior_that_cannot_be_divided_out_is_said():
    rng = np.random.default_rng(0)
    never = cell(BASE, rng, wobble=0.5)
    logprobs = never.predictions.logprobs.copy()
    logprobs[..., 3] = -np.inf
    p = replace(never.predictions, logprobs=logprobs, choice=np.zeros((400, 4)))
    found = pairs(Panel((panel_cell(p, BASE), cell(POST, rng, wobble=0.5)), settings=SETTINGS))
    assert row(found, "PriDe cells")["n"] == 1
    assert row(found, "PriDe cells")["n_left_out"] == 1
    assert any(s.startswith("base on quiz: PriDe cannot be applied.") for s in found.parts_skipped)


def test_trends_are_those_of_scipy():
    panel = simulated_panel(41, 2, 60, settings=Settings(resamples=100), seed=3)
    trends = scale_trends(panel.pool())
    assert trends
    for t in trends:
        cells = [
            c for c in panel.cells
            if (c.checkpoint.family, c.checkpoint.post_trained, c.benchmark)
            == (t.family, t.post_trained, t.benchmark)
        ]  # fmt: skip
        sizes = [c.checkpoint.parameters for c in cells]
        assert t.n_sizes == len(set(sizes)) >= 3
        for i, m in enumerate(("flip_rate", "pooled_sd", "per_item_kl")):
            expected = stats.spearmanr(sizes, [c.measures[m] for c in cells]).statistic
            assert t.correlations[i] == pytest.approx(expected, nan_ok=True)
    told = row(pairs(panel), "scale trends")
    way = directions(trends)
    assert told["n"] == len(trends)
    assert told["n_resolved_pooled_sd"] is None
    assert told["opposite_pooled_sd"] == pytest.approx(np.mean(way[:, 0] * way[:, 1] < 0))


def test_trends_need_three_sizes_and_what_they_are_grouped_by():
    rng = np.random.default_rng(0)

    def sized(sizes, **known):
        named = {"family": "F", "post_trained": False} | known
        return Panel(
            tuple(cell(Checkpoint(f"m{i}", parameters=s, **named), rng, wobble=1.0) for i, s in enumerate(sizes))
        ).pool()

    assert len(scale_trends(sized([1e9, 2e9, 3e9]))) == 1
    assert scale_trends(sized([1e9, 2e9, 2e9])) == ()
    assert scale_trends(sized([1e9, 2e9, None])) == ()
    assert scale_trends(sized([1e9, 2e9, 3e9], family=None)) == ()
    assert scale_trends(sized([1e9, 2e9, 3e9], post_trained=None)) == ()
    assert directions(()).shape == (0, 3)


def test_what_cannot_be_compared_is_skipped_with_its_reason():
    assert pairs(Panel(())).skipped.endswith("under the cyclic orderings; there are 0 cells without either.")
    alone = Panel((cell(BASE, np.random.default_rng(0), wobble=1.0, logprobs=False),), settings=SETTINGS)
    assert "there are 1 cells" in pairs(alone).skipped
    rng = np.random.default_rng(0)
    two = Panel(
        tuple(cell(c, rng, wobble=1.0, logprobs=False) for c in (BASE, POST)), settings=SETTINGS
    )  # fmt: skip
    found = pairs(two)
    assert [r[0] for r in found.table("opposite").rows] == ["post-training pairs", "checkpoint pairs"]
    assert {s.split(":")[0] for s in found.parts_skipped} == {"PriDe cells", "Scale trends"}


def test_pairs_without_common_items_are_left_out_and_counted():
    rng = np.random.default_rng(0)
    base, post = cell(BASE, rng, wobble=1.0, n_items=50), cell(POST, rng, wobble=1.0, n_items=50)
    other = replace(post.predictions, item_ids=np.array([f"other-{i}" for i in range(50)], object))
    third = cell(Checkpoint("third"), rng, wobble=1.0, n_items=50)
    found = pairs(Panel((base, panel_cell(other, POST), third), settings=SETTINGS))
    assert "post-training" not in found.series
    told = row(found, "checkpoint pairs")
    assert (told["n"], told["n_left_out"]) == (1, 2)


def test_the_seed_decides_everything():
    panel = simulated_panel(4, 2, 100, settings=SETTINGS, seed=9)
    assert pairs(panel).as_dict() == pairs(panel).as_dict()
