"""The input of a method: the rows in use with their labels, weights and costs, the kernel, the
limits, the progress.

    X        (n, d)  the rows in use, or with a precomputed kernel the matrix between them, (n, n)
    labels   (n,)    a class or none for each row
    weight   (n,)    how many rows each row counts for; positive
    random_sample (n,) mask: labels that are a random sample, so that a method may measure on them;
    None: all of them

`BaseSVC.fit` makes it from the user's arguments, a method's `_fit` turns it into a `MethodFit` (see
`binary`). A method that learns from some of the rows only works on `problem.select(rows)`.

Costs: one that depends on the true class alone multiplies C for the rows of that class, which every
machine here can honor. For two classes that is all there is, and a matrix is a dictionary: {0:
costs[0, 1], 1: costs[1, 0]}. A matrix between more classes, in which it matters what a row is
mistaken for, asks for one-sided regression (`rounds.OneSided`); a method that has no such SVM
asks for `Costs.by_class`, which refuses it. A `sample_cost` is (n,): what misclassifying row i
costs; (n, K): what it costs if row i is of class k, known or not; (n, K, K): one matrix per row.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from semisvm.decision.checks import check_class_costs, check_cost_matrix, check_numbers
from semisvm.device import (
    SOLVES_OF_A_SEQUENCE,
    TensorRows,
    explain_choice,
    explain_compilation,
    on_host,
)
from semisvm.estimators.classifier import pick_rows
from semisvm.estimators.progress import Progress
from semisvm.kernels import kernel_rows, make_formula
from semisvm.kernels.formula import Formula
from semisvm.kernels.precision import needs_float64
from semisvm.kernels.rows import KernelRows
from semisvm.kernels.threads import n_threads
from semisvm.labels import Labels
from semisvm.machines import LinearRows, Solver, choose_solver, settle_solver
from semisvm.matrices import is_sparse_matrix
from semisvm.memory import budget_bytes
from semisvm.primal.problem import Loss
from semisvm.primal.rows import MemoryRows

# Kernel rows are kept in float32, unless the tolerance is below this or there are few rows: there
# float64 costs nothing and makes the model independent of the order of rows to nine digits.
FLOAT32_SUFFICES = 1e-5
FEW_ROWS = 1000


@dataclass(frozen=True)
class Limits:
    """The limits of a fit, and its device.

    max_iter   most solver steps for each binary problem, all its rounds together; None: no limit
    deadline   when the whole fit has to end, on the clock of `time.perf_counter`; None: never
    """

    tol: float
    max_iter: int | None = None
    deadline: float | None = None
    device: str = "auto"
    cache_size: float | None = None

    def share_of_time(self, share: float) -> float:
        """When this share of the time from now to the deadline will be over, on the same clock."""
        now = time.perf_counter()
        return math.inf if self.deadline is None else now + share * (self.deadline - now)

    def of_solve(
        self,
        n_iter: int = 0,
        *,
        tol: float | None = None,
        callback: Callable[[int, float], bool] | None = None,
    ) -> dict[str, Any]:
        """The arguments of the next solve, after `n_iter` steps of the same binary problem."""
        return {
            "tol": self.tol if tol is None else tol,
            "max_iter": None if self.max_iter is None else max(self.max_iter - n_iter, 0),
            "time_limit": None if self.deadline is None else self.deadline - time.perf_counter(),
            "device": self.device,
            "callback": callback,
        }


@dataclass(frozen=True)
class KernelParameters:
    """The user's kernel and its parameters."""

    kernel: str | Callable
    gamma: str | float
    coef0: float
    degree: float

    @property
    def is_precomputed(self) -> bool:
        return self.kernel == "precomputed"


@dataclass(frozen=True)
class Costs:
    """Costs as the SVMs take them.

    of_class  (K,) what multiplies C for each class: costs times class weights
    of_row    (n, K) what multiplies it further for each row, were it of class k; None where rows
              are alike
    matrix    (K, K) or (n, K, K) where it matters what a row is mistaken for, else None
    """

    of_class: np.ndarray
    of_row: np.ndarray | None = None
    matrix: np.ndarray | None = None

    def price(self, codes: np.ndarray) -> np.ndarray:
        """What multiplies C for each row, were `codes` the classes."""
        price = self.of_class[codes]
        return price if self.of_row is None else price * self.of_row[np.arange(len(codes)), codes]

    def of(self, code: int) -> float | np.ndarray:
        """What multiplies C for a row of this class: a number, or (n,) where rows differ."""
        price = float(self.of_class[code])
        return price if self.of_row is None else price * self.of_row[:, code]

    def of_rest(self, code: int) -> float | np.ndarray:
        """The same for a row of "the rest", whose class is not known: the mean of the others."""
        others = np.delete(self.of_class, code)
        if self.of_row is None:
            return float(others.mean())
        return (others * np.delete(self.of_row, code, axis=1)).mean(axis=1)

    def by_class(self, name: str) -> Costs:
        """The costs for a method that knows costs of classes and rows only."""
        if self.matrix is None:
            return self
        most_expensive = self.matrix.max(axis=-1)
        off_diagonal = ~np.eye(self.matrix.shape[-1], dtype=bool)
        if not np.array_equal(self.matrix, np.where(off_diagonal, most_expensive[..., None], 0)):
            raise ValueError(
                f"{name} can't use a cost matrix between more than two classes in which it matters"
                " what a row is mistaken for: pass costs={class: cost of misclassifying it} (or"
                " a sample_cost of shape (n_samples, n_classes)), or use SupervisedSVC,"
                " LabelMeanSVC or LaplacianSVC."
            )
        if self.matrix.ndim == 2:
            return Costs(self.of_class * most_expensive)
        return Costs(self.of_class, of_row=most_expensive)

    def select(self, rows: np.ndarray) -> Costs:
        """The costs of some of the rows."""
        of_row = None if self.of_row is None else self.of_row[rows]
        matrix = (
            self.matrix[rows] if self.matrix is not None and self.matrix.ndim == 3 else self.matrix
        )
        return Costs(self.of_class, of_row, matrix)


