"""The generative model of the cluster-SVM paper: a Gaussian mixture of labeled and unlabeled rows,
by EM.

    p(x, y) = sum over the components k of class y of  weight_k N(x; mean_k, covariance_k)     (2.1)

    maximize   sum over labeled rows log p(x_i, y_i) + sum over unlabeled rows log p(x_j)      (2.3)

    E  share_ik = weight_k N_k(x_i) / sum_k' of the same;  for a labeled row over the components of
       its class only
    M  weights, means and covariances of the rows so shared out

Both steps are scikit-learn's; what is new is that a labeled row can't leave its class.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.covariance import oas
from sklearn.mixture import GaussianMixture
from sklearn.utils.validation import check_is_fitted, validate_data

from semisvm.engine.parallel import libraries_on_one_thread
from semisvm.labels import Labels
from semisvm.sklearn_private import Interval, StrOptions

from ._binary import winning_codes
from ._classifier import SemiSupervisedMixin, read_costs, read_target
from ._estimator import estimator
from ._order import content_order

COVARIANCES = ("full", "tied", "diag", "spherical")


class LabeledMixture(GaussianMixture):
    """EM in which row i may belong to component k only where ``allowed[i, k]``, and counts
    `weight[i]` times.
    """

    def fit_labeled(self, X: np.ndarray, allowed: np.ndarray, weight: np.ndarray) -> Self:
        """Fit to rows with labels and weights."""
        self._log_allowed = np.where(allowed, 0.0, -np.inf)
        self._weight = weight
        self.fit(X)
        del self._log_allowed, self._weight  # new rows may belong to any component
        return self

    def _estimate_weighted_log_prob(self, X: np.ndarray, **more: Any) -> np.ndarray:
        log_prob = super()._estimate_weighted_log_prob(X, **more)
        return log_prob + getattr(self, "_log_allowed", 0.0)

    def _e_step(self, X: np.ndarray, **more: Any) -> tuple[float, np.ndarray]:
        log_prob_norm, log_resp = self._estimate_log_prob_resp(X, **more)
        return float(np.average(log_prob_norm, weights=self._weight)), log_resp

    def _m_step(self, X: np.ndarray, log_resp: np.ndarray, **more: Any) -> None:
        log_share = log_resp + np.log(self._weight)[:, None]
        if self.covariance_type != "tied":
            super()._m_step(X, log_share, **more)
            return
        # scikit-learn's tied covariance takes every row for one row.
        share = np.exp(log_share)
        own = share.sum(axis=0) + 10 * np.finfo(np.float64).eps
        self.weights_ = own / own.sum()
        self.means_ = share.T @ X / own[:, None]
        scatter = (self._weight * X.T) @ X - (own * self.means_.T) @ self.means_
        self.covariances_ = scatter / own.sum() + self.reg_covar * np.eye(X.shape[1])
        self.precisions_cholesky_ = np.linalg.inv(np.linalg.cholesky(self.covariances_)).T


@estimator
class MixtureClassifier(SemiSupervisedMixin, BaseEstimator):
    """Gaussian mixture classifier of labeled and unlabeled rows, fitted by EM.

    The generative model of [1]_. On the paper's Gaussian designs it is close to the Bayes rate and
    better than `ClusterSVC`; if the classes are not Gaussian, it is worse than an RBF SVM.

    Parameters
    ----------
    n_components : int, default=1
        Number of Gaussian components per class.
    covariance_type : {"diag", "full", "tied", "spherical"}, default="diag"
        As in :class:`sklearn.mixture.GaussianMixture`.
    reg_covar : float, default=1e-6
        Ridge added to the variances.
    costs : dict {class: cost}, default=None
        Costs of misclassifying a row of each class: the class with the least expected cost is
        predicted.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    tol : float, default=1e-3
        Stop once the objective per row increases by less than this.
    max_iter : int, default=200
        Maximum number of iterations of EM.
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of the fit. Pass an int for reproducible results.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    mixture_ : GaussianMixture
        The components: ``mixture_.means_``, ``mixture_.covariances_``, ``mixture_.weights_``.
    component_codes_ : ndarray of shape (n_components_in_all,)
        The index in `classes_` of each component's class.
    transduction_ : ndarray of shape (n_samples,)
        The label of each training row: its own, or the predicted one.
    n_iter_ : int
        Number of iterations of EM.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    sklearn.mixture.GaussianMixture : A Gaussian mixture without labels.
    ClusterSVC : For classes that are clusters of other shapes.

    References
    ----------
    .. [1] H. Bae, H. Kim and S. J. Shin, "The use of support vector machines in semi-supervised
       classification", Communications for Statistical Applications and Methods 29, 2022.
       :doi:`10.29220/CSAM.2022.29.2.193`

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> hidden = y.copy()
    >>> hidden[::2] = hidden[1::4] = -1  # three labels in four are hidden
    >>> bool(MixtureClassifier(covariance_type="tied").fit(X, hidden).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(COVARIANCES))],
        "reg_covar": [Interval(Real, 0, None, closed="neither")],
        "costs": [dict, None],
        "unlabeled": "no_validation",
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    n_components: int = 1
    covariance_type: Literal["diag", "full", "tied", "spherical"] = "diag"
    reg_covar: float = 1e-6
    costs: dict[Any, float] | None = None
    unlabeled: Any = -1
    tol: float = 1e-3
    max_iter: int = 200
    random_state: Any = None
    verbose: bool = False

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        X = self._checked(X, reset=True)
        labels, weight = read_target(self, X, y, sample_weight)
        self.classes_ = labels.classes
        self._log_cost_ = np.log(read_costs(self.costs, labels.classes))
        used = np.flatnonzero(weight > 0)
        used = used[content_order(X[used], labels.codes[used])]  # for the draws of k-means
        self._fit_components(X[used], labels.take(used), weight[used])
        guess = winning_codes(self._decide(X))
        self.transduction_ = labels.decode(np.where(labels.is_labeled, labels.codes, guess))

    def _checked(self, X: Any, *, reset: bool) -> np.ndarray:
        return validate_data(self, X, dtype=np.float64, reset=reset)

    def _fit_components(self, X: np.ndarray, labels: Labels, weight: np.ndarray) -> None:
        """EM from one component per class: the labeled rows' mean and, because variances of a few
        rows are mostly chance, the variances of all rows. Where there are to be more components,
        the rows next to each are split by k-means.

        Rows are farther from the mean of n labeled rows than from the class's own mean, by p / n
        for p features in units of their variances. The first weights make up for that: otherwise
        the class with the most labels takes nearly all rows at once, and EM stays there.
        """
        codes, labeled = labels.codes, labels.is_labeled
        one_hot = (codes[:, None] == np.arange(labels.n_classes)) * weight[:, None]
        size = one_hot.sum(axis=0)
        means = one_hot.T @ X / size[:, None]
        centered = X[labeled] - means[codes[labeled]]
        spread = weight @ (X - weight @ X / weight.sum()) ** 2 / weight.sum()
        variance = spread + self.reg_covar
        excess = (spread / variance).sum() / np.maximum(size, 1)
        log_share = np.log(size) + excess / 2
        of_component = np.arange(labels.n_classes)
        if self.n_components > 1:
            distance = ((X[:, None, :] - means) ** 2 / variance).sum(axis=2)
            nearest = np.where(labeled, codes, (log_share - distance / 2).argmax(axis=1))
            parts = [
                KMeans(min(self.n_components, n), n_init=10, random_state=self.random_state)
                .fit(X[nearest == code], sample_weight=weight[nearest == code])
                .cluster_centers_
                for code, n in enumerate(np.bincount(nearest, minlength=labels.n_classes))
            ]
            of_component = np.repeat(of_component, [len(part) for part in parts])
            means = np.concatenate(parts)
            log_share = np.log(size)[of_component]  # these are means of many rows
        self.mixture_ = LabeledMixture(
            len(means),
            covariance_type=self.covariance_type,
            reg_covar=self.reg_covar,
            tol=self.tol,
            max_iter=self.max_iter,
            weights_init=np.maximum(softmax(log_share), np.finfo(np.float64).tiny),
            means_init=means,
            precisions_init=self._precisions(centered, variance, len(means)),
            verbose=self.verbose,
        )
        is_own = codes[:, None] == of_component
        self.mixture_.fit_labeled(X, is_own | ~labeled[:, None], weight)
        self.component_codes_ = of_component
        self.n_iter_ = self.mixture_.n_iter_

    def _precisions(self, centered: np.ndarray, variance: np.ndarray, n: int) -> np.ndarray:
        """The same precision for n components, of the type asked for; correlations are those of
        the labeled rows around their means, shrunk by how few these are.
        """
        if self.covariance_type == "diag":
            return np.tile(1 / variance, (n, 1))
        if self.covariance_type == "spherical":
            return np.full(n, 1 / variance.mean())
        correlation, _ = oas(centered / np.sqrt(variance), assume_centered=True)
        full = np.linalg.inv(correlation * np.sqrt(np.outer(variance, variance)))
        full = (full + full.T) / 2
        return full if self.covariance_type == "tied" else np.tile(full, (n, 1, 1))

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        """log p(x, y), (n, n_classes), Eq. 2.1."""
        by_component = self.mixture_._estimate_weighted_log_prob(X)
        codes = self.component_codes_
        columns = [logsumexp(by_component[:, codes == c], axis=1) for c in np.unique(codes)]
        return np.stack(columns, axis=1)

    def _decide(self, X: np.ndarray) -> np.ndarray:
        log_posterior = log_softmax(self._log_joint(X), axis=1) + self._log_cost_
        if len(self.classes_) == 2:
            return log_posterior[:, 1] - log_posterior[:, 0]
        return log_posterior

    @libraries_on_one_thread()
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            One column per class, in the order of `classes_`.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        return np.exp(log_softmax(self._log_joint(X), axis=1))
