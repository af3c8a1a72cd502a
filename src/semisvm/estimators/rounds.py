"""Sequences of solves, on one binary task or on all of them.

`Rounds` keeps what methods that solve several problems have in common: the last solution, where the
next solve starts, the limits, which hold for the rounds together, the records, and the round that
gave each row its label. A method runs inside ``with rounds.until_stopped()``: Ctrl-C, a limit
or a callback ends the block, and what counts then is the last problem that was solved in full.

`Labeler` is for methods that give a row one of *all* the classes (its cluster's majority, the class
of the largest score): solved apart, two binary problems could claim the same row. It trains every
binary problem on one labeling:

    codes  (n,)  the class of each row, guessed or given; -1 where the row takes no part
    box    (n,)  what a row on the wrong side of its margin costs: C times its weight times the cost
           of its class

Rows that a problem does not concern (a third class in one-vs-one, rows left out) have a box of zero
width in it, so that all problems, and all labelings of a sequence, share their kernel rows and
start from each other's solutions. Where there is a cost matrix the binary problems are those of
one-sided regression (`OneSided`).
"""

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast, overload

import numpy as np

from semisvm.dual import DualProblem, DualSolution, Status
from semisvm.estimators.binary import USABLE, BinaryFit, BinaryTask, Pair, combine, pairs
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.progress import RoundRecord, Watch
from semisvm.machines import (
    LinearRows,
    MachineRows,
    Problem,
    Solution,
    solve_machine,
    solve_machines,
)
from semisvm.model_selection.scoring import winning_codes
from semisvm.primal.problem import PrimalProblem, PrimalSolution
from semisvm.primal.rows import Rows

# Solves that stall with such a gap are useless: rounds whose next step is based on them may never
# end.
LOST_GAP, MOST_LOST = 0.5, 50

SomeSolution = TypeVar("SomeSolution", bound=Solution)


def record_of(name: str, solution: Solution) -> RoundRecord:
    """What the history says of a problem that was solved once."""
    return RoundRecord(
        problem=name,
        n_iter=solution.n_iter,
        gap=solution.gap,
        seconds=solution.seconds,
        objective=solution.objective,
        details=(
            {"n_support": int(np.count_nonzero(solution.beta))}
            if isinstance(solution, DualSolution)
            else {"bound": solution.bound}
        ),
    )


def fit_of(solution: Solution, history: list[RoundRecord], **better: Any) -> BinaryFit:
    """A solution as a fit; what the method knows better than the solution is in `better`."""
    known: dict[str, Any] = {
        "bias": solution.bias,
        "n_iter": solution.n_iter,
        "gap": solution.gap,
        "status": solution.status,
    }
    if isinstance(solution, DualSolution):
        known["row_beta"] = solution.row_beta
    else:
        assert isinstance(solution, PrimalSolution)
        known |= {"row_beta": np.empty(0), "w": solution.w}
    if "scores" not in better:
        known["scores"] = solution.decision_values
    return BinaryFit(**(known | better), history=history)


class EndedEarlyError(Exception):
    """A limit was reached or someone asked to stop; `Rounds.ended_by` says which."""


