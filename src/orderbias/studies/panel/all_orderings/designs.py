"""Ways of choosing each item's orderings among all K!, and the two factors under each; knows no table.

Everything is counted from the content chosen under each of the K! orderings; a design is an array of their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from orderbias.orderings import all_orderings
from orderbias.predictions import Predictions
from orderbias.studies.panel.all_orderings.balanced_sets import latin_sets
from orderbias.studies.panel.all_orderings.full_orderings import Indices, all_subsets, cyclic_indices

Floats = NDArray[np.float64]

CYCLIC, ALL, LATIN = "cyclic", "all", "latin-square sets"
RANDOM, SHARED, GOLD = "random, per item", "random, shared", "gold-balanced, per item"
#: In the order of two-factors, Table 19.
DESIGNS = (CYCLIC, ALL, LATIN, RANDOM, SHARED, GOLD)
#: Draws of each random design.
DRAWS = 200
#: Answers counted at once; bounds the memory that temporaries take.
BLOCK = 400_000


@dataclass(frozen=True, slots=True, eq=False)
class DesignStatistics:
    """Measures of a cell under each draw of a design, ``(n_draws,)`` each; of several cells ``(n_cells, n_draws)``.

    Parameters
    ----------
    flip_rate, accuracy, per_item_sd
        As in :mod:`orderbias.measures`; accuracy is NaN where a gold is unknown.
    pooled_sd
        ``std(f)``.
    product
        ``FL * std(g)``; 0 where no item flips.
    deviation_sd
        ``std(b_S)``, what the stable items' places are off uniform by design (two-factors, Eqs. 9 and 16).
    corrected_sd
        ``std(f - b_S)``.
    """

    flip_rate: Floats
    accuracy: Floats
    per_item_sd: Floats
    pooled_sd: Floats
    product: Floats
    deviation_sd: Floats
    corrected_sd: Floats

    @property
    def residual(self) -> Floats:
        """``|std(f) - FL std(g)|``."""
        return np.abs(self.pooled_sd - self.product)

    @property
    def relative_residual(self) -> Floats:
        """The residual as a share of ``std(f)``; NaN where that is 0."""
        return _over(self.residual, self.pooled_sd)

    @property
    def residual_over_bound(self) -> Floats:
        """The residual as a share of ``std(b_S)``, its bound (Eq. 12); NaN where that is 0."""
        return _over(self.residual, self.deviation_sd)

    @property
    def corrected_residual(self) -> Floats:
        """``|std(f - b_S) - FL std(g)|``: 0 but for rounding (Eq. 11)."""
        return np.abs(self.corrected_sd - self.product)


def _over(top: Floats, bottom: Floats) -> Floats:
    # Below this an SD is 0, rounded.
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 1e-14))


def stack(cells: list[DesignStatistics]) -> DesignStatistics:
    """Return the statistics of several cells, ``(n_cells, n_draws)`` each."""
    return DesignStatistics(*(np.stack([getattr(cell, f.name) for cell in cells]) for f in fields(DesignStatistics)))


def shared_draws(n_options: int, rng: np.random.Generator, draws: int = DRAWS) -> Indices:
    """Draw sets of K distinct orderings that all items share, ``(draws, K)``."""
    subsets = all_subsets(n_options)
    return np.asarray(subsets[rng.integers(len(subsets), size=draws)])


def item_draws(n_options: int, n_items: int, rng: np.random.Generator, draws: int = DRAWS) -> Indices:
    """Draw K distinct orderings for each item, ``(draws, n_items, K)``."""
    subsets = all_subsets(n_options)
    return np.asarray(subsets[rng.integers(len(subsets), size=(draws, n_items))])


def gold_draws(gold: NDArray[np.integer], n_options: int, rng: np.random.Generator, draws: int = DRAWS) -> Indices:
    """Draw K orderings for each item that show its gold once at each place, the other contents anyhow.

    Parameters
    ----------
    gold
        ``(n_items,)``, all known.
    n_options
        K.
    rng
        Source of randomness.
    draws
        How many.

    Returns
    -------
    numpy.ndarray
        ``(draws, n_items, K)``.
    """
    rows = all_orderings(n_options).positions
    listed = [[np.flatnonzero(rows[:, content] == place) for place in range(n_options)] for content in range(n_options)]
    with_gold_at = np.array(listed, np.intp)  # (content, place, (K - 1)! orderings)
    one = rng.integers(with_gold_at.shape[2], size=(draws, len(gold), n_options))
    return np.asarray(with_gold_at[gold[None, :, None], np.arange(n_options), one])


def cell_designs(
    predictions: Predictions, shared: Indices, rng: np.random.Generator, draws: int = DRAWS
) -> dict[str, DesignStatistics]:
    """Return the statistics of a cell under every design; the gold-balanced one only where golds are known.

    Parameters
    ----------
    predictions
        All K! orderings in lexicographic order.
    shared
        ``(draws, K)``: the sets of the shared random design, the same in every cell.
    rng
        Of the designs that are drawn for each item.
    draws
        How many of those.
    """
    k, n_items = predictions.n_options, predictions.n_items
    picks = {
        CYCLIC: cyclic_indices(k)[None],
        ALL: np.arange(predictions.n_orderings)[None],
        LATIN: latin_sets(k),
        RANDOM: item_draws(k, n_items, rng, draws),
        SHARED: shared,
    }
    if (predictions.gold >= 0).all():
        picks[GOLD] = gold_draws(predictions.gold, k, rng, draws)
    return {name: design_statistics(predictions, picked) for name, picked in picks.items()}


def design_statistics(predictions: Predictions, picks: Indices) -> DesignStatistics:
    """Return the statistics under designs.

    Parameters
    ----------
    predictions
        Every item answered under every ordering, one design for all items.
    picks
        Numbers of orderings: ``(n_draws, m)`` for designs that all items share, ``(n_draws, n_items, m)`` for designs
        of each item.
    """
    contents, positions = predictions.choice, predictions.positions
    n_items, m = len(contents), picks.shape[-1]
    if picks.ndim == 2:
        picks = np.broadcast_to(picks[:, None], (len(picks), n_items, m))
    # A flat index into a small table is the fastest way to look a place up.
    place_of = positions.ravel()
    rows = np.arange(n_items)[:, None] * contents.shape[1]
    step = max(1, BLOCK // (n_items * m))
    blocks = []
    for start in range(0, len(picks), step):
        part = picks[start : start + step]
        chosen = contents.ravel()[rows + part]
        shown = place_of[part * predictions.n_options + chosen]
        first = place_of[part * predictions.n_options + chosen[..., :1]]
        blocks.append(answer_statistics(chosen, shown, first, predictions.gold, predictions.n_options))
    return DesignStatistics(*(np.concatenate([getattr(b, f.name) for b in blocks]) for f in fields(DesignStatistics)))


def answer_statistics(
    chosen: NDArray[np.integer],
    shown: NDArray[np.integer],
    first: NDArray[np.integer],
    gold: NDArray[np.integer],
    n_options: int,
) -> DesignStatistics:
    """Return the statistics of answers to designs of one size.

    Parameters
    ----------
    chosen
        Content under each ordering, ``(n_draws, n_items, m)``.
    shown
        The place where that content stands.
    first
        The place where the item's first chosen content stands under each ordering: for a stable item, where its
        design shows the content it keeps, from the design alone.
    gold
        ``(n_items,)``; -1 where unknown.
    n_options
        K.
    """
    _, n_items, m = chosen.shape
    flips = np.asarray((chosen != chosen[..., :1]).any(axis=-1))
    f, g, stable = (np.empty((len(chosen), n_options)) for _ in range(3))
    squares = np.zeros(flips.shape, np.int64)
    for place in range(n_options):
        count = (shown == place).sum(axis=-1)
        squares += count * count
        f[:, place] = count.sum(axis=1)
        g[:, place] = (count * flips).sum(axis=1)
        stable[:, place] = ((first == place).sum(axis=-1) * ~flips).sum(axis=1)
    answers = n_items * m
    f, g, stable = f / answers, g / answers, stable / answers
    deviation = stable - (1 - flips.mean(axis=1))[:, None] / n_options
    right = (chosen == gold[:, None]).mean(axis=(1, 2)) if (gold >= 0).all() else np.full(len(chosen), np.nan)
    return DesignStatistics(
        flip_rate=flips.mean(axis=1),
        accuracy=right,
        # The variance of an item's shares from integers, so that an even spread gives exactly 0.
        per_item_sd=np.sqrt((n_options * squares - m * m) / (n_options * m) ** 2).mean(axis=1),
        pooled_sd=f.std(axis=1),
        product=g.std(axis=1),  # FL * g: a seminorm takes the factor out
        deviation_sd=deviation.std(axis=1),
        corrected_sd=(f - deviation).std(axis=1),
    )
