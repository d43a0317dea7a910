"""Which cells have enough usable items to be compared (two-factors, appendix A.1); knows no measure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from orderbias.errors import ArgumentError
from orderbias.predictions import Predictions

#: The readout that sets a benchmark's modal count, where any cell has it.
REFERENCE_READOUT = "first-token"


def cell_filter(
    predictions: Sequence[Predictions], share: float = 0.9, *, reference: str = REFERENCE_READOUT
) -> tuple[Predictions, ...]:
    """Keep the cells with at least ``share`` of their benchmark's modal usable item count.

    The modal count is the most frequent number of usable items among the cells of a benchmark and number of options
    under the readout ``reference``, or under every readout where none has that; of equally frequent counts the largest.

    Parameters
    ----------
    predictions
        The cells, of any benchmarks.
    share
        0 to 1; 0.9 in the paper.
    reference
        The name of the readout whose cells set the count.

    Returns
    -------
    tuple of Predictions
        The cells kept, in their order.

    Raises
    ------
    ArgumentError
        If ``share`` is outside 0..1.
    """
    if not 0 <= share <= 1:
        raise ArgumentError(f"`share` must be 0..1. Got {share}.")
    counts = [int(cell.usable.sum()) for cell in predictions]
    under: dict[tuple[str, int], list[int]] = defaultdict(list)
    anywhere: dict[tuple[str, int], list[int]] = defaultdict(list)
    for cell, count in zip(predictions, counts, strict=True):
        key = (cell.benchmark, cell.n_options)
        anywhere[key].append(count)
        if cell.readout == reference:
            under[key].append(count)
    modal = {key: _mode(under[key] or found) for key, found in anywhere.items()}
    return tuple(
        cell
        for cell, count in zip(predictions, counts, strict=True)
        if count >= share * modal[(cell.benchmark, cell.n_options)]
    )


def _mode(counts: list[int]) -> int:
    return max(Counter(counts).items(), key=lambda pair: (pair[1], pair[0]))[0]
