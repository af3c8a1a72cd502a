"""What a method is given: the rows in use with their labels, weights and costs, the kernel, the limits, the progress.

    X        (n, d)  the rows in use, or with a precomputed kernel the matrix between them, (n, n)
    labels   (n,)    a class or none for each row
    weight   (n,)    how many rows each row counts for; positive
    random_sample (n,) mask: labels that are a random sample, so that a method may measure on them; None: all of them

`BaseSVC.fit` makes it from the user's arguments, a method's `_fit` turns it into a `MethodFit` (see `binary`). A method
that learns from some of the rows only works on `problem.select(rows)`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.device import SOLVES_OF_A_SEQUENCE, explain_choice, explain_compilation
from semisvm.estimators.costs import Costs
from semisvm.estimators.forms import DUAL_FORM, Form, LinearRows, choose_solver, settle_form
from semisvm.estimators.inputs import needs_float64
from semisvm.estimators.progress import Progress
from semisvm.kernels import Formula, kernel_rows, make_formula
from semisvm.kernels.threads import n_threads
from semisvm.labels import Labels
from semisvm.primal import MemoryRows

# Kernel rows are kept in float32, unless a tolerance below this is asked for or there are few rows: there float64
# costs nothing and makes the model independent of the order of rows to nine digits.
FLOAT32_SUFFICES = 1e-5
FEW_ROWS = 1000


@dataclass(frozen=True)
class Limits:
    """How far to solve, and where.

    max_iter   most solver steps for each binary problem, all its rounds together; None: no limit
    deadline   when the whole fit has to end, on the clock of `time.perf_counter`; None: never
    store      where finished solves are kept and found again; None: nowhere
    """

    tol: float
    max_iter: int | None = None
    deadline: float | None = None
    device: str = "auto"
    cache_size: float | None = None
    store: Any = None

    def of_solve(
        self, n_iter: int = 0, *, tol: float | None = None, callback: Callable[[int, float], bool] | None = None
    ) -> dict[str, Any]:
        """The arguments of the next solve, after `n_iter` steps of the same binary problem."""
        return {
            "tol": self.tol if tol is None else tol,
            "max_iter": None if self.max_iter is None else max(self.max_iter - n_iter, 0),
            "time_limit": None if self.deadline is None else self.deadline - time.perf_counter(),
            "device": self.device,
            "callback": callback,
            "store": self.store,
        }


@dataclass(frozen=True)
class KernelParameters:
    """The kernel as the user names it."""

    kernel: str | Callable
    gamma: str | float
    coef0: float
    degree: float

    @property
    def is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"


@dataclass(frozen=True)
class TrainingProblem:
    """See the module's docstring; `name` is the estimator's, for messages; `multi_class` is "auto", "ovr" or "ovo"."""

    name: str
    X: Any
    labels: Labels
    weight: np.ndarray
    costs: Costs
    kernel: KernelParameters
    multi_class: str
    limits: Limits
    progress: Progress
    random_sample: np.ndarray | None = None
    form: Form = DUAL_FORM

    @property
    def n_rows(self) -> int:
        return len(self.weight)

    def select(self, rows: np.ndarray) -> TrainingProblem:
        """The same problem on some of the rows, given as a mask."""
        return self if rows.all() else self.take(np.flatnonzero(rows))

    def take(self, rows: np.ndarray) -> TrainingProblem:
        """The same problem on these rows, given by their numbers, in this order."""
        X = self.X[np.ix_(rows, rows)] if self.kernel.is_precomputed else self.X[rows]
        return replace(
            self,
            X=X,
            labels=Labels(self.labels.classes, self.labels.codes[rows]),
            weight=self.weight[rows],
            costs=self.costs.select(rows),
            random_sample=None if self.random_sample is None else self.random_sample[rows],
        )

    def with_auto_scheme(self, scheme: str) -> TrainingProblem:
        """The same problem, with what multi_class="auto" means for the method at hand."""
        return replace(self, multi_class=scheme) if self.multi_class == "auto" else self

    def settle_form(self, reason_against: str | None = None) -> TrainingProblem:
        """The same problem in the form that suits its rows; `reason_against`: why the method has no primal form."""
        if reason_against is None and self.costs.matrix is not None:
            reason_against = "has no form for a cost matrix of more than two classes; use a dictionary of costs"
        form = settle_form(
            self.form, self.kernel.kernel, self.X, reason_against=reason_against, device=self.limits.device
        )
        if self.form == Form("auto") and self.kernel.is_linear and self.is_verbose:
            solver, reason = choose_solver(*self.X.shape, is_sparse=sparse.issparse(self.X))
            if solver == form.solver:
                print(f"[form] {reason}", flush=True)
        return replace(self, form=form)

    @property
    def is_verbose(self) -> bool:
        return bool(getattr(self.progress.estimator, "verbose", False))

    def relabel(self, codes: np.ndarray) -> TrainingProblem:
        """The same rows with other labels, without a word to callbacks or the terminal."""
        return replace(self, labels=Labels(self.labels.classes, codes), progress=Progress())

    def formula(self, gamma: str | float | None = None) -> Formula:
        """The kernel with its parameters as numbers; "scale" and "auto" look at the rows of this problem."""
        asked = self.kernel
        gamma = asked.gamma if gamma is None else gamma
        return make_formula(
            asked.kernel, self.X, gamma=gamma, coef0=asked.coef0, degree=asked.degree, weight=self.weight
        )

    def kernel_rows(self, formula: Formula, *, is_frugal: bool = False, few_rows: int = FEW_ROWS) -> Any:
        """Rows of the kernel matrix of X, `is_frugal` where they serve one solve only; in the primal form, X itself."""
        if self.form.is_primal:
            return LinearRows(MemoryRows(self.X), self.form.loss)
        limits = self.limits
        is_rough = limits.tol >= FLOAT32_SUFFICES and self.n_rows > few_rows
        dtype = np.float32 if is_rough and not needs_float64(formula, self.X) else np.float64
        if self.is_verbose:
            self._say_device(1 if is_frugal else SOLVES_OF_A_SEQUENCE)
        return kernel_rows(
            self.X, formula, cache_size=limits.cache_size, dtype=dtype, is_frugal=is_frugal, device=limits.device
        )

    def _say_device(self, n_solves: int) -> None:
        """Print which device "auto" is and why, and whether a device will compile first."""
        device = self.limits.device
        if device == "auto":
            choice = explain_choice(*self.X.shape, n_threads=n_threads(), n_solves=n_solves)
            print(f"[device] {choice}", flush=True)
            device = choice.partition(":")[0]
        if (words := explain_compilation(device)) is not None:
            print(f"[device] {words}", flush=True)
