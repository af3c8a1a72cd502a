"""Semi-supervised support vector machines: few labels, many unlabelled rows, and a say in how the classifier errs."""

from typing import TYPE_CHECKING, Any

from semisvm.estimators import (
    ClusterSVC,
    LabelMeanSVC,
    LaplacianSVC,
    MixtureClassifier,
    PreferenceClassifier,
    PreferenceSVC,
    ProgressiveSVC,
    SelfTrainingSVC,
    SupervisedSVC,
    TransductiveSVC,
)
from semisvm.model_selection import SemiSupervisedGroupKFold, SemiSupervisedKFold, SemiSupervisedShuffleSplit

if TYPE_CHECKING:
    from semisvm.models import load, save

__version__ = "0.1.0.dev0"

__all__ = [
    "ClusterSVC",
    "LabelMeanSVC",
    "LaplacianSVC",
    "MixtureClassifier",
    "PreferenceClassifier",
    "PreferenceSVC",
    "ProgressiveSVC",
    "SelfTrainingSVC",
    "SemiSupervisedGroupKFold",
    "SemiSupervisedKFold",
    "SemiSupervisedShuffleSplit",
    "SupervisedSVC",
    "TransductiveSVC",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    """Bring in `save` and `load` when they are first asked for: files are not needed to learn."""
    if name in ("load", "save"):
        from semisvm import models

        return getattr(models, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
