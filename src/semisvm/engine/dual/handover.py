"""A linear SVM that the steps of the dual form can't finish is solved in the primal form.

Unscaled features or a huge C leave pairs of variables between which the dual form steps to and fro;
Newton's method solves for the d weights at once, and its gap is certified too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from semisvm.engine.problem import DualProblem, Limits, Solution, Status

MOST_FEATURES = 2_000


def solve_in_primal_form(problem: DualProblem, before: Solution, limits: Limits) -> Solution | None:
    """The solution with `w` and no `beta`, where the primal form has one and converges.

    Its n_iter goes on from `before`, its gap is relative, and its objective that of the dual form.
    """
    X = problem.on.linear_rows()
    if X is None or X.shape[1] > MOST_FEATURES or not _is_hinge(problem):
        return None
    from semisvm.engine.primal import solve_stalled

    found = solve_stalled(problem, X, before, limits)
    if found.status is not Status.CONVERGED:
        return None
    return replace(found, objective=-found.bound)


def is_handed_over(start: Any) -> bool:
    """Whether a start was solved in the primal form: so is the next problem of its sequence."""
    return isinstance(start, Solution) and start.beta is None and start.w is not None


def _is_hinge(problem: DualProblem) -> bool:
    """Whether the problem is that of signs and boxes, `Problem.hinge`."""
    is_positive = (problem.lower == 0) & (problem.linear == -1)
    is_negative = (problem.upper == 0) & (problem.linear == 1)
    is_unused = (problem.lower == 0) & (problem.upper == 0)
    is_stated = (is_positive | is_negative | is_unused).all()
    is_bounded = np.isfinite(problem.upper - problem.lower).all()
    return bool(is_stated and is_bounded and problem.total == 0 and problem.row is None)
