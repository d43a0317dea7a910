"""Every measure once more, with loops and exact fractions, straight from the definitions of the papers.

An item is ``(gold, [(positions, chosen content), ...])``. Nothing of the package is used here.
"""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from orderbias.predictions import Predictions


def sd(values):
    values = [float(v) for v in values]
    middle = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - middle) ** 2 for v in values) / len(values))


def mean(values):
    values = list(values)
    return (
        sum(values, Fraction(0)) / len(values) if isinstance(values[0], Fraction | int) else sum(values) / len(values)
    )


def bits_from_uniform(shares):
    return math.fsum(float(p) * math.log2(float(p) * len(shares)) for p in shares if p > 0)


def place_share(answers, K):
    return [Fraction(sum(positions[z] == r for positions, z in answers), len(answers)) for r in range(K)]


def flips(answers):
    return len({z for _, z in answers}) > 1


def shown_share(answers, j, K):
    return [Fraction(sum(positions[j] == r for positions, _ in answers), len(answers)) for r in range(K)]


def is_balanced(items, K):
    return all(share == Fraction(1, K) for _, a in items for j in range(K) for share in shown_share(a, j, K))


def factors(items, K):
    f = [mean(place_share(a, K)[r] for _, a in items) for r in range(K)]
    moving = [a for _, a in items if flips(a)]
    stable = [a for _, a in items if not flips(a)]
    rate = Fraction(len(moving), len(items))
    b = [
        sum((shown_share(a, a[0][1], K)[r] - Fraction(1, K) for a in stable), Fraction(0)) / len(items)
        for r in range(K)
    ]
    M = max(sd(shown_share(a, j, K)) for _, a in items for j in range(K))
    found = {
        "flip_rate": float(rate),
        "selection_share": [float(x) for x in f],
        "pooled_sd": sd(f),
        "design_deviation_sd": sd(b),
        "corrected_pooled_sd": sd([x - y for x, y in zip(f, b, strict=True)]),
        "design_deviation_bound": float(1 - rate) * M,
        "forward_kl": bits_from_uniform(f),
        "flip_share": None,
        "positional_skew": None,
        "forward_kl_bound": None,
    }
    if moving:
        g = [mean(place_share(a, K)[r] for a in moving) for r in range(K)]
        found |= {"flip_share": [float(x) for x in g], "positional_skew": sd(g)}
    if is_balanced(items, K):
        found["forward_kl_bound"] = float(rate) * bits_from_uniform(g) if moving else 0.0
    return found


