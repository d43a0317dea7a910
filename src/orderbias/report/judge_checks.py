"""The lines that a judge report has for each check; they draw values and compute none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.text import Text

from orderbias.inference.sign import p_text
from orderbias.judge.values import NotChecked
from orderbias.report.tables import counted
from orderbias.report.text import short, visible

#: So many groups are printed; all are in the JSON.
MOST_GROUPS = 12

_RULES = {"order_ab": "only AB", "order_ba": "only BA"}


def check_lines(name: str, check: Any) -> list[Text]:
    """Return the lines of one check, a blank one and its name first; nothing for one that was not made."""
    if isinstance(check, NotChecked) or name not in _LINES:
        return []
    title, draw = _LINES[name]
    return [Text(), Text(title, style="bold"), *(Text("  " + visible(line)) for line in draw(check.as_dict()))]


def _share(estimate: Mapping[str, Any]) -> str:
    """Write a share with its interval: ``62.0 % [51.7, 71.5]``."""
    if estimate["value"] is None:
        return "–"
    return f"{100 * estimate['value']:.1f} %{_ends(estimate['interval'], 100, '.1f')}"


def _number(estimate: Mapping[str, Any], form: str = ".2f") -> str:
    return "–" if estimate["value"] is None else f"{estimate['value']:{form}}{_ends(estimate['interval'], 1, form)}"


def _ends(interval: Any, scale: float, form: str) -> str:
    if interval is None:
        return ""
    low, high = ("∞" if end is None else f"{scale * end:{form}}" for end in interval)
    return f" [{low if low != '∞' else '-∞'}, {high}]"


def _p(p_value: float | None) -> str:
    if p_value is None:
        return "p –"
    text = p_text(p_value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _factors(d: Mapping[str, Any]) -> list[str]:
    skew = "–" if d["positional_skew"] is None else f"{d['positional_skew']:.3f}"
    return [
        f"flip rate {100 * d['flip_rate']:.1f} % x positional skew {skew} = pooled SD {d['pooled_sd']:.4f}, "
        f"over {counted(d['n_pairs'], 'pair')} without a tie"
    ]


def _identical(d: Mapping[str, Any]) -> list[str]:
    lines = [f"{counted(d['n_pairs'], 'pair')}; a decisive verdict on {_share(d['decisive'])}"]
    if d["lean"]["value"] is not None:
        lines.append(f"of those that took one place twice, the first {_share(d['lean'])}, {_p(d['lean_p_value'])}")
    return lines


def _single_order(d: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{counted(d['n_ab'], 'pair')} shown as AB only, {d['n_ba']:,} as BA only, {d['n_both']:,} in both: "
        f"{100 * d['saved']:.0f} % of the calls saved",
        f"win rate of A as called {_share(d['win_rate'])}; with every pair in both orders {_share(d['corrected'])}",
        f"position effect on A's score {_number(d['position_effect'], '.3f')}",
    ]
    if d["order_p_value"] is not None:
        lines.append(f"if orders were drawn at random: same winner in both, {_p(d['order_p_value'])}")
    return lines


def _repeats(d: Mapping[str, Any]) -> list[str]:
    return [
        f"two calls in one order disagree on {_share(d['repeat_disagreement'])}, "
        f"in different orders on {_share(d['reorder_disagreement'])}",
        f"added by the order: {_share(d['excess'])}",
    ]


def _order_effect(d: Mapping[str, Any]) -> list[str]:
    estimate = {"value": d["log_odds"], "interval": d["interval"]}
    return [f"from {counted(d['n_pairs'], 'contradiction')}: {_number(estimate)}, {_p(d['p_value'])}"]


def _probabilities(d: Mapping[str, Any]) -> list[str]:
    wins, over = d["verdicts"], counted(d["n_pairs"], "pair")
    right = [f"right on {_share(d['accuracy'])} of {counted(d['accuracy']['n'], 'labelled pair')}"]
    return [
        f"order effect in log-odds {_number(d['order_effect'])}, {_p(d['p_value'])}, over {over}",
        f"averaged over both orders: A {wins['A']:,}, B {wins['B']:,}, tie {wins['tie']:,}; "
        f"{d['n_changed']:,} other than the verdict above",
        *(right if d["accuracy"]["value"] is not None else []),
    ]


def _agreement(d: Mapping[str, Any]) -> list[str]:
    kappa, over = _number(d["kappa"]), counted(d["n_pairs"], "labelled pair")
    lines = [f"right on {_share(d['accuracy'])} of {over} ({d['scoring']}); kappa {kappa}"]
    others = [(name, found) for name, found in d["by_rule"].items() if found and name != d["scoring"]]
    told = [f"{_RULES.get(name, name)} {100 * e['value']:.1f} %" for name, e in others if e["value"] is not None]
    if told:
        lines.append("else: " + ", ".join(told))
    if d["raters"] is not None:
        people, judge = d["raters"]["people_mean"], d["raters"]["judge_mean"]
        lines.append(f"people with each other: kappa {_number(people)}; the judge with each of them {_number(judge)}")
    parts = {row["verdict"] for row in d["verdicts"]}
    for row in d["verdicts"]:
        if row["verdict"] == "tie" and "orders disagree" in parts:
            continue  # its two kinds are below
        people = ", ".join(f"{name} {n:,}" for name, n in row["people"].items())
        if sum(row["people"].values()):
            lines.append(f"it says {row['verdict']:<19} people say {people}: agree {_share(row['agree'])}")
    if d["reliability"] is not None:
        r = d["reliability"]
        lines.append(
            f"its probabilities are off by {100 * r['expected_calibration_error']:.1f} points on average "
            f"({100 * r['error_by_chance']:.1f} by chance alone)"
        )
    for group in d["groups"][:MOST_GROUPS] if len(d["groups"]) > 1 else ():
        lines.append(
            f"{short(group['group'])}: right on {_share(group['accuracy'])} of {group['accuracy']['n']:,}, "
            f"kappa {_number(group['kappa'])}"
        )
    if len(d["groups"]) > MOST_GROUPS:
        lines.append(f"and {len(d['groups']) - MOST_GROUPS:,} more groups (--json)")
    return lines


def _length(d: Mapping[str, Any]) -> list[str]:
    model = {"value": d["odds_ratio_per_doubling"], "interval": None}
    held = "with the human label held fixed" if d["human_held_fixed"] else "human label not held fixed: needs `human`"
    return [
        f"takes the longer answer on {_share(d['prefers_longer'])}",
        f"  where people prefer it {_share(d['where_people_longer'])}, the shorter {_share(d['where_people_shorter'])}",
        f"a doubling of length multiplies the odds by {_number(model)}, {_p(d['p_value'])} ({held})",
        f"lengths within 10 %: A wins {_share(d['matched']['win_rate'])} of {d['matched']['win_rate']['n']:,}",
        f"win rate of A among decisive verdicts {_share(d['win_rate'])}, "
        f"length-controlled {_share(d['length_controlled'])}",
    ]


def _self_preference(d: Mapping[str, Any]) -> list[str]:
    estimate = {"value": d["log_odds"], "interval": d["interval"]}
    over = counted(d["n_pairs"], "pair")
    return [
        f"on {over} with one answer of its family ({short(d['family'])}): it takes that one on "
        f"{_share(d['judge_prefers_own'])}, people on {_share(d['people_prefer_own'])}",
        f"in log-odds, with the human label held fixed: {_number(estimate)}, {_p(d['p_value'])}",
    ]


_LINES: dict[str, tuple[str, Callable[[Mapping[str, Any]], list[str]]]] = {
    "factors": ("The two factors", _factors),
    "identical": ("Identical answers", _identical),
    "single_order": ("Pairs in one order", _single_order),
    "repeats": ("Asking again against changing the order", _repeats),
    "order_effect": ("Effect of standing first, in log-odds", _order_effect),
    "probabilities": ("Probabilities", _probabilities),
    "agreement": ("Agreement with people", _agreement),
    "length": ("Length", _length),
    "self_preference": ("Its own family", _self_preference),
}
