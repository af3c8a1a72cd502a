"""A say in how a classifier errs: thresholds for a precision or a recall, and their proof."""

from semisvm.threshold.certificate import Certificate, certify
from semisvm.threshold.choosing import OperatingPoint, choose_threshold
from semisvm.threshold.constants import ConstantComparison, compare_with_constants
from semisvm.threshold.positive_unlabeled import PositiveUnlabeledSVC
from semisvm.threshold.preference import PreferenceClassifier, PreferenceSVC

__all__ = [
    "Certificate",
    "ConstantComparison",
    "OperatingPoint",
    "PositiveUnlabeledSVC",
    "PreferenceClassifier",
    "PreferenceSVC",
    "certify",
    "choose_threshold",
    "compare_with_constants",
]
