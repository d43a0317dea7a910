"""Does removing the order's influence buy accuracy? Strategies compared on the same questions (label-free study).

An arm is one strategy's predictions under the rotations of every question. Accuracy is end to end: a question without
an answer is wrong. The first presented ordering is the one that accuracy, McNemar's test and RStd are of; the flip rate
and the two factors are of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.means import Estimate
from orderbias.inference.proportions import check_draws, check_level
from orderbias.inference.sign import sign_test_p
from orderbias.inference.uniformity import holm
from orderbias.inference.weighing import weighed_mean
from orderbias.measurement import measure
from orderbias.noise import Noise, drawn, excess_by_item, noise_of, withheld
from orderbias.predictions import Predictions, status_counts
from orderbias.studies.recalls import first_slot, right_answers, rstd, share

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

#: The strategy that the others are compared with.
BASELINE = "direct"


@dataclass(frozen=True, slots=True)
class McNemar:
    """Questions on which an arm and the baseline differ: ``broken`` right only there, ``fixed`` right only here.

    ``p_value`` is exact and two-sided: broken of broken + fixed against 1/2 (McNemar 1947); ``p_holm`` is adjusted over
    the arms.
    """

    broken: int
    fixed: int
    p_value: float
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class Together:
    """How sensitivity to the order and accuracy moved against the baseline, over the questions usable in both.

    Both are arm minus baseline, paired, with the intervals of :func:`~orderbias.inference.weighing.weighed_mean`.
    ``measure`` is what sensitivity is: the ``flip_rate``, or where the baseline was asked again the ``excess`` of
    reordering over repeating, since flips hold noise. ``text`` says whether the two moved together, apart, or cannot be
    told to have moved; what of 0, 1 and -1 is no chance is told by the exact test of the signs.
    """

    sensitivity: Estimate
    accuracy: Estimate
    text: str
    measure: str = "flip_rate"


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One strategy.

    Parameters
    ----------
    name
        Of the strategy.
    n_items, n_answered
        Questions, and those with an answer under the first ordering.
    n_usable
        Questions with an answer under every ordering: what ``flip_rate``, the factors and ``together`` are of.
    statuses
        Answers by status, over all orderings.
    accuracy
        End to end, with a Clopper-Pearson interval.
    rstd
        Population SD, in points, of the recalls by place of the right option, over ``n_answered``; bootstrap of
        questions. None where a place never holds the right option.
    flip_rate
        Share of usable questions whose answer changes with the order.
    positional_skew, pooled_sd
        The other factor, and the product.
    mcnemar, together
        Against the baseline; None for itself.
    noise
        Asking again against reordering, where that was done. Flip rate and skew of drawn answers are None without it.
    """

    name: str
    n_items: int
    n_answered: int
    n_usable: int
    statuses: Mapping[str, int]
    accuracy: Estimate
    rstd: Estimate
    flip_rate: Estimate
    positional_skew: float | None
    pooled_sd: float | None
    mcnemar: McNemar | None = None
    together: Together | None = None
    noise: Noise | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        out: dict[str, Any] = {
            "strategy": self.name, "n_items": self.n_items, "n_answered": self.n_answered, "n_usable": self.n_usable,
            "statuses": dict(self.statuses), "accuracy": self.accuracy.as_dict(), "rstd": self.rstd.as_dict(),
            "flip_rate": self.flip_rate.as_dict(), "positional_skew": self.positional_skew,
            "pooled_sd": self.pooled_sd, "noise": None if self.noise is None else self.noise.as_dict(),
            "mcnemar": None, "together": None,
        }  # fmt: skip
        if self.mcnemar is not None:
            m = self.mcnemar
            out["mcnemar"] = {"broken": m.broken, "fixed": m.fixed, "p_value": m.p_value, "p_holm": m.p_holm}
        if self.together is not None:
            t = self.together
            out["together"] = {
                "measure": t.measure, "sensitivity": t.sensitivity.as_dict(), "accuracy": t.accuracy.as_dict(),
                "text": t.text,
            }  # fmt: skip
        return out


@dataclass(frozen=True, slots=True)
class _Drawing:
    level: float
    resamples: int
    seed: int


Again = Mapping[str, NDArray[np.int8]]


