"""One question at a time: what a production classifier calls for each request; plain floats, no arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orderbias.errors import ArgumentError
from orderbias.operations.prior import Prior


@dataclass(frozen=True, slots=True)
class Debiaser:
    """Turn one question's label log-probabilities into content probabilities.

    Build it once with :meth:`from_prior` and call it for each request (a few microseconds). It gives what
    :class:`PriDe` gives, and with a reversal what ``PriDe > ReversalProduct`` gives.

    Parameters
    ----------
    offsets
        Subtracted from the log-probabilities by place.

    Examples
    --------
    >>> debias = Debiaser.from_prior(Prior("by-hand", (0.5, 0.25, 0.25)))
    >>> [round(p, 3) for p in debias([math.log(p) for p in (0.4, 0.3, 0.3)])]
    [0.25, 0.375, 0.375]
    """

    offsets: tuple[float, ...]

    @classmethod
    def from_prior(cls, prior: Prior, alpha: float = 1.0) -> Debiaser:
        """Prepare a prior, raised to ``alpha``; :meth:`Prior.uniform` for the reversal product alone.

        Raises
        ------
        ArgumentError
            If ``alpha`` is not a finite number of 0 or more.
        """
        if not (math.isfinite(alpha) and alpha >= 0):
            raise ArgumentError(f"`alpha` must be a number of 0 or more. Got {alpha}.")
        return cls(tuple(alpha * math.log(value) for value in prior.values))

    def __call__(
        self,
        logprobs: Sequence[float],
        reversed_logprobs: Sequence[float] | None = None,
        positions: Sequence[int] | None = None,
    ) -> tuple[float, ...]:
        """Return the probability of each content.

        Parameters
        ----------
        logprobs
            Natural logs of the label probabilities by place, normalised or not, ``(n_options,)``.
        reversed_logprobs
            The same for the reversal of the ordering, by the places of the reversal.
        positions
            The place of each content in the ordering; canonical when left out.

        Returns
        -------
        Probabilities by content, sum 1.

        Raises
        ------
        ArgumentError
            If a length is not that of the prior, a log-probability is no number, none is finite, or ``positions`` is
            no permutation.
        """
        offsets = self.offsets
        n_options = len(offsets)
        scores = self._corrected(logprobs, "logprobs")
        if reversed_logprobs is not None:
            if n_options == 2:
                raise ArgumentError(
                    "With 2 options an ordering and its reversal are the whole cyclic set: the product over both gives "
                    "every presented ordering the same answer. Call with one ordering."
                )
            mirrored = self._corrected(reversed_logprobs, "reversed_logprobs")
            mirrored.reverse()
            scores = [a + b for a, b in zip(scores, mirrored, strict=True)]
        if positions is not None:
            places = list(positions)
            if sorted(places) != list(range(n_options)):
                raise ArgumentError(f"`positions` must hold each of 0..{n_options - 1} once. Got {places}.")
            scores = [scores[place] for place in places]
        top = max(scores)
        if top == -math.inf:
            raise ArgumentError(f"No content has any probability. Got {list(logprobs)}. Treat the reply as unusable.")
        weights = [math.exp(score - top) for score in scores]
        total = sum(weights)
        return tuple([weight / total for weight in weights])

    def _corrected(self, logprobs: Sequence[float], name: str) -> list[float]:
        if len(logprobs) != len(self.offsets):
            raise ArgumentError(
                f"`{name}` must hold {len(self.offsets)} log-probabilities, as the prior does. Got {len(logprobs)}."
            )
        scores = [float(value) - offset for value, offset in zip(logprobs, self.offsets, strict=True)]
        # A sum is NaN or +inf exactly when a score is, or -inf is met; one test serves all.
        total = sum(scores)
        if total != total or total == math.inf:
            raise ArgumentError(
                f"`{name}` must be numbers below infinity. Got {list(logprobs)}. A label outside the reply's top "
                "list is unknown, not improbable: treat the reply as unusable."
            )
        return scores
