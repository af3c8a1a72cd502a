from semisvm.estimators.label_mean import LabelMeanSVC
from semisvm.estimators.preference import PreferenceClassifier, PreferenceSVC
from semisvm.estimators.supervised import SupervisedSVC
from semisvm.estimators.transductive import TransductiveSVC

__all__ = ["LabelMeanSVC", "PreferenceClassifier", "PreferenceSVC", "SupervisedSVC", "TransductiveSVC"]
