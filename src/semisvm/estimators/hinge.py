"""The support vector machine of given signs and prices, which most methods here solve again and again.

    minimize  1/2 |w|^2 + sum_i box_i max(0, 1 - sign_i f(x_i))         f(x) = <w, x> + bias

sign_i is -1, +1, or 0 for a row that is not in use; box_i is what a unit of its slack costs. In signed variables:
linear = -sign, and the box [0, box_i] for a positive row, [-box_i, 0] for a negative one, [0, 0] out of use.
"""

import numpy as np

from semisvm.dual import DualProblem, DualSolution
from semisvm.kernels import KernelRows


def hinge_problem(kernel: KernelRows, sign: np.ndarray, box: np.ndarray) -> DualProblem:
    """The problem above in the dual."""
    bound = sign * box
    return DualProblem(kernel, linear=-sign, lower=np.minimum(bound, 0), upper=np.maximum(bound, 0))


def slack(margin: np.ndarray) -> np.ndarray:
    """How far rows fall short of a margin of 1; the margin of row i is sign_i f(x_i)."""
    return np.maximum(0.0, 1.0 - margin)


def squared_norm(solution: DualSolution) -> float:
    """|w|^2 of a solution."""
    return float(solution.row_beta @ solution.scores)


def primal_objective(solution: DualSolution, sign: np.ndarray, box: np.ndarray) -> float:
    """The objective above at the f of a solution: at least the optimum, whatever the solver left open."""
    losses = box * slack(sign * solution.decision_values)
    return 0.5 * squared_norm(solution) + float(losses[sign != 0].sum())
