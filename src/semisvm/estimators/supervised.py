"""SSVM and CS-SVM of the papers: the support vector classifier of the labeled rows alone.

    minimize  1/2 |w|^2 + C sum_i weight_i max(0, 1 - y_i f(x_i))      f(x) = <w, x> + bias

In signed variables beta_i = y_i alpha_i this is the dual problem with linear = -y and the box [0, C weight_i] for a
positive row, [-C weight_i, 0] for a negative one. It is the baseline that every semi-supervised method has to beat.
"""

from functools import partial
from typing import Any, ClassVar

import numpy as np

from semisvm.estimators.base import FORM_CONSTRAINTS, BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import BinaryFit, BinaryTask, MethodFit, Pair, fit_pairs, spread
from semisvm.estimators.constant_guard import GuardedMixin, class_shares, compare_with_constants
from semisvm.estimators.equal_rows import are_copies_alike, find_repeats
from semisvm.estimators.problem import Loss, Solver, TrainingProblem, prepare_solve, solver_of_many
from semisvm.estimators.rounds import Labeler, fit_of, hinge_problem, record_of
from semisvm.estimators.streams import StreamProblem, StreamRounds
from semisvm.kernels import Formula, KernelRows
from semisvm.primal import ClassPrices
from semisvm.shared_docs import with_shared_docs


