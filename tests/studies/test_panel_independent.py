"""The numbers of a panel's tables, computed again from the paper in plain loops, on plain and on awkward panels.

Nothing of the analyses is used but their tables. The loops follow two-factors: section 3 (factors), C.1 (margin and
prior), C.2 (variance), C.4 (controls), D.1 and D.4 (operations), D.5 (pairs), E.1 and E.2 (all orderings). The
resampling is done by laying out the checkpoints or cells drawn.
"""

import functools
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from bench.panel_laws import simulated_panel
from scipy.stats import rankdata, spearmanr

from orderbias.operations import calibration_items, take_items
from orderbias.studies.panel import Panel, Settings, panel_cell
from orderbias.studies.panel.analyses import ANALYSES

NAN = float("nan")
TINY = 1e-9
#: Scored without reversals: what two options allow.
CORRECTIONS = ("none", "pride", "batch-calibration", "pride>batch-calibration")
OPERATIONS = (*CORRECTIONS, "reversal-product", "pride>reversal-product", "batch-calibration>reversal-product")


# --- panels


def changed(panel, change):
    cells = tuple(panel_cell(change(cell.predictions, i), cell.checkpoint) for i, cell in enumerate(panel.cells))
    return Panel(cells, settings=panel.settings)


def ragged(p, i):
    """Drop some items of each cell and shuffle the others."""
    rng = np.random.default_rng(i)
    return take_items(p, rng.permutation(p.n_items)[: p.n_items - i % 4])


def unknown(p, i):
    """Hide every gold of one benchmark, and one of another."""
    gold = np.array(p.gold)
    gold[: {"benchmark-1": p.n_items, "benchmark-2": 1}.get(p.benchmark, 0)] = -1
    return replace(p, gold=gold)


def rounded(p, i):
    """Round log-probabilities until many are equal; answers are read off again, ties to the lowest place."""
    logprobs = np.round(p.logprobs, 1)
    shown = np.argsort(p.positions, axis=1)
    choice = np.array([[shown[s][row[s].argmax()] for s in range(len(shown))] for row in logprobs])
    return replace(p, logprobs=logprobs, choice=choice)


def same_text(p, i):
    """Let the first and the last option of every fifth item be one content."""
    count_as = np.tile(np.arange(p.n_options), (p.n_items, 1))
    count_as[::5, -1] = 0
    items = np.arange(p.n_items)
    return replace(p, same_text=count_as, choice=count_as[items[:, None], p.choice], gold=count_as[items, p.gold])


CHANGES = {"ragged": ragged, "unknown": unknown, "rounded": rounded, "same text": same_text}
SHAPES = ("plain", "three and ten options", *CHANGES)


@functools.cache
def panel_of(shape):
    options = {"three and ten options": (3, 10, 4), "same text": (4, 3, 4)}.get(shape, (4, 2, 4))
    seed, settings = sum(map(ord, shape)), Settings(resamples=100)
    panel = simulated_panel(6, 3, 40, seed=seed, settings=settings, options=options)
    return changed(panel, CHANGES[shape]) if shape in CHANGES else panel


@functools.cache
def analysed(shape, name):
    return ANALYSES[name](panel_of(shape)).as_dict()


def rows(finding, table):
    """Return the rows of a table, which must be there."""
    return next(t["rows"] for t in finding["tables"] if t["name"] == table)


def agree(got, expected):
    value = got["value"] if isinstance(got, dict) else got
    assert (NAN if value is None else value) == pytest.approx(expected, abs=TINY, nan_ok=True)


# --- statistics


def std(values):
    middle = sum(values) / len(values)
    return math.sqrt(sum((v - middle) ** 2 for v in values) / len(values))


def mean(values):
    known = [v for v in values if not math.isnan(v)]
    return sum(known) / len(known) if known else NAN


def median(values):
    known = [v for v in values if not math.isnan(v)]
    return float(np.median(known)) if known else NAN


def log_change(after, before):
    return math.log(after) - math.log(before)


def correlation(x, y):
    both = [(round(a, 11), round(b, 11)) for a, b in zip(x, y, strict=True) if not math.isnan(a + b)]
    if len(both) < 2 or len({a for a, _ in both}) < 2 or len({b for _, b in both}) < 2:
        return NAN
    return float(spearmanr(*zip(*both, strict=True)).statistic)


