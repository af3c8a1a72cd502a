"""One module or sub-package per method: each is a sequence of dual problems."""

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
