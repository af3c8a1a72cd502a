"""Semi-supervised support vector machines: few labels, many unlabeled rows, and a say in how the classifier errs.

Names are brought in when they are first asked for, so that `semisvm --help` does not wait for scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semisvm.campaign import Campaign, ThresholdClassifier
    from semisvm.errors import FairSampleWarning
    from semisvm.estimators import (
        AutoSVC,
        ClusterSVC,
        LabelMeanSVC,
        LaplacianSVC,
        MixtureClassifier,
        PositiveUnlabeledSVC,
        PreferenceClassifier,
        PreferenceSVC,
        ProgressiveSVC,
        SelfTrainingSVC,
        SupervisedSVC,
        TransductiveSVC,
        UnlabeledKernel,
        all_estimators,
    )
    from semisvm.model_selection import (
        SemiSupervisedCalibratedClassifierCV,
        SemiSupervisedGroupKFold,
        SemiSupervisedKFold,
        SemiSupervisedShuffleSplit,
        check_fair_sample,
    )
    from semisvm.report import write_report
    from semisvm.tables import load, save
    from semisvm.tables.compare import compare
    from semisvm.tables.encode import TableEncoder

__version__ = "0.2.0"

__all__ = [
    "AutoSVC",
    "Campaign",
    "ClusterSVC",
    "FairSampleWarning",
    "LabelMeanSVC",
    "LaplacianSVC",
    "MixtureClassifier",
    "PositiveUnlabeledSVC",
    "PreferenceClassifier",
    "PreferenceSVC",
    "ProgressiveSVC",
    "SelfTrainingSVC",
    "SemiSupervisedCalibratedClassifierCV",
    "SemiSupervisedGroupKFold",
    "SemiSupervisedKFold",
    "SemiSupervisedShuffleSplit",
    "SupervisedSVC",
    "TableEncoder",
    "ThresholdClassifier",
    "TransductiveSVC",
    "UnlabeledKernel",
    "all_estimators",
    "check_fair_sample",
    "compare",
    "load",
    "save",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("TableEncoder", "compare", "load", "save"):
        home = {"TableEncoder": "tables.encode", "compare": "tables.compare"}.get(name, "tables")
    elif name == "write_report":
        home = "report"
    elif name in ("Campaign", "ThresholdClassifier"):
        home = "campaign"
    elif name == "FairSampleWarning":
        home = "errors"
    else:
        is_selection = name.startswith("SemiSupervised") or name == "check_fair_sample"
        home = "model_selection" if is_selection else "estimators"
    found = globals()[name] = getattr(import_module(f"semisvm.{home}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
