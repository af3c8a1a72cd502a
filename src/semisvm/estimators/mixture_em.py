"""The iterations of EM on a Gaussian mixture in which some rows know their class; `mixture` states the problem.

share  (n, M)  how much of each row belongs to each component, times the row's weight
"""

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from semisvm.dual import Status
from semisvm.estimators.gaussians import LEAST_WEIGHT, Gaussians, estimate, from_variances
from semisvm.estimators.watch import Watch
from semisvm.labels import Labels

LEAST_RIDGE = 1e-9  # of a feature's variance: below, rounding in the determinant outweighs what EM gains


class EM:
    """log_weights (M,), component_codes (M,) and gaussians are the current parameters; `how` is the classifier."""

    def __init__(self, how, X, labels: Labels, weight, watch: Watch):
        self.how, self.X, self.labels, self.weight, self.watch = how, X, labels, weight, watch
        self.total = weight.sum()
        self.variance = weight @ (X - weight @ X / self.total) ** 2 / self.total
        self.ridge = np.maximum(how.reg_covar, LEAST_RIDGE * self.variance)
        self.component_codes = np.arange(labels.n_classes)
        self.gaussians: Gaussians
        self.log_weights: np.ndarray
        self.guess, self.given_in = labels.codes, np.where(labels.is_labeled, 0, -1)
        self.history: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Start from the labeled rows alone, with one component a class."""
        share = self.weight[:, None] * (self.labels.codes[:, None] == self.component_codes)
        self._maximize(share)
        if self._has_too_few_labels():
            variance = self._variance_within_classes(share)
            self.gaussians = from_variances(self.gaussians.means, variance, self.how.covariance_type, self.ridge)
        if self.how.n_components > 1:
            self._split()

    def run(self) -> str:
        """Iterate; returns why it ended. Ctrl-C keeps the parameters of the last iteration."""
        share, self.objective = self._expect()
        try:
            for _ in range(self.how.max_iter):
                self._maximize(share)
                before = self.objective
                share, self.objective = self._expect()
                if self.watch.round_done(self._record(share)):
                    return str(Status.STOPPED)
                if self.objective - before <= self.how.tol * max(abs(before), self.total):
                    return str(Status.CONVERGED)
        except KeyboardInterrupt:
            return str(Status.INTERRUPTED)
        return str(Status.MAX_ITER)

    def _expect(self) -> tuple[np.ndarray, float]:
        """E: how much of each row belongs to each component, shape (n, M), and the objective of the parameters."""
        log_share = self.gaussians.log_density(self.X) + self.log_weights
        codes, labeled = self.labels.codes[:, None], self.labels.is_labeled[:, None]
        log_share = np.where(labeled & (codes != self.component_codes), -np.inf, log_share)
        log_density = logsumexp(log_share, axis=1)
        share = self.weight[:, None] * np.exp(log_share - log_density[:, None])
        return share, float(self.weight @ log_density)

    def _maximize(self, share) -> None:
        """M: the parameters of highest likelihood for rows so shared out."""
        size = np.maximum(share.sum(axis=0), LEAST_WEIGHT)
        gaussians = estimate(self.X, share, self.how.covariance_type, self.ridge)
        self.gaussians, self.log_weights = gaussians, np.log(size / size.sum())

    def _has_too_few_labels(self) -> bool:
        """Too few for covariances of their own: fewer rows in a class, or in all, than there are directions."""
        sizes, p = np.bincount(self.labels.codes[self.labels.is_labeled]), self.X.shape[1]
        if self.how.covariance_type == "tied":
            return sizes.sum() <= p + len(sizes)
        return sizes.min() <= (p if self.how.covariance_type == "full" else 1)

    def _variance_within_classes(self, share) -> np.ndarray:
        """One variance a feature around the classes' means; over all rows where the labeled ones show none."""
        labeled = self.labels.is_labeled
        centered = self.X[labeled] - self.gaussians.means[self.labels.codes[labeled]]
        within = self.weight[labeled] @ centered**2 / share.sum()
        return np.where(within > 0, within, self.variance) + self.ridge

    def _split(self) -> None:
        """Several components a class: means by k-means of the rows the class is given, its covariance for each.

        Covariances of the parts themselves would be singular where a part has few rows; EM narrows them soon enough.
        """
        seed = check_random_state(self.how.random_state).randint(2**31)
        guess = self._expect()[0].argmax(axis=1)
        means, log_weights, of_class = [], [], []
        for code in range(self.labels.n_classes):
            rows, weight = self.X[guess == code], self.weight[guess == code]
            k = min(self.how.n_components, len(np.unique(rows, axis=0)))
            parts = KMeans(k, n_init=10, random_state=seed).fit(rows, sample_weight=weight)
            sizes = np.bincount(parts.labels_, weights=weight, minlength=k)
            means.append(parts.cluster_centers_)
            log_weights.append(self.log_weights[code] + np.log(sizes / sizes.sum()))
            of_class += [code] * k
        covariances = self.gaussians.covariances
        if self.how.covariance_type != "tied":
            covariances = covariances[of_class]
        self.component_codes, self.log_weights = np.array(of_class), np.concatenate(log_weights)
        self.gaussians = Gaussians(self.how.covariance_type, np.concatenate(means), covariances, self.ridge)

    def _record(self, share) -> dict[str, Any]:
        """One iteration's record; notes which rows it gave another class."""
        by_class = np.stack([share[:, self.component_codes == c].sum(axis=1) for c in range(self.labels.n_classes)])
        guess = by_class.argmax(axis=0)
        changed = guess != self.guess
        self.guess = guess
        self.given_in[changed] = len(self.history) + 1
        self.history.append(
            {"round": len(self.history) + 1, "objective": self.objective, "n_changed": int(changed.sum())}
        )
        return self.history[-1]
