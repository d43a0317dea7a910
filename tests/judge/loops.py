"""The figures of `orderbias judge --json` by plain loops, SciPy and statsmodels, written from docs/judge.md alone.

A judge is ``{"judge": name, "pairs": [pair]}``. A pair is ``{"id", "AB": {repeat: verdict}, "BA": {repeat: verdict}}``
with verdicts "first", "second", "tie" or None (unreadable), and what is known of it: human, raters, model_a, model_b,
group, len_a, len_b, identical, and p = {"AB": (first, second, tie), "BA": ...}. Nothing of the package is used.
"""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom, binomtest, fisher_exact, norm, t, ttest_1samp
from statsmodels.stats.multitest import multipletests

PLACES = ("first", "second", "tie")
SCORE = {"A": 1.0, "B": 0.0, "tie": 0.5}
DRAWS = 20_000


def member(order, verdict):
    if verdict is None or verdict == "tie":
        return verdict
    return "A" if (verdict == "first") == (order == "AB") else "B"


def exact_share(k, n, level=0.95):
    if not n:
        return {"value": None, "interval": None, "n": 0}
    ends = binomtest(k, n).proportion_ci(level, "exact")
    return {"value": k / n, "interval": [ends.low, ends.high], "n": n}


class Near(list):
    """The ends of an interval that random draws come near to."""


def bounded(values, low, high, level=0.95):
    """Weigh each unit by an exponential variable, beside one unseen unit at the end of the range."""
    if not values:
        return {"value": None, "interval": None, "n": 0}
    ends = ratio_ends([(v, 1.0) for v in values], (low, 1.0), (high, 1.0), level)
    return {"value": math.fsum(values) / len(values), "interval": ends, "n": len(values)}


def ratio_ends(units, least, greatest, level=0.95):
    counts = Counter(units)  # the weights of equal units add up to a gamma variable
    weights = np.random.default_rng(7).gamma([*counts.values(), 1], size=(DRAWS, len(counts) + 1))

    def draws(unseen):
        parts, wholes = np.array([*counts, unseen]).T
        return (weights @ parts) / (weights @ wholes)

    tail = (1 - level) / 2
    return Near([float(np.quantile(draws(least), tail)), float(np.quantile(draws(greatest), 1 - tail))])


def sign_p(k, n):
    """Twice the smaller tail, in whole numbers."""
    if not n:
        return None
    tails = [sum(math.comb(n, i) for i in range(k + 1)), sum(math.comb(n, i) for i in range(k, n + 1))]
    return float(min(Fraction(1), Fraction(2 * min(tails), 2**n)))


def smallest_lean(n, alpha, power=0.8):
    rejecting = [c for c in range(n + 1) if 2 * c > n and binomtest(c, n).pvalue < alpha] if n else []
    if not rejecting:
        return None
    return brentq(lambda s: binom.sf(min(rejecting) - 1, n, s) - power, 0.5, 1)


class Judge:
    """One judge's calls; the one that counts has the lowest number of a repeat that this judge has."""

    def __init__(self, data):
        self.name, self.every = data["judge"], data["pairs"]
        numbers = sorted({r for pair in self.every for order in ("AB", "BA") for r in pair[order]})
        self.repeats = numbers or [0]
        self.pairs = [pair for pair in self.every if not pair.get("identical")]

    def asked(self, pair, order):
        return self.repeats[0] in pair[order]

    def call(self, pair, order):
        return pair[order].get(self.repeats[0])

    def both(self, pair):
        return all(self.call(pair, order) is not None for order in ("AB", "BA"))

    def members(self, pair):
        return [member(order, self.call(pair, order)) for order in ("AB", "BA")]

    def collapsed(self, pair):
        if not self.both(pair):
            return None
        one, other = self.members(pair)
        return one if one == other else "tie"


def outcomes(judge, pairs):
    table = {f"{v}_then_{w}": 0 for v in PLACES for w in PLACES}
    for pair in pairs:
        if judge.both(pair):
            table[f"{judge.call(pair, 'AB')}_then_{judge.call(pair, 'BA')}"] += 1
    return table


