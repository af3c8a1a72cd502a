"""An SVM in its dual or primal form: stated once, its form chosen here, solved alone or with
others.

    minimize  1/2 |w|^2 + sum_i box_i max(0, 1 - sign_i f(x_i))             f(x) = <w, x> + bias

Methods state an SVM by signs and boxes (`hinge_problem`). On kernel rows the problem is a
`DualProblem`, with one coefficient per row; on `LinearRows` it is a `PrimalProblem`, with one
weight per feature. Both return a `Solution`, which also starts the next solve of a sequence, so
that a method need not know the form.

The primal form is for ``kernel="linear"`` and many rows: its time grows with the number of rows,
where that of the dual form grows with its square (`choose_solver`). The loss is never changed to
get it (`settle_solver`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from semisvm.dual import DualProblem, DualSolution, solve, solve_in_turn, solve_many
from semisvm.kernels.rows import KernelRows
from semisvm.matrices import is_sparse_matrix
from semisvm.primal import solve_primal
from semisvm.primal.problem import GivenPrices, Loss, PrimalProblem, PrimalSolution
from semisvm.primal.rows import MemoryRows, Rows

Solver = Literal["auto", "dual", "primal"]

# Rows from which solver="auto" takes the primal form, where it is the faster one.
DENSE_ROWS = 2_000
DENSE_ROWS_PER_FEATURE = 10
SPARSE_ROWS = 5_000
# Dense rows with more features than this stay in the dual form: the systems of the primal form
# grow with the square of the features.
MOST_DENSE_FEATURES = 2_000


@dataclass(frozen=True)
class LinearRows:
    """Rows in the primal form, in the place that kernel rows have in the dual form."""

    rows: MemoryRows
    loss: Loss


# What an SVM is trained on: rows of a kernel, rows in memory in the primal form, or rows that
# are in files or on a cluster.
MachineRows: TypeAlias = KernelRows | LinearRows | Rows
Problem: TypeAlias = DualProblem | PrimalProblem
Solution: TypeAlias = DualSolution | PrimalSolution


@overload
def hinge_problem(kernel: KernelRows, sign: np.ndarray, box: np.ndarray) -> DualProblem: ...
@overload
def hinge_problem(kernel: MachineRows, sign: np.ndarray, box: np.ndarray) -> Problem: ...
def hinge_problem(kernel: MachineRows, sign: np.ndarray, box: np.ndarray) -> Problem:
    """The SVM of given signs and boxes in the form of its rows: dual on kernel rows, primal on
    `LinearRows`.

    sign_i is -1, +1, or 0 for a row that is not in use; box_i is what a unit of its slack costs. In
    signed variables: linear = -sign, and the box [0, box_i] for a positive row, [-box_i, 0] for a
    negative one, [0, 0] out of use.
    """
    if isinstance(kernel, LinearRows):
        return PrimalProblem(kernel.rows, GivenPrices.of_signs(sign, box), kernel.loss)
    assert not isinstance(kernel, Rows), "rows out of memory have no signs"
    bound = sign * box
    return DualProblem(kernel, linear=-sign, lower=np.minimum(bound, 0), upper=np.maximum(bound, 0))


def slack(margin: np.ndarray) -> np.ndarray:
    """How far rows fall short of a margin of 1; the margin of row i is sign_i f(x_i)."""
    return np.maximum(0.0, 1.0 - margin)


def losses_at(margin: np.ndarray, loss: str) -> np.ndarray:
    """What rows at these margins are charged: their slack, or its square."""
    return slack(margin) ** 2 if loss == "squared_hinge" else slack(margin)


def primal_objective(
    solution: Solution, sign: np.ndarray, box: np.ndarray, loss: str = "hinge"
) -> float:
    """The objective of `hinge_problem` at the f of a solution: at least the optimum."""
    losses = box * losses_at(sign * solution.decision_values, loss)
    return 0.5 * solution.squared_norm + float(losses[sign != 0].sum())


def settle_solver(
    solver: Solver, loss: Loss, kernel: Any, X: Any, *, reason_against: str | None, device: str
) -> Literal["dual", "primal"]:
    """The form of a fit; `reason_against` says why a method has no primal form, else None."""
    if solver == "dual":
        if loss != "hinge":
            raise ValueError(
                "solver='dual' has the hinge loss only; use solver='primal' for"
                " loss='squared_hinge'."
            )
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


def choose_solver(
    n_rows: int, n_features: int, *, is_sparse: bool
) -> tuple[Literal["dual", "primal"], str]:
    """The form that solver="auto" takes for a linear SVM on rows in memory, and a sentence that
    says so and why.

    The hinge has both forms; the rule is by size alone, so that it is known before any row is read.
    """
    kind = "sparse" if is_sparse else "dense"
    size = f"{n_rows:,} {kind} rows with {n_features:,} features"
    if not is_sparse and n_features > MOST_DENSE_FEATURES:
        limit = (
            f"'auto' takes the primal form of dense rows for up to {MOST_DENSE_FEATURES:,} features"
        )
        return "dual", f"{size}: dual form ({limit}; solver='primal' for any number)."
    fewest = SPARSE_ROWS if is_sparse else max(DENSE_ROWS, DENSE_ROWS_PER_FEATURE * n_features)
    if n_rows < fewest:
        return "dual", f"{size}: dual form (primal from {fewest:,} rows on)."
    return (
        "primal",
        f"{size}: primal form, in time and memory linear in the rows (from {fewest:,} rows on).",
    )


@overload
def solve_machine(problem: DualProblem, start: Any = None, **limits: Any) -> DualSolution: ...
@overload
def solve_machine(problem: PrimalProblem, start: Any = None, **limits: Any) -> PrimalSolution: ...
@overload
def solve_machine(problem: Problem, start: Any = None, **limits: Any) -> Solution: ...
def solve_machine(problem: Problem, start: Any = None, **limits: Any) -> Solution:
    """Solve an SVM in the form in which it is stated, from the solution of an earlier one.

    The limits are those of `semisvm.dual.solve`: tol, max_iter, time_limit, device and callback.
    The primal form is solved on the CPU, whatever the device. A start in the other form is left
    out.
    """
    if isinstance(problem, DualProblem):
        return solve(problem, start, **limits)
    limits.pop("device", None)
    return solve_primal(problem, start if isinstance(start, PrimalSolution) else None, **limits)


def solve_machines(
    problems: Sequence[Problem], starts: Sequence[Any] | None = None, **limits: Any
) -> Sequence[Solution]:
    """Solve SVMs of one form that do not wait for each other; limits as for `solve_machine`.

    On a device those in the dual form are solved all at once, elsewhere one after the other
    (`dual.solve_in_turn`).
    """
    if isinstance(problems[0], DualProblem):
        return solve_many([p for p in problems if isinstance(p, DualProblem)], starts, **limits)
    starts = [None] * len(problems) if starts is None else starts
    return solve_in_turn(solve_machine, problems, starts, **limits)
