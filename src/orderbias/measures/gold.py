"""Measures that need the right answers. Functions of column sums, batched.

``A_j`` is the accuracy with every item's right option shown at place ``j``, ``h_j`` the same over flipping items.
Sources: two-factors, sections 3.1, 3.3, B.2, C.4 and F; Zheng et al. 2024 (RStd); Choi et al. 2025 (CKLD).
"""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr

from orderbias.measures.factors import flip_rate
from orderbias.measures.sums import Floats, Sums, ratio, sd


def accuracy(sums: Sums) -> Floats:
    """Mean over items of the share of presented orderings answered rightly; 0 to 1."""
    return sums.mean("correct")


def accuracy_canonical(sums: Sums) -> Floats:
    """Share of items answered rightly under the canonical ordering."""
    return sums.mean("canonical_correct")


def stable_correct(sums: Sums) -> Floats:
    """``SC``: share of items answered rightly under every presented ordering."""
    return sums.mean("stable_correct")


def stable_wrong(sums: Sums) -> Floats:
    """Share of items that keep one wrong content under every presented ordering."""
    return sums.mean("stable_wrong")


def accuracy_by_place(sums: Sums) -> Floats:
    """``A_j``, ``(..., K)``; equals ``SC + FL * h_j`` (Eq. 17). Needs the gold at every place equally often."""
    return sums.mean("a")


def placement_factor(sums: Sums) -> Floats:
    """``h_j``, ``(..., K)``; NaN when no item flips."""
    return sums.ratio("flip_a", "flip")


def balanced_rstd(sums: Sums) -> Floats:
    """``std_j(A_j) = FL * std(h)``: RStd with the right option balanced over the places (B.2)."""
    return sd(accuracy_by_place(sums))


def placement_range(sums: Sums) -> Floats:
    """``max_j A_j - min_j A_j``: how far accuracy moves when every right option is moved to one place."""
    by_place = accuracy_by_place(sums)
    return np.asarray(by_place.max(axis=-1) - by_place.min(axis=-1))


def canonical_rstd(sums: Sums) -> Floats:
    """RStd of Zheng et al. 2024: population SD over labels of the recall of items whose gold stands there.

    Canonical ordering alone; NaN when a label is never gold.
    """
    return sd(sums.ratio("canonical_hit", "canonical_gold"))


def ckld(sums: Sums) -> Floats:
    """CKLD of Choi et al. 2025: ``sum_i p_i ln(p_i / q_i)`` of the gold label shares p and the predicted ones q.

    Canonical ordering alone, in nats; NaN when infinite, that is when a label is gold somewhere and never predicted.
    """
    nats = rel_entr(sums.mean("canonical_gold"), sums.mean("canonical_place")).sum(axis=-1)
    return np.where(np.isfinite(nats), np.maximum(nats, 0.0), np.nan)


def cap(accuracies: Floats, n_orderings: int) -> Floats:
    """``min(1, m (1 - A))`` (Eq. 3): a flipping item gives at least one wrong answer of its m.

    With designs of different size m is the largest, which keeps the bound valid.
    """
    return np.minimum(1.0, n_orderings * (1 - accuracies))


def flip_cap(sums: Sums) -> Floats:
    """The most that the flip rate can be at this accuracy (Eq. 3)."""
    return cap(accuracy(sums), sums.layout.n_orderings)


def scaled_flip_rate(sums: Sums) -> Floats:
    """``flip_rate / flip_cap`` (C.4); 0 to 1, NaN where every answer is right."""
    # Both sides are rounded, so the ratio may pass 1 in the last bit.
    return np.minimum(1.0, ratio(flip_rate(sums), flip_cap(sums)))