def read_costs(
    costs: Any, sample_cost: Any, class_weight: Any, labels: Labels, in_use: np.ndarray
) -> Costs:
    """Check the user's costs and class weights, and compute what they mean for each row in use."""
    factor = np.ones(labels.n_classes)
    if class_weight is not None:
        labeled = labels.decode(labels.codes[labels.is_labeled & in_use])
        factor = _checked_class_weight(class_weight, labels.classes, labeled)
    if costs is not None and sample_cost is not None:
        raise ValueError(
            "Both costs and sample_cost were given: multiply them into sample_cost and leave costs"
            " out."
        )
    if sample_cost is not None:
        return _of_samples(sample_cost, factor, labels, in_use)
    if costs is None:
        return Costs(factor)
    if isinstance(costs, dict):
        with np.errstate(over="ignore"):
            price = factor * check_class_costs(costs, labels.classes)
        if not np.isfinite(price).all():
            raise ValueError(
                "costs times class_weight is not finite for some class: scale both to near 1."
            )
        return Costs(price)
    matrix = check_cost_matrix(costs, "costs", (len(factor),) * 2, labels.classes)
    if len(factor) == 2:
        return Costs(factor * matrix[[0, 1], [1, 0]])
    return Costs(factor, matrix=matrix)


def _checked_class_weight(
    class_weight: Any, classes: np.ndarray, labeled: np.ndarray
) -> np.ndarray:
    if isinstance(class_weight, dict):
        for name, value in class_weight.items():
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if not is_number or not 0 <= value < np.inf:
                raise ValueError(
                    f"class_weight must be finite and not negative for each class, got {value!r}"
                    f" for class {name!r}."
                )
        if not any(class_weight.get(name, 1) for name in classes.tolist()):
            raise ValueError(
                "class_weight is 0 for every class: give at least one a weight; got"
                f" {class_weight}."
            )
    return np.asarray(
        compute_class_weight(class_weight, classes=classes, y=labeled), dtype=np.float64
    )


def _of_samples(sample_cost: Any, factor: np.ndarray, labels: Labels, in_use: np.ndarray) -> Costs:
    n = len(labels.codes)
    K = len(factor)
    values = check_numbers(sample_cost, "sample_cost")
    if values.shape[:1] == (n,):  # rows that take no part may cost anything
        values[~in_use] = 1 - np.eye(K) if values.shape == (n, K, K) else 1.0
    if values.ndim == 3:
        tensor = check_cost_matrix(values, "sample_cost", (n, K, K), labels.classes)
        if K == 2:
            return Costs(factor, of_row=np.ascontiguousarray(tensor[:, [0, 1], [1, 0]]))
        return Costs(factor, matrix=tensor)
    if values.shape not in ((n,), (n, K)):
        raise ValueError(
            f"sample_cost has shape {values.shape}: it must hold one cost per row, ({n},), one per"
            f" row and class that the row may be of, ({n}, {K}), or one matrix per row, ({n}, {K},"
            f" {K})."
        )
    if not (np.isfinite(values).all() and (values > 0).all()):
        at = tuple(np.argwhere(~(np.isfinite(values) & (values > 0)))[0].tolist())
        raise ValueError(
            f"sample_cost must be positive and finite, and sample_cost{list(at)} is {values[at]}:"
            " column k is the cost of misclassifying the row if it is of class k. A row that is"
            " free gets sample_weight 0."
        )
    return Costs(factor, of_row=np.array(np.broadcast_to(values.reshape(n, -1), (n, K))))


