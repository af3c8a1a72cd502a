"""Model selection with unlabeled rows, which may be used for training but never for testing."""

from semisvm.model_selection.calibration import SemiSupervisedCalibratedClassifierCV
from semisvm.model_selection.compare import Comparison, compare
from semisvm.model_selection.cross_fit import cross_fit
from semisvm.model_selection.fair_sample import FairSampleCheck, check_fair_sample
from semisvm.model_selection.scoring import make_labeled_scorer
from semisvm.model_selection.split import SemiSupervisedSplit

__all__ = [
    "Comparison",
    "FairSampleCheck",
    "SemiSupervisedCalibratedClassifierCV",
    "SemiSupervisedSplit",
    "check_fair_sample",
    "compare",
    "cross_fit",
    "make_labeled_scorer",
]
