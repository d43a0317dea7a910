"""A comparison once more, with loops over items and over every possible bootstrap sample."""

import itertools
import math
from collections import Counter

import by_hand
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operation_cells import planted, with_gaps

from orderbias.measures import build_columns, chosen_measures
from orderbias.mitigation import mitigate
from orderbias.mitigation.changes import CHANGES, LEVELS, difference
from orderbias.mitigation.joint import join, joint_draws
from orderbias.mitigation.settling import _among_top_two
from orderbias.operations import parse_operation, split
from orderbias.predictions import Predictions

NAMES = "pride,reversal-product,pride>reversal-product,majority-vote"
SCALARS = chosen_measures(LEVELS)


def as_items(cell, rows):
    """(gold, [(positions, content), ...]) of some items of a cell under a shared design."""
    slots = np.flatnonzero(cell.presented)
    return [(int(cell.gold[i]), [(cell.positions[s].tolist(), int(cell.choice[i, s])) for s in slots]) for i in rows]


def outputs(cell, names, share=0.05, seed=0):
    """Every operation's items that are usable under all of them."""
    parts = split(cell, share, seed)
    found = {}
    for name in names:
        operation = parse_operation(name)
        found[name] = operation.fit(parts.calibration).apply(parts.evaluation)
    rows = [i for i in range(parts.evaluation.n_items) if all(out.usable[i] for out in found.values())]
    return {name: as_items(out, rows) for name, out in found.items()}


def change_by_hand(change, after, before):
    """A change of two mappings of measures; None where undefined."""
    one, other = after[change.measure], before[change.measure]
    if one is None or other is None:
        return None
    if not change.log:
        return one - other
    return None if min(one, other) < 1e-9 else math.log(one) - math.log(other)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(3, 6), st.integers(6, 30), st.floats(0, 2), st.booleans())
def test_points_are_those_of_loops(seed, k, n_items, noise, gaps):
    cell = planted(n_items, k, np.linspace(0.8, -0.8, k), noise=noise, seed=seed)
    cell = with_gaps(cell) if gaps else cell
    found = mitigate(cell, NAMES, resamples=0, seed=seed % 7)
    expected = outputs(cell, ("none", *NAMES.split(",")), seed=seed % 7)
    assert [o.name for o in found.operations] == list(expected)
    values = {name: by_hand.all_measures(items, k) for name, items in expected.items()}
    assert found.n_items == len(expected["none"])
    for outcome in found.operations:
        for name, value in outcome.measures.items():
            assert value == (None if values[outcome.name][name] is None else pytest.approx(values[outcome.name][name]))
        for key, change in CHANGES.items():
            right = change_by_hand(change, values[outcome.name], values["none"])
            assert outcome.changes.values[key] == (None if right is None else pytest.approx(right, abs=1e-9))
    for d in found.differences:
        for key, change in CHANGES.items():
            right = change_by_hand(change, values[d.operation], values[d.minus])
            assert d.changes.values[key] == (None if right is None else pytest.approx(right, abs=1e-9))


def every_sample(after, before, k):
    """Each change under all n^n equally likely bootstrap samples: a list of values (None where undefined)."""
    n = len(after)
    cache = {}
    found = {key: [] for key in CHANGES}
    for drawn in itertools.product(range(n), repeat=n):
        key = tuple(sorted(drawn))
        if key not in cache:
            sides = [by_hand.all_measures([side[i] for i in key], k) for side in (after, before)]
            cache[key] = {name: change_by_hand(change, *sides) for name, change in CHANGES.items()}
        for name, value in cache[key].items():
            found[name].append(value)
    return found


@pytest.mark.parametrize("name", ["pride", "reversal-product"])
def test_draws_follow_the_law_of_all_possible_samples(name):
    cell = planted(6, 3, [1.0, 0.0, -1.0], noise=1.0, seed=5)
    parts = split(cell)
    after = parse_operation(name).fit(parts.calibration).apply(parts.evaluation)
    exact = every_sample(as_items(after, range(5)), as_items(parts.evaluation, range(5)), 3)
    n_draws = 40_000
    joint = join([build_columns(after), build_columns(parts.evaluation)])
    drawn = joint_draws(joint, SCALARS, n_draws, np.random.default_rng(0))
    sides = [{key: values[None] for key, values in side.items()} for side in drawn]
    for key, change in CHANGES.items():
        ours = Counter(None if np.isnan(v) else round(v, 9) + 0.0 for v in difference(change, *sides))
        law = Counter(None if v is None else round(v, 9) + 0.0 for v in exact[key])
        assert set(ours) <= set(law), key
        for value, count in law.items():
            p = count / len(exact[key])
            assert abs(ours[value] / n_draws - p) < 5 * math.sqrt(p * (1 - p) / n_draws) + 1e-12, (key, value)


