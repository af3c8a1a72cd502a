from semisvm.estimators.supervised import SupervisedSVC
from semisvm.estimators.transductive import TransductiveSVC

__all__ = ["SupervisedSVC", "TransductiveSVC"]
