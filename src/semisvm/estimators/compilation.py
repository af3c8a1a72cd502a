"""Compile everything that a fit on the CPU may need, once: the machine code is kept on disk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.decision.audit import MANY_COPIES, resampled_values
from semisvm.decision.target import Target
from semisvm.dual import DualProblem
from semisvm.dual.advance import PairwiseSteps, WorkingSets
from semisvm.dual.host import SolverState
from semisvm.estimators.auto.trees import FEW_WALKS, grow_forest, grow_leaf_shares
from semisvm.estimators.classifier import MANY_NUMBERS
from semisvm.estimators.equal_rows import content_key
from semisvm.kernels import (
    SHORT_ROW,
    WORTH_COMPILING,
    kernel_rows,
    make_formula,
    scores_of_new_rows,
)
from semisvm.kernels.panel_source import WORDS_PAY_FROM_ROWS
from semisvm.primal import Watcher
from semisvm.primal.descent import solve_descent
from semisvm.primal.newton import solve_newton
from semisvm.primal.passes import curvature_times, slopes_along
from semisvm.primal.problem import GivenPrices, PrimalProblem
from semisvm.primal.rows import MemoryRows

ROWS_TO_COMPILE = 40


def compile_all() -> dict[str, float]:
    """Compile everything that a fit on the CPU may need; the machine code is kept on disk.

    The first fit after an installation compiles what it uses, for a few seconds. This does it for
    all of them: rows of both precisions, dense, sparse and of whole numbers, both ways to advance,
    scores of new rows, linear SVMs on sparse rows, and the trees of
    `AutoSVC`.

    Returns
    -------
    dict of str to float
        The seconds that each part took; hundredths of a second where it was on disk already.

    Examples
    --------
    >>> from semisvm.estimators.compilation import compile_all
    >>> seconds = compile_all()  # doctest: +SKIP
    """
    seconds: dict[str, float] = {}

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        seconds[name] = time.perf_counter() - began

    rng = np.random.default_rng(0)
    types = (np.float32, np.float64)
    few = rng.normal(size=(ROWS_TO_COMPILE, 3))
    long = rng.normal(size=(ROWS_TO_COMPILE, 200))
    sign = np.where(few[:, 0] > 0, 1.0, -1.0)
    formula = make_formula("rbf", few, gamma=1.0)
    forms: dict[str, Any] = {"short or sparse rows": sparse.csr_matrix(few), "long rows": long}
    cases = [
        (f"{name}, {dtype.__name__}", X, dtype) for dtype in types for name, X in forms.items()
    ]
    cases.append(
        ("rows of whole numbers", sparse.csr_matrix(np.eye(WORDS_PAY_FROM_ROWS, 3)), np.float32)
    )
    for name, X, dtype in cases:
        for what, way in (("pairwise steps", PairwiseSteps), ("working sets", WorkingSets)):
            with timed(f"{what}, {name}"):
                _advance(X, np.resize(sign, X.shape[0]), dtype, way)
    with timed("scores of new rows"):
        new = np.zeros((WORTH_COMPILING // ROWS_TO_COMPILE + 1, min(3, SHORT_ROW)))
        scores_of_new_rows(new, few, sign[None], formula)
    for dtype in types:
        with timed(f"linear SVMs, sparse rows, {dtype.__name__}"):
            _solve_linear(sparse.csr_array(few, dtype=dtype), sign)
    with timed("passes over many rows"):
        for dtype in types:
            content_key(np.zeros((4, MANY_NUMBERS // 4 + 1), dtype=dtype))
    with timed("best F of resamples"):
        resamples = np.ones((MANY_COPIES // ROWS_TO_COMPILE + 1, ROWS_TO_COMPILE), np.int32)
        resampled_values(few[:, 0], sign > 0, resamples, Target())
    with timed("trees"):  # and more rows through them than NumPy sends
        codes = (sign > 0).astype(np.intp)
        trees, *_ = grow_forest(
            few, codes, np.ones(len(few)), 2, n_trees=2, per_cut=1, is_random=False
        )
        trees.leaves(np.zeros((FEW_WALKS + 1, few.shape[1])))
        grow_leaf_shares(few)
    return seconds


def _advance(X: Any, sign: Any, dtype: Any, way: Any) -> None:
    """Take a few steps of a small problem in one of the ways, from a start that is not 0."""
    kernel: Any = kernel_rows(X, make_formula("rbf", X, gamma=1.0), dtype=dtype, cache_size=1.0)
    state = SolverState(
        DualProblem(kernel, -sign, sign.clip(max=0), sign.clip(min=0)), 0.1 * sign, kernel
    )
    state.survey()
    way(state).advance(1e-3, 10)
    state.solution(None, 0.0)  # type: ignore[arg-type]


def _solve_linear(X: Any, sign: Any) -> None:
    """Solve a linear SVM on CSR rows in both ways, and take a step of conjugate gradients."""
    rows = MemoryRows(X)
    prices = GivenPrices.of_signs(sign, np.ones(len(sign)))
    d = X.shape[1]
    for solve in (solve_descent, solve_newton):
        solve(
            PrimalProblem(rows, prices),
            None,
            Watcher(tol=1e-9, max_iter=3, deadline=None, callback=None),
        )
    for part in rows.parts():
        curvature_times(part, prices, np.zeros(d), 0.0, 1.0, np.ones(d + 1))
        slopes_along(part, prices, np.ones((2, d + 1)), np.ones(1), 1.0)
