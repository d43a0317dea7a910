"""Columns: equal items are counted, whatever their order, block and design."""

import numpy as np
import pytest
from by_hand import cells, predictions
from hypothesis import given, settings

from orderbias.errors import ArgumentError, DataError
from orderbias.measures import build_columns, chosen_measures, columns, evaluate
from orderbias.measures.distinct import distinct_codes, distinct_rows
from orderbias.orderings import cyclic, cyclic_with_reversals
from orderbias.predictions import Predictions


def planted(n, K=4, seed=0, **more):
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, K, n)
    choice = np.where(rng.random((n, K)) < 0.6, gold[:, None], rng.integers(0, K, (n, K)))
    return Predictions(choice=choice, positions=cyclic(K).positions, gold=gold, **more)


def test_rows_are_different_and_counts_cover_the_items():
    found = build_columns(planted(5000))
    assert len(np.unique(found.rows, axis=0)) == len(found.rows)
    assert found.counts.sum() == found.n_units == 5000
    assert (np.bincount(found.row_of) == found.counts).all()
    assert len(found.rows) < 1000


def test_more_items_of_the_same_kinds_add_no_rows():
    few, many = planted(300), planted(300)
    many = Predictions(np.tile(many.choice, (40, 1)), many.positions, np.tile(many.gold, 40))
    a, b = build_columns(few), build_columns(many)
    assert np.array_equal(a.rows, b.rows)
    assert np.array_equal(40 * a.counts, b.counts)


@given(cells())
@settings(max_examples=50, deadline=None)
def test_a_shared_design_written_per_item_gives_the_same_rows(cell):
    items, K, _ = cell
    if len({tuple(map(tuple, (p for p, _ in a))) for _, a in items}) > 1:
        return
    one = build_columns(predictions(items, K, shared=True))
    other = build_columns(predictions(items, K, shared=False))
    assert np.array_equal(one.rows, other.rows)
    assert np.array_equal(one.counts, other.counts)
    assert dict(one.layout.absent) == dict(other.layout.absent)


def test_neither_the_order_of_items_nor_the_block_size_matters(monkeypatch):
    rng = np.random.default_rng(1)
    base = planted(500)
    turned = np.argsort(rng.random((500, 4, 4)), axis=-1)
    base = Predictions(base.choice, turned, base.gold)
    order = rng.permutation(500)
    shuffled = Predictions(base.choice[order], turned[order], base.gold[order])
    whole = build_columns(base)
    assert np.array_equal(build_columns(shuffled).rows, whole.rows)
    monkeypatch.setattr(columns, "BLOCK", 7 * 16)
    blocks = build_columns(base)
    assert np.array_equal(blocks.rows, whole.rows)
    assert np.array_equal(blocks.counts, whole.counts)
    assert np.array_equal(blocks.row_of, whole.row_of)
    assert blocks.layout.max_deviation == whole.layout.max_deviation > 0


def test_the_largest_deviation_may_stand_in_any_block(monkeypatch):
    monkeypatch.setattr(columns, "BLOCK", 1)
    turned = np.array([[[0, 1], [1, 0]], [[1, 0], [1, 0]], [[0, 1], [1, 0]]])
    layout = build_columns(Predictions([[0, 0], [0, 1], [1, 1]], turned, [0, 0, 1])).layout
    assert layout.max_deviation == 0.5
    assert not layout.balanced


def test_slots_that_were_not_asked_make_no_second_ordering():
    turned = np.array([[[1, 0], [0, 1]]] * 3)
    asked = np.array([[True, False]] * 3)
    found = build_columns(Predictions([[0, -1], [1, -1], [0, -1]], turned, [0, 0, 1], asked=asked))
    assert "two different orderings" in found.layout.absent["flip"]
    assert {"pairwise", "content_entropy"} <= set(found.layout.absent)


def test_ties_of_orderings_that_were_only_queried_do_not_count():
    ties = np.array([[False, True], [True, False], [False, False]])
    choice, positions = [[0, 0], [1, 1], [1, 0]], [[0, 1], [1, 0]]
    shared = build_columns(Predictions(choice, positions, [0, 0, 0], presented=[True, False], ties=ties))
    assert shared.sums["tie"] == 1
    own = np.array([positions] * 3)
    per_item = Predictions(choice, own, [0, 0, 0], asked=np.array([[True, False]] * 3), ties=ties)
    assert build_columns(per_item).sums["tie"] == 1