@dataclass(frozen=True)
class TrainingProblem:
    """See the module's docstring; `name` is the estimator's, for messages."""

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
    groups: np.ndarray | None = None
    numbers: np.ndarray | None = None
    solver: Solver = "dual"
    loss: Loss = "hinge"

    @property
    def is_primal(self) -> bool:
        """Whether the form is primal; known once it is settled."""
        return self.solver == "primal"

    @property
    def n_rows(self) -> int:
        return len(self.weight)

    def select(self, rows: np.ndarray) -> TrainingProblem:
        """The same problem on some of the rows, given as a mask."""
        return self if rows.all() else self.take(np.flatnonzero(rows))

    def take(self, rows: np.ndarray) -> TrainingProblem:
        """The same problem on these rows, given by their numbers, in this order."""
        X = self.X[np.ix_(rows, rows)] if self.kernel.is_precomputed else pick_rows(self.X, rows)
        return replace(
            self,
            X=X,
            labels=self.labels.take(rows),
            weight=self.weight[rows],
            costs=self.costs.select(rows),
            random_sample=None if self.random_sample is None else self.random_sample[rows],
            groups=None if self.groups is None else self.groups[rows],
            numbers=rows if self.numbers is None else self.numbers[rows],
        )

    def with_auto_scheme(self, scheme: str) -> TrainingProblem:
        """The same problem, with what multi_class="auto" means for the method at hand."""
        return replace(self, multi_class=scheme) if self.multi_class == "auto" else self

    @property
    def scheme(self) -> str:
        """How scores of binary problems are combined: "ovr", "ovo" or "one_sided"."""
        return self.multi_class if self.costs.matrix is None else "one_sided"

    def settle_form(self, reason_against: str | None = None) -> TrainingProblem:
        """The problem in the form that suits its rows, or dual for the reason given."""
        if reason_against is None and self.costs.matrix is not None:
            reason_against = (
                "has no form for a cost matrix of more than two classes; use a dictionary of costs"
            )
        asked = (self.solver, self.loss, self.kernel.kernel, self.X)
        device = self.limits.device
        solver = settle_solver(*asked, reason_against=reason_against, device=device)
        if (
            (self.solver, self.loss) == ("auto", "hinge")
            and self.kernel.kernel == "linear"
            and self.is_verbose
        ):
            usual, reason = choose_solver(*self.X.shape, is_sparse=is_sparse_matrix(self.X))
            if usual == solver:
                self.progress.say_once(f"[form] {reason}")
        return replace(self, solver=solver)

    @property
    def is_verbose(self) -> bool:
        return bool(getattr(self.progress.estimator, "verbose", False))

    def relabel(self, codes: np.ndarray) -> TrainingProblem:
        """The same rows with other labels, without reports to callbacks or the terminal."""
        return replace(self, labels=Labels(self.labels.classes, codes), progress=Progress())

    def formula(self, gamma: str | float | None = None) -> Formula:
        """The kernel with its parameters as numbers, which depend on the rows."""
        asked = self.kernel
        gamma = asked.gamma if gamma is None else gamma
        return make_formula(
            asked.kernel,
            self.X,
            gamma=gamma,
            coef0=asked.coef0,
            degree=asked.degree,
            weight=self.weight,
        )

    def machine_rows(
        self, formula: Formula, *, is_frugal: bool = False, few_rows: int = FEW_ROWS
    ) -> KernelRows | LinearRows:
        """What an SVM is trained on: `kernel_rows`, or in the primal form X itself."""
        if not self.is_primal:
            return self.kernel_rows(formula, is_frugal=is_frugal, few_rows=few_rows)
        memory = budget_bytes(self.limits.cache_size)
        return LinearRows(MemoryRows(on_host(self.X), memory=memory), self.loss)

    def kernel_rows(
        self, formula: Formula, *, is_frugal: bool = False, few_rows: int = FEW_ROWS
    ) -> KernelRows:
        """Rows of the kernel matrix of X, `is_frugal` where they serve one solve only."""
        limits = self.limits
        is_rough = limits.tol >= FLOAT32_SUFFICES and self.n_rows > few_rows
        dtype = np.float32 if is_rough and not needs_float64(formula, self.X) else np.float64
        if self.is_verbose:
            self._say_device(1 if is_frugal else SOLVES_OF_A_SEQUENCE)
        return kernel_rows(
            self.X,
            formula,
            cache_size=limits.cache_size,
            dtype=dtype,
            is_frugal=is_frugal,
            device=limits.device,
        )

    def _say_device(self, n_solves: int) -> None:
        """Print which device "auto" is and why, and whether a device will compile first."""
        device = self.limits.device
        if device == "auto" and isinstance(self.X, TensorRows):
            device = self.X.place
            self.progress.say_once(f"[device] {device}: the rows are there")
        elif device == "auto":
            choice = explain_choice(*self.X.shape, n_threads=n_threads(), n_solves=n_solves)
            self.progress.say_once(f"[device] {choice}")
            device = choice.partition(":")[0]
        if (words := explain_compilation(device)) is not None:
            self.progress.say_once(f"[device] {words}")
