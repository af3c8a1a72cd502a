"""The support vector machine of given signs and prices, and methods that solve it again and again on one binary task.

    minimize  1/2 |w|^2 + sum_i box_i max(0, 1 - sign_i f(x_i))         f(x) = <w, x> + bias

sign_i is -1, +1, or 0 for a row that is not in use; box_i is what a unit of its slack costs. In signed variables:
linear = -sign, and the box [0, box_i] for a positive row, [-box_i, 0] for a negative one, [0, 0] out of use.

`Rounds` keeps what methods that solve several problems have in common, so that their files hold the method alone: the
last solution, from which the next solve starts, the limits (which hold for the rounds together), the records, the
round that gave each row its label, and what to do when the user has waited long enough. A method runs inside
``with rounds.until_stopped()``: Ctrl-C, a limit or a callback ends the block wherever it is, and what counts then is
the last problem that was solved in full.
"""

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from semisvm.dual import DualProblem, DualSolution, Status
from semisvm.estimators.binary import USABLE, BinaryFit, BinaryTask
from semisvm.estimators.problem import LinearRows, machine_of, prepare_solve, solver_of_many
from semisvm.estimators.progress import RoundRecord
from semisvm.primal import GivenPrices, PrimalProblem, PrimalSolution

Solution = DualSolution | PrimalSolution

# Solves that stall with such a gap say nothing: rounds whose next step rests on them may never end.
LOST_GAP, MOST_LOST = 0.5, 50


def hinge_problem(kernel: Any, sign: np.ndarray, box: np.ndarray) -> Any:
    """The problem above in the form of its rows: dual on kernel rows, primal on the rows themselves."""
    if isinstance(kernel, LinearRows):
        return PrimalProblem(kernel.rows, GivenPrices.of_signs(sign, box), kernel.loss)
    bound = sign * box
    return DualProblem(kernel, linear=-sign, lower=np.minimum(bound, 0), upper=np.maximum(bound, 0))


def slack(margin: np.ndarray) -> np.ndarray:
    """How far rows fall short of a margin of 1; the margin of row i is sign_i f(x_i)."""
    return np.maximum(0.0, 1.0 - margin)


def losses_at(margin: np.ndarray, loss: str) -> np.ndarray:
    """What rows at these margins are charged: their slack, or its square."""
    return slack(margin) ** 2 if loss == "squared_hinge" else slack(margin)


def squared_norm(solution: Solution) -> float:
    """|w|^2 of a solution."""
    if isinstance(solution, PrimalSolution):
        return float(solution.w @ solution.w)
    return float(solution.row_beta @ solution.scores)


def primal_objective(solution: Solution, sign: np.ndarray, box: np.ndarray, loss: str = "hinge") -> float:
    """The objective above at the f of a solution: at least the optimum, whatever the solver left open."""
    losses = box * losses_at(sign * solution.decision_values, loss)
    return 0.5 * squared_norm(solution) + float(losses[sign != 0].sum())


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
        self._solution: Any = None

    @property
    def tol(self) -> float:
        """The tolerance that was asked for."""
        return self.task.limits.tol

    @property
    def solution(self) -> Any:
        assert self._solution is not None, "nothing is solved yet"
        return self._solution

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

    def solve(
        self,
        problem: Any,
        *,
        tol: float | None = None,
        start: Any = None,
        device: str | None = None,
    ) -> Any:
        """Solve from the last solution, or from a better start, within what is left of the limits.

        `device` is the one the user asked for, unless a problem is better off elsewhere.
        """
        arguments = self._arguments(tol) | ({} if device is None else {"device": device})
        run, start, arguments = prepare_solve(problem, self._solution if start is None else start, arguments)
        return self._keep(run(problem, start, **arguments))

    def solve_many(self, problems: Sequence[Any], starts: Sequence[Any]) -> Iterator[Any]:
        """Solve problems that do not wait for each other, on a device all at once; the last one taken is the last."""
        return map(self._keep, solver_of_many(problems)(problems, starts, **self._arguments(None)))

    def _arguments(self, tol: float | None) -> dict[str, Any]:
        return self.task.limits.of_solve(self.n_iter, tol=tol, callback=self.task.watch.look)

    def _keep(self, found: Any) -> Any:
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

    def go_back(self, solution: Any) -> None:
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
        """What was learned; coefficients and bias are the solution's unless a method knows them better."""
        found, n = self.solution, len(self.task.sign)
        bias = found.bias if bias is None else bias
        return BinaryFit(
            **(machine_of(found) if row_beta is None else {"row_beta": row_beta}),
            bias=bias,
            scores=found.scores[:n] + bias,
            n_iter=self.n_iter,
            gap=found.gap if math.isfinite(found.gap) else 0.0,
            status=self.ended_by or found.status,
            history=self.history,
            rounds=self.labeled_in,
            guess=self.guess,
            ended=ended,
            outcome=outcome,
        )
