"""The quadratic problem behind every method of this library, and its solvers on the CPU and on
devices.

`DualProblem` states it, `solve` and `solve_many` solve it on the CPU or on a device, `DualSolution`
is what they return.

A start is the solution of an earlier problem, carried into the bounds of the next one. It is worth
what it keeps: each coefficient that changes costs one kernel row to bring the gradient up to date.
So every coefficient outside its new box is clipped, and the rest of the sum is taken by as few
variables as possible, first by those for which the move is most downhill.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from semisvm.device import resolve
from semisvm.dual.problem import DualProblem, DualSolution, Status, sum_by_row
from semisvm.kernels.rows import CachedRows, KernelRows

__all__ = ["DualProblem", "DualSolution", "Status", "solve", "solve_many"]

USUALLY_ENOUGH = 32  # variables considered before all of them are sorted


def solve(
    problem: DualProblem,
    start: DualSolution | np.ndarray | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    time_limit: float | None = None,
    device: str = "auto",
    callback: Callable[[int, float], bool] | None = None,
) -> DualSolution:
    """Minimize a dual problem until its gap is below `tol`.

    Ctrl-C also ends the solve: the solution so far is returned with status "interrupted".

    Parameters
    ----------
    problem : DualProblem
        The problem.
    start : DualSolution or array-like of shape (n_variables,), default=None
        Coefficients to start from: the solution of an earlier problem on the same kernel rows, or
        an array; zeros by default. They are moved into the bounds. If the gap is then below `tol`,
        no step is taken.
    tol : float, default=1e-3
        The gap to reach.
    max_iter : int, default=None
        Maximum number of steps; no limit by default.
    time_limit : float, default=None
        Time limit in seconds; no limit by default.
    device : str, default="auto"
        Where to solve: "cpu", "cuda", "cuda:1", ...; "auto" is the device of the kernel rows.
    callback : callable, default=None
        Called as callback(n_iter, gap) several times per second; if it returns true, the solve
        ends.

    Returns
    -------
    DualSolution
        The solution; if a limit ended the solve, a feasible point with its true gap.

    See Also
    --------
    solve_many : Solve several problems.

    Examples
    --------
    A C-SVC with C = 1 on three rows, and again from its solution:

    >>> import numpy as np
    >>> from semisvm.dual import DualProblem, solve
    >>> from semisvm.kernels import kernel_rows, make_formula
    >>> X, sign = np.array([[-1.0], [1.0], [2.0]]), np.array([-1.0, 1.0, 1.0])
    >>> rows = kernel_rows(X, make_formula("linear", X), dtype=np.float64)
    >>> problem = DualProblem(rows, -sign, np.minimum(sign, 0), np.maximum(sign, 0))
    >>> solution = solve(problem)
    >>> solution.beta
    array([-0.5,  0.5,  0. ])
    >>> solve(problem, solution).n_iter
    0
    """
    _check_tol(tol)
    limits: dict[str, Any] = {
        "tol": tol,
        "max_iter": max_iter,
        "time_limit": time_limit,
        "callback": callback,
    }
    if (place := _place_of(problem.kernel, device)) == "cpu":
        from semisvm.dual.host import solve_on_host

        return solve_on_host(problem, start, cast(CachedRows, problem.kernel), **limits)
    return _solve_on_device([problem], [start], place, **limits)[0]


def solve_many(
    problems: Sequence[DualProblem],
    starts: Sequence[DualSolution | np.ndarray | None] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    time_limit: float | None = None,
    device: str = "auto",
    callback: Callable[[int, float], bool] | None = None,
) -> list[DualSolution]:
    """Solve several problems: on a device those on the same kernel rows as one batch, otherwise one
    after the other.

    If a problem is interrupted or stopped, the starts of those after it are moved into their bounds
    and returned with the same status.

    Parameters
    ----------
    problems : sequence of DualProblem
        The problems. They form a batch if all have the same kernel and the same variables' rows.
    starts : sequence of DualSolution, array-like or None, default=None
        One start per problem, as for `solve`.
    tol : float, default=1e-3
        The gap to reach.
    max_iter : int, default=None
        Maximum number of steps for each problem.
    time_limit : float, default=None
        Time limit in seconds for all problems together.
    device : str, default="auto"
        Where to solve, as for `solve`.
    callback : callable, default=None
        As for `solve`; for a batch n_iter is the sum over its problems, gap the largest.

    Returns
    -------
    list of DualSolution
        One solution per problem.

    See Also
    --------
    solve : Solve one problem.

    Examples
    --------
    One problem for each of three values of C:

    >>> import numpy as np
    >>> from semisvm.dual import DualProblem, solve_many
    >>> from semisvm.kernels import kernel_rows, make_formula
    >>> X, sign = np.array([[-1.0], [1.0], [2.0]]), np.array([-1.0, 1.0, 1.0])
    >>> rows = kernel_rows(X, make_formula("linear", X), dtype=np.float64)
    >>> box = np.minimum(sign, 0), np.maximum(sign, 0)
    >>> problems = [DualProblem(rows, -sign, C * box[0], C * box[1]) for C in (0.1, 1, 10)]
    >>> [round(solution.objective, 3) for solution in solve_many(problems)]
    [-0.18, -0.5, -0.5]
    """
    _check_tol(tol)
    starts = [None] * len(problems) if starts is None else starts
    if len(starts) != len(problems):
        raise ValueError(f"{len(starts)} starts were given for {len(problems)} problems.")
    if not problems:
        return []
    first = problems[0]
    place = _place_of(first.kernel, device)
    can_share_batch = (
        problem.kernel is first.kernel and _are_equal(problem.row, first.row)
        for problem in problems
    )
    limits: dict[str, Any] = {
        "tol": tol,
        "max_iter": max_iter,
        "time_limit": time_limit,
        "callback": callback,
    }
    if place != "cpu" and all(can_share_batch):
        return _solve_on_device(problems, starts, place, **limits)
    return solve_in_turn(solve, problems, starts, device=device, **limits)


def solve_in_turn(
    solve_one: Callable[..., Any],
    problems: Sequence[Any],
    starts: Sequence[Any],
    *,
    max_iter: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[int, float], bool] | None = None,
    **others: Any,
) -> list[Any]:
    """Solve one problem after the other within one time limit. Once a solve was interrupted or
    stopped, those after it are returned as they start, with the same status.
    """
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    solutions: list[Any] = []
    ended = None
    for problem, start in zip(problems, starts, strict=True):
        if ended is None:
            left = None if deadline is None else deadline - time.perf_counter()
            limits = {"max_iter": max_iter, "time_limit": left, "callback": callback}
            solutions.append(solve_one(problem, start, **limits, **others))
            status = solutions[-1].status
            ended = status if status in (Status.INTERRUPTED, Status.STOPPED) else None
        else:
            solutions.append(replace(solve_one(problem, start, max_iter=0, **others), status=ended))
    return solutions


def _check_tol(tol: float) -> None:
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")


def _place_of(kernel: KernelRows, device: str) -> str:
    """Where to solve: rows that are on a device stay there."""
    if kernel.home == "cpu":
        return "cpu" if device == "auto" else resolve(device)
    if device == "cpu":
        raise ValueError(
            f"The kernel rows are on device {kernel.home}: make them with device='cpu' to solve"
            " there."
        )
    return kernel.home


def _solve_on_device(
    problems: Sequence[DualProblem], starts: Sequence[Any], place: str, **limits: Any
) -> list[DualSolution]:
    from semisvm.dual.block import solve_block
    from semisvm.kernels.device_rows import on_device

    return solve_block(problems, starts, on_device(problems[0].kernel, place), **limits)


def _are_equal(rows: np.ndarray | None, others: np.ndarray | None) -> bool:
    """Whether two problems have the same rows for their variables; None is every row in turn."""
    return rows is others if rows is None or others is None else np.array_equal(rows, others)


def feasible_start(
    problem: DualProblem, start: DualSolution | np.ndarray | None, kernel: KernelRows
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return beta inside the bounds, the scores K beta of the start before that, and the change per
    data row.

    The scores of beta are therefore scores + K @ change; each solver computes that product itself.
    """
    if start is None:
        before = np.zeros(problem.n_variables)
    else:
        before = (
            start.beta if isinstance(start, DualSolution) else np.asarray(start, dtype=np.float64)
        )
    if before.shape != (problem.n_variables,):
        raise ValueError(
            f"start has shape {before.shape}, but the problem has {problem.n_variables} variables."
        )
    if not np.isfinite(before).all():
        raise ValueError("start must be finite.")
    n_rows = problem.kernel.n_rows
    if (
        isinstance(start, DualSolution)
        and len(start.scores) == n_rows
        and _are_equal(start.row, problem.row)
    ):
        scores = start.scores
    else:
        scores = np.zeros(n_rows) if start is None else kernel.times(sum_by_row(problem, before))
    at_variables = scores if problem.row is None else scores[problem.row]
    gradient = at_variables + problem.linear
    beta = repair(before, problem.lower, problem.upper, problem.total, gradient)
    return beta, scores, sum_by_row(problem, beta - before)


