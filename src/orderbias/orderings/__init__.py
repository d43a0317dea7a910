"""Orderings of options and multisets of them; knows nothing of items' texts, models or answers.

An ordering is a row of integers: ``positions[j]`` is the place (0-based) at which content ``j`` is shown. Cyclic
ordering ``s`` has ``positions[j] = (j + s) % K`` and a reversal has ``K - 1 - positions[j]`` (two-factors, Eq. 1).
The array itself is stored with every record, never its inverse and never a seed to be replayed.
"""

from orderbias.orderings.constructors import (
    MAX_OPTIONS_ALL,
    all_orderings,
    canonical,
    cyclic,
    cyclic_with_reversals,
    gold_balanced,
    latin,
    latin_squares_of_four,
    pinned,
    random_subset,
)
from orderbias.orderings.specs import (
    DESIGN_KINDS,
    DesignSpec,
    parse_design,
)
from orderbias.orderings.swaps import SwapSample
from orderbias.orderings.values import (
    MAX_OPTIONS,
    Design,
    Positions,
    as_positions,
    check_n_options,
    compose,
    inverse,
    is_balanced,
    item_rng,
    ordering_key,
    place_shares,
    reversal,
)

__all__ = [
    "DESIGN_KINDS",
    "MAX_OPTIONS",
    "MAX_OPTIONS_ALL",
    "Design",
    "DesignSpec",
    "Positions",
    "SwapSample",
    "all_orderings",
    "as_positions",
    "canonical",
    "check_n_options",
    "compose",
    "cyclic",
    "cyclic_with_reversals",
    "gold_balanced",
    "inverse",
    "is_balanced",
    "item_rng",
    "latin",
    "latin_squares_of_four",
    "ordering_key",
    "parse_design",
    "pinned",
    "place_shares",
    "random_subset",
    "reversal",
]
