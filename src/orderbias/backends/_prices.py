"""What tokens cost: the user's own table of prices; must not know how a model is asked.

There is no table in here: prices change, and a wrong one would be worse than none.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orderbias.errors import ArgumentError
from orderbias.strict_json import loads

#: Prices are given for so many tokens.
PER = 1_000_000
#: The highest price that can be one, in whatever currency.
MOST = 10**12


def _shape(model: str = "gpt-4o-mini") -> str:
    return (
        f"{json.dumps({model: {'input': 0.15, 'output': 0.60}})}, in the form of the file: prices of a million tokens"
    )


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens, of prompts and of replies, in whatever currency.

    Examples
    --------
    >>> Price(0.15, 0.60).of(2_000_000, 1_000_000)
    0.9
    """

    input: float
    output: float

    def of(self, tokens_in: float, tokens_out: float) -> float:
        """Return what tokens cost."""
        return (tokens_in * self.input + tokens_out * self.output) / PER


def read_price(path: str, model: str) -> Price:
    """Return the price of a model from a table of prices.

    Parameters
    ----------
    path
        A JSON or TOML file: model -> ``input`` and ``output``, the prices of a million tokens.
    model
        The model's name, exactly.

    Raises
    ------
    ArgumentError
        If the file is no such table, or has no such model.
    """
    table = _read(path)
    if model not in table:
        known = ", ".join(sorted(table)) or "no model"
        raise ArgumentError(f"--prices must have the model {model!r}. {path} has {known}. Add it as {_shape(model)}.")
    entry = table[model]
    if not isinstance(entry, Mapping) or set(entry) != {"input", "output"}:
        raise ArgumentError(
            f"--prices must give `input` and `output` of each model. {path}, {model!r}: got {json.dumps(entry)}. "
            f"Write {_shape(model)}."
        )
    for name, value in entry.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= MOST:  # NaN lies between no two numbers
            raise ArgumentError(
                f"--prices must be numbers of 0 to {MOST:,}. {path}, {model!r}: `{name}` is {value!r:.40}."
            )
    return Price(float(entry["input"]), float(entry["output"]))


def _read(path: str) -> Mapping[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    except OSError as e:
        raise ArgumentError(f"--prices must be a file that can be read. {path}: {e.strerror}.") from e
    try:
        table = tomllib.loads(text) if path.lower().endswith(".toml") else loads(text)
    except (ValueError, RecursionError) as e:  # both readers' errors are of the first kind
        raise ArgumentError(f"--prices must be a JSON or TOML file. {path}: {e}.") from e
    if not isinstance(table, Mapping):
        raise ArgumentError(f"--prices must be a table, such as {_shape()}. {path} is none.")
    return table
