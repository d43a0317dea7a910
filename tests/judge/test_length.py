"""Preference for length: judges built to have or not to have it, statsmodels, and brute force."""

import json

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest

from orderbias.judge.length import LengthCheck, length
from orderbias.judge.values import Judgments, NotChecked


def judged(verdicts, len_a, len_b, human=None, single=False):
    """Consistent verdicts in pair terms: 0 A, 1 B, 2 tie, -1 incomplete."""
    verdicts = np.asarray(verdicts, np.int8)
    second = np.array([1, 0, 2, -1], np.int8)[verdicts]
    calls = np.stack([verdicts, np.full_like(verdicts, -2) if single else second], axis=1)[:, :, None]
    ids = np.array([str(i) for i in range(len(verdicts))], object)
    lengths = {"len_a": np.asarray(len_a, float), "len_b": np.asarray(len_b, float)}
    return Judgments(ids, calls, human=None if human is None else np.asarray(human, np.int8), **lengths)


def simulated(n, slope, human_slope, intercept=0.0, seed=0, human_likes_length=0.0):
    rng = np.random.default_rng(seed)
    len_a, len_b = rng.integers(50, 2000, (2, n))
    ratio = np.log2(len_a / len_b)
    human = np.where(rng.random(n) < 0.1, 2, (rng.random(n) > expit(human_likes_length * ratio)).astype(int))
    sign = np.array([1, -1, 0])[human]
    won = rng.random(n) < expit(intercept + slope * ratio + human_slope * sign)
    verdicts = np.where(rng.random(n) < 0.05, 2, np.where(won, 0, 1))
    return judged(verdicts, len_a, len_b, human), ratio, sign


def test_the_model_is_that_of_statsmodels_row_by_row():
    judgments, ratio, sign = simulated(3_000, slope=0.6, human_slope=1.2, intercept=0.2)
    found = length(judgments)
    verdicts = judgments.calls[:, 0]
    rows = verdicts != 2
    X = np.stack([np.ones(len(ratio)), ratio, sign], axis=1)[rows]
    theirs = sm.GLM(verdicts[rows] == 0, X, family=sm.families.Binomial()).fit(tol=1e-12)
    assert found.log_odds == pytest.approx(theirs.params[1], abs=1e-7)
    assert found.interval == pytest.approx(theirs.conf_int()[1], abs=1e-6)
    assert found.interval[0] < 0.6 < found.interval[1]
    assert found.as_dict()["odds_ratio_per_doubling"] == pytest.approx(np.exp(theirs.params[1]))
    equal = np.stack([np.ones(len(ratio)), np.zeros(len(ratio)), sign], axis=1)[rows]
    assert found.length_controlled.value == pytest.approx(theirs.predict(equal).mean(), abs=1e-7)
    assert (found.n_pairs, found.n_tied) == (rows.sum(), (~rows).sum())


def test_a_judge_that_only_follows_people_who_like_length_has_no_preference_of_its_own():
    judgments, *_ = simulated(20_000, slope=0.0, human_slope=2.0, human_likes_length=1.0, seed=1)
    found = length(judgments)
    assert found.prefers_longer.interval[0] > 0.55
    assert found.interval[0] < 0 < found.interval[1]
    without = length(judged(judgments.calls[:, 0], judgments.len_a, judgments.len_b))
    assert without.interval[0] > 0.2
    assert not without.human_held_fixed
    assert without.as_dict()["not_checked"] == {"human preference held fixed": "needs `human`"}


def test_length_control_takes_off_what_a_longer_model_gains():
    rng = np.random.default_rng(3)
    n = 20_000
    len_b = rng.integers(100, 1000, n)
    len_a = len_b * rng.uniform(1, 4, n)  # A always is the longer
    won = rng.random(n) < expit(1.0 * np.log2(len_a / len_b))
    found = length(judged(np.where(won, 0, 1), len_a, len_b))
    assert found.win_rate.value > 0.7
    assert found.length_controlled.interval[0] < 0.5 < found.length_controlled.interval[1]
    assert found.length_controlled.interval[1] - found.length_controlled.interval[0] < 0.08


def test_the_delta_interval_against_a_bootstrap():
    judgments, *_ = simulated(400, slope=0.8, human_slope=1.0, intercept=0.5, seed=6)
    found = length(judgments).length_controlled
    rng = np.random.default_rng(0)
    draws = [length(judgments.take(rng.integers(0, 400, 400))).length_controlled.value for _ in range(300)]
    assert found.interval == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.025)


