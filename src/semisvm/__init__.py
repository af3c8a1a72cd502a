"""Semi-supervised support vector machines: few labels, many unlabeled rows, and a say in how the
classifier errs.

Names are brought in when they are first asked for, so that `semisvm --help` does not wait for
scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semisvm.campaign import Campaign, Monitor, ThresholdClassifier
    from semisvm.columns.encoder import TableEncoder
    from semisvm.errors import FairSampleWarning
    from semisvm.estimators import (
        SVCCV,
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
        hide,
        split,
    )
    from semisvm.report import write_report
    from semisvm.tables import load, save
    from semisvm.tables.compare import compare

__version__ = "0.3.0"

__all__ = [
    "SVCCV",
    "AutoSVC",
    "Campaign",
    "ClusterSVC",
    "FairSampleWarning",
    "LabelMeanSVC",
    "LaplacianSVC",
    "MixtureClassifier",
    "Monitor",
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
    "hide",
    "load",
    "save",
    "split",
    "write_report",
]


# Where names come from that are not estimators.
_HOMES = {
    "Campaign": "campaign",
    "FairSampleWarning": "errors",
    "Monitor": "campaign",
    "SemiSupervisedCalibratedClassifierCV": "model_selection",
    "SemiSupervisedGroupKFold": "model_selection",
    "SemiSupervisedKFold": "model_selection",
    "SemiSupervisedShuffleSplit": "model_selection",
    "TableEncoder": "columns.encoder",
    "ThresholdClassifier": "campaign",
    "check_fair_sample": "model_selection",
    "compare": "tables.compare",
    "hide": "model_selection",
    "load": "tables",
    "save": "tables",
    "split": "model_selection",
    "write_report": "report",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"semisvm.{_HOMES.get(name, 'estimators')}")
    value = globals()[name] = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
