"""The two factors and the pooled statistics they compose; no gold is read. Functions of column sums, batched.

``f`` is the share of all answers at each place, ``g`` that of the answers of flipping items, ``FL`` the flip rate; SDs
are population SDs over the K places. Sources: two-factors, sections 3.1, 3.2, B.1 and B.3.
"""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from orderbias.measures.sums import Floats, Sums, sd


def flip_rate(sums: Sums) -> Floats:
    """Share of items whose chosen content changes over the presented orderings (Eq. 2); 0 to 1."""
    return sums.mean("flip")


def selection_share(sums: Sums) -> Floats:
    """``f``, ``(..., K)``: the mean over items of the share of their answers at each place; sums to 1."""
    return sums.mean("f")


def flip_share(sums: Sums) -> Floats:
    """``g``, ``(..., K)``: the same over flipping items alone; NaN when no item flips."""
    return sums.ratio("flip_f", "flip")


def positional_skew(sums: Sums) -> Floats:
    """``std(g)``: how unevenly the answers of flipping items fall; 0 to sqrt(K-1)/K, NaN without flips."""
    return sd(flip_share(sums))


def pooled_sd(sums: Sums) -> Floats:
    """``std(f)`` (Eq. 4); equals ``flip_rate * positional_skew`` on a balanced design (Eq. 6)."""
    return sd(selection_share(sums))


def stable_deviation(sums: Sums) -> Floats:
    """``b_S``, ``(..., K)``: what stable items add to ``f - unif``, because the design is unbalanced (Eqs. 9, 16).

    A stable item's histogram is its content's ``u_j``, so ``f_q - unif`` is the item's term. Exactly 0 when balanced.
    """
    if sums.layout.balanced:
        return np.zeros_like(sums["f"])
    unif = (1 - flip_rate(sums))[..., None] / sums.layout.n_options
    return selection_share(sums) - sums.mean("flip_f") - unif


def design_deviation_sd(sums: Sums) -> Floats:
    """``std(b_S)``: the most by which the design alone can part ``pooled_sd`` from the product (Eq. 12)."""
    return sd(stable_deviation(sums))


def design_deviation_bound(sums: Sums) -> Floats:
    """``(1 - FL) * max_j std(u_j)``, which bounds ``design_deviation_sd`` (Eq. 12; over items, Eq. 16)."""
    return (1 - flip_rate(sums)) * sums.layout.max_deviation


def corrected_pooled_sd(sums: Sums) -> Floats:
    """``std(f - b_S)``; equals ``flip_rate * positional_skew`` on every design (Eq. 11)."""
    return sd(selection_share(sums) - stable_deviation(sums))


def forward_kl(sums: Sums) -> Floats:
    """``D_KL(f || unif)`` in bits; 0 to log2(K)."""
    return divergence_from_uniform(selection_share(sums))


def forward_kl_bound(sums: Sums) -> Floats:
    """``FL * D_KL(g || unif)`` in bits, at least ``forward_kl`` on a balanced design (Eq. 18); 0 without flips."""
    rate = flip_rate(sums)
    # Without flips g is set to uniform (B.1), and the bound is 0.
    return np.where(rate == 0, 0.0, rate * divergence_from_uniform(flip_share(sums)))


def divergence_from_uniform(shares: Floats) -> Floats:
    """``D_KL(p || unif)`` in bits over the last axis, with ``0 log 0 = 0``.

    Examples
    --------
    >>> float(divergence_from_uniform(np.array([0.5, 0.5, 0.0, 0.0])))
    1.0
    """
    n_options = shares.shape[-1]
    bits = xlogy(shares, shares * n_options).sum(axis=-1) / np.log(2)
    return np.asarray(np.maximum(bits, 0.0))  # rounding may leave -1e-17; NaN stays NaN
