"""`solve`: one door to the solvers, whatever the device."""

from collections.abc import Callable

import numpy as np

from semisvm.device import resolve
from semisvm.dual.problem import DualProblem, DualSolution


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
    """Minimise the dual problem until its gap is below `tol`.

    start       coefficients to begin with: the solution of an earlier problem on the same kernel rows, or an array.
                They are carried into the bounds; where the gap is then below `tol`, no step is taken.
    max_iter    most steps (None: until it converges); time_limit, most seconds. Both end with what there is.
    callback    called as callback(n_iter, gap) several times a second; a true answer ends the solve.

    Ctrl-C ends the solve too: the solution so far is returned with ``status`` "interrupted".
    """
    if not tol > 0:
        raise ValueError(f"tol must be positive, got {tol!r}.")
    resolve(device)
    from semisvm.dual.pairwise import solve_pairwise

    return solve_pairwise(problem, start, tol=tol, max_iter=max_iter, time_limit=time_limit, callback=callback)
