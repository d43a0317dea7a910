"""What a remedy changes and what it leaves: operations compared on both factors, both harms, accuracy and cost.

Joins operations, measures and intervals; knows nothing of files, models or prompts.
"""

from orderbias.mitigation.changes import CHANGES, Change, Changed
from orderbias.mitigation.comparing import mitigate
from orderbias.mitigation.shapes import STRENGTHS, ShapePoint, Shapes, added_shapes
from orderbias.mitigation.transitions import Moves, Share, Transitions
from orderbias.mitigation.values import Difference, Mitigation, Outcome

__all__ = [
    "CHANGES",
    "STRENGTHS",
    "Change",
    "Changed",
    "Difference",
    "Mitigation",
    "Moves",
    "Outcome",
    "ShapePoint",
    "Shapes",
    "Share",
    "Transitions",
    "added_shapes",
    "mitigate",
]
