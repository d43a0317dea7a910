"""Bootstrap draws of measures; knows no interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from orderbias.inference.resampling import resampled_sums
from orderbias.measures.columns import ItemColumns
from orderbias.measures.sums import Floats, Sums
from orderbias.measures.table import FAMILIES, Measure, evaluate, family


def bootstrap_draws(
    columns: ItemColumns, measures: Sequence[Measure], resamples: int, rngs: Mapping[str, np.random.Generator]
) -> dict[str, Floats]:
    """Compute each measure on bootstrap samples; nothing where there is nothing to resample.

    Each family has a generator of its own, so an interval does not depend on what else was asked for.
    """
    draws: dict[str, Floats] = {}
    if resamples == 0 or columns.n_units < 2:
        return draws
    for name, names in FAMILIES.items():
        members = [m for m in measures if family(m) == name and not m.missing(columns.layout)]
        if members:
            part = columns.select(names)
            sums = Sums(resampled_sums(part.rows, part.counts, resamples, rngs[name]), part.layout)
            draws |= evaluate(sums, members)
    return draws
