"""Every measure by name: its function, the columns it needs, and what an interval may know about it.

Adding a measure is adding a row here; nothing else in the package lists them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from orderbias.errors import ArgumentError
from orderbias.measures import consistency, factors, gold
from orderbias.measures.sums import Floats, Layout, Sums

#: How a measure depends on items; it decides the interval, above all where resampling shows no spread.
#:
#: ``share``       share of items that have a property
#: ``mean``        mean over items of a value between 0 and ``peak``
#: ``seminorm``    a seminorm, at most ``peak``, of the mean of one vector an item; constant vectors have norm 0
#: ``skew``        the same over flipping items alone
#: ``divergence``  divergence from uniform, in bits, of a share built from one vector an item
#: ``cap``, ``scaled``, ``bound``   functions of other measures
#: ``plain``       none of these
#: ``list``        several numbers, no interval
Kind = Literal["share", "mean", "seminorm", "skew", "divergence", "cap", "scaled", "bound", "plain", "list"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One row of the table.

    Parameters
    ----------
    name
        The key under which it is printed.
    compute
        Function of column sums, batched over leading axes.
    columns
        The columns it reads, beside the number of items; ``balance`` if it needs a balanced design.
    kind
        See ``Kind``.
    peak
        Largest value, or largest value an item can add, as a function of K. Only for the kinds that say so.
    vector
        The vector an item adds, from a row read as sums. Only for the kinds that say so.
    gap
        What it is about the answers that leaves the measure without a value although its columns are there.
    """

    name: str
    compute: Callable[[Sums], Floats]
    columns: tuple[str, ...]
    kind: Kind
    peak: Callable[[Layout], float] = lambda layout: 1.0
    vector: Callable[[Sums], Floats] | None = None
    gap: str = "these answers leave it without a value"

    def missing(self, layout: Layout) -> str | None:
        """Say why this measure cannot be had from these columns; ``None`` when it can."""
        return next((layout.absent[c] for c in self.columns if c in layout.absent), None)

    def why_undefined(self, layout: Layout) -> str:
        """Say why this measure has no value here; only for one that has none."""
        return self.missing(layout) or self.gap


def largest_sd(layout: Layout) -> float:
    """``sqrt(K - 1) / K``: the SD of a share that is all at one place."""
    return math.sqrt(layout.n_options - 1) / layout.n_options


