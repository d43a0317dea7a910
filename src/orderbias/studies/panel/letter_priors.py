"""A cell's prior on held-out items, and its factors after dividing a prior out; computes no statistic over cells.

Dividing out takes nothing but the answers: the best label of each query after ``log p - alpha * log prior``. Many
priors are handled at once, so that every letter permutation of a prior costs a few passes over the log-probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orderbias.errors import ArgumentError
from orderbias.measures.sums import ratio, sd
from orderbias.operations import calibration_items, estimate_prior, label_permutations, take_items
from orderbias.operations.scores import TIE_TOLERANCE, log_softmax
from orderbias.orderings import inverse
from orderbias.predictions import Predictions
from orderbias.studies.panel.values import PanelCell

Floats = NDArray[np.float64]
#: Scores laid out at once.
BLOCK = 1_000_000
#: Items that a prior is estimated on (two-factors, section 4).
SHARE = 0.05
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
    usable = with_logprobs(cell.predictions)
    if usable.n_items < 2:
        return None
    chosen = calibration_items(usable, SHARE, seed)
    calibration, evaluation = take_items(usable, chosen), take_items(usable, ~chosen)
    try:
        prior = estimate_prior(calibration, "pride").log_values
        profile = np.array(estimate_prior(calibration, "batch-calibration").values)
    except ArgumentError:  # a label without probability cannot be divided out
        return None
    orders = label_permutations(cell.n_options, seed=seed)
    divided = prior[np.array((tuple(range(cell.n_options)), *orders))]
    after = {alpha: corrected_factors(evaluation, alpha * divided) for alpha in alphas}
    return HeldOut(np.exp(prior), profile, orders, _before(evaluation), after)


def with_logprobs(predictions: Predictions) -> Predictions:
    """Return the usable items whose log-probabilities are known under every presented ordering."""
    assert predictions.logprobs is not None
    unknown = np.isnan(log_softmax(predictions.logprobs[:, predictions.presented])).any(axis=(1, 2))
    kept = predictions.usable & ~unknown
    return predictions if kept.all() else take_items(predictions, kept)


def corrected_factors(predictions: Predictions, offsets: Floats) -> Factors:
    """Return the factors after subtracting each set of offsets from the log-probabilities by place.

    Equal to ``FittedCorrection.apply`` and the measures of its answers, for many priors at once.

    Parameters
    ----------
    predictions
        Items with log-probabilities, every one under the same presented orderings.
    offsets
        ``(n_sets, n_options)``: ``alpha * log prior``.
    """
    assert predictions.logprobs is not None
    by_place = np.ascontiguousarray(predictions.logprobs[:, predictions.presented].transpose(2, 1, 0))
    step = max(1, BLOCK // by_place.size)
    parts = [
        _factors(predictions, _best_places(by_place, offsets[start : start + step]))
        for start in range(0, len(offsets), step)
    ]
    return Factors(*(np.concatenate([getattr(part, name) for part in parts]) for name in Factors.__slots__))


def _best_places(by_place: Floats, offsets: Floats) -> NDArray[np.int8]:
    """Return the best place, ``(n_sets, n_orderings, n_items)``; the lowest of equal ones.

    Scores are laid out place by place, so that the best is found in passes over whole arrays.
    """
    scores = by_place[:, None] - offsets.T[:, :, None, None]
    near = scores.max(axis=0)
    near -= TIE_TOLERANCE
    best = np.zeros(near.shape, np.int8)
    for place in range(len(by_place) - 1, -1, -1):
        best[scores[place] >= near] = place
    return best


def _factors(predictions: Predictions, places: NDArray[np.int8]) -> Factors:
    """Turn the best places into the contents that they count as."""
    shown = inverse(predictions.positions[predictions.presented])
    contents = shown[np.arange(len(shown))[:, None], places]
    if predictions.same_text is not None:
        contents = predictions.same_text[np.arange(predictions.n_items), contents]
    return answer_factors(contents, predictions)


def _before(predictions: Predictions) -> Factors:
    return answer_factors(predictions.choice[:, predictions.presented].T[None], predictions)


def answer_factors(contents: NDArray[np.int8], predictions: Predictions) -> Factors:
    """Return the factors of sets of answers.

    Parameters
    ----------
    contents
        Int ``(n_sets, n_orderings, n_items)``: the content chosen under each presented ordering.
    predictions
        Whose orderings and golds they go with.
    """
    n_sets, n_orderings = contents.shape[:2]
    k = predictions.n_options
    positions = predictions.positions[predictions.presented]
    flips = (contents[:, 1:] != contents[:, :1]).any(axis=1)
    counts = np.zeros((n_sets, k))
    places = positions[np.arange(n_orderings)[:, None], contents]
    for place in range(k):
        counts[:, place] = ((places == place) & flips[:, None]).sum(axis=(1, 2))
    share = ratio(counts, counts.sum(axis=1))
    # Equal counts have no skew; rounding must not leave a tiny one, whose log would be huge.
    even = (counts == counts[:, :1]).all(axis=1) & flips.any(axis=1)
    gold = predictions.gold
    accuracy = (contents == gold).mean(axis=(1, 2)) if (gold >= 0).all() else np.full(n_sets, np.nan)
    return Factors(flips.mean(axis=1), np.where(even, 0.0, sd(share)), accuracy, share)


def centred_cosine(first: Floats, second: Floats) -> Floats:
    """Return the cosine of two shares over the last axis, each minus uniform; NaN where one is uniform.

    Examples
    --------
    >>> float(centred_cosine(np.array([0.75, 0.25]), np.array([0.25, 0.75])))
    -1.0
    """
    k = first.shape[-1]
    a, b = first - 1 / k, second - 1 / k
    size = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    product = (a * b).sum(axis=-1)
    # Shares that are uniform but for rounding have no direction.
    return np.asarray(np.divide(product, size, out=np.full(np.shape(size), np.nan), where=size > 1e-15))


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
