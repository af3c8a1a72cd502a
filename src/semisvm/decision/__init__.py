"""Scores and true signs -> thresholds, with what they are expected to give and how sure that is.

Pure arithmetic: no estimator, no training, nothing random.

    choose, choose_for   find a threshold for what is asked
    measure              what a given threshold gives
    certify              a threshold with a promise, from labels that were kept apart
    betting              evidence from rows that are drawn from a pool one by one; sampling_plan: which, how fast
    adjust               PSVM's step inside its loop
    guard                would a constant cost less?
    make_audit           where a gain comes from
    bound_prior, certify_recall, bound_lift, choose_without_negatives, ...   where no negative is labeled

Probabilities are always given as a `confidence`.
"""

from semisvm.decision.audit import (
    SUPERVISED,
    SUPERVISED_THRESHOLD,
    WITH_UNLABELED,
    Audit,
    changed_by_unlabeled,
    make_audit,
)
from semisvm.decision.betting import SamplingEvidence
from semisvm.decision.binomial import Estimate, binomial_interval, estimate_cost, estimate_f, labels_needed
from semisvm.decision.certify import certify
from semisvm.decision.choose import adjust, choose, choose_for, measure
from semisvm.decision.counts import (
    Counts,
    Curve,
    accuracy,
    count_all,
    count_at,
    expected_cost,
    f_score,
    precision,
    recall,
)
from semisvm.decision.guard import Guard, guard, smoothed_cost
from semisvm.decision.operating_point import PROMISES, OperatingPoint
from semisvm.decision.positive_unlabeled_point import (
    AcceptedCounts,
    PositiveUnlabeledPoint,
    judge_without_negatives,
)
from semisvm.decision.target import Target, best_of
from semisvm.decision.without_negatives import (
    PriorBound,
    accept_best,
    bound_lift,
    bound_prior,
    certify_recall,
    choose_without_negatives,
    rank_auc,
    reach_recall,
)

__all__ = [
    "PROMISES",
    "SUPERVISED",
    "SUPERVISED_THRESHOLD",
    "WITH_UNLABELED",
    "AcceptedCounts",
    "Audit",
    "Counts",
    "Curve",
    "Estimate",
    "Guard",
    "OperatingPoint",
    "PositiveUnlabeledPoint",
    "PriorBound",
    "SamplingEvidence",
    "Target",
    "accept_best",
    "accuracy",
    "adjust",
    "best_of",
    "binomial_interval",
    "bound_lift",
    "bound_prior",
    "certify",
    "certify_recall",
    "changed_by_unlabeled",
    "choose",
    "choose_for",
    "choose_without_negatives",
    "count_all",
    "count_at",
    "estimate_cost",
    "estimate_f",
    "expected_cost",
    "f_score",
    "guard",
    "judge_without_negatives",
    "labels_needed",
    "make_audit",
    "measure",
    "precision",
    "rank_auc",
    "reach_recall",
    "recall",
    "smoothed_cost",
]
