"""Files of verdicts in, every figure of `orderbias judge --json` out, against loops from the papers and docs."""

import csv
import json
import math
import random
from pathlib import Path

import loops
import loops_of_labels as labels
import numpy as np
import pytest
from scipy.stats import chi2
from statsmodels.discrete.conditional_models import ConditionalLogit

from orderbias.cli import run

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
LEVEL = 0.95
#: Of intervals by random draws, as a part of their length: two runs of 10,000 and 20,000 draws.
DRAWN = 0.05
FAMILY = {
    "gpt-4-0613": "OpenAI", "gpt-3.5-turbo": "OpenAI", "claude-2": "Anthropic", "llama-7b": "Llama", "judgelm": "Own",
    "Llama-70B": "Llama",
}  # fmt: skip


def approximately(want, got, where=""):
    """Compare two trees of JSON; ends of intervals that were drawn may differ by a part of the length."""
    if isinstance(want, loops.Near):
        assert got is not None, where
        assert got == pytest.approx(want, abs=DRAWN * (want[1] - want[0]) + 1e-3), where
    elif isinstance(want, dict):
        assert isinstance(got, dict), where
        for key, part in want.items():
            approximately(part, got[key], f"{where}.{key}")
    elif isinstance(want, list):
        assert isinstance(got, list), where
        assert len(want) == len(got), where
        for i, (w, g) in enumerate(zip(want, got, strict=True)):
            approximately(w, g, f"{where}[{i}]")
    elif isinstance(want, float):
        assert isinstance(got, int | float), where
        assert got == pytest.approx(want, rel=1e-6, abs=1e-7), where
    elif want == "perfect":  # of raters who never disagree; the lower end is checked by itself
        assert got[1] == 1.0, where
        assert -1 <= got[0] < 1, where
    else:
        assert want == got, where


def check_fit(want, got, where, wanted=None, level=LEVEL):
    """Compare a fitted logistic model; of a penalised one the ends of one coefficient by how far the profile falls."""
    if want is None:
        assert "not_fitted" in got, where
        return
    assert (got["separated"], list(got["coefficients"])) == (want["separated"], want["names"]), where
    for name, (estimate, ends, p) in want["rows"].items():
        found = got["coefficients"][name]
        if want["separated"]:
            assert found["estimate"] == pytest.approx(estimate, rel=1e-3, abs=1e-3), f"{where}.{name}"
            continue
        assert found["estimate"] == pytest.approx(estimate, rel=1e-4, abs=1e-5), f"{where}.{name}"
        if math.isfinite(ends[0]) and ends[1] - ends[0] > 1e-6:  # clusters may leave no variance
            assert found["interval"] == pytest.approx(ends, rel=1e-4, abs=1e-4), f"{where}.{name}"
            assert found["p_value"] == pytest.approx(p, rel=1e-3, abs=1e-9), f"{where}.{name}"
    if want["separated"] and wanted in want["names"]:
        found = got["coefficients"][wanted]
        assert found["p_value"] == pytest.approx(chi2.sf(want["fall"](wanted, 0.0), 1), abs=1e-3), where
        # Of four rows or so there may be another ridge, apart and a little higher than the one that was followed.
        lower = 2e-3 if got["n"] > 8 else 0.6
        for end in found["interval"]:
            assert -lower < want["fall"](wanted, end) - chi2.ppf(level, 1) < 2e-3, where
            assert want["fall"](wanted, (end + found["estimate"]) / 2) < chi2.ppf(level, 1), where


def check_all(found, data, rule="exclude", scoring="collapsed", level=LEVEL):
    """Compare the reports of the judges of one call; a lean has to hold among them."""
    assert [report["judge"] for report in found] == [judge["judge"] for judge in data]
    judges = [loops.Judge(judge) for judge in data]
    concluded = [loops.conclusion(loops.outcomes(judge, judge.pairs), level) for judge in judges]
    assert [r["lean_p_holm"] for r in found] == pytest.approx(loops.over_judges([c["lean"] for c in concluded]))
    for report, judge, told, p in zip(
        found, judges, concluded, loops.over_judges([c["any"] for c in concluded]), strict=True
    ):
        lost = told["kind"] in ("first", "second") and p >= 1 - level
        check(report, judge, told | {"kind": "undecided" if lost else told["kind"]}, rule, scoring, level)


