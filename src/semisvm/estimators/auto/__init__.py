from semisvm.estimators.auto.families import explain_weights
from semisvm.estimators.auto.kernel import UnlabeledKernel
from semisvm.estimators.auto.svc import AutoSVC

__all__ = ["AutoSVC", "UnlabeledKernel", "explain_weights"]
