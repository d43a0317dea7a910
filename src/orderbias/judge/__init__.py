"""Pairs and verdicts: reading them, the swap report, human agreement, length and self-preference."""

from orderbias.judge.judging import JudgeOptions, JudgeReport, judge_report, judge_reports
from orderbias.judge.reading import read_judgments
from orderbias.judge.swap import outcome_counts, pair_consistency, position_bias_report, to_predictions
from orderbias.judge.values import Judgments, NotChecked, collapsed, in_pair_terms

__all__ = [
    "JudgeOptions",
    "JudgeReport",
    "Judgments",
    "NotChecked",
    "collapsed",
    "in_pair_terms",
    "judge_report",
    "judge_reports",
    "outcome_counts",
    "pair_consistency",
    "position_bias_report",
    "read_judgments",
    "to_predictions",
]
