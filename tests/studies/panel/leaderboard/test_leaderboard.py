"""Rankings under reordering: loops, SciPy, the library's own operations, and rankings whose fate is known."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from bench.panel_laws import answered, simulated_panel
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from orderbias.operations import chain, parse_operation, split, take_items
from orderbias.orderings import parse_design
from orderbias.predictions import Predictions
from orderbias.studies.panel import Checkpoint, Panel, Settings, panel_cell
from orderbias.studies.panel.leaderboard import leaderboard
from orderbias.studies.panel.leaderboard.standings import (
    Board,
    build_board,
    items_to_resolve,
    kendall,
    listing,
    ranks,
    reversing,
    stand,
)

SETTINGS = Settings(resamples=400, seed=1)


def rows(finding, table):
    t = finding.table(table)
    return [dict(zip([c.key for c in t.columns], r, strict=True)) for r in t.rows]


def cell(name, choice, gold, benchmark="quiz", ids=None, readout="first-token"):
    """A cell of given contents under the rotations, without probabilities."""
    k = choice.shape[1]
    ids = [f"q{i}" for i in range(len(choice))] if ids is None else ids
    p = Predictions(
        choice, parse_design("cyclic").design(k).positions, gold, item_ids=np.array(ids, object), benchmark=benchmark,
        readout=readout,
    )  # fmt: skip
    return panel_cell(p, Checkpoint(name))


def always_place(place, n, k=4):
    """Contents of a model that takes one place whatever stands there."""
    return np.tile((place - np.arange(k)) % k, (n, 1))


@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 7), st.integers(1, 4)), elements=st.integers(0, 3)))
def test_ranks_are_those_of_scipy(right):
    np.testing.assert_array_equal(ranks(right), stats.rankdata(-right, axis=0))


@given(hnp.arrays(np.int64, st.tuples(st.integers(2, 6), st.integers(2, 4)), elements=st.integers(0, 4)))
def test_a_pair_reverses_if_two_rotations_disagree(right):
    found = reversing(right)
    for i, j in combinations(range(len(right)), 2):
        signs = {int(np.sign(a - b)) for a, b in zip(right[i], right[j], strict=True)}
        assert found[i, j] == found[j, i] == ({-1, 1} <= signs)
    assert not found.diagonal().any()


def board_of(counts):
    """A board whose models have given numbers of right answers under each rotation."""
    n_models, k = counts.shape
    by_item = np.arange(int(counts.max()) + 1) < counts[..., None]
    right = np.concatenate([by_item, by_item.sum(axis=1, keepdims=True)], axis=1).astype(np.int16)
    names = tuple(f"m{i}" for i in range(n_models))
    return Board("b", "r", k, names, ("canonical", *(f"rotation {s}" for s in range(1, k)), "none"), right)


@given(hnp.arrays(np.int64, st.tuples(st.integers(2, 6), st.integers(2, 4)), elements=st.integers(0, 4)))
def test_if_no_neighbours_change_order_no_pair_does(counts):
    board = board_of(counts)
    order, reverses = listing(board), reversing(board.by_rotation)
    if not any(reverses[a, b] for a, b in pairwise(order)):
        assert not reverses.any()
        assert (np.diff(board.by_rotation[order], axis=0) <= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_items_to_resolve_is_the_least_number_that_excludes_zero(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 5, 80), rng.integers(0, 4, 80)
    d, n = a - b, items_to_resolve(a, b, 0.95)

    def half(m):
        return stats.norm.interval(0.95)[1] * d.std() / np.sqrt(m)

    assert half(n) <= abs(d.mean()) < half(n - 1)
    assert items_to_resolve(a, a, 0.95) is None


def test_kendall_counts_pairs():
    rng = np.random.default_rng(0)
    a, b = rng.permutation(9), rng.permutation(9)
    agree = sum(np.sign(a[i] - a[j]) * np.sign(b[i] - b[j]) for i, j in combinations(range(9), 2))
    assert kendall(a, b) == pytest.approx(agree / 36)
    assert np.isnan(kendall(np.ones(3, int), np.arange(3)))


@pytest.fixture(scope="module")
def small():
    return simulated_panel(6, 3, 120, options=(4, 2, 3), settings=SETTINGS, seed=5)


def test_accuracies_are_those_of_the_library_operations(small):
    for benchmark in ("benchmark-0", "benchmark-1", "benchmark-2"):
        cells = [c for c in small.cells if c.benchmark == benchmark]
        board = build_board(cells, 0)
        assert ("reversal-product" in board.conditions) == (board.n_options > 2)
        for m, c in enumerate(cells):
            parts = split(c.predictions)
            assert board.n_items == parts.evaluation.n_items
            for i, name in enumerate(board.conditions):
                if " " in name or name == "canonical":
                    slot = 0 if name == "canonical" else int(name.split()[1])
                    right = parts.evaluation.choice[:, slot] == parts.evaluation.gold
                else:
                    operation = chain(*(parse_operation(step) for step in name.split(">")))
                    p = operation.fit(parts.calibration).apply(parts.evaluation)
                    right = p.choice[:, p.presented] == p.gold[:, None]
                assert board.accuracy[m, i] == pytest.approx(right.mean()), (c.name, name)


def test_every_table_against_loops(small):
    found = leaderboard(small)
    for told in rows(found, "benchmarks"):
        board = build_board([c for c in small.cells if c.benchmark == told["benchmark"]], SETTINGS.seed)
        k, n = board.n_options, len(board.checkpoints)
        accuracy = {name: board.accuracy[m] for m, name in enumerate(board.checkpoints)}
        ranked = rows(found, f"ranks-{told['benchmark']}")
        names = [r["checkpoint"] for r in ranked]
        assert [accuracy[name][0] for name in names] == sorted((a[0] for a in accuracy.values()), reverse=True)

        def changes(a, b, accuracy=accuracy, k=k):
            return any(accuracy[a][s] > accuracy[b][s] for s in range(k)) and any(
                accuracy[a][s] < accuracy[b][s] for s in range(k)
            )

        unstable = [pair for pair in pairwise(names) if changes(*pair)]
        assert told["n_adjacent_changing"] == len(unstable)
        assert told["n_pairs_changing"] == sum(changes(a, b) for a, b in combinations(names, 2))
        assert told["rank_reversals"] == pytest.approx(told["n_pairs_changing"] / (n * (n - 1) / 2))
        assert told["survives"] == ("no" if unstable else "yes")
        expected = stats.rankdata(-board.accuracy, axis=0)
        for r in ranked:
            mine = expected[board.checkpoints.index(r["checkpoint"])]
            assert [v.value for key, v in r.items() if key.startswith("rank_")] == mine.tolist()
        assert told["n_rank_changes"] == sum(len(set(row[:k])) > 1 for row in expected)
        listed = [r for r in rows(found, "order-dependent") if r["benchmark"] == told["benchmark"]]
        assert [(r["ahead"], r["behind"]) for r in listed] == unstable
        for r in listed:
            gaps = accuracy[r["ahead"]][:k] - accuracy[r["behind"]][:k]
            assert (r["difference_lowest"], r["difference_highest"]) == pytest.approx((gaps.min(), gaps.max()))
            assert r["difference"].value == pytest.approx(gaps.mean())
            assert r["difference"].low <= gaps.mean() <= r["difference"].high
            assert r["n_rotations_behind"] == (gaps < -1e-12).sum()
        for r in rows(found, "agreement"):
            if r["benchmark"] == told["benchmark"]:
                column = board.accuracy[:, board.conditions.index(r["condition"])]
                assert r["tau"] == pytest.approx(stats.kendalltau(board.accuracy[:, 0], column).statistic)


def test_intervals_are_those_of_a_bootstrap_of_shared_items(small):
    board = build_board([c for c in small.cells if c.benchmark == "benchmark-0"], SETTINGS.seed)
    standing = stand(board, replace(SETTINGS, resamples=6000), np.random.default_rng(0))
    rng = np.random.default_rng(1)
    drawn, gaps = [], []
    for _ in range(3000):
        right = board.right[:, :, rng.integers(0, board.n_items, board.n_items)].sum(axis=2)
        drawn.append(stats.rankdata(-right, axis=0))
        mean = right[standing.order, board.n_options] / board.n_items / board.n_options
        gaps.append(mean[:-1] - mean[1:])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    # Ranks come in halves, so an end may fall on the next.
    assert np.abs(standing.low - low).max() <= 0.5
    assert np.abs(standing.high - high).max() <= 0.5
    assert np.mean(standing.low == low) > 0.9
    assert np.mean(standing.high == high) > 0.9
    low, high = np.quantile(gaps, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(standing.gap_low, low, atol=0.013)
    np.testing.assert_allclose(standing.gap_high, high, atol=0.013)


def test_models_that_lean_to_opposite_places_change_order_and_are_named():
    gold = np.zeros(60, int)  # the right option is always first in the canonical order
    panel = Panel(
        (cell("last", always_place(3, 60), gold), cell("first", always_place(0, 60), gold)), settings=SETTINGS
    )
    found = leaderboard(panel)
    (told,) = rows(found, "benchmarks")
    assert (told["n_adjacent_changing"], told["n_rank_changes"], told["survives"]) == (1, 2, "no")
    assert "On quiz 1 of 1 adjacent pair changes order between rotations: first and last." in found.sentences
    (pair,) = rows(found, "order-dependent")
    assert (pair["difference_canonical"], pair["difference_lowest"], pair["difference"].value) == (1.0, -1.0, 0.0)
    assert pair["items_to_resolve"] is None


def test_a_ranking_of_models_far_apart_survives():
    rng = np.random.default_rng(0)
    cells = []
    gold = rng.integers(0, 4, 300)
    for name, strength in (("weak", 0.5), ("middle", 2.0), ("strong", 5.0)):
        scores = rng.normal(0, 1, (300, 4))
        scores[np.arange(300), gold] += strength
        p = answered(scores, gold, np.zeros(4), 0.3, "cyclic+reversals", rng)
        cells.append(panel_cell(replace(p, benchmark="quiz", readout="first-token"), Checkpoint(name)))
    found = leaderboard(Panel(tuple(cells), settings=SETTINGS))
    assert found.sentences == (
        "But for ties, 1 of 1 rankings are the same under every rotation: quiz.",
        "On quiz no adjacent pair of the 3 models changes order under any rotation.",
    )
    (told,) = rows(found, "benchmarks")
    assert (told["n_pairs_changing"], told["lowest_tau"], told["survives"]) == (0, 1.0, "yes")
    ranked = rows(found, "ranks-quiz")
    assert [r["checkpoint"] for r in ranked] == ["strong", "middle", "weak"]
    for i, r in enumerate(ranked):
        for key in ("rank_canonical", "rank_rotation_3", "rank_pride", "rank_pride_then_reversal_product"):
            assert (r[key].value, r[key].low, r[key].high) == (i + 1, i + 1, i + 1)


def test_models_that_answer_alike_tie_and_a_tie_is_no_change():
    gold = np.arange(40) % 4
    same = always_place(1, 40)
    found = leaderboard(Panel((cell("a", same, gold), cell("b", same, gold)), settings=SETTINGS))
    (told,) = rows(found, "benchmarks")
    assert (told["n_pairs_changing"], told["n_rank_changes"], told["lowest_tau"]) == (0, 0, None)
    assert {r["tau"] for r in rows(found, "agreement")} == {None}
    assert {r["rank_canonical"].value for r in rows(found, "ranks-quiz")} == {1.5}


def test_models_are_ranked_on_the_items_that_all_share():
    rng = np.random.default_rng(2)
    gold = rng.integers(0, 4, 50)
    whole = np.where(rng.random((50, 4)) < 0.6, gold[:, None], 0)
    part = np.where(rng.random((50, 4)) < 0.5, gold[:, None], 1)
    kept = rng.permutation(50)[:30]
    board = build_board([
        cell("whole", whole, gold), cell("part", part[kept], gold[kept], ids=[f"q{i}" for i in kept])
    ], 0)  # fmt: skip
    assert board.n_items == 30
    for m, choice in enumerate((whole, part)):
        right = choice[kept] == gold[kept][:, None]
        np.testing.assert_allclose(board.accuracy[m], [*right.mean(axis=0), right.mean()])


def test_an_operation_that_one_model_does_not_allow_is_left_out_and_said(small):
    cells = [c for c in small.cells if c.benchmark == "benchmark-0"]
    bare = panel_cell(replace(cells[0].predictions, logprobs=None), cells[0].checkpoint)
    no_reversals = take_items(cells[1].predictions, np.arange(120))
    shown = np.flatnonzero(no_reversals.presented)
    cyclic = panel_cell(
        Predictions(
            no_reversals.choice[:, shown], no_reversals.positions[shown], no_reversals.gold,
            logprobs=no_reversals.logprobs[:, shown], benchmark="benchmark-0", readout="first-token",
        ),
        cells[1].checkpoint,
    )  # fmt: skip
    assert build_board([bare, *cells[2:]], 0).conditions[-1] == "none"
    assert build_board([cyclic, *cells[2:]], 0).conditions[-2:] == ("pride", "batch-calibration")
    found = leaderboard(Panel((cyclic, *cells[2:]), settings=SETTINGS))
    assert found.parts_skipped == (
        "benchmark-0: without reversal-product, pride>reversal-product, which not all of its models' answers allow.",
    )


def test_what_cannot_be_ranked_is_skipped_with_its_reason():
    gold = np.arange(20) % 4
    one, two = (cell(name, always_place(p, 20), gold) for name, p in (("a", 0), ("b", 1)))
    unknown = cell("c", always_place(0, 20), np.full(20, -1))
    apart = cell("d", always_place(0, 20), gold, ids=[f"z{i}" for i in range(20)])
    for cells, why in (
        ((), "needs a benchmark that two checkpoints answered"),
        ((one,), "quiz: only one model answered it."),
        ((one, unknown), "quiz: not every item has a gold answer."),
        ((one, apart), "quiz: its models share fewer than two items."),
    ):
        assert why in leaderboard(Panel(cells, settings=SETTINGS)).skipped
    alone = cell("a", always_place(0, 20), gold, benchmark="other")
    found = leaderboard(Panel((one, two, alone), settings=SETTINGS))
    assert "other: only one model answered it." in found.parts_skipped


def test_readouts_and_numbers_of_options_are_ranked_apart():
    gold = np.arange(20) % 3
    cells = [
        cell(name, always_place(p, 20, k), gold % k, readout=readout)
        for name, p in (("a", 0), ("b", 1)) for k, readout in ((4, "first-token"), (3, "first-token"), (4, "direct"))
    ]  # fmt: skip
    found = leaderboard(Panel(tuple(cells), settings=SETTINGS))
    assert [r["benchmark"] for r in rows(found, "benchmarks")] == [
        "quiz, 4 options", "quiz, 3 options", "quiz (direct), 4 options"
    ]  # fmt: skip
    assert {p["benchmark"] for p in found.series["ranks"]} == {r["benchmark"] for r in rows(found, "benchmarks")}


def test_the_seed_decides_everything(small):
    assert leaderboard(small).as_dict() == leaderboard(small).as_dict()