def consistency(judge, rule, level):
    if rule == "consistent":  # Shi et al.: calls of pairs asked in both orders
        units = []
        for pair in judge.pairs:
            if judge.asked(pair, "AB") and judge.asked(pair, "BA"):
                read = [m for m in judge.members(pair) if m is not None]
                agree = len(read) if len(set(read)) <= 1 else 0
                units += [(agree, len(read))] if read else []
        agree, n = sum(a for a, _ in units), sum(n for _, n in units)
        ends = ratio_ends(units, (0, 2), (2, 2), level) if n else None
        if n and agree in (0, n):
            ends = Near([0.0, ends[1]] if agree == 0 else [ends[0], 1.0])
        return {"value": agree / n if n else None, "interval": ends, "n": n}
    of = [p for p in judge.pairs if judge.asked(p, "AB") and judge.asked(p, "BA")]
    if rule == "exclude":
        of = [p for p in of if judge.both(p)]
    agree = sum(judge.both(p) and len(set(judge.members(p))) == 1 for p in of)
    return exact_share(agree, len(of), level)


def first_position(judge, level):
    units = []
    for pair in filter(judge.both, judge.pairs):
        calls = [judge.call(pair, order) for order in ("AB", "BA")]
        units += [(calls.count("first"), 2 - calls.count("tie"))] if calls != ["tie", "tie"] else []
    k, n = sum(a for a, _ in units), sum(b for _, b in units)
    ends = ratio_ends(units, (0, 2), (2, 2), level) if n else None
    if n and k in (0, n):
        ends = Near([0.0, ends[1]] if k == 0 else [ends[0], 1.0])
    return {"value": k / n if n else None, "interval": ends}, sign_p(k, n)


def conclusion(table, level):
    alpha = 1 - level
    kinds = {
        "contradictions": (table["first_then_first"], table["second_then_second"]),
        "half": (
            table["first_then_tie"] + table["tie_then_first"],
            table["second_then_tie"] + table["tie_then_second"],
        ),
    }
    tests = {kind: sign_p(k, k + m) for kind, (k, m) in kinds.items() if k + m}
    adjusted = dict(zip(tests, multipletests(list(tests.values()), method="holm")[1], strict=True)) if tests else {}
    able = {kind: smallest_lean(sum(kinds[kind]), alpha / max(1, len(tests))) for kind in kinds}
    n = sum(table.values())
    moved = n - table["first_then_second"] - table["second_then_first"] - table["tie_then_tie"]
    leaning = [kind for kind in kinds if adjusted.get(kind, 1) < alpha]
    fewest = next(i for i in range(1, 99) if 2 / 2**i < alpha)
    if leaning:
        kind = "first" if kinds[leaning[0]][0] > kinds[leaning[0]][1] else "second"
    elif n < fewest:
        kind = "undecided"
    elif moved == 0 or exact_share(moved, n, level)["interval"][1] <= 0.05:
        kind = "none"
    else:
        kind = "noise" if any(s is not None and s <= 0.75 for s in able.values()) else "undecided"
    return {
        "kind": kind, "lean": tests.get("contradictions"), "half": tests.get("half"), "counts": kinds,
        "smallest": able["contradictions"], "any": min(adjusted.values(), default=None),
    }  # fmt: skip


def over_judges(p_values):
    """Adjust the p-values of several judges, None where there is none."""
    known = [p for p in p_values if p is not None]
    adjusted = iter(multipletests(known, method="holm")[1] if known else [])
    return [None if p is None else float(next(adjusted)) for p in p_values]


def named_at_all(judge):
    return all(any(p.get(member) for p in judge.every) for member in ("model_a", "model_b"))