def test_orderings_that_were_only_queried_do_not_count():
    design = cyclic_with_reversals(4)
    base = planted(200)
    reversals = np.random.default_rng(2).integers(0, 4, (200, 4))
    both = Predictions(np.hstack([base.choice, reversals]), design.positions, base.gold, presented=design.presented)
    assert np.array_equal(build_columns(both).rows, build_columns(base).rows)


def test_an_item_with_a_missing_answer_is_left_out_and_nothing_imputed():
    base = planted(50)
    choice = base.choice.copy()
    choice[3, 2] = -1
    holed = Predictions(choice, base.positions, base.gold)
    rest = np.delete(np.arange(50), 3)
    without = Predictions(base.choice[rest], base.positions, base.gold[rest])
    assert np.array_equal(build_columns(holed).sums.totals, build_columns(without).sums.totals)


def test_no_usable_item_is_an_error_that_says_what_to_look_at():
    with pytest.raises(DataError, match=r"Got 0 usable items of 2 .*statuses"):
        build_columns(Predictions([[-1, 0], [0, -1]], [[0, 1], [1, 0]], [0, 0]))


def test_one_item_without_gold_silences_the_measures_that_need_one():
    base = planted(30)
    gold = base.gold.copy()
    gold[4] = -1
    found = build_columns(Predictions(base.choice, base.positions, gold))
    values = evaluate(found.sums, chosen_measures(None))
    assert {"flip_rate", "positional_skew", "pooled_sd", "content_entropy"} <= set(values)
    assert not {"accuracy", "accuracy_canonical", "stable_correct", "balanced_rstd", "ckld", "flip_cap"} & set(values)
    assert found.layout.absent["correct"] == "not every usable item has a gold answer"
    assert np.isfinite(found.rows).all()


def test_cluster_sums_are_the_sums_of_their_items():
    base = planted(300)
    found = build_columns(base)
    cluster_of = np.random.default_rng(3).integers(0, 12, 300)
    grouped = found.clustered(cluster_of)
    table = found.rows[found.row_of]
    expected = np.stack([table[cluster_of == c].sum(axis=0) for c in range(12)])
    np.testing.assert_allclose(grouped.rows[grouped.row_of], expected, atol=1e-12)
    np.testing.assert_allclose(grouped.sums.totals, found.sums.totals, atol=1e-9)


def test_selected_columns_have_the_same_sums_in_fewer_rows():
    found = build_columns(planted(2000))
    part = found.select(("one", "f", "flip"))
    assert len(part.rows) < len(found.rows)
    for name in ("one", "f", "flip"):
        np.testing.assert_allclose(part.sums[name], found.sums[name], atol=1e-9)
    np.testing.assert_array_equal(part.rows[part.row_of][:, 0], 1)


def test_codes_that_do_not_fit_in_one_word_are_still_exact():
    rng = np.random.default_rng(4)
    table = rng.integers(0, 10, (60, 40))
    table = table[rng.integers(0, 60, 500)]
    table[:, -1] = rng.integers(0, 2, 500)  # rows that differ in one column only
    found = distinct_codes(list(table.T), [10] * 40)
    _, counts = np.unique(table, axis=0, return_counts=True)
    assert sorted(found.counts) == sorted(counts)
    assert np.array_equal(table[found.first][found.inverse], table)


def test_rows_of_floats_are_compared_exactly():
    table = np.array([[0.0, 1.0], [-0.0, 1.0], [np.nan, 1.0], [np.nan, 1.0], [1e-300, 1.0]])
    found = distinct_rows(table, [1, 2, 3, 4, 5])
    assert sorted(found.counts) == [3, 5, 7]
    assert len(set(found.inverse[[0, 2, 4]])) == 3


def test_short_fractions_do_not_share_hashes():
    # Their bits differ at the high end only, where a plain product modulo 2^64 would lose them.
    grid = np.stack(np.meshgrid(*[np.arange(9) / 8] * 5), axis=-1).reshape(-1, 5)
    from orderbias.measures.distinct import _hashes

    assert len(np.unique(_hashes(grid.view(np.uint64)))) == 9**5


def test_unknown_measures_are_named_with_the_valid_ones():
    with pytest.raises(ArgumentError, match=r"among accuracy, .*tie_share.*Got 'flip'"):
        chosen_measures(["flip_rate", "flip"])
