"""The generative model of the cluster-SVM paper: a Gaussian mixture of labeled and unlabeled rows,
by EM.

    p(x, y) = sum over the components k of class y of  weight_k N(x; mean_k, covariance_k)
    (2.1)

    maximize   sum over labeled rows   log p(x_i, y_i)
             + sum over unlabeled rows log sum_y p(x_j, y)
             (2.3)

    E  share_ik = weight_k N_k(x_i) / sum_k' of the same;  for a labeled row over the components of
       its class only
    M  weights, means and covariances of the rows so shared out

Everything is kept as logarithms, and N has its determinant: the published column failed because
that was left out. A ridge keeps covariances regular. It is part of the densities of both steps (see
`gaussians`), so that the objective, which is then a likelihood penalized by tr(ridge covariance^-1)
/ 2 per row, never falls.
"""

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from semisvm.decision.checks import cost_matrix
from semisvm.dual import Status
from semisvm.estimators.classifier import (
    SemiSupervisedMixin,
    check_every_class_is_used,
    refuse_too_large,
    refuse_undefined,
    row_weights,
    validated,
)
from semisvm.estimators.gaussians import COVARIANCE_TYPES, EM
from semisvm.estimators.progress import Progress, pass_interrupt_on, warn_caller
from semisvm.kernels.threads import with_limited_threads
from semisvm.labels import Labels, encode, refuse_marker_as_class
from semisvm.model_selection.scoring import winning_codes
from semisvm.sklearn_private import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
    with_callbacks,
)


