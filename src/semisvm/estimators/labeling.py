"""All classes at once: the binary problems of one labeling of the rows, on kernel rows that they share.

    codes  (n,)  the class of each row, guessed or given; -1 where the row takes no part
    box    (n,)  what a row on the wrong side of its margin costs: C times its weight times the cost of its class

Most methods are written for two classes and decomposed by `binary.fit_pairs`. Methods that give a row one of *all* the
classes (its cluster's majority, the class of the largest score) can't be: solved apart, two binary problems could
claim the same row. They train every binary problem on one labeling instead. Rows that a problem does not concern
(a third class in one-vs-one, rows left out) have a box of zero width in it, so that all problems, and all
labelings of a sequence, share their kernel rows and start from each other's solutions. Where there is a cost matrix
the binary problems are those of one-sided regression (`OneSided`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semisvm.dual import DualProblem, Status
from semisvm.estimators.binary import BinaryFit, Pair, combine, pairs
from semisvm.estimators.classifier import winning_codes
from semisvm.estimators.problem import TrainingProblem, machine_of, solver_of_many
from semisvm.estimators.progress import RoundRecord, Watch
from semisvm.estimators.rounds import hinge_problem
from semisvm.kernels import KernelRows
from semisvm.labels import Labels
from semisvm.primal import PrimalSolution

ONE_SIDED = "one_sided"  # the scheme beside "ovr" and "ovo"


@dataclass(frozen=True)
class OneSided:
    """The cost of predicting one class: a machine of one-sided regression (Tu and Lin 2010), for any cost matrix.

        cost_ik   what predicting class k for row i costs: matrix[y_i, k]; 0 for its own class

        for each class k    minimize  1/2 |w_k|^2 + price sum_i weight_i loss_ik(f_k(x_i))
                            loss_ik(f) = max(0, f - cost_ik)  where k is the cheapest for row i, cost_ik = 0
                                         max(0, cost_ik - f)  where it is not
        predict the class of least f_k

    An estimate may err on the harmless side for free: f below the cost of the right class, or above that of a wrong
    one. What a prediction costs is then at most the sum of the row's losses. Each problem is a dual with linear =
    -cost_ik, and the box [-price weight_i, 0] where k is cheapest, [0, price weight_i] where it is not.

    price = C unit^2 / 2, unit the mean of the costs off the diagonal. So C keeps its meaning, and costs theirs:
    doubling all costs is doubling C, as it is where costs multiply C; and where all costs are 1, f_k = (1 - h_k) / 2
    with h_k the ordinary one-vs-rest machine of class k at that C. The problems are solved for f in units of unit/2, so
    that tol too means what it means elsewhere: costs 2 cost_ik / unit, price C unit. A cost of 0 off the diagonal is
    allowed: that prediction is as good as the right one.

    `cost` is (K,) by true class, or (n, K) by row and true class.
    """

    predicted: int
    cost: np.ndarray
    unit: float

    def rows(self, labels: Labels) -> np.ndarray:
        """Every row takes part."""
        return np.ones(len(labels.codes), dtype=bool)

    def name(self, classes) -> str:
        """For people: "cost of spam"."""
        return f"cost of {classes[self.predicted]}"

    def of_rows(self, rows: np.ndarray) -> OneSided:
        """The same machine on some of the rows."""
        return self if self.cost.ndim == 1 else replace(self, cost=self.cost[rows])

    def targets(self, codes: np.ndarray) -> np.ndarray:
        """cost_ik of each row, (n,), were `codes` the classes; in units of unit/2."""
        cost = self.cost[codes] if self.cost.ndim == 1 else self.cost[np.arange(len(codes)), codes]
        return 2 / self.unit * cost

    def problem(self, kernel: KernelRows, codes: np.ndarray, box: np.ndarray) -> DualProblem:
        """The dual above; `box` is C weight_i, `codes` is -1 where a row takes no part."""
        target = self.targets(codes)
        price = np.where(codes >= 0, self.unit * box, 0.0)
        return DualProblem(
            kernel, linear=-target, lower=np.where(target > 0, 0.0, -price), upper=np.where(target > 0, price, 0.0)
        )


def one_sided(matrix: np.ndarray) -> list[OneSided]:
    """The machines of a cost matrix (K, K), or of one per row, (n, K, K)."""
    return [OneSided(k, np.ascontiguousarray(matrix[..., k]), unit_of(matrix)) for k in range(matrix.shape[-1])]


def unit_of(matrix: np.ndarray) -> float:
    """The mean of the costs off the diagonal, which is 0 and does not count."""
    n_classes = matrix.shape[-1]
    return float(matrix.mean()) * n_classes / (n_classes - 1)


def in_units_of_cost(fit: BinaryFit, matrix: np.ndarray) -> BinaryFit:
    """A machine's fit, solved in units of unit/2, as an estimate in the user's units."""
    scale = unit_of(matrix) / 2
    return replace(fit, row_beta=scale * fit.row_beta, bias=scale * fit.bias, scores=scale * fit.scores)


class Labeler:
    """Trains every binary problem of a `TrainingProblem` on one labeling after the other.

    tasks    the binary problems: pairs of classes, or where there is a cost matrix one regression per class
    scheme   how their scores are combined: "ovr", "ovo" or "one_sided"
    found    the solutions of the last labeling, one per task; empty before the first
    n_iter   solver steps so far, over all tasks
    """

    def __init__(self, problem: TrainingProblem, kernel: Any, watch: Watch, rows: np.ndarray | None = None):
        """`rows`, a mask, says which of the problem's rows the kernel has; by default all."""
        matrix, n_classes = problem.costs.matrix, problem.labels.n_classes
        rows = np.ones(problem.n_rows, dtype=bool) if rows is None else rows
        all_tasks = pairs(n_classes, problem.multi_class) if matrix is None else one_sided(matrix)
        self.problem, self.kernel, self.watch = problem, kernel, watch
        self.tasks: list[Pair | OneSided] = [task.of_rows(rows) for task in all_tasks]
        self.scheme = scheme_of(problem)
        self.found: list[Any] = []
        self.n_iter = 0
        self._n_iter_of_task = np.zeros(len(self.tasks), dtype=np.int64)

    def solve(self, codes: np.ndarray, box: np.ndarray, *, tol: float | None = None, max_iter: int | None = None):
        """Solve every task on a labeling, from the solutions of the last one.

        Once a solve was interrupted or stopped, the problems after it are carried into their bounds and left there.
        """
        problems = [problem_of(task, self.kernel, codes, box) for task in self.tasks]
        limits = self.problem.limits.of_solve(int(self._n_iter_of_task.max()), tol=tol, callback=self.watch.look)
        if max_iter is not None:
            limits["max_iter"] = max_iter
        self.found = solver_of_many(problems)(problems, self.found or None, **limits)
        self._n_iter_of_task += [solution.n_iter for solution in self.found]
        self.n_iter = int(self._n_iter_of_task.sum())

    @property
    def scores(self) -> np.ndarray:
        """What the tasks say of each row, (n, n_tasks); they came with the solutions: no kernel value is made."""
        return np.stack([solution.decision_values for solution in self.found], axis=1)

    @property
    def codes(self) -> np.ndarray:
        """The class that the last solutions give each row."""
        return winning_codes(combine(self.scores, self.problem.labels.n_classes, self.scheme))

    @property
    def status(self) -> Status:
        """Why the solver ended: the first reason other than having converged."""
        return next((s.status for s in self.found if s.status is not Status.CONVERGED), Status.CONVERGED)

    def end(self, status: Status) -> None:
        """Note that the fit ends here for another reason than the solver's."""
        self.found = [replace(solution, status=status) for solution in self.found]

    def records(self) -> list[RoundRecord]:
        """One record per task, of its last solution."""
        names = [task.name(self.problem.labels.classes) for task in self.tasks]
        return [record_of(name, solution) for name, solution in zip(names, self.found, strict=True)]

    def fits(
        self, history: list[RoundRecord], rounds: np.ndarray | None = None, ended: str | None = None
    ) -> list[BinaryFit]:
        """The solutions as fits; the history and the steps of the whole sequence go with the first.

        Fits of a cost matrix are in the units of the costs.
        """
        fits = [
            BinaryFit(
                **machine_of(solution),
                bias=solution.bias,
                scores=solution.decision_values,
                n_iter=0 if number else self.n_iter,
                gap=solution.gap,
                status=solution.status,
                history=[] if number else history,
                rounds=rounds,
                ended=ended,
            )
            for number, solution in enumerate(self.found)
        ]
        matrix = self.problem.costs.matrix
        return fits if matrix is None else [in_units_of_cost(fit, matrix) for fit in fits]


