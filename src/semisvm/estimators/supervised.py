"""SSVM and CS-SVM of the papers: the support vector classifier of the labeled rows alone; and the guard of its costs.

    minimize  1/2 |w|^2 + C sum_i weight_i max(0, 1 - y_i f(x_i))      f(x) = <w, x> + bias

In signed variables beta_i = y_i alpha_i this is the dual problem with linear = -y and the box [0, C weight_i] for a
positive row, [-C weight_i, 0] for a negative one. It is the baseline that every semi-supervised method has to beat.

The guard asks whether one class for every row would cost less than a machine that knows costs: five labeled positives
can't promise to miss fewer than one in seven, and at a cost ratio of 100 that alone is more expensive than calling
every row positive (`decision.guard` has the arithmetic). Each labeled row is scored by a fit that has not seen its
label, leave-one-out up to MOST_FITS labels and by as many folds beyond. No fit is needed where even a classifier
without an error would be expected to cost more than a constant.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semisvm.decision.checks import cost_matrix
from semisvm.decision.guard import count_judged, guard, guard_classes, least_possible_cost
from semisvm.estimators.base import FORM_CONSTRAINTS, BaseSVC, Kernel, MultiClass
from semisvm.estimators.binary import USABLE, BinaryFit, BinaryTask, MethodFit, Pair, combine, fit_pairs, spread
from semisvm.estimators.equal_rows import are_copies_alike, find_repeats
from semisvm.estimators.problem import Loss, TrainingProblem
from semisvm.estimators.progress import warn_caller
from semisvm.estimators.rounds import Labeler, fit_of, record_of
from semisvm.estimators.streams import StreamProblem, StreamRounds
from semisvm.kernels import Formula, KernelRows
from semisvm.labels import UNLABELED_CODE
from semisvm.primal import ClassPrices, Solver, hinge_problem, solver_of_many
from semisvm.shared_docs import with_shared_docs

MOST_FITS = 20


class GuardedMixin:
    """An SVM with the parameters `costs` and `guard`; `_constant` is the class index to predict for every row, or None.

    The machine is kept: scores rank the rows as before, all on the constant's side of 0. A score s becomes
    s + sqrt(s^2 + 1) > 0 for the class chosen, s - sqrt(s^2 + 1) < 0 for every other.
    """

    costs: Any
    guard: bool
    classes_: np.ndarray
    _constant: int | None

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        decision = super()._decide(scores)  # type: ignore[misc]
        if self._constant is None:
            return decision
        is_chosen = np.arange(len(self.classes_)) == self._constant
        above, below = np.exp(np.arcsinh(decision)), -np.exp(-np.arcsinh(decision))  # loses no digits
        return np.where(is_chosen if decision.ndim == 2 else is_chosen[1], above, below)

    @property
    def _is_guarded(self) -> bool:
        return self.guard and self.costs is not None

    def _compare_with_constants(
        self,
        problem: TrainingProblem,
        fits: list[BinaryFit],
        refit: Callable[[TrainingProblem], list[BinaryFit]],
        shares: np.ndarray | None = None,
    ) -> None:
        """Set `guard_`, what was compared, and the constant; both None where no guard is asked for.

        refit    fits the same method to the same rows with some of the labels hidden
        shares   (n_classes,) how often each class is expected; None: as often as among the labeled rows
        """
        self._constant, self.guard_ = None, None
        if not self._is_guarded:
            return
        labels, matrix = problem.labels, cost_matrix(self.costs, problem.labels.classes)
        if shares is None:
            codes, weight = labels.codes[labels.is_labeled], problem.weight[labels.is_labeled]
            shares = np.bincount(codes, weight, minlength=labels.n_classes)
            shares = shares / shares.sum()
        n_judged = count_judged(labels.n_of_class.astype(np.float64))
        constant_costs, least = shares @ matrix, least_possible_cost(n_judged, matrix, shares)
        names = labels.classes.tolist()
        facts: dict[str, Any] = {
            "constant_costs": dict(zip(names, constant_costs.tolist(), strict=True)),
            "class_shares": dict(zip(names, shares.tolist(), strict=True)),
            "least_possible_cost": least,
            "n_fits": 0,
        }
        constant: int | None = int(constant_costs.argmin())
        judged = np.flatnonzero(labels.is_labeled & (n_judged[labels.codes] > 0))
        if constant_costs[constant] > least and len(judged) == 0:
            constant, facts["own_cost"] = None, least
        elif constant_costs[constant] > least:
            folds, scores = _folds(judged, labels.codes), np.zeros((problem.n_rows, len(fits)))
            has_ended = any(fit.status not in USABLE for fit in fits)  # then it is not fitted 20 times more
            for fold in [] if has_ended else folds:
                codes = labels.codes.copy()
                codes[fold] = UNLABELED_CODE
                try:
                    held_out = refit(problem.relabel(codes))
                    has_ended = any(fit.status not in USABLE for fit in held_out)
                except KeyboardInterrupt:  # the fit of all labels is complete, and worth keeping
                    has_ended = True
                if has_ended:
                    message = (
                        f"The guard of {problem.name} ended early: whether a constant would cost less is not known. "
                        "Fit again without interrupting, or with higher limits, to have it compared."
                    )
                    warn_caller(ConvergenceWarning(message))
                    break
                scores[fold] = np.stack([fit.scores[fold] for fit in held_out], axis=1)
            if has_ended:
                self.guard_ = facts | {"constant": None, "reason": "The fit was ended early: nothing was compared."}
                return
            decisions = combine(scores[judged], labels.n_classes, problem.scheme)
            constant, found = _compare(decisions, labels.codes[judged], matrix, shares)
            facts |= {"own_cost": found.own_cost, "best_cut_cost": found.best_cut_cost, "n_fits": len(folds)}
        self._constant, facts["constant"] = constant, None if constant is None else names[constant]
        self.guard_ = facts | {"reason": _reason(constant, names, facts)}


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
        kernel = labeled.kernel_rows(formula) if self._is_guarded else None  # shared with the fits of the guard
        fits = self._fit_labeled(labeled, formula, kernel)
        self._compare_with_constants(labeled, fits, partial(self._fit_labeled, formula=formula, kernel=kernel))
        return MethodFit([spread(fit, is_labeled) for fit in fits], formula, labeled.scheme)

    def _fit_stream(self, problem: StreamProblem) -> MethodFit:
        if self._is_guarded:
            raise ValueError("guard=True needs the labeled rows in memory.")
        self._constant, self.guard_ = None, None
        return problem.fit_pairs("ovo", self._fit_stream_pair)

    def _fit_stream_pair(self, pair: Pair, rounds: StreamRounds) -> BinaryFit:
        with rounds.until_stopped():
            prices = ClassPrices(pair.positive, pair.negative, self.C * rounds.problem.price)
            rounds.solve_prices(prices, rounds.problem.labeled_rows())
        rounds.history.append(record_of(rounds.task.watch.name, rounds.solution))
        return rounds.fit()

    def _fit_labeled(self, problem: TrainingProblem, formula: Formula, kernel: KernelRows | None) -> list[BinaryFit]:
        """Solve for the distinct rows where many repeat, and deal the coefficients out to the copies."""
        repeats = find_repeats(problem.X, problem.labels.codes) if are_copies_alike(problem) else None
        merged, kernel = (problem, kernel) if repeats is None else (repeats.merge(problem), None)
        if problem.costs.matrix is None:
            shared: dict[str, Any] = {"kernel": kernel, "is_frugal": kernel is None}
            fits = fit_pairs(merged, formula, self._fit_binary, fit_together=self._fit_together, **shared)
        else:  # the regression of each class
            kernel = merged.kernel_rows(formula) if kernel is None else kernel
            with merged.progress.whole_fit("one-sided regression") as watch:
                labeler = Labeler(merged, kernel, watch)
                labeler.solve(merged.labels.codes, self._box(merged))
            fits = labeler.fits(labeler.records())
        if repeats is None:
            return fits
        box, merged_box = self._box(problem), self._box(merged)
        return [repeats.deal(fit, box, merged_box) for fit in fits]

    def _box(self, problem: TrainingProblem) -> np.ndarray:
        return self.C * (problem.weight * problem.costs.price(problem.labels.codes))

    def _fit_binary(self, task: BinaryTask) -> BinaryFit:
        return self._fit_together([task])[0]

    def _fit_together(self, tasks: list[BinaryTask]) -> list[BinaryFit]:
        """Solve several tasks on the same rows, on a device as one batch."""
        machines = [hinge_problem(task.kernel, task.sign, self.C * task.weight) for task in tasks]
        limits = tasks[0].limits.of_solve(callback=tasks[0].watch.look)
        solutions = solver_of_many(machines)(machines, None, **limits)
        return [
            fit_of(found, [record_of(task.watch.name, found)]) for task, found in zip(tasks, solutions, strict=True)
        ]


def _folds(rows: np.ndarray, codes: np.ndarray) -> list[np.ndarray]:
    """Rows to hold out together: one by one while they are few, else dealt out class by class."""
    rows = rows[np.argsort(codes[rows], kind="stable")]
    n_folds = min(len(rows), MOST_FITS)
    return [rows[k::n_folds] for k in range(n_folds)]


def _compare(decisions: np.ndarray, codes: np.ndarray, costs: np.ndarray, shares: np.ndarray) -> tuple[int | None, Any]:
    """The constant to predict, or None, and the verdict; for two classes decisions are scores of the second."""
    if len(costs) > 2:
        found = guard_classes(decisions, codes, costs, shares)
        return found.constant, found
    verdict = guard(decisions, 2 * codes - 1, costs=(costs[1, 0], costs[0, 1]), positive_share=float(shares[1]))
    return {None: None, "negative": 0, "positive": 1}[verdict.constant], verdict


def _reason(constant: int | None, names: list[Any], facts: dict[str, Any]) -> str:
    """One sentence for the reader."""
    cheapest = min(facts["constant_costs"], key=facts["constant_costs"].get) if constant is None else names[constant]
    constant_cost = facts["constant_costs"][cheapest]
    if constant is None and facts["n_fits"] == 0:
        return (
            "No class has two labels, so no fit could be judged. A machine that is right on every second row of "
            f"each class is expected to cost {facts['own_cost']:.3g} per row; predicting {cheapest!r} for every row, "
            f"{constant_cost:.3g}."
        )
    if facts["n_fits"] == 0:
        return (
            f"Predicting {cheapest!r} for every row is expected to cost {constant_cost:.3g} per row; with so few "
            "labels even a classifier that makes no error on them is expected to cost "
            f"{facts['least_possible_cost']:.3g}."
        )
    verb = "costs no more than" if constant is not None else "costs more than"
    return (
        f"Predicting {cheapest!r} for every row ({constant_cost:.3g} per row) {verb} the machine is expected to at its "
        f"best ({facts['best_cut_cost']:.3g}), judged on labeled rows that {facts['n_fits']} fits had not seen."
    )