def check(report, judge, concluded, rule, scoring, level):
    """Compare the whole report of one judge."""
    table, kinds = loops.outcomes(judge, judge.pairs), concluded["counts"]
    rate, p_value = loops.first_position(judge, level)
    agree = loops.consistency(judge, rule, level)
    (first, second), n = kinds["contradictions"], sum(table.values())
    contradict, lean = loops.exact_share(first + second, n, level), loops.exact_share(first, first + second, level)
    calls = [judge.call(p, o) for p in judge.every for o in ("AB", "BA") if judge.asked(p, o)]
    estimates = {"consistency": agree, "first_position_rate": rate, "contradiction_rate": contradict, "lean": lean}
    want = {
        "judge": judge.name, "n_pairs": len(judge.every), "n_complete": n,
        "n_identical": len(judge.every) - len(judge.pairs), "n_unreadable": calls.count(None),
        **{name: e["value"] for name, e in estimates.items()},
        "intervals": {name: e["interval"] for name, e in estimates.items()},
        "p_value": p_value, "lean_p_value": concluded["lean"], "smallest_lean": concluded["smallest"],
        "half_shifts": {"to_first": kinds["half"][0], "to_second": kinds["half"][1], "p_value": concluded["half"]},
        "outcomes": table, "verdicts": [judge.collapsed(p) for p in judge.every],
        "win_rates": loops.win_rates(judge, level), "conclusion": concluded["kind"],
    }  # fmt: skip
    approximately(want, report, judge.name)
    checked = {
        "factors": loops.factors(judge, level), "identical": loops.identical(judge, level),
        "single_order": loops.single_order(judge, level), "repeats": loops.repeats(judge, level),
        "order_effect": labels.order_effect(judge, table, level),
        "probabilities": loops.probabilities(judge, level, labels.label),
        "agreement": labels.agreement(judge, rule, scoring, level), "length": labels.length(judge, level),
        "self_preference": labels.self_preference(judge, FAMILY, level),
    }  # fmt: skip
    for name, part in checked.items():
        if part is None:
            assert name not in report, name
            assert report["not_checked"][name].startswith("needs "), name
            continue
        assert name not in report["not_checked"], name
        got = dict(report[name])
        if name == "factors":
            assert got["intervals"]["flip_rate"] == pytest.approx(part.pop("flip_rate_interval"))
        if name == "single_order":  # of these two the ends have a simulation of their own
            got |= {key: got[key]["value"] for key in ("position_effect", "corrected")}
        if name == "agreement":
            inner = {key: part.pop(key) for key in ("raters", "reliability") if part[key] is None}
            assert all(got[key] is None and key in got["not_checked"] for key in inner)
        if name in ("length", "self_preference"):
            fit, key = part.pop("fit"), "length" if name == "length" else "own"
            check_fit(fit, got["model"], f"{judge.name}.{name}", key, level)
            if fit and key in fit["rows"]:
                b = got["log_odds_per_doubling" if key == "length" else "log_odds"]
                assert b == got["model"]["coefficients"][key]["estimate"]
                assert got["interval"] == got["model"]["coefficients"][key]["interval"]
                assert key == "own" or got["odds_ratio_per_doubling"] == pytest.approx(math.exp(b))
            if name == "length" and fit:
                controlled = part.pop("length_controlled")
                near = {"abs": 1e-3 if fit["separated"] else 1e-5}
                assert got["length_controlled"]["value"] == pytest.approx(controlled["value"], **near)
                if controlled["interval"]:
                    assert got["length_controlled"]["interval"] == pytest.approx(controlled["interval"], **near)
        approximately(part, got, f"{judge.name}.{name}")
    if checked["order_effect"]:
        check_fit(labels.by_call(judge, level), report["order_effect"]["by_call"], f"{judge.name}.by_call")
        check_conditional(judge, first, second, report["order_effect"]["log_odds"])


