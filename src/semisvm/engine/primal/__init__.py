"""The primal form: linear SVMs on rows in memory, in a file or on a cluster, with certified gaps.

    minimize  P(w, bias) = 1/2 |w|^2 + sum_i [ p_i h(f_i) + q_i h(-f_i) ]   f_i = <w, x_i> + bias

    hinge            h(t) = max(0, 1 - t)
    squared hinge    h(t) = max(0, 1 - t)^2

Row i has two penalties: p_i for being short of the positive side, q_i of the negative side. A
labeled row has one of them (C times its weight times the cost of its class), so has a guessed row,
and a row out of use has none. The bias is not regularized. LIBLINEAR's is, as one more column of
ones: another problem.

The time of the primal form grows with the number of rows, that of the dual form with its square.
Files: `rows` (rows wherever they are), `solver` (who solves what), `newton` and `descent` (the two
methods), `passes` and `compiled` (their sums), `ranks` (what transductive methods ask of rows that
are not in memory).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from semisvm.engine.primal.ranks import ClassPenalties, RankPenalties
from semisvm.engine.primal.rows import MemoryRows, Part, Rows, StreamRows, rows_of
from semisvm.engine.problem import DualProblem, Limits, Problem, Solution
from semisvm.matrices import as_dense

__all__ = [
    "ClassPenalties",
    "MemoryRows",
    "Part",
    "RankPenalties",
    "Rows",
    "StreamRows",
    "choose_form",
    "rows_of",
    "solve_stalled",
]

# Rows from which the primal form is the faster one of a linear SVM. The systems of dense rows grow
# with the square of the features.
DENSE_ROWS, DENSE_ROWS_PER_FEATURE, MOST_DENSE_FEATURES = 2_000, 10, 2_000
SPARSE_ROWS = 5_000


def choose_form(n_rows: int, n_features: int, *, is_sparse: bool) -> Literal["dual", "primal"]:
    """The form in which a linear SVM on so many rows in memory is solved faster."""
    if is_sparse:
        return "primal" if n_rows >= SPARSE_ROWS else "dual"
    fewest = max(DENSE_ROWS, DENSE_ROWS_PER_FEATURE * n_features)
    return "primal" if n_rows >= fewest and n_features <= MOST_DENSE_FEATURES else "dual"


def solve_stalled(problem: DualProblem, X: Any, start: Solution, limits: Limits) -> Solution:
    """Solve a dual problem with a linear kernel on rows X, which the dual form has given up.

    The problem has to be one of signs and boxes (`Problem.hinge`), and of at most 2,000 features.
    The solution has w and no beta: what the passes know of dual variables bounds the optimum, but
    does not add up to w. Its n_iter counts the steps of both forms.
    """
    sign, box = -problem.linear, np.maximum(-problem.lower, problem.upper)
    rows = MemoryRows(as_dense(X))
    (found,) = rows.solve([Problem.hinge(rows, sign, box)], [None], limits)
    return replace(found, problem=problem, n_iter=start.n_iter + found.n_iter)