def compare_arms(
    arms: Mapping[str, Predictions],
    *,
    baseline: str = BASELINE,
    repeats: Again | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[ArmRow, ...]:
    """Compare strategies on the same questions.

    Parameters
    ----------
    arms
        Predictions by strategy, of the same questions in the same order, with golds.
    baseline
        The arm that the others are compared with.
    repeats
        The contents of the arms that were asked again, as :class:`orderbias.cells.Cells` holds them.
    level, resamples, seed
        Of the intervals.

    Raises
    ------
    ArgumentError
        If the baseline is missing, questions differ, a gold is unknown, or an argument breaks its rule.

    Examples
    --------
    >>> design = np.array([[0, 1], [1, 0]])
    >>> first = Predictions(np.array([[0, 1]] * 8), design, np.zeros(8))
    >>> always = Predictions(np.array([[0, 0]] * 8), design, np.zeros(8))
    >>> rows = compare_arms({"direct": first, "vote": always}, resamples=100)
    >>> [(row.name, row.flip_rate.value, row.accuracy.value) for row in rows]
    [('direct', 1.0, 1.0), ('vote', 0.0, 1.0)]
    """
    check_level(level)
    check_draws(resamples, seed)
    if baseline not in arms:
        raise ArgumentError(f"`baseline` must be one of {', '.join(arms)}. Got {baseline!r}.")
    _check_same(arms)
    drawing, again = _Drawing(level, resamples, seed), repeats or {}
    rows = {name: _row(name, arm, again.get(name), drawing) for name, arm in arms.items()}
    others = [name for name in arms if name != baseline]
    tests = [_mcnemar(arms[baseline], arms[name]) for name in others]
    for name, test, adjusted in zip(others, tests, holm([t.p_value for t in tests]), strict=True):
        if baseline in again:
            ours, theirs = (excess_by_item(arms[one], again.get(one)) for one in (name, baseline))
            changed, measured = ours - theirs, "excess"
        else:
            known = rows[baseline].flip_rate.n > 0 and rows[name].flip_rate.n > 0
            changed, measured = _changed_flips(arms[baseline], arms[name], known=known), "flip_rate"
        together = _together(arms[baseline], arms[name], changed, measured, drawing)
        rows[name] = replace(rows[name], mcnemar=replace(test, p_holm=float(adjusted)), together=together)
    return tuple(rows.values())


def _check_same(arms: Mapping[str, Predictions]) -> None:
    first = next(iter(arms.values()))
    for name, arm in arms.items():
        if arm.n_items != first.n_items or not (arm.item_ids == first.item_ids).all():
            raise ArgumentError(f"`arms` must be of the same questions in the same order. {name!r} has others.")
        if (arm.gold < 0).any() or not (arm.gold == first.gold).all():
            raise ArgumentError(f"`arms` must have the same known golds. {name!r} has others.")
        if arm.n_options != first.n_options:
            raise ArgumentError(f"`arms` must have one number of options. {name!r} has {arm.n_options}.")


def _mcnemar(baseline: Predictions, arm: Predictions) -> McNemar:
    before, after = right_answers(baseline), right_answers(arm)
    broken, fixed = int((before & ~after).sum()), int((after & ~before).sum())
    return McNemar(broken, fixed, sign_test_p(broken, broken + fixed))


def _row(name: str, arm: Predictions, again: NDArray[np.int8] | None, drawing: _Drawing) -> ArmRow:
    names = ("flip_rate", "positional_skew", "pooled_sd")
    n_usable = int(arm.usable.sum())
    found: Mapping[str, Any] = dict.fromkeys(names)
    flips = Estimate(None, None, 0)
    noise = noise_of(arm, again, level=drawing.level, resamples=drawing.resamples, seed=drawing.seed)
    if n_usable:
        m = measure(arm, measures=names, resamples=0, level=drawing.level)
        hidden = noise is None and drawn(arm.source)
        found = (withheld(m) if hidden else m).values
        flips = flips if hidden else Estimate(m.flip_rate, m.intervals["flip_rate"], n_usable)
    return ArmRow(
        name, arm.n_items, int((arm.choice[:, first_slot(arm)] >= 0).sum()), n_usable, status_counts(arm),
        share(right_answers(arm), drawing.level), rstd(arm, drawing.level, drawing.resamples, drawing.seed), flips,
        found["positional_skew"], found["pooled_sd"], noise=noise,
    )  # fmt: skip


def _changed_flips(baseline: Predictions, arm: Predictions, *, known: bool) -> Floats:
    """Return by how much each question flips more, NaN where it is not usable in both, or flips are not ``known``."""
    both = baseline.usable & arm.usable & known
    return np.where(both, _flips(arm).astype(float) - _flips(baseline), np.nan)


def _together(baseline: Predictions, arm: Predictions, changed: Floats, measured: str, drawing: _Drawing) -> Together:
    """Compare sensitivity and right answers on the questions usable in both.

    Where a strategy finds answers that the baseline lacks, it is more often right for that alone: such questions are
    left out here.
    """
    both = baseline.usable & arm.usable
    if measured == "excess":  # it needs calls that a flip does not
        both &= ~np.isnan(changed)
    right = right_answers(arm)[both].astype(float) - right_answers(baseline)[both]
    sensitivity, less = _difference(changed[both], 2 if measured == "excess" else 1, drawing)
    accuracy, more = _difference(right, 1, drawing)
    return Together(sensitivity, accuracy, _moved(less, more), measured)


def _flips(arm: Predictions) -> Bools:
    shown = arm.choice[:, arm.presented]
    if arm.asked is None:
        return np.asarray((shown != shown[:, :1]).any(axis=1))
    asked = arm.asked[:, arm.presented]
    first = np.take_along_axis(shown, asked.argmax(axis=1)[:, None], axis=1)
    return np.asarray(((shown != first) & asked).any(axis=1))


def _difference(values: Floats, most: int, drawing: _Drawing) -> tuple[Estimate, int | None]:
    """Return the mean of paired differences, and to which side it is no chance.

    Of differences of 0, 1 and -1 the exact test of the signs tells that (McNemar's); the interval agrees with it, but
    for what drawing leaves open.
    """
    rng = np.random.default_rng(drawing.seed)
    found = weighed_mean(values, low=-most, high=most, level=drawing.level, draws=drawing.resamples, rng=rng)
    if found.value is None or most > 1:
        return found, found.direction
    n_up, n_down = int((values > 0).sum()), int((values < 0).sum())
    sure = sign_test_p(n_up, n_up + n_down) < 1 - drawing.level
    return found, int(np.sign(n_up - n_down)) if sure else 0


def _moved(less: int | None, more: int | None) -> str:
    if less is None or more is None:
        return "not known"
    if less == more == 0:
        return "neither moved measurably"
    if less == 0 or more == 0:
        said = {-1: "fell", 0: "did not move measurably", 1: "rose"}
        return f"sensitivity {said[less]}, accuracy {said[more]}"
    if less != more:
        return (
            "together: less sensitive and more accurate" if less < 0 else "together: more sensitive and less accurate"
        )
    return "apart: less sensitive but less accurate" if less < 0 else "apart: more accurate but more sensitive"
