"""A cell's prior on held-out items, and its factors after dividing a prior out; computes no statistic over cells.

Dividing out takes nothing but the answers: the best label of each query after ``log p - alpha * log prior``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.operations import label_permutations
from orderbias.studies.panel.answer_measures import Choices, centred_cosine, operation_measures
from orderbias.studies.panel.cells import PanelCell
from orderbias.studies.panel.operated_cells import answers, cell_scores, log_priors

Floats = NDArray[np.float64]
#: The strengths tested: exponents of the prior.
ALPHAS = (0.5, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """The two factors and accuracy of several sets of answers to the same items.

    Parameters
    ----------
    flip_rate, skew, accuracy
        ``(n_sets,)``, each 0..1; the skew is NaN without a flip, accuracy where a gold is unknown.
    flip_share
        ``(n_sets, n_options)``: ``g``.
    """

    flip_rate: Floats
    skew: Floats
    accuracy: Floats
    flip_share: Floats


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """A cell split in two: priors from one part of its items, factors of the other.

    Parameters
    ----------
    prior, profile
        ``(n_options,)``: PriDe's prior, and the mean of the label probabilities.
    orders
        The letter permutations of the control.
    before
        One set: no operation.
    after
        By alpha: the estimated prior divided out, then each of its letter permutations.
    """

    prior: Floats
    profile: Floats
    orders: tuple[tuple[int, ...], ...]
    before: Factors
    after: Mapping[float, Factors]

    @property
    def permuted_priors(self) -> Floats:
        """``(n_orders, n_options)``."""
        permuted: Floats = self.prior[np.array(self.orders)]
        return permuted


def held_out(cell: PanelCell, seed: int, alphas: Sequence[float] = ALPHAS) -> HeldOut | None:
    """Estimate a cell's priors on a twentieth of its items, and divide PriDe's out of the others.

    Parameters
    ----------
    cell
        With log-probabilities, under the cyclic orderings.
    seed
        Decides which items are held out, and which permutations are drawn above four options.
    alphas
        Exponents of the prior.

    Returns
    -------
    HeldOut or None
        None where it cannot be had: fewer than two items with log-probabilities, or a label that never has any
        probability.
    """
    scores = cell_scores(cell, seed, reversals=False)
    if scores is None:
        return None
    prior, profile = (log_priors(kind, scores.calibration) for kind in ("pride", "batch-calibration"))
    if not np.isfinite([prior, profile]).all():  # a label without probability cannot be divided out
        return None
    gold = cell.predictions.gold[scores.rows]
    orders = label_permutations(cell.n_options, seed=seed)
    divided = prior[np.array((tuple(range(cell.n_options)), *orders))]
    names = ("pride",) * len(divided)
    after = {alpha: answer_factors(answers(scores, names, alpha * divided), gold) for alpha in alphas}
    return HeldOut(np.exp(prior), np.exp(profile), orders, answer_factors(scores.choice[None], gold), after)


def answer_factors(choice: Choices, gold: Choices) -> Factors:
    """Return the factors of sets of answers, contents ``(n_sets, n_items, K)`` under the K rotations in order."""
    found = operation_measures(choice, gold, choice.shape[-1])
    return Factors(found["flip_rate"], found["positional_skew"], found["accuracy"], found["flip_share"])


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What dividing out changes in each cell, ``(n_cells,)``; NaN in a cell that is left out."""

    estimated: Floats
    permuted: Floats

    @property
    def n_cells(self) -> int:
        """Cells that it is known for."""
        return int((~np.isnan(self.estimated)).sum())


def divided_out(found: Sequence[HeldOut], alpha: float) -> dict[str, Change]:
    """Return each cell's changes after dividing out ``prior ** alpha``, and their mean over letter permutations.

    Log changes are of the cells where the factor is above 0 before, after the estimated prior and after every permuted
    one (two-factors, Table 6).
    """
    return {
        "log_skew": _log_change([(h.before.skew[0], h.after[alpha].skew) for h in found]),
        "log_flip_rate": _log_change([(h.before.flip_rate[0], h.after[alpha].flip_rate) for h in found]),
        "accuracy": _change([h.after[alpha].accuracy - h.before.accuracy[0] for h in found]),
    }


def _log_change(factors: Sequence[tuple[float, Floats]]) -> Change:
    changes = []
    for before, after in factors:
        # A comparison with NaN, the skew of no flip, is false.
        common = before > 0 and bool((after > 0).all())
        changes.append(np.log(after / before) if common else np.full(len(after), np.nan))
    return _change(changes)


def _change(changes: Sequence[Floats]) -> Change:
    return Change(np.array([c[0] for c in changes]), np.array([c[1:].mean() for c in changes]))


def cosines(found: Sequence[HeldOut], n_options: int = 4) -> tuple[Floats, Floats]:
    """Return each cell's cosine of g and the prior, and the median of those with the prior's letters permuted.

    Returns
    -------
    tuple of numpy.ndarray
        ``(n_cells,)`` each; NaN for another number of options, without a flip, and where either is uniform.
    """
    own, permuted = np.full(len(found), np.nan), np.full(len(found), np.nan)
    for n, h in enumerate(found):
        if len(h.prior) == n_options and not np.isnan(h.before.flip_share).any():
            own[n] = centred_cosine(h.before.flip_share[0], h.prior)
            permuted[n] = np.median(centred_cosine(h.before.flip_share, h.permuted_priors))
    return own, permuted
