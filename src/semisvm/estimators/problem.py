"""What a method is given: the rows in use with their labels, weights and costs, the kernel, the limits, the progress.

    X        (n, d)  the rows in use, or with a precomputed kernel the matrix between them, (n, n)
    labels   (n,)    a class or none for each row
    weight   (n,)    how many rows each row counts for; positive
    random_sample (n,) mask: labels that are a random sample, so that a method may measure on them; None: all of them

`BaseSVC.fit` makes it from the user's arguments, a method's `_fit` turns it into a `MethodFit` (see `binary`). A method
that learns from some of the rows only works on `problem.select(rows)`.

A machine has two forms: dual, in a kernel, and primal, in the features. Methods state machines by signs and prices
(`rounds.hinge_problem`) on the rows of their task. Where these are `KernelRows`, the problem is a `DualProblem`; where
they are `LinearRows`, a `PrimalProblem` on the same rows. The solutions of both have `decision_values`, `scores`,
`bias`, `gap`, `n_iter` and `status`, and start the next solve, so that a method need not know the form. What differs is
what is kept: coefficients of rows, or weights of features. The primal form is for ``kernel="linear"``, and for many
rows: its time grows with the number of rows where that of the dual form grows with its square. The loss is never
changed to get it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from semisvm.device import SOLVES_OF_A_SEQUENCE, explain_choice, explain_compilation
from semisvm.dual import DualProblem, DualSolution, Status, solve, solve_many
from semisvm.estimators.classifier import needs_float64, pick_rows
from semisvm.estimators.costs import Costs
from semisvm.estimators.progress import Progress
from semisvm.kernels import Formula, kernel_rows, make_formula
from semisvm.kernels.threads import n_threads
from semisvm.labels import Labels
from semisvm.matrices import is_sparse_matrix
from semisvm.primal import MemoryRows, PrimalProblem, PrimalSolution, solve_primal
from semisvm.primal.problem import Loss

Solver = Literal["auto", "dual", "primal"]

# Rows from which solver="auto" takes the primal form, where it is the faster one.
DENSE_ROWS, DENSE_ROWS_PER_FEATURE, MOST_DENSE_FEATURES = 2_000, 10, 2_000
SPARSE_ROWS = 5_000


@dataclass(frozen=True)
class LinearRows:
    """Rows in the primal form, in the place that kernel rows have in the dual form."""

    rows: MemoryRows
    loss: Loss


def settle_solver(
    solver: Solver, loss: Loss, kernel: Any, X: Any, *, reason_against: str | None, device: str
) -> Literal["dual", "primal"]:
    """The form of a fit; `reason_against` says why a method has no primal form here, None where it has one."""
    if solver == "dual":
        if loss != "hinge":
            raise ValueError("solver='dual' has the hinge loss only; use solver='primal' for loss='squared_hinge'.")
        return solver
    if kernel != "linear":
        reason_against = f"needs kernel='linear', and kernel={kernel!r} was given"
    is_asked_for = solver == "primal" or loss != "hinge"
    if is_asked_for and reason_against is not None:
        words = "solver='primal'" if solver == "primal" else f"loss={loss!r}"
        raise ValueError(f"{words} {reason_against}.")
    if is_asked_for:
        return "primal"
    if reason_against is not None or device not in ("auto", "cpu"):
        return "dual"
    return choose_solver(*X.shape, is_sparse=is_sparse_matrix(X))[0]


def choose_solver(n_rows: int, n_features: int, *, is_sparse: bool) -> tuple[Literal["dual", "primal"], str]:
    """What solver="auto" means for a linear machine of so many rows in memory, and a sentence that says so and why.

    The hinge has both forms; the rule is by size alone, so that it can be told before any row is read.
    """
    kind = "sparse" if is_sparse else "dense"
    size = f"{n_rows:,} {kind} rows with {n_features:,} features"
    if not is_sparse and n_features > MOST_DENSE_FEATURES:
        return "dual", f"{size}: dual form, because the primal form of dense rows is for up to {MOST_DENSE_FEATURES:,}."
    fewest = SPARSE_ROWS if is_sparse else max(DENSE_ROWS, DENSE_ROWS_PER_FEATURE * n_features)
    if n_rows < fewest:
        return "dual", f"{size}: dual form (primal from {fewest:,} rows on)."
    return "primal", f"{size}: primal form, in time and memory linear in the rows (from {fewest:,} rows on)."


def prepare_solve(
    problem: DualProblem | PrimalProblem, start: Any, limits: dict[str, Any]
) -> tuple[Callable[..., Any], Any, dict[str, Any]]:
    """The function that solves a problem, and the start and the limits that it takes.

    The primal form is solved on the CPU, and without a store: solving again takes no longer than reading.
    """
    if isinstance(problem, DualProblem):
        return solve, start, limits
    own = {name: value for name, value in limits.items() if name not in ("device", "store")}
    return solve_primal, start if isinstance(start, PrimalSolution) else None, own


def solver_of_many(problems: Sequence[Any]) -> Callable[..., list[Any]]:
    """The function that solves problems of one form that do not wait for each other: (problems, starts, **limits)."""
    return solve_many if isinstance(problems[0], DualProblem) else _solve_each


def _solve_each(problems: Sequence[PrimalProblem], starts: Sequence[Any] | None, **limits: Any) -> list[Any]:
    """In the primal form: once a solve was interrupted or stopped, those after it are not begun."""
    found: list[PrimalSolution] = []
    for number, problem in enumerate(problems):
        ended = found[-1].status if found and found[-1].status in (Status.INTERRUPTED, Status.STOPPED) else None
        own = limits if ended is None else limits | {"max_iter": 0, "callback": None}
        run, start, own = prepare_solve(problem, None if starts is None else starts[number], own)
        solution = run(problem, start, **own)
        found.append(solution if ended is None else replace(solution, status=ended))
    return found


def lower_bound(solution: DualSolution | PrimalSolution) -> float:
    """What the objective of the machine can't be below."""
    return solution.bound if isinstance(solution, PrimalSolution) else -solution.objective


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
        return self.kernel == "precomputed"


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
            labels=Labels(self.labels.classes, self.labels.codes[rows]),
            weight=self.weight[rows],
            costs=self.costs.select(rows),
            random_sample=None if self.random_sample is None else self.random_sample[rows],
        )

    def with_auto_scheme(self, scheme: str) -> TrainingProblem:
        """The same problem, with what multi_class="auto" means for the method at hand."""
        return replace(self, multi_class=scheme) if self.multi_class == "auto" else self

    @property
    def scheme(self) -> str:
        """How the scores of the binary problems are combined: "ovr", "ovo", or with a cost matrix "one_sided"."""
        return self.multi_class if self.costs.matrix is None else "one_sided"

    def settle_form(self, reason_against: str | None = None) -> TrainingProblem:
        """The same problem in the form that suits its rows; `reason_against`: why the method has no primal form."""
        if reason_against is None and self.costs.matrix is not None:
            reason_against = "has no form for a cost matrix of more than two classes; use a dictionary of costs"
        asked, device = (self.solver, self.loss, self.kernel.kernel, self.X), self.limits.device
        solver = settle_solver(*asked, reason_against=reason_against, device=device)
        if (self.solver, self.loss) == ("auto", "hinge") and self.kernel.kernel == "linear" and self.is_verbose:
            usual, reason = choose_solver(*self.X.shape, is_sparse=is_sparse_matrix(self.X))
            if usual == solver:
                print(f"[form] {reason}", flush=True)
        return replace(self, solver=solver)

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
        if self.is_primal:
            return LinearRows(MemoryRows(self.X), self.loss)
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
