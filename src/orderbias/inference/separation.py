"""Whether a plane separates two kinds of rows, so that a logistic model has no finite estimate; exact, by LPs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Constraints added a round. Few columns need few of the rows, so the programmes stay small however many there are.
_ADDED = 64
#: A solution of the programme lies on the box [-1, 1] or, up to the solver's rounding, at its centre.
_NONZERO = 1e-3
#: Rows are of length 1; the solver keeps constraints up to about 1e-7.
_VIOLATED = 1e-6
#: A gain below this is rounding.
_NO_GAIN = 1e-12


def is_separated(rows: Floats, successes: Floats, trials: Floats) -> bool:
    """Tell whether some direction puts no success below and no failure above a plane, one of them strictly.

    Then, and only then, the likelihood of a logistic model rises for ever along that direction: complete or
    quasi-complete separation (Albert and Anderson 1984). With ``z = +-x`` (plus for a success, minus for a failure) it
    is the linear programme: maximise ``sum z'd`` over ``z'd >= 0`` and ``|d| <= 1``; separated if ``d = 0`` is not
    best.

    Parameters
    ----------
    rows
        ``(n_rows, n_columns)`` of full column rank.
    successes, trials
        ``(n_rows,)`` counts, ``0 <= successes <= trials`` and ``trials > 0``.

    Examples
    --------
    >>> x = np.array([[1.0, -1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> is_separated(x, np.array([0.0, 1.0, 2.0]), np.array([2.0, 2.0, 2.0]))
    True
    >>> is_separated(x, np.array([1.0, 1.0, 1.0]), np.array([2.0, 2.0, 2.0]))
    False
    """
    from scipy.optimize import linprog  # takes longer to import than to run

    scaled = rows / np.abs(rows).max(axis=0)
    signed = np.concatenate([scaled[successes > 0], -scaled[successes < trials]])
    signed /= np.maximum(np.abs(signed).max(axis=1, keepdims=True), np.finfo(float).tiny)
    aim = signed.mean(axis=0)
    used = np.arange(min(_ADDED, len(signed)))
    while True:
        # Fewer constraints allow more directions: where even they leave only 0, nothing separates.
        found = linprog(-aim, A_ub=-signed[used], b_ub=np.zeros(len(used)), bounds=(-1, 1), method="highs")
        direction = np.asarray(found.x, np.float64)
        if np.abs(direction).max() < _NONZERO or aim @ direction < _NO_GAIN:
            return False
        heights = signed @ direction
        violated = np.flatnonzero(heights < -_VIOLATED)
        added = np.setdiff1d(violated[np.argsort(heights[violated])[:_ADDED]], used)
        if not added.size:
            return True
        used = np.concatenate([used, added])
