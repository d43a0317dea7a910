"""What the outcomes of the swap say: no position effect, noise, a lean, or not enough data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

from orderbias.inference.proportions import clopper_pearson
from orderbias.inference.sign import p_text, sign_test_p, smallest_shown_share
from orderbias.inference.uniformity import holm
from orderbias.judge.swap import OutcomeCounts

#: A lean this strong must have been visible before its absence is called noise: three of four on one place.
LEAN_SOUGHT = 0.75
#: A position effect on at most this share of the pairs is called none.
EFFECT_IGNORED = 0.05
_NOT_IDENTIFIABLE = (
    "Position bias is not identifiable: no pair has a verdict in both orders. Have each pair judged in both, or a "
    "sample of them."
)
_UNREADABLE = (
    "Position bias is not identifiable: of {} in both orders, none has two verdicts that can be read. Look at what "
    "the judge says, and ask it otherwise."
)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One of ``none``, ``noise``, ``first``, ``second``, ``undecided``; with the sentence that says so.

    ``lean_p_value`` and ``half_shift_p_value`` are two-sided exact sign tests, None without a pair to test;
    ``smallest_lean`` is the smallest share of one place that the contradicting pairs would have shown with 80 % power,
    by the test that was made (with half shifts there are two); None where they could have shown none.
    ``p_value`` is the smaller of the two p-values after Holm's adjustment: of any lean at all.
    """

    kind: str
    text: str
    lean_p_value: float | None
    half_shift_p_value: float | None
    smallest_lean: float | None
    p_value: float | None = None


def conclude(counts: OutcomeCounts, level: float = 0.95, *, n_asked: int = 0) -> Conclusion:
    """Say what the complete pairs show.

    The units of the test of a lean are contradicting pairs: they are independent, each took one place twice. Half
    shifts are tested apart; where both kinds occur a lean needs the smaller p-value to hold after Holm's adjustment.

    Parameters
    ----------
    counts
        The nine outcomes.
    level
        One minus the error probability of calling a lean where there is none.
    n_asked
        Pairs asked about in both orders, so that no readable pair can be told from none that was asked.

    Examples
    --------
    >>> import numpy as np
    >>> three = OutcomeCounts(np.array([[3, 0, 0], [0, 0, 0], [0, 0, 0]]))
    >>> conclude(three).kind, conclude(three).lean_p_value
    ('undecided', 0.25)
    """
    alpha = 1 - level
    tests = {"contradictions": counts.contradictions, "half shifts": counts.half_shifts}
    p_values = {name: sign_test_p(first, first + second) for name, (first, second) in tests.items() if first + second}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    # The first step of Holm's rule: of two tests, one has to reject at half the level.
    smallest = {name: smallest_shown_share(sum(tests[name]), alpha / max(1, len(p_values))) for name in tests}
    # Whole shifts are named before half ones, where both lean.
    leaning = next((name for name in tests if name in adjusted and adjusted[name] < alpha), None)
    if counts.n_complete < 1:
        kind, text = "undecided", _UNREADABLE.format(_pairs(n_asked)) if n_asked else _NOT_IDENTIFIABLE
    elif leaning is not None:
        kind, text = _lean(leaning, tests, p_values, alpha)
    else:
        kind, text = _no_lean(counts, level, smallest)
    return Conclusion(kind, text, p_values.get("contradictions"), p_values.get("half shifts"),
                      smallest["contradictions"], min(map(float, adjusted.values()), default=None))  # fmt: skip


def among(conclusion: Conclusion, p_value: float, n_judges: int, level: float) -> Conclusion:
    """Return the conclusion on one of several judges, whose lean has a p-value adjusted over all of them.

    Examples
    --------
    >>> import numpy as np
    >>> six = conclude(OutcomeCounts(np.array([[6, 0, 0], [0, 0, 0], [0, 0, 0]])))
    >>> six.kind, among(six, 4 * six.p_value, 4, 0.95).kind
    ('first', 'undecided')
    """
    if conclusion.kind not in ("first", "second") or p_value < 1 - level:
        return conclusion
    text = (
        f"Not enough data: alone this judge would be said to lean to the answer shown {conclusion.kind}, but of "
        f"{n_judges} judges some would by chance (p = {p_text(p_value)} after Holm's adjustment over all of them)."
    )
    return replace(conclusion, kind="undecided", text=text.replace("= <", "<"))


def _lean(leaning: str, tests: dict[str, tuple[int, int]], p_values: dict[str, float], alpha: float) -> tuple[str, str]:
    first, second = tests[leaning]
    kind, most = ("first", first) if first > second else ("second", second)
    text = (
        f"The judge leans to the answer shown {kind}: {most:,} of {first + second:,} {leaning} went there "
        f"(p = {p_text(p_values[leaning])}).".replace("= <", "<")
    )
    (other,) = set(tests) - {leaning}
    if other in p_values and p_values[other] < alpha and (tests[other][0] > tests[other][1]) != (kind == "first"):
        text += f" Its {other} lean the other way: {tests[other][0]:,} to first, {tests[other][1]:,} to second."
    return kind, text


def _no_lean(counts: OutcomeCounts, level: float, smallest: dict[str, float | None]) -> tuple[str, str]:
    n = counts.n_complete
    moved = n - counts.n_consistent
    most = float(clopper_pearson(moved, n, level)[1])
    seen = min((share for share in smallest.values() if share is not None), default=1.0)
    bound = f"{100 * most:.3g} % of the pairs at {100 * level:g} % confidence"
    fewest = _fewest_pairs(1 - level)
    if n < fewest:
        return "undecided", f"Not enough data: {_pairs(n)} in both orders; {fewest} is the least to show a lean."
    if moved == 0:
        unknown = "" if counts.n_decisive else " All of them are ties: no direction could show."
        return "none", f"No position effect seen: the order moved none of {n:,} verdicts (at most {bound}).{unknown}"
    if most <= EFFECT_IGNORED:
        return "none", f"No position effect to speak of: the order moved {moved:,} of {n:,} verdicts (at most {bound})."
    part = f"the order moved {moved:,} of {n:,} verdicts"
    if seen <= LEAN_SOUGHT:
        return "noise", (
            f"Noise without a lean: {part}, to neither place more than chance would; a share of {100 * seen:.3g} % on "
            "one place would have been seen."
        )
    able = (
        "too few to show any lean"
        if seen == 1.0
        else f"enough only for a lean of {100 * seen:.0f} % or more, and none so strong was seen"
    )
    return "undecided", f"Not enough data to tell noise from a lean: {part}, {able}."


def _fewest_pairs(alpha: float) -> int:
    """Return how many pairs show a lean if all of them contradict themselves on one place: 6 at 95 %."""
    return next(n for n in count(1) if sign_test_p(n, n) < alpha)


def _pairs(n: int) -> str:
    return f"{n} pair" + ("" if n == 1 else "s")
