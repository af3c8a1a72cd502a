"""A paper a file: each method is a sequence of dual problems."""

from semisvm.estimators.cluster import ClusterSVC
from semisvm.estimators.label_mean import LabelMeanSVC
from semisvm.estimators.laplacian import LaplacianSVC
from semisvm.estimators.mixture import MixtureClassifier
from semisvm.estimators.preference import PreferenceSVC
from semisvm.estimators.preference_classifier import PreferenceClassifier
from semisvm.estimators.progressive import ProgressiveSVC
from semisvm.estimators.self_training import SelfTrainingSVC
from semisvm.estimators.supervised import SupervisedSVC
from semisvm.estimators.transductive import TransductiveSVC

__all__ = [
    "ClusterSVC",
    "LabelMeanSVC",
    "LaplacianSVC",
    "MixtureClassifier",
    "PreferenceClassifier",
    "PreferenceSVC",
    "ProgressiveSVC",
    "SelfTrainingSVC",
    "SupervisedSVC",
    "TransductiveSVC",
]
