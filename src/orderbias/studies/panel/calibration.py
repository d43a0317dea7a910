"""Which items of a cell priors are estimated on, the same in every analysis; reads no gold, estimates nothing."""

from __future__ import annotations

from orderbias.operations import Split, split
from orderbias.predictions import Predictions

#: Of a cell's usable items, at least one (two-factors, section 4).
SHARE = 0.05


def calibration_split(predictions: Predictions, seed: int) -> Split:
    """Split a cell into the items that priors are estimated on and those that are evaluated.

    Items are chosen by a hash of the seed and their ids, so checkpoints that answered the same items calibrate on the
    same ones, in every analysis and under ``orderbias mitigate`` with that seed.

    Raises
    ------
    ArgumentError
        If fewer than two items are usable.
    """
    return split(predictions, SHARE, seed)
