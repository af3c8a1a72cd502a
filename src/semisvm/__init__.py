"""Semi-supervised support vector machines: few labels, many unlabeled rows, and control over the
errors.

Names are imported when they are first used, so that `semisvm --help` does not wait for
scikit-learn, and loading a model file imports only its own estimator.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semisvm.auto import AutoSVC as AutoSVC
    from semisvm.auto import UnlabeledKernel as UnlabeledKernel
    from semisvm.evidence import Audit as Audit
    from semisvm.evidence import Campaign as Campaign
    from semisvm.evidence import Monitor as Monitor
    from semisvm.model_files import load as load
    from semisvm.model_files import save as save
    from semisvm.model_selection import (
        SemiSupervisedCalibratedClassifierCV as SemiSupervisedCalibratedClassifierCV,
    )
    from semisvm.model_selection import SemiSupervisedSplit as SemiSupervisedSplit
    from semisvm.model_selection import check_fair_sample as check_fair_sample
    from semisvm.model_selection import compare as compare
    from semisvm.model_selection import make_labeled_scorer as make_labeled_scorer
    from semisvm.svm.cluster import ClusterSVC as ClusterSVC
    from semisvm.svm.label_mean import LabelMeanSVC as LabelMeanSVC
    from semisvm.svm.laplacian import LaplacianSVC as LaplacianSVC
    from semisvm.svm.mixture import MixtureClassifier as MixtureClassifier
    from semisvm.svm.progressive import ProgressiveSVC as ProgressiveSVC
    from semisvm.svm.psvm import PaperPreferenceSVC as PaperPreferenceSVC
    from semisvm.svm.self_training import SelfTrainingSVC as SelfTrainingSVC
    from semisvm.svm.supervised import SupervisedSVC as SupervisedSVC
    from semisvm.svm.transductive import TransductiveSVC as TransductiveSVC
    from semisvm.svm.tuned import SVCCV as SVCCV
    from semisvm.threshold import PositiveUnlabeledSVC as PositiveUnlabeledSVC
    from semisvm.threshold import PreferenceClassifier as PreferenceClassifier
    from semisvm.threshold import PreferenceSVC as PreferenceSVC
    from semisvm.threshold import certify as certify

__version__ = "1.0.0"

_NAMES = {
    "auto": "AutoSVC UnlabeledKernel",
    "evidence": "Audit Campaign Monitor",
    "model_files": "load save",
    "model_selection": "SemiSupervisedCalibratedClassifierCV SemiSupervisedSplit"
    " check_fair_sample compare make_labeled_scorer",
    "svm.cluster": "ClusterSVC",
    "svm.label_mean": "LabelMeanSVC",
    "svm.laplacian": "LaplacianSVC",
    "svm.mixture": "MixtureClassifier",
    "svm.progressive": "ProgressiveSVC",
    "svm.psvm": "PaperPreferenceSVC",
    "svm.self_training": "SelfTrainingSVC",
    "svm.supervised": "SupervisedSVC",
    "svm.transductive": "TransductiveSVC",
    "svm.tuned": "SVCCV",
    "threshold": "PositiveUnlabeledSVC PreferenceClassifier PreferenceSVC certify",
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
