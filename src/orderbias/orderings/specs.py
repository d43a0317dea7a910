"""Designs by name, as the command line and a manifest give them: ``cyclic``, ``latin:SEED``, ``random:M:SEED``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from orderbias.errors import ArgumentError
from orderbias.orderings.constructors import (
    all_orderings,
    canonical,
    cyclic,
    cyclic_with_reversals,
    gold_balanced,
    latin,
    random_subset,
)
from orderbias.orderings.values import Design, item_rng


@dataclass(frozen=True, slots=True)
class DesignSpec:
    """A design by name, for any number of options and, where it is drawn, any item.

    Use :func:`parse_design`. ``kind`` is one of ``DESIGN_KINDS``; ``size`` and ``seed`` are there where it takes them.
    """

    kind: str
    size: int | None = None
    seed: int | None = None

    @property
    def per_item(self) -> bool:
        """Whether each item has orderings of its own."""
        return self.kind in ("random", "gold-balanced")

    def design(self, n_options: int, item_id: str = "", gold: int | None = None) -> Design:
        """Return the design for an item; a drawn one depends on (seed, item id) only.

        Raises
        ------
        ArgumentError
            If the design cannot be had for this many options, or needs a gold and there is none.
        """
        if self.kind == "gold-balanced":
            if gold is None:
                raise ArgumentError(f"A gold-balanced design needs the gold of every item. Item {item_id!r} has none.")
            return gold_balanced(n_options, gold, item_rng(self.seed or 0, item_id))
        rng = item_rng(self.seed or 0, item_id if self.per_item else "")
        return _CONSTRUCTORS[self.kind](n_options, self.size or 0, rng)

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.kind, self.size, self.seed) if part is not None)


_CONSTRUCTORS: dict[str, Callable[[int, int, np.random.Generator], Design]] = {
    "canonical": lambda k, size, rng: canonical(k),
    "cyclic": lambda k, size, rng: cyclic(k),
    "cyclic+reversals": lambda k, size, rng: cyclic_with_reversals(k),
    "all": lambda k, size, rng: all_orderings(k),
    "latin": lambda k, size, rng: latin(k, rng),
    "random": random_subset,
    "random-shared": random_subset,
}

#: Each name a command line may give, with the numbers it takes.
DESIGN_KINDS: dict[str, tuple[str, ...]] = {
    "canonical": (),
    "cyclic": (),
    "cyclic+reversals": (),
    "all": (),
    "latin": ("SEED",),
    "random": ("M", "SEED"),
    "random-shared": ("M", "SEED"),
    "gold-balanced": ("SEED",),
}


#: A seed or a size; int() would also take other scripts' digits, and refuse thousands of digits in words of its own.
_NUMBER = re.compile(r"[0-9]{1,18}")


def parse_design(spec: str) -> DesignSpec:
    """Read a design's name: ``cyclic``, ``latin:SEED``, ``random:M:SEED`` ...

    Raises
    ------
    ArgumentError
        If the name is unknown or its numbers are missing, too many, or none.

    Examples
    --------
    >>> str(parse_design("random:4:7"))
    'random:4:7'
    """
    kind, *numbers = spec.strip().split(":")
    forms = [":".join((k, *n)) for k, n in DESIGN_KINDS.items()]
    known = kind in DESIGN_KINDS and len(numbers) == len(DESIGN_KINDS[kind])
    if not known or not all(_NUMBER.fullmatch(n) for n in numbers):
        raise ArgumentError(f"A design must be one of {', '.join(forms)}. Got {spec!r}.")
    named = dict(zip(DESIGN_KINDS[kind], map(int, numbers), strict=True))
    if named.get("M") == 0:
        raise ArgumentError(f"A random design needs at least one ordering. Got {spec!r}.")
    return DesignSpec(kind, named.get("M"), named.get("SEED"))
