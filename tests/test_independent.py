"""Files of records in, numbers out, against loops over single answers written from the papers alone.

An item is ``{"id", "gold", "presented": [ordering], "answers": {ordering: log-probabilities by place, or None}}``; an
ordering is a tuple with the place of each content. Nothing of the package is used up to the tests.
"""

import itertools
import json
import math
import random
from bisect import bisect_left, bisect_right
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from orderbias import Predictions, measure, mitigate
from orderbias.cli import run
from orderbias.operations import calibration_items

TIE = 1e-11  # sums of the same logarithms in another order


def cyclic(K):
    return [tuple((j + s) % K for j in range(K)) for s in range(K)]


def mirrored(ordering):
    return tuple(len(ordering) - 1 - place for place in ordering)


def log_softmax(scores):
    top = max(scores)
    total = top + math.log(math.fsum(math.exp(s - top) for s in scores))
    return [s - total for s in scores]


def first_largest(scores):
    return next(i for i, s in enumerate(scores) if s >= max(scores) - TIE)


def chosen(ordering, logprobs):
    return None if logprobs is None else ordering.index(first_largest(logprobs))


def make_items(rng, K, n, designs, lost=0.0, unknown=0.0):
    """Draw items whose answers come from contents, a lean of the labels, and noise; some answers are missing."""
    lean = [rng.gauss(0, 0.7) for _ in range(K)]
    items = []
    for i in range(n):
        design = rng.choice(designs)
        content = [rng.gauss(0, 1) for _ in range(K)]
        answers = {}
        for ordering in design + [mirrored(o) for o in design]:
            scores = [lean[p] + content[ordering.index(p)] + rng.gauss(0, 0.6) for p in range(K)]
            answers[ordering] = None if rng.random() < lost else log_softmax([round(s, 1) for s in scores])
        gold = None if rng.random() < unknown else rng.randrange(K)
        items.append({"id": f"q{i}", "gold": gold, "presented": design, "answers": answers})
    return items


def write(path, items, rng, presented_only):
    rows = [
        {"item_id": item["id"], "positions": list(o), "gold": item["gold"], "logprobs": lp}
        | {"status": "ok" if lp else rng.choice(["unparsed", "refused", "error"])}
        for item in items
        for o, lp in item["answers"].items()
        if o in item["presented"] or not presented_only
    ]
    rng.shuffle(rows)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


# ---- measures


def sd(values):
    middle = sum(values) / len(values)
    return math.sqrt(sum((v - middle) ** 2 for v in values) / len(values))


def bits(shares):
    return sum(float(p) * math.log2(p * len(shares)) for p in shares if p)


def average(vectors):
    return [sum(column) / Fraction(len(vectors)) for column in zip(*vectors, strict=True)]


def share(places, K):
    return [Fraction(places.count(r), len(places)) for r in range(K)]


def by_loops(cells, K):
    """Measure ``[(gold, [(ordering, content)])]``, usable items only, under a position-balanced design."""
    n = len(cells)
    f_of = [share([o[z] for o, z in answers], K) for _, answers in cells]
    moves = [len({z for _, z in answers}) > 1 for _, answers in cells]
    moving = [f for f, flips in zip(f_of, moves, strict=True) if flips]
    f, g, rate = average(f_of), average(moving) if moving else None, Fraction(sum(moves), n)
    tallies = [Counter(z for _, z in answers).values() for _, answers in cells]
    pairs = [list(itertools.combinations([z for _, z in answers], 2)) for _, answers in cells]
    found = {
        "n_items": n, "flip_rate": rate, "selection_share": f, "flip_share": g, "pooled_sd": sd(f),
        "positional_skew": sd(g) if g else None, "corrected_pooled_sd": rate * sd(g) if g else 0,
        "design_deviation_sd": 0, "per_item_sd": sum(map(sd, f_of)) / n, "per_item_kl": sum(map(bits, f_of)) / n,
        "forward_kl": bits(f), "forward_kl_bound": rate * bits(g) if g else 0,
        "content_entropy": sum(-c / sum(t) * math.log2(c / sum(t)) for t in tallies for c in t) / n,
        "pairwise_disagreement": sum(Fraction(sum(a != b for a, b in p), len(p)) for p in pairs) / n,
    }  # fmt: skip
    if any(gold is None for gold, _ in cells):
        golden = ("accuracy", "stable_correct", "stable_wrong", "accuracy_by_place", "placement_factor",
                  "placement_range", "balanced_rstd", "flip_cap", "scaled_flip_rate")  # fmt: skip
        return found | dict.fromkeys(golden)
    right = [[(o[gold], Fraction(z == gold)) for o, z in answers] for gold, answers in cells]
    at = [[sum(x for p, x in r if p == j) * K / len(r) for j in range(K)] for r in right]
    accuracy = sum(sum(x for _, x in r) / len(r) for r in right) / n
    cap = min(Fraction(1), max(map(len, right)) * (1 - accuracy))
    A = average(at)
    correct = Fraction(sum(all(x for _, x in r) for r in right), n)
    return found | {
        "accuracy": accuracy, "stable_correct": correct, "stable_wrong": 1 - rate - correct, "accuracy_by_place": A,
        "placement_factor": average([a for a, m in zip(at, moves, strict=True) if m]) if moving else None,
        "placement_range": max(A) - min(A), "balanced_rstd": sd(A), "flip_cap": cap,
        "scaled_flip_rate": rate / cap if cap else None,
    }  # fmt: skip


