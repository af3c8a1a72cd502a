"""Semi-supervised support vector machines: few labels, many unlabeled rows, and control over the
errors.

Names are imported when they are first used, so that `semisvm --help` does not wait for
scikit-learn, and loading a model file imports only its own estimator.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semisvm.campaign import Campaign as Campaign
    from semisvm.campaign import Monitor as Monitor
    from semisvm.campaign import ThresholdClassifier as ThresholdClassifier
    from semisvm.columns.encoder import TableEncoder as TableEncoder
    from semisvm.errors import FairSampleWarning as FairSampleWarning
    from semisvm.estimators import all_estimators as all_estimators
    from semisvm.estimators.auto import AutoSVC as AutoSVC
    from semisvm.estimators.auto import UnlabeledKernel as UnlabeledKernel
    from semisvm.estimators.cluster import ClusterSVC as ClusterSVC
    from semisvm.estimators.label_mean import LabelMeanSVC as LabelMeanSVC
    from semisvm.estimators.laplacian import LaplacianSVC as LaplacianSVC
    from semisvm.estimators.mixture import MixtureClassifier as MixtureClassifier
    from semisvm.estimators.positive_unlabeled import PositiveUnlabeledSVC as PositiveUnlabeledSVC
    from semisvm.estimators.preference import PreferenceClassifier as PreferenceClassifier
    from semisvm.estimators.preference import PreferenceSVC as PreferenceSVC
    from semisvm.estimators.progressive import ProgressiveSVC as ProgressiveSVC
    from semisvm.estimators.self_training import SelfTrainingSVC as SelfTrainingSVC
    from semisvm.estimators.supervised import SupervisedSVC as SupervisedSVC
    from semisvm.estimators.svc_cv import SVCCV as SVCCV
    from semisvm.estimators.transductive import TransductiveSVC as TransductiveSVC
    from semisvm.model_selection import (
        SemiSupervisedCalibratedClassifierCV as SemiSupervisedCalibratedClassifierCV,
    )
    from semisvm.model_selection import SemiSupervisedGroupKFold as SemiSupervisedGroupKFold
    from semisvm.model_selection import SemiSupervisedKFold as SemiSupervisedKFold
    from semisvm.model_selection import SemiSupervisedShuffleSplit as SemiSupervisedShuffleSplit
    from semisvm.model_selection import check_fair_sample as check_fair_sample
    from semisvm.model_selection import hide as hide
    from semisvm.model_selection import split as split
    from semisvm.report import write_report as write_report
    from semisvm.tables import load as load
    from semisvm.tables import save as save
    from semisvm.tables.compare import compare as compare

__version__ = "0.3.0"

_NAMES = {
    "campaign": "Campaign Monitor ThresholdClassifier",
    "columns.encoder": "TableEncoder",
    "errors": "FairSampleWarning",
    "estimators": "all_estimators",
    "estimators.auto": "AutoSVC UnlabeledKernel",
    "estimators.cluster": "ClusterSVC",
    "estimators.label_mean": "LabelMeanSVC",
    "estimators.laplacian": "LaplacianSVC",
    "estimators.mixture": "MixtureClassifier",
    "estimators.positive_unlabeled": "PositiveUnlabeledSVC",
    "estimators.preference": "PreferenceClassifier PreferenceSVC",
    "estimators.progressive": "ProgressiveSVC",
    "estimators.self_training": "SelfTrainingSVC",
    "estimators.supervised": "SupervisedSVC",
    "estimators.svc_cv": "SVCCV",
    "estimators.transductive": "TransductiveSVC",
    "model_selection": "SemiSupervisedCalibratedClassifierCV SemiSupervisedGroupKFold"
    " SemiSupervisedKFold SemiSupervisedShuffleSplit check_fair_sample hide split",
    "report": "write_report",
    "tables": "load save",
    "tables.compare": "compare",
}
HOMES = {name: f"semisvm.{home}" for home, names in _NAMES.items() for name in names.split()}

__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
