"""What all SVMs here share: their parameters, the one `fit`, and prediction.

A method is a subclass with one method of its own. It is written either for two classes,

    _fit_binary(problem: BinaryProblem) -> BinaryFit

or, where a row is given one of all the classes, for all of them:

    _fit_classes(data: TrainingSet) -> list[BinaryFit]

From `fit` to the solver it is six calls: ``fit``, ``_learn``, ``_fit_classes``, ``_fit_binary``,
``Rounds.solve`` and ``Engine.solve``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from semisvm.engine import Formula, Status, make_formula
from semisvm.engine.dask_rows import is_dask
from semisvm.engine.device import on_host
from semisvm.engine.formula import KERNEL_NAMES
from semisvm.engine.kernels.new_rows import scores_of_new_rows
from semisvm.engine.parallel import libraries_on_one_thread
from semisvm.labels import Labels
from semisvm.matrices import as_dense, is_sparse_matrix, with_small_indices, without_duplicates
from semisvm.sklearn_private import Interval, StrOptions

from ._binary import BinaryFit, BinaryProblem, TrainingSet, combine, guessed_codes, winning_codes
from ._classifier import WHOEVER_CALLED_FIT, SemiSupervisedMixin, read_costs, read_target
from ._engine import Engine
from ._estimator import estimator
from ._order import content_order

FLOATS = [np.float64, np.float32]
WORST_ENDINGS = ("max_rounds", "cycle", "margin_empty")  # of methods, the worst first


@estimator
class BaseSVC(SemiSupervisedMixin, BaseEstimator):
    """Base class of the support vector classifiers.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a row on the wrong side of its margin.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.svm.SVC`; a callable returns the kernel between two matrices of rows.
    degree : float, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        As in :class:`sklearn.svm.SVC`; the variance in "scale" is weighted by `sample_weight`.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    tol : float, default=1e-3
        Tolerance of the stopping criterion (`gap_`). Below 1e-5, kernels are computed in float64.
    cache_size : float, default=None
        Size of the kernel cache in MB. None: half of the free memory.
    class_weight : dict or "balanced", default=None
        Multiplies C for the rows of each class, as in scikit-learn.
    verbose : bool, default=False
        Print a line for each round.
    max_iter : int, default=-1
        Maximum number of steps of each solve. -1: no limit.
    costs : dict {class: cost}, default=None
        Costs of misclassifying a row of each class, which multiply C.
    multi_class : {"ovr", "ovo"}, default="ovr"
        One-vs-rest or one-vs-one.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    device : {"auto", "cpu", "cuda"}, default="auto"
        "cuda" or "cuda:1" needs an NVIDIA GPU and ``semisvm[gpu]``; "auto" uses it for many rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    support_, n_support_, support_vectors_ : ndarray or sparse matrix
        Support vectors: their indices, their number per class, and the rows themselves.
    dual_coef_, intercept_, coef_ : ndarray or sparse matrix
        Dual coefficients, intercepts and (linear kernel) feature weights of the binary problems.
    gap_ : ndarray of shape (n_problems,)
        The largest violation of the optimality conditions; in primal form the relative duality gap.
    transduction_ : ndarray of shape (n_samples,)
        The label of each training row: its own, or the one it was given.
    history_ : list of dict
        One record per round.
    n_iter_ : ndarray of shape (n_problems,)
        Number of solver steps, in all rounds together.
    termination_condition_ : str
        Why the fit ended, such as "converged".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
        "degree": [Interval(Real, 0, None, closed="left")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "cache_size": [Interval(Real, 0, None, closed="neither"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "verbose": ["verbose"],
        "max_iter": [Interval(Integral, -1, None, closed="left")],
        "costs": [dict, None],
        "multi_class": [StrOptions({"ovr", "ovo"})],
        "unlabeled": "no_validation",
        "device": [str],
    }
    _uses_unlabeled: ClassVar[bool] = True
    _takes_dask: ClassVar[bool] = False  # `_fit_binary` takes a `DaskProblem` too

    C: float = field(default=1.0, kw_only=False)
    kernel: str | Callable = "rbf"
    degree: float = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    cache_size: float | None = None
    class_weight: Any = None
    verbose: bool = False
    max_iter: int = -1
    costs: dict[Any, float] | None = None
    multi_class: Literal["ovr", "ovo"] = "ovr"
    unlabeled: Any = -1
    device: str = "auto"

    def _fit_classes(self, data: TrainingSet) -> list[BinaryFit]:
        """Learn from the rows in use: one fit per binary problem, over all rows of `data`."""
        return [
            self._fit_binary(problem).over(problem.takes_part) for problem in data.binary_problems()
        ]

    def _fit_binary(self, problem: BinaryProblem) -> BinaryFit:
        raise NotImplementedError

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> None:
        if is_dask(X):
            from ._dask import learn_from_dask

            learn_from_dask(self, X, y, sample_weight)
            return
        X = self._checked(X, reset=True)
        labels, weight = read_target(self, X, y, sample_weight)
        self.classes_ = labels.classes
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            data = self._training_set(X, labels, weight)
            fits = self._fit_classes(data)
        if any(fit.w is not None for fit in fits):  # in the primal form, in the end
            fits = [fit.with_weights(data.X) for fit in fits]
        self._set_model(data.formula, fits)
        self._set_support(data, fits)
        self._set_transduction(X, labels, data, fits)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Rows as the engine takes them: dense or CSR, in float64 or float32."""
        X = on_host(X)
        how: dict[str, Any] = {"dtype": FLOATS, "accept_sparse": "csr"}
        if self.kernel == "precomputed":
            if issparse(X):
                raise TypeError(
                    "Sparse precomputed kernels are not supported: pass a dense matrix."
                )
            how["accept_sparse"] = False
        X = validate_data(self, X, reset=reset, **how)
        if reset and self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"A precomputed kernel must be a square matrix in fit, got {X.shape}.")
        return without_duplicates(with_small_indices(X)) if is_sparse_matrix(X) else X

    def _training_set(self, X: Any, labels: Labels, weight: np.ndarray) -> TrainingSet:
        """The rows to learn from, with the kernel's parameters and what each class costs.

        In the dual form they are put in an order that depends on what they hold alone: draws, ties
        and the path of the solver are then the same in whatever order the user has them.
        """
        rows = np.flatnonzero((weight > 0) & (labels.is_labeled | self._uses_unlabeled))
        is_kernel = self.kernel == "precomputed"
        if len(rows) < len(weight):
            X = X[np.ix_(rows, rows)] if is_kernel else X[rows]
        engine = Engine.of(self, X)
        if engine.form == "dual" and not is_kernel:
            order = content_order(X, labels.codes[rows])
            X, rows = X[order], rows[order]
        used, weight = labels.take(rows), weight[rows]
        return TrainingSet(
            X=X,
            labels=used,
            weight=weight,
            class_cost=self._class_cost(used.classes, used.n_of_class),
            multi_class=self.multi_class,
            formula=self._formula_of(X, used, weight),
            engine=engine,
            origin=rows,
            n_given=len(labels.codes),
        )

    def _class_cost(self, classes: np.ndarray, n_of_class: np.ndarray) -> np.ndarray:
        """What multiplies C for the rows of each class, (K,): costs times class weights."""
        if self.class_weight == "balanced":
            factor = n_of_class.sum() / (len(classes) * n_of_class)
        else:
            factor = compute_class_weight(self.class_weight, classes=classes, y=classes)
        return factor * read_costs(self.costs, classes)

    def _formula_of(self, X: Any, labels: Labels, weight: np.ndarray, **parameters: Any) -> Any:
        known = {"gamma": self.gamma, "coef0": self.coef0, "degree": self.degree} | parameters
        return make_formula(self.kernel, X, weight=weight, **known)

    def _set_model(self, formula: Formula, fits: list[BinaryFit]) -> None:
        """Set what all fits have, and what is known of the solves."""
        if not all(fit.is_finite for fit in fits):
            raise ValueError(
                "The coefficients are not finite: the kernel of these rows is too large for"
                " float64. Scale the features, or lower gamma, degree or C."
            )
        self._formula_ = formula
        if fits[0].w is not None:
            self._coef_ = np.stack([fit.w for fit in fits])
        self.intercept_ = np.array([fit.bias for fit in fits])
        self.gap_ = np.maximum(0.0, [fit.gap for fit in fits])  # below 0 by rounding
        self.n_iter_ = np.array([max(1, fit.n_iter) for fit in fits])
        self.history_ = [record for fit in fits for record in fit.history]
        worst = max(fits, key=lambda fit: (fit.status is not Status.CONVERGED, fit.gap))
        endings = {fit.facts.get("ended") for fit in fits}
        ended = next((ending for ending in WORST_ENDINGS if ending in endings), Status.CONVERGED)
        self.termination_condition_ = str(ended)
        if worst.status is not Status.CONVERGED:
            self.termination_condition_ = str(worst.status)
            warnings.warn(
                f"{type(self).__name__} ended early ({worst.status}) with a gap of {worst.gap:.2g},"
                f" above tol={self.tol:g}. Raise max_iter or tol, scale the features, or lower C.",
                ConvergenceWarning,
                stacklevel=WHOEVER_CALLED_FIT,
            )

    def _set_support(self, data: TrainingSet, fits: list[BinaryFit]) -> None:
        """Set the support vectors of the dual form."""
        if fits[0].row_beta is None:
            return
        row_beta = np.stack([fit.row_beta for fit in fits])
        support = np.flatnonzero((row_beta != 0).any(axis=0))
        support = support[np.argsort(data.origin[support])]
        self.support_ = data.origin[support]
        is_kernel = data.formula.name == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if is_kernel else data.X[support]
        self.dual_coef_: Any = row_beta[:, support]
        if is_sparse_matrix(data.X):
            self.dual_coef_ = csr_matrix(self.dual_coef_)

    def _set_transduction(
        self, X: Any, labels: Labels, data: TrainingSet, fits: list[BinaryFit]
    ) -> None:
        """True labels stay, rows in use get the class they were given, the rest are predicted."""
        codes = np.full(len(labels.codes), -1)
        codes[data.origin] = guessed_codes(fits, labels.n_classes, self.multi_class)
        codes[labels.is_labeled] = labels.codes[labels.is_labeled]
        if len(others := np.flatnonzero(codes < 0)):
            codes[others] = winning_codes(self._decide(X[others]))
        self.transduction_ = labels.decode(codes)
        if hasattr(self, "support_"):
            self.n_support_ = np.bincount(codes[self.support_], minlength=labels.n_classes)

    def _decide(self, X: Any) -> np.ndarray:
        """Decision values of rows that were checked, (n,) or (n, n_classes)."""
        return combine(self._scores(X), len(self.classes_), self.multi_class)

    def _scores(self, X: Any) -> np.ndarray:
        """What the binary problems say of rows that were checked, (n, n_problems)."""
        with libraries_on_one_thread():
            if hasattr(self, "_coef_"):
                scores = np.asarray(X @ self._coef_.T)
            else:
                X = X[:, self.support_] if self._formula_.name == "precomputed" else X
                svm = self.support_vectors_, as_dense(self.dual_coef_), self._formula_
                scores = scores_of_new_rows(X, *svm, device=self.device)
        scores = scores + self.intercept_
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores).all(axis=1)))
            raise ValueError(f"The score of row {row} is not finite: scale the features.")
        return scores

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, of shape (n_problems, n_features); only with a linear kernel."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available with kernel='linear'.")
        check_is_fitted(self)
        in_primal = hasattr(self, "_coef_")
        coef = self._coef_ if in_primal else self.dual_coef_ @ self.support_vectors_
        if isinstance(coef, np.ndarray):
            coef.flags.writeable = False  # to change it would change no prediction
        return coef

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


@estimator
class PrimalSVC(BaseSVC):
    """Base class of those that have a primal form too, for ``kernel="linear"`` and many rows.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss function. The squared hinge needs ``kernel="linear"``.
    solver : {"auto", "dual", "primal"}, default="auto"
        The form of linear SVMs: "primal", for many rows, gives `coef_` and no support vectors.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "solver": [StrOptions({"auto", "dual", "primal"})],
    }

    loss: Literal["hinge", "squared_hinge"] = "hinge"
    solver: Literal["auto", "dual", "primal"] = "auto"

    def _why_not_primal(self) -> str | None:
        """The reason why there is no primal form with these parameters, if there is one."""
        return None
