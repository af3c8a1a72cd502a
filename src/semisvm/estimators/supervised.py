"""SSVM and CS-SVM of the papers: the support vector classifier trained on the labeled rows only.

    minimize  1/2 |w|^2 + C sum_i weight_i max(0, 1 - y_i f(x_i))      f(x) = <w, x> + bias

In signed variables beta_i = y_i alpha_i this is the dual problem with linear = -y and the box [0, C
weight_i] for a positive row, [-C weight_i, 0] for a negative one. It is the baseline that every
semi-supervised method has to beat.
"""

from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from semisvm.dual import Status
from semisvm.estimators.base import FORM_CONSTRAINTS, BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import (
    USABLE,
    BinaryFit,
    BinaryTask,
    MethodFit,
    Pair,
    combine,
    fit_pairs,
    score_left_out,
)
from semisvm.estimators.equal_rows import (
    are_copies_alike,
    content_order,
    find_equal_rows,
    find_repeats,
)
from semisvm.estimators.guarded import GuardedMixin
from semisvm.estimators.problem import Loss, TrainingProblem
from semisvm.estimators.rounds import Labeler, fit_of, record_of
from semisvm.estimators.streams import StreamProblem, StreamRounds
from semisvm.kernels.formula import Formula
from semisvm.machines import MachineRows, Solver, hinge_problem, solve_machines
from semisvm.model_selection.calibration import fit_sigmoids, probabilities_of
from semisvm.model_selection.cross_fit import assign_folds, hide_single_rows
from semisvm.model_selection.scoring import winning_codes
from semisvm.primal.dask_rows import is_dask, map_lazily
from semisvm.primal.problem import ClassPrices
from semisvm.sklearn_private import Interval, StrOptions

LARGEST_C = 1e10  # what C=inf, a hard margin, is solved with, as in scikit-learn's SVC
FOLDS_OF_PROBABILITIES = 5  # as many fits more; LIBSVM makes as many


