"""Learning from labeled positives and unlabeled rows."""

from semisvm.estimators.positive_unlabeled.svc import PositiveUnlabeledSVC

__all__ = ["PositiveUnlabeledSVC"]
