"""Asking again against reordering: how much of what looks like an order effect is noise (two-factors, C.5, Table 13).

The flip rate compares as many calls as there are orderings, a repeat compares two. Like is compared with like: two
calls on one ordering against two calls on different orderings. Knows no file and no model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orderbias.errors import ArgumentError
from orderbias.inference.intervals import SAME
from orderbias.inference.means import Estimate
from orderbias.inference.proportions import check_draws, check_level
from orderbias.inference.resampling import percentile_interval, resampled_sums
from orderbias.inference.weighing import weighed_mean
from orderbias.measures.repeats import Across, Disagreements, disagreements, repeated_orderings

if TYPE_CHECKING:
    from orderbias.measurement import Measurement
    from orderbias.predictions import Predictions
    from orderbias.signature import Signature

#: Every measure that counts an answer as moved by the order where two calls may just have been drawn differently.
FLIP_MEASURES = (
    "flip_rate", "positional_skew", "corrected_pooled_sd", "design_deviation_sd", "design_deviation_bound",
    "stable_correct", "stable_wrong", "flip_share", "placement_factor", "scaled_flip_rate", "fluctuation_rate",
    "pairwise_disagreement", "content_entropy", "forward_kl_bound",
)  # fmt: skip
#: Why they are not shown.
WITHHELD = "drawn answers: a flip rate needs same-order repeats (run --repeats 2)"

#: Readouts whose queries of one repeat share replies under every ordering, so that these are not two calls; and the
#: operation that makes one answer of all orderings.
_SHARING, _VOTE = ("two-stage-hidden", "independent"), "majority-vote"


@dataclass(frozen=True, slots=True)
class Compared:
    """Means over items of the two disagreements and of their difference, ``excess``: what the order adds."""

    repeat: Estimate
    reorder: Estimate
    excess: Estimate


@dataclass(frozen=True, slots=True)
class Noise:
    """How often two calls disagree, on one ordering and on different ones.

    Parameters
    ----------
    n_items, n_left_out
        Items with the calls that the comparison needs, and those without.
    n_repeats, n_repeated
        Calls on an ordering that was asked again, and how many orderings were.
    n_missing
        Of these calls, and of the first ones on other orderings, those without a usable answer.
    repeat, reorder, excess
        See :class:`Compared`.
    n_clusters
        Clusters of items that the intervals resample; None where they resample items.
    """

    n_items: int
    n_left_out: int
    n_repeats: int
    n_repeated: int
    n_missing: int
    repeat: Estimate
    reorder: Estimate
    excess: Estimate
    n_clusters: int | None = None

    def as_dict(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "n_items": self.n_items, "n_left_out": self.n_left_out, "n_repeats": self.n_repeats,
            "n_repeated_orderings": self.n_repeated, "n_missing": self.n_missing, "n_clusters": self.n_clusters,
            "repeat_disagreement": self.repeat.as_dict(), "reorder_disagreement": self.reorder.as_dict(),
            "excess": self.excess.as_dict(),
        }  # fmt: skip


def noise(
    contents: ArrayLike, *, scored: ArrayLike | None = None, across: Across | None = None,
    cluster: ArrayLike | None = None, level: float = 0.95, resamples: int = 10_000, seed: int = 0,
) -> Noise | None:  # fmt: skip
    """Compare repeating an ordering with changing it.

    ``repeat`` is the mean over items of ``mean_a P(x_a != x'_a)``, two calls on ordering a, over the orderings that
    were asked again. ``reorder`` is the mean of ``mean_ab P(x_a != x_b)`` over the pairs of orderings of which one was
    asked again. Where that is ordering 0 alone, both are those of two-factors, C.5: ordering 0 against its second call,
    and the first call on it against that on each other ordering. Where all were asked again, all calls are paired.

    Parameters
    ----------
    contents
        Chosen contents, int ``(n_items, n_orderings, n_repeats)``; -1 where there is no usable answer. The first
        repeat is the first answer.
    scored
        Bool ``(n_items, n_orderings)``: the orderings that belong to an item's design. Default: all.
    across
        Which calls are paired across orderings. ``different`` where those of one repeat may be one and the same reply.
        Default: ``all``, or ``first`` where not every ordering was asked again.
    cluster
        One label an item: clusters are then resampled whole, with percentile intervals.
    level, resamples, seed
        Of the intervals, which resample items: see :func:`orderbias.inference.weighing.weighed_mean`.

    Returns
    -------
    Noise or None
        None where no item has the calls: two usable ones on every repeated ordering, one on the others.

    Raises
    ------
    ArgumentError
        If shapes disagree or an argument breaks its rule.

    Examples
    --------
    A model that draws its answer, and one that always takes the first place:

    >>> drawn = noise(np.random.default_rng(0).integers(0, 2, (400, 2, 2)))
    >>> drawn.excess.interval[0] < 0 < drawn.excess.interval[1]
    True
    >>> first = noise(np.tile([[0, 0], [1, 1]], (20, 1, 1)))
    >>> first.repeat.value, first.reorder.value, first.excess.value
    (0.0, 1.0, 1.0)
    """
    check_level(level)
    check_draws(resamples, seed)
    calls, slots = _checked(contents, scored)
    repeated = repeated_orderings(calls)
    if not repeated.any():
        return None
    found = disagreements(calls, repeated, scored=slots, across=across)
    counts = ~np.isnan(found.repeat)
    if not counts.any():
        return None
    labels = None if cluster is None else _numbered(cluster, len(calls))
    means = compared(found, cluster=labels, level=level, resamples=resamples, seed=seed)
    asked = slots[:, :, None] & (repeated[:, None] | (np.arange(calls.shape[2]) == 0))
    return Noise(
        int(counts.sum()), int((~counts).sum()), calls.shape[2], int(repeated.sum()), int((asked & (calls < 0)).sum()),
        means.repeat, means.reorder, means.excess, None if labels is None else len(np.unique(labels[counts])),
    )  # fmt: skip


def noise_of(
    predictions: Predictions, repeats: NDArray[np.int8] | None, *, cluster: ArrayLike | None = None,
    level: float = 0.95, resamples: int = 10_000, seed: int = 0,
) -> Noise | None:  # fmt: skip
    """Compare repeating with reordering over the presented orderings of a cell; None where nothing was asked again.

    ``repeats`` is as in :class:`orderbias.cells.Cells`.
    """
    if repeats is None:
        return None
    shown = predictions.presented
    return noise(
        repeats[:, shown], scored=predictions.scored[:, shown], across=_across(predictions),
        cluster=cluster, level=level, resamples=resamples, seed=seed,
    )  # fmt: skip


def excess_by_item(predictions: Predictions, repeats: NDArray[np.int8] | None) -> NDArray[np.float64]:
    """Return what the order adds for each item, reorder minus repeat disagreement; its mean is ``Noise.excess``.

    Parameters
    ----------
    predictions
        A cell.
    repeats
        As in :class:`orderbias.cells.Cells`; None of a model that gives the same answer again.

    Returns
    -------
    numpy.ndarray
        ``(n_items,)``, -1 to 1; NaN where the calls are missing.
    """
    shown = predictions.presented
    calls = np.repeat(predictions.choice[:, :, None], 2, axis=2) if repeats is None else repeats
    contents, slots = _checked(calls[:, shown], predictions.scored[:, shown])
    across = _across(predictions)
    found = disagreements(contents, repeated_orderings(contents), scored=slots, across=across)
    return np.asarray(found.reorder - found.repeat)


def _across(predictions: Predictions) -> Across | None:
    """Which calls are two calls: where orderings share their replies, those of different repeats alone."""
    return "different" if voted(predictions) or predictions.readout.startswith(_SHARING) else None


def voted(predictions: Predictions) -> bool:
    """Whether answers are a vote over the orderings: one answer, which stands under each of them."""
    return _VOTE in predictions.source.as_dict().get("operations", "")


def drawn(source: Signature) -> bool:
    """Whether the settings that answers came with say that they were drawn; where nothing is said, no.

    Examples
    --------
    >>> from orderbias.signature import Signature
    >>> [drawn(Signature.of(model="m", temperature=t)) for t in (None, "0.0", "0.7")]
    [False, False, True]
    """
    said = source.as_dict()
    if any(_above_zero(said.get(key, "")) for key in ("temperature", "stage_one_temperature")):
        return True
    # A server that takes no temperature draws by its own, but what is read from probabilities is not drawn.
    return said.get("logprobs") == "none" and "temperature" in said.get("without", "").split()


def withheld(m: Measurement) -> Measurement:
    """Take out what would count draws as flips, and say why."""
    gone = [name for name in FLIP_MEASURES if name in m.values]
    nothing = dict.fromkeys(gone)
    tests = dict(m.tests)
    if tests.get("rotation") is not None:
        expected = {k: v for k, v in m.expected.items() if k not in nothing}
        tests["rotation"] = {**(tests["rotation"] or {}), "expected": expected}
    return replace(
        m, values={**m.values, **nothing}, intervals={k: None if k in nothing else v for k, v in m.intervals.items()},
        tests=tests, undefined={**m.undefined, **dict.fromkeys(gone, WITHHELD)},
    )  # fmt: skip


def compared(
    found: Disagreements, *, cluster: NDArray[np.int64] | None = None, level: float, resamples: int, seed: int
) -> Compared:
    """Estimate the mean disagreements and the excess of reordering over repeating.

    ``cluster`` gives the 0-based cluster of each item, where clusters are to be resampled.
    """
    rng = np.random.default_rng(seed)
    columns = ((found.repeat, 0.0), (found.reorder, 0.0), (found.reorder - found.repeat, found.lowest))
    means = [weighed_mean(v, low=low, high=1.0, level=level, draws=resamples, rng=rng) for v, low in columns]
    if cluster is not None:
        ends = [_over_clusters(v, cluster, level, resamples, rng) for v, _ in columns]
        means = [replace(mean, interval=interval) for mean, interval in zip(means, ends, strict=True)]
    return Compared(*means)


def _over_clusters(
    values: NDArray[np.float64], cluster: NDArray[np.int64], level: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Return the percentile interval of a mean over items; None where resampling clusters shows no spread."""
    there = ~np.isnan(values)
    sides = (values[there], np.ones(int(there.sum())))
    rows = np.stack([np.bincount(cluster[there], side) for side in sides], axis=1).astype(np.float64)
    rows = rows[rows[:, 1] > 0]
    if len(rows) < 2 or not resamples:
        return None
    sums = resampled_sums(rows, np.ones(len(rows), np.int64), resamples, rng)
    found = percentile_interval(sums[:, 0] / sums[:, 1], level)
    return None if found is None or found[1] - found[0] <= SAME else found


def _numbered(cluster: ArrayLike, n_items: int) -> NDArray[np.int64]:
    labels: NDArray[np.object_] = np.asarray(cluster, object)
    if labels.shape != (n_items,):
        raise ArgumentError(f"`cluster` must hold {n_items} labels, one an item. Got {labels.shape}.")
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.int64)


def _checked(contents: ArrayLike, scored: ArrayLike | None) -> tuple[NDArray[np.integer], NDArray[np.bool_]]:
    calls = np.asarray(contents)
    if calls.ndim != 3 or not np.issubdtype(calls.dtype, np.integer) or not calls.shape[2]:
        raise ArgumentError(
            "`contents` must be integers of shape (n_items, n_orderings, n_repeats), with at least one repeat. "
            f"Got {calls.dtype} {calls.shape}."
        )
    if calls.size and calls.min() < -1:
        raise ArgumentError(f"`contents` must be -1 or more. Got {calls.min()}.")
    slots = np.ones(calls.shape[:2], bool) if scored is None else np.asarray(scored, bool)
    if slots.shape != calls.shape[:2]:
        raise ArgumentError(f"`scored` must have shape {calls.shape[:2]}. Got {slots.shape}.")
    return calls, slots


def _above_zero(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False