def repair(beta: Any, lower: Any, upper: Any, total: float, gradient: Any) -> np.ndarray:
    """Coefficients inside bounds, with a given sum, of which as few as possible are changed: those
    for which the move is most downhill take up the sum first.

    >>> gradient = np.array([0.0, 1.0, -1.0])
    >>> repair(np.array([5.0, 0.0, 0.0]), np.zeros(3), np.full(3, 2.0), 3.0, gradient)
    array([2., 0., 1.])
    """
    beta = np.clip(beta, lower, upper)
    lacking = total - beta.sum()
    if lacking == 0:
        return beta
    direction = 1.0 if lacking > 0 else -1.0
    room = upper - beta if direction > 0 else beta - lower
    chosen = _fewest_variables(direction * gradient, room, abs(lacking))
    if len(chosen):
        # All but the last go to their bound: assigned, not added up, so that rounding can't leave
        # them beside it.
        full = chosen[:-1]
        last = chosen[-1]
        beta[full] = (upper if direction > 0 else lower)[full]
        beta[last] = np.clip(beta[last] + (total - beta.sum()), lower[last], upper[last])
    return beta


def _fewest_variables(slope: np.ndarray, room: np.ndarray, amount: float) -> np.ndarray:
    """The fewest variables, steepest first, that together have room for `amount`."""
    able = np.flatnonzero(room > 0)
    if len(able) > USUALLY_ENOUGH:
        few = able[np.argpartition(slope[able], USUALLY_ENOUGH)[:USUALLY_ENOUGH]]
        able = few if room[few].sum() >= amount else able
    order = able[np.argsort(slope[able], kind="stable")]
    reach = np.cumsum(room[order])
    return order[: int(np.searchsorted(reach, amount)) + 1]