def answered(items):
    """Return the usable items as ``by_loops`` reads them."""
    cells = [(i["gold"], [(o, chosen(o, i["answers"][o])) for o in i["presented"]]) for i in items]
    return [cell for cell in cells if all(z is not None for _, z in cell[1])]


def assert_same(found, expected):
    for key, value in expected.items():
        if value is None or found[key] is None:
            assert found[key] is None, key
            assert value is None, key
        else:
            assert found[key] == pytest.approx(np.array(value, float), abs=1e-11), key


@pytest.mark.parametrize("seed", range(12))
def test_measures_of_a_file(seed, tmp_path, capsys):
    rng = random.Random(seed)
    K, n = rng.randint(2, 10), rng.randint(5, 40)
    if seed % 3 == 2:  # balanced designs of each item, of two sizes
        relabelled = [rng.sample(range(K), K) for _ in range(3)]
        own = [[tuple(m[p] for p in o) for o in cyclic(K)] for m in relabelled]
        designs = [*own, list(dict.fromkeys(own[0] + own[1]))]
    else:
        designs = [cyclic(K)]
    items = make_items(rng, K, n, designs, lost=0.02, unknown=0.03 if seed % 4 == 3 else 0)
    write(tmp_path / "a.jsonl", items, rng, presented_only=True)
    how = "per-item" if len(designs) > 1 else "shared"
    assert run(["measure", str(tmp_path / "a.jsonl"), "--json", "--resamples", "0", "--design", how]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    expected = by_loops(answered(items), K)
    assert_same(cell, expected | {"n_unusable": n - expected["n_items"]})


# ---- intervals and tests


def tail(successes, n, p):
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(successes, n + 1))


def root(function):
    """Solve a rising function of a probability for 0 by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return low


def predictions(items, K):
    """Build the value without records: one design for all items, every answer as a content."""
    design = items[0]["presented"]
    choice = [[chosen(o, i["answers"][o]) for o in design] for i in items]
    return Predictions(choice, np.array(design), [i["gold"] for i in items])


def test_shares_have_the_interval_that_exact_tails_give():
    for seed, n in enumerate((1, 7, 30)):
        found = measure(predictions(make_items(random.Random(seed), 4, n, [cyclic(4)]), 4), resamples=0)
        for key in ("flip_rate", "stable_correct", "accuracy_canonical"):
            k = round(found[key] * n)
            low = root(lambda p, k=k, n=n: tail(k, n, p) - 0.025) if k else 0.0
            high = root(lambda p, k=k, n=n: tail(k + 1, n, p) - 0.975) if k < n else 1.0
            assert found.intervals[key] == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("clustered", [False, True])
def test_bootstrap_agrees_with_drawing_items_one_by_one(clustered):
    rng = random.Random(5)
    items = make_items(rng, 4, 40, [cyclic(4)])
    cluster = [rng.randrange(9) if clustered else i for i in range(40)]
    units = [[c for c, of in zip(answered(items), cluster, strict=True) if of == u] for u in sorted(set(cluster))]
    drawn = (rng.choices(units, k=len(units)) for _ in range(500))
    draws = [by_loops(list(itertools.chain(*sample)), 4) for sample in drawn]
    found = measure(predictions(items, 4), resamples=20_000, cluster=cluster if clustered else None)
    for key in ("accuracy", "pooled_sd", "positional_skew", "placement_range", "content_entropy", "forward_kl"):
        theirs = sorted(float(d[key]) for d in draws)
        for q, end in zip((0.025, 0.975), found.intervals[key], strict=True):
            below, upto = bisect_left(theirs, end - 1e-12) / 500, bisect_right(theirs, end + 1e-12) / 500
            slack = 4.5 * math.sqrt(q * (1 - q) / 500)
            assert below - slack <= q <= upto + slack


def test_rotations_agree_with_going_through_all_of_them():
    cells = make_items(random.Random(8), 4, 6, [cyclic(4)])
    moving = [share([o[z] for o, z in a], 4) for _, a in answered(cells) if len({z for _, z in a}) > 1]
    turned = [
        sd(average([f[-s:] + f[:-s] for f, s in zip(moving, shifts, strict=True)]))
        for shifts in itertools.product(range(4), repeat=len(moving))
    ]
    found = measure(predictions(cells, 4), resamples=20_000)
    p = sum(s >= found.positional_skew - 1e-12 for s in turned) / len(turned)
    assert len(moving) > 2
    assert found.tests["rotation"]["p_value"] == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / 20_000) + 1e-4)
    assert found.expected["positional_skew"] == pytest.approx(sum(turned) / len(turned), abs=0.003)
    largest = max(abs(float(x) - 0.25) for x in found.selection_share)
    bound = min(1, 2 * 4 * math.exp(-2 * 6 * largest**2))
    assert found.tests["uniformity"]["p_value"] == pytest.approx(bound)


# ---- operations


def prior(items, K, kind):
    per_item = []
    for item in items:
        rows = [log_softmax(item["answers"][o]) for o in item["presented"]]
        if kind == "pride":  # the normalised geometric mean
            per_item.append([math.exp(x) for x in log_softmax([sum(c) / len(rows) for c in zip(*rows, strict=True)])])
        else:
            per_item.append([sum(map(math.exp, c)) / len(rows) for c in zip(*rows, strict=True)])
    return [sum(column) / len(items) for column in zip(*per_item, strict=True)]


def corrected(items, values):
    logs = [math.log(v) for v in values]
    return [i | {"answers": {o: log_softmax([x - b for x, b in zip(lp, logs, strict=True)])
                             for o, lp in i["answers"].items()}} for i in items]  # fmt: skip


def product(items):
    """Multiply each content's probabilities under an ordering and its reversal, by presented place."""
    return [i | {"answers": {o: [i["answers"][o][p] + i["answers"][mirrored(o)][len(o) - 1 - p] for p in range(len(o))]
                             for o in i["presented"]}} for i in items]  # fmt: skip


