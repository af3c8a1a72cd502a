"""Scores and true signs -> thresholds, with what they are expected to give and how sure that is.

Pure arithmetic: no estimator, no randomness, nothing that trains. `choose` is the front door; `certify` makes
promises; `adjust` is PSVM's step inside its loop; `guard` asks whether a constant would do better.
"""

from semisvm.decision.adjust import adjust
from semisvm.decision.binomial import Estimate, binomial_interval, labels_needed
from semisvm.decision.certify import certify
from semisvm.decision.choose import choose, choose_for, measure
from semisvm.decision.counts import Counts, Curve, count_all, count_at
from semisvm.decision.guard import Guard, guard, smoothed_cost
from semisvm.decision.intervals import estimate_cost, estimate_f
from semisvm.decision.measures import accuracy, expected_cost, f_score, precision, recall
from semisvm.decision.operating_point import OperatingPoint
from semisvm.decision.target import Target, best_of

__all__ = [
    "Counts",
    "Curve",
    "Estimate",
    "Guard",
    "OperatingPoint",
    "Target",
    "accuracy",
    "adjust",
    "best_of",
    "binomial_interval",
    "certify",
    "choose",
    "choose_for",
    "count_all",
    "count_at",
    "estimate_cost",
    "estimate_f",
    "expected_cost",
    "f_score",
    "guard",
    "labels_needed",
    "measure",
    "precision",
    "recall",
    "smoothed_cost",
]
