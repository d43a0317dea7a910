"""Agreement with people, length and self-preference by loops and statsmodels; see `loops`."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
from loops import bounded, exact_share, member, named_at_all, sign_p, wald
from scipy.optimize import linprog, minimize
from scipy.stats import norm
from statsmodels.api import GLM, families
from statsmodels.stats.inter_rater import cohens_kappa

RULES = ("collapsed", "sum", "average", "both", "order_ab", "order_ba")
SIGN = {"A": 1.0, "B": -1.0, "tie": 0.0}


def one_order(judge):
    return not any(judge.asked(p, "AB") and judge.asked(p, "BA") for p in judge.pairs)


def majority(raters):
    counts = Counter(label for label in raters.values() if label is not None).most_common()
    if not counts:
        return None
    return "tie" if len(counts) > 1 and counts[0][1] == counts[1][1] else counts[0][0]


def label(pair):
    return pair.get("human") or majority(pair.get("raters", {}))


def scored(judge, rule):
    """Return (pair, verdict or None, the members named by its calls, by order) of each pair with enough verdicts."""
    single = one_order(judge)
    found = []
    for pair in judge.pairs:
        asked = [o for o in ("AB", "BA") if judge.asked(pair, o)]
        calls = {o: member(o, judge.call(pair, o)) for o in asked}
        read = [m for m in calls.values() if m is not None]
        if not asked or (not single and len(asked) < 2):
            continue
        if rule != "wrong" and len(read) < (1 if single or rule == "consistent" else 2):
            continue
        if rule == "consistent" and not single:
            calls = {o: read[0] if m is None else m for o, m in calls.items()}
        told = list(calls.values())
        verdict = None if None in told else told[0] if len(set(told)) == 1 else "tie"
        found.append((pair, verdict, calls))
    return found, single


def score(rule, verdict, calls, human):
    right = [m == human for m in calls.values()]
    if rule in ("collapsed", "single-call"):
        return float(verdict == human)
    if rule == "average":
        return sum(right) / 2
    if rule == "both":
        return float(all(right))
    if rule == "sum":  # JudgeBench: one for each order that agrees, less one for each that contradicts
        return float(sum(1 if m == human else 0 if m == "tie" else -1 for m in calls.values()) > 0)
    order = rule[-2:].upper()
    return float(calls[order] == human) if order in calls else None


def kappa(couples, level):
    """Cohen's kappa by statsmodels; its interval from the same variance, on the scale log(1 - kappa)."""
    n = len(couples)
    names = ("A", "B", "tie", None)
    table = np.array([[couples.count((x, y)) for y in names] for x in names], float)
    if not n or max(table.sum(axis=0) * table.sum(axis=1)) == n * n:
        return {"value": None, "interval": None, "n": n}
    if table.trace() == n:
        return {"value": 1.0, "interval": "perfect", "n": n}
    with np.errstate(all="ignore"):  # its test of 0, which is not used, may be 0 / 0
        found = cohens_kappa(table)
    error = math.sqrt(max(0.0, float(found.var_kappa)))
    if error < 1e-6:
        return {"value": found.kappa, "interval": None, "n": n}
    factor = math.exp(norm.ppf((1 + level) / 2) * error / (1 - found.kappa))
    ends = [max(-1.0, 1 - (1 - found.kappa) * factor), 1 - (1 - found.kappa) / factor]
    return {"value": found.kappa, "interval": ends, "n": n}


def worst_kappa(shares, q):
    """The least kappa of raters who agree but on a share q of the units, by trying where those may lie."""
    cells = [(i, j) for i in range(3) for j in range(3) if i != j]
    worst = 1.0
    for one, other in combinations(cells, 2):
        for part in np.linspace(0, 1, 21):
            table = (1 - q) * np.diag(shares)
            table[one] += q * part
            table[other] += q * (1 - part)
            chance = float(table.sum(axis=0) @ table.sum(axis=1))
            worst = min(worst, 1 - q / (1 - chance))
    return worst