def win_rates(judge, level):
    complete = list(filter(judge.both, judge.pairs))
    named = [(p.get("model_a"), p.get("model_b")) for p in judge.pairs]
    of_models = named_at_all(judge) and any(a != b for a, b in named)
    found = []
    for model in sorted({m for names in named for m in names if m} if of_models else {"A"}):
        before, after, wins = [], [], {"A": 0, "B": 0, "tie": 0}
        for pair in complete:
            is_a, is_b = pair.get("model_a") == model, pair.get("model_b") == model
            if not of_models:
                is_a, is_b = True, False
            if is_a == is_b:
                continue
            scores = [SCORE[m] for m in judge.members(pair)]
            verdict = judge.collapsed(pair)
            if is_b:
                scores = [1 - s for s in scores]
                verdict = {"A": "B", "B": "A", "tie": "tie"}[verdict]
            before.append(sum(scores) / 2)
            after.append(SCORE[verdict])
            wins[verdict] += 1
        if before or not of_models:
            found.append({
                "model": model, "wins": wins["A"], "ties": wins["tie"], "losses": wins["B"],
                "before": bounded(before, 0, 1, level), "after": bounded(after, 0, 1, level),
                "decisive": exact_share(wins["A"], wins["A"] + wins["B"], level),
            })  # fmt: skip
    return sorted(found, key=lambda r: -r["after"]["n"])


def factors(judge, level):
    """The factors through the raw fairness of Shi et al.; two-factors, G."""
    decisive = [p for p in judge.pairs if judge.both(p) and "tie" not in judge.members(p)]
    if not decisive:
        return None
    primacy = sum(judge.call(p, "AB") == judge.call(p, "BA") == "first" for p in decisive)
    recency = sum(judge.call(p, "AB") == judge.call(p, "BA") == "second" for p in decisive)
    inconsistent = primacy + recency
    raw = recency * recency / inconsistent - primacy * primacy / inconsistent if inconsistent else 0.0
    return {
        "n_pairs": len(decisive), "flip_rate": inconsistent / len(decisive), "pooled_sd": abs(raw) / len(decisive) / 2,
        "positional_skew": abs(primacy / inconsistent - 0.5) if inconsistent else None,
        "flip_rate_interval": exact_share(inconsistent, len(decisive), level)["interval"],
    }  # fmt: skip


def identical(judge, level):
    same = [p for p in judge.every if p.get("identical")]
    if not same:
        return None
    read = list(filter(judge.both, same))
    table = outcomes(judge, same)
    first, second = table["first_then_first"], table["second_then_second"]
    return {
        "n_pairs": len(same), "decisive": exact_share(len(read) - table["tie_then_tie"], len(read), level),
        "lean": exact_share(first, first + second, level), "lean_p_value": sign_p(first, first + second),
    }  # fmt: skip


def single_order(judge, level):
    """Point values; the interval has a simulation of its own."""
    one = [p for p in judge.pairs if judge.asked(p, "AB") != judge.asked(p, "BA")]
    known = [p for p in judge.pairs if any(m is not None for m in judge.members(p))]
    if not any(p in known for p in one):
        return None
    scores = {o: {p["id"]: SCORE[m] for p in known if (m := member(o, judge.call(p, o))) is not None}
              for o in ("AB", "BA")}  # fmt: skip
    both = scores["AB"].keys() & scores["BA"].keys()
    alone = {o: {i: s for i, s in scores[o].items() if i not in both} for o in ("AB", "BA")}
    mean = {o: sum(alone[o].values()) / len(alone[o]) if alone[o] else math.nan for o in alone}
    differences = [scores["AB"][i] - scores["BA"][i] for i in both]
    effect = (sum(differences) / len(both) if both else mean["AB"] - mean["BA"]) / 2
    plain = [(scores["AB"][i] + scores["BA"][i]) / 2 for i in both] + [s for o in alone for s in alone[o].values()]
    turned = [(scores["AB"][i] + scores["BA"][i]) / 2 for i in both]
    turned += [s - effect for s in alone["AB"].values()] + [s + effect for s in alone["BA"].values()]
    wins = [[sum(member(o, judge.call(p, o)) == m for p in one) for m in ("A", "B")] for o in ("AB", "BA")]
    n_asked = sum(judge.asked(p, o) for p in judge.pairs for o in ("AB", "BA"))
    corrected = sum(turned) / len(turned)
    return {
        "n_ab": len(alone["AB"]), "n_ba": len(alone["BA"]), "n_both": len(both),
        "win_rate": bounded(plain, 0, 1, level),
        "position_effect": None if math.isnan(effect) else effect,
        "corrected": None if math.isnan(effect) else min(1.0, max(0.0, corrected)),
        "order_p_value": fisher_exact(wins).pvalue if all(map(sum, wins)) else None,
        "saved": 1 - n_asked / (2 * sum(judge.asked(p, "AB") or judge.asked(p, "BA") for p in judge.pairs)),
    }  # fmt: skip


