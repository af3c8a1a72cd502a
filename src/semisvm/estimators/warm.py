"""Compile everything that a fit on the CPU may need, once: the machine code is kept on disk.

The first fit after an installation compiles what it uses, for a few seconds. `compile_all` does it for all of them:
rows of both precisions, dense, sparse and of whole numbers, both ways to advance, scores of new rows, linear machines
on sparse rows, values of resamples, and the trees of `AutoSVC`.
"""

import time
from typing import Any, cast

import numpy as np
from scipy import sparse

from semisvm.decision import Target
from semisvm.decision.audit import FEW_COPIES, resample, resampled_values
from semisvm.dual.advance import PairwiseSteps, WorkingSets
from semisvm.dual.host import SolverState
from semisvm.dual.problem import DualProblem
from semisvm.estimators.auto.trees import FEW_WALKS, grow_forest, grow_leaf_shares
from semisvm.estimators.classifier import MANY_NUMBERS
from semisvm.estimators.equal_rows import content_key
from semisvm.kernels import (
    SHORT_ROW,
    WORTH_COMPILING,
    CachedRows,
    kernel_rows,
    make_formula,
    scores_of_new_rows,
)
from semisvm.kernels.panel_source import FEW_NUMBERS, WORDS_PAY_FROM_ROWS
from semisvm.primal import GivenPrices, MemoryRows, PrimalProblem, Watcher
from semisvm.primal.descent import solve_descent
from semisvm.primal.newton import solve_newton
from semisvm.primal.passes import curvature_times, slopes_along

ROWS_TO_COMPILE = 40


def compile_all() -> dict[str, float]:
    """Compile, or find on disk, everything that a fit on the CPU may need.

    Returns
    -------
    dict of str to float
        The seconds that each part took; hundredths of a second where it was on disk already.

    Examples
    --------
    >>> from semisvm.estimators.warm import compile_all
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
    for dtype in types:
        began = time.perf_counter()
        _solve_linear(sparse.csr_array(few, dtype=dtype), sign)
        seconds[f"linear machines, sparse rows, {dtype.__name__}"] = time.perf_counter() - began
    began = time.perf_counter()
    for dtype in types:
        content_key(np.zeros((4, MANY_NUMBERS // 4 + 1), dtype=dtype))
    seconds["passes over many rows"] = time.perf_counter() - began
    began = time.perf_counter()
    is_positive = np.resize(sign > 0, FEW_COPIES // 100 + 1)
    resampled_values(is_positive.astype(np.float64), is_positive, resample(is_positive, 100, rng), Target())
    seconds["values of resamples"] = time.perf_counter() - began
    began = time.perf_counter()
    _grow_trees(few, (sign > 0).astype(np.intp))
    seconds["trees"] = time.perf_counter() - began
    return seconds


def _advance(X, sign: np.ndarray, dtype, way) -> None:
    """Take a few steps of a small problem in one of the ways, from a start that is not 0."""
    kernel = cast(CachedRows, kernel_rows(X, make_formula("rbf", X, gamma=1.0), dtype=dtype, cache_size=1.0))
    problem = DualProblem(kernel, -sign, np.minimum(sign, 0), np.maximum(sign, 0))
    state = SolverState(problem, 0.1 * sign, kernel)
    state.survey()
    way(state).advance(1e-3, 10)
    state.solution(None, 0.0)  # type: ignore[arg-type]


def _solve_linear(X: Any, sign: np.ndarray) -> None:
    """Solve a linear machine on CSR rows in both ways, and sum over its rows as conjugate gradients do."""
    rows, prices = MemoryRows(X), GivenPrices.of_signs(sign, np.ones(len(sign)))
    problem = PrimalProblem(rows, prices)
    for solve in (solve_descent, solve_newton):
        solve(problem, None, Watcher(tol=1e-9, max_iter=3, deadline=None, callback=None))
    d = X.shape[1]
    for part in rows.parts():
        curvature_times(part, prices, np.zeros(d), 0.0, 1.0, np.ones(d + 1))
        slopes_along(part, prices, np.ones((2, d + 1)), np.ones(1), 1.0)


def _grow_trees(X: np.ndarray, codes: np.ndarray) -> None:
    """Grow trees with and without labels, and send more rows through them than NumPy would."""
    forest = grow_forest(X, codes, np.ones(len(X)), 2, n_trees=2, per_cut=1, is_random=False)
    many = np.zeros((FEW_WALKS + 1, X.shape[1]))
    forest.trees.sums(many, forest.shares)
    forest.trees.leaves(many)
    grow_leaf_shares(X)