def check_conditional(judge, first, second, log_odds):
    """Conditional logistic regression, one stratum a pair, is the estimate before half a pair is added to each side."""
    if not first or not second:
        return
    y, order, pair = [], [], []
    for i, p in enumerate(judge.pairs):
        told = judge.members(p)
        if set(told) == {"A", "B"}:
            y += [m == "A" for m in told]
            order += [1.0, -1.0]
            pair += [i, i]
    model = ConditionalLogit(np.array(y, float), np.array(order)[:, None], groups=np.array(pair))
    found = model.fit(disp=False)
    share = 1 / (1 + math.exp(-2 * found.params[0]))
    n = first + second
    assert log_odds == pytest.approx(math.log((n * share + 0.5) / (n * (1 - share) + 0.5)) / 2, abs=1e-4)


def reports(capsys, *arguments):
    code = run(["judge", *map(str, arguments), "--json", "--resamples", "10000"])
    found = json.loads(capsys.readouterr().out)["judges"]
    assert code == (2 if any(r["conclusion"] == "undecided" for r in found) else 0)
    return found


# Tables of random verdicts.


def drawn_pairs(rng, n):
    """Draw what is known of pairs, with any of the optional columns."""
    has = {name: rng.random() < 0.7 for name in ("human", "raters", "models", "group", "lengths", "identical", "p")}
    n_raters, pairs = rng.randint(1, 3), []
    models = rng.sample(["gpt-3.5-turbo", "claude-2", "llama-7b", "who knows"], rng.randint(2, 4))
    for i in range(n):
        better = rng.choice("AB")
        pair = {"id": f"p{i}", "better": better, "sure": rng.random()}
        said = [rng.choices([better, "AB".replace(better, ""), "tie", None], [6, 2, 1, 1])[0] for _ in range(4)]
        if has["raters"]:
            pair["raters"] = {f"rater_{k + 1}": said[k] for k in range(n_raters)}
        if has["human"]:
            pair["human"] = said[3]
        if has["models"]:
            pair["model_a"], pair["model_b"] = rng.choice(models), rng.choice([*models, None])
        if has["group"]:
            pair["group"] = rng.choice(["x", "y", "z", None])
        if has["identical"]:
            text = "abc" * rng.randint(1, 9)
            pair["answer_a"], pair["answer_b"] = text, text if rng.random() < 0.2 else text + "d" * rng.randint(1, 40)
            pair["identical"] = pair["answer_a"] == pair["answer_b"]
            pair["len_a"], pair["len_b"] = len(pair["answer_a"]), len(pair["answer_b"])
        elif has["lengths"]:
            pair["len_a"], pair["len_b"] = (rng.choice([rng.randint(0, 200), 100, 110, None]) for _ in "ab")
        pairs.append(pair)
    return pairs, has["p"]


def drawn_judge(rng, name, pairs, probable, design):
    """Draw a judge's calls, with a lean, noise, ties and replies without a verdict; each pair keeps its facts."""
    lean, noise, ties, lost = (rng.choice(of) for of in ([0, 0, 0.3, -0.4], [0, 0.2, 0.5], [0, 0.2, 0.5], [0, 0.1]))
    numbers = rng.choice([[0], [0], [0, 1], [1, 2, 3]])
    found = []
    for pair in pairs:
        if rng.random() < 0.05:
            continue
        asked = {"both": "AB BA", "one": rng.choice(["AB", "BA"]), "ab": "AB"}.get(design) or (
            "AB BA" if rng.random() < 0.4 else rng.choice(["AB", "BA"])
        )
        judged = {**pair, "AB": {}, "BA": {}, "p": {}}
        for order in asked.split():
            for number in numbers if rng.random() < 0.8 else numbers[:1]:
                own = "first" if (pair["better"] == "A") == (order == "AB") else "second"
                said = rng.choice(["first", "second"]) if rng.random() < noise else own
                said = ("first" if lean > 0 else "second") if rng.random() < abs(lean) else said
                said = "tie" if rng.random() < ties else said
                judged[order][number] = None if rng.random() < lost else said
            if probable and rng.random() < 0.9:
                first = rng.choice([0.0, round(rng.random(), 3), round(rng.random(), 3), 0.5])
                tie = rng.choice([0.0, round((1 - first) / 2, 3)])
                judged["p"][order] = (first, 1 - first - tie, tie)
        found.append(judged)
    return {"judge": name, "pairs": found}


