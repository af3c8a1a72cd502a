"""Where and how far SVMs are solved: the one place that knows of devices and forms.

    minimize  1/2 |w|^2 + sum_i box_i loss(sign_i f(x_i))             f(x) = <w, x> + bias

A method states an SVM by signs and boxes on what `Engine.rows` makes:

    a kernel        the dual form, one coefficient per row; on the host or on a GPU
    rows            the primal form, one weight per feature; in memory or memory-mapped
    Dask rows       the primal form, sums over partitions (`_dask`)

and `Engine.solve` solves on whatever it made. No method asks which it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from semisvm.engine import DualProblem, Formula, Limits, Problem, Solution, solve
from semisvm.engine.kernels import kernel_of
from semisvm.engine.kernels.kernel import Kernel
from semisvm.engine.primal import choose_form, rows_of
from semisvm.matrices import is_sparse_matrix


@dataclass(frozen=True)
class Engine:
    """The parameters tol, max_iter, device, cache_size and verbose of an estimator, and its form.

    max_iter    -1: no limit
    """

    tol: float
    max_iter: int
    device: str
    cache_size: float | None
    verbose: bool
    form: Literal["dual", "primal"] = "dual"
    loss: Literal["hinge", "squared_hinge"] = "hinge"

    @classmethod
    def of(cls, svm: Any, X: Any) -> Engine:
        """The engine of an estimator for these rows; methods without a primal form have no loss."""
        limits = svm.tol, svm.max_iter, svm.device, svm.cache_size, svm.verbose
        return (
            cls(*limits) if not hasattr(svm, "solver") else cls(*limits, form_of(svm, X), svm.loss)
        )

    def rows(self, X: Any, formula: Formula) -> Any:
        """What SVMs on these rows are solved on."""
        if self.form == "primal":
            return rows_of(X)
        return kernel_of(X, formula, tol=self.tol, device=self.device, cache_size=self.cache_size)

    def svm(self, rows: Any, sign: np.ndarray, box: np.ndarray) -> Problem:
        """The SVM of signs, 0 for a row out of use, and of what a unit of slack costs each row."""
        return Problem.hinge(rows, sign, box, self.loss)

    def solve(self, svm: Problem, start: Any = None, *, tol: float | None = None) -> Solution:
        """Solve one SVM, from the solution of an earlier one or from coefficients."""
        return solve([svm], [start], self._limits(tol))[0]

    def solve_all(self, svms: Sequence[Problem], starts: Sequence[Any] | None) -> list[Solution]:
        """Solve SVMs that do not wait for each other, on a device all at once."""
        return solve(svms, starts, self._limits(None))

    def _limits(self, tol: float | None) -> Limits:
        max_iter = np.inf if self.max_iter < 0 else self.max_iter
        return Limits(self.tol if tol is None else tol, max_iter)


def form_of(svm: Any, X: Any) -> Literal["dual", "primal"]:
    """The form that a linear SVM with these parameters is solved in."""
    if svm.solver == "dual":
        if svm.loss != "hinge":
            raise ValueError("solver='dual' has loss='hinge' only; use solver='primal' or 'auto'.")
        return "dual"
    why_not = svm._why_not_primal()
    if svm.kernel != "linear":
        why_not = f"needs kernel='linear', and kernel={svm.kernel!r} was given"
    if svm.solver == "primal" or svm.loss != "hinge":
        if why_not is not None:
            asked = "solver='primal'" if svm.solver == "primal" else f"loss={svm.loss!r}"
            raise ValueError(f"{asked} {why_not}.")
        return "primal"
    if why_not is not None or svm.device not in ("auto", "cpu"):
        return "dual"
    return choose_form(*X.shape, is_sparse=is_sparse_matrix(X))


def slack(margin: np.ndarray) -> np.ndarray:
    """How far rows fall short of a margin of 1; the margin of row i is sign_i f(x_i)."""
    return np.maximum(0.0, 1.0 - margin)


def losses_at(margin: np.ndarray, loss: str) -> np.ndarray:
    """What rows at these margins are charged: their slack, or its square."""
    return slack(margin) ** 2 if loss == "squared_hinge" else slack(margin)


def primal_objective(
    solution: Solution, sign: np.ndarray, box: np.ndarray, loss: str = "hinge"
) -> float:
    """The objective of `Engine.svm` at the f of a solution: at least the optimum."""
    losses = box * losses_at(sign * solution.decision_values, loss)
    return 0.5 * solution.squared_norm + float(losses[sign != 0].sum())


def carried(solution: Solution, bound: np.ndarray, new_bound: np.ndarray) -> Any:
    """A start for the same SVM with other boxes: coefficients at a bound go to the new bound.

    The bounds are signed, sign_i box_i.
    """
    if solution.beta is None:
        return solution
    if isinstance(solution.problem, DualProblem):
        return np.where(solution.beta == bound, new_bound, solution.beta)
    is_at_bound = np.abs(solution.beta) >= np.abs(bound)
    return replace(solution, beta=np.where(is_at_bound, new_bound, solution.beta))


def coefficients_of(solution: Solution) -> np.ndarray:
    """The coefficients of a solution in the dual form, as a start; zeros where it has none."""
    if solution.beta is not None:
        return solution.beta
    assert isinstance(solution.problem, DualProblem)
    return np.zeros(len(solution.problem.linear))


def is_on_device(rows: Any) -> bool:
    """Whether a kernel is on a GPU, which solves many problems at once."""
    return rows.form == "dual" and not isinstance(rows, Kernel)


def whole_kernel(rows: Any) -> np.ndarray | None:
    """The kernel matrix where it fits into memory, else None."""
    if not isinstance(rows, Kernel) or rows.capacity < rows.n_rows:
        return None
    K = rows.whole()
    return rows.rows(np.arange(rows.n_rows)) if K is None else K


def kernel_of_values(K: np.ndarray) -> Any:
    """The kernel of a matrix."""
    return kernel_of(K, Formula("precomputed"))
