"""`solve` and `solve_many`: one door to the solvers, whatever the device."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from semisvm.device import resolve
from semisvm.dual.memo import ambient_store
from semisvm.dual.problem import DualProblem, DualSolution, SolveStore, Status
from semisvm.dual.together import meeting
from semisvm.kernels.device_rows import home_of, on_device
from semisvm.kernels.rows import KernelRows

WORTH_KEEPING = (Status.CONVERGED, Status.STALLED)  # solutions that a store keeps: the same solve would end there again


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
    """Minimize the dual problem until its gap is below `tol`.

    start       coefficients to begin with: the solution of an earlier problem on the same kernel rows, or an array.
                They are carried into the bounds; where the gap is then below `tol`, no step is taken.
    max_iter    most steps (None: until it converges); time_limit, most seconds. Both end with what there is.
    device      where to solve; "auto" is where the kernel rows are.
    callback    called as callback(n_iter, gap) several times a second; a true answer ends the solve.
    store       asked for the solution first; it keeps a solution that converged or stalled.

    Ctrl-C ends the solve too: the solution so far is returned with ``status`` "interrupted".
    """
    _check_tol(tol)
    store = ambient_store() if store is None else store
    if store is not None:
        settings = {"tol": tol, "max_iter": max_iter, "time_limit": time_limit, "device": device}
        if (known := store.recall(problem, settings)) is not None:
            return known
    limits = {"tol": tol, "max_iter": max_iter, "time_limit": time_limit, "callback": callback}
    if (met := meeting.get()) is not None:
        found = met.solve(problem, start, limits | {"device": device})
    elif (place := _place(problem.kernel, device)) == "cpu":
        from semisvm.dual.pairwise import solve_pairwise

        found = solve_pairwise(problem, start, **limits)  # type: ignore[arg-type]
    else:
        from semisvm.dual.block import solve_block

        kernel = on_device(problem.kernel, place)
        found = solve_block([problem], [start], kernel, **limits)[0]  # type: ignore[arg-type]
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
    """Solve several problems: on a device those on the same kernel rows at once, on the CPU one after the other.

    Arguments are those of `solve`; `starts` has one per problem. max_iter holds for each problem, time_limit for all
    together. With a store the problems are solved one after the other on a device too. Once one was interrupted or
    stopped, those after it are carried into their bounds and left there.
    """
    _check_tol(tol)
    starts = [None] * len(problems) if starts is None else starts
    if len(starts) != len(problems):
        raise ValueError(f"{len(starts)} starts were given for {len(problems)} problems.")
    if not problems:
        return []
    place = _place(problems[0].kernel, device)
    store = ambient_store() if store is None else store
    if place != "cpu" and store is None and all(_go_together(problems[0], problem) for problem in problems):
        from semisvm.dual.block import solve_block

        kernel = on_device(problems[0].kernel, place)
        return solve_block(
            problems, starts, kernel, tol=tol, max_iter=max_iter, time_limit=time_limit, callback=callback
        )
    deadline = None if time_limit is None else time.perf_counter() + time_limit
    limits = {"tol": tol, "device": device, "callback": callback, "store": store}
    found: list[DualSolution] = []
    ended = None
    for problem, start in zip(problems, starts, strict=True):
        left = None if deadline is None else deadline - time.perf_counter()
        if ended is None:
            found.append(solve(problem, start, max_iter=max_iter, time_limit=left, **limits))  # type: ignore[arg-type]
            ended = found[-1].status if found[-1].status in (Status.INTERRUPTED, Status.STOPPED) else None
        else:
            found.append(replace(solve(problem, start, max_iter=0, **limits), status=ended))  # type: ignore[arg-type]
    return found


def _check_tol(tol: float) -> None:
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")


def _place(kernel: KernelRows, device: str) -> str:
    """Where to solve: rows that are on a device stay there."""
    home = home_of(kernel)
    if home is None:
        return "cpu" if device == "auto" else resolve(device)
    if device == "cpu":
        raise ValueError(f"The kernel rows are on device {home}: make them with device='cpu' to solve there.")
    return home


def _go_together(one: DualProblem, other: DualProblem) -> bool:
    if one.kernel is not other.kernel or (one.row is None) != (other.row is None):
        return False
    return one.row is None or np.array_equal(one.row, other.row)  # type: ignore[arg-type]