def test_a_judge_that_always_takes_the_longer_is_separated_and_finite():
    rng = np.random.default_rng(2)
    len_a, len_b = rng.integers(50, 500, (2, 300))
    differs = len_a != len_b
    found = length(judged((len_a < len_b)[differs], len_a[differs], len_b[differs]))
    assert found.fit.separated
    assert found.prefers_longer.value == 1
    assert found.prefers_longer.interval[0] < 1
    assert 0 < found.interval[0] < found.log_odds < found.interval[1] < np.inf
    assert found.length_controlled.interval is None


ROWS = st.lists(
    st.tuples(st.integers(-1, 2), st.sampled_from([100, 105, 110, 111, 200, 400]),
              st.sampled_from([100, 109, 110, 200, 300]), st.integers(-1, 2)),
    min_size=1, max_size=40,
)  # fmt: skip


@given(ROWS)
def test_shares_against_brute_force(rows):
    verdicts, len_a, len_b, human = zip(*rows, strict=True)
    found = length(judged(verdicts, len_a, len_b, human))
    decisive = [row for row in rows if row[0] in (0, 1)]
    if not decisive:
        assert isinstance(found, NotChecked)
        return
    took = {"all": [], "longer": [], "shorter": []}
    close, agreed = [], []
    for verdict, a, b, label in decisive:
        if a != b:
            longer = (verdict == 0) == (a > b)
            took["all"].append(longer)
            if label in (0, 1):
                took["longer" if (label == 0) == (a > b) else "shorter"].append(longer)
        if max(a, b) <= 1.1 * min(a, b) + 1e-9:
            close.append(verdict == 0)
            if label in (0, 1):
                agreed.append(verdict == label)
    shares = {
        found.prefers_longer: took["all"], found.where_people_longer: took["longer"],
        found.where_people_shorter: took["shorter"],
    }  # fmt: skip
    for estimate, outcomes in [*shares.items(), (found.matched.win_rate, close), (found.matched.agreement, agreed)]:
        assert estimate.n == len(outcomes)
        if not outcomes:
            assert estimate.value is None
            continue
        exact = binomtest(sum(outcomes), len(outcomes)).proportion_ci()
        assert estimate.value == sum(outcomes) / len(outcomes)
        assert estimate.interval == pytest.approx((exact.low, exact.high))
    json.dumps(found.as_dict(), allow_nan=False)


def test_naming_the_members_the_other_way_turns_nothing_but_the_win_rate():
    judgments, *_ = simulated(500, slope=0.6, human_slope=1.0, intercept=0.3, seed=4)
    swap = np.array([1, 0, 2])
    other = judged(swap[judgments.calls[:, 0]], judgments.len_b, judgments.len_a, swap[judgments.human])
    first, second = length(judgments), length(other)
    assert first.log_odds == pytest.approx(second.log_odds)
    assert first.prefers_longer == second.prefers_longer
    assert first.length_controlled.value == pytest.approx(1 - second.length_controlled.value)


def test_empty_answers_and_unknown_lengths():
    found = length(judged([0, 0, 1, 0], [0, 0, 8, np.nan], [0, 4, 2, 3]))
    assert isinstance(found, LengthCheck)
    assert found.n_pairs == 3
    assert found.prefers_longer.n == 2
    assert found.prefers_longer.value == 0


def test_one_order_is_said():
    found = length(judged([0, 1, 1, 0], [2, 3, 4, 9], [3, 2, 5, 4], single=True))
    assert found.single_order
    assert found.n_pairs == 4


def test_labels_that_never_vary_leave_the_column_out():
    found = length(judged([0, 1, 1, 0, 0], [2, 3, 4, 9, 7], [3, 2, 5, 4, 5], [0] * 5))
    assert found.fit.names == ("intercept", "length")


def test_what_is_missing_is_named():
    ids, calls = np.array(["1"], object), np.zeros((1, 2, 1), np.int8)
    assert length(Judgments(ids, calls)) == NotChecked("needs `len_a` and `len_b`, or the texts")
    assert "decisive" in length(judged([2], [1], [2])).why
    equal = length(judged([0, 1], [5, 5], [5, 5]))
    assert equal.fit == NotChecked("needs pairs whose lengths differ")
    assert equal.log_odds is None
    assert equal.matched.win_rate.value == 0.5
