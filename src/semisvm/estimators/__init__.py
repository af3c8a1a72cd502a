"""One module or sub-package per method: each is a sequence of dual problems.

An estimator is imported when it is first asked for, so that a model file is read with its own estimator alone.
"""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semisvm.estimators.auto import AutoSVC, UnlabeledKernel
    from semisvm.estimators.cluster import ClusterSVC
    from semisvm.estimators.label_mean import LabelMeanSVC
    from semisvm.estimators.laplacian import LaplacianSVC
    from semisvm.estimators.mixture import MixtureClassifier
    from semisvm.estimators.positive_unlabeled import PositiveUnlabeledSVC
    from semisvm.estimators.preference import PreferenceClassifier, PreferenceSVC
    from semisvm.estimators.progressive import ProgressiveSVC
    from semisvm.estimators.registry import all_estimators
    from semisvm.estimators.self_training import SelfTrainingSVC
    from semisvm.estimators.supervised import SupervisedSVC
    from semisvm.estimators.transductive import TransductiveSVC

__all__ = [
    "AutoSVC",
    "ClusterSVC",
    "LabelMeanSVC",
    "LaplacianSVC",
    "MixtureClassifier",
    "PositiveUnlabeledSVC",
    "PreferenceClassifier",
    "PreferenceSVC",
    "ProgressiveSVC",
    "SelfTrainingSVC",
    "SupervisedSVC",
    "TransductiveSVC",
    "UnlabeledKernel",
    "all_estimators",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # LabelMeanSVC is in label_mean, MixtureClassifier in mixture.
    own_name = "_".join(re.findall("[A-Z][a-z]+", name)).lower().removesuffix("_classifier")
    home = {"UnlabeledKernel": "auto", "all_estimators": "registry"}.get(name, own_name)
    found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