def mean_kappa(many, level):
    """The mean over several couples of raters, its variance by moving the weight of one pair of answers at a time."""
    ids = {i: k for k, i in enumerate(sorted({i for couples in many for i, _, _ in couples}))}
    code = {"A": 0, "B": 1, "tie": 2}
    coded = [np.array([(ids[i], 3 * code[x] + code[y]) for i, x, y in couples]).T for couples in many]

    def mean(weights):
        values = []
        for who, cell in coded:
            table = np.bincount(cell, weights[who], 9).reshape(3, 3) / weights[who].sum()
            chance = float(table.sum(axis=0) @ table.sum(axis=1))
            if chance < 1 - 1e-9:
                values.append((table.trace() - chance) / (1 - chance))
        return (sum(values) / len(values), len(values)) if values else (None, 0)

    ones = np.ones(len(ids))
    value, n = mean(ones)
    if value is None:
        return {"value": None, "interval": None, "n": 0}
    moved = 1e-4 * np.eye(len(ids))
    slopes = [(mean(ones + step)[0] - mean(ones - step)[0]) / 2e-4 for step in moved]
    error = math.sqrt(sum(s * s for s in slopes))
    if value > 1 - 1e-9 or error < 1e-6:
        return {"value": value, "interval": None, "n": n}
    factor = math.exp(norm.ppf((1 + level) / 2) * error / (1 - value))
    return {"value": value, "interval": [max(-1.0, 1 - (1 - value) * factor), 1 - (1 - value) / factor], "n": n}


def raters(judge, verdicts, level):
    names = list(dict.fromkeys(name for p in judge.pairs for name in p.get("raters", {})))
    of_any = {name for p in judge.every for name, told in p.get("raters", {}).items() if told is not None}
    names = [name for name in names if name in of_any]
    if len(names) < 2:
        return None
    told = {name: {p["id"]: m for p in judge.pairs if (m := p["raters"].get(name)) is not None} for name in names}
    of_judge = {i: m for i, m in verdicts.items() if m is not None}

    def couples(left, right):
        return [(i, left[i], right[i]) for i in left if i in right]

    people = {(i + 1, j + 1): couples(told[names[i]], told[names[j]]) for i, j in combinations(range(len(names)), 2)}
    people = {two: found for two, found in people.items() if found}
    with_judge = [couples(of_judge, told[name]) for name in names]
    return {
        "people": [
            {"raters": list(two), "kappa": kappa([c[1:] for c in found], level)} for two, found in people.items()
        ],
        "people_mean": mean_kappa(list(people.values()), level),
        "judge": [kappa([c[1:] for c in found], level) for found in with_judge],
        "judge_mean": mean_kappa([found for found in with_judge if found], level),
    }  # fmt: skip


def reliability(judge, level):
    bins, variances = {}, {}
    for pair in judge.pairs:
        p, human = pair.get("p", {}), label(pair)
        if human in ("A", "B") and all(o in p and p[o][0] > 0 and p[o][1] > 0 for o in ("AB", "BA")):
            ab, ba = (math.log(p[o][0] / p[o][1]) for o in ("AB", "BA"))
            of_a = 1 / (1 + math.exp(-(ab - ba) / 2))
            bins.setdefault(min(9, int(of_a * 10)), []).append((of_a, human == "A"))
            variances.setdefault(min(9, int(of_a * 10)), []).append(of_a * (1 - of_a))
    if not bins:
        return None
    n = sum(map(len, bins.values()))
    mean = {b: sum(p for p, _ in of) / len(of) for b, of in bins.items()}
    share = {b: exact_share(sum(a for _, a in of), len(of), level) for b, of in bins.items()}
    return {
        "n_pairs": n,
        "bins": [{"low": b / 10, "high": (b + 1) / 10, "mean_probability": mean[b], "people": share[b]}
                 for b in sorted(bins)],
        "expected_calibration_error": sum(len(bins[b]) * abs(share[b]["value"] - mean[b]) for b in bins) / n,
        # of a normal variable whose variance is that of the bin's share
        "error_by_chance": sum(math.sqrt(2 / math.pi * sum(v)) for v in variances.values()) / n,
    }  # fmt: skip