@with_shared_docs
class SupervisedSVC(GuardedMixin, BaseSVC):
    """Support vector classifier of the labeled rows; unlabeled rows are allowed, and not used.

    The papers call it SSVM, and CS-SVM when the classes have costs.

    Parameters
    ----------
    C : float, default=1.0
        The price of a row on the wrong side of its margin.
    guard : bool, default=False
        Where `costs` are given, compare the machine with predicting one class for every row, by the smoothed expected
        cost of labeled rows left out of the fit, and predict the constant where it is cheaper (`guard_` says so). With
        few labels and expensive mistakes it often is; the comparison takes one fit per label, 20 at most.
    %(loss)s
    %(kernel_parameters)s
    costs : dict {class: cost of misclassifying it} or array-like of shape (n_classes, n_classes), default=None
        What errors cost. A dictionary multiplies C for the rows of each class; every class must be named. In a matrix,
        rows are true and columns predicted classes, in the order of `classes_`, with zeros on the diagonal. For two
        classes it is the dictionary; for more the machine is one-sided regression, whatever `multi_class`:
        `decision_function` is then minus the estimated cost of each class. Costs of single rows go to `fit` as
        `sample_cost`.
    %(class_weight)s
    %(multi_class)s
    %(unlabeled)s
    %(solver)s
    %(solver_parameters)s
    %(verbose)s

    Attributes
    ----------
    %(classes)s
    %(machine)s
    %(transduction)s
    guard_ : dict or None
        What the guard compared and chose: the expected cost per row of the machine (``own_cost``), of its best cut
        (``best_cut_cost``) and of each constant (``constant_costs``), the ``constant`` chosen or None, and a sentence
        (``reason``); None where no guard was asked for. Where a constant was chosen `predict` gives it, and
        `decision_function` ranks the rows as before, with all of them on its side of 0.
    %(course)s

    See Also
    --------
    PreferenceSVC : Keeps a minimum precision or recall.
    TransductiveSVC : Uses the unlabeled rows.
    sklearn.svm.SVC : The same machine without unlabeled rows and costs.

    References
    ----------
    .. [1] C. Cortes and V. Vapnik, "Support-vector networks", Machine Learning 20, 1995.
       :doi:`10.1007/BF00994018`
    .. [2] H.-H. Tu and H.-T. Lin, "One-sided support vector regression for multiclass cost-sensitive
       classification", ICML 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from semisvm import SupervisedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y[57:] = -1  # nine labels in ten are hidden
    >>> SupervisedSVC(C=10).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSVC._parameter_constraints,
        **FORM_CONSTRAINTS,
        "guard": ["boolean"],
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        guard: bool = False,
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
        super().__init__(
            C,
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            costs=costs,
            class_weight=class_weight,
            multi_class=multi_class,
            unlabeled=unlabeled,
            tol=tol,
            max_iter=max_iter,
            time_limit=time_limit,
            cache_size=cache_size,
            device=device,
            verbose=verbose,
        )
        self.loss = loss
        self.solver = solver
        self.guard = guard

    def _fit(self, problem: TrainingProblem) -> MethodFit:
        is_labeled = problem.labels.is_labeled
        labeled = problem.with_auto_scheme("ovo").select(is_labeled).settle_form()
        formula = labeled.formula()
        is_guarded = self.guard and self.costs is not None
        kernel = labeled.kernel_rows(formula) if is_guarded else None  # shared with the fits of the guard
        fits = self._fit_labeled(labeled, formula, kernel)
        self._constant, self.guard_ = None, None
        if is_guarded:
            shares = class_shares(labeled.labels, labeled.weight)
            refit = partial(self._fit_labeled, formula=formula, kernel=kernel)
            self._constant, self.guard_ = compare_with_constants(labeled, self.costs, fits, shares, refit)
        return MethodFit([spread(fit, is_labeled) for fit in fits], formula, labeled.scheme)

    def _fit_stream(self, problem: StreamProblem) -> MethodFit:
        if self.guard and self.costs is not None:
            raise ValueError("guard=True needs the labeled rows in memory.")
        self._constant, self.guard_ = None, None
        return problem.fit_pairs("ovo", partial(self._fit_stream_pair, problem))

    def _fit_stream_pair(self, problem: StreamProblem, pair: Pair, rounds: StreamRounds) -> BinaryFit:
        with rounds.until_stopped():
            prices = ClassPrices(pair.positive, pair.negative, self.C * problem.price)
            rounds.solve_prices(prices, problem.labeled_rows())
        rounds.history.append(record_of(rounds.task.watch.name, rounds.solution))
        return rounds.fit()

    def _fit_labeled(self, problem: TrainingProblem, formula: Formula, kernel: KernelRows | None) -> list[BinaryFit]:
        """Solve for the distinct rows where many repeat, and deal the coefficients out to the copies."""
        repeats = find_repeats(problem.X, problem.labels.codes) if are_copies_alike(problem) else None
        merged, kernel = (problem, kernel) if repeats is None else (repeats.merge(problem), None)
        if problem.costs.matrix is None:
            shared: dict[str, Any] = {"kernel": kernel, "is_frugal": kernel is None}
            fits = fit_pairs(merged, formula, self._fit_binary, fit_together=self._fit_together, **shared)
        else:
            fits = self._fit_costs_of_classes(merged, merged.kernel_rows(formula) if kernel is None else kernel)
        if repeats is None:
            return fits
        box, merged_box = self._box(problem), self._box(merged)
        return [repeats.deal(fit, box, merged_box) for fit in fits]

    def _fit_costs_of_classes(self, problem: TrainingProblem, kernel: KernelRows) -> list[BinaryFit]:
        """Where there is a cost matrix: the regression of each class."""
        with problem.progress.whole_fit("one-sided regression") as watch:
            labeler = Labeler(problem, kernel, watch)
            labeler.solve(problem.labels.codes, self._box(problem))
            return labeler.fits(labeler.records())

    def _box(self, problem: TrainingProblem) -> np.ndarray:
        return self.C * (problem.weight * problem.costs.price(problem.labels.codes))

    def _fit_binary(self, task: BinaryTask) -> BinaryFit:
        machine = hinge_problem(task.kernel, task.sign, self.C * task.weight)
        run, start, limits = prepare_solve(machine, None, task.limits.of_solve(callback=task.watch.look))
        return _as_fit(task, run(machine, start, **limits))

    def _fit_together(self, tasks: list[BinaryTask]) -> list[BinaryFit]:
        """Solve one against the rest for all classes as one batch."""
        machines = [hinge_problem(task.kernel, task.sign, self.C * task.weight) for task in tasks]
        limits = tasks[0].limits.of_solve(callback=tasks[0].watch.look)
        solutions = solver_of_many(machines)(machines, None, **limits)
        return [_as_fit(task, found) for task, found in zip(tasks, solutions, strict=True)]


def _as_fit(task: BinaryTask, found: Any) -> BinaryFit:
    return fit_of(found, [record_of(task.watch.name, found)])