def repeats(judge, level):
    """Two calls against two calls (two-factors, C.5)."""
    same, changed = [], []
    for pair in judge.pairs:
        read = {o: [m for r in judge.repeats if (m := member(o, pair[o].get(r))) is not None] for o in ("AB", "BA")}
        if min(len(read["AB"]), len(read["BA"])) < 2:
            continue
        within = []
        for calls in read.values():
            twos = [(x, y) for i, x in enumerate(calls) for y in calls[i + 1 :]]
            within.append(sum(x != y for x, y in twos) / len(twos))
        across = [(x, y) for x in read["AB"] for y in read["BA"]]
        same.append(sum(within) / 2)
        changed.append(sum(x != y for x, y in across) / len(across))
    if not same:
        return None
    excess = [c - s for c, s in zip(changed, same, strict=True)]
    return {
        "n_repeats": len(judge.repeats), "repeat_disagreement": bounded(same, 0, 1, level),
        "reorder_disagreement": bounded(changed, 0, 1, level), "excess": bounded(excess, -0.5, 1, level),
    }  # fmt: skip


def probabilities(judge, level, label):
    effects, winners, ties, right, censored = [], [], [], [], 0
    for pair in judge.pairs:
        p = pair.get("p", {})
        if "AB" not in p or "BA" not in p:
            continue
        if 0 in (*p["AB"][:2], *p["BA"][:2]):
            censored += 1
            continue
        ab, ba = (math.log(p[o][0]) - math.log(p[o][1]) for o in ("AB", "BA"))
        tie = sum(p[o][2] / sum(p[o]) for o in ("AB", "BA")) / 2
        of_a = (1 - tie) / (1 + math.exp(-(ab - ba) / 2))
        effects.append((ab + ba) / 2)
        ties.append(tie)
        a_or_b = "tie" if abs(2 * of_a - 1 + tie) < 1e-12 else "A" if of_a > 1 - tie - of_a else "B"
        winner = "tie" if tie > 0 and tie >= max(of_a, 1 - tie - of_a) else a_or_b
        winners.append((winner, judge.collapsed(pair)))
        right += [] if label(pair) is None else [label(pair) == winner]
    if not effects:
        return None
    n, mean = len(effects), sum(effects) / len(effects)
    sd = float(np.std(effects, ddof=1)) if n > 1 else None
    half = t.ppf((1 + level) / 2, n - 1) * sd / math.sqrt(n) if n > 1 else None
    return {
        "n_pairs": n, "n_censored": censored, "order_effect_sd": sd, "tie_probability": sum(ties) / n,
        "accuracy": exact_share(sum(right), len(right), level),
        "order_effect": {"value": mean, "interval": [mean - half, mean + half] if n > 1 else None, "n": n},
        "p_value": ttest_1samp(effects, 0).pvalue if n > 1 else None,
        "verdicts": {m: sum(w == m for w, _ in winners) for m in ("A", "B", "tie")},
        "n_changed": sum(kept is not None and kept != winner for winner, kept in winners),
    }  # fmt: skip


def wald(estimate, error, level):
    z = norm.ppf((1 + level) / 2)
    return [estimate - z * error, estimate + z * error], 2 * norm.sf(abs(estimate) / error)
