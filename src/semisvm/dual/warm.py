"""Compile everything that a fit on the CPU may need, once: the machine code is kept on disk.

The first fit after an installation compiles what it uses, for a few seconds. `compile_all` does it for all of them:
rows of both precisions, dense, sparse and of whole numbers, both ways to advance, and scores of new rows.
"""

import time
from typing import Any, cast

import numpy as np
from scipy import sparse

from semisvm.dual.advance import PairwiseSteps, WorkingSets
from semisvm.dual.host import SolverState
from semisvm.dual.problem import DualProblem
from semisvm.kernels import kernel_rows, make_formula, scores_of_new_rows
from semisvm.kernels.choose import SHORT_ROW, WORTH_COMPILING
from semisvm.kernels.interface import HostRows
from semisvm.kernels.panel_source import FEW_NUMBERS, WORDS_PAY_FROM_ROWS

ROWS_TO_COMPILE = 40


def compile_all() -> dict[str, float]:
    """Compile, or find on disk, everything that a fit on the CPU may need.

    Returns
    -------
    dict of str to float
        The seconds that each part took; hundredths of a second where it was on disk already.

    Examples
    --------
    >>> from semisvm.dual.warm import compile_all
    >>> seconds = compile_all()  # doctest: +SKIP
    """
    rng = np.random.default_rng(0)
    few = rng.normal(size=(ROWS_TO_COMPILE, 3))
    long = rng.normal(size=(ROWS_TO_COMPILE, 200))
    sign = np.where(few[:, 0] > 0, 1.0, -1.0)
    forms: dict[str, Any] = {"short or sparse rows": sparse.csr_matrix(few), "long rows": long}
    types = np.float32, np.float64
    cases = [(f"{name}, {dtype.__name__}", X, dtype) for dtype in types for name, X in forms.items()]
    cases.append(("rows of whole numbers", sparse.csr_matrix(np.eye(WORDS_PAY_FROM_ROWS, 3)), np.float32))
    seconds = {}
    for name, X, dtype in cases:
        for what, way in (("pairwise steps", PairwiseSteps), ("working sets", WorkingSets)):
            began = time.perf_counter()
            _advance(X, np.resize(sign, X.shape[0]), dtype, way)
            seconds[f"{what}, {name}"] = time.perf_counter() - began
    began = time.perf_counter()
    for dtype in types:
        many = np.zeros((FEW_NUMBERS // 2 + 1, 2), dtype=dtype)
        kernel_rows(many, make_formula("rbf", few, gamma=1.0), cache_size=1.0)
    seconds["dense rows to sparse ones"] = time.perf_counter() - began
    began = time.perf_counter()
    new = np.zeros((WORTH_COMPILING // ROWS_TO_COMPILE + 1, min(3, SHORT_ROW)))
    scores_of_new_rows(new, few, sign[None], make_formula("rbf", few, gamma=1.0))
    seconds["scores of new rows"] = time.perf_counter() - began
    return seconds


def _advance(X, sign: np.ndarray, dtype, way) -> None:
    """Take a few steps of a small problem in one of the ways, from a start that is not 0."""
    kernel = cast(HostRows, kernel_rows(X, make_formula("rbf", X, gamma=1.0), dtype=dtype, cache_size=1.0))
    problem = DualProblem(kernel, -sign, np.minimum(sign, 0), np.maximum(sign, 0))
    state = SolverState(problem, 0.1 * sign, kernel)
    state.survey()
    way(state).advance(1e-3, 10)
    state.solution(None, 0.0)  # type: ignore[arg-type]
