"""What an operation is: the contract that every mitigation keeps; must not know any one of them.

An operation reworks stored answers. ``fit`` learns what it needs from calibration items (never from golds), ``apply``
returns new :class:`~orderbias.predictions.Predictions` and leaves its input as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from orderbias.predictions import Predictions

if TYPE_CHECKING:
    from orderbias.operations.prior import Prior


@dataclass(frozen=True, slots=True)
class Needs:
    """What must be there before an operation can be applied.

    Parameters
    ----------
    logprobs
        Label log-probabilities (the column ``logprobs`` of records).
    reversals
        The reversal of every presented ordering among the queried ones.
    """

    logprobs: bool = False
    reversals: bool = False


@dataclass(frozen=True, slots=True)
class Leaves:
    """What an operation's output still holds, for a next operation to use.

    Parameters
    ----------
    logprobs
        Log-probabilities by place.
    reversals
        Orderings that were queried and are not presented.
    """

    logprobs: bool = True
    reversals: bool = True


class Fitted(Protocol):
    """An operation whose numbers are fixed."""

    @property
    def name(self) -> str:
        """The operation's name."""
        ...

    @property
    def n_calibration(self) -> int:
        """Calibration items its numbers come from; 0 where it estimates nothing on them."""
        ...

    @property
    def priors(self) -> tuple[Prior, ...]:
        """The priors it divides out, in order."""
        ...

    @property
    def variants(self) -> tuple[Fitted, ...]:
        """The fitted values whose measures are averaged; itself alone, but for a control drawn several times."""
        ...

    def notices(self, predictions: Predictions) -> tuple[str, ...]:
        """Sentences a user must see before trusting ``apply(predictions)``."""
        ...

    def apply(self, predictions: Predictions) -> Predictions:
        """Return the reworked answers; the presented orderings are the scored ones.

        Each answer is counted at the place that holds the chosen content in its presented ordering.
        """
        ...


class Operation(Protocol):
    """A mitigation as a value."""

    @property
    def name(self) -> str:
        """The name a command line uses, options included; :func:`parse_operations` reads it back."""
        ...

    @property
    def needs(self) -> Needs:
        """What must be there."""
        ...

    @property
    def leaves(self) -> Leaves:
        """What is still there afterwards."""
        ...

    def calls_per_item(self, predictions: Predictions) -> float:
        """Queries behind one answer to one question, calibration not counted."""
        ...

    def fit(self, calibration: Predictions) -> Fitted:
        """Learn from calibration items; golds are never read."""
        ...


@dataclass(frozen=True, slots=True)
class FixedRule:
    """A fitted operation that had nothing to learn.

    Parameters
    ----------
    name
        The operation's name.
    rule
        The function applied.
    notice
        What a user must see before trusting its output, where there is anything.
    """

    name: str
    rule: Callable[[Predictions], Predictions]
    notice: Callable[[Predictions], tuple[str, ...]] | None = None

    @property
    def n_calibration(self) -> int:
        """No item: nothing is estimated."""
        return 0

    @property
    def priors(self) -> tuple[Prior, ...]:
        """No prior."""
        return ()

    @property
    def variants(self) -> tuple[Fitted, ...]:
        """Itself."""
        return (self,)

    def notices(self, predictions: Predictions) -> tuple[str, ...]:
        """Return what the operation has to say of these data."""
        return () if self.notice is None else self.notice(predictions)

    def apply(self, predictions: Predictions) -> Predictions:
        """Apply the rule."""
        return self.rule(predictions)


@dataclass(frozen=True, slots=True)
class NoOperation:
    """Leave every answer as it is: what each remedy is compared with.

    Examples
    --------
    >>> NoOperation().name
    'none'
    """

    needs: ClassVar[Needs] = Needs()
    leaves: ClassVar[Leaves] = Leaves()

    @property
    def name(self) -> str:
        """``none``."""
        return "none"

    def calls_per_item(self, predictions: Predictions) -> float:
        """One query, one answer."""
        return 1.0

    def fit(self, calibration: Predictions) -> Fitted:
        """Learn nothing."""
        return FixedRule(self.name, _same)


def number_text(value: float) -> str:
    """Write an option's number as a name holds it: the shortest text that reads back exactly.

    Examples
    --------
    >>> number_text(2.0), number_text(0.7)
    ('2', '0.7')
    """
    return repr(float(value)).removesuffix(".0")


def _same(predictions: Predictions) -> Predictions:
    return predictions
