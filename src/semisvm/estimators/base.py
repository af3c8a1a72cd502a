"""The scikit-learn interface of all SVMs here: checks the input, calls the method, sets the
attributes.

A method is a subclass with one method of its own, ``_fit(problem) -> MethodFit``: `problem` says
what it is given, `binary` and `rounds` hold what helps it with more than two classes. A method that
moves the boundary afterward (an operating point, the guard) adds to ``_decide`` too. What is
learned has one line or entry per binary problem: ``dual_coef_`` (n_problems, n_support),
``intercept_`` (n_problems,).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from semisvm.device import on_device_of, on_host
from semisvm.dual import Status
from semisvm.errors import UndefinedError
from semisvm.estimators.binary import MethodFit, combine
from semisvm.estimators.classifier import (
    FLOATS,
    SemiSupervisedMixin,
    check_every_class_is_used,
    kernel_overflow,
    pick_rows,
    read_random_sample,
    refuse_undefined,
    row_weights,
    training_rows,
    validated,
    widened,
)
from semisvm.estimators.equal_rows import join_copies
from semisvm.estimators.problem import KernelParameters, Limits, TrainingProblem, read_costs
from semisvm.estimators.progress import (
    Progress,
    ended_early,
    pass_interrupt_on,
    warn_caller,
    warn_of_scales,
)
from semisvm.estimators.streams import StreamProblem, fit_stream, scores_of_rows
from semisvm.kernels import scores_of_new_rows
from semisvm.kernels.formula import KERNEL_NAMES
from semisvm.kernels.threads import limited_threads, with_limited_threads
from semisvm.labels import Labels, encode, refuse_marker_as_class
from semisvm.machines import Solver
from semisvm.matrices import PickedRows, as_dense, is_sparse_matrix, stored_numbers
from semisvm.model_selection.scoring import winning_codes
from semisvm.primal.dask_rows import is_streamed
from semisvm.primal.rows import Rows
from semisvm.sklearn_private import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    fit_context,
    with_callbacks,
)

Kernel = str | Callable
MultiClass = Literal["auto", "ovr", "ovo"]
DUAL_ATTRIBUTES = ("support_", "support_vectors_", "dual_coef_", "n_support_")

# Of the estimators that have a primal form.
FORM_CONSTRAINTS: dict[str, Any] = {
    "loss": [StrOptions({"hinge", "squared_hinge"})],
    "solver": [StrOptions({"auto", "dual", "primal"})],
}


class BaseSVC(CallbackSupportMixin, SemiSupervisedMixin, ClassifierMixin, BaseEstimator):
    """Common parameters, checks and prediction; `SupervisedSVC` documents the parameters."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "degree": [Interval(Real, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "costs": [dict, "array-like", None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "multi_class": [StrOptions({"auto", "ovr", "ovo"})],
        "unlabeled": "no_validation",
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "cache_size": [Interval(Real, 0, None, closed="neither"), None],
        "device": [str],
        "verbose": ["verbose"],
    }

    C: Any
    kernel: Kernel
    degree: float
    gamma: Any
    coef0: float
    costs: Any
    class_weight: Any
    multi_class: MultiClass
    loss: Any
    solver: Solver
    unlabeled: Any
    tol: float
    max_iter: int | None
    time_limit: float | None
    cache_size: float | None
    device: str
    verbose: bool

    _keeps_tensors: ClassVar[bool] = False  # whether `_fit` takes `TensorRows`

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        """Learn from the rows in use: the one method that subclasses must define."""
        raise NotImplementedError

    @with_limited_threads
    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, sample_cost: Any = None) -> Self:
        """Learn from labeled and unlabeled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows, or with ``kernel="precomputed"`` the kernel matrix between them.
        y : array-like of shape (n_samples,)
            The labels; `unlabeled` marks rows without one (see also :doc:`/scikit-learn`).
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights. A weight of 2 equals duplicating the row; a weight of 0 removes it.
        sample_cost : array-like of shape (n_samples, ...), default=None
            Costs of errors on each row, instead of `costs`: (n_samples,), (n_samples, n_classes) by
            true class, or (n_samples, n_classes, n_classes) by true and predicted class.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit_rows(X, y, sample_weight, sample_cost)

    def _fit_rows(self, X, y, sample_weight, sample_cost, **more: Any) -> Self:
        """Fit; `more` is what `_read_problem` takes."""
        if is_streamed(X):
            return fit_stream(self, X, y, sample_weight, sample_cost)
        whole = self._read_problem(X, y, sample_weight, sample_cost, **more)
        X = whole.X
        self._warn_of_scales(X)
        in_use = whole.weight > 0
        problem = whole.select(in_use)
        self.classes_ = problem.labels.classes
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
                found = self._fit(problem)
        except (UndefinedError, np.linalg.LinAlgError):
            found = None
        if found is None or not all(fit.is_finite for fit in found.fits):
            raise kernel_overflow(self.kernel, self.degree, X, self._names_of_columns())
        rows = np.flatnonzero(in_use)
        rows, found = join_copies(rows if found.rows is None else rows[found.rows], found)
        self._learn(X, rows, whole.labels, found)
        return self._end_fit(problem, found)

    def _read_problem(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        sample_cost: Any,
        *,
        read_labels: Callable[..., Labels] = encode,
        random_sample: Any = None,
        groups: Any = None,
    ) -> TrainingProblem:
        """Check what the user gives; rows of weight 0 are still there.

        `read_labels` is `encode`, or does the same for a target that only this method can learn
        from.
        """
        X = self._rows_in_place(X)
        y = on_host(y)
        sample_weight = on_host(sample_weight)
        if y is not None:
            X = training_rows(self, X, is_kernel=self._is_precomputed())
        labels = read_labels(y, unlabeled=self.unlabeled, n_rows=None if y is None else X.shape[0])
        weight = row_weights(sample_weight, X)
        in_use = weight > 0
        check_every_class_is_used(labels, in_use)
        # Of other methods, a `loss` is something of their own.
        has_both_forms = self._parameter_constraints.keys() >= FORM_CONSTRAINTS.keys()
        return TrainingProblem(
            name=type(self).__name__,
            X=X,
            labels=labels,
            weight=weight,
            costs=read_costs(self.costs, sample_cost, self.class_weight, labels, in_use),
            kernel=KernelParameters(self.kernel, self.gamma, self.coef0, self.degree),
            multi_class=self.multi_class,
            limits=Limits(
                self.tol,
                self.max_iter,
                None if self.time_limit is None else time.perf_counter() + self.time_limit,
                self.device,
                self.cache_size,
            ),
            progress=Progress(self),
            random_sample=read_random_sample(random_sample, X.shape[0]),
            solver=self.solver if has_both_forms else "dual",
            loss=self.loss if has_both_forms else "hinge",
            groups=None if groups is None else column_or_1d(groups),
        )

    def _warn_of_scales(self, X: Any) -> None:
        if not callable(self.kernel) and not self._is_precomputed():
            warn_of_scales(self, X)

    def _rows_in_place(self, X: Any) -> Any:
        """Rows on the device where the fit can use them, else on the host."""
        return on_device_of(X, self.device) if self._keeps_tensors else on_host(X)

    def _is_precomputed(self) -> bool:
        return self.kernel == "precomputed"

    def _names_of_columns(self) -> Any:
        """The features' names, where X has some; columns of a kernel matrix are rows."""
        return None if self._is_precomputed() else getattr(self, "feature_names_in_", None)

    def _learn(self, X, rows_in_use: np.ndarray, labels: Labels, found: MethodFit) -> None:
        """Set the learned attributes from the fits of all binary problems."""
        self._learn_machines(found)
        if not found.is_primal:
            row_beta = np.stack([fit.row_beta for fit in found.fits])
            is_support = (row_beta != 0).any(axis=0)
            self.support_ = rows_in_use[is_support]
            has_vectors = found.formula.name != "precomputed"
            vectors = pick_rows(X, self.support_) if has_vectors else np.empty((0, 0))
            self.support_vectors_ = on_host(vectors)
            coefficients = row_beta[:, is_support]
            self.dual_coef_ = csr_matrix(coefficients) if is_sparse_matrix(X) else coefficients
        if found.settle is not None:
            found.settle(lambda rows: self._score_checked(pick_rows(X, rows)))
        for name, values in found.per_row.items():
            wide = np.full(
                len(labels.codes), np.nan if values.dtype.kind == "f" else -1, dtype=values.dtype
            )
            wide[rows_in_use] = values
            setattr(self, name, wide)
        codes = self._transduce(X, rows_in_use, labels, found)
        self.transduction_ = labels.decode(codes)
        if not found.is_primal:
            self.n_support_ = np.bincount(codes[self.support_], minlength=labels.n_classes)
        self.labeled_iter_ = np.where(labels.is_labeled, 0, -1)
        for fit in found.fits:
            if fit.rounds is not None:
                self.labeled_iter_[rows_in_use] = np.maximum(
                    self.labeled_iter_[rows_in_use], fit.rounds
                )

    def _learn_machines(self, found: MethodFit) -> None:
        """Set what the SVMs are and how they came about, without an entry per row."""
        self._formula = found.formula
        self._scheme = found.scheme
        for name in (*DUAL_ATTRIBUTES, "_coef"):
            self.__dict__.pop(name, None)  # of an earlier fit in the other form
        if found.is_primal:
            self._coef = found.weights_of_features
        self.intercept_ = np.array([fit.bias for fit in found.fits])
        self.gap_ = np.array([fit.gap for fit in found.fits])
        self.n_iter_ = max(1, sum(fit.n_iter for fit in found.fits))
        self.termination_condition_ = found.termination_condition
        self.history_ = [record for fit in found.fits for record in fit.history]

    def _end_fit(self, problem: TrainingProblem | StreamProblem, found: MethodFit) -> Self:
        """Issue the warnings of the fit, and pass an interrupt on to a loop around it."""
        for warning in (*found.warnings, *ended_early(problem, found)):
            warn_caller(warning)
        if self.termination_condition_ == Status.INTERRUPTED:
            pass_interrupt_on(self)
        return self

    def _transduce(
        self, X, rows_in_use: np.ndarray, labels: Labels, found: MethodFit
    ) -> np.ndarray:
        """The class of every training row as an index: true labels stay, the rest are predicted."""
        codes = labels.codes.copy()
        scores = np.stack([fit.scores for fit in found.fits], axis=1)
        guessed = winning_codes(self._decide(scores))
        if found.codes is not None:
            guessed = np.where(found.codes >= 0, found.codes, guessed)
        is_known = ~np.isnan(scores).any(axis=1) | (
            found.codes >= 0 if found.codes is not None else False
        )
        is_open = ~labels.is_labeled[rows_in_use] & is_known
        codes[rows_in_use[is_open]] = guessed[is_open]
        if len(outside := np.flatnonzero(codes < 0)):
            is_whole = found.is_primal or found.formula.name == "precomputed"
            new = pick_rows(X, outside) if is_whole else PickedRows(X, outside, pick_rows)
            codes[outside] = winning_codes(self._decide(self._score_checked(new)))
        return codes

    def _raw_scores(self, X) -> np.ndarray:
        """Check the rows and score them by the binary problems, (n, n_problems)."""
        check_is_fitted(self)
        refuse_marker_as_class(self.unlabeled)
        if isinstance(X, Rows):
            return scores_of_rows(self, X)
        checked = validated(
            self, self._rows_in_place(X), accept_sparse="csr", dtype=FLOATS, reset=False
        )
        return self._score_checked(self._in_training_units(widened(checked)))

    def _in_training_units(self, X: Any) -> Any:
        """New rows that were checked, in the units of the rows that the SVM was trained on."""
        return X

    def _score_checked(self, X) -> np.ndarray:
        """Scores of rows that were checked, by the binary problems, (n, n_problems); finite."""
        # What is not finite is refused below.
        with limited_threads(), np.errstate(over="ignore", invalid="ignore"):
            if hasattr(self, "_coef"):
                scores = np.asarray(X @ self._coef.T) + self.intercept_
            else:
                K = X[:, self.support_] if self._formula.name == "precomputed" else X
                machine = self.support_vectors_, as_dense(self.dual_coef_), self._formula
                scores = scores_of_new_rows(K, *machine, device=self.device) + self.intercept_
        refuse_undefined(scores, X, self._names_of_columns())
        return scores

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        """From the scores of the binary problems, (n, n_problems), to decision values."""
        return combine(scores, len(self.classes_), self._scheme)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, of shape (n_problems, n_features); only with a linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available with kernel='linear'.")
        check_is_fitted(self)
        coef = self._coef if hasattr(self, "_coef") else self.dual_coef_ @ self.support_vectors_
        # What is written there would change nothing.
        stored_numbers(coef).flags.writeable = False
        return coef

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
