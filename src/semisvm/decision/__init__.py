"""Thresholds from scores and true signs, with their expected precision, recall and cost, and how
certain these are.

Only arithmetic, without estimators or training. For users:

    choose               find a threshold for a `Target`
    measure              measure a given threshold
    certify              find a threshold with a guarantee, from labels that were held out
    labels_needed, binomial_interval   how many labels a guarantee takes, how wide an interval is
    OperatingPoint       what all of them return, with its `Evidence`

The modules hold the rest, for the library itself: `counts` and `binomial`; `audit`, where a gain
comes from; `guard`, would a constant cost less than a classifier?; `without_negatives`, where no
negative is labeled; `betting`, evidence from rows that are drawn from a pool one by one, and
`sampling_plan`, which rows and how fast; `precision_sets` and `recall_sets`, certified sets.

Probabilities are always given as a `confidence`.
"""

from semisvm.decision.betting import SamplingEvidence
from semisvm.decision.binomial import Estimate, binomial_interval, labels_needed
from semisvm.decision.certify import certify
from semisvm.decision.choose import choose, measure
from semisvm.decision.counts import Counts
from semisvm.decision.operating_point import Evidence, OperatingPoint, PositiveUnlabeledEvidence
from semisvm.decision.target import Target

__all__ = [
    "Counts",
    "Estimate",
    "Evidence",
    "OperatingPoint",
    "PositiveUnlabeledEvidence",
    "SamplingEvidence",
    "Target",
    "binomial_interval",
    "certify",
    "choose",
    "labels_needed",
    "measure",
]
