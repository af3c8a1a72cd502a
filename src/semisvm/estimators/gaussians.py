"""Gaussian components: their log densities, and their best parameters for weighted rows.

    means        (M, p)  one for each component
    covariances  "full" (M, p, p), "tied" (p, p), "diag" (M, p), "spherical" (M,)

    log density of row x under component k
        -1/2 (p log 2 pi + log|S_k| + (x - m_k)' S_k^-1 (x - m_k) + tr(R S_k^-1)),   R = diag(ridge), ridge (p,)

The last term is what a ridge means here. A row counts as a cloud of variance `ridge` around it: that is the mean of
log N(x + noise; m, S) over noise ~ N(0, R). The parameters that maximize it over weighted rows have the covariance of
the rows plus R, the usual regularization; because both steps of EM use the same densities its objective never falls,
which it might if the ridge were added to the covariances alone.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

KINDS = ("full", "tied", "diag", "spherical")
LEAST_WEIGHT = 10 * np.finfo(np.float64).eps  # of a component that has lost its rows


@dataclass(frozen=True)
class Gaussians:
    """M Gaussian components of one kind of covariance."""

    kind: str
    means: np.ndarray
    covariances: np.ndarray
    ridge: np.ndarray

    def log_density(self, X) -> np.ndarray:
        """The log density of every row under every component, shape (n, M)."""
        columns = [self._of_one(X, k) for k in range(len(self.means))]
        return np.stack(columns, axis=1) - 0.5 * X.shape[1] * np.log(2 * np.pi)

    def _of_one(self, X, k: int) -> np.ndarray:
        centered = X - self.means[k]
        if self.kind in ("diag", "spherical"):
            variance = np.broadcast_to(self.covariances[k], X.shape[1])
            squares = (centered**2 / variance).sum(axis=1)
            return -0.5 * (np.log(variance).sum() + squares + (self.ridge / variance).sum())
        root = np.linalg.cholesky(self.covariances if self.kind == "tied" else self.covariances[k])
        squares = (solve_triangular(root, centered.T, lower=True) ** 2).sum(axis=0)
        trace = (solve_triangular(root, np.diag(np.sqrt(self.ridge)), lower=True) ** 2).sum()
        return -0.5 * (2 * np.log(np.diagonal(root)).sum() + squares + trace)


def estimate(X, share, kind: str, ridge) -> Gaussians:
    """The components of highest likelihood, share (n, M) being how much of each row belongs to each component."""
    size = np.maximum(share.sum(axis=0), LEAST_WEIGHT)
    means = share.T @ X / size[:, None]
    if kind in ("diag", "spherical"):
        squares = [share[:, k] @ (X - means[k]) ** 2 / size[k] for k in range(len(size))]
        variance = np.stack(squares) + ridge
        return Gaussians(kind, means, variance if kind == "diag" else variance.mean(axis=1), ridge)
    scatter = np.stack([_scatter(X - means[k], share[:, k]) for k in range(len(size))])
    if kind == "tied":
        return Gaussians(kind, means, scatter.sum(axis=0) / size.sum() + np.diag(ridge), ridge)
    return Gaussians(kind, means, scatter / size[:, None, None] + np.diag(ridge), ridge)


def _scatter(centered, share) -> np.ndarray:
    scaled = centered * np.sqrt(share)[:, None]
    return scaled.T @ scaled  # symmetric to the last digit


def from_variances(means, variance, kind: str, ridge) -> Gaussians:
    """Components of the given kind with one variance a feature, shape (p,), the same for all."""
    n_components, p = means.shape
    covariances = {
        "full": np.broadcast_to(np.diag(variance), (n_components, p, p)).copy(),
        "tied": np.diag(variance),
        "diag": np.broadcast_to(variance, (n_components, p)).copy(),
        "spherical": np.full(n_components, variance.mean()),
    }[kind]
    return Gaussians(kind, means, covariances, ridge)
