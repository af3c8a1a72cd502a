"""Cluster-SVM: features, clusters, labels from clusters, and one SVM of all rows."""

from semisvm.estimators.cluster.svc import ClusterSVC

__all__ = ["ClusterSVC"]
