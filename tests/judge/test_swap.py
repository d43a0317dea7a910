"""The swap check against its source, word for word, and against the theorem that joins it to the two factors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orderbias import measure, position_bias_report, sign_test_p
from orderbias.errors import ArgumentError
from orderbias.judge import Judgments, collapsed, outcome_counts, pair_consistency, to_predictions
from orderbias.verdicts import TIE, UNREAD


def judged(rows: list[tuple[int, int]], **columns: object) -> Judgments:
    calls = np.array(rows, np.int8).reshape(len(rows), 2, 1)
    return Judgments(np.array([str(i) for i in range(len(rows))], object), calls, **columns)  # type: ignore[arg-type]


def test_the_eight_assertions_of_the_source() -> None:
    pairs = [("x" * i, "y" * (i + 3)) for i in range(20)]

    def by_length(f, s):  # type: ignore[no-untyped-def]
        return "tie" if len(f) == len(s) else ("first" if len(f) > len(s) else "second")

    r = position_bias_report(pairs, by_length)
    assert r["consistency"] == 1.0
    assert r["first_position_rate"] == 0.5
    assert r["p_value"] == 1.0
    assert r["verdicts"] == ["B"] * 20
    r = position_bias_report(pairs, lambda f, s: "first")
    assert r["consistency"] == 0.0
    assert r["verdicts"] == ["tie"] * 20
    assert r["first_position_rate"] == 1.0
    assert r["p_value"] == 2 / 2**40

    def leaning(f, s):  # type: ignore[no-untyped-def]
        return "first" if abs(len(f) - len(s)) < 3 else by_length(f, s)

    mixed = [("aa", "bbb"), ("a", "bbbbbb"), ("aaaa", "b")]
    r = position_bias_report(mixed, leaning)
    assert r["verdicts"] == ["tie", "B", "A"]
    assert abs(r["consistency"] - 2 / 3) < 1e-12  # type: ignore[operator]
    assert abs(r["first_position_rate"] - 4 / 6) < 1e-12  # type: ignore[operator]
    assert sign_test_p(5, 10) == 1.0
    assert abs(sign_test_p(0, 5) - 2 / 32) < 1e-15


def test_no_pair_at_all_is_as_the_source_has_it() -> None:
    empty = position_bias_report([], lambda f, s: "tie")
    assert empty == {"consistency": 1.0, "first_position_rate": 0.5, "p_value": 1.0, "verdicts": []}


def test_a_judge_that_says_something_else_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"must return one of 'first', 'second', 'tie'\. Got 'A'"):
        position_bias_report([("a", "b")], lambda f, s: "A")


CODES = st.integers(UNREAD, TIE)


@given(st.lists(st.tuples(CODES, CODES), max_size=40))
def test_counts_against_a_loop(rows: list[tuple[int, int]]) -> None:
    """A loop in the manner of the source, over the pairs that were read in both orders."""
    names = {0: "first", 1: "second", 2: "tie"}
    forward, backward = {"first": "A", "second": "B", "tie": "tie"}, {"first": "B", "second": "A", "tie": "tie"}
    consistent = first = decisive = contradicting = 0
    verdicts = []
    for v1, v2 in rows:
        if v1 < 0 or v2 < 0:
            verdicts.append(None)
            continue
        m1, m2 = forward[names[v1]], backward[names[v2]]
        consistent += m1 == m2
        contradicting += m1 != m2 and "tie" not in (m1, m2)
        verdicts.append(m1 if m1 == m2 else "tie")
        decisive += (v1 < 2) + (v2 < 2)
        first += (v1 == 0) + (v2 == 0)
    judgments = judged(rows)
    counts = outcome_counts(judgments)
    assert (counts.n_consistent, counts.n_first, counts.n_decisive) == (consistent, first, decisive)
    assert sum(counts.contradictions) == contradicting
    assert counts.n_complete == counts.n_consistent + sum(counts.contradictions) + sum(counts.half_shifts)
    assert [("A", "B", "tie", None)[c] for c in collapsed(judgments)] == verdicts
    assert sum(counts.as_dict().values()) == counts.n_complete


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60))
def test_raw_fairness_is_twice_the_pooled_sd(rows: list[tuple[int, int]]) -> None:
    """Two-factors, G: |raw fairness| / pairs = 2 x pooled SD, with Shi et al.'s score written out as they define it."""
    primacy, recency = rows.count((0, 0)), rows.count((1, 1))
    inconsistent = primacy + recency
    # Inconsistent pairs that prefer a place, weighted by the share of the inconsistent that do.
    raw = 0.0 if not inconsistent else recency * (recency / inconsistent) - primacy * (primacy / inconsistent)
    found = measure(to_predictions(judged(rows)), resamples=0)
    assert found.pooled_sd == pytest.approx(abs(raw) / len(rows) / 2, abs=1e-12)
    assert found.flip_rate == pytest.approx(inconsistent / len(rows))
    if inconsistent:
        assert found.positional_skew == pytest.approx(abs(primacy - recency) / inconsistent / 2, abs=1e-12)


def test_pairs_with_a_tie_are_no_items_of_two_options() -> None:
    predictions = to_predictions(
        judged([(0, 1), (0, 2), (2, 2), (0, -1), (1, 1)], human=np.array([0, 1, 2, 0, -1], np.int8))
    )
    assert predictions.usable.tolist() == [True, False, False, False, True]
    assert predictions.gold.tolist() == [0, 1, -1, 0, -1]
    assert measure(predictions, resamples=0)["n_unusable"] == 3


def test_rules_for_unreadable_verdicts() -> None:
    judgments = judged([(0, 1), (0, -1), (0, 0), (-1, -1), (0, -2)])
    assert pair_consistency(judgments) == (1, 2)
    assert pair_consistency(judgments, "wrong") == (1, 4)
    assert pair_consistency(judgments, "consistent") == (3, 5)  # a partner that was not asked for is not unreadable
    with pytest.raises(ArgumentError, match="`unreadable` must be one of exclude, consistent, wrong"):
        pair_consistency(judgments, "drop")
