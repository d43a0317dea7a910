"""The control for a prior correction: the same prior with its labels permuted; must not estimate a prior itself."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orderbias.errors import ArgumentError
from orderbias.operations.corrections import CORRECTIONS, FittedCorrection
from orderbias.operations.estimators import estimate_prior
from orderbias.operations.protocol import Fitted, Leaves, Needs, number_text
from orderbias.operations.variants import FittedVariants
from orderbias.predictions import Predictions


@dataclass(frozen=True, slots=True)
class LetterPermuted:
    """The control: the estimated prior divided out after its labels were permuted (two-factors, D.1).

    All non-identity permutations up to four options; above that, distinct ones drawn uniformly.

    Parameters
    ----------
    of
        The prior's kind.
    alpha
        Its exponent.
    n_drawn
        How many permutations are drawn above four options.
    seed
        Decides which.

    Raises
    ------
    ArgumentError
        If a value is outside its range.
    """

    needs: ClassVar[Needs] = Needs(logprobs=True)
    leaves: ClassVar[Leaves] = Leaves()

    of: str = "pride"
    alpha: float = 1.0
    n_drawn: int = 23
    seed: int = 0

    def __post_init__(self) -> None:
        if self.of not in CORRECTIONS:
            raise ArgumentError(f"`of` must be one of {', '.join(CORRECTIONS)}. Got {self.of!r}.")
        if not 1 <= self.n_drawn <= 119:
            raise ArgumentError(f"`n_drawn` must be 1..119 (5! - 1). Got {self.n_drawn}.")
        CORRECTIONS[self.of](self.alpha)

    @property
    def name(self) -> str:
        """``letter-permuted`` and every option that is not the usual one."""
        options = [
            f":of={self.of}" if self.of != "pride" else "",
            f":alpha={number_text(self.alpha)}" if self.alpha != 1 else "",
            f":n={self.n_drawn}" if self.n_drawn != 23 else "",
            f":seed={self.seed}" if self.seed else "",
        ]
        return "letter-permuted" + "".join(options)

    def calls_per_item(self, predictions: Predictions) -> float:
        """One query, one answer."""
        return 1.0

    def fit(self, calibration: Predictions) -> Fitted:
        """Estimate the prior once and permute its labels in each way."""
        prior = estimate_prior(calibration, self.of)
        orders = label_permutations(prior.n_options, self.n_drawn, self.seed)
        return FittedVariants(
            self.name, tuple(FittedCorrection(self.name, prior.permuted(order), self.alpha) for order in orders)
        )


def label_permutations(n_options: int, n_drawn: int = 23, seed: int = 0) -> tuple[tuple[int, ...], ...]:
    """Return the permutations of the control: all but the identity up to four options, else distinct drawn ones.

    Examples
    --------
    >>> label_permutations(2)
    ((1, 0),)
    >>> len(label_permutations(4)), len(set(label_permutations(10)))
    (23, 23)
    """
    identity = tuple(range(n_options))
    if n_options <= 4:
        return tuple(order for order in itertools.permutations(identity) if order != identity)
    rng = np.random.default_rng(seed)
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < n_drawn:
        order = tuple(rng.permutation(n_options).tolist())
        if order != identity:
            drawn[order] = None
    return tuple(drawn)
