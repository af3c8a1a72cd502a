"""PSVM: classifiers that keep a minimum precision or recall, and use unlabeled rows where these help."""

from semisvm.estimators.preference.classifier import PreferenceClassifier
from semisvm.estimators.preference.svc import PreferenceSVC

__all__ = ["PreferenceClassifier", "PreferenceSVC"]