class MixtureClassifier(CallbackSupportMixin, SemiSupervisedMixin, ClassifierMixin, BaseEstimator):
    """Gaussian mixture classifier of labeled and unlabeled rows, fitted by EM.

    The generative model of [1]_, where it failed because of an error in the package that was used.
    On the paper's Gaussian designs it is close to the Bayes rate and better than `ClusterSVC`; if
    the classes are not Gaussian, it is worse than an RBF SVM.

    Parameters
    ----------
    n_components : int, default=1
        Number of Gaussian components per class; fewer if a class has fewer distinct rows.
    covariance_type : {"diag", "full", "tied", "spherical"}, default="diag"
        Covariance of a component: one variance per feature, a full matrix, one matrix shared by all
        components, or one variance for all features.
    reg_covar : float, default=1e-6
        Ridge added to the variances; at least a billionth of a feature's variance.
    costs : dict {class: cost} or array-like of shape (n_classes, n_classes), default=None
        Costs of errors, as in `SupervisedSVC`: the class with the least expected cost is predicted.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    tol : float, default=1e-5
        Stop once the relative increase of the objective is below this.
    max_iter : int, default=200
        Maximum number of iterations of EM.
    time_limit : float, default=None
        Time limit in seconds, after which the best model so far is kept. None: no limit.
    random_state : int, RandomState instance or None, default=None
        Seed of the random draws of the fit. Pass an int for reproducible results.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    weights_ : ndarray of shape (n_components_in_all,)
        The weight of each component.
    component_codes_ : ndarray of shape (n_components_in_all,)
        The index in `classes_` of each component's class.
    means_ : ndarray of shape (n_components_in_all, n_features)
        The mean of each component.
    covariances_ : ndarray
        Of shape (n_components_in_all, n_features) for "diag", (n_components_in_all, n_features,
        n_features) for "full", (n_features, n_features) for "tied", (n_components_in_all,) for
        "spherical".
    transduction_, labeled_iter_ : ndarray of shape (n_samples,)
        Label of each training row, and the round that assigned it: 0 if in y, -1 if predicted.
    objective_ : float
        The penalized log likelihood of all rows.
    history_ : list of RoundRecord
        One record per iteration, numbered from 1: the objective, its relative increase (``gap``),
        and how many rows changed their class (``n_changed``).
    n_iter_, termination_condition_ : int, str
        Number of iterations of EM, and why they ended, such as "converged".
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
    >>> from semisvm import MixtureClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> hidden = y.copy()
    >>> hidden[::2] = hidden[1::4] = -1  # three labels in four are hidden
    >>> bool(MixtureClassifier(covariance_type="tied").fit(X, hidden).score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "reg_covar": [Interval(Real, 0, None, closed="neither")],
        "costs": [dict, "array-like", None],
        "unlabeled": "no_validation",
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance_type: Literal["diag", "full", "tied", "spherical"] = "diag",
        reg_covar: float = 1e-6,
        costs: Any = None,
        unlabeled: Any = -1,
        tol: float = 1e-5,
        max_iter: int = 200,
        time_limit: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ):
        self._keep(locals())

    costs: Any
    tol: float

    @with_limited_threads
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one (see also :doc:`/scikit-learn`).
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each row counts as. Rows of weight 0 are left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if y is not None:
            X = validated(self, X, dtype=np.float64)
            refuse_too_large(X, getattr(self, "feature_names_in_", None))
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        weight = row_weights(sample_weight, X)
        in_use = weight > 0
        check_every_class_is_used(labels, in_use)
        self.classes_ = labels.classes
        self._cost_matrix = None if self.costs is None else cost_matrix(self.costs, labels.classes)
        used_labels = labels.take(in_use)
        # What is not finite is refused.
        quiet = np.errstate(over="ignore", invalid="ignore", divide="ignore")
        with Progress(self).whole_fit("mixture") as watch, quiet:
            em = EM(self, X[in_use], used_labels, weight[in_use], watch)
            em.begin()
            ended_by = em.run()
        self._learn(em, X, labels, in_use)
        self.termination_condition_ = str(ended_by)
        if ended_by is not Status.CONVERGED:
            warn_caller(
                ConvergenceWarning(
                    f"{type(self).__name__} ended early ({ended_by}) after {self.n_iter_}"
                    f" iterations, without reaching tol={self.tol:g}. Raise max_iter or tol."
                )
            )
        if ended_by is Status.INTERRUPTED:
            pass_interrupt_on(self)
        return self

    def _learn(self, em: EM, X: np.ndarray, labels: Labels, in_use: np.ndarray) -> None:
        self.weights_ = np.exp(em.log_weights)
        self.component_codes_ = em.component_codes
        self.means_ = em.gaussians.means
        self.covariances_ = em.gaussians.covariances
        self._gaussians = em.gaussians
        self.history_ = em.history
        self.n_iter_ = len(em.history)
        self.objective_ = em.objective
        guessed = winning_codes(self._decide(self._log_joint(X)))
        self.transduction_ = labels.decode(np.where(labels.is_labeled, labels.codes, guessed))
        self.labeled_iter_ = np.where(labels.is_labeled, 0, -1)
        self.labeled_iter_[in_use] = em.labeled_in

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        """log p(x, y) for every row and class, Eq. 2.1."""
        share = np.maximum(self.weights_, np.finfo(float).tiny)  # no row may be left to a component
        log_share = self._gaussians.log_density(X) + np.log(share)
        return _by_class(log_share, self.component_codes_, len(self.classes_))

    def _decide(self, log_joint: np.ndarray) -> np.ndarray:
        """From log p(x, y), (n, n_classes), to what `decision_function` returns."""
        costs = self._cost_matrix
        if len(self.classes_) == 2:
            log_odds = log_joint[:, 1] - log_joint[:, 0]
            if costs is None:
                return log_odds
            return log_odds + np.log(costs[1, 0]) - np.log(costs[0, 1])
        log_posterior = _posterior(log_joint)
        return log_posterior if costs is None else -(np.exp(log_posterior) @ costs)

    @with_limited_threads
    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores; the class with the largest score is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, the log-odds of the second class, plus the logarithm of the ratio
            between the costs of missing it and of missing the first: positive if predicting it is
            expected to cost less. With more classes, the logarithm of each class's probability, or
            with costs, minus the expected cost of predicting the class.
        """
        return self._decide(self._checked_log_joint(X))

    @with_limited_threads
    def predict_log_proba(self, X: Any) -> np.ndarray:
        return _posterior(self._checked_log_joint(X))

    def _why_no_probabilities(self) -> str:
        return ""

    def _probabilities(self, X: Any) -> np.ndarray:
        return np.exp(self.predict_log_proba(X))

    def _checked_log_joint(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        refuse_marker_as_class(self.unlabeled)
        X = validated(self, X, dtype=np.float64, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            log_joint = self._log_joint(X)
        is_possible = np.isfinite(log_joint).any(axis=1) & ~np.isnan(log_joint).any(axis=1)
        refuse_undefined(
            np.where(is_possible, 0.0, np.nan), X, getattr(self, "feature_names_in_", None)
        )
        return log_joint


def _posterior(log_joint: np.ndarray) -> np.ndarray:
    """From log p(x, y), (n, n_classes), to log p(y | x), without losing small terms."""
    beside = log_joint - log_joint.max(axis=1, keepdims=True)
    return beside - logsumexp(beside, axis=1, keepdims=True)


def _by_class(log_share: np.ndarray, component_codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Sums over the components of each class, as logarithms: (n, M) to (n, n_classes)."""
    if len(component_codes) == n_classes:
        return log_share
    return np.stack(
        [logsumexp(log_share[:, component_codes == c], axis=1) for c in range(n_classes)], axis=1
    )
