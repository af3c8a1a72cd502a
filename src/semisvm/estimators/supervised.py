"""SSVM and CS-SVM of the papers: the support vector classifier of the labeled rows alone.

    minimize  1/2 |w|^2 + C sum_i weight_i max(0, 1 - y_i f(x_i))      f(x) = <w, x> + bias

In signed variables beta_i = y_i alpha_i this is the dual problem with linear = -y and the box [0, C weight_i] for a
positive row, [-C weight_i, 0] for a negative one. It is the baseline every semi-supervised method has to beat.
"""

import numpy as np

from semisvm.dual import solve
from semisvm.estimators.binary import BinaryFit, BinaryTask
from semisvm.estimators.costs import MATRIX, SAMPLE_COST
from semisvm.estimators.guarding import GuardedSVC
from semisvm.estimators.hinge import hinge_problem
from semisvm.estimators.labeling import as_fits, limits_of, record_of, solve_labeling
from semisvm.estimators.repeats import find_repeats
from semisvm.estimators.watch import Watch
from semisvm.labels import Labels


class SupervisedSVC(GuardedSVC):
    """Support vector classifier of the labeled rows; unlabeled rows are allowed, and not used.

    The papers call it SSVM, and CS-SVM when the classes have costs.

    Parameters
    ----------
    C : float, default=1.0
        The price of a row on the wrong side of its margin.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        As in scikit-learn's SVC.
    degree, gamma, coef0
        Parameters of the kernel, as in scikit-learn's SVC. ``gamma="scale"`` looks at the labeled rows only, each
        counted by its weight.
    costs : dict {class: cost of misclassifying it} or array of shape (n_classes, n_classes), optional
        A dictionary multiplies C for the rows of each class; every class must be named. A matrix says what each
        mistake costs, its lines true and its columns predicted classes, in the order of `classes_`, 0 on the diagonal.
        For two classes it is the dictionary; for more the machine is one-sided regression, whatever `multi_class`:
        `decision_function` is then minus the estimated cost of each class. Costs of single rows go to `fit` as
        `sample_cost`.
    guard : bool, default=False
        Where costs are given, compare the machine with predicting one class for every row, by the smoothed expected
        cost of labeled rows left out of the fit, and predict the constant where it is cheaper (`guard_` says so). With
        few labels and dear mistakes it often is; the comparison takes a fit a label, 20 at most.
    class_weight : dict or "balanced", optional
        Multiplies C too, as in scikit-learn.
    multi_class : {"ovo", "ovr"}, default="ovo"
        One binary problem a pair of classes, as scikit-learn's SVC has it, or one a class.
    unlabeled : default=-1
        The marker of rows without a label; missing values and "" always mark them.
    tol : float, default=1e-3
        The gap at which a solution counts as optimal. Below 1e-5 kernel rows are kept in float64.
    max_iter : int, optional
        Most steps for each binary problem. Without it the solver runs until it has converged.
    time_limit : float, optional
        Most seconds for each binary problem.
    cache_size : float, optional
        Megabytes for kernel rows; by default half of the memory that is free. More is faster, less always works.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to solve and to score new rows. "cuda" needs ``pip install 'semisvm[gpu]'`` and an NVIDIA device
        ("cuda:1": another than the first); "auto" takes it where it is there and the rows are many.
    verbose : bool, default=False
        Print a line a second while solving.

    Attributes
    ----------
    classes_ : the classes, sorted.
    support_ : rows of X with a coefficient that is not 0; `support_vectors_`, those rows.
    dual_coef_ : (n_problems, n_support) signed coefficients; `intercept_`, (n_problems,).
    transduction_ : a label for every row of X: its own, or the prediction where it has none.
    labeled_iter_ : the round that gave it; 0 for the user's own labels, -1 for predictions.
    n_iter_ : steps taken over all binary problems.
    termination_condition_ : why the solver ended: "converged" unless a limit came first.
    guard_ : what the guard compared and chose: the expected cost a row of the machine (``own_cost``), of its best cut
        (``best_cut_cost``) and of each constant (``constant_costs``), the ``constant`` chosen or None, and a sentence
        (``reason``); None where no guard was asked for. Where a constant was chosen `predict` gives it, and
        `decision_function` ranks the rows as before, with all of them on its side of 0.
    history_ : a record a binary problem.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import SupervisedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[57:] = -1  # nine labels in ten are hidden
    >>> SupervisedSVC(C=10).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _solves_once = True
    _honors = frozenset({MATRIX, SAMPLE_COST})

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        costs=None,
        guard=False,
        class_weight=None,
        multi_class="ovo",
        unlabeled=-1,
        tol=1e-3,
        max_iter=None,
        time_limit=None,
        cache_size=None,
        device="auto",
        verbose=False,
    ):
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.costs = costs
        self.guard = guard
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cache_size = cache_size
        self.device = device
        self.verbose = verbose

    def _rows_in_use(self, labels: Labels) -> np.ndarray:
        return labels.is_labeled

    def _fit_pairs(self, X, labels: Labels, weight) -> list[BinaryFit]:
        """Solve for the distinct rows where many repeat, and deal the coefficients out to the copies."""
        is_known_kernel = isinstance(self.kernel, str) and self.kernel != "precomputed"
        # Copies of a row are one only where they cost the same.
        are_alike = self._costs.of_row is None and (self._costs.matrix is None or self._costs.matrix.ndim == 2)
        repeats = find_repeats(X, labels.codes) if is_known_kernel and are_alike else None
        if repeats is None:
            return self._fit_distinct(X, labels, weight)
        X, merged_labels, merged_weight = repeats.merge(X, labels, weight)
        box, merged_box = self._box(labels, weight), self._box(merged_labels, merged_weight)
        return [repeats.deal(fit, box, merged_box) for fit in self._fit_distinct(X, merged_labels, merged_weight)]

    def _fit_distinct(self, X, labels: Labels, weight) -> list[BinaryFit]:
        """The binary problems; or, where there is a cost matrix, the regression of each class."""
        if self._costs.matrix is None:
            return super()._fit_pairs(X, labels, weight)
        root = self._init_callback_context(max_subtasks=None)
        root.call_on_fit_task_begin(estimator=self)
        tasks, watch = self._tasks(labels), Watch(self, root, "one-sided regression")
        box = self._box(labels, weight)
        found = solve_labeling(self._kernel_rows(X), tasks, labels.codes, box, **limits_of(self, watch))
        root.call_on_fit_task_end(estimator=self)
        history = [record_of(task.name(labels.classes), s) for task, s in zip(tasks, found, strict=True)]
        return as_fits(found, None, history, sum(solution.n_iter for solution in found))

    def _box(self, labels: Labels, weight) -> np.ndarray:
        return self.C * (weight * self._costs.price(labels.codes))

    def _fit_binary(self, task: BinaryTask) -> BinaryFit:
        found = solve(
            hinge_problem(task.kernel, task.sign, self.C * task.weight),
            tol=self.tol,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            device=self.device,
            callback=task.watch.look,
        )
        return BinaryFit(
            row_beta=found.beta,
            bias=found.bias,
            scores=found.decision_values,
            n_iter=found.n_iter,
            gap=found.gap,
            status=found.status,
            history=[record_of(task.watch.name, found)],
        )
