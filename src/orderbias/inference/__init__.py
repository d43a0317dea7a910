"""Intervals, tests and resampling."""

from orderbias.inference.proportions import clopper_pearson
from orderbias.inference.resampling import percentile_interval, resampled_sums
from orderbias.inference.rotation import RotationTest, rotated_sums, upper_p_value
from orderbias.inference.uniformity import hoeffding_uniformity, holm

__all__ = [
    "RotationTest",
    "clopper_pearson",
    "hoeffding_uniformity",
    "holm",
    "percentile_interval",
    "resampled_sums",
    "rotated_sums",
    "upper_p_value",
]
