"""Gaussian mixtures in which some rows know their class: densities, parameters of weighted rows,
and EM.

    means        (M, p)  one for each component
    covariances  "full" (M, p, p), "tied" (p, p), "diag" (M, p), "spherical" (M,)
    share        (n, M)  how much of each row belongs to each component, times the row's weight

    log density of row x under component k
        -1/2 (p log 2 pi + log|S_k| + (x - m_k)' S_k^-1 (x - m_k) + tr(R S_k^-1)),   R =
        diag(ridge), ridge (p,)

The last term is what a ridge means here. A row counts as a cloud of variance `ridge` around it:
that is the mean of log N(x + noise; m, S) over noise ~ N(0, R). The parameters that maximize it
over weighted rows have the covariance of the rows plus R, the usual regularization; because both
steps of EM use the same densities its objective never falls, which it might if the ridge were added
to the covariances alone. `mixture` states the whole problem.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from semisvm.dual import Status
from semisvm.estimators.equal_rows import find_equal_rows
from semisvm.estimators.progress import RoundRecord, Watch
from semisvm.labels import Labels

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")
LEAST_WEIGHT = 10 * np.finfo(np.float64).eps  # of a component that has lost its rows
# Of a feature's variance: below, rounding in the determinant outweighs what EM gains.
LEAST_RIDGE = 1e-9


@dataclass(frozen=True)
class Gaussians:
    """M Gaussian components of one kind of covariance."""

    kind: str
    means: np.ndarray
    covariances: np.ndarray
    ridge: np.ndarray

    def log_density(self, X: np.ndarray) -> np.ndarray:
        """The log density of every row under every component, shape (n, M)."""
        columns = [self._of_one(X, k) for k in range(len(self.means))]
        return np.stack(columns, axis=1) - 0.5 * X.shape[1] * np.log(2 * np.pi)

    def _of_one(self, X: np.ndarray, k: int) -> np.ndarray:
        centered = X - self.means[k]
        if self.kind in ("diag", "spherical"):
            variance = np.broadcast_to(self.covariances[k], X.shape[1])
            squares = (centered**2 / variance).sum(axis=1)
            return -0.5 * (np.log(variance).sum() + squares + (self.ridge / variance).sum())
        root = np.linalg.cholesky(self.covariances if self.kind == "tied" else self.covariances[k])
        squares = (solve_triangular(root, centered.T, lower=True) ** 2).sum(axis=0)
        trace = (solve_triangular(root, np.diag(np.sqrt(self.ridge)), lower=True) ** 2).sum()
        return -0.5 * (2 * np.log(np.diagonal(root)).sum() + squares + trace)


def estimate(X: np.ndarray, share: np.ndarray, kind: str, ridge: np.ndarray) -> Gaussians:
    """The components of highest likelihood; share (n, M): how much of a row belongs to each."""
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


def _scatter(centered: np.ndarray, share: np.ndarray) -> np.ndarray:
    scaled = centered * np.sqrt(share)[:, None]
    return scaled.T @ scaled  # symmetric to the last digit


def from_variances(
    means: np.ndarray, variance: np.ndarray, kind: str, ridge: np.ndarray
) -> Gaussians:
    """Components of the given kind with one variance per feature, shape (p,), the same for all."""
    n_components, p = means.shape
    covariances = {
        "full": np.broadcast_to(np.diag(variance), (n_components, p, p)).copy(),
        "tied": np.diag(variance),
        "diag": np.broadcast_to(variance, (n_components, p)).copy(),
        "spherical": np.full(n_components, variance.mean()),
    }[kind]
    return Gaussians(kind, means, covariances, ridge)


class EM:
    """The iterations of EM; log_weights (M,), component_codes (M,), gaussians: the parameters.

    `how` is the classifier whose parameters say what to do.
    """

    def __init__(self, how: Any, X: np.ndarray, labels: Labels, weight: np.ndarray, watch: Watch):
        self.how = how
        self.X = X
        self.labels = labels
        self.weight = weight
        self.watch = watch
        self.total = weight.sum()
        self.variance = weight @ (X - weight @ X / self.total) ** 2 / self.total
        self.ridge = np.maximum(how.reg_covar, LEAST_RIDGE * self.variance)
        self.component_codes = np.arange(labels.n_classes)
        self.gaussians: Gaussians
        self.log_weights: np.ndarray
        self.guess = labels.codes
        self.labeled_in = np.where(labels.is_labeled, 0, -1)
        self.history: list[RoundRecord] = []
        self.began = time.perf_counter()

    def begin(self) -> None:
        """Start from the labeled rows alone, with one component per class."""
        share = self.weight[:, None] * (self.labels.codes[:, None] == self.component_codes)
        self._maximize(share)
        if self._has_too_few_labels():
            variance = self._variance_within_classes(share)
            self.gaussians = from_variances(
                self.gaussians.means, variance, self.how.covariance_type, self.ridge
            )
        if self.how.n_components > 1:
            self._split()

    def run(self) -> Status:
        """Iterate; return why it ended. Ctrl-C keeps the parameters of the last iteration."""
        share, self.objective = self._expect()
        limit = np.inf if self.how.time_limit is None else self.how.time_limit
        try:
            for _ in range(self.how.max_iter):
                if time.perf_counter() - self.began > limit:
                    return Status.TIME_LIMIT
                self._maximize(share)
                before = self.objective
                share, self.objective = self._expect()
                rise = (self.objective - before) / max(abs(before), self.total)
                if self.watch.round_done(self._record(share, rise)):
                    return Status.STOPPED
                if self.objective - before <= self.how.tol * max(abs(before), self.total):
                    return Status.CONVERGED
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return Status.MAX_ITER

    def _expect(self) -> tuple[np.ndarray, float]:
        """E: how much of each row belongs to each component, (n, M), and the objective."""
        log_share = self.gaussians.log_density(self.X) + self.log_weights
        codes = self.labels.codes[:, None]
        labeled = self.labels.is_labeled[:, None]
        log_share = np.where(labeled & (codes != self.component_codes), -np.inf, log_share)
        log_density = logsumexp(log_share, axis=1)
        share = self.weight[:, None] * np.exp(log_share - log_density[:, None])
        return share, float(self.weight @ log_density)

    def _maximize(self, share: np.ndarray) -> None:
        """M: the parameters of highest likelihood for rows so shared out."""
        size = np.maximum(share.sum(axis=0), LEAST_WEIGHT)
        self.gaussians = estimate(self.X, share, self.how.covariance_type, self.ridge)
        self.log_weights = np.log(size / size.sum())

    def _has_too_few_labels(self) -> bool:
        """Whether a class, or all of them, has fewer rows than a covariance has directions."""
        sizes = self.labels.n_of_class
        p = self.X.shape[1]
        if self.how.covariance_type == "tied":
            return sizes.sum() <= p + len(sizes)
        return sizes.min() <= (p if self.how.covariance_type == "full" else 1)

    def _variance_within_classes(self, share: np.ndarray) -> np.ndarray:
        """One variance per feature around the classes' means; over all rows where that is 0."""
        labeled = self.labels.is_labeled
        centered = self.X[labeled] - self.gaussians.means[self.labels.codes[labeled]]
        within = self.weight[labeled] @ centered**2 / share.sum()
        return np.where(within > 0, within, self.variance) + self.ridge

    def _split(self) -> None:
        """Several components per class: means by k-means of its rows, its covariance for each."""
        # Those of the parts would be singular where a part has few rows; EM narrows them soon.
        seed = check_random_state(self.how.random_state).randint(2**31)
        guess = self._expect()[0].argmax(axis=1)
        means = []
        log_weights = []
        of_class = []
        for code in range(self.labels.n_classes):
            rows = self.X[guess == code]
            weight = self.weight[guess == code]
            k = min(self.how.n_components, len(find_equal_rows(rows).first))
            parts = KMeans(k, n_init=10, random_state=seed).fit(rows, sample_weight=weight)
            sizes = np.bincount(parts.labels_, weights=weight, minlength=k)
            means.append(parts.cluster_centers_)
            log_weights.append(self.log_weights[code] + np.log(sizes / sizes.sum()))
            of_class += [code] * k
        covariances = self.gaussians.covariances
        if self.how.covariance_type != "tied":
            covariances = covariances[of_class]
        self.component_codes = np.array(of_class)
        self.log_weights = np.concatenate(log_weights)
        self.gaussians = Gaussians(
            self.how.covariance_type, np.concatenate(means), covariances, self.ridge
        )

    def _record(self, share: np.ndarray, rise: float) -> RoundRecord:
        """Make the record of an iteration; note which rows it gave another class."""
        by_class = np.stack(
            [share[:, self.component_codes == c].sum(axis=1) for c in range(self.labels.n_classes)]
        )
        guess = by_class.argmax(axis=0)
        changed = guess != self.guess
        self.guess = guess
        number = len(self.history) + 1
        self.labeled_in[changed] = number
        details = {"n_changed": int(changed.sum())}
        record = self.watch.record(
            round=number, n_iter=number, gap=rise, objective=self.objective, details=details
        )
        self.history.append(record)
        return record
