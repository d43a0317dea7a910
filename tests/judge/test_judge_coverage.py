"""How often intervals of judges hold what is true, and how often a lean is called: by enumeration, or short simulation.

Few pairs are the hard case: an interval that is right with thousands of them may miss every second time with ten.
"""

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from orderbias.judge import Judgments
from orderbias.judge.conclusion import conclude
from orderbias.judge.judging import JudgeOptions, judge_report
from orderbias.judge.rates import consistency, first_position_rate
from orderbias.judge.repeats import repeat_noise
from orderbias.judge.single_order import single_order
from orderbias.judge.swap import OutcomeCounts, outcome_counts
from orderbias.judge.values import in_pair_terms
from orderbias.judge.win_rates import win_rates

TRIES = 200
#: 95 in 100 of 200 tries, less three standard errors.
ENOUGH = 0.95 - 3 * (0.95 * 0.05 / TRIES) ** 0.5


def judged(calls, **columns):
    calls = np.asarray(calls, np.int8)
    calls = calls if calls.ndim == 3 else calls[:, :, None]
    return Judgments(np.array([str(i) for i in range(len(calls))], object), calls, **columns)


def table(**cells):
    places = {"F": 0, "S": 1, "T": 2}
    counts = np.zeros((3, 3), np.int64)
    for name, n in cells.items():
        counts[places[name[0]], places[name[1]]] = n
    return OutcomeCounts(counts)


def holds(estimate, truth):
    low, high = estimate.interval
    return low - 1e-9 <= truth <= high + 1e-9


@pytest.mark.parametrize(("n", "share"), [(5, 0.5), (12, 0.03), (25, 0.3)])
def test_intervals_of_contradictions_and_of_the_lean_hold(n, share):
    """Of n pairs each contradicts itself with the probability ``share``, or leans to first if all do."""
    rates, leans = [], []
    for k in range(n + 1):
        of_rate = judge_report(judged([[0, 0]] * k + [[0, 1]] * (n - k)), JudgeOptions(resamples=0))
        of_lean = judge_report(judged([[0, 0]] * k + [[1, 1]] * (n - k)), JudgeOptions(resamples=0))
        rates.append(holds(of_rate.contradiction_rate, share))
        leans.append(holds(of_lean.lean, share))
    weights = binom.pmf(range(n + 1), n, share)
    assert weights @ rates >= 0.95
    assert weights @ leans >= 0.95