SPELLINGS = {
    "shown": {"first": "first", "second": "[[B]]", "tie": "tie", "A": "first", "B": "second"},
    "letters": {"first": "[[A]]", "second": "B", "tie": "[[C]]"},
    "pair": {"A": "model_a", "B": "B", "tie": "A=B"},
}
UNREADABLE = ["", "I cannot say", "[[A]] or rather [[B]]"]


def rows_of(rng, data, spelling):
    rows = []
    for judge in data:
        for pair in judge["pairs"]:
            facts = {k: v for k, v in pair.items() if k.startswith(("human", "model", "group", "len", "answer"))}
            if "answer_a" in facts:
                facts = {k: v for k, v in facts.items() if not k.startswith("len")}
            for order in ("AB", "BA"):
                for number, said in pair[order].items():
                    word = loops.member(order, said) if spelling == "pair" else said
                    row = {"pair_id": pair["id"], "order": order, "judge": judge["judge"], "repeat": number}
                    row["verdict"] = rng.choice(UNREADABLE) if said is None else SPELLINGS[spelling][word]
                    row |= facts | pair.get("raters", {})
                    if order in pair["p"] and number == min(map(min, filter(None, _numbers(judge)))):
                        row |= dict(zip(("p_first", "p_second", "p_tie"), pair["p"][order], strict=True))
                    rows.append(row)
    rng.shuffle(rows)
    return rows


def _numbers(judge):
    return [list(pair[order]) for pair in judge["pairs"] for order in ("AB", "BA")]


def write(rows, path):
    if path.suffix == ".csv":
        with path.open("w", newline="") as stream:
            table = csv.DictWriter(stream, dict.fromkeys(k for row in rows for k in row))
            table.writeheader()
            table.writerows(rows)
    else:
        path.write_text("\n".join(map(json.dumps, rows)) + "\n")


def as_met(data, rows):
    """Put judges and pairs in the order in which the file has them; probabilities only of calls that were made."""
    found = []
    for name in dict.fromkeys(row["judge"] for row in rows):
        own = {pair["id"]: pair for judge in data if judge["judge"] == name for pair in judge["pairs"]}
        ids = dict.fromkeys(row["pair_id"] for row in rows if row["judge"] == name)
        first = min(row["repeat"] for row in rows if row["judge"] == name)
        pairs = [own[i] | {"p": {o: p for o, p in own[i]["p"].items() if first in own[i][o]}} for i in ids]
        found.append({"judge": name, "pairs": pairs})
    return found


@pytest.mark.parametrize("seed", [*range(28), 82, 144, 302, 308, 325, 442, 475])
def test_tables_of_random_verdicts(seed, tmp_path, capsys):
    rng = random.Random(seed)
    pairs, probable = drawn_pairs(rng, rng.choice([1, 4, 12, 30, 60]))
    design = rng.choice(["both", "both", "sample", "one", "ab"])
    names = rng.sample(["gpt-4-0613", "Llama-70B", "judgelm", "somebody"], rng.choice([1, 1, 3]))
    data = [drawn_judge(rng, name, pairs, probable, design) for name in names]
    spelling = rng.choice(sorted(SPELLINGS))
    rows = rows_of(rng, data, spelling)
    if not rows:
        return
    path = tmp_path / f"verdicts.{rng.choice(['csv', 'jsonl'])}"
    write(rows, path)
    rule, scoring = rng.choice(["exclude", "wrong", "consistent"]), rng.choice(["collapsed", "sum", "average", "both"])
    level = rng.choice([0.95, 0.95, 0.8])
    options = ["--unreadable", rule, "--scoring", scoring, "--level", str(level)]
    options += ["--family", "judgelm=Own"] if "judgelm" in {row["judge"] for row in rows} else []
    options += ["--terms", "pair" if spelling == "pair" else "shown"]
    found = reports(capsys, path, *options)
    check_all(found, as_met(data, rows), rule, scoring, level)


# Files of others, read here on their own terms.


