"""Order effects in log-odds: conditional logistic regression of statsmodels, closed forms, simulation."""

import json

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest, ttest_1samp
from statsmodels.discrete.conditional_models import ConditionalLogit

from orderbias.judge.logistic import LogisticFit
from orderbias.judge.probabilities import Probabilities, order_effect, preference_for_a, probabilities
from orderbias.judge.values import Judgments, NotChecked, in_pair_terms


def judged(calls, **columns):
    calls = np.asarray(calls, np.int8).reshape(-1, 2, 1)
    return Judgments(np.array([str(i) for i in range(len(calls))], object), calls, **columns)


def simulated(n, effect, seed=0, ties=0.0, human=True):
    """Pairs of their own quality difference, and a judge to whom standing first is worth ``effect``."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 1.5, n)
    first = rng.random((n, 2)) < expit(np.stack([quality, -quality], axis=1) + effect)
    calls = np.where(rng.random((n, 2)) < ties, 2, 1 - first)
    label = np.where(rng.random(n) < expit(quality), 0, 1).astype(np.int8)
    return judged(calls, human=label if human else None)


def test_counts_give_the_conditional_logit_of_statsmodels():
    judgments = simulated(400, effect=0.5)
    a_won = in_pair_terms(judgments.calls) == 0
    order = np.tile([1.0, -1.0], 400)
    moved = np.repeat(a_won[:, 0] != a_won[:, 1], 2)  # the others have no part in it, and are warned of
    outcome, groups = a_won.ravel().astype(int), np.repeat(np.arange(400), 2)
    theirs = ConditionalLogit(outcome[moved], order[moved, None], groups=groups[moved]).fit(disp=0).params[0]
    calls = judgments.calls
    first, second = ((calls == place).all(axis=1).sum() for place in (0, 1))
    assert theirs == pytest.approx(np.log(first / second) / 2, abs=1e-5)
    found = order_effect(judgments)
    assert found.log_odds == pytest.approx(np.log((first + 0.5) / (second + 0.5)) / 2, abs=1e-6)
    assert found.log_odds == pytest.approx(theirs, abs=0.01)
    exact = binomtest(first, first + second).proportion_ci()
    ends = [np.log(p / (1 - p)) / 2 for p in (exact.low, exact.high)]
    assert found.interval == pytest.approx(ends)
    assert found.p_value == pytest.approx(binomtest(first, first + second).pvalue)
    assert found.interval[0] < 0.5 < found.interval[1]


def test_ties_and_unread_verdicts_are_in_no_contradiction():
    calls = [(0, 0), (0, 0), (1, 1), (0, 2), (2, 2), (0, -1), (0, -2), (0, 1)]
    assert order_effect(judged(calls)).n_pairs == 3


def test_every_contradiction_on_one_place_is_finite_with_one_open_end():
    found = order_effect(judged([(0, 0)] * 12 + [(0, 1)] * 5))
    assert found.log_odds == pytest.approx(np.log(25) / 2)
    assert found.interval == (pytest.approx(np.log(0.7353515 / 0.2646485) / 2, abs=1e-5), None)
    assert found.p_value == 2 / 2**12
    json.dumps(found.as_dict(), allow_nan=False)


def test_exact_intervals_cover():
    found = [order_effect(simulated(40, effect=0.8, seed=seed, human=False)) for seed in range(400)]
    covered = np.mean([
        (f.interval[0] is None or f.interval[0] <= 0.8) and (f.interval[1] is None or f.interval[1] >= 0.8)
        for f in found if not isinstance(f, NotChecked)
    ])  # fmt: skip
    assert covered >= 0.945


def test_the_model_of_calls_is_that_of_statsmodels_with_pairs_as_clusters():
    judgments = simulated(500, effect=0.5, ties=0.1)
    members = in_pair_terms(judgments.calls)
    rows = np.flatnonzero((members < 2).ravel())
    human = np.repeat(np.array([1.0, -1.0])[judgments.human], 2)
    X = np.stack([np.ones(1000), np.tile([1.0, -1.0], 500), human], axis=1)[rows]
    model = sm.GLM((members.ravel()[rows] == 0).astype(float), X, family=sm.families.Binomial())
    theirs = model.fit(tol=1e-12, cov_type="cluster", cov_kwds={"groups": rows // 2})
    fit = order_effect(judgments).by_call
    assert isinstance(fit, LogisticFit)
    assert fit.estimates == pytest.approx(theirs.params, abs=1e-7)
    assert np.stack([fit.low, fit.high], axis=1) == pytest.approx(theirs.conf_int(), abs=1e-6)
    # Averaged over pairs that differ, the effect is nearer to 0 than within a pair.
    assert 0 < fit.coefficient("order").estimate < 0.5


def test_what_is_missing_is_named():
    assert "contradicting" in order_effect(judged([(0, 1)])).why
    assert order_effect(judged([(0, 0)])).as_dict()["by_call"] == {"not_fitted": "needs `human`"}
    assert probabilities(judged([(0, 0)])) == NotChecked("needs the probabilities of the verdicts")
    unknown = judged([(0, 0)], logprobs=np.full((1, 2, 3), np.nan))
    assert "both orders" in probabilities(unknown).why


def with_probabilities(preference, effect, tie=None):
    """A judge whose log-odds of first are the pair's preference, turned by the order, plus an effect."""
    preference, effect = np.broadcast_arrays(np.asarray(preference, float), effect)
    odds = np.stack([preference + effect, -preference + effect], axis=1)
    tie = np.zeros_like(odds) if tie is None else np.broadcast_to(tie, odds.shape)
    with np.errstate(divide="ignore"):
        logprobs = np.log(np.stack([(1 - tie) * expit(odds), (1 - tie) * expit(-odds), tie], axis=2))
    return judged(logprobs.argmax(axis=2), logprobs=logprobs)


