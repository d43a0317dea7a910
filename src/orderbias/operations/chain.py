"""Operations one after another, as one operation; must not know what its steps do."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orderbias.errors import ArgumentError
from orderbias.operations.prior import Prior
from orderbias.operations.protocol import Fitted, Leaves, Needs, Operation
from orderbias.operations.variants import FittedVariants
from orderbias.predictions import Predictions


@dataclass(frozen=True, slots=True)
class FittedChain:
    """Fitted steps, applied in their order.

    Parameters
    ----------
    name
        The operation's name.
    steps
        The fitted steps.
    """

    name: str
    steps: tuple[Fitted, ...]

    @property
    def n_calibration(self) -> int:
        """The most items that any step was estimated on."""
        return max(step.n_calibration for step in self.steps)

    @property
    def priors(self) -> tuple[Prior, ...]:
        """The steps' priors, in order."""
        return tuple(prior for step in self.steps for prior in step.priors)

    @property
    def variants(self) -> tuple[Fitted, ...]:
        """Itself."""
        return (self,)

    def notices(self, predictions: Predictions) -> tuple[str, ...]:
        """Return each step's notices once."""
        return tuple(dict.fromkeys(n for step in self.steps for n in step.notices(predictions)))

    def apply(self, predictions: Predictions) -> Predictions:
        """Apply each step to the last one's output."""
        for step in self.steps:
            predictions = step.apply(predictions)
        return predictions


@dataclass(frozen=True, slots=True)
class Chain:
    """Operations applied in order, each fitted on the output of those before it; see :func:`chain`.

    Parameters
    ----------
    steps
        Two or more operations.

    Raises
    ------
    ArgumentError
        If there are fewer than two steps, or a step needs what an earlier one does not leave.
    """

    steps: tuple[Operation, ...]

    def __post_init__(self) -> None:
        if len(self.steps) < 2:
            raise ArgumentError(f"A chain needs two operations or more. Got {len(self.steps)}.")
        for i, later in enumerate(self.steps):
            for earlier in self.steps[:i]:
                _check_step(earlier, later)

    @property
    def name(self) -> str:
        """The names joined by ``>``."""
        return ">".join(step.name for step in self.steps)

    @property
    def needs(self) -> Needs:
        """What any step needs."""
        return Needs(
            logprobs=any(step.needs.logprobs for step in self.steps),
            reversals=any(step.needs.reversals for step in self.steps),
        )

    @property
    def leaves(self) -> Leaves:
        """What every step leaves."""
        return Leaves(
            logprobs=all(step.leaves.logprobs for step in self.steps),
            reversals=all(step.leaves.reversals for step in self.steps),
        )

    def calls_per_item(self, predictions: Predictions) -> float:
        """Return the product of the steps' calls: each answer of a step rests on so many of the step before."""
        return math.prod(step.calls_per_item(predictions) for step in self.steps)

    def fit(self, calibration: Predictions) -> Fitted:
        """Fit each step on the calibration items as the steps before it left them."""
        fitted = _fit_from(self.steps, (), calibration, self.name)
        return fitted[0] if len(fitted) == 1 else FittedVariants(self.name, fitted)


def chain(*operations: Operation) -> Operation:
    """Return the operations one after another as one.

    A second correction re-estimates its prior on the first one's output.

    Raises
    ------
    ArgumentError
        If none is given, or one needs what an earlier one does not leave (log-probabilities after a vote, say).

    Examples
    --------
    >>> from orderbias.operations import PriDe, ReversalProduct
    >>> chain(PriDe(), ReversalProduct()).name
    'pride>reversal-product'
    """
    steps = tuple(part for op in operations for part in (op.steps if isinstance(op, Chain) else (op,)))
    return steps[0] if len(steps) == 1 else Chain(steps)


def _fit_from(
    steps: tuple[Operation, ...], done: tuple[Fitted, ...], calibration: Predictions, name: str
) -> tuple[Fitted, ...]:
    """Fit the steps left; a step with several variants gives one chain for each."""
    if not steps:
        return (FittedChain(name, done),)
    chains: list[Fitted] = []
    for variant in steps[0].fit(calibration).variants:
        # The last step's output is fitted by nobody, so it is not computed.
        left = variant.apply(calibration) if len(steps) > 1 else calibration
        chains.extend(_fit_from(steps[1:], (*done, variant), left, name))
    return tuple(chains)


def _check_step(earlier: Operation, later: Operation) -> None:
    if later.needs.logprobs and not earlier.leaves.logprobs:
        raise ArgumentError(
            f"{later.name!r} cannot follow {earlier.name!r}: it needs log-probabilities, and {earlier.name!r} leaves "
            f"answers alone. Put {later.name!r} first."
        )
    if later.needs.reversals and not earlier.leaves.reversals:
        raise ArgumentError(
            f"{later.name!r} cannot follow {earlier.name!r}: it needs the reversal of every presented ordering, and "
            f"{earlier.name!r} leaves the presented ones alone. Put {later.name!r} first."
        )
