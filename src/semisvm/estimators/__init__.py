"""A paper a file: each method is a sequence of dual problems."""

from semisvm.estimators.supervised import SupervisedSVC

__all__ = ["SupervisedSVC"]
