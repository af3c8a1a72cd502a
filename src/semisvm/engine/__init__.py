"""The engine: SVMs on kernels or rows, solved to a certified gap.

    Problem.hinge(on, sign, box)             one SVM; `on` is a kernel, or rows of a linear SVM
    solve(problems, starts, limits)          several of them on the same kernel or rows

Nothing else is public to the estimators but the makers of kernels and rows. `on` knows who solves:
the working sets of the CPU (`dual`), the blocks of a device (`gpu`), Newton's method (`primal`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semisvm.engine.formula import Formula, make_formula
from semisvm.engine.parallel import libraries_on_one_thread
from semisvm.engine.problem import (
    DualProblem,
    GivenPenalties,
    Limits,
    PrimalProblem,
    Problem,
    Solution,
    Status,
)

__all__ = [
    "DualProblem",
    "Formula",
    "GivenPenalties",
    "Limits",
    "PrimalProblem",
    "Problem",
    "Solution",
    "Status",
    "make_formula",
    "solve",
]


def solve(
    problems: Sequence[Problem],
    starts: Sequence[Solution | np.ndarray | None] | None = None,
    limits: Limits = Limits(),  # noqa: B008 - it is frozen
) -> list[Solution]:
    """Solve problems on one kernel or on the same rows, each from its start.

    A start is the solution of an earlier problem on the same kernel or rows, or an array of
    coefficients.
    """
    starts = [None] * len(problems) if starts is None else starts
    if len(starts) != len(problems):
        raise ValueError(f"{len(starts)} starts were given for {len(problems)} problems.")
    if not problems:
        return []
    with libraries_on_one_thread():
        return problems[0].on.solve(problems, starts, limits)