def consistency(items, K):
    def entropy(a):
        shares = [sum(z == j for _, z in a) / len(a) for j in range(K)]
        return -math.fsum(p * math.log2(p) for p in shares if p)

    def under(a, ordering):
        return next((z for positions, z in a if list(positions) == ordering), None)

    found = {
        "content_entropy": mean(entropy(a) for _, a in items),
        "per_item_sd": mean(sd(place_share(a, K)) for _, a in items),
        "per_item_kl": mean(bits_from_uniform(place_share(a, K)) for _, a in items),
        "pairwise_disagreement": None,
        "fluctuation_rate": None,
    }
    if all(len(a) > 1 for _, a in items):
        pairs = [[x != y for (_, x), (_, y) in combinations(a, 2)] for _, a in items]
        found["pairwise_disagreement"] = float(mean(Fraction(sum(p), len(p)) for p in pairs))
    turned = [[(j + s) % K for j in range(K)] for s in (0, K // 2)]
    both = [[under(a, ordering) for ordering in turned] for _, a in items]
    if all(None not in pair for pair in both):
        found["fluctuation_rate"] = sum(x != y for x, y in both) / len(items)
    return found


def gold_based(items, K):
    share = [Fraction(sum(z == gold for _, z in a), len(a)) for gold, a in items]
    m = max(len(a) for _, a in items)
    rate = Fraction(sum(flips(a) for _, a in items), len(items))
    cap = min(Fraction(1), m * (1 - mean(share)))
    found = {
        "accuracy": float(mean(share)),
        "stable_correct": sum(s == 1 for s in share) / len(items),
        "stable_wrong": sum(not flips(a) and a[0][1] != gold for gold, a in items) / len(items),
        "flip_cap": float(cap),
        "scaled_flip_rate": float(rate / cap) if cap else None,
        **dict.fromkeys(("accuracy_by_place", "placement_factor", "balanced_rstd", "placement_range")),
    }
    gold_everywhere = all(s == Fraction(1, K) for gold, a in items for s in shown_share(a, gold, K))
    if gold_everywhere:

        def a_qj(gold, a, j):
            return Fraction(K, len(a)) * sum(positions[gold] == j and z == gold for positions, z in a)

        A = [mean(a_qj(gold, a, j) for gold, a in items) for j in range(K)]
        found |= {
            "accuracy_by_place": [float(x) for x in A],
            "balanced_rstd": sd(A),
            "placement_range": float(max(A) - min(A)),
        }
        if rate:
            moving = [(gold, a) for gold, a in items if flips(a)]
            found["placement_factor"] = [float(mean(a_qj(gold, a, j) for gold, a in moving)) for j in range(K)]
    return found | canonical(items, K)


def canonical(items, K):
    answers = [(gold, next((z for p, z in a if list(p) == list(range(K))), None)) for gold, a in items]
    found = dict.fromkeys(("accuracy_canonical", "canonical_rstd", "ckld"))
    if any(z is None for _, z in answers):
        return found
    found["accuracy_canonical"] = sum(z == gold for gold, z in answers) / len(items)
    golds = [gold for gold, _ in answers]
    if set(golds) == set(range(K)):
        recalls = [mean(Fraction(int(z == gold)) for gold, z in answers if gold == j) for j in range(K)]
        found["canonical_rstd"] = sd(recalls)
    p = [golds.count(j) / len(items) for j in range(K)]
    q = [sum(z == j for _, z in answers) / len(items) for j in range(K)]
    if all(y > 0 for x, y in zip(p, q, strict=True) if x > 0):
        found["ckld"] = math.fsum(x * math.log(x / y) for x, y in zip(p, q, strict=True) if x > 0)
    return found


def all_measures(items, K):
    found = factors(items, K) | consistency(items, K) | gold_based(items, K)
    if not any(len({tuple(p) for p, _ in a}) > 1 for _, a in items):  # nothing can flip
        silent = ("flip_rate", "positional_skew", "flip_share", "design_deviation_sd", "corrected_pooled_sd",
                  "design_deviation_bound", "forward_kl_bound", "stable_correct", "stable_wrong", "placement_factor",
                  "scaled_flip_rate", "content_entropy", "pairwise_disagreement")  # fmt: skip
        found |= dict.fromkeys(silent)
    return found


def predictions(items, K, *, shared):
    """Build the value the package reads; items with fewer orderings are padded with slots that were not asked."""
    m = max(len(a) for _, a in items)
    choice = np.full((len(items), m), -1)
    positions = np.tile(np.arange(K), (len(items), m, 1))
    asked = np.zeros((len(items), m), bool)
    for q, (_, a) in enumerate(items):
        for slot, (row, z) in enumerate(a):
            choice[q, slot], positions[q, slot], asked[q, slot] = z, row, True
    gold = np.array([gold for gold, _ in items])
    if shared:
        return Predictions(choice=choice, positions=positions[0], gold=gold)
    return Predictions(choice=choice, positions=positions, gold=gold, asked=asked)


@st.composite
def cells(draw, kinds=("cyclic", "doubled", "mixed", "shared", "per-item"), max_items=7):
    """Draw ``(items, K, shared)``; answers lean to few contents so that stable items occur."""
    K = draw(st.integers(2, 10))
    kind = draw(st.sampled_from(kinds))
    n = draw(st.integers(1, max_items))
    cyclic = [[(j + s) % K for j in range(K)] for s in range(K)]
    ordering = st.permutations(range(K))
    doubled = cyclic + [[K - 1 - r for r in row] for row in cyclic]  # balanced too
    if kind in ("cyclic", "doubled"):
        design = cyclic if kind == "cyclic" else doubled
    elif kind == "shared":
        design = draw(st.lists(ordering, min_size=1, max_size=5))
    items = []
    for _ in range(n):
        if kind == "per-item":
            own = draw(st.lists(ordering, min_size=1, max_size=5))
        else:  # "mixed": balanced designs of two sizes
            own = draw(st.sampled_from([cyclic, doubled])) if kind == "mixed" else design
        content = st.one_of(st.just(draw(st.integers(0, K - 1))), st.integers(0, K - 1))
        if draw(st.booleans()):
            content = st.just(draw(content))
        items.append((draw(st.integers(0, K - 1)), [(row, draw(content)) for row in own]))
    return items, K, kind not in ("per-item", "mixed")
