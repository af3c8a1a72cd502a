"""Semi-supervised support vector machines: few labels, many unlabelled rows, and a say in how the classifier errs."""

from semisvm.estimators import (
    ClusterSVC,
    MixtureClassifier,
    ProgressiveSVC,
    SelfTrainingSVC,
    SupervisedSVC,
    TransductiveSVC,
)
from semisvm.model_selection import SemiSupervisedGroupKFold, SemiSupervisedKFold, SemiSupervisedShuffleSplit

__version__ = "0.1.0.dev0"

__all__ = [
    "ClusterSVC",
    "MixtureClassifier",
    "ProgressiveSVC",
    "SelfTrainingSVC",
    "SemiSupervisedGroupKFold",
    "SemiSupervisedKFold",
    "SemiSupervisedShuffleSplit",
    "SupervisedSVC",
    "TransductiveSVC",
]
