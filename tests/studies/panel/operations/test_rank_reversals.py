"""Rank reversals against plain loops over pairs, items and orderings."""

from itertools import combinations

import numpy as np
import pytest

from orderbias.orderings import parse_design
from orderbias.predictions import Predictions
from orderbias.studies.panel import Checkpoint, panel_cell
from orderbias.studies.panel.answer_measures import operation_measures
from orderbias.studies.panel.estimates import checkpoint_draws
from orderbias.studies.panel.operated_cells import OperatedCell, operated_pool
from orderbias.studies.panel.operations.rank_reversals import find_reversals, reversals_tables
from orderbias.studies.panel.values import Settings

NAMES = ("none", "other")


def operated_cell(checkpoint, benchmark, choice, ids, gold):
    """An operated cell of given answers ``(n_operations, n, K)``."""
    k = choice.shape[2]
    p = Predictions(
        choice[0], parse_design("cyclic").design(k).positions, gold, item_ids=np.array(ids, object), benchmark=benchmark
    )
    measures = operation_measures(choice.astype(np.int8), p.gold, k)
    cell = panel_cell(p, Checkpoint(checkpoint), readout="first-token")
    return OperatedCell(cell, NAMES, np.arange(len(ids)), choice.astype(np.int8), measures, 0, 0, np.zeros(k))


def random_cells(seed, n_checkpoints=5, n_benchmarks=3, k=3):
    """Every checkpoint answers most of the items, in an order of its own; few items make ties common."""
    rng = np.random.default_rng(seed)
    cells = []
    for b in range(n_benchmarks):
        gold = rng.integers(0, k, 12)
        for c in range(n_checkpoints):
            if b == 2 and c == 1:
                continue
            rows = rng.permutation(12)[: rng.integers(9, 13)]
            choice = np.where(
                rng.random((2, len(rows), k)) < 0.5, gold[rows][:, None], rng.integers(0, k, (2, len(rows), k))
            )
            cells.append(operated_cell(f"m{c}", f"b{b}", choice, [f"i{r}" for r in rows], gold[rows]))
    return cells


def pair_reverses(a, b, operation, shared_by):
    """Count right answers on the shared items under each ordering; None where no item is shared."""
    right = [
        {str(i): cell.choice[operation, r] == cell.gold[r] for r, i in enumerate(cell.cell.predictions.item_ids)}
        for cell in (a, b)
    ]
    items = set(right[0]) & set(right[1]) if shared_by is None else shared_by
    if not items:
        return None
    signs = set()
    for s in range(a.choice.shape[2]):
        signs.add(np.sign(sum(int(right[0][i][s]) for i in items) - sum(int(right[1][i][s]) for i in items)))
    return {1, -1} <= signs


def brute_share(cells, operation, shared_by_all, times=None):
    """Share of reversing pairs; ``times`` says how often each checkpoint is in a sample that is laid out."""
    reversing = pairs = 0
    for benchmark in dict.fromkeys(c.cell.benchmark for c in cells):
        group = [c for c in cells if c.cell.benchmark == benchmark]
        common = set.intersection(*(set(map(str, c.cell.predictions.item_ids)) for c in group))
        sample = [c for c in group for _ in range(1 if times is None else times[c.cell.checkpoint.name])]
        for a, b in combinations(sample, 2):
            if a is not b:
                found = pair_reverses(a, b, operation, common if shared_by_all else None)
                pairs += found is not None
                reversing += bool(found)
    return reversing / pairs if pairs else np.nan


@pytest.mark.parametrize("shared_by_all", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_shares_by_loops_on_all_pairs_and_on_draws(seed, shared_by_all):
    cells = random_cells(seed)
    draws = checkpoint_draws(operated_pool(cells), Settings(resamples=100, seed=seed), "test")
    found = find_reversals(cells, draws, shared_by_all=shared_by_all)
    shares = found.shares(draws)
    assert found.n_pairs == 10 + 10 + 6
    for operation in range(2):
        assert shares.values[operation] == pytest.approx(brute_share(cells, operation, shared_by_all))
        for row in range(0, 100, 9):
            times = {f"m{c}": int(w) for c, w in enumerate(draws.weights[row])}
            expected = brute_share(cells, operation, shared_by_all, times)
            assert shares.draws[row, operation] == pytest.approx(expected, nan_ok=True)


def test_benchmark_means_weigh_benchmarks_alike():
    cells = random_cells(5)
    draws = checkpoint_draws(operated_pool(cells), Settings(resamples=100), "test")
    means = find_reversals(cells, draws, shared_by_all=True).benchmark_means(draws)
    each = [brute_share([c for c in cells if c.cell.benchmark == b], 0, True) for b in ("b0", "b1", "b2")]
    assert means.values[0] == pytest.approx(np.mean(each))


def test_a_tie_is_no_sign():
    gold = np.array([0, 0])
    ahead = np.array([[[0, 0, 1], [1, 1, 1]]] * 2)  # right answers under each ordering: 1 1 0
    behind = np.array([[[1, 0, 1], [1, 1, 1]]] * 2)  # 0 1 0: never ahead
    other = np.array([[[1, 1, 0], [1, 1, 1]]] * 2)  # 0 0 1
    cells = [operated_cell(n, "b", c, ["x", "y"], gold) for n, c in (("a", ahead), ("t", behind), ("o", other))]
    draws = checkpoint_draws(operated_pool(cells), Settings(resamples=100), "test")
    reverse = find_reversals(cells, draws, shared_by_all=True).reversed[0, 0]
    assert reverse.tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]


def test_no_pair_without_a_shared_item_or_a_gold():
    choice = np.zeros((2, 2, 3), int)
    apart = [operated_cell(n, "b", choice, ids, np.zeros(2, int)) for n, ids in (("a", ["x", "y"]), ("b", ["z", "w"]))]
    unknown = [operated_cell(n, "b", choice, ["x", "y"], np.full(2, -1)) for n in ("a", "b")]
    for cells in (apart, unknown):
        draws = checkpoint_draws(operated_pool(cells), Settings(resamples=100), "test")
        found = find_reversals(cells, draws, shared_by_all=False)
        assert found.n_pairs == found.n_benchmarks == 0
        assert np.isnan(found.shares(draws).values).all()


def test_the_tables_pair_operations_within_draws():
    cells = random_cells(6)
    draws = checkpoint_draws(operated_pool(cells), Settings(resamples=300), "test")
    common, pairwise = (find_reversals(cells, draws, shared_by_all=s) for s in (True, False))
    levels, differences = reversals_tables(common, pairwise, draws, NAMES)
    by_name = {row[0]: row[1].value for row in levels.rows}
    row = differences.rows[0]
    assert row[:2] == ("other", "none")
    assert row[2].value == pytest.approx(by_name["other"] - by_name["none"])
    shares = common.shares(draws).draws
    assert row[2].low == pytest.approx(np.nanquantile(shares[:, 1] - shares[:, 0], 0.025))