def agreement(judge, rule, scoring, level):
    """Every rule; None where there is nothing to compare."""
    every, single = scored(judge, rule)
    labelled = [(p, v, c, label(p)) for p, v, c in every if label(p) is not None]
    if not labelled or (single and scoring != "collapsed"):
        return None
    headline = "single-call" if single else scoring
    rules = ("single-call", "order_ab", "order_ba") if single else RULES
    values = {r: [s for _, v, c, h in labelled if (s := score(r, v, c, h)) is not None] for r in rules}

    def estimate(r, of):
        if set(of) <= {0.0, 1.0}:
            return exact_share(int(sum(of)), len(of), level)
        return bounded(of, 0, 1, level)

    rows = {name: [h for _, v, _, h in labelled if v == name] for name in ("A", "B", "tie")}
    if not single:
        ties = [(len(set(c.values())) == 1, h) for _, v, c, h in labelled if v == "tie"]
        rows["tie in both orders"] = [h for both, h in ties if both]
        rows["orders disagree"] = [h for both, h in ties if not both]
    if any(v is None for _, v, _, _ in labelled):
        rows["unreadable"] = [h for _, v, _, h in labelled if v is None]
    meant = {"A": "A", "B": "B", "unreadable": None}
    groups = sorted({p["group"] for p, *_ in labelled if p.get("group") is not None})
    of_group = {g: [row for row in labelled if row[0].get("group") == g] for g in groups}
    return {
        "scoring": headline, "unreadable": rule, "n_pairs": len(labelled),
        "n_unlabelled": sum(label(p) is None for p in judge.pairs),
        "n_left_out": sum(label(p) is not None for p in judge.pairs) - len(labelled),
        "accuracy": estimate(headline, values[headline]),
        "kappa": kappa([(v, h) for _, v, _, h in labelled], level),
        "by_rule": {r: estimate(r, values[r]) if r in values else None for r in dict.fromkeys((*RULES, *rules))},
        "verdicts": [{"verdict": name, "people": {m: of.count(m) for m in ("A", "B", "tie")},
                      "agree": exact_share(of.count(meant.get(name, "tie")), len(of), level)}
                     for name, of in rows.items()],
        "raters": raters(judge, {p["id"]: v for p, v, _ in every}, level),
        "reliability": reliability(judge, level),
        "groups": [{"group": g, "accuracy": estimate(headline, [score(headline, v, c, h) for _, v, c, h in of]),
                    "kappa": kappa([(v, h) for _, v, _, h in of], level)} for g, of in of_group.items()],
    }  # fmt: skip


def separated(y, X):
    z = np.where(np.array(y)[:, None] > 0, X, -np.array(X, float))
    best = linprog(-z.sum(axis=0), A_ub=-z, b_ub=np.zeros(len(z)), bounds=(-1, 1))
    return -best.fun > 1e-7


def penalised(beta, y, X, weight=1.0):
    """Firth's penalised log-likelihood, row by row."""
    eta = X @ beta
    information = (X * (weight / (2 + np.exp(eta) + np.exp(-eta)))[:, None]).T @ X
    return weight * float(np.sum(y * eta - np.logaddexp(0, eta))) + np.linalg.slogdet(information)[1] / 2


def climb(function, starts):
    """Return the highest of the tops that are found from several starts."""

    def fall(beta):
        with np.errstate(all="ignore"):
            value = function(beta)
        return -value if np.isfinite(value) else 1e9

    options = {"xatol": 1e-5, "fatol": 1e-9, "maxiter": 5_000, "maxfev": 5_000}
    tops = [minimize(fall, start, method="Nelder-Mead", options=options) for start in starts]
    best = minimize(fall, min(tops, key=lambda top: top.fun).x, method="Nelder-Mead", options=options)
    return best.x, -best.fun


