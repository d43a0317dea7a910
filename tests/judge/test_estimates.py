"""Win rates, single orders, repeats and identical answers against brute force and known judges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact

from orderbias.judge.identical import identical_pairs
from orderbias.judge.repeats import repeat_noise
from orderbias.judge.single_order import SingleOrder, single_order
from orderbias.judge.values import Judgments, NotChecked, in_pair_terms
from orderbias.judge.win_rates import win_rates

SCORE = {0: 1.0, 1: 0.0, 2: 0.5}


def judged(verdicts: np.ndarray, **columns: object) -> Judgments:
    ids = np.array([str(i) for i in range(len(verdicts))], object)
    calls = np.asarray(verdicts, np.int8)
    return Judgments(ids, calls if calls.ndim == 3 else calls[:, :, None], **columns)  # type: ignore[arg-type]


CODES = st.integers(-2, 2)
CALLS = st.lists(st.tuples(CODES, CODES), min_size=1, max_size=30)


@given(CALLS, st.randoms())
def test_win_rates_against_a_loop(rows: list[tuple[int, int]], random: object) -> None:
    names = ["m1", "m2", "m3"]
    pairs = [random.sample(names, 2) for _ in rows]  # type: ignore[attr-defined]
    a, b = (np.array([pair[i] for pair in pairs], object) for i in (0, 1))
    judgments = judged(np.array(rows), model_a=a, model_b=b)
    scores: dict[str, list[tuple[float, float]]] = {}
    for (v1, v2), (model_a, model_b) in zip(rows, pairs, strict=True):
        if v1 < 0 or v2 < 0:
            continue
        of_a = [SCORE[v1], SCORE[{0: 1, 1: 0, 2: 2}[v2]]]
        after = of_a[0] if of_a[0] == of_a[1] else 0.5
        scores.setdefault(model_a, []).append((sum(of_a) / 2, after))
        scores.setdefault(model_b, []).append((1 - sum(of_a) / 2, 1 - after))
    found = {rate.model: rate for rate in win_rates(judgments, resamples=50)}
    assert set(found) == set(scores)
    for name, values in scores.items():
        before, after = np.mean(values, axis=0)
        assert found[name].before.value == pytest.approx(before)
        assert found[name].after.value == pytest.approx(after)
        assert found[name].wins + found[name].ties + found[name].losses == len(values)


def test_intervals_of_win_rates_cover() -> None:
    """Pairs of a known law; a 95 % interval of the win rate must hold the truth about 95 times in 100."""
    rng = np.random.default_rng(4)
    hits = 0
    for seed in range(300):
        better = rng.random(80) < 0.7
        noise = rng.random((80, 2)) < 0.3
        members = np.where(noise, 2, np.where(better, 0, 1)[:, None])
        (a,) = win_rates(judged(in_pair_terms(members)), seed=seed, resamples=400)
        low, high = a.before.interval or (1, 0)
        hits += low <= 0.7 * 0.7 + 0.3 / 2 <= high
    assert hits / 300 > 0.91


def test_decisive_wins_have_an_exact_interval() -> None:
    (a,) = win_rates(judged(np.array([[0, 1]] * 9 + [[1, 0]] * 3 + [[2, 2]] * 5)))
    want = binomtest(9, 12).proportion_ci(method="exact")
    assert a.decisive.value == 0.75
    assert a.decisive.interval == pytest.approx((want.low, want.high))


def one_order(rng: np.random.Generator, n: int, effect: float, share: float, only_ab: bool) -> tuple[Judgments, float]:
    """Verdicts of a judge that takes the first place by itself on a share ``effect`` of the calls."""
    better = (rng.random(n) < 0.6)[:, None]  # A is better
    pushed = rng.random((n, 2)) < effect
    members = np.where(better, 0, 1) * np.ones((1, 2), int)
    shown = in_pair_terms(members)
    shown = np.where(pushed, 0, shown)
    single = rng.random(n) >= share
    order = np.zeros(n, int) if only_ab else rng.integers(0, 2, n)
    shown[single, 1 - order[single]] = -2
    return judged(shown), 0.6 * (1 - effect) + effect / 2


@pytest.mark.parametrize("only_ab", [True, False])
def test_the_corrected_win_rate_is_that_of_both_orders(only_ab: bool) -> None:
    rng = np.random.default_rng(2)
    hits, plain, corrected = 0, [], []
    for seed in range(250):
        judgments, truth = one_order(rng, 400, 0.3, 0.25, only_ab)
        found = single_order(judgments, resamples=300, seed=seed)
        assert isinstance(found, SingleOrder)
        low, high = found.corrected.interval or (1, 0)
        hits += low <= truth <= high
        plain.append((found.win_rate.value or 0) - truth)
        corrected.append((found.corrected.value or 0) - truth)
    assert abs(np.mean(corrected)) < 0.006
    assert 0.9 < hits / 250 <= 1
    if only_ab:
        assert np.mean(plain) > 0.08  # three quarters of the pairs carry an effect of 0.15 towards A
        assert found.n_ba == 0


def test_both_orders_for_one_in_five_saves_two_calls_in_five() -> None:
    calls = np.array([[0, 1]] * 20 + [[0, -2]] * 40 + [[-2, 1]] * 40)
    found = single_order(judged(calls))
    assert isinstance(found, SingleOrder)
    assert (found.n_ab, found.n_ba, found.n_both) == (40, 40, 20)
    assert found.saved == pytest.approx(1 - 120 / 200)


def test_random_single_orders_are_tested_by_fishers_exact_test() -> None:
    calls = np.array([[0, -2]] * 30 + [[1, -2]] * 10 + [[-2, 0]] * 25 + [[-2, 1]] * 15)
    found = single_order(judged(calls))
    assert isinstance(found, SingleOrder)
    assert found.order_p_value == pytest.approx(fisher_exact([[30, 10], [15, 25]]).pvalue)
    assert found.position_effect.value == pytest.approx((30 / 40 - 15 / 40) / 2)


def test_one_order_only_leaves_the_effect_undefined() -> None:
    found = single_order(judged(np.array([[0, -2], [1, -2]])))
    assert isinstance(found, SingleOrder)
    assert found.position_effect.value is None
    assert found.corrected.value is None
    assert found.order_p_value is None
    assert isinstance(single_order(judged(np.array([[0, 1]]))), NotChecked)


@given(st.lists(st.lists(CODES, min_size=6, max_size=6), min_size=1, max_size=15))
def test_repeats_against_a_loop(rows: list[list[int]]) -> None:
    verdicts = np.array(rows, np.int8).reshape(-1, 2, 3)
    flip = {0: 1, 1: 0}
    repeats, reorders = [], []
    for ab, ba in verdicts.tolist():
        ab, ba = [v for v in ab if v >= 0], [flip.get(v, v) for v in ba if v >= 0]
        if len(ab) < 2 or len(ba) < 2:
            continue
        within = [np.mean([x[i] != x[j] for i in range(len(x)) for j in range(i)]) for x in (ab, ba)]
        repeats.append(np.mean(within))
        reorders.append(np.mean([x != y for x in ab for y in ba]))
    found = repeat_noise(judged(verdicts), resamples=20)
    if not repeats:
        assert isinstance(found, NotChecked)
        return
    assert not isinstance(found, NotChecked)
    assert found.repeat.value == pytest.approx(np.mean(repeats))
    assert found.reorder.value == pytest.approx(np.mean(reorders))
    assert found.excess.value == pytest.approx(np.mean(reorders) - np.mean(repeats))


def test_a_coin_has_no_excess_and_a_lean_has() -> None:
    rng = np.random.default_rng(3)
    coin = repeat_noise(judged(rng.integers(0, 2, (800, 2, 2))))
    first = repeat_noise(judged((rng.random((800, 2, 2)) < 0.2).astype(int)))
    assert not isinstance(coin, NotChecked)
    assert not isinstance(first, NotChecked)
    assert coin.excess.interval is not None
    assert first.excess.interval is not None
    assert coin.excess.interval[0] < 0 < coin.excess.interval[1]
    assert first.excess.interval[0] > 0.25  # 0.68 against 0.32


def test_identical_answers_are_a_control_group() -> None:
    calls = np.array([[0, 0]] * 6 + [[1, 1]] * 2 + [[2, 2]] * 4 + [[0, 2]] + [[0, -1]] + [[0, 1]] * 20)
    same = np.arange(len(calls)) < 14
    found = identical_pairs(judged(calls, identical=same))
    assert not isinstance(found, NotChecked)
    assert found.n_pairs == 14
    assert found.decisive.value == pytest.approx(9 / 13)
    assert found.lean.value == 0.75
    assert found.lean_p_value == pytest.approx(binomtest(6, 8).pvalue)
    assert isinstance(identical_pairs(judged(calls)), NotChecked)
