"""Who solves a problem on rows: Newton's method, but for sparse rows in memory that are not many
more than their features. Those are solved by dual coordinate descent, and where it is slow, by
Newton's method with conjugate gradients from there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from semisvm.engine.primal.descent import solve_descent
from semisvm.engine.primal.newton import solve_newton
from semisvm.engine.primal.rows import MemoryRows, Part, pick
from semisvm.engine.problem import GivenPenalties, Limits, PrimalProblem, Solution, Status

MOST_IN_USE = 0.7  # where fewer rows have a penalty, they are solved apart from the others
MANY_ROWS_PER_FEATURE = 20  # Newton's method is faster than descent
FEW_DIGITS = 1e-4  # of the squared hinge: to a smaller gap Newton's method is faster than descent


def solve_rows(problem: PrimalProblem, start: Any, limits: Limits) -> Solution:
    """Solve from the solution of an earlier problem on the same rows; a start in the dual form does
    not count.
    """
    start = start if isinstance(start, Solution) and start.w is not None else None
    rows, penalties = problem.on, problem.penalties
    if isinstance(rows, MemoryRows):
        penalties = GivenPenalties(*rows.penalties(penalties))
    if not isinstance(penalties, GivenPenalties):
        return solve_newton(problem, start, limits)
    is_positive, is_negative = penalties.positive > 0, penalties.negative > 0
    if not is_positive.any() or not is_negative.any():
        # Rows of one sign, or none: a constant has no loss.
        bias = float(is_positive.any()) - float(is_negative.any())
        w, scores = np.zeros(rows.n_features), np.zeros(rows.n_rows)
        return Solution(problem, bias, 0.0, 0.0, 0, Status.CONVERGED, scores, w=w, bound=0.0)
    if not isinstance(rows, MemoryRows):
        found = solve_newton(problem, start, limits)
        scores = np.concatenate(list(rows.map_over(Part.scores, found.w)))
        return replace(found, scores=scores)
    used = np.flatnonzero(is_positive | is_negative)
    if len(used) <= MOST_IN_USE * rows.n_rows:
        return _solve_used(problem, penalties, start, limits, used)
    return _solve_in_memory(replace(problem, penalties=penalties), start, limits)


def _solve_in_memory(problem: PrimalProblem, start: Solution | None, limits: Limits) -> Solution:
    if not _suits_descent(problem, start, limits):
        return solve_newton(problem, start, limits)
    found = solve_descent(problem, start, limits)
    if found.status is not Status.STALLED:
        return found
    return solve_newton(problem, replace(found, beta=None), limits, found.n_iter)


def _suits_descent(problem: PrimalProblem, start: Solution | None, limits: Limits) -> bool:
    rows: MemoryRows = problem.on
    if not rows.is_sparse or rows.n_rows >= MANY_ROWS_PER_FEATURE * rows.n_features:
        return False
    if problem.loss == "squared_hinge":
        return start is None and limits.tol >= FEW_DIGITS
    # A start without dual variables is Newton's: descent was given up before.
    return start is None or start.beta is not None


def _solve_used(
    problem: PrimalProblem,
    penalties: GivenPenalties,
    start: Solution | None,
    limits: Limits,
    used: np.ndarray,
) -> Solution:
    """Solve on some of the rows, the only ones that have a penalty."""
    rows: MemoryRows = problem.on
    few = GivenPenalties(penalties.positive[used], penalties.negative[used])
    of_used = PrimalProblem(rows.select(used), few, problem.loss)
    if start is not None and start.problem.on is rows:
        beta, scores = pick(start.beta, used), pick(start.scores, used)
        start = replace(start, problem=of_used, beta=beta, scores=scores)
    found = _solve_in_memory(of_used, start, limits)
    beta = None
    if found.beta is not None:
        beta = np.zeros(rows.n_rows)
        beta[used] = found.beta
    assert found.w is not None
    return replace(found, problem=problem, scores=rows.scores(found.w), beta=beta)