def voted(cells):
    """Give each ordering the most frequent content, lowest of equals."""
    tallies = [Counter(z for _, z in answers) for _, answers in cells]
    winners = [min(t, key=lambda z, t=t: (-t[z], z)) for t in tallies]
    return [(gold, [(o, z) for o, _ in answers]) for (gold, answers), z in zip(cells, winners, strict=True)]


@pytest.mark.parametrize(("seed", "K"), [(1, 3), (2, 4), (3, 4), (4, 5), (5, 10)])
def test_operations_on_held_out_items(seed, K):
    rng = random.Random(seed)
    items = make_items(rng, K, 24, [cyclic(K)])
    queries = cyclic(K) + [mirrored(o) for o in cyclic(K)]
    logprobs = np.array([[i["answers"][o] for o in queries] for i in items])
    choice = [[chosen(o, i["answers"][o]) for o in queries] for i in items]
    cell = Predictions(choice, queries, [i["gold"] for i in items], logprobs, presented=[True] * K + [False] * K)
    names = "none,pride,batch-calibration,reversal-product,pride>reversal-product,pride>batch-calibration,majority-vote"
    found = mitigate(cell, names, resamples=0, seed=seed, calibration_share=0.2)
    calibrates = calibration_items(cell, 0.2, seed)
    learnt = [i for i, c in zip(items, calibrates, strict=True) if c]
    held = [i for i, c in zip(items, calibrates, strict=True) if not c]
    pride, batch = prior(learnt, K, "pride"), prior(learnt, K, "batch")
    second = prior(corrected(learnt, pride), K, "batch")
    expected = {
        "none": answered(held),
        "pride": answered(corrected(held, pride)),
        "batch-calibration": answered(corrected(held, batch)),
        "reversal-product": answered(product(held)),
        "pride>reversal-product": answered(product(corrected(held, pride))),
        "pride>batch-calibration": answered(corrected(corrected(held, pride), second)),
        "majority-vote": voted(answered(held)),
    }
    before = by_loops(expected["none"], K)
    for name, cells in expected.items():
        after = by_loops(cells, K)
        assert_same(found[name].measures, {key: after[key] for key in found[name].measures})
        changes = found[name].changes.values
        for key in ("placement_range", "accuracy", "stable_wrong"):
            assert changes[key] == pytest.approx(float(after[key] - before[key]), abs=1e-11)
        for key in ("flip_rate", "positional_skew", "pooled_sd"):
            log = math.log(after[key] / before[key]) if after[key] and before[key] else None
            assert changes[f"log_{key}"] == (log if log is None else pytest.approx(log, abs=1e-9))