def partial_correlation(x, y, given):
    kept = [i for i in range(len(x)) if not math.isnan(x[i] + y[i] + given[i])]
    rx, ry, rz = (rankdata([round(v[i], 11) for i in kept]) for v in (x, y, given))
    design = np.stack([np.ones(len(kept)), rz], axis=1)
    ex, ey = (r - design @ np.linalg.lstsq(design, r, rcond=None)[0] for r in (rx, ry))
    return float(ex @ ey / np.sqrt((ex @ ex) * (ey @ ey)))


def cosine(u, v):
    u, v = np.array(u) - np.mean(u), np.array(v) - np.mean(v)
    return float(u @ v / np.sqrt((u @ u) * (v @ v)))


def won(first, second):
    """AUC by counting pairs: an item of the first kind has the smaller score."""
    if not first or not second:
        return NAN
    points = sum(1.0 if a < b else 0.5 if a == b else 0.0 for a in first for b in second)
    return points / len(first) / len(second)


# --- one cell


class Cell:
    """A cell of the panel as plain lists, on its rotations."""

    def __init__(self, cell):
        p = cell.predictions
        self.checkpoint, self.benchmark, self.K, self.n = cell.checkpoint, cell.benchmark, p.n_options, p.n_items
        self.positions, self.choice, self.gold = p.positions.tolist(), p.choice.tolist(), p.gold.tolist()
        self.ids, self.known = p.item_ids.tolist(), (p.gold >= 0).all()
        self.count_as = np.tile(np.arange(self.K), (self.n, 1)) if p.same_text is None else p.same_text
        self.logprobs = p.logprobs
        rotations = [[(j + s) % self.K for j in range(self.K)] for s in range(self.K)]
        self.rotations = [self.positions.index(r) for r in rotations]
        chosen = calibration_items(p, 0.05, 0)
        self.calibration = [i for i in range(self.n) if chosen[i]]
        self.evaluation = [i for i in range(self.n) if not chosen[i]]
        self.answers = [[row[s] for s in self.rotations] for row in self.choice]
        self.whole = self.measures(self.answers, range(self.n))

    def measures(self, answers, items, slots=None):
        """Return the measures of answers ``[item][ordering]``; of slots other than the rotations where given."""
        places = [self.positions[s] for s in (self.rotations if slots is None else slots)]
        K, N, m = self.K, len(items), len(places)
        f, g, by_place, by_place_flipping, flipping, right = [0.0] * K, [0.0] * K, [0.0] * K, [0.0] * K, 0, 0
        stable_wrong, per_item_sd, per_item_kl = 0, 0.0, 0.0
        for i in items:
            own = [0.0] * K
            flips = len(set(answers[i])) > 1
            for s, content in enumerate(answers[i]):
                own[places[s][content]] += 1 / m
                if content == self.gold[i]:
                    right += 1 / m
                    by_place[places[s][content]] += K / m / N
                    by_place_flipping[places[s][content]] += flips * K / m
            flipping += flips
            stable_wrong += not flips and answers[i][0] != self.gold[i]
            f = [a + b / N for a, b in zip(f, own, strict=True)]
            g = [a + b * flips for a, b in zip(g, own, strict=True)]
            per_item_sd += std(own) / N
            per_item_kl += sum(a * math.log2(a * K) for a in own if a) / N
        known = all(self.gold[i] >= 0 for i in items)
        g = [a / flipping for a in g] if flipping else None
        found = {
            "flip_rate": flipping / N, "pooled_sd": std(f), "positional_skew": std(g) if g else NAN, "f": f, "g": g,
            "per_item_sd": per_item_sd, "per_item_kl": per_item_kl,
            "forward_kl": sum(a * math.log2(a * K) for a in f if a),
        }  # fmt: skip
        gold = {
            "accuracy": right / N, "stable_wrong": stable_wrong / N, "placement_range": max(by_place) - min(by_place),
            "balanced_rstd": std(by_place), "h": [a / flipping for a in by_place_flipping] if flipping else None,
        }  # fmt: skip
        return found | (gold if known else dict.fromkeys(gold, NAN))

    def prior(self, scores, arithmetic=False):
        """Return PriDe's prior from the calibration items, or the mean of the label probabilities."""
        found = []
        for i in self.calibration:
            each = [scores[i][s] - np.log(np.exp(scores[i][s]).sum()) for s in self.rotations]
            one = np.mean(np.exp(each), axis=0) if arithmetic else np.exp(np.mean(each, axis=0))
            found.append(one / one.sum())
        return np.mean(found, axis=0)

    def best(self, scores, slots):
        """Return contents by the best letter, equal ones to the earliest: ``scores[item][slot][letter]``."""
        found = []
        for i in range(self.n):
            row = []
            for s in slots:
                letter = next(r for r in range(self.K) if scores[i][s][r] >= max(scores[i][s]) - TINY)
                row.append(int(self.count_as[i][self.positions[s].index(letter)]))
            found.append(row)
        return found

    def operated(self, name, slots=None):
        """Return the answers under an operation, for every item."""
        slots, scores = self.rotations if slots is None else slots, self.logprobs
        if name == "none":
            return [[row[s] for s in slots] for row in self.choice]
        for step in name.split(">"):
            if step != "reversal-product":
                scores = scores - np.log(self.prior(scores, arithmetic=step == "batch-calibration"))
                continue
            product = np.array(scores)
            for s in slots:
                back = self.positions.index([self.K - 1 - r for r in self.positions[s]])
                product[:, s] = scores[:, s] + scores[:, back, ::-1]  # the same content is at the mirrored letter
            scores = product
        return self.best(scores, slots)

    def margins(self):
        """Return each item's canonical gap, and its entropy with the sign turned."""
        found = []
        for i in range(self.n):
            p = np.exp(self.logprobs[i][self.rotations[0]])
            p = p / p.sum()
            top = sorted(p)
            found.append((round(top[-1] - top[-2], 12), round(float((p * np.log2(p)).sum()), 12)))
        return found