def scheme_of(problem: TrainingProblem) -> str:
    """How the scores of the binary problems are combined."""
    return problem.multi_class if problem.costs.matrix is None else ONE_SIDED


def problem_of(task: Pair | OneSided, kernel: Any, codes: np.ndarray, box: np.ndarray) -> Any:
    """The problem of a task on a labeling."""
    if isinstance(task, OneSided):
        return task.problem(kernel, codes, box)
    return hinge_problem(kernel, sign_of(task, codes), box)


def sign_of(pair: Pair, codes: np.ndarray) -> np.ndarray:
    """+1 for the pair's first class, -1 for its second (or the rest), 0 for rows it does not concern."""
    is_negative = codes >= 0 if pair.negative is None else codes == pair.negative
    return np.where(codes == pair.positive, 1.0, np.where(is_negative, -1.0, 0.0))


def record_of(name: str, solution: Any) -> RoundRecord:
    """What the history says of a problem that was solved once."""
    return RoundRecord(
        problem=name,
        n_iter=solution.n_iter,
        gap=solution.gap,
        seconds=solution.seconds,
        objective=solution.objective,
        details=(
            {"bound": solution.bound}
            if isinstance(solution, PrimalSolution)
            else {"n_support": int(np.count_nonzero(solution.beta))}
        ),
    )


def train_once(labeler: Labeler, codes: np.ndarray, box: np.ndarray) -> list[BinaryFit]:
    """The fits of one labeling, solved once."""
    labeler.solve(codes, box)
    return labeler.fits(labeler.records())
