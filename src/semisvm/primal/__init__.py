"""The primal form: linear SVMs on rows in memory, in files or on a cluster, with certified gaps.

`PrimalProblem` states it on `Rows`, `solve_primal` solves it, `PrimalSolution` is what it returns.

The primal form is for ``kernel="linear"`` and many rows: its time grows with the number of rows,
where that of the dual form grows with its square. `semisvm.machines` chooses between the two forms.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semisvm.dual import Status
from semisvm.kernels.threads import limited_threads
from semisvm.primal.files import FileRows
from semisvm.primal.problem import GivenPrices, PrimalProblem, PrimalSolution
from semisvm.primal.rows import MemoryRows

__all__ = ["FileRows"]

FEW_WIDE_ROWS = 1_000  # sparse or wide: Newton's method solves the systems of so many exactly
FEW_DIGITS = 1e-4
# epochs for each so many rows or features, the fewer: they cost as much as exact Newton steps
SIZE_PER_EPOCH = 10
# For few features the passes of Newton steps take longer than their systems.
FEWEST_SPARSE_EPOCHS = 2_000
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
    """Minimize a primal problem until its duality gap is at most `tol` times the objective, from
    the solution of an earlier problem on the same rows.

    `max_iter` counts Newton steps, or epochs of dual coordinate descent. Ctrl-C ends the solve too:
    the best point so far is returned with status "interrupted".

    >>> X, sign = np.array([[-1.0], [1.0], [2.0]]), np.array([-1.0, 1.0, 1.0])
    >>> prices = GivenPrices.of_signs(sign, np.ones(3))
    >>> found = solve_primal(PrimalProblem(MemoryRows(X), prices), tol=1e-6)
    >>> found.gap <= 1e-6, found.w.round(3)
    (True, array([1.]))
    """
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    limits = {"tol": tol, "max_iter": max_iter, "deadline": deadline, "callback": callback}
    with limited_threads():
        return _solve_used(problem, start, limits)


def _solve_used(
    problem: PrimalProblem, start: PrimalSolution | None, limits: dict[str, Any]
) -> PrimalSolution:
    """Solve on the rows that have a price, where they are few among those in memory."""
    rows = problem.rows
    prices = problem.prices
    if not isinstance(rows, MemoryRows) or not isinstance(prices, GivenPrices):
        return _solve(problem, start, limits)
    is_used = (prices.positive > 0) | (prices.negative > 0)
    if not prices.positive.any() or not prices.negative.any():
        return _solve_one_sided(problem, prices)
    if np.count_nonzero(is_used) > MOST_IN_USE * rows.n_rows:
        return _solve(problem, start, limits)
    used = np.flatnonzero(is_used)
    if start is not None:
        start = replace(
            start,
            **{k: v[used] for k in ("beta", "values") if (v := getattr(start, k)) is not None},
        )
    used_problem = PrimalProblem(
        rows.select(used), GivenPrices(prices.positive[used], prices.negative[used]), problem.loss
    )
    solution = _solve(used_problem, start, limits)
    beta = None
    if solution.beta is not None:
        beta = np.zeros(rows.n_rows)
        beta[used] = solution.beta
    return replace(solution, values=rows.scores(solution.w) + solution.bias, beta=beta)


def _solve(
    problem: PrimalProblem, start: PrimalSolution | None, limits: dict[str, Any]
) -> PrimalSolution:
    from semisvm.primal.newton import MOST_EXACT, solve_newton
    from semisvm.primal.passes import FULL, curvature_kind

    rows = problem.rows
    watcher = Watcher(**limits)
    # A first solve to few digits: that is what the squared hinge has coordinate descent for.
    is_suited = not problem.is_squared or (start is None and watcher.tol >= FEW_DIGITS)
    is_suited &= (
        isinstance(rows, MemoryRows)
        and rows.n_rows > FEW_WIDE_ROWS
        and curvature_kind(rows) != FULL
    )
    was_given_up = start is not None and start.beta is None and not rows.is_sparse
    if not is_suited or was_given_up:
        return solve_newton(problem, start, watcher)
    from semisvm.primal.descent import solve_descent

    size = min(rows.n_rows, rows.n_features)
    budget = np.inf if size > MOST_EXACT else size / SIZE_PER_EPOCH
    # An epoch takes as long as the rows have numbers.
    if isinstance(rows, MemoryRows) and rows.is_sparse:
        budget = max(
            budget * rows.n_rows * rows.n_features / max(rows.X.nnz, 1), FEWEST_SPARSE_EPOCHS
        )
    solution = solve_descent(problem, start, watcher, budget)
    if solution.status is not Status.STALLED:
        return solution
    exact = solve_newton(problem, solution, watcher, is_hard=True)
    return replace(exact, seconds=solution.seconds + exact.seconds)


def _solve_one_sided(problem: PrimalProblem, prices: GivenPrices) -> PrimalSolution:
    """With rows of one sign, or none, a constant has no loss."""
    bias = float(prices.positive.any()) - float(prices.negative.any())
    w = np.zeros(problem.rows.n_features)
    values = np.full(problem.rows.n_rows, bias)
    return PrimalSolution(w, bias, 0.0, 0.0, 0.0, 0, Status.CONVERGED, 0.0, values=values)
