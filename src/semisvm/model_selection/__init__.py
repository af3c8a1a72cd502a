"""Model selection where some rows have no label: they may train, and they are never tested."""

from semisvm.model_selection.calibration import ScoreCalibrator, SemiSupervisedCalibratedClassifierCV
from semisvm.model_selection.cross_fit import (
    OutOfFoldScores,
    assign_folds,
    collect_scores,
    cross_fit,
    cross_fit_scores,
    hide_single_rows,
    list_folds,
)
from semisvm.model_selection.fair_sample import FairSampleCheck, check_fair_sample, random_fold_scores
from semisvm.model_selection.scoring import (
    LabeledRowsScoreMixin,
    PositiveUnlabeledKFold,
    accuracy_on_labeled_rows,
    pu_auc,
)
from semisvm.model_selection.split import (
    SemiSupervisedGroupKFold,
    SemiSupervisedKFold,
    SemiSupervisedShuffleSplit,
)

__all__ = [
    "FairSampleCheck",
    "LabeledRowsScoreMixin",
    "OutOfFoldScores",
    "PositiveUnlabeledKFold",
    "ScoreCalibrator",
    "SemiSupervisedCalibratedClassifierCV",
    "SemiSupervisedGroupKFold",
    "SemiSupervisedKFold",
    "SemiSupervisedShuffleSplit",
    "accuracy_on_labeled_rows",
    "assign_folds",
    "check_fair_sample",
    "collect_scores",
    "cross_fit",
    "cross_fit_scores",
    "hide_single_rows",
    "list_folds",
    "pu_auc",
    "random_fold_scores",
]