class Rounds:
    """One sequence of solves on a binary task.

    solution     the last one that is complete
    labeled_in   (n,) the round that gave each row its label: 0 for the user's own, -1 for never
    guess        (n,) the labels a method settled on, None where the sign of f decides
    """

    def __init__(self, task: BinaryTask):
        self.task = task
        self.began = time.perf_counter()
        self.n_iter = self.n_lost = 0
        self.number = 0
        self.history: list[RoundRecord] = []
        self.labeled_in = np.where(task.sign != 0, 0, -1)
        self.guess: np.ndarray | None = None
        self.ended_by: Status | None = None
        self._solution: Solution | None = None

    @property
    def tol(self) -> float:
        """The tolerance of the user."""
        return self.task.limits.tol

    @property
    def solution(self) -> Solution:
        assert self._solution is not None, "nothing is solved yet"
        return self._solution

    @property
    def dual_solution(self) -> DualSolution:
        """The last solution, for methods that have the dual form only."""
        assert isinstance(self.solution, DualSolution)
        return self.solution

    @property
    def decision_values(self) -> np.ndarray:
        """f of every data row by the last solution, shape (n,)."""
        return self.solution.decision_values[: len(self.task.sign)]

    @contextlib.contextmanager
    def until_stopped(self) -> Iterator[None]:
        """Let the block end early, without an error, once there is a solution to keep."""
        try:
            yield
        except EndedEarlyError:
            pass
        except KeyboardInterrupt:
            if self._solution is None:
                raise
            self.ended_by = Status.INTERRUPTED

    @overload
    def solve(self, problem: DualProblem, **how: Any) -> DualSolution: ...

    @overload
    def solve(self, problem: PrimalProblem, **how: Any) -> PrimalSolution: ...

    @overload
    def solve(self, problem: Problem, **how: Any) -> Solution: ...

    def solve(
        self, problem: Problem, *, tol: float | None = None, start: Any = None, **how: Any
    ) -> Solution:
        """Solve from the last solution, or a better start, within what is left of the limits."""
        start = self._solution if start is None else start
        return self._keep(solve_machine(problem, start, **(self._arguments(tol) | how)))

    def solve_many(self, problems: Sequence[Problem], starts: Sequence[Any]) -> Iterator[Solution]:
        """Solve independent problems, on a device all at once; the last taken is the last."""
        return map(self._keep, solve_machines(problems, starts, **self._arguments(None)))

    def _arguments(self, tol: float | None) -> dict[str, Any]:
        return self.task.limits.of_solve(self.n_iter, tol=tol, callback=self.task.watch.look)

    def _keep(self, found: SomeSolution) -> SomeSolution:
        """Continue from a solution that is complete; end the rounds where it is not."""
        self.n_iter += found.n_iter
        self.n_lost += found.status == Status.STALLED and found.gap > LOST_GAP
        if found.status in USABLE and self.n_lost < MOST_LOST:
            self._solution = found
            return found
        if self._solution is None:
            self._solution = found
        self.ended_by = found.status
        raise EndedEarlyError

    def go_back(self, solution: Solution) -> None:
        """Make an earlier solution, or one in other variables, the one to continue from."""
        self._solution = solution

    def label(self, rows: np.ndarray) -> None:
        """Note that these rows get the label they have in the round now under way."""
        self.labeled_in[rows] = self.number

    def done(self, *, objective: float | None = None, **details: Any) -> RoundRecord:
        """Close a round with its record; the next one begins."""
        record = RoundRecord(
            problem=self.task.watch.name,
            round=self.number,
            n_iter=self.n_iter,
            gap=self.solution.gap,
            seconds=time.perf_counter() - self.began,
            objective=objective,
            details=details,
        )
        self.history.append(record)
        self.number += 1
        if self.task.watch.round_done(record):
            self.ended_by = Status.STOPPED
            raise EndedEarlyError
        return record

    def fit(
        self,
        row_beta: np.ndarray | None = None,
        bias: float | None = None,
        *,
        ended: str | None = None,
        outcome: Any = None,
    ) -> BinaryFit:
        """What was learned; coefficients and bias are the solution's by default."""
        found = self.solution
        n = len(self.task.sign)
        bias = found.bias if bias is None else bias
        more = {} if row_beta is None else {"row_beta": row_beta}
        return fit_of(
            found,
            self.history,
            bias=bias,
            scores=found.scores[:n] + bias if n else np.empty(0),  # rows out of memory have none
            n_iter=self.n_iter,
            gap=found.gap if math.isfinite(found.gap) else 0.0,
            status=self.ended_by or found.status,
            rounds=self.labeled_in,
            guess=self.guess,
            ended=ended,
            outcome=outcome,
            **more,
        )


@dataclass(frozen=True)
class OneSided:
    """The cost of predicting one class: one-sided regression (Tu and Lin 2010).

        cost_ik   what predicting class k for row i costs: matrix[y_i, k]; 0 for its own class

        for each class k    minimize  1/2 |w_k|^2 + price sum_i weight_i loss_ik(f_k(x_i))
                            loss_ik(f) = max(0, f - cost_ik)  where k is the cheapest for row i,
                            cost_ik = 0
                                         max(0, cost_ik - f)  where it is not
        predict the class of least f_k

    An estimate may err on the harmless side for free: f below the cost of the right class, or above
    that of a wrong one. What a prediction costs is then at most the sum of the row's losses. Each
    problem is a dual with linear = -cost_ik, and the box [-price weight_i, 0] where k is cheapest,
    [0, price weight_i] where it is not.

    price = C unit^2 / 2, unit the mean of the costs off the diagonal. So doubling all costs is
    doubling C, as elsewhere, and where all costs are 1, f_k = (1 - h_k) / 2 with h_k the ordinary
    one-vs-rest SVM of class k at that C. The problems are solved for f in units of unit/2, so
    that tol too means what it means elsewhere: costs 2 cost_ik / unit, price C unit.

    `matrix` is (K, K), or (n, K, K) with one matrix per row.
    """

    predicted: int
    matrix: np.ndarray

    @property
    def unit(self) -> float:
        """The mean of the costs off the diagonal, which is 0 and does not count."""
        n_classes = self.matrix.shape[-1]
        return float(self.matrix.mean()) * n_classes / (n_classes - 1)

    def name(self, classes: np.ndarray) -> str:
        """For people: "cost of spam"."""
        return f"cost of {classes[self.predicted]}"

    def problem(self, kernel: MachineRows, codes: np.ndarray, box: np.ndarray) -> DualProblem:
        """The dual above; `box` is C weight_i, `codes` is -1 where a row takes no part."""
        assert not isinstance(kernel, LinearRows | Rows), "there is no primal form"
        cost = self.matrix[..., self.predicted]
        unit = self.unit
        target = 2 / unit * (cost[codes] if cost.ndim == 1 else cost[np.arange(len(codes)), codes])
        price = np.where(codes >= 0, unit * box, 0.0)
        return DualProblem(
            kernel,
            linear=-target,
            lower=np.where(target > 0, 0.0, -price),
            upper=np.where(target > 0, price, 0.0),
        )


