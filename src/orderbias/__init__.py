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
    from orderbias.inference import sign_test_p
    from orderbias.judge import JudgeReport, Judgments, judge_report, position_bias_report, read_judgments
    from orderbias.measurement import Measurement, measure, measure_cells
    from orderbias.mitigation import Mitigation, mitigate
    from orderbias.operations import (
        AddPreference,
        AgreeOrAbstain,
        BatchCalibration,
        Debiaser,
        LetterPermuted,
        LogCalibration,
        MajorityVote,
        MeanLogprob,
        MeanProbability,
        PriDe,
        Prior,
        ReversalProduct,
        chain,
    )
    from orderbias.orderings import Design, parse_design
    from orderbias.predictions import Predictions
    from orderbias.records import read_records
    from orderbias.run_cells import read_run

__version__ = "0.1.0"

__all__ = [
    "AddPreference",
    "AgreeOrAbstain",
    "BatchCalibration",
    "Cells",
    "Debiaser",
    "Design",
    "JudgeReport",
    "Judgments",
    "LetterPermuted",
    "LogCalibration",
    "MajorityVote",
    "MeanLogprob",
    "MeanProbability",
    "Measurement",
    "Mitigation",
    "OrderbiasError",
    "Predictions",
    "PriDe",
    "Prior",
    "ReversalProduct",
    "chain",
    "judge_report",
    "measure",
    "measure_cells",
    "mitigate",
    "parse_design",
    "position_bias_report",
    "read_cells",
    "read_judgments",
    "read_records",
    "read_run",
    "sign_test_p",
]

#: Where each public name lives; a room is imported when something of it is first used, so that the command line
#: answers at once.
_ROOMS = {
    "AddPreference": "operations",
    "AgreeOrAbstain": "operations",
    "BatchCalibration": "operations",
    "Cells": "cells",
    "Debiaser": "operations",
    "Design": "orderings",
    "JudgeReport": "judge",
    "Judgments": "judge",
    "LetterPermuted": "operations",
    "LogCalibration": "operations",
    "MajorityVote": "operations",
    "MeanLogprob": "operations",
    "MeanProbability": "operations",
    "Measurement": "measurement",
    "Mitigation": "mitigation",
    "OrderbiasError": "errors",
    "Predictions": "predictions",
    "PriDe": "operations",
    "Prior": "operations",
    "ReversalProduct": "operations",
    "chain": "operations",
    "judge_report": "judge",
    "measure": "measurement",
    "measure_cells": "measurement",
    "mitigate": "mitigation",
    "parse_design": "orderings",
    "position_bias_report": "judge",
    "read_cells": "cells",
    "read_judgments": "judge",
    "read_records": "records",
    "read_run": "run_cells",
    "sign_test_p": "inference",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'orderbias' has no attribute {name!r}")
    return getattr(importlib.import_module(f"orderbias.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
