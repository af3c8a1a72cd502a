from semisvm.estimators.auto.svc import AutoSVC

__all__ = ["AutoSVC"]
