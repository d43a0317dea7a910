"""The label-free study's statistics against the paper's own counts, statsmodels and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar

from orderbias.errors import ArgumentError
from orderbias.inference.proportions import clopper_pearson
from orderbias.orderings import cyclic
from orderbias.predictions import Predictions
from orderbias.studies.checks import Lots
from orderbias.studies.grid import CELLS, attribute
from orderbias.studies.label_free import compare_arms
from orderbias.studies.label_free_cell import CellData, analyse
from orderbias.studies.recalls import rstd

ROTATIONS = cyclic(4).positions


def arm(choice: np.ndarray, gold: np.ndarray) -> Predictions:
    return Predictions(np.asarray(choice), ROTATIONS, np.asarray(gold))


def right_or_wrong(right: np.ndarray, gold: np.ndarray) -> Predictions:
    """An arm with one answer a question, whatever the order."""
    choice = np.where(right, gold, (gold + 1) % 4)
    return arm(np.repeat(choice[:, None], 4, axis=1), gold)


def test_the_counts_of_the_paper() -> None:
    """174 broken and 210 fixed give p = 0.074; the intervals printed for 1,000 questions."""
    gold = np.arange(1000) % 4
    direct = np.arange(1000) < 580
    changed = direct.copy()
    changed[:174] = False
    changed[580:790] = True
    rows = compare_arms({"direct": right_or_wrong(direct, gold), "two": right_or_wrong(changed, gold)}, resamples=50)
    test = rows[1].mcnemar
    assert test is not None
    assert (test.broken, test.fixed) == (174, 210)
    assert round(test.p_value, 3) == 0.074
    assert test.p_value == pytest.approx(mcnemar([[0, 174], [210, 0]], exact=True).pvalue)
    for k, low, high in ((683, 65.3, 71.2), (849, 82.5, 87.1), (724, 69.5, 75.2), (580, 54.9, 61.1)):
        ends = clopper_pearson(k, 1000)
        assert [round(100 * float(end), 1) for end in ends] == [low, high]


answers = st.lists(st.tuples(st.integers(0, 3), *[st.integers(-1, 3)] * 8), min_size=1, max_size=25)


@settings(max_examples=60)
@given(answers)
def test_every_figure_against_a_loop(drawn: list[tuple[int, ...]]) -> None:
    gold = np.array([row[0] for row in drawn])
    a, b = np.array([row[1:5] for row in drawn]), np.array([row[5:] for row in drawn])
    rows = compare_arms({"direct": arm(a, gold), "other": arm(b, gold)}, resamples=20)
    for found, choices in zip(rows, (a, b), strict=True):
        usable = [row for row in choices.tolist() if min(row) >= 0]
        flips = [len(set(row)) > 1 for row in usable]
        assert found.n_usable == len(usable)
        assert found.flip_rate.value == (pytest.approx(np.mean(flips)) if usable else None)
        assert found.accuracy.value == pytest.approx(np.mean([r[0] == g for r, g in zip(choices, gold, strict=True)]))
        recalls = [
            [row[0] == g for row, g in zip(choices.tolist(), gold.tolist(), strict=True) if g == place and row[0] >= 0]
            for place in range(4)
        ]
        if all(recalls):
            assert found.rstd.value == pytest.approx(100 * np.std([np.mean(r) for r in recalls]))
        else:
            assert found.rstd.value is None
    test = rows[1].mcnemar
    assert test is not None
    assert test.broken == sum(x[0] == g != y[0] for x, y, g in zip(a, b, gold, strict=True))
    both = [(x, y, g) for x, y, g in zip(a.tolist(), b.tolist(), gold, strict=True) if min(x) >= 0 and min(y) >= 0]
    together = rows[1].together
    assert together is not None
    assert together.sensitivity.n == together.accuracy.n == len(both)
    if both:
        wanted = np.mean([(len(set(y)) > 1) - (len(set(x)) > 1) for x, y, _ in both])
        assert together.sensitivity.value == pytest.approx(wanted)
        assert together.accuracy.value == pytest.approx(np.mean([int(y[0] == g) - int(x[0] == g) for x, y, g in both]))
    else:
        assert together.sensitivity.value is None
        assert together.text == "not known"


@settings(max_examples=20)
@given(answers)
def test_all_of_it_again_on_the_items_that_every_arm_answered(drawn: list[tuple[int, ...]]) -> None:
    """The tables of the common items are those of a study that asked no others."""
    gold = np.array([row[0] for row in drawn])
    arms = [np.array([row[1:5] for row in drawn]), np.array([row[5:] for row in drawn])]
    kept = np.array([min(row[1:]) >= 0 for row in drawn])
    types = [("a", "b")[row[0] % 2] for row in drawn]

    def data(rows: np.ndarray) -> CellData:
        direct, other, third = (
            arm(arms[0][rows], gold[rows]),
            arm(arms[1][rows], gold[rows]),
            arm(arms[0][rows], gold[rows]),
        )
        lots = Lots(np.stack([arms[1][rows][:, 1], arms[1][rows][:, 2]]), rows[rows])
        cells = {"two-stage": other, "hidden+match": third, "visible+model": direct, "visible+match": other}
        chosen = [kind for kind, kept in zip(types, rows, strict=True) if kept]
        return CellData("m", "b", {"direct": direct, **cells}, chosen, {"two-stage": lots}, {"direct": other})

    found = analyse(data(np.ones(len(drawn), bool)), resamples=20)
    if not kept.any():
        assert found.common is None
        return
    alone = analyse(data(kept), resamples=20)
    assert found.common is not None
    assert found.common.as_dict() == alone.every.as_dict() == alone.as_dict()["common"]
    assert found.common.n_items == kept.sum()
    assert found.common.grid is not None
    assert found.common.ties
    assert found.common.fallbacks


@pytest.mark.parametrize(("broken", "fixed"), [(0, 4), (9, 2), (0, 5), (0, 6), (9, 20), (9, 21), (2, 10)])
def test_what_is_said_of_accuracy_is_what_the_exact_test_says(broken: int, fixed: int) -> None:
    """A percentile bootstrap would call 4 fixed of 100 with none broken a rise; binomially it is p = 0.125."""
    gold = np.arange(100) % 4
    before, after = np.arange(100) < 50, np.arange(100) < 50
    after[:broken] = False
    after[50 : 50 + fixed] = True
    rows = compare_arms({"direct": right_or_wrong(before, gold), "b": right_or_wrong(after, gold)}, resamples=4000)
    together, test = rows[1].together, rows[1].mcnemar
    assert together is not None
    assert test is not None
    assert test.p_value == pytest.approx(binomtest(broken, broken + fixed).pvalue)
    assert (together.accuracy.direction != 0) == (test.p_value < 0.05)


def test_more_answers_are_no_better_answers() -> None:
    """An arm that answers all, where direct answers half, and is worse on that half: not called more accurate."""
    gold = np.zeros(100, int)
    direct = np.full((100, 4), -1)
    direct[:50] = 0
    other = np.zeros((100, 4), int)
    other[:20] = 1
    rows = compare_arms({"direct": arm(direct, gold), "other": arm(other, gold)}, resamples=500)
    assert rows[1].accuracy.value == 0.8 > rows[0].accuracy.value == 0.5
    together = rows[1].together
    assert together is not None
    assert (together.accuracy.value, together.accuracy.n) == (-0.4, 50)
    assert together.text == "sensitivity did not move measurably, accuracy fell"


def test_rstd_interval_covers_what_is_planted() -> None:
    rng = np.random.default_rng(0)
    recall = np.array([0.9, 0.7, 0.5, 0.3])
    hits = 0
    for seed in range(200):
        gold = rng.integers(0, 4, 600)
        found = rstd(right_or_wrong(rng.random(600) < recall[gold], gold), 0.95, 300, seed)
        low, high = found.interval or (1, 0)
        hits += low <= 100 * recall.std() <= high
    assert hits / 200 > 0.9


def test_words_for_how_the_two_moved() -> None:
    gold = np.zeros(200, int)
    flipping = np.tile([0, 1, 2, 3], (200, 1))  # right under the first ordering only
    steady_wrong = np.ones((200, 4), int)
    steady_right = np.zeros((200, 4), int)
    rows = compare_arms(
        {"direct": arm(flipping, gold), "wrong": arm(steady_wrong, gold), "right": arm(steady_right, gold)},
        resamples=50,
    )
    texts = [row.together.text for row in rows[1:] if row.together is not None]
    assert texts == ["apart: less sensitive but less accurate", "sensitivity fell, accuracy did not move measurably"]
    holm = [row.mcnemar.p_holm for row in rows[1:] if row.mcnemar is not None]
    assert holm == [pytest.approx(2 * 2 / 2**200), 1.0]


def test_arms_of_other_questions_are_refused() -> None:
    one = right_or_wrong(np.ones(4, bool), np.zeros(4, int))
    with pytest.raises(ArgumentError, match="'b' has others"):
        compare_arms({"direct": one, "b": right_or_wrong(np.ones(5, bool), np.zeros(5, int))})
    with pytest.raises(ArgumentError, match="same known golds"):
        compare_arms({"direct": one, "b": right_or_wrong(np.ones(4, bool), np.ones(4, int))})
    with pytest.raises(ArgumentError, match="`baseline` must be one of a"):
        compare_arms({"a": one})


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((40, 38, 41, 42), "Neither moves it measurably."),
        ((20, 20, 60, 60), "Only hiding the options moves it measurably."),
        ((60, 20, 60, 20), "Only matching moves it measurably."),
    ],
)
def test_a_grid_blames_no_stage_for_what_chance_may_have_done(shares: tuple[int, ...], said: str) -> None:
    rng, gold = np.random.default_rng(5), np.arange(100) % 4
    cells = {c: right_or_wrong(rng.permutation(100) < n, gold) for c, n in zip(CELLS, shares, strict=True)}
    assert attribute(cells, resamples=500).text.endswith(said)


def test_the_grid_of_the_paper() -> None:
    """GPT-4.1 mini on MMLU: hidden and match 45.8, visible and match 81.7: 35.9 points apart."""
    gold = np.arange(1000) % 4
    shares = {CELLS[0]: 801, CELLS[1]: 458, CELLS[2]: 812, CELLS[3]: 817}
    grid = attribute({c: right_or_wrong(np.arange(1000) < n, gold) for c, n in shares.items()}, resamples=500)
    assert grid.hiding["match"].value == pytest.approx(-0.359)
    assert grid.matching["hidden"].value == pytest.approx(-0.343)
    assert grid.interaction.value == pytest.approx(-0.359 + 0.011)
    assert "Hiding the options in stage one changes accuracy by -18.5" in grid.text
    assert grid.text.endswith("Both move it measurably.")
    with pytest.raises(ArgumentError, match="lacks visible\\+match"):
        attribute({c: right_or_wrong(np.ones(4, bool), np.zeros(4, int)) for c in CELLS[:3]})
