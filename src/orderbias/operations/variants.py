"""A fitted operation that is several: measures are taken of each and averaged."""

from __future__ import annotations

from dataclasses import dataclass

from orderbias.errors import ArgumentError
from orderbias.operations.prior import Prior
from orderbias.operations.protocol import Fitted
from orderbias.predictions import Predictions


@dataclass(frozen=True, slots=True)
class FittedVariants:
    """Several fitted values whose measures are averaged; there is no one answer to apply.

    Parameters
    ----------
    name
        The operation's name.
    variants
        The fitted values.
    """

    name: str
    variants: tuple[Fitted, ...]

    @property
    def n_calibration(self) -> int:
        """Items behind them, the same for each."""
        return self.variants[0].n_calibration

    @property
    def priors(self) -> tuple[Prior, ...]:
        """Every variant's priors."""
        return tuple(prior for variant in self.variants for prior in variant.priors)

    def notices(self, predictions: Predictions) -> tuple[str, ...]:
        """Return each notice once."""
        return tuple(dict.fromkeys(n for variant in self.variants for n in variant.notices(predictions)))

    def apply(self, predictions: Predictions) -> Predictions:
        """Refuse.

        Raises
        ------
        ArgumentError
            Always: say how to go on.
        """
        raise ArgumentError(
            f"{self.name!r} is {len(self.variants)} fitted variants, not one. Apply each of `.variants` and average "
            "the measures."
        )