@pytest.mark.parametrize(("whole", "half"), [(6, 0), (20, 0), (0, 17), (20, 3), (11, 18), (30, 40)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_a_lean_is_called_of_a_fair_judge_as_seldom_as_the_level_says(whole, half, level):
    called = power = 0.0
    able = conclude(table(FF=whole, FT=half), level).smallest_lean
    for k in range(whole + 1):
        for m in range(half + 1):
            kind = conclude(table(FF=k, SS=whole - k, FT=m, ST=half - m), level).kind
            if kind in ("first", "second"):
                called += binom.pmf(k, whole, 0.5) * binom.pmf(m, half, 0.5)
                power += 0.0 if able is None else binom.pmf(k, whole, able) * binom.pmf(m, half, 0.5)
    assert called <= 1 - level
    assert able is None or power >= 0.8 - 1e-6


@pytest.mark.parametrize("n", [1, 3, 8, 15])
@pytest.mark.parametrize("law", [(0.5, 0.5, 0.0), (0.4, 0.3, 0.3), (0.02, 0.03, 0.95), (0.9, 0.05, 0.05)])
def test_win_rates_of_few_pairs_hold(n, law):
    """Every sample of n pairs that both orders call A, B or a tie with these probabilities."""
    coverage = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            counts = (wins, losses, n - wins - losses)
            calls = [[0, 1]] * wins + [[1, 0]] * losses + [[2, 2]] * counts[2]
            (found,) = win_rates(judged(calls), resamples=1_000)
            assert found.before == found.after or found.before.value == found.after.value
            coverage += holds(found.after, law[0] + law[2] / 2) * multinomial.pmf(counts, n, law)
    assert coverage >= 0.945  # up to the draws


def noisy(rng, n, right, push, ties, repeats=1, better=0.5):
    """Draw verdicts of a judge that is right with a probability, or takes the first place, or calls a tie."""
    shape = (n, 2, repeats)
    of_a = np.where(rng.random(n) < better, 0, 1)[:, None, None]
    shown = in_pair_terms(np.where(rng.random(shape) < right, of_a, 1 - of_a).astype(np.int8))
    shown = np.where(rng.random(shape) < push, 0, shown)
    return np.where(rng.random(shape) < ties, 2, shown)


@pytest.mark.parametrize("n", [5, 15, 60])
@pytest.mark.parametrize(("right", "push", "ties"), [(0.9, 0.1, 0.0), (0.5, 0.3, 0.2), (0.9, 0.0, 0.9)])
def test_rates_of_calls_hold(n, right, push, ties):
    rng = np.random.default_rng(1)
    # Two calls that are not ties: push, or else right half of the time on either side.
    first, tied = push + (1 - push) / 2, ties
    member = (1 - tied) * np.array([(1 - push) * right, (1 - push) * (1 - right)])
    ab, ba = (
        member + np.array([(1 - tied) * push, 0]),
        member + np.array([0, (1 - tied) * push]),
    )
    agree = float(ab @ ba) + tied**2
    hits = []
    for seed in range(TRIES):
        judgments = judged(noisy(rng, n, right, push, ties))
        rate = first_position_rate(outcome_counts(judgments), resamples=500, seed=seed)
        hits.append((rate.value is None or holds(rate, first),
                     holds(consistency(judgments, "consistent", resamples=500, seed=seed), agree)))  # fmt: skip
    assert (np.mean(hits, axis=0) >= ENOUGH).all()


@pytest.mark.parametrize("only_ab", [False, True])
@pytest.mark.parametrize(("n", "share"), [(30, 0.2), (100, 0.05), (300, 0.2)])
@pytest.mark.parametrize(("right", "push"), [(1.0, 0.05), (0.8, 0.3)])
def test_the_corrected_win_rate_of_a_sample_holds(only_ab, n, share, right, push):
    rng = np.random.default_rng(2)
    own = 0.6 * right + 0.4 * (1 - right)
    hits, tried = np.zeros(2), 0
    for seed in range(TRIES):
        calls = noisy(rng, n, right, push, 0.0, better=0.6)
        single = rng.random(n) >= share
        order = np.zeros(n, int) if only_ab else rng.integers(0, 2, n)
        calls[single, 1 - order[single]] = -2
        found = single_order(judged(calls), resamples=500, seed=seed)
        if found.corrected.value is None:
            continue
        tried += 1
        hits += holds(found.corrected, own * (1 - push) + push / 2), holds(found.position_effect, push / 2)
        assert found.corrected.interval[0] <= found.corrected.value <= found.corrected.interval[1]
    assert tried > 0.9 * TRIES
    assert (hits / tried >= ENOUGH).all()


@pytest.mark.parametrize("n", [3, 12, 60])
@pytest.mark.parametrize(("right", "push"), [(0.9, 0.0), (0.7, 0.1), (0.9, 0.3)])
def test_the_excess_of_reordering_over_repeating_holds(n, right, push):
    rng = np.random.default_rng(3)
    p, q = push + (1 - push) * right, (1 - push) * right  # the better one wins, shown first and second
    truth = p * (1 - q) + q * (1 - p) - p * (1 - p) - q * (1 - q)
    hits = [
        holds(repeat_noise(judged(noisy(rng, n, right, push, 0.0, repeats=2)), resamples=500, seed=s).excess, truth)
        for s in range(TRIES)
    ]
    assert np.mean(hits) >= ENOUGH


def test_an_unreadable_verdict_is_no_saved_call():
    found = single_order(judged([[0, 1]] * 6 + [[0, -1]]))
    assert found.why == "needs pairs judged in one order only"
    found = single_order(judged([[0, 1], [0, -1], [-1, -1], [0, -2]]))
    assert (found.n_ab, found.n_ba, found.n_both) == (2, 0, 1)
    assert found.saved == pytest.approx(1 / 8)


def test_a_position_effect_of_few_pairs_is_uncertain_however_many_stand_in_one_order():
    found = single_order(judged([[0, 1]] * 4 + [[0, -2]] * 400))
    assert found.position_effect.value == 0
    assert found.position_effect.n == 4
    low, high = found.position_effect.interval
    assert low < -0.25
    assert high > 0.25
    assert found.corrected.interval[0] < 0.8  # were the effect a quarter, A would win 3 in 4
