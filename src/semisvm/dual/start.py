"""Where a solve starts: the coefficients of an earlier solution, carried into the bounds of the next problem.

A warm start is worth what it keeps: each coefficient that changes costs one kernel row to bring the gradient up to
date. So every coefficient outside its new box is clipped, and the rest of the sum is taken by as few variables as
possible, first by those for which the move is most downhill.
"""

from typing import Any

import numpy as np

from semisvm.dual.problem import DualProblem, DualSolution
from semisvm.kernels import KernelRows

USUALLY_ENOUGH = 32  # variables considered before all of them are sorted


def feasible_start(
    problem: DualProblem, start: DualSolution | np.ndarray | None, kernel: KernelRows
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return beta inside the bounds, the scores K beta of the start before that, and the change per data row.

    The scores of beta are therefore scores + K @ change; each solver computes that product itself.
    """
    if start is None:
        before = np.zeros(problem.n_variables)
    else:
        before = start.beta if isinstance(start, DualSolution) else np.asarray(start, dtype=np.float64)
    if before.shape != (problem.n_variables,):
        raise ValueError(f"start has shape {before.shape}, but the problem has {problem.n_variables} variables.")
    if not np.isfinite(before).all():
        raise ValueError("start must be finite.")
    if isinstance(start, DualSolution) and _has_same_rows(start, problem):
        scores = start.scores
    else:
        scores = np.zeros(problem.kernel.n_rows) if start is None else kernel.times(problem.sum_by_row(before))
    gradient = problem.at_variables(scores) + problem.linear
    beta = repair(before, problem.lower, problem.upper, problem.total, gradient)
    return beta, scores, problem.sum_by_row(beta - before)


def _has_same_rows(start: DualSolution, problem: DualProblem) -> bool:
    """Whether the scores of `start` are K beta for the rows that the coefficients have in this problem."""
    if len(start.scores) != problem.kernel.n_rows:
        return False
    if start.row is None or problem.row is None:
        return start.row is problem.row
    return np.array_equal(start.row, problem.row)


def repair(beta: Any, lower: Any, upper: Any, total: float, gradient: Any) -> np.ndarray:
    """Carry coefficients into bounds and to a sum, changing as few as possible.

    Parameters
    ----------
    beta : ndarray of shape (n_variables,)
        The coefficients; not changed.
    lower, upper : ndarray of shape (n_variables,)
        The bounds.
    total : float
        The sum that the coefficients must have.
    gradient : ndarray of shape (n_variables,)
        Gradient of the objective: variables for which the move is most downhill take up the sum first.

    Returns
    -------
    ndarray of shape (n_variables,)
        Coefficients inside the bounds, with the right sum.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.dual import repair
    >>> repair(np.array([5.0, 0.0, 0.0]), np.zeros(3), np.full(3, 2.0), 3.0, np.array([0.0, 1.0, -1.0]))
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
        # All but the last go to their bound: assigned, not added up, so that rounding can't leave them beside it.
        full, last = chosen[:-1], chosen[-1]
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
