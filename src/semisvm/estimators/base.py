"""The scikit-learn side of every SVM here: check the input, cut it into two-class problems, put the fits together.

A method is a subclass with one method of its own, `_fit_binary(task) -> BinaryFit` (see `binary`). What is learned
has one row or entry a binary problem: ``dual_coef_`` (n_problems, n_support), ``intercept_`` (n_problems,).
"""

import math
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from semisvm.device import on_host
from semisvm.dual import Status
from semisvm.estimators.binary import BinaryFit, BinaryTask
from semisvm.estimators.costs import read_costs
from semisvm.estimators.multiclass import Pair, combine, pairs
from semisvm.estimators.one_sided import SCHEME, OneSided, in_units_of_cost, one_sided
from semisvm.estimators.watch import Watch
from semisvm.estimators.weights import sample_weights
from semisvm.kernels import Formula, kernel_rows, make_formula, scores_of_new_rows
from semisvm.labels import Labels, encode
from semisvm.sklearn_private import Interval, StrOptions, fit_context

# Kernel rows are kept in float32, unless a tolerance below this is asked for or there are few rows: there float64
# costs nothing and makes the model independent of the order of rows to nine digits.
FLOAT32_SUFFICES = 1e-5
FEW_ROWS = 1000


class BaseSVC(CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Common parameters, checks, decomposition and prediction; see `SupervisedSVC` for what they mean."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions({"linear", "rbf", "poly", "sigmoid", "precomputed"}), callable],
        "degree": [Interval(Real, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "costs": [dict, "array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "multi_class": [StrOptions({"ovr", "ovo"})],
        "unlabeled": "no_validation",
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "cache_size": [Interval(Real, 0, None, closed="neither"), None],
        "device": [str],
        "verbose": ["verbose"],
    }

    _few_rows: ClassVar[int] = FEW_ROWS  # up to which kernel rows are kept in float64
    _solves_once: ClassVar[bool] = False  # whether a binary task is one dual problem, and not a sequence of them
    _honors: ClassVar[frozenset[str]] = frozenset()  # which of `costs.MATRIX` and `costs.SAMPLE_COST` it can

    def _fit_binary(self, task: BinaryTask) -> BinaryFit:
        raise NotImplementedError

    def _rows_in_use(self, labels: Labels) -> np.ndarray:
        """Which rows a method learns from: all, unless it says otherwise."""
        return np.ones(len(labels.codes), dtype=bool)

    def _rows_set_aside(self, labels: Labels, weight: np.ndarray) -> np.ndarray:
        """Which rows are kept from all training, for use after it: none, unless a method says otherwise."""
        return np.zeros(len(labels.codes), dtype=bool)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, sample_cost=None):
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or with ``kernel="precomputed"`` the kernel matrix between them.
        y : array-like of shape (n_samples,)
            A label for each row, the marker `unlabeled` where there is none.
        sample_weight : array-like of shape (n_samples,), optional
            What multiplies C for each row.
        sample_cost : array-like of shape (n_samples,), (n_samples, n_classes) or \
(n_samples, n_classes, n_classes), optional
            In place of `costs`, what misclassifying each row costs: whatever its class; if it is of class k, be that
            known or not; or a matrix a row, [i, true class, predicted class].
        """
        X, y = on_host(X), on_host(y)
        if y is not None:
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        labels = encode(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        weight = sample_weights(sample_weight, X)
        in_use = self._rows_in_use(labels) & (weight > 0) & ~self._rows_set_aside(labels, weight)
        labels_in_use = require_two_classes(labels, in_use)

        self.classes_ = labels.classes
        asked = self.costs, sample_cost, self.class_weight
        self._costs = read_costs(*asked, labels, in_use, honors=self._honors, who=type(self).__name__)
        self._scheme = self.multi_class if self._costs.matrix is None else SCHEME
        X_in_use = _select(X, in_use, self.kernel)
        self._formula = self._settle_kernel(X_in_use, labels_in_use, weight[in_use])
        fits = self._fit_all(X_in_use, labels_in_use, weight[in_use])
        if self._costs.matrix is not None:
            fits = [in_units_of_cost(fit, self._costs.matrix) for fit in fits]
        self._learn(X, np.flatnonzero(in_use), labels, fits)
        del self._costs  # they may be of single rows, and are in the fit now
        self._warn_unless_converged(fits)
        return self

    def _settle_kernel(self, X, labels: Labels, weight) -> Formula:
        """The kernel with its parameters as numbers; `labels` are for methods that look at the labeled rows."""
        return make_formula(self.kernel, X, gamma=self.gamma, coef0=self.coef0, degree=self.degree, weight=weight)

    def _fit_all(self, X, labels: Labels, weight) -> list[BinaryFit]:
        """The fits of all binary problems, and what a method has to ask once it has them: nothing, unless it does."""
        return self._fit_pairs(X, labels, weight)

    def _fit_pairs(self, X, labels: Labels, weight) -> list[BinaryFit]:
        """Solve the binary problems one after the other; those that use the same rows share their kernel rows."""
        tasks = pairs(labels.n_classes, self.multi_class)
        root = self._init_callback_context(max_subtasks=len(tasks))
        root.call_on_fit_task_begin(estimator=self)
        shared, fits = None, []
        for pair in tasks:
            rows = pair.rows(labels)
            if shared is None or not rows.all():
                serves_one_solve = self._solves_once and (len(tasks) == 1 or not rows.all())
                shared = self._kernel_rows(_select(X, rows, self.kernel), is_frugal=serves_one_solve)
            context = root.subcontext(task_name=pair.name(labels.classes), max_subtasks=None)
            context.call_on_fit_task_begin(estimator=self)
            watch = Watch(self, context, pair.name(labels.classes))
            fit = _spread(self._fit_binary(self._task(pair, labels, weight, rows, shared, watch)), rows)
            fits.append(fit)
            stop = context.call_on_fit_task_end(estimator=self)
            if stop or fit.status in (Status.INTERRUPTED, Status.STOPPED):
                fits += [_untrained(len(rows), fit.status)] * (len(tasks) - len(fits))
                break
        root.call_on_fit_task_end(estimator=self)
        return fits

    def _tasks(self, labels: Labels) -> list[Pair | OneSided]:
        """The problems of one labeling: those of pairs, or where there is a cost matrix the regressions of classes."""
        matrix = self._costs.matrix
        return [*pairs(labels.n_classes, self.multi_class)] if matrix is None else [*one_sided(matrix)]

    def _kernel_rows(self, X, is_frugal: bool = False):
        dtype = np.float32 if self.tol >= FLOAT32_SUFFICES and X.shape[0] > self._few_rows else np.float64
        settings = {"cache_size": self.cache_size, "dtype": dtype, "is_frugal": is_frugal, "device": self.device}
        return kernel_rows(X, self._formula, **settings)

    def _task(self, pair: Pair, labels: Labels, weight, rows, kernel, watch) -> BinaryTask:
        codes, costs = labels.codes[rows], self._costs.select(rows)
        negative = costs.of_rest(pair.positive) if pair.negative is None else costs.of(pair.negative)
        return BinaryTask(
            kernel=kernel,
            sign=labels.sign(pair.positive)[rows],
            weight=weight[rows] * np.where(codes >= 0, costs.price(codes), 1.0),
            cost_of={+1: costs.of(pair.positive), -1: negative},
            watch=watch,
            positive=pair.positive,
            counts=weight[rows],
        )

    def _learn(self, X, rows_in_use, labels: Labels, fits: list[BinaryFit]) -> None:
        """Set the learned attributes from the fits of all binary problems."""
        row_beta = np.stack([fit.row_beta for fit in fits])
        is_support = (row_beta != 0).any(axis=0)
        self.support_ = rows_in_use[is_support]
        self.support_vectors_ = X[self.support_] if self.kernel != "precomputed" else np.empty((0, 0))
        self.dual_coef_ = row_beta[:, is_support]
        self.intercept_ = np.array([fit.bias for fit in fits])
        self.n_iter_ = max(1, sum(fit.n_iter for fit in fits))
        self.termination_condition_ = str(_worst(fits).status)
        self.history_ = [record for fit in fits for record in fit.history]
        self._transduce(X, rows_in_use, labels, fits)

    def _transduce(self, X, rows_in_use, labels: Labels, fits: list[BinaryFit]) -> None:
        """A label for every training row, and the round that gave it: true labels stay, the rest are predicted."""
        scores = np.stack([fit.scores for fit in fits], axis=1)
        codes = labels.codes.copy()
        rounds = np.where(labels.is_labeled, 0, -1)
        guessed = self._codes_of(combine(scores, labels.n_classes, self._scheme))
        if len(fits) == 1 and (guess := fits[0].guess) is not None:
            guessed = np.where(guess != 0, guess > 0, guessed)
        codes[rows_in_use] = np.where(labels.is_labeled[rows_in_use], codes[rows_in_use], guessed)
        outside = np.flatnonzero(codes < 0)
        if len(outside):
            codes[outside] = self._codes_of(self.decision_function(X[outside]))
        for fit in fits:
            if fit.rounds is not None:
                rounds[rows_in_use] = np.maximum(rounds[rows_in_use], fit.rounds)
        self.transduction_ = labels.decode(codes)
        self.labeled_iter_ = rounds

    def _warn_unless_converged(self, fits: list[BinaryFit]) -> None:
        worst = _worst(fits)
        if worst.status is Status.CONVERGED:
            return
        n_open = sum(fit.status is not Status.CONVERGED for fit in fits)
        warnings.warn(
            f"{type(self).__name__} ended early ({worst.status}) in {n_open} of {len(fits)} binary problems after "
            f"{self.n_iter_} steps, with a gap of {worst.gap:.2g} where tol={self.tol:g} was asked. The model is "
            f"usable but not optimal. {_REMEDY[worst.status]}",
            ConvergenceWarning,
            stacklevel=5,
        )

    def decision_function(self, X):
        """Signed scores: shape (n,) for two classes, (n, n_classes) for more; the largest wins."""
        check_is_fitted(self)
        X = validate_data(self, on_host(X), accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return combine(self._scores(X), len(self.classes_), self._scheme)

    def _scores(self, X) -> np.ndarray:
        """What the binary problems say of checked rows, (n, n_problems)."""
        if self._formula.name == "precomputed":
            X = X[:, self.support_]
        model = self.support_vectors_, self.dual_coef_, self._formula
        return scores_of_new_rows(X, *model, device=self.device) + self.intercept_

    def predict(self, X):
        """The class of each row; with two classes, the second where the score is above 0."""
        codes = self._codes_of(self.decision_function(X))
        return self.classes_[codes]

    def _codes_of(self, decision) -> np.ndarray:
        return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


_REMEDY = {
    Status.MAX_ITER: "Raise max_iter, or leave it at None.",
    Status.TIME_LIMIT: "Raise time_limit, or leave it at None.",
    Status.INTERRUPTED: "Fit again without interrupting to finish it.",
    Status.STOPPED: "A callback asked to stop.",
    Status.STALLED: "Scale the features, lower C, or raise tol: rounding keeps it from going further.",
}


def require_two_classes(labels: Labels, in_use) -> Labels:
    """Labels of the rows in use; rows without weight can leave a class with no row at all."""
    kept = Labels(labels.classes, labels.codes[in_use])
    present = np.unique(kept.codes[kept.is_labeled])
    if len(present) < labels.n_classes:
        gone = np.setdiff1d(np.arange(labels.n_classes), present)
        raise ValueError(
            f"No row of class {labels.classes[gone[0]]!r} has a positive sample_weight: give one some weight or "
            "leave the class out of y."
        )
    return kept


def _select(X, rows: np.ndarray, kernel):
    """The rows in use, and for a kernel matrix their columns too; X itself where that is all of them."""
    if rows.all():
        return X
    return X[np.ix_(rows, rows)] if isinstance(kernel, str) and kernel == "precomputed" else X[rows]


def _spread(fit: BinaryFit, rows: np.ndarray) -> BinaryFit:
    """A fit on some of the rows as a fit on all of them, the others having no part in it."""
    if rows.all():
        return fit
    rounds = None if fit.rounds is None else _widen(fit.rounds, rows, -1)
    return replace(fit, row_beta=_widen(fit.row_beta, rows, 0), scores=_widen(fit.scores, rows, 0), rounds=rounds)


def _widen(values, rows, blank):
    wide = np.full(len(rows), blank, dtype=values.dtype)
    wide[rows] = values
    return wide


def _untrained(n_rows: int, status: Status) -> BinaryFit:
    """What is left of a binary problem the user did not want to wait for: a score of 0 everywhere."""
    nothing = np.zeros(n_rows)
    return BinaryFit(nothing, 0.0, nothing, 0, math.inf, status, [])


def _worst(fits: list[BinaryFit]) -> BinaryFit:
    """The fit that fell short the most, which speaks for all."""
    return max(fits, key=lambda fit: (fit.status is not Status.CONVERGED, fit.gap))
