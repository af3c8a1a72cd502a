"""A start: the solution of an earlier problem, carried into the bounds of the next one.

It is worth what it keeps: each coefficient that changes costs one kernel row to bring the gradient
up to date. So every coefficient outside its new box is clipped, and the rest of the sum is taken by
as few variables as possible, first by those for which the move is most downhill.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semisvm.engine.problem import DualProblem, Solution

USUALLY_ENOUGH = 32  # variables considered before all of them are sorted


def feasible_start(problem: DualProblem, start: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """beta inside the bounds, the scores of the start before that, and the change per data row.

    The scores of beta are therefore scores + K @ change, which each solver computes itself.
    """
    n = len(problem.linear)
    given = start.beta if isinstance(start, Solution) else start
    before = np.zeros(n) if given is None else np.asarray(given, dtype=np.float64)
    if before.shape != (n,):
        raise ValueError(f"start has shape {before.shape}, but the problem has {n} variables.")
    if not np.isfinite(before).all():
        raise ValueError("start must be finite.")
    if given is None:
        scores = np.zeros(problem.on.n_rows)
    elif isinstance(start, Solution) and start.scores is not None and _same_rows(start, problem):
        scores = start.scores
    else:
        scores = problem.on.times(problem.by_row(before))
    at_variables = scores if problem.row is None else scores[problem.row]
    gradient = at_variables + problem.linear
    beta = repair(before, problem.lower, problem.upper, problem.total, gradient)
    return beta, scores, problem.by_row(beta - before)


def _same_rows(start: Solution, problem: DualProblem) -> bool:
    """Whether the scores of a start are those of its coefficients in this problem."""
    before = start.problem
    return (
        start.beta is not None
        and isinstance(before, DualProblem)
        and before.on is problem.on
        and (before.row is problem.row or np.array_equal(before.row, problem.row))  # type: ignore[arg-type]
    )


def repair(
    before: np.ndarray, lower: np.ndarray, upper: np.ndarray, total: float, gradient: np.ndarray
) -> np.ndarray:
    """Coefficients inside bounds, with a given sum, of which as few as possible are changed.

    >>> gradient = np.array([0.0, 1.0, -1.0])
    >>> repair(np.array([5.0, 0.0, 0.0]), np.zeros(3), np.full(3, 2.0), 3.0, gradient)
    array([2., 0., 1.])
    """
    beta = np.clip(before, lower, upper)
    lacking = total - beta.sum()
    if lacking == 0:
        return beta
    slope, bound = (gradient, upper) if lacking > 0 else (-gradient, lower)
    room = np.abs(bound - beta)
    able = np.flatnonzero(room > 0)
    if len(able) > USUALLY_ENOUGH:
        few = able[np.argpartition(slope[able], USUALLY_ENOUGH)[:USUALLY_ENOUGH]]
        able = few if room[few].sum() >= abs(lacking) else able
    order = able[np.argsort(slope[able], kind="stable")]
    chosen = order[: int(np.searchsorted(np.cumsum(room[order]), abs(lacking))) + 1]
    if len(chosen):
        # All but the last go to their bound: assigned, so that rounding can't leave them beside it.
        last = chosen[-1]
        beta[chosen[:-1]] = bound[chosen[:-1]]
        beta[last] = np.clip(beta[last] + (total - beta.sum()), lower[last], upper[last])
    return beta
