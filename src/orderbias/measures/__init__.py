"""Per-item sufficient columns, and every measure as a function of their sums."""

from orderbias.measures.columns import ItemColumns, build_columns
from orderbias.measures.sums import Layout, Sums
from orderbias.measures.table import MEASURES, Measure, chosen_measures, evaluate

__all__ = ["MEASURES", "ItemColumns", "Layout", "Measure", "Sums", "build_columns", "chosen_measures", "evaluate"]