def llmbar(paths):
    """Winners are members of the pair in both orders, 1 and 2; labels too."""
    judges = {}
    for path in paths:
        name = f"{path.parents[1].name} {path.parent.name}"
        for row in json.loads(path.read_text()):
            pair = {"group": path.parents[2].name, "human": {1: "A", 2: "B"}[int(row["label"])], "AB": {}, "BA": {}}
            a, b = row["output_1"], row["output_2"]
            pair |= {"len_a": len(a), "len_b": len(b), "identical": a.strip() == b.strip()}
            for order, key, places in (
                ("AB", "swap = False", {"1": "first", "2": "second"}),
                ("BA", "swap = True", {"1": "second", "2": "first"}),
            ):
                pair[order][0] = places.get(str(row["results"][0][key]["winner"]))
            own = judges.setdefault(name, [])
            own.append(pair | {"id": len(own)})
    return [{"judge": name, "pairs": pairs} for name, pairs in judges.items()]


def shi(path):
    """One row a call; A is the model that was shown first where the pair is first met."""
    pairs = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        first, second = row["shown_first"], row["shown_second"]
        key = (row["question_id"], *sorted((first, second)))
        pair = pairs.setdefault(key, {"id": key, "model_a": first, "model_b": second, "AB": {}, "BA": {}})
        order = "AB" if first == pair["model_a"] else "BA"
        pair[order][0] = {"A": "first", "B": "second", "C": "tie"}.get(row["verdict"])
    return [{"judge": path.stem, "pairs": list(pairs.values())}]


def judgebench(path):
    places = {"A>B": "first", "B>A": "second", "A=B": "tie"}
    pairs = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        games = {"AB": {0: places.get(row["decision_game1"])}, "BA": {0: places.get(row["decision_game2_swapped"])}}
        known = {"id": row["pair_id"], "group": row["source"], "human": row["label"][0]}
        pairs.append(known | games | {"model_a": row["response_model"], "model_b": row["response_model"]})
    return [{"judge": row["judge_model"], "pairs": pairs}]


def pandalm(path):
    member = {"0": "tie", "1": "A", "2": "B"}
    places = {"0": "tie", "Tie": "tie", "1": "first", "2": "second"}
    judges = {"gpt35": [], "pandalm7b": []}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        a, b = row["cmp_key"].split("_")
        raters = {f"rater{i}": member[str(row[f"rater{i}"])] for i in (1, 2, 3)}
        for judge, pairs in judges.items():
            said = places.get(str(row[f"{judge}_verdict"]))
            known = {"id": row["idx"], "raters": raters, "model_a": a, "model_b": b}
            pairs.append(known | {"AB": {0: said}, "BA": {}})
    return [{"judge": name, "pairs": pairs} for name, pairs in judges.items()]


PUBLISHED = pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data")


@PUBLISHED
@pytest.mark.parametrize(
    ("rule", "scoring"), [("exclude", "collapsed"), ("wrong", "both"), ("wrong", "average"), ("consistent", "sum")]
)
def test_llmbar(capsys, rule, scoring):
    paths = sorted(DATA.glob("llmbar/**/result.json"))
    found = reports(capsys, *paths, "--unreadable", rule, "--scoring", scoring)
    check_all(found, llmbar(paths), rule, scoring)


@PUBLISHED
@pytest.mark.parametrize("rule", ["exclude", "wrong", "consistent"])
@pytest.mark.parametrize("path", sorted(DATA.glob("judging_the_judges/*.jsonl")), ids=lambda path: path.stem)
def test_judging_the_judges(capsys, path, rule):
    check_all(reports(capsys, path, "--unreadable", rule), shi(path), rule)


@PUBLISHED
@pytest.mark.parametrize("scoring", ["collapsed", "sum"])
def test_judgebench(capsys, scoring):
    (path,) = DATA.glob("judgebench/*.jsonl")
    check_all(reports(capsys, path, "--scoring", scoring), judgebench(path), "exclude", scoring)


@PUBLISHED
@pytest.mark.parametrize("rule", ["exclude", "wrong"])
def test_pandalm(capsys, rule):
    path = DATA / "pandalm" / "human_and_judges.jsonl"
    check_all(reports(capsys, path, "--unreadable", rule), pandalm(path), rule)
