"""Pairs and verdicts: reading them, the swap report, human agreement, length and self-preference."""

from orderbias.judge.agreement import Agreement, agreement
from orderbias.judge.judging import JudgeOptions, JudgeReport, judge_report, judge_reports
from orderbias.judge.length import LengthCheck, length
from orderbias.judge.logistic import LogisticFit, fit_logistic
from orderbias.judge.probabilities import OrderEffect, Probabilities, order_effect, probabilities
from orderbias.judge.reading import read_judgments
from orderbias.judge.self_preference import SelfPreference, family_of, self_preference
from orderbias.judge.swap import outcome_counts, pair_consistency, position_bias_report, to_predictions
from orderbias.judge.values import Judgments, NotChecked, collapsed, in_pair_terms

__all__ = [
    "Agreement",
    "JudgeOptions",
    "JudgeReport",
    "Judgments",
    "LengthCheck",
    "LogisticFit",
    "NotChecked",
    "OrderEffect",
    "Probabilities",
    "SelfPreference",
    "agreement",
    "collapsed",
    "family_of",
    "fit_logistic",
    "in_pair_terms",
    "judge_report",
    "judge_reports",
    "length",
    "order_effect",
    "outcome_counts",
    "pair_consistency",
    "position_bias_report",
    "probabilities",
    "read_judgments",
    "self_preference",
    "to_predictions",
]