Task = Pair | OneSided


def tasks_of(problem: TrainingProblem) -> Sequence[Task]:
    """The binary problems of a fit; with a cost matrix, one regression per class."""
    n_classes = problem.labels.n_classes
    if problem.costs.matrix is None:
        return pairs(n_classes, problem.multi_class)
    return [OneSided(k, problem.costs.matrix) for k in range(n_classes)]


class Labeler:
    """Trains every binary problem of a `TrainingProblem` on one labeling after the other.

    tasks    the binary problems: pairs of classes, or where there is a cost matrix one regression
             per class
    scheme   how their scores are combined: "ovr", "ovo" or "one_sided"
    found    the solutions of the last labeling, one per task; empty before the first
    n_iter   solver steps so far, over all tasks
    """

    def __init__(self, problem: TrainingProblem, kernel: MachineRows, watch: Watch):
        self.problem = problem
        self.kernel = kernel
        self.watch = watch
        self.tasks = tasks_of(problem)
        self.scheme = problem.scheme
        self.found: list[Solution] = []
        self.n_iter = 0
        self._n_iter_of_task = np.zeros(len(self.tasks), dtype=np.int64)

    def solve(
        self,
        codes: np.ndarray,
        box: np.ndarray,
        *,
        tol: float | None = None,
        max_iter: int | None = None,
    ):
        """Solve every task on a labeling, from the solutions of the last one; those after one that
        was interrupted or stopped are carried into their bounds and left there.
        """
        problems = [task.problem(self.kernel, codes, box) for task in self.tasks]
        limits = self.problem.limits.of_solve(
            int(self._n_iter_of_task.max()), tol=tol, callback=self.watch.look
        )
        if max_iter is not None:
            limits["max_iter"] = max_iter
        self.found = list(solve_machines(problems, self.found or None, **limits))
        self._n_iter_of_task += [solution.n_iter for solution in self.found]
        self.n_iter = int(self._n_iter_of_task.sum())

    @property
    def scores(self) -> np.ndarray:
        """What the tasks say of each row, (n, n_tasks); they came with the solutions."""
        return np.stack([solution.decision_values for solution in self.found], axis=1)

    @property
    def codes(self) -> np.ndarray:
        """The class that the last solutions give each row."""
        return winning_codes(combine(self.scores, self.problem.labels.n_classes, self.scheme))

    @property
    def status(self) -> Status:
        """Why the solver ended: the first reason other than having converged."""
        return next(
            (s.status for s in self.found if s.status is not Status.CONVERGED), Status.CONVERGED
        )

    def end(self, status: Status) -> None:
        """Note that the fit ends here for another reason than the solver's."""
        self.found = [replace(cast(Any, solution), status=status) for solution in self.found]

    def records(self) -> list[RoundRecord]:
        """One record per task, of its last solution."""
        names = [task.name(self.problem.labels.classes) for task in self.tasks]
        return [record_of(name, solution) for name, solution in zip(names, self.found, strict=True)]

    def fits(
        self, history: list[RoundRecord], rounds: np.ndarray | None = None, ended: str | None = None
    ) -> list[BinaryFit]:
        """The solutions as fits, those of a cost matrix in the units of the costs; the history and
        the steps of the whole sequence go with the first.
        """
        known = {"rounds": rounds, "ended": ended}
        first, *others = self.found
        fits = [fit_of(first, history, n_iter=self.n_iter, **known)]
        fits += [fit_of(found, [], n_iter=0, **known) for found in others]
        if not isinstance(self.tasks[0], OneSided):
            return fits
        unit = self.tasks[0].unit / 2  # that they were solved in
        return [
            replace(
                fit, row_beta=unit * fit.row_beta, bias=unit * fit.bias, scores=unit * fit.scores
            )
            for fit in fits
        ]
