"""``judge_report``: one judge's verdicts in, every check of them out. Joins the room; knows no formula of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from orderbias.errors import ArgumentError
from orderbias.inference.means import Estimate
from orderbias.inference.proportions import check_draws, check_level
from orderbias.inference.sign import sign_test_p
from orderbias.inference.uniformity import holm
from orderbias.judge.agreement import agreement
from orderbias.judge.conclusion import Conclusion, among, conclude
from orderbias.judge.identical import identical_pairs
from orderbias.judge.length import length
from orderbias.judge.probabilities import order_effect, probabilities
from orderbias.judge.rates import consistency, first_position_rate
from orderbias.judge.repeats import repeat_noise
from orderbias.judge.scoring import SCORINGS
from orderbias.judge.self_preference import self_preference
from orderbias.judge.single_order import single_order
from orderbias.judge.swap import UNREADABLE, OutcomeCounts, outcome_counts, to_predictions
from orderbias.judge.values import Ints, Judgments, NotChecked, collapsed
from orderbias.judge.win_rates import WinRate, share, win_rates
from orderbias.measurement import measure
from orderbias.row_files import shown
from orderbias.signature import Signature
from orderbias.verdicts import NOT_ASKED

#: Names of the collapsed verdicts by code; the last is code -1, a pair without both verdicts.
_VERDICTS = ("A", "B", "tie", None)


class Check(Protocol):
    """A result that can be written as JSON."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        ...


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """How verdicts are judged; see :func:`judge_report`."""

    unreadable: str = "exclude"
    scoring: str = "collapsed"
    families: Mapping[str, str] | None = None
    level: float = 0.95
    resamples: int = 2_000
    seed: int = 0

    def __post_init__(self) -> None:
        check_level(self.level)
        check_draws(self.resamples, self.seed)
        if self.unreadable not in UNREADABLE:
            raise ArgumentError(f"`unreadable` must be one of {', '.join(UNREADABLE)}. Got {self.unreadable!r}.")
        if self.scoring not in SCORINGS:
            raise ArgumentError(f"`scoring` must be one of {', '.join(SCORINGS)}. Got {self.scoring!r}.")
        named = self.families or {}
        if not isinstance(named, Mapping) or not all(isinstance(text, str) for each in named.items() for text in each):
            raise ArgumentError(f"`families` must map names of models and judges to families. Got {shown(named)}.")


