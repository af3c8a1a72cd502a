"""Model selection with unlabeled rows, which may be used for training but never for testing."""

from semisvm.model_selection.calibration import SemiSupervisedCalibratedClassifierCV
from semisvm.model_selection.cross_fit import cross_fit_scores
from semisvm.model_selection.fair_sample import FairSampleCheck, check_fair_sample
from semisvm.model_selection.parts import Split, hide, split
from semisvm.model_selection.scoring import pu_auc
from semisvm.model_selection.splitters import (
    PositiveUnlabeledKFold,
    SemiSupervisedGroupKFold,
    SemiSupervisedKFold,
    SemiSupervisedShuffleSplit,
)

__all__ = [
    "FairSampleCheck",
    "PositiveUnlabeledKFold",
    "SemiSupervisedCalibratedClassifierCV",
    "SemiSupervisedGroupKFold",
    "SemiSupervisedKFold",
    "SemiSupervisedShuffleSplit",
    "Split",
    "check_fair_sample",
    "cross_fit_scores",
    "hide",
    "pu_auc",
    "split",
]
