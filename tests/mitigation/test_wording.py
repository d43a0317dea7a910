"""The closing sentence and the set of operations that no other beats."""

from hypothesis import given
from hypothesis import strategies as st

from orderbias.mitigation.changes import Changed
from orderbias.mitigation.values import Outcome
from orderbias.mitigation.wording import closing_sentence, pareto_set


def outcome(name, calls=1.0, *, ends=None, n_calibration=0, **measures):
    ends = ends or {}
    return Outcome(name, measures, {}, Changed(dict.fromkeys(ends, 0.0), ends, {}), calls, n_calibration)


NONE = outcome("none", flip_rate=0.5, positional_skew=0.2, placement_range=0.3, accuracy=0.4, stable_wrong=0.1)

triples = st.lists(
    st.tuples(*[st.integers(0, 3)] * 3).map(lambda t: (float(t[0]), t[1] / 3, t[2] / 3)), min_size=1, max_size=8
)


@given(triples)
def test_nothing_in_the_set_is_beaten_and_everything_outside_is(costs):
    outcomes = [outcome(str(i), c, placement_range=r, accuracy=a) for i, (c, r, a) in enumerate(costs)]
    kept = set(pareto_set(outcomes))

    def beats(x, y):
        at_least = x[0] <= y[0] and x[1] <= y[1] and x[2] >= y[2]
        return at_least and x != y

    for i, own in enumerate(costs):
        assert (str(i) in kept) == (not any(beats(other, own) for other in costs))


def test_an_undefined_harm_leaves_no_set():
    assert pareto_set([outcome("none", placement_range=None, accuracy=0.5)]) is None


def test_what_is_bought_what_is_left_and_the_cost():
    after = outcome(
        "pride", n_calibration=7, flip_rate=0.49, positional_skew=0.1, placement_range=0.1, accuracy=0.41,
        stable_wrong=0.12, ends={"log_flip_rate": (-0.1, 0.1), "log_positional_skew": (-0.9, -0.5),
                                 "placement_range": (-0.3, -0.1), "accuracy": (-0.01, 0.03),
                                 "stable_wrong": (0.01, 0.03)},
    )  # fmt: skip
    assert closing_sentence([NONE, after]) == (
        "pride improves the positional skew (0.200 to 0.100) and the placement range (30.0 % to 10.0 %); it worsens "
        "the stable-wrong share (10.0 % to 12.0 %); it leaves without a clear change the flip rate (50.0 % to 49.0 %) "
        "and accuracy (40.0 % to 41.0 %); it costs 1 call a question and 7 calibration items asked in every presented "
        "ordering."
    )


def test_fewer_flips_alone_recommend_nothing():
    same = {"positional_skew": 0.2, "placement_range": 0.3, "accuracy": 0.4}
    flips = {"log_flip_rate": (-0.9, -0.5), "placement_range": (-0.1, 0.1), "accuracy": (-0.1, 0.1)}
    after = outcome("product", 2.0, flip_rate=0.3, stable_wrong=0.1, ends=flips, **same)
    assert "no reason to choose it" in closing_sentence([NONE, after])
    settled = outcome(
        "product", 2.0, flip_rate=0.3, stable_wrong=0.3, ends=flips | {"stable_wrong": (0.1, 0.3)}, **same
    )
    assert "not more right answers" in closing_sentence([NONE, settled])
    vote = outcome("vote", 4.0, flip_rate=0.0, stable_wrong=0.6, ends={"stable_wrong": (0.4, 0.6)},
                   positional_skew=None, placement_range=0.0, accuracy=0.4)  # fmt: skip
    text = closing_sentence([NONE, vote])
    assert "not more right answers" in text
    assert "not defined: positional skew" in text
    better = outcome("product", 2.0, flip_rate=0.3, stable_wrong=0.1,
                     ends=flips | {"placement_range": (-0.3, -0.1)}, **same)  # fmt: skip
    assert closing_sentence([NONE, better]).endswith("it costs 2 calls a question.")