@dataclass(frozen=True, slots=True, eq=False)
class JudgeReport:
    """What the verdicts of one judge say.

    Parameters
    ----------
    judge
        Its name.
    n_pairs, n_complete, n_identical, n_unreadable
        Pairs; those with a readable verdict in both orders, identical answers left out; pairs of identical answers;
        calls that gave no readable verdict.
    counts
        The nine outcomes of the complete pairs. Every figure below is of these.
    consistency
        Share of pairs whose two verdicts agree, by the rule for unreadable verdicts.
    first_position_rate, p_value
        Share of decisive calls that took the first place, and the source's sign test of it, which takes the two calls
        of a pair as independent; the interval weighs pairs whole.
    contradiction_rate
        Share of pairs in which the same place won twice.
    lean
        Share of the first place among the contradicting pairs; its test is in ``conclusion``.
    verdicts
        The verdict of every pair that is safe to use, int8 ``(n_pairs,)``: 0 A, 1 B, 2 tie, -1 incomplete.
    win_rates
        Of every model, before and after the collapse.
    conclusion
        The sentence, and the tests behind it.
    checks
        Results of the other checks by name; :class:`~orderbias.judge.values.NotChecked` says what one would need.
    lean_p_holm
        The p-value of the lean, adjusted over the judges reported together.
    signature
        What the numbers depend on.
    """

    judge: str
    n_pairs: int
    n_complete: int
    n_identical: int
    n_unreadable: int
    counts: OutcomeCounts
    consistency: Estimate
    first_position_rate: Estimate
    p_value: float | None
    contradiction_rate: Estimate
    lean: Estimate
    verdicts: Ints
    win_rates: tuple[WinRate, ...]
    conclusion: Conclusion
    checks: Mapping[str, Check | NotChecked]
    signature: Signature
    lean_p_holm: float | None = None
    notices: tuple[str, ...] = ()

    @property
    def not_checked(self) -> dict[str, str]:
        """What each check that could not be made would need."""
        return {name: found.why for name, found in self.checks.items() if isinstance(found, NotChecked)}

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, lists and ``None``, ready for JSON."""
        estimates = {name: getattr(self, name) for name in _ESTIMATES}
        found = {name: v.as_dict() for name, v in self.checks.items() if not isinstance(v, NotChecked)}
        first, second = self.counts.half_shifts
        return {
            "judge": self.judge,
            "n_pairs": self.n_pairs,
            "n_complete": self.n_complete,
            "n_identical": self.n_identical,
            "n_unreadable": self.n_unreadable,
            **{name: estimate.value for name, estimate in estimates.items()},
            "p_value": self.p_value,
            "lean_p_value": self.conclusion.lean_p_value,
            "lean_p_holm": self.lean_p_holm,
            "smallest_lean": self.conclusion.smallest_lean,
            "half_shifts": {"to_first": first, "to_second": second, "p_value": self.conclusion.half_shift_p_value},
            "outcomes": self.counts.as_dict(),
            "verdicts": [_VERDICTS[code] for code in self.verdicts.tolist()],
            "win_rates": [rate.as_dict() for rate in self.win_rates],
            **found,
            "intervals": {n: None if e.interval is None else list(e.interval) for n, e in estimates.items()},
            "not_checked": self.not_checked,
            "conclusion": self.conclusion.kind,
            "verdict_text": self.conclusion.text,
            "signature": str(self.signature),
        }


_ESTIMATES = ("consistency", "first_position_rate", "contradiction_rate", "lean")


def judge_report(judgments: Judgments, options: JudgeOptions | None = None) -> JudgeReport:
    """Check one judge: is it noisy, does it lean to a place, and what can its verdicts be used for.

    Parameters
    ----------
    judgments
        Its verdicts. Pairs of identical answers are a group of their own, in no figure but ``identical``.
    options
        ``unreadable``: the rule for verdicts that cannot be read, of
        :func:`~orderbias.judge.swap.pair_consistency`; it also says what they count as in the agreement with people.
        ``scoring``: how a pair is scored against people, of :func:`~orderbias.judge.agreement.agreement`.
        ``families``: which family a model or a judge is of. ``level``, ``resamples``, ``seed``: of the intervals.

    Returns
    -------
    JudgeReport

    Raises
    ------
    ArgumentError
        If an argument is no such value, or a pair occurs twice.

    Examples
    --------
    >>> import numpy as np
    >>> calls = np.array([[0, 0]] * 20)[:, :, None].astype(np.int8)
    >>> always_first = Judgments(np.array([str(i) for i in range(20)], object), calls)
    >>> report = judge_report(always_first)
    >>> report.consistency.value, report.conclusion.kind, report.checks["agreement"].why
    (0.0, 'first', 'needs `human`')
    """
    options = options or JudgeOptions()
    if not isinstance(judgments, Judgments):
        raise ArgumentError(
            f"`judgments` must be Judgments, of which read_judgments returns one a judge. Got {shown(judgments)}."
        )
    if len(set(judgments.pair_ids.tolist())) < judgments.n_pairs:
        raise ArgumentError("`pair_ids` must all be different. Number calls of one pair and order as repeats.")
    level, resamples, seed = options.level, options.resamples, options.seed
    different = judgments if judgments.identical is None else judgments.take(~judgments.identical)
    counts = outcome_counts(different)
    drawing = {"level": level, "resamples": resamples, "seed": seed}
    first, second = counts.contradictions
    return JudgeReport(
        judge=judgments.judge,
        n_pairs=judgments.n_pairs,
        n_complete=counts.n_complete,
        n_identical=judgments.n_pairs - different.n_pairs,
        n_unreadable=int((judgments.calls == -1).sum()),
        counts=counts,
        consistency=consistency(different, options.unreadable, **drawing),  # type: ignore[arg-type]
        first_position_rate=first_position_rate(counts, **drawing),  # type: ignore[arg-type]
        p_value=sign_test_p(counts.n_first, counts.n_decisive) if counts.n_decisive else None,
        contradiction_rate=share(first + second, counts.n_complete, level),
        lean=share(first, first + second, level),
        verdicts=collapsed(judgments),
        win_rates=win_rates(different, **drawing),  # type: ignore[arg-type]
        conclusion=conclude(counts, level, n_asked=int((different.calls != NOT_ASKED).all(axis=1).sum())),
        checks={
            "factors": _factors(different, options),
            "identical": identical_pairs(judgments, level=level),
            "single_order": single_order(different, **drawing),  # type: ignore[arg-type]
            "repeats": repeat_noise(different, **drawing),  # type: ignore[arg-type]
            "order_effect": order_effect(different, level=level),
            "probabilities": probabilities(different, level=level),
            "agreement": agreement(different, unreadable=options.unreadable, scoring=options.scoring, **drawing),  # type: ignore[arg-type]
            "length": length(different, level=level),
            "self_preference": self_preference(different, families=options.families, level=level),
        },
        signature=_signature(judgments, options),
        notices=judgments.notices,
    )


def judge_reports(judgments: Iterable[Judgments], options: JudgeOptions | None = None) -> tuple[JudgeReport, ...]:
    """Report several judges: ``lean_p_holm`` is adjusted over all of them, and a lean has to hold among them."""
    options = options or JudgeOptions()
    found = [judge_report(one, options) for one in judgments]
    leans = _over_judges([report.conclusion.lean_p_value for report in found])
    joint = _over_judges([report.conclusion.p_value for report in found])
    n = len(found)
    return tuple(
        replace(
            report,
            lean_p_holm=lean,
            conclusion=report.conclusion if p_value is None else among(report.conclusion, p_value, n, options.level),
            signature=report.signature if n == 1 else report.signature.extended(judges=n),
        )
        for report, lean, p_value in zip(found, leans, joint, strict=True)
    )


def _over_judges(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust the p-values of the judges that have one."""
    tested = [i for i, p_value in enumerate(p_values) if p_value is not None]
    found: list[float | None] = [None] * len(p_values)
    for i, adjusted in zip(tested, holm([p_values[i] for i in tested]), strict=True):  # type: ignore[misc]
        found[i] = float(adjusted)
    return found


