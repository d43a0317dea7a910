"""Mitigations as values: corrections, aggregations, interventions, and chains of them.

Every operation has ``fit(calibration) -> fitted`` and ``fitted.apply(predictions) -> predictions``; it reads no gold
and leaves its input as it was. What it knows of a model is
arrays alone: no prompt, no backend.

>>> chain(PriDe(), ReversalProduct()).needs
Needs(logprobs=True, reversals=True)
"""

from orderbias.operations.chain import Chain, FittedChain, chain
from orderbias.operations.control import LetterPermuted, label_permutations
from orderbias.operations.corrections import (
    BatchCalibration,
    FittedCorrection,
    LogCalibration,
    PriDe,
    PriorCorrection,
)
from orderbias.operations.estimators import PRIOR_KINDS, estimate_prior, item_priors
from orderbias.operations.interventions import (
    SHAPES,
    AddPreference,
    MirrorSplit,
    letter_preference,
    mirror_split,
    preference,
)
from orderbias.operations.names import DEFAULT_OPERATIONS, NAMES, parse_operation, parse_operations
from orderbias.operations.online import Debiaser
from orderbias.operations.pools import MajorityVote, MeanLogprob, MeanProbability, vote_counts
from orderbias.operations.prior import Prior
from orderbias.operations.protocol import Fitted, Leaves, Needs, NoOperation, Operation
from orderbias.operations.published import PublishedPriDe, published_cost, published_pride
from orderbias.operations.reversals import AgreeOrAbstain, ReversalProduct, reversal_slots
from orderbias.operations.slices import canonical_alone, presented_alone, take_items
from orderbias.operations.splits import Split, calibration_items, split
from orderbias.operations.variants import FittedVariants

__all__ = [
    "DEFAULT_OPERATIONS",
    "NAMES",
    "PRIOR_KINDS",
    "SHAPES",
    "AddPreference",
    "AgreeOrAbstain",
    "BatchCalibration",
    "Chain",
    "Debiaser",
    "Fitted",
    "FittedChain",
    "FittedCorrection",
    "FittedVariants",
    "Leaves",
    "LetterPermuted",
    "LogCalibration",
    "MajorityVote",
    "MeanLogprob",
    "MeanProbability",
    "MirrorSplit",
    "Needs",
    "NoOperation",
    "Operation",
    "PriDe",
    "Prior",
    "PriorCorrection",
    "PublishedPriDe",
    "ReversalProduct",
    "Split",
    "calibration_items",
    "canonical_alone",
    "chain",
    "estimate_prior",
    "item_priors",
    "label_permutations",
    "letter_preference",
    "mirror_split",
    "parse_operation",
    "parse_operations",
    "preference",
    "presented_alone",
    "published_cost",
    "published_pride",
    "reversal_slots",
    "split",
    "take_items",
    "vote_counts",
]
