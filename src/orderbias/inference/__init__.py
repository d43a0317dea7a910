"""Intervals, tests and resampling."""

from orderbias.inference.proportions import clopper_pearson
from orderbias.inference.resampling import percentile_interval, resampled_sums
from orderbias.inference.rotation import RotationTest, rotated_sums, upper_p_value
from orderbias.inference.sign import p_text, sign_test_p, smallest_shown_share
from orderbias.inference.uniformity import hoeffding_uniformity, holm

__all__ = [
    "RotationTest",
    "clopper_pearson",
    "hoeffding_uniformity",
    "holm",
    "p_text",
    "percentile_interval",
    "resampled_sums",
    "rotated_sums",
    "sign_test_p",
    "smallest_shown_share",
    "upper_p_value",
]