@dataclass(frozen=True, slots=True)
class Factors:
    """The two factors of the pairs without a tie, read as items of two options; ``interval`` by measure."""

    values: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return dict(self.values)


def _factors(judgments: Judgments, options: JudgeOptions) -> Factors | NotChecked:
    predictions = to_predictions(judgments)
    if not predictions.usable.any():
        return NotChecked("needs pairs with a decisive verdict in both orders")
    names = ("flip_rate", "positional_skew", "pooled_sd")
    found = measure(predictions, resamples=options.resamples, seed=options.seed, level=options.level, measures=names)
    ends = {name: None if found.intervals[name] is None else list(found.intervals[name] or ()) for name in names}
    return Factors({"n_pairs": found.n_items, **{name: found[name] for name in names}, "intervals": ends})


def _signature(judgments: Judgments, options: JudgeOptions) -> Signature:
    from orderbias import __version__

    return judgments.settings.extended(
        data=judgments.data_hash or None,
        format=judgments.source,
        judge=judgments.judge,
        unreadable=options.unreadable,
        scoring=options.scoring,
        families=",".join(f"{name}={family}" for name, family in sorted((options.families or {}).items())) or None,
        level=repr(float(options.level)),
        resampling=f"{options.resamples} resamples of pairs",
        seed=options.seed,
        version=__version__,
    )
