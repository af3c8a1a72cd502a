"""The primal form: linear machines on rows in memory, in files or on a cluster, with certified gaps.

`PrimalProblem` states it on `Rows`, `solve_primal` solves it, `PrimalSolution` is what it returns.

A machine has two forms: dual, in a kernel, and primal, in the features. Methods state machines by signs and prices
(`hinge_problem`). On `KernelRows` the problem is a `DualProblem`; on `LinearRows`, a `PrimalProblem` on the same rows.
The solutions of both have `decision_values`, `scores`, `bias`, `gap`, `n_iter` and `status`, and start the next solve,
so that a method need not know the form. What differs is what is kept: coefficients of rows, or weights of features. The
primal form is for ``kernel="linear"``, and for many rows: its time grows with the number of rows where that of the dual
form grows with its square. The loss is never changed to get it (`settle_solver`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from semisvm.dual import DualProblem, DualSolution, Status, solve, solve_many
from semisvm.kernels.threads import one_blas_thread
from semisvm.matrices import is_sparse_matrix
from semisvm.primal.dask_rows import DaskRows
from semisvm.primal.files import FileRows, ScratchWriter
from semisvm.primal.problem import ClassPrices, GivenPrices, Loss, PrimalProblem, PrimalSolution, RowPart
from semisvm.primal.rows import MemoryRows, Rows

__all__ = [
    "ClassPrices",
    "DaskRows",
    "FileRows",
    "GivenPrices",
    "MemoryRows",
    "PrimalProblem",
    "PrimalSolution",
    "RowPart",
    "Rows",
    "ScratchWriter",
    "solve_primal",
]

FEW_WIDE_ROWS = 1_000  # sparse or wide: Newton's method solves the systems of so many exactly
FEW_DIGITS = 1e-4
SIZE_PER_EPOCH = 10  # epochs for each so many rows or features, the fewer: they cost as much as exact Newton steps
FEWEST_SPARSE_EPOCHS = 2_000  # for few features the passes of Newton steps take longer than their systems
MOST_IN_USE = 0.7  # where fewer rows have a price, they are solved apart from the others


@dataclass
class Watcher:
    """Limits of one solve, and who may end it."""

    tol: float
    max_iter: int | None
    deadline: float | None
    callback: Any
    n_iter: int = 0

    def ended(self, gap: float) -> Status | None:
        """Why the solve ends here, None where it goes on."""
        if gap <= self.tol:
            return Status.CONVERGED
        if self.max_iter is not None and self.n_iter >= self.max_iter:
            return Status.MAX_ITER
        if self.deadline is not None and time.perf_counter() >= self.deadline:
            return Status.TIME_LIMIT
        if self.callback is not None and self.callback(self.n_iter, gap):
            return Status.STOPPED
        return None


def solve_primal(
    problem: PrimalProblem,
    start: PrimalSolution | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[int, float], bool] | None = None,
) -> PrimalSolution:
    """Minimize a primal problem until its duality gap is at most `tol` times the objective.

    Ctrl-C ends the solve too: the best point so far is returned with status "interrupted".

    Parameters
    ----------
    problem : PrimalProblem
        The problem.
    start : PrimalSolution, default=None
        The solution of an earlier problem on the same rows to start from.
    tol : float, default=1e-3
        The gap to reach: (objective - bound) / objective.
    max_iter : int, default=None
        Most Newton steps, or epochs of dual coordinate descent; no limit by default.
    time_limit : float, default=None
        Most seconds to take; no limit by default.
    callback : callable, default=None
        Called as callback(n_iter, gap) in every step; if it returns true, the solve ends.

    Returns
    -------
    PrimalSolution
        The best point found, with its certified gap.

    See Also
    --------
    semisvm.dual.solve : The dual form, for kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.primal import GivenPrices, MemoryRows, PrimalProblem, solve_primal
    >>> X, sign = np.array([[-1.0], [1.0], [2.0]]), np.array([-1.0, 1.0, 1.0])
    >>> found = solve_primal(PrimalProblem(MemoryRows(X), GivenPrices.of_signs(sign, np.ones(3))), tol=1e-6)
    >>> found.gap <= 1e-6, found.w.round(3)
    (True, array([1.]))
    """
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    limits = {"tol": tol, "max_iter": max_iter, "deadline": deadline, "callback": callback}
    with one_blas_thread:  # threads are ours: two pools of them wait for each other
        return _solve_used(problem, start, limits)


def _solve_used(problem: PrimalProblem, start: PrimalSolution | None, limits: dict[str, Any]) -> PrimalSolution:
    """Solve on the rows that have a price, where they are few among those in memory."""
    rows, prices = problem.rows, problem.prices
    if not isinstance(rows, MemoryRows) or not isinstance(prices, GivenPrices):
        return _solve(problem, start, limits)
    is_used = (prices.positive > 0) | (prices.negative > 0)
    if not prices.positive.any() or not prices.negative.any():
        return _solve_one_sided(problem, prices)
    if np.count_nonzero(is_used) > MOST_IN_USE * rows.n_rows:
        return _solve(problem, start, limits)
    used = np.flatnonzero(is_used)
    if start is not None:
        start = replace(start, **{k: v[used] for k in ("beta", "values") if (v := getattr(start, k)) is not None})
    own = PrimalProblem(rows.select(used), GivenPrices(prices.positive[used], prices.negative[used]), problem.loss)
    found = _solve(own, start, limits)
    beta = None
    if found.beta is not None:
        beta = np.zeros(rows.n_rows)
        beta[used] = found.beta
    return replace(found, values=rows.scores(found.w) + found.bias, beta=beta)


def _solve(problem: PrimalProblem, start: PrimalSolution | None, limits: dict[str, Any]) -> PrimalSolution:
    from semisvm.primal.newton import MOST_EXACT, solve_newton
    from semisvm.primal.passes import FULL, curvature_kind

    rows, watcher = problem.rows, Watcher(**limits)
    # A first solve to few digits: that is what the squared hinge has coordinate descent for.
    is_suited = not problem.is_squared or (start is None and watcher.tol >= FEW_DIGITS)
    is_suited &= isinstance(rows, MemoryRows) and rows.n_rows > FEW_WIDE_ROWS and curvature_kind(rows) != FULL
    was_given_up = start is not None and start.beta is None and not rows.is_sparse
    if not is_suited or was_given_up:
        return solve_newton(problem, start, watcher)
    from semisvm.primal.descent import solve_descent

    size = min(rows.n_rows, rows.n_features)
    budget = np.inf if size > MOST_EXACT else size / SIZE_PER_EPOCH
    if isinstance(rows, MemoryRows) and rows.is_sparse:  # an epoch takes as long as the rows have numbers
        budget = max(budget * rows.n_rows * rows.n_features / max(rows.X.nnz, 1), FEWEST_SPARSE_EPOCHS)
    found = solve_descent(problem, start, watcher, budget)
    if found.status is not Status.STALLED:
        return found
    exact = solve_newton(problem, found, watcher, is_hard=True)
    return replace(exact, seconds=found.seconds + exact.seconds)


def _solve_one_sided(problem: PrimalProblem, prices: GivenPrices) -> PrimalSolution:
    """With rows of one sign, or none, a constant has no loss."""
    bias = float(prices.positive.any()) - float(prices.negative.any())
    w, values = np.zeros(problem.rows.n_features), np.full(problem.rows.n_rows, bias)
    return PrimalSolution(w, bias, 0.0, 0.0, 0.0, 0, Status.CONVERGED, 0.0, values=values)


# ---- machines in either form ----

Solver = Literal["auto", "dual", "primal"]
Solution = DualSolution | PrimalSolution

# Rows from which solver="auto" takes the primal form, where it is the faster one.
DENSE_ROWS, DENSE_ROWS_PER_FEATURE, MOST_DENSE_FEATURES = 2_000, 10, 2_000
SPARSE_ROWS = 5_000


@dataclass(frozen=True)
class LinearRows:
    """Rows in the primal form, in the place that kernel rows have in the dual form."""

    rows: MemoryRows
    loss: Loss


def hinge_problem(kernel: Any, sign: np.ndarray, box: np.ndarray) -> Any:
    """The machine of given signs and prices in the form of its rows: dual on kernel rows, primal on rows themselves.

        minimize  1/2 |w|^2 + sum_i box_i max(0, 1 - sign_i f(x_i))         f(x) = <w, x> + bias

    sign_i is -1, +1, or 0 for a row that is not in use; box_i is what a unit of its slack costs. In signed variables:
    linear = -sign, and the box [0, box_i] for a positive row, [-box_i, 0] for a negative one, [0, 0] out of use.
    """
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
    """The objective of `hinge_problem` at the f of a solution: at least the optimum, whatever the solver left open."""
    losses = box * losses_at(sign * solution.decision_values, loss)
    return 0.5 * squared_norm(solution) + float(losses[sign != 0].sum())


def settle_solver(
    solver: Solver, loss: Loss, kernel: Any, X: Any, *, reason_against: str | None, device: str
) -> Literal["dual", "primal"]:
    """The form of a fit; `reason_against` says why a method has no primal form here, None where it has one."""
    if solver == "dual":
        if loss != "hinge":
            raise ValueError("solver='dual' has the hinge loss only; use solver='primal' for loss='squared_hinge'.")
        return solver
    if kernel != "linear":
        reason_against = f"needs kernel='linear', and kernel={kernel!r} was given"
    is_asked_for = solver == "primal" or loss != "hinge"
    if is_asked_for and reason_against is not None:
        words = "solver='primal'" if solver == "primal" else f"loss={loss!r}"
        raise ValueError(f"{words} {reason_against}.")
    if is_asked_for:
        return "primal"
    if reason_against is not None or device not in ("auto", "cpu"):
        return "dual"
    return choose_solver(*X.shape, is_sparse=is_sparse_matrix(X))[0]


def choose_solver(n_rows: int, n_features: int, *, is_sparse: bool) -> tuple[Literal["dual", "primal"], str]:
    """What solver="auto" means for a linear machine of so many rows in memory, and a sentence that says so and why.

    The hinge has both forms; the rule is by size alone, so that it can be told before any row is read.
    """
    kind = "sparse" if is_sparse else "dense"
    size = f"{n_rows:,} {kind} rows with {n_features:,} features"
    if not is_sparse and n_features > MOST_DENSE_FEATURES:
        limit = f"'auto' takes the primal form of dense rows for up to {MOST_DENSE_FEATURES:,} features"
        return "dual", f"{size}: dual form ({limit}; solver='primal' for any number)."
    fewest = SPARSE_ROWS if is_sparse else max(DENSE_ROWS, DENSE_ROWS_PER_FEATURE * n_features)
    if n_rows < fewest:
        return "dual", f"{size}: dual form (primal from {fewest:,} rows on)."
    return "primal", f"{size}: primal form, in time and memory linear in the rows (from {fewest:,} rows on)."


def prepare_solve(
    problem: DualProblem | PrimalProblem, start: Any, limits: dict[str, Any]
) -> tuple[Callable[..., Any], Any, dict[str, Any]]:
    """The function that solves a problem, and the start and the limits that it takes.

    The primal form is solved on the CPU, and without a store: solving again takes no longer than reading.
    """
    if isinstance(problem, DualProblem):
        return solve, start, limits
    own = {name: value for name, value in limits.items() if name not in ("device", "store")}
    return solve_primal, start if isinstance(start, PrimalSolution) else None, own


def solver_of_many(problems: Sequence[Any]) -> Callable[..., list[Any]]:
    """The function that solves problems of one form that do not wait for each other: (problems, starts, **limits)."""
    return solve_many if isinstance(problems[0], DualProblem) else _solve_each


def _solve_each(problems: Sequence[PrimalProblem], starts: Sequence[Any] | None, **limits: Any) -> list[Any]:
    """In the primal form: once a solve was interrupted or stopped, those after it are not begun."""
    found: list[PrimalSolution] = []
    for number, problem in enumerate(problems):
        ended = found[-1].status if found and found[-1].status in (Status.INTERRUPTED, Status.STOPPED) else None
        own = limits if ended is None else limits | {"max_iter": 0, "callback": None}
        run, start, own = prepare_solve(problem, None if starts is None else starts[number], own)
        solution = run(problem, start, **own)
        found.append(solution if ended is None else replace(solution, status=ended))
    return found


def lower_bound(solution: Solution) -> float:
    """What the objective of the machine can't be below."""
    return solution.bound if isinstance(solution, PrimalSolution) else -solution.objective