def fit(y, columns, level, clusters=None):
    """Fit by statsmodels, or where rows are separated by climbing the penalised likelihood.

    Returns estimates, intervals and p-values by name; of separated rows estimates alone, and how far the profile of a
    coefficient has fallen at a value, twice over.
    """
    names, X, y = list(columns), np.stack(list(columns.values()), axis=1), np.array(y, float)
    if np.linalg.matrix_rank(X) < len(names):
        return None
    if not separated(y, X):
        model = GLM(y, X, family=families.Binomial())
        grouped = {} if clusters is None else {"cov_type": "cluster", "cov_kwds": {"groups": np.array(clusters)}}
        found = model.fit(tol=1e-12, **grouped)
        rows = {name: (found.params[i], *wald(found.params[i], found.bse[i], level)) for i, name in enumerate(names)}
        return {"separated": False, "rows": rows, "covariance": found.cov_params(), "names": names}
    weight = 1 / max(Counter(clusters).values()) if clusters is not None else 1.0
    best, top = climb(lambda b: penalised(b, y, X, weight), [np.zeros(len(names))])
    starts = np.random.default_rng(3).normal(size=(5, len(names))) * 8

    def fall(name, value):
        i = names.index(name)
        free = [k for k in range(len(names)) if k != i]

        def at(rest, value=value):
            return penalised(np.insert(rest, i, value), y, X, weight)

        if not free:
            return 2 * (top - at(np.zeros(0)))
        near = best[free]
        for part in np.linspace(best[i], value, 7)[1:-1]:  # along the ridge, and from all around
            near = climb(lambda rest, part=part: at(rest, part), [near])[0]
        return 2 * (top - climb(at, [near, *starts[:, free] * (1 + abs(value) / 8)])[1])

    rows = {name: (best[i], None, None) for i, name in enumerate(names)}
    return {"separated": True, "rows": rows, "covariance": None, "names": names, "fall": fall}


def by_call(judge, level):
    y, order, human, clusters = [], [], [], []
    for pair in judge.pairs:
        for o, m in zip(("AB", "BA"), judge.members(pair), strict=True):
            if m in ("A", "B") and label(pair) is not None:
                y.append(m == "A")
                order.append(1.0 if o == "AB" else -1.0)
                human.append(SIGN[label(pair)])
                clusters.append(pair["id"])
    if not y:
        return None
    columns = {"intercept": np.ones(len(y)), "order": np.array(order), "human": np.array(human)}
    if len(set(human)) == 1:
        del columns["human"]
    return fit(y, columns, level, clusters)


def order_effect(judge, table, level):
    first, second = table["first_then_first"], table["second_then_second"]
    n = first + second
    if not n:
        return None
    ends = exact_share(first, n, level)["interval"]
    return {
        "n_pairs": n, "p_value": sign_p(first, n),
        # Firth's estimate of an intercept counts half a success and half a failure more.
        "log_odds": math.log((first + 0.5) / (second + 0.5)) / 2,
        "interval": [None if e in (0, 1) else math.log(e / (1 - e)) / 2 for e in ends],
    }  # fmt: skip


