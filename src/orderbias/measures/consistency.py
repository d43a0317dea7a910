"""Consistency and per-item statistics: means over items of a value that each item has alone; no gold is read.

Source: two-factors, appendix F and Table 21. Entropies are in bits. Functions of column sums, batched.
"""

from __future__ import annotations

from orderbias.measures.sums import Floats, Sums


def fluctuation_rate(sums: Sums) -> Floats:
    """Share of items answered differently under rotations 0 and floor(K/2), both presented (F, after Wei et al.)."""
    return sums.mean("fluctuation")


def pairwise_disagreement(sums: Sums) -> Floats:
    """Mean over items of the share of pairs of presented orderings with different chosen contents; 0 to 1."""
    return sums.mean("pairwise")


def content_entropy(sums: Sums) -> Floats:
    """Mean over items of the entropy of the chosen contents, in bits; 0 to log2 of min(K, orderings)."""
    return sums.mean("content_entropy")


def per_item_sd(sums: Sums) -> Floats:
    """Mean over items of ``std(f_q)``; 0 to sqrt(K-1)/K."""
    return sums.mean("item_sd")


def per_item_kl(sums: Sums) -> Floats:
    """Mean over items of ``D_KL(f_q || unif)``, in bits; 0 to log2(K)."""
    return sums.mean("item_kl")


def tie_share(sums: Sums) -> Floats:
    """Share of items with an answer that is one of several places of exactly equal probability."""
    return sums.mean("tie")
