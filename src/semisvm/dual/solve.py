"""`solve` and `solve_many`: the entry to the solvers, whatever the device."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from semisvm.device import resolve
from semisvm.dual.problem import DualProblem, DualSolution, SolveStore, Status
from semisvm.kernels import KernelRows
from semisvm.kernels.interface import HostRows

WORTH_KEEPING = (Status.CONVERGED, Status.STALLED)  # the same solve would end there again


def solve(
    problem: DualProblem,
    start: DualSolution | np.ndarray | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    time_limit: float | None = None,
    device: str = "auto",
    callback: Callable[[int, float], bool] | None = None,
    store: SolveStore | None = None,
) -> DualSolution:
    """Minimize a dual problem until its gap is below `tol`.

    Ctrl-C ends the solve too: the solution so far is returned with status "interrupted".

    Parameters
    ----------
    problem : DualProblem
        The problem.
    start : DualSolution or array-like of shape (n_variables,), default=None
        Coefficients to start from: the solution of an earlier problem on the same kernel rows, or an array; zeros by
        default. They are carried into the bounds. If the gap is then below `tol`, no step is taken.
    tol : float, default=1e-3
        The gap to reach.
    max_iter : int, default=None
        Most steps to take; no limit by default.
    time_limit : float, default=None
        Most seconds to take; no limit by default.
    device : str, default="auto"
        Where to solve: "cpu", "cuda", "cuda:1", ...; "auto" is where the kernel rows are.
    callback : callable, default=None
        Called as callback(n_iter, gap) several times per second; if it returns true, the solve ends.
    store : SolveStore, default=None
        Asked for the solution before solving; given the solution afterwards if it converged or stalled.

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
    >>> problem = DualProblem(rows, linear=-sign, lower=np.minimum(sign, 0), upper=np.maximum(sign, 0))
    >>> solution = solve(problem)
    >>> solution.beta
    array([-0.5,  0.5,  0. ])
    >>> solve(problem, solution).n_iter
    0
    """
    _check_tol(tol)
    if store is not None:
        settings = {"tol": tol, "max_iter": max_iter, "time_limit": time_limit, "device": device}
        if (known := store.recall(problem, settings)) is not None:
            return known
    limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "time_limit": time_limit, "callback": callback}
    if (place := _place_of(problem.kernel, device)) == "cpu":
        from semisvm.dual.host import solve_on_host

        found = solve_on_host(problem, start, cast(HostRows, problem.kernel), **limits)
    else:
        from semisvm.dual.block import solve_block
        from semisvm.kernels.device_rows import on_device

        found = solve_block([problem], [start], on_device(problem.kernel, place), **limits)[0]
    if store is not None and found.status in WORTH_KEEPING:
        store.keep(problem, found)
    return found


def solve_many(
    problems: Sequence[DualProblem],
    starts: Sequence[DualSolution | np.ndarray | None] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    time_limit: float | None = None,
    device: str = "auto",
    callback: Callable[[int, float], bool] | None = None,
    store: SolveStore | None = None,
) -> list[DualSolution]:
    """Solve several problems: on a device those on the same kernel rows as one batch, otherwise one after the other.

    Once one problem was interrupted or stopped, the starts of those after it are carried into their bounds and returned
    with the same status.

    Parameters
    ----------
    problems : sequence of DualProblem
        The problems. They form a batch if all have the same kernel and the same variables' rows.
    starts : sequence of DualSolution, array-like or None, default=None
        One start per problem, as for `solve`.
    tol : float, default=1e-3
        The gap to reach.
    max_iter : int, default=None
        Most steps to take for each problem.
    time_limit : float, default=None
        Most seconds to take for all problems together.
    device : str, default="auto"
        Where to solve, as for `solve`.
    callback : callable, default=None
        As for `solve`; for a batch n_iter is the sum over its problems, gap the largest.
    store : SolveStore, default=None
        As for `solve`; with a store the problems are solved one after the other.

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
    >>> problems = [DualProblem(rows, -sign, C * np.minimum(sign, 0), C * np.maximum(sign, 0)) for C in (0.1, 1, 10)]
    >>> [round(solution.objective, 3) for solution in solve_many(problems)]
    [-0.18, -0.5, -0.5]
    """
    _check_tol(tol)
    starts = [None] * len(problems) if starts is None else starts
    if len(starts) != len(problems):
        raise ValueError(f"{len(starts)} starts were given for {len(problems)} problems.")
    if not problems:
        return []
    place = _place_of(problems[0].kernel, device)
    if place != "cpu" and store is None and all(_can_share_batch(problems[0], problem) for problem in problems):
        from semisvm.dual.block import solve_block
        from semisvm.kernels.device_rows import on_device

        kernel = on_device(problems[0].kernel, place)
        return solve_block(
            problems, starts, kernel, tol=tol, max_iter=max_iter, time_limit=time_limit, callback=callback
        )
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    shared: dict[str, Any] = {"tol": tol, "device": device, "callback": callback, "store": store}
    found: list[DualSolution] = []
    ended = None
    for problem, start in zip(problems, starts, strict=True):
        left = None if deadline is None else deadline - time.perf_counter()
        if ended is None:
            found.append(solve(problem, start, max_iter=max_iter, time_limit=left, **shared))
            ended = found[-1].status if found[-1].status in (Status.INTERRUPTED, Status.STOPPED) else None
        else:
            found.append(replace(solve(problem, start, max_iter=0, **shared), status=ended))
    return found


def _check_tol(tol: float) -> None:
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")


def _place_of(kernel: KernelRows, device: str) -> str:
    """Where to solve: rows that are on a device stay there."""
    if kernel.home == "cpu":
        return "cpu" if device == "auto" else resolve(device)
    if device == "cpu":
        raise ValueError(f"The kernel rows are on device {kernel.home}: make them with device='cpu' to solve there.")
    return kernel.home


def _can_share_batch(one: DualProblem, other: DualProblem) -> bool:
    if one.kernel is not other.kernel or (one.row is None) != (other.row is None):
        return False
    return one.row is None or np.array_equal(one.row, cast(np.ndarray, other.row))