@functools.cache
def cells_of(shape):
    return [Cell(cell) for cell in panel_of(shape).pool().cells]


@functools.cache
def operated_of(shape):
    """Return by cell the measures and the answers under each operation, on the evaluation items."""
    found = []
    for c in cells_of(shape):
        answers = {name: c.operated(name) for name in (OPERATIONS if c.K > 2 else CORRECTIONS)}
        found.append({name: (c.measures(a, c.evaluation), a) for name, a in answers.items()})
    return found


def of(cells, name):
    return [c.whole[name] for c in cells]


def with_options(cells, options):
    return [c for c in cells if options in ("all", str(c.K))]


# --- tables


@pytest.mark.parametrize("shape", SHAPES)
def test_factors_and_shares(shape):
    cells = cells_of(shape)
    for row, cell in zip(rows(analysed(shape, "factors"), "cells"), cells, strict=True):
        for name in ("accuracy", "flip_rate", "positional_skew", "pooled_sd"):
            agree(row[name], cell.whole[name])
    for row in rows(analysed(shape, "factors"), "correlations"):
        part = [c for c in with_options(cells, row["options"]) if c.known]
        r = {m: correlation(of(part, m), of(part, "accuracy")) for m in ("flip_rate", "positional_skew", "pooled_sd")}
        for name, value in r.items():
            agree(row[name], value)
            if name != "flip_rate":
                agree(row[f"flip_rate_less_{name}"], abs(r["flip_rate"]) - abs(value))
    for row in rows(analysed(shape, "variance"), "shares"):
        part = [c for c in with_options(cells, row["options"]) if c.whole["pooled_sd"] > TINY]
        flips, skew = np.log(of(part, "flip_rate")), np.log(of(part, "positional_skew"))
        agree(row["flip_rate"], np.var(flips) / np.var(flips + skew))
        agree(row["positional_skew"], np.var(skew) / np.var(flips + skew))
    bounds = [min(1, 2 * c.K * math.exp(-2 * c.n * max(abs(a - 1 / c.K) for a in c.whole["f"]) ** 2)) for c in cells]
    points = analysed(shape, "variance")["series"]["uniformity"]
    assert [point["p"] for point in points] == pytest.approx(bounds, rel=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_margin(shape):
    cells, found = cells_of(shape), {}
    for c in cells:
        flips = [len(set(a)) > 1 for a in c.answers]
        others = [len(set(a[1:])) > 1 for a in c.answers]
        wrong = [all(content != g for content in a) for a, g in zip(c.answers, c.gold, strict=True)]
        states = {
            "flipping against stable": (flips, [not x for x in flips]),
            "left out: the other answers disagree against agree": (others, [not x for x in others]),
        }
        if c.known:
            stable_wrong = [not x and w for x, w in zip(flips, wrong, strict=True)]
            states["flipping against stable-wrong"] = flips, stable_wrong
            moving = [x and w for x, w in zip(flips, wrong, strict=True)]
            states["wrong under every ordering: moving against one wrong answer"] = moving, stable_wrong
        for name, (first, second) in states.items():
            for k, key in enumerate(("gap", "entropy")):
                score = [m[k] for m in c.margins()]
                a, b = ([v for v, kept in zip(score, state, strict=True) if kept] for state in (first, second))
                found.setdefault((name, key, c.K > 2), []).append(won(a, b))
    for table, least in (("canonical-margin", False), ("margin-controls", True)):
        for row in rows(analysed(shape, "margin"), table):
            if row.get("cells", "all") == "all" and (row["comparison"], "gap", True) in found:
                for key in ("gap", "entropy"):
                    kinds = (True,) if least else (True, False)
                    values = [v for k in kinds for v in found.get((row["comparison"], key, k), [])]
                    agree(row[key], median(values))


@pytest.mark.parametrize("shape", SHAPES)
def test_held_out_prior(shape):
    cells = cells_of(shape)
    priors = [c.prior(c.logprobs) for c in cells]
    held = [c.measures(c.answers, c.evaluation) for c in cells]
    skew = [m["positional_skew"] for m in held]
    for estimator, arithmetic in (("PriDe's prior", False), ("the mean option-symbol profile", True)):
        spread = [std(c.prior(c.logprobs, arithmetic)) for c in cells]
        (row,) = (
            r for r in rows(analysed(shape, "prior"), "prior-nonuniformity")
            if (r["estimator"], r["cells"]) == (estimator, "all")
        )  # fmt: skip
        agree(row["spearman"], correlation(spread, skew))
        agree(row["given_accuracy"], partial_correlation(skew, spread, of(cells, "accuracy")))
    four = [(m["g"], p) for c, m, p in zip(cells, held, priors, strict=True) if c.K == 4 and m["g"]]
    own = median([cosine(g, p) for g, p in four])
    orders = [list(o) for o in itertools.permutations(range(4))][1:]
    permuted = median([median([cosine(g, p[o]) for o in orders]) for g, p in four])
    values = [row["value"] for row in rows(analysed(shape, "prior"), "held-out-prior")]
    for got, expected in zip(values[1:], (own, permuted, own - permuted), strict=True):
        agree(got, expected)


def test_dividing_out_the_prior_and_its_permutations():
    cells, alpha, changes = cells_of("plain"), 1.0, []
    for c in cells:
        before = c.measures(c.answers, c.evaluation)
        after = []
        for order in itertools.permutations(range(c.K)):  # the first is the prior as it is
            scores = c.logprobs - alpha * np.log(c.prior(c.logprobs)[list(order)])
            after.append(c.measures(c.best(scores, c.rotations), c.evaluation))
        changes.append((before, after[0], after[1:]))
    for measure, key in (("positional_skew", "log_skew"), ("flip_rate", "log_flip_rate"), ("accuracy", "accuracy")):
        change = log_change if key != "accuracy" else lambda a, b: a - b
        kept = [
            (before, own, others) for before, own, others in changes
            if key == "accuracy" or all(m[measure] > TINY for m in (before, own, *others))
        ]  # fmt: skip
        own = mean([change(own[measure], before[measure]) for before, own, _ in kept])
        permuted = mean([mean([change(m[measure], b[measure]) for m in others]) for b, _, others in kept])
        table = rows(analysed("plain", "prior"), "prior-divided-out")
        got = [row[key] for row in table if row["alpha"] == alpha]
        for entry, expected in zip(got, (own, permuted, own - permuted), strict=True):
            agree(entry, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_controls(shape):
    cells = [c for c in cells_of(shape) if c.known]
    for row in rows(analysed(shape, "controls"), "scaled_flip_rate"):
        cap = {c: min(1, c.K * (1 - c.whole["accuracy"])) for c in cells}
        part = [c for c in with_options(cells, row["options"]) if cap[c] > TINY]
        if row["subset"] != "all":
            part = [c for c in part if (cap[c] < 1 - TINY) == (row["subset"] == "cap below one")]
        assert row["n_cells"] == len(part)
        scaled = [c.whole["flip_rate"] / cap[c] for c in part]
        agree(row["scaled_flip_rate"], correlation(scaled, of(part, "accuracy")))
    at = {(c.checkpoint.name, c.benchmark): c.whole for c in cells}
    names, benchmarks = (list(dict.fromkeys(key[i] for key in at)) for i in (0, 1))
    labels = {
        "flip rate": "flip_rate", "pooled SD": "pooled_sd", "forward KL": "forward_kl", "per-item SD": "per_item_sd",
        "per-item KL": "per_item_kl",
    }  # fmt: skip
    for row in rows(analysed(shape, "controls"), "disjoint"):
        if row["statistic"] in labels and "benchmarks" in row:
            each = []
            for b in benchmarks:
                elsewhere = [mean([at[n, other]["accuracy"] for other in benchmarks if other != b]) for n in names]
                each.append(correlation([at[n, b][labels[row["statistic"]]] for n in names], elsewhere))
            agree(row["benchmarks"], mean(each))


def reverses(cells, answers, kept):
    """Whether two checkpoints' order by right answers changes between rotations, on the items kept."""
    signs = set()
    for s in range(cells[0].K):
        right = [
            sum(a[c.ids.index(i)][s] == c.gold[c.ids.index(i)] for i in kept)
            for c, a in zip(cells, answers, strict=True)
        ]
        signs.add((right[0] > right[1]) - (right[0] < right[1]))
    return {1, -1} <= signs


def reversal_share(shape, name, *, by_pair):
    found, cells, operated = [], cells_of(shape), operated_of(shape)
    for benchmark in dict.fromkeys(c.benchmark for c in cells):
        here = [i for i, c in enumerate(cells) if c.benchmark == benchmark and c.known and c.K > 2]
        items = {i: {cells[i].ids[k] for k in cells[i].evaluation} for i in here}
        for i, j in itertools.combinations(here, 2):
            kept = items[i] & items[j] if by_pair else set.intersection(*items.values())
            found.append(reverses([cells[i], cells[j]], [operated[i][name][1], operated[j][name][1]], kept))
    return mean(found)


@pytest.mark.parametrize("shape", SHAPES)
def test_operations(shape):
    cells, operated = cells_of(shape), operated_of(shape)
    cohort = [o for o, c in zip(operated, cells, strict=True) if c.K > 2]
    factors = {"log_flip_rate": "flip_rate", "log_positional_skew": "positional_skew", "log_pooled_sd": "pooled_sd"}
    for table, part in (("operations", cohort), ("differences", cohort), ("corrections", operated)):
        names = CORRECTIONS if table == "corrections" else OPERATIONS
        positive = [o for o in part if all(o[n][0]["pooled_sd"] > TINY for n in names)]
        for row in rows(analysed(shape, "operations"), table):
            name, other = row["operation"], row.get("minus", "none")
            if name == "none":
                agree(row["placement_range"], mean([o["none"][0]["placement_range"] for o in part]))
                continue
            assert row["n_log_cells"] == len(positive)
            for key, factor in factors.items():
                agree(row[key], mean([log_change(o[name][0][factor], o[other][0][factor]) for o in positive]))
            for key in ("accuracy", "stable_wrong"):
                agree(row[key], mean([o[name][0][key] - o[other][0][key] for o in part]))
            for key in ("placement_range", "balanced_rstd"):
                less = [o[other][0][key] if "minus" in row else 0.0 for o in part]
                agree(row[key], mean([o[name][0][key] - v for o, v in zip(part, less, strict=True)]))
    for row in rows(analysed(shape, "operations"), "rank-reversals")[:4]:
        agree(row["shared_by_all"], reversal_share(shape, row["operation"], by_pair=False))
        agree(row["shared_by_pair"], reversal_share(shape, row["operation"], by_pair=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_transitions(shape):
    moved = {}
    for c, o in zip(cells_of(shape), operated_of(shape), strict=True):
        if c.K == 2:
            continue
        top, before = int(np.argmax(c.prior(c.logprobs))), o["none"][1]
        flipped = [i for i in c.evaluation if len(set(before[i])) > 1]
        for name, (_, after) in o.items():
            stopped = [i for i in flipped if len(set(after[i])) == 1]
            started = [i for i in c.evaluation if len(set(before[i])) == 1 and len(set(after[i])) > 1]
            wrong = [after[i][0] != c.gold[i] for i in stopped] if c.known else []
            on_top = [c.positions[s][after[i][k]] == top for i in flipped for k, s in enumerate(c.rotations)]
            N = len(c.evaluation)
            moved.setdefault(name, []).append((len(stopped) / N, len(started) / N, mean(wrong), mean(on_top)))
    for row in rows(analysed(shape, "operations"), "transitions"):
        stop, start, wrong, on_top = (mean(v) for v in zip(*moved[row["operation"]], strict=True))
        agree(row["top_place"], on_top)
        if row["operation"] != "none":
            agree(row["stop"], stop)
            agree(row["start"], start)
            agree(row["resolved_wrong"], wrong)


@pytest.mark.parametrize("shape", SHAPES)
def test_pairs(shape):
    cells = cells_of(shape)

    def sign(change):
        return (change > TINY) - (change < -TINY)

    compared = {"post-training pairs": [], "checkpoint pairs": []}
    for a, b in itertools.combinations(cells, 2):
        if a.benchmark == b.benchmark:
            both = [[i for i in range(c.n) if c.ids[i] in set(a.ids) & set(b.ids)] for c in (a, b)]
            pair = tuple(c.measures(c.answers, items) for c, items in zip((a, b), both, strict=True))
            compared["checkpoint pairs"].append(pair)
            if b.checkpoint.base == a.checkpoint.name:
                compared["post-training pairs"].append(pair)
    compared["PriDe cells"] = [(o["none"][0], o["pride"][0]) for o in operated_of(shape)]
    for row in rows(analysed(shape, "pairs"), "opposite"):
        pairs = compared[row["comparison"]]
        assert row["n"] == len(pairs)
        for key in ("pooled_sd", "per_item_kl"):
            signs = [sign(b[key] - a[key]) * sign(b["flip_rate"] - a["flip_rate"]) for a, b in pairs]
            agree(row[f"opposite_{key}"], signs.count(-1) / len(signs))
    lower = [(a, b) for a, b in compared["PriDe cells"] if b["pooled_sd"] < a["pooled_sd"] - TINY]
    shares = [
        log_change(b["positional_skew"], a["positional_skew"]) / log_change(b["pooled_sd"], a["pooled_sd"])
        for a, b in lower if b["pooled_sd"] > TINY
    ]  # fmt: skip
    row = rows(analysed(shape, "pairs"), "pride-attribution")[0]
    agree(row["skew_share"], median(shares))
    agree(row["flip_rate_not_lower"], mean([float(b["flip_rate"] >= a["flip_rate"] - TINY) for a, b in lower]))


def test_all_orderings():
    panel = simulated_panel(4, 2, 40, design="all", options=(4,), seed=5, settings=Settings(resamples=100))
    finding = ANALYSES["all-orderings"](panel).as_dict()
    cells = [Cell(cell) for cell in panel.cells]
    whole = [c.measures(c.choice, range(c.n), slots=range(24)) for c in cells]
    full, cyclic = [m["flip_rate"] for m in whole], of(cells, "flip_rate")
    # An item keeps its answer on a random four of the 24 orderings where all four show one content's answers.
    expected = [
        mean([1 - sum(math.comb(a.count(j), 4) for j in range(4)) / math.comb(24, 4) for a in c.choice]) for c in cells
    ]
    found = {row["orderings"]: row for row in rows(finding, "flip-rates")}
    for name, rates in (("cyclic", cyclic), ("all K!", full), ("K orderings, exact expectation", expected)):
        agree(found[name]["flip_rate"], mean(rates))
        agree(found[name]["accuracy"], correlation(rates, [m["accuracy"] for m in whole]))
    changing = [
        (len({x == g for x in own}), len({x == g for x in every}))
        for c in cells for own, every, g in zip(c.answers, c.choice, c.gold, strict=True)
    ]  # fmt: skip
    n_found = sum(own > 1 for own, _ in changing)
    agree(rows(finding, "undercount")[4]["value"], n_found / sum(every > 1 for _, every in changing))
    # Sets of four that show each content once at every place; twelve of the 24 hold no ordering with its reversal.
    orderings = cells[0].positions
    latin = [
        s for s in itertools.combinations(range(24), 4)
        if all(len({orderings[i][j] for i in s}) == 4 for j in range(4))
    ]  # fmt: skip
    mirrored = [orderings.index([3 - r for r in o]) for o in orderings]
    sets = [s for s in latin if not any(mirrored[i] in s for i in s)]
    own = tuple(sorted(cells[0].rotations))
    assert (len(latin), len(sets), own in sets) == (24, 12, True)
    row = rows(finding, "sets-4")[0]
    levels, elsewhere = [], []
    for s in sets:
        answers = [c.operated("none", s) for c in cells]
        each = [c.measures(a, range(c.n), s) for c, a in zip(cells, answers, strict=True)]
        if s == own:
            agree(row["flip_cyclic"], mean([m["flip_rate"] for m in each]))
            agree(row["placement_cyclic"], mean([m["placement_range"] for m in each]))
            continue
        levels.append((mean([m["flip_rate"] for m in each]), mean([m["placement_range"] for m in each])))
        elsewhere += [
            mean([float(len(set(b)) > 1) for a, b in zip(c.answers, others, strict=True) if len(set(a)) == 1])
            for c, others in zip(cells, answers, strict=True)
        ]  # fmt: skip
    for key, values in zip(("flip", "placement"), zip(*levels, strict=True), strict=True):
        agree(row[f"{key}_others"], mean(values))
        agree(row[f"{key}_lowest"], min(values))
        agree(row[f"{key}_highest"], max(values))
    agree(row["elsewhere"], mean(elsewhere))


# --- intervals


def inside(interval, draws, level):
    """Check that the ends of an interval are quantiles of other draws, within what so many draws can tell."""
    known = np.array([round(d, 10) for d in draws if not math.isnan(d)])
    for end, q in zip(interval, ((1 - level) / 2, (1 + level) / 2), strict=True):
        slack = 3 * math.sqrt(2 * q * (1 - q) / len(known))
        assert (known < end - TINY).mean() - slack <= q <= (known <= end + TINY).mean() + slack


def test_intervals_are_quantiles_over_samples_laid_out():
    settings = Settings(resamples=1500)
    panel = simulated_panel(9, 3, 40, seed=8, settings=settings, options=(4, 2, 4))
    cells = [Cell(cell) for cell in panel.pool().cells]
    names = list(dict.fromkeys(c.checkpoint.name for c in cells))
    members = {n: [i for i, c in enumerate(cells) if c.checkpoint.name == n] for n in names}
    rng = np.random.default_rng(0)
    drawn = [rng.choice(names, len(names)).tolist() for _ in range(settings.resamples)]
    of_checkpoints = [[i for n in draw for i in members[n]] for draw in drawn]
    of_cells = [rng.integers(0, len(cells), len(cells)).tolist() for _ in range(1000)]
    rates, accuracy = of(cells, "flip_rate"), of(cells, "accuracy")
    logs = np.log([[c.whole["flip_rate"], c.whole["positional_skew"]] for c in cells])
    auc = []
    for c in cells:
        gaps = [m[0] for m in c.margins()]
        state = [len(set(a)) > 1 for a in c.answers]
        auc.append(won(*([g for g, s in zip(gaps, state, strict=True) if s == kind] for kind in (True, False))))
    pride = [c.measures(c.operated("pride"), c.evaluation)["placement_range"] if c.K > 2 else NAN for c in cells]
    findings = {name: ANALYSES[name](panel).as_dict() for name in ("factors", "variance", "margin", "operations")}
    with_accuracy = [correlation([rates[i] for i in d], [accuracy[i] for i in d]) for d in of_cells]
    inside(rows(findings["factors"], "correlations")[0]["flip_rate"]["interval"], with_accuracy, 0.95)
    shares = [np.var(logs[d, 1]) / np.var(logs[d].sum(axis=1)) for d in of_checkpoints]
    inside(rows(findings["variance"], "shares")[0]["positional_skew"]["interval"], shares, 0.975)
    medians = [median([auc[i] for i in d]) for d in of_checkpoints]
    inside(rows(findings["margin"], "canonical-margin")[0]["gap"]["interval"], medians, 0.95)
    means = [mean([pride[i] for i in d]) for d in of_checkpoints]
    inside(rows(findings["operations"], "operations")[1]["placement_range"]["interval"], means, 0.95)


def test_every_value_lies_in_its_interval():
    outside, n = [], 0
    for shape in SHAPES:
        for name in ANALYSES:
            for table in analysed(shape, name)["tables"]:
                for entry in (e for row in table["rows"] for e in row.values() if isinstance(e, dict)):
                    if entry["interval"]:
                        n += 1
                        low, high = entry["interval"]
                        if not low - TINY <= entry["value"] <= high + TINY:
                            outside.append((shape, name, table["name"], entry))
    assert n > 1000
    assert not outside
