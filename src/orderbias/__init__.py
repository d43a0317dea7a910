"""How much of a multiple-choice score comes from the order in which the options were shown.

>>> import orderbias
>>> design = orderbias.parse_design("cyclic").design(4)
>>> always_a = [[0, 3, 2, 1]] * 12
>>> m = orderbias.measure(orderbias.Predictions(always_a, design.positions, gold=[1] * 12))
>>> m.flip_rate, m.accuracy
(1.0, 0.25)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orderbias.cells import Cells, read_cells
    from orderbias.errors import OrderbiasError
    from orderbias.measurement import Measurement, measure, measure_cells
    from orderbias.orderings import Design, parse_design
    from orderbias.predictions import Predictions
    from orderbias.records import read_records

__version__ = "0.1.0"

__all__ = [
    "Cells",
    "Design",
    "Measurement",
    "OrderbiasError",
    "Predictions",
    "measure",
    "measure_cells",
    "parse_design",
    "read_cells",
    "read_records",
]

#: Where each public name lives; a room is imported when something of it is first used, so that the command line
#: answers at once.
_ROOMS = {
    "Cells": "cells",
    "Design": "orderings",
    "Measurement": "measurement",
    "OrderbiasError": "errors",
    "Predictions": "predictions",
    "measure": "measurement",
    "measure_cells": "measurement",
    "parse_design": "orderings",
    "read_cells": "cells",
    "read_records": "records",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'orderbias' has no attribute {name!r}")
    return getattr(importlib.import_module(f"orderbias.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