class SupervisedSVC(GuardedMixin, BaseSVC):
    """Support vector classifier trained on the labeled rows; unlabeled rows are ignored.

    The papers call it SSVM, and CS-SVM when the classes have costs.

    Parameters
    ----------
    C : float, default=1.0
        Penalty for a row on the wrong side of its margin. ``inf`` is solved as 1e10.
    guard : bool, default=False
        Whether to predict the same class for every row if that is expected to cost less than the
        SVM. Needs `costs`. The costs are estimated by leave-one-out, or by 20 folds where there are
        more labels (see `guard_`).
    probability : bool, default=False
        Whether to provide `predict_proba`, by Platt scaling of five-fold cross-validated scores,
        which takes five more fits. Near the boundary the most probable class may differ from the
        one that is predicted.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        What `decision_function` returns with more than two classes: one score per class, or, with
        ``multi_class="ovo"``, one per pair of classes, positive for the first of the pair, as in
        :class:`sklearn.svm.SVC`.
    break_ties : bool, default=True
        With pairs of classes, whether ties between votes are broken by the scores. If False, the
        first of the tied classes is predicted, the default of :class:`sklearn.svm.SVC`.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        Loss function. The squared hinge needs ``kernel="linear"``.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        As in :class:`sklearn.svm.SVC`; a callable returns the kernel between two matrices of rows.
    degree : float, default=3
        Degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        As in :class:`sklearn.svm.SVC`; the variance in "scale" is weighted by `sample_weight`.
    coef0 : float, default=0.0
        Constant term of the polynomial and sigmoid kernels.
    costs : dict {class: cost} or array-like of shape (n_classes, n_classes), default=None
        Costs of errors. A dictionary has one cost for every class, which multiplies C for its rows.
        A matrix has one row per true class and one column per predicted class, in the order of
        `classes_`. With more than two classes a matrix trains a one-sided regression [2]_ instead,
        for any `multi_class`: `decision_function` then returns minus the estimated cost of each
        class.
    class_weight : dict or "balanced", default=None
        Multiplies C for the rows of each class, as in scikit-learn.
    multi_class : {"auto", "ovr", "ovo"}, default="auto"
        One-vs-rest or one-vs-one. "auto" is "ovo" for `SupervisedSVC`, `SVCCV`, `SelfTrainingSVC`
        and `ClusterSVC`, "ovr" for the others.
    unlabeled : int, float, str or None, default=-1
        Value of y that marks unlabeled rows. Missing values and empty strings always mark them too.
    solver : {"auto", "dual", "primal"}, default="auto"
        The form of linear SVMs: "primal", for many rows, gives `coef_` and no support vectors.
    tol : float, default=1e-3
        Tolerance of the stopping criterion (`gap_`). Below 1e-5, kernels are computed in float64.
        With more than 1,000 rows and a C of 1,000 or more, this may be needed for an accurate gap.
    max_iter : int, default=None
        Maximum number of solver steps for each binary problem, over all its rounds. None: no limit.
    time_limit : float, default=None
        Time limit in seconds, after which the best model so far is kept. None: no limit.
    cache_size : float, default=None
        Size of the kernel cache in MB. None: half of the free memory. A smaller cache is slower.
    device : {"auto", "cpu", "cuda"}, default="auto"
        "cuda" or "cuda:1" needs an NVIDIA GPU and ``semisvm[gpu]``; "auto" uses it for many rows.
    verbose : bool, default=False
        Print progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_, n_support_, support_vectors_ : ndarray or sparse matrix
        Support vectors: their indices, their number per class, and the rows themselves.
    dual_coef_, intercept_, coef_ : ndarray or sparse matrix
        Dual coefficients, intercepts and (linear kernel) feature weights of the binary problems.
    gap_ : ndarray of shape (n_problems,)
        The largest violation of the optimality conditions, up to the rounding of kernel values (see
        `tol`); in primal form the relative duality gap.
    transduction_, labeled_iter_ : ndarray of shape (n_samples,)
        Label of each training row, and the round that assigned it: 0 if in y, -1 if predicted.
    guard_ : dict or None
        The decision of the guard: the expected cost per row of the SVM (``own_cost``), of the SVM
        with its best threshold (``best_cut_cost``) and of each constant prediction
        (``constant_costs``), the class that is always predicted or None (``constant``), and the
        ``reason``. None without a guard. With a constant, `decision_function` ranks the rows as
        before, with all of them on one side of 0.
    history_, n_iter_, termination_condition_ : list of RoundRecord, int, str
        One record per round, number of solver steps, and why the fit ended, such as "converged".
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of features, and their names if X has feature names.

    See Also
    --------
    PreferenceSVC : Chooses a threshold for a minimum precision or recall.
    TransductiveSVC : Uses the unlabeled rows.
    sklearn.svm.SVC : The same SVM without unlabeled rows and costs.

    References
    ----------
    .. [1] C. Cortes and V. Vapnik, "Support-vector networks", Machine Learning 20, 1995.
       :doi:`10.1007/BF00994018`
    .. [2] H.-H. Tu and H.-T. Lin, "One-sided support vector regression for multiclass
       cost-sensitive classification", ICML 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import SupervisedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> y[57:] = -1  # nine labels in ten are hidden
    >>> SupervisedSVC(C=10).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _keeps_tensors = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        **FORM_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="right")],
        "guard": ["boolean"],
        "probability": ["boolean"],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "break_ties": ["boolean"],
    }

    probability: bool
    decision_function_shape: Literal["ovr", "ovo"]
    break_ties: bool

    def __init__(
        self,
        C: float = 1.0,
        *,
        guard: bool = False,
        probability: bool = False,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        break_ties: bool = True,
        loss: Loss = "hinge",
        kernel: Kernel = "rbf",
        degree: float = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        costs: Any = None,
        class_weight: Any = None,
        multi_class: MultiClass = "auto",
        unlabeled: Any = -1,
        solver: Solver = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        time_limit: float | None = None,
        cache_size: float | None = None,
        device: str = "auto",
        verbose: bool = False,
    ):
        self._keep(locals())

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        is_labeled = problem.labels.is_labeled
        labeled = problem.with_auto_scheme("ovo").select(is_labeled).settle_form()
        formula = labeled.formula()
        # Shared with the fits of the guard and of the probabilities.
        is_shared = self._is_guarded or self.probability
        kernel = labeled.machine_rows(formula) if is_shared else None
        fits = self._fit_labeled(labeled, formula, kernel)
        self._compare_with_constants(
            labeled, fits, partial(self._fit_labeled, formula=formula, kernel=kernel)
        )
        self._sigmoids = self._fit_sigmoids(labeled, formula, kernel) if self.probability else None
        return MethodFit(fits, formula, labeled.scheme, rows=np.flatnonzero(is_labeled))

    def _fit_sigmoids(
        self, labeled: TrainingProblem, formula: Formula, kernel: MachineRows | None
    ) -> np.ndarray | None:
        """Platt's sigmoids of the decisions on rows left out: (1, 2), or with more than two classes
        (n_classes, 2). None where a fit was ended early.
        """
        labels = labeled.labels
        # Copies of a row are left out together, and folds are dealt out by content: a row of weight
        # 2 is two rows, wherever they are. The only row of a class can't be left out.
        copies = find_equal_rows(labeled.X, labels.codes)
        order = content_order(labeled.X, labels.codes[copies.first], rows=copies.first)
        codes_in_order = hide_single_rows(labels.codes[copies.first][order])
        fold_of_group = np.empty(len(order), dtype=np.intp)
        fold_of_group[order] = assign_folds(codes_in_order, FOLDS_OF_PROBABILITIES)[0]
        fold = fold_of_group[copies.group]

        refit = partial(self._fit_labeled, formula=formula, kernel=kernel)
        left_out = score_left_out(labeled, fold, refit, (*USABLE, Status.MAX_ITER))
        if left_out is None:
            return None
        tested = np.flatnonzero(fold >= 0)
        decisions = combine(left_out[tested], labels.n_classes, labeled.scheme)
        return fit_sigmoids(decisions, labels.take(tested), labeled.weight[tested])

    def _why_no_probabilities(self) -> str:
        if self.probability:
            return ""
        name = type(self).__name__
        return f"predict_proba needs probability=True: fit {name}(probability=True)."

    def _probabilities(self, X: Any) -> np.ndarray:
        if self._sigmoids is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, or when a fit"
                " was ended early: fit again with probability=True."
            )
        decisions = combine(self._raw_scores(X), len(self.classes_), self._scheme)
        return probabilities_of(decisions.reshape(len(decisions), -1), self._sigmoids)

    def decision_function(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        n_classes = len(self.classes_)
        if self.decision_function_shape == "ovr" or n_classes == 2:
            return super().decision_function(X)
        if self._scheme != "ovo":
            raise ValueError(
                "decision_function_shape='ovo' needs a fit of pairs of classes: multi_class='ovo',"
                " and no costs of pairs."
            )
        if is_dask(X):
            n_pairs = n_classes * (n_classes - 1) // 2
            return map_lazily(self.decision_function, X, n_pairs, np.float64)
        return self._raw_scores(X)

    def _predicted_codes(self, X: Any) -> np.ndarray:
        is_usual = self.break_ties and self.decision_function_shape == "ovr"
        if is_usual or len(self.classes_) == 2:
            return super()._predicted_codes(X)
        decisions = self._decide(self._raw_scores(X))
        if not self.break_ties and self._scheme == "ovo" and self._constant is None:
            decisions = np.round(decisions)  # the votes alone: scores add less than half of one
        return winning_codes(decisions)

    def _fit_stream(self, problem: StreamProblem) -> MethodFit:
        if self._is_guarded or self.probability:
            raise ValueError("guard=True and probability=True need the labeled rows in memory.")
        self._constant, self.guard_ = None, None
        self._sigmoids = None
        return problem.fit_pairs("ovo", self._fit_stream_pair)

    def _fit_stream_pair(self, pair: Pair, rounds: StreamRounds) -> BinaryFit:
        with rounds.until_stopped():
            prices = ClassPrices(
                pair.positive, pair.negative, self._finite_C * rounds.problem.price
            )
            rounds.solve_prices(prices, rounds.problem.labeled_rows())
        rounds.history.append(record_of(rounds.task.watch.name, rounds.solution))
        return rounds.fit()

    def _fit_labeled(
        self, problem: TrainingProblem, formula: Formula, kernel: MachineRows | None
    ) -> list[BinaryFit]:
        """Solve for the distinct rows where many repeat, and deal out the coefficients."""
        repeats = (
            find_repeats(problem.X, problem.labels.codes) if are_copies_alike(problem) else None
        )
        merged, kernel = (problem, kernel) if repeats is None else (repeats.merge(problem), None)
        if problem.costs.matrix is None:
            fits = fit_pairs(
                merged,
                formula,
                self._fit_binary,
                kernel=kernel,
                is_frugal=kernel is None,
                fit_together=self._fit_together,
            )
        else:  # the regression of each class
            kernel = merged.machine_rows(formula) if kernel is None else kernel
            with merged.progress.whole_fit("one-sided regression") as watch:
                labeler = Labeler(merged, kernel, watch)
                labeler.solve(merged.labels.codes, self._box(merged))
            fits = labeler.fits(labeler.records())
        if repeats is None:
            return fits
        return [repeats.expand(fit, self._box(problem), self._box(merged)) for fit in fits]

    @property
    def _finite_C(self) -> float:
        return min(self.C, LARGEST_C)

    def _box(self, problem: TrainingProblem) -> np.ndarray:
        return self._finite_C * (problem.weight * problem.costs.price(problem.labels.codes))

    def _fit_binary(self, task: BinaryTask) -> BinaryFit:
        return self._fit_together([task])[0]

    def _fit_together(self, tasks: list[BinaryTask]) -> list[BinaryFit]:
        """Solve several tasks on the same rows, on a device as one batch."""
        machines = [
            hinge_problem(task.kernel, task.sign, self._finite_C * task.weight) for task in tasks
        ]
        limits = tasks[0].limits.of_solve(callback=tasks[0].watch.look)
        solutions = solve_machines(machines, **limits)
        return [
            fit_of(found, [record_of(task.watch.name, found)])
            for task, found in zip(tasks, solutions, strict=True)
        ]