def length(judge, level):
    every, single = scored(judge, "exclude")
    known = [(p, v) for p, v, _ in every if p.get("len_a") is not None and p.get("len_b") is not None]
    of = [(p, v) for p, v in known if v != "tie"]
    if not of:
        return None
    a, b = ([max(p[k], 1) for p, _ in of] for k in ("len_a", "len_b"))
    ratio = np.array([math.log2(x / y) for x, y in zip(a, b, strict=True)])
    won, human = [v == "A" for _, v in of], [label(p) for p, _ in of]
    every = zip(won, a, b, human, strict=True)
    took = [(w == (x > y), h and (h == "A") == (x > y), h) for w, x, y, h in every if x != y]
    close = [(w, h) for w, x, y, h in zip(won, a, b, human, strict=True) if 10 * abs(x - y) <= min(x, y) * (1 + 1e-12)]
    fixed = any(human)
    rows = [i for i, h in enumerate(human) if h or not fixed]
    sign = np.array([SIGN[human[i]] if human[i] else 0.0 for i in rows])
    columns = {"intercept": np.ones(len(rows)), "length": ratio[rows]}
    if fixed and len(set(sign)) > 1:
        columns["human"] = sign
    y = [won[i] for i in rows]
    found = fit(y, columns, level) if np.ptp(ratio[rows]) > 0 else None
    controlled = {"value": None, "interval": None, "n": 0}
    if found:
        design = np.stack([c if n != "length" else 0 * c for n, c in columns.items()], axis=1)
        beta = np.array([found["rows"][n][0] for n in columns])

        def logit(b):
            mean = np.mean(1 / (1 + np.exp(-design @ b)))
            return math.log(mean / (1 - mean))

        controlled = {"value": 1 / (1 + math.exp(-logit(beta))), "interval": None, "n": len(rows)}
        if found["covariance"] is not None:
            slope = np.array([(logit(beta + h) - logit(beta - h)) / 2e-5 for h in 1e-5 * np.eye(len(beta))])
            ends, _ = wald(logit(beta), math.sqrt(slope @ found["covariance"] @ slope), level)
            controlled["interval"] = [1 / (1 + math.exp(-e)) for e in ends]
    people = {side: [t for t, longer, h in took if h in ("A", "B") and longer == side] for side in (True, False)}
    agreed = [w == (h == "A") for w, h in close if h in ("A", "B")]
    return {
        "n_pairs": len(of), "n_tied": len(known) - len(of), "single_order": single, "human_held_fixed": fixed,
        "prefers_longer": exact_share(sum(t for t, *_ in took), len(took), level),
        "where_people_longer": exact_share(sum(people[True]), len(people[True]), level),
        "where_people_shorter": exact_share(sum(people[False]), len(people[False]), level),
        "matched": {"win_rate": exact_share(sum(w for w, _ in close), len(close), level),
                    "agreement": exact_share(sum(agreed), len(agreed), level)},
        "win_rate": exact_share(sum(won), len(won), level), "length_controlled": controlled, "fit": found,
    }  # fmt: skip


def self_preference(judge, family, level):
    """``family`` says of each model, and of the judge, whose it is."""
    own_family = family.get(judge.name)
    every, _ = scored(judge, "exclude")
    rows = []
    for pair, verdict, _ in every:
        if label(pair) is not None:
            a, b = (family.get(pair.get(m)) == own_family for m in ("model_a", "model_b"))
            rows.append((int(a) - int(b), verdict, label(pair)))
    one = [row for row in rows if row[0]]
    if own_family is None or not one or not named_at_all(judge):
        return None
    clear = [(own > 0, v == "A", h == "A") for own, v, h in one if v != "tie" and h != "tie"]
    of = [row for row in rows if row[1] != "tie"]
    found = None
    if of:
        own, human = np.array([float(r[0]) for r in of]), np.array([SIGN[r[2]] for r in of])
        columns = {"intercept": np.ones(len(of)), "own": own, "human": human}
        if np.ptp(human) == 0:
            del columns["human"]
        if np.ptp(own) == 0:
            del columns["intercept"]
        found = fit([r[1] == "A" for r in of], columns, level)
    return {
        "family": own_family, "n_pairs": len(one), "n_tied": len(one) - len(clear),
        "judge_prefers_own": exact_share(sum(own == v for own, v, _ in clear), len(clear), level),
        "people_prefer_own": exact_share(sum(own == h for own, _, h in clear), len(clear), level),
        "fit": found,
    }  # fmt: skip
