"""A letter preference added to every query, and what of a preference survives mirroring; must not know a remedy.

Adding a preference of known shape to stored scores shows what a remedy does to it (two-factors, D.2 and D.3). It is an
intervention on scores: it does not show that models form their preferences by addition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from orderbias.errors import ArgumentError
from orderbias.operations.estimators import estimate_prior
from orderbias.operations.protocol import Fitted, FixedRule, Leaves, Needs, number_text
from orderbias.operations.scores import Floats, require_logprobs, rescored
from orderbias.orderings import check_n_options
from orderbias.predictions import Predictions

#: Logits below which a spread is rounding.
ROUNDING = 1e-12


def _front_to_back(places: Floats, middle: float) -> Floats:
    return np.asarray(np.sign(middle - places))


def _alternating(places: Floats, middle: float) -> Floats:
    return np.asarray(1 - 2 * (places % 2))


def _outer_inner(places: Floats, middle: float) -> Floats:
    distance: Floats = np.abs(places - middle)
    signs: Floats = np.sign(distance - distance.mean())
    return signs


def _first_only(places: Floats, middle: float) -> Floats:
    return np.asarray(places == 0, np.float64)


def _drift(places: Floats, middle: float) -> Floats:
    return middle - places


#: Each shape by name: (places, middle place) -> values before centring and scaling.
SHAPES: dict[str, Callable[[Floats, float], Floats]] = {
    "front-to-back": _front_to_back,
    "alternating": _alternating,
    "outer-inner": _outer_inner,
    "first-only": _first_only,
    "drift": _drift,
}


def preference(shape: str | ArrayLike, n_options: int) -> Floats:
    """Return a letter preference of mean zero and root mean square one.

    Parameters
    ----------
    shape
        ``front-to-back`` (first half over second), ``alternating``, ``outer-inner``, ``first-only``, ``drift``
        (a steady fall), or any ``n_options`` numbers by place, which are centred and scaled.
    n_options
        K.

    Returns
    -------
    Logits by place, ``(n_options,)``.

    Raises
    ------
    ArgumentError
        If the name is unknown, the numbers are not K finite ones, or they are all equal (outer-inner for two options).

    Examples
    --------
    >>> preference("outer-inner", 4).tolist()
    [1.0, -1.0, -1.0, 1.0]
    >>> preference([3, -1, -1, -1], 4).round(3).tolist()
    [1.732, -0.577, -0.577, -0.577]
    """
    check_n_options(n_options)
    if isinstance(shape, str):
        if shape not in SHAPES:
            raise ArgumentError(f"`shape` must be one of {', '.join(SHAPES)}, or numbers by place. Got {shape!r}.")
        values = np.asarray(SHAPES[shape](np.arange(n_options, dtype=np.float64), (n_options - 1) / 2), np.float64)
    else:
        values = np.asarray(shape, np.float64)
    if values.shape != (n_options,) or not np.isfinite(values).all():
        raise ArgumentError(f"A preference must be {n_options} finite numbers, one a place. Got {shape!r}.")
    centred = values - values.mean()
    scale = math.sqrt(float((centred**2).mean()))
    if scale <= 1e-12 * max(1.0, float(np.abs(values).max())):
        raise ArgumentError(f"A preference must prefer some place. Got {shape!r} for {n_options} options: all equal.")
    scaled: Floats = centred / scale
    return scaled


@dataclass(frozen=True, slots=True)
class AddPreference:
    """Add ``strength`` times a letter preference to the logits of every query, presented or not.

    As the first step of a chain, every later prior is estimated after the addition.

    Parameters
    ----------
    shape
        A name in ``SHAPES``, or numbers by place (see :func:`preference`).
    strength
        Logits; negative turns the shape round.

    Raises
    ------
    ArgumentError
        If the shape's name is unknown or the strength is no finite number.

    Examples
    --------
    >>> p = Predictions(choice=[[1]], positions=[[0, 1]], gold=[0], logprobs=np.log([[[0.4, 0.6]]]))
    >>> AddPreference("first-only", 1.0).fit(p).apply(p).choice.tolist()
    [[0]]
    """

    needs: ClassVar[Needs] = Needs(logprobs=True)
    leaves: ClassVar[Leaves] = Leaves()

    shape: str | tuple[float, ...] = "front-to-back"
    strength: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.shape, str):
            if self.shape not in SHAPES:
                raise ArgumentError(f"`shape` must be one of {', '.join(SHAPES)}, or numbers. Got {self.shape!r}.")
        else:
            object.__setattr__(self, "shape", tuple(float(v) for v in self.shape))
            preference(self.shape, len(self.shape))
        if not math.isfinite(self.strength):
            raise ArgumentError(f"`strength` must be a finite number. Got {self.strength}.")

    @property
    def name(self) -> str:
        """``add-preference`` with its shape and strength."""
        shape = self.shape if isinstance(self.shape, str) else " ".join(map(number_text, self.shape))
        return f"add-preference:shape={shape}:strength={number_text(self.strength)}"

    def calls_per_item(self, predictions: Predictions) -> float:
        """One query, one answer."""
        return 1.0

    def fit(self, calibration: Predictions) -> Fitted:
        """Learn nothing."""
        return FixedRule(self.name, self._apply)

    def _apply(self, predictions: Predictions) -> Predictions:
        added = self.strength * preference(self.shape, predictions.n_options)
        return rescored(predictions, require_logprobs(predictions, self.name) + added, self.name)


@dataclass(frozen=True, slots=True, eq=False)
class MirrorSplit:
    """A letter preference in two parts: ``b = symmetric + antisymmetric``.

    Parameters
    ----------
    symmetric
        ``(b[i] + b[K-1-i]) / 2``: alike on mirrored labels; the reversal product keeps it.
    antisymmetric
        The rest: opposite on mirrored labels; the reversal product cancels it.
    surviving_share
        ``std(symmetric) / std(b)``, 0..1; NaN where ``b`` prefers nothing.
    """

    symmetric: Floats
    antisymmetric: Floats
    surviving_share: float


def mirror_split(values: Sequence[float] | Floats) -> MirrorSplit:
    """Split a letter preference, in logits by place, into what mirroring keeps and what it cancels.

    Source: two-factors, D.2.

    Examples
    --------
    >>> mirror_split([3, 1, -1, -3]).surviving_share
    0.0
    >>> split = mirror_split([3, -1, -1, -1])
    >>> split.symmetric.tolist(), round(split.surviving_share, 4)
    ([1.0, -1.0, -1.0, 1.0], 0.5774)
    """
    b = np.asarray(values, np.float64)
    if b.ndim != 1 or len(b) < 2 or not np.isfinite(b).all():
        raise ArgumentError(f"A preference must be two or more finite numbers, one a place. Got {values!r}.")
    symmetric = (b + b[::-1]) / 2
    whole = float(b.std())
    # A spread that is rounding alone is no preference, of which no share could survive.
    share = float(symmetric.std()) / whole if whole > ROUNDING else math.nan
    return MirrorSplit(symmetric, b - symmetric, share)


def letter_preference(predictions: Predictions) -> Floats:
    """Estimate a letter preference: the mean log-probability of each label, centred; logits by place.

    The mean is over the presented orderings of the usable items (two-factors, D.2).
    """
    log_values = estimate_prior(predictions, "log-calibration").log_values
    centred: Floats = log_values - log_values.mean()
    return centred
