"""A label prior as a value that can be carried to other data; must not know how it is estimated or applied."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from orderbias.errors import ArgumentError, DataError
from orderbias.operations.scores import Floats
from orderbias.orderings import MAX_OPTIONS, check_n_options
from orderbias.predictions import Predictions
from orderbias.signature import Signature

_FORMAT = "orderbias-prior"


@dataclass(frozen=True, slots=True)
class Prior:
    """A model's preference for each label, whatever content it shows.

    Parameters
    ----------
    kind
        The estimator (see :func:`estimate_prior`), or any name for one made by hand.
    values
        Probability of each label by place, all above 0, sum 1.
    n_items
        Items it was estimated on.
    model, template
        Name of the model, hash of the prompt template; empty where unknown.
    signature
        The settings behind the numbers.

    Raises
    ------
    ArgumentError
        If the values are no distribution over 2 to 26 labels with every probability above 0.

    Examples
    --------
    >>> prior = Prior("by-hand", (0.5, 0.25, 0.25))
    >>> Prior.from_dict(prior.to_dict()) == prior
    True
    """

    kind: str
    values: tuple[float, ...]
    n_items: int = 0
    model: str = ""
    template: str = ""
    signature: Signature = field(default_factory=Signature)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(float(v) for v in self.values))
        check_n_options(len(self.values))
        if not all(math.isfinite(v) and v > 0 for v in self.values) or abs(sum(self.values) - 1) > 1e-6:
            raise ArgumentError(
                "The values of a prior must be probabilities above 0 that sum to 1. "
                f"Got {' '.join(f'{v:.6g}' for v in self.values)}. "
                "A label that never has any probability cannot be divided out."
            )

    @classmethod
    def uniform(cls, n_options: int) -> Prior:
        """Return the prior that prefers no label; dividing it out changes nothing."""
        check_n_options(n_options)
        return cls("uniform", (1 / n_options,) * n_options)

    @property
    def n_options(self) -> int:
        """K."""
        return len(self.values)

    @property
    def log_values(self) -> Floats:
        """Natural logs of the values, ``(n_options,)``."""
        logs: Floats = np.log(np.array(self.values))
        return logs

    @property
    def top_place(self) -> int:
        """The place whose label it favours most, lowest of equals."""
        return int(np.argmax(self.values))

    def permuted(self, order: Sequence[int]) -> Prior:
        """Return the prior with the value of label ``order[r]`` given to label ``r`` (the letter-permuted control)."""
        if sorted(order) != list(range(self.n_options)):
            raise ArgumentError(f"`order` must hold each of 0..{self.n_options - 1} once. Got {list(order)}.")
        signature = self.signature.extended(prior_labels=" ".join(map(str, order)))
        values = tuple(self.values[r] for r in order)
        return Prior(self.kind, values, self.n_items, self.model, self.template, signature)

    def mismatches(self, predictions: Predictions) -> tuple[str, ...]:
        """Name what differs between the data of the prior and these, as notices.

        Raises
        ------
        ArgumentError
            If the number of options differs.
        """
        if self.n_options != predictions.n_options:
            raise ArgumentError(
                f"A prior goes with its own number of options. Got a prior over {self.n_options} labels and answers "
                f"over {predictions.n_options}. Fit one prior for each number of options."
            )
        pairs = {"model": (self.model, predictions.model), "template": (self.template, template_of(predictions))}
        return tuple(
            f"The prior was estimated under another {what}: {mine}, and is applied to {theirs}. A label preference "
            f"belongs to its {what}; fit the prior anew if you can."
            for what, (mine, theirs) in pairs.items()
            if mine and theirs and mine != theirs
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold; :meth:`from_dict` reads it back exactly."""
        return {
            "format": _FORMAT,
            "version": 1,
            "kind": self.kind,
            "n_options": self.n_options,
            "values": list(self.values),
            "n_items": self.n_items,
            "model": self.model,
            "template": self.template,
            "signature": self.signature.as_dict(),
        }

    @classmethod
    def from_dict(cls, data: object, where: str = "prior") -> Prior:
        """Read what :meth:`to_dict` wrote.

        Parameters
        ----------
        data
            The parsed JSON.
        where
            The file's name, for error messages.

        Raises
        ------
        DataError
            With every fault found.
        """
        faults = _prior_faults(data, where)
        if faults or not isinstance(data, Mapping):
            raise DataError(faults)
        try:
            return cls(
                kind=data["kind"],
                values=tuple(data["values"]),
                n_items=data["n_items"],
                model=data.get("model") or "",
                template=data.get("template") or "",
                signature=Signature.from_mapping(data.get("signature") or {}),
            )
        except ArgumentError as error:
            raise DataError(f"{where}: {error}") from None
        except OverflowError:
            raise DataError(f"{where}: `values` must be probabilities. One of them is beyond every number.") from None


def _prior_faults(data: object, where: str) -> list[str]:
    """Say everything that keeps a parsed JSON value from being a prior."""
    if not isinstance(data, Mapping) or data.get("format") != _FORMAT:
        return [f"{where}: a prior must be a JSON object with `format` {_FORMAT!r}. Write one: orderbias prior fit."]
    if data.get("version") != 1:
        return [f"{where}: `version` must be 1. Got {data.get('version')!r}. A newer orderbias may read it."]
    faults = []
    if not isinstance(data.get("kind"), str) or not data["kind"]:
        faults.append(f"{where}: `kind` must name the estimator. Got {data.get('kind')!r}.")
    values = data.get("values")
    if not isinstance(values, list) or not all(_is_number(v) for v in values):
        faults.append(f"{where}: `values` must be a list of probabilities. Got {values!r}.")
    elif data.get("n_options") != len(values) or not 2 <= len(values) <= MAX_OPTIONS:
        faults.append(
            f"{where}: `n_options` must be 2..{MAX_OPTIONS} and the length of `values`. "
            f"Got {data.get('n_options')!r} and {len(values)} values."
        )
    n_items = data.get("n_items")
    if not isinstance(n_items, int) or isinstance(n_items, bool) or n_items < 0:
        faults.append(f"{where}: `n_items` must be an integer of 0 or more. Got {n_items!r}.")
    for name in ("model", "template"):
        if not isinstance(data.get(name) or "", str):
            faults.append(f"{where}: `{name}` must be a string. Got {data[name]!r}.")
    if not isinstance(data.get("signature") or {}, Mapping):
        faults.append(f"{where}: `signature` must be an object of settings. Got {data['signature']!r}.")
    return faults


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def template_of(predictions: Predictions) -> str:
    """Return the hash of the prompt template, empty where the source does not say."""
    return predictions.source.as_dict().get("template", "")
