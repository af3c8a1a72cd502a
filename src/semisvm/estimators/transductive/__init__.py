"""TSVM: label switching, CCCP and annealing."""

from semisvm.estimators.transductive.svc import TransductiveSVC

__all__ = ["TransductiveSVC"]