def test_intervals_are_percentiles_of_all_possible_samples():
    cell = planted(7, 3, [1.0, 0.0, -1.0], noise=0.8, seed=11)
    found = mitigate(cell, "pride", resamples=20_000, level=0.8)
    items = outputs(cell, ("none", "pride"))
    exact = every_sample(items["pride"], items["none"], 3)
    checked = 0
    for key, interval in found["pride"].changes.intervals.items():
        values = np.array([math.nan if v is None else v for v in exact[key]])
        undefined = np.isnan(values).mean()
        if undefined > 0.2:
            assert interval is None
            continue
        values = values[~np.isnan(values)]
        if np.ptp(values) == 0:  # no sample shows any spread: the bound of items that may have gone unseen
            q = 1 - 0.1 ** (1 / 6)
            assert interval == pytest.approx((-q, q))
            continue
        for end, q in zip(interval, (0.1, 0.9), strict=True):
            low, high = np.quantile(values, [q - 0.015, q + 0.015], method="inverted_cdf")
            assert low - 1e-9 <= end <= high + 1e-9
            checked += 1
    assert checked >= 8


def flipping(items):
    return [by_hand.flips(answers) for _, answers in items]


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([3, 4]), st.integers(20, 60))
def test_transitions_are_those_of_loops(seed, k, n_items):
    cell = planted(n_items, k, np.linspace(1, -1, k), noise=0.7, seed=seed)
    found = mitigate(cell, "reversal-product,pride", resamples=0, transitions=True).transitions
    parts = split(cell)
    items = outputs(cell, ("none", "reversal-product"))
    before, after = items["none"], items["reversal-product"]
    moved = list(zip(flipping(before), flipping(after), before, after, strict=True))
    move = next(m for m in found.moves if m.operation == "reversal-product")
    stopped = [(b, a) for f, g, b, a in moved if f and not g]
    assert move.stop.count == len(stopped)
    assert move.start.count == sum(g and not f for f, g, *_ in moved)
    wrong = [q for q, (f, g, b, a) in enumerate(moved) if f and not g and a[1][0][1] != a[0]]
    assert move.resolved_wrong.count == len(wrong)
    assert move.resolved_wrong.value == (len(wrong) / len(stopped) if stopped else None)

    top = found.top_place
    placed = [np.mean([positions[z] == top for positions, z in a[1]]) for f, _, _, a in moved if f]
    assert move.top_place == pytest.approx(np.mean(placed))

    settled = [after[q][1][0][1] for q in wrong]
    assert move.settling.n_items == len(wrong)
    kinds, top_two, all_wrong, gaps = [], [], [], []
    for q, z in zip(wrong, settled, strict=True):
        counts = Counter(parts.evaluation.choice[q].tolist())
        most = max(counts.values())
        best = [c for c, n in counts.items() if n == most]
        kinds.append("less" if z not in best else "only" if best == [z] else "tied")
        scores = parts.evaluation.logprobs[q]
        shown = [[int(np.flatnonzero(row == r)[0]) for r in np.argsort(-scores[s])[:2]]
                 for s, row in enumerate(cell.positions)]  # fmt: skip
        top_two.append(all(z in pair for pair in shown))
        all_wrong.append(all(answer != before[q][0] for _, answer in before[q][1]))
        p = np.sort(np.exp(scores[0]) / np.exp(scores[0]).sum())
        gaps.append(p[-1] - p[-2])
    if wrong:
        assert move.settling.most_frequent == pytest.approx(kinds.count("only") / len(wrong))
        assert move.settling.tied_most_frequent == pytest.approx(kinds.count("tied") / len(wrong))
        assert move.settling.less_frequent == pytest.approx(kinds.count("less") / len(wrong))
        assert move.settling.top_two_everywhere == pytest.approx(np.mean(top_two))
        assert move.settling.wrong_everywhere == pytest.approx(np.mean(all_wrong))
        assert move.settling.gap == pytest.approx(np.mean(gaps))
    else:
        assert move.settling.most_frequent is None


def test_a_content_of_two_letters_is_among_the_top_two_by_its_better_one():
    p = Predictions(
        choice=[[0]],
        positions=[[0, 1, 2, 3]],
        gold=[1],
        logprobs=np.log([[[0.05, 0.15, 0.2, 0.6]]]),
        same_text=[[0, 1, 2, 0]],
    )
    assert _among_top_two(p, np.array([0], np.int8)).tolist() == [1.0]
    # A content below two others is not, and the second letter of one of them does not count as a third content.
    assert _among_top_two(p, np.array([1], np.int8)).tolist() == [0.0]
    assert _among_top_two(p, np.array([2], np.int8)).tolist() == [1.0]
