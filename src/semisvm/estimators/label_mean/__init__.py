"""CS4VM and meanS3VM: the means of the unlabeled classes."""

from semisvm.estimators.label_mean.svc import LabelMeanSVC

__all__ = ["LabelMeanSVC"]
