"""Model selection where some rows have no label: they may train, and they are never tested on."""

from semisvm.model_selection.cross_fit import cross_fit_scores
from semisvm.model_selection.split import (
    SemiSupervisedGroupKFold,
    SemiSupervisedKFold,
    SemiSupervisedShuffleSplit,
)

__all__ = [
    "SemiSupervisedGroupKFold",
    "SemiSupervisedKFold",
    "SemiSupervisedShuffleSplit",
    "cross_fit_scores",
]