def largest_sd_of_accuracies(layout: Layout) -> float:
    """SD of K numbers of 0 or 1, half of them 1."""
    ones = (layout.n_options // 2) / layout.n_options
    return math.sqrt(ones * (1 - ones))


def _bits(layout: Layout) -> float:
    return math.log2(layout.n_options)


def _content_bits(layout: Layout) -> float:
    return math.log2(min(layout.n_options, max(layout.n_orderings, 2)))


def _flips(sums: Sums) -> Floats:
    return sums["flip_f"]


def _stable_deviation(sums: Sums) -> Floats:
    # Less a constant vector, which a standard deviation does not see.
    return np.asarray(sums["f"] - sums["flip_f"])


_FLIP = ("flip",)
_G = ("flip", "flip_f")
_B = ("f", "flip", "flip_f")
_CANONICAL = ("canonical_correct", "canonical_gold", "canonical_hit", "canonical_place")

_NO_FLIP = "no item flips"
_NEVER_GOLD = "some place never holds the right option in the canonical ordering, so it has no recall"
_INFINITE = "a place that holds right options in the canonical ordering is never chosen there: infinite"
_NO_CAP = "every answer is right, so the cap is 0"

_ROWS = (
    Measure("accuracy", gold.accuracy, ("correct",), "mean"),
    Measure("accuracy_canonical", gold.accuracy_canonical, ("canonical_correct",), "share"),
    Measure("flip_rate", factors.flip_rate, _FLIP, "share"),
    Measure("positional_skew", factors.positional_skew, _G, "skew", largest_sd, factors.flip_share, _NO_FLIP),
    Measure("pooled_sd", factors.pooled_sd, ("f",), "seminorm", largest_sd, factors.selection_share),
    Measure("design_deviation_sd", factors.design_deviation_sd, _B, "seminorm", largest_sd, _stable_deviation),
    Measure("corrected_pooled_sd", factors.corrected_pooled_sd, _B, "seminorm", largest_sd, _flips),
    Measure("stable_correct", gold.stable_correct, ("stable_correct",), "share"),
    Measure("stable_wrong", gold.stable_wrong, ("stable_wrong",), "share"),
    Measure("selection_share", factors.selection_share, ("f",), "list"),
    Measure("flip_share", factors.flip_share, _G, "list", gap=_NO_FLIP),
    Measure("accuracy_by_place", gold.accuracy_by_place, ("a",), "list"),
    Measure("placement_factor", gold.placement_factor, ("flip", "flip_a"), "list", gap=_NO_FLIP),
    Measure("balanced_rstd", gold.balanced_rstd, ("a",), "seminorm", largest_sd_of_accuracies, gold.accuracy_by_place),
    Measure("placement_range", gold.placement_range, ("a",), "seminorm", vector=gold.accuracy_by_place),
    Measure("canonical_rstd", gold.canonical_rstd, _CANONICAL, "plain", gap=_NEVER_GOLD),
    Measure("flip_cap", gold.flip_cap, ("correct",), "cap"),
    Measure("scaled_flip_rate", gold.scaled_flip_rate, ("flip", "correct"), "scaled", gap=_NO_CAP),
    Measure("fluctuation_rate", consistency.fluctuation_rate, ("fluctuation",), "share"),
    Measure("pairwise_disagreement", consistency.pairwise_disagreement, ("pairwise",), "mean"),
    Measure("content_entropy", consistency.content_entropy, ("content_entropy",), "mean", _content_bits),
    Measure("per_item_sd", consistency.per_item_sd, ("item_sd",), "mean", largest_sd),
    Measure("per_item_kl", consistency.per_item_kl, ("item_kl",), "mean", _bits),
    Measure("forward_kl", factors.forward_kl, ("f",), "divergence", _bits, factors.selection_share),
    Measure("forward_kl_bound", factors.forward_kl_bound, (*_G, "balance"), "divergence", _bits, _flips),
    Measure("ckld", gold.ckld, _CANONICAL, "plain", gap=_INFINITE),
    Measure("design_deviation_bound", factors.design_deviation_bound, _FLIP, "bound"),
    Measure("tie_share", consistency.tie_share, ("tie",), "share"),
)

#: Every measure by its key, in the order in which they are printed.
MEASURES: dict[str, Measure] = {measure.name: measure for measure in _ROWS}

#: Columns that are resampled together. Few columns have few different rows, and fewer rows are drawn faster; each
#: measure needs the columns of one family only, and an interval looks at one measure only. Shares of items have exact
#: intervals, unless items come in clusters. Lists have none.
FAMILIES: dict[str, tuple[str, ...]] = {
    "shares": ("one", "flip", "stable_correct", "stable_wrong", "canonical_correct", "fluctuation", "tie"),
    "places": ("one", "f", "flip", "flip_f"),
    "gold": ("one", "flip", "correct", "a"),
    "canonical": ("one", *_CANONICAL),
    "items": ("one", "content_entropy", "item_sd", "item_kl", "pairwise"),
}


def family(measure: Measure) -> str:
    """Return the first family that holds every column of a measure."""
    read = set(measure.columns) - {"balance"}
    names = ["shares"] if measure.kind == "share" else list(FAMILIES)[1:]
    return next(name for name in names if read <= set(FAMILIES[name]))


#: Spread measures that a rotation of each flipping item's answers changes: their values without a lean are of interest.
LEANS = ("positional_skew", "pooled_sd", "corrected_pooled_sd", "balanced_rstd", "placement_range", "forward_kl",
         "forward_kl_bound")  # fmt: skip


def chosen_measures(names: Iterable[str] | None) -> tuple[Measure, ...]:
    """Return the named rows in the order of the table; all of them for ``None``.

    Raises
    ------
    ArgumentError
        If a name is unknown.
    """
    if names is None:
        return _ROWS
    wanted = [names] if isinstance(names, str) else list(names)
    unknown = [name for name in wanted if name not in MEASURES]
    if unknown:
        raise ArgumentError(f"`measures` must be among {', '.join(MEASURES)}. Got {', '.join(map(repr, unknown))}.")
    return tuple(measure for measure in _ROWS if measure.name in wanted)


def evaluate(sums: Sums, measures: Iterable[Measure]) -> dict[str, Floats]:
    """Compute each measure that the columns allow."""
    return {m.name: m.compute(sums) for m in measures if m.missing(sums.layout) is None}
