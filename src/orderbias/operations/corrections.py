"""Prior corrections: divide an estimated label prior out of every query; must not know of aggregation.

Within each ordering, label r's log score loses ``alpha * log prior(r)``; the answer is the best of the K labels.
Correction acts within an ordering and ties nothing between orderings (two-factors, section 6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from orderbias.errors import ArgumentError
from orderbias.operations.estimators import estimate_prior
from orderbias.operations.prior import Prior
from orderbias.operations.protocol import Fitted, FixedRule, Leaves, Needs, number_text
from orderbias.operations.scores import require_logprobs, rescored
from orderbias.operations.slices import canonical_alone
from orderbias.predictions import Predictions

#: Where a prior is estimated: on the calibration items, or on the very items it is applied to.
ESTIMATED_ON = ("calibration", "evaluated")


@dataclass(frozen=True, slots=True)
class FittedCorrection:
    """A prior to be divided out.

    Parameters
    ----------
    name
        The operation's name.
    prior
        The prior.
    alpha
        Its exponent.
    canonical_only
        Apply it to the canonical ordering and score that alone.
    """

    name: str
    prior: Prior
    alpha: float = 1.0
    canonical_only: bool = False

    @property
    def n_calibration(self) -> int:
        """Items behind the prior."""
        return self.prior.n_items

    @property
    def priors(self) -> tuple[Prior, ...]:
        """The prior."""
        return (self.prior,)

    @property
    def variants(self) -> tuple[Fitted, ...]:
        """Itself."""
        return (self,)

    def notices(self, predictions: Predictions) -> tuple[str, ...]:
        """Name what differs between the prior's data and these."""
        return self.prior.mismatches(predictions)

    def apply(self, predictions: Predictions) -> Predictions:
        """Divide the prior out of every query, presented or not, and pick again.

        Raises
        ------
        ArgumentError
            If there are no log-probabilities, or K is not that of the prior.
        """
        self.prior.mismatches(predictions)
        require_logprobs(predictions, self.name)
        corrected = canonical_alone(predictions) if self.canonical_only else predictions
        scores = require_logprobs(corrected, self.name) - self.alpha * self.prior.log_values
        return rescored(corrected, scores, self.name)


@dataclass(frozen=True, slots=True)
class PriorCorrection:
    """What the corrections have in common; use :class:`PriDe`, :class:`BatchCalibration`, :class:`LogCalibration`.

    Parameters
    ----------
    alpha
        Strength: the prior's exponent, 0 or more. 1 divides it out whole.
    estimated_on
        ``calibration``, or ``evaluated`` to estimate on all the items it is applied to.
    canonical_only
        Apply the prior to the canonical ordering alone; the output has that one ordering.

    Raises
    ------
    ArgumentError
        If a value is outside its range.
    """

    needs: ClassVar[Needs] = Needs(logprobs=True)

    alpha: float = 1.0
    estimated_on: str = "calibration"
    canonical_only: bool = False
    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.alpha) and self.alpha >= 0):
            raise ArgumentError(f"`alpha` must be a number of 0 or more. Got {self.alpha}.")
        if self.estimated_on not in ESTIMATED_ON:
            raise ArgumentError(f"`estimated_on` must be one of {', '.join(ESTIMATED_ON)}. Got {self.estimated_on!r}.")

    @property
    def name(self) -> str:
        """The kind and every option that is not the usual one."""
        options = [
            f":alpha={number_text(self.alpha)}" if self.alpha != 1 else "",
            f":on={self.estimated_on}" if self.estimated_on != "calibration" else "",
            ":scored=canonical" if self.canonical_only else "",
        ]
        return self.kind + "".join(options)

    @property
    def leaves(self) -> Leaves:
        """Log-probabilities, and the reversals unless only the canonical ordering is scored."""
        return Leaves(reversals=not self.canonical_only)

    def calls_per_item(self, predictions: Predictions) -> float:
        """One query, one answer."""
        return 1.0

    def fit(self, calibration: Predictions) -> Fitted:
        """Estimate the prior; with ``estimated_on="evaluated"`` that waits for the items it is applied to."""
        if self.estimated_on == "evaluated":
            return FixedRule(self.name, self._estimate_and_apply)
        return self.with_prior(estimate_prior(calibration, self.kind))

    def with_prior(self, prior: Prior) -> FittedCorrection:
        """Return the fitted correction that divides out a given prior."""
        return FittedCorrection(self.name, prior, self.alpha, self.canonical_only)

    def _estimate_and_apply(self, predictions: Predictions) -> Predictions:
        return self.with_prior(estimate_prior(predictions, self.kind)).apply(predictions)


class PriDe(PriorCorrection):
    """Divide out PriDe's prior: per item the normalised geometric mean over orderings, averaged over items.

    See :class:`PriorCorrection` for the parameters, :func:`estimate_prior` for the formula, :func:`published_pride`
    for the protocol of Zheng et al. (2024) with its mixed scoring.

    Examples
    --------
    >>> import numpy as np
    >>> p = Predictions(choice=[[0, 1]], positions=[[0, 1], [1, 0]], gold=[0],
    ...                 logprobs=np.log([[[0.8, 0.2], [0.6, 0.4]]]))
    >>> PriDe().fit(p).apply(p).choice.tolist()
    [[0, 0]]
    """

    __slots__ = ()
    kind = "pride"


class BatchCalibration(PriorCorrection):
    """Divide out the mean label probability (a variant of Zhou et al., 2024); see :class:`PriorCorrection`."""

    __slots__ = ()
    kind = "batch-calibration"


class LogCalibration(PriorCorrection):
    """Divide out the normalised exponential of the mean log-probability; see :class:`PriorCorrection`."""

    __slots__ = ()
    kind = "log-calibration"


CORRECTIONS: dict[str, type[PriorCorrection]] = {c.kind: c for c in (PriDe, BatchCalibration, LogCalibration)}