FLOATS = st.lists(st.floats(-8, 8), min_size=2, max_size=20)


@given(FLOATS, st.floats(-3, 3))
def test_averaging_in_log_odds_takes_the_order_effect_off(preference, effect):
    judgments = with_probabilities(preference, effect)
    assert preference_for_a(judgments) == pytest.approx(np.array(preference), abs=1e-6)
    found = probabilities(judgments)
    assert found.order_effect.value == pytest.approx(effect, abs=1e-6)
    assert found.n_pairs == len(preference)
    assert found.tie_probability == 0


def test_the_interval_is_that_of_the_t_test():
    rng = np.random.default_rng(0)
    effects = rng.normal(0.3, 1.0, 60)
    found = probabilities(with_probabilities(rng.normal(size=60), effects))
    test = ttest_1samp(effects, 0)
    interval = test.confidence_interval()
    assert found.order_effect.interval == pytest.approx((interval.low, interval.high))
    assert found.p_value == pytest.approx(test.pvalue)
    assert found.order_effect_sd == pytest.approx(effects.std(ddof=1))


def test_pairs_all_alike_show_no_spread_and_get_no_interval():
    found = probabilities(with_probabilities(np.linspace(-1, 1, 9), 0.7))
    assert found.order_effect.value == pytest.approx(0.7)
    assert (found.order_effect.interval, found.p_value) == (None, None)


def test_averaged_verdicts_decide_what_the_order_made_contradict():
    found = probabilities(with_probabilities([0.5, -0.5, 3.0], 1.0))
    assert found.verdicts == (2, 1, 0)  # collapsed: tie, tie, A
    assert found.n_changed == 2


def test_a_tie_that_is_likeliest_in_both_orders():
    found = probabilities(with_probabilities([0.5, 0.5], 0.0, tie=[[0.6, 0.6], [0.1, 0.1]]))
    assert found.verdicts == (1, 0, 1)
    assert found.tie_probability == pytest.approx(0.35)


def test_equal_probabilities_are_a_tie():
    assert probabilities(with_probabilities([0.0, 1.0], 0.4)).verdicts == (1, 0, 1)


def test_probabilities_of_zero_are_counted_and_left_out():
    judgments = with_probabilities([0.5, 0.2, 0.1, 0.3], 0.4)
    logprobs = judgments.logprobs.copy()
    logprobs[0, 0, 1] = -np.inf
    logprobs[1, 1] = [-np.inf, -np.inf, 0.0]
    logprobs[2] = np.nan
    found = probabilities(judged(judgments.calls, logprobs=logprobs))
    assert (found.n_pairs, found.n_censored) == (1, 2)
    assert found.order_effect.value == pytest.approx(0.4)
    assert found.order_effect.interval is None
    json.dumps(found.as_dict(), allow_nan=False)


def test_averaged_verdicts_may_be_right_where_every_call_leans() -> None:
    """A judge that always takes the first place by 2 log-odds, and knows the answer by 0.1."""
    better = np.array([0, 1] * 20, np.int8)
    preference = np.where(better == 0, 0.1, -0.1)
    odds = np.stack([2 + preference, 2 - preference], axis=1)  # of first against second
    logprobs = np.stack([-np.logaddexp(0, -odds), -np.logaddexp(0, odds), np.full_like(odds, -np.inf)], axis=2)
    ids = np.array([str(i) for i in range(40)], object)
    calls = np.zeros((40, 2, 1), np.int8)
    found = probabilities(Judgments(ids, calls, logprobs=logprobs, human=better))
    assert isinstance(found, Probabilities)
    assert found.accuracy.value == 1.0
    assert found.n_changed == 40
    assert found.order_effect.value == pytest.approx(2.0)
    unlabelled = probabilities(Judgments(ids, calls, logprobs=logprobs))
    assert isinstance(unlabelled, Probabilities)
    assert unlabelled.accuracy.value is None
