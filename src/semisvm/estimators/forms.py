"""The two forms of a machine: dual, in a kernel, and primal, in the features; which of them is used, and its solver.

Methods state machines by signs and prices (`rounds.hinge_problem`) on the rows of their task. Where these are
`KernelRows`, the problem is a `DualProblem`; where they are `LinearRows`, a `PrimalProblem` on the same rows. The
solutions of both have `decision_values`, `scores`, `bias`, `gap`, `n_iter` and `status`, and start the next solve, so
that a method need not know the form. What differs is what is kept: coefficients of rows, or weights of features.

The primal form is for ``kernel="linear"``, and for many rows: its time grows with the number of rows where that of the
dual form grows with its square. The loss is never changed to get it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from semisvm.dual import DualProblem, DualSolution, Status, solve, solve_many
from semisvm.primal import MemoryRows, PrimalProblem, PrimalSolution, solve_primal
from semisvm.primal.problem import Loss

Solver = Literal["auto", "dual", "primal"]

# Rows from which solver="auto" takes the primal form, where it is the faster one.
DENSE_ROWS, DENSE_ROWS_PER_FEATURE, MOST_DENSE_FEATURES = 2_000, 10, 2_000
SPARSE_ROWS = 5_000


@dataclass(frozen=True)
class Form:
    """What the user asks for: `solver` and `loss`; once settled, solver is "dual" or "primal"."""

    solver: Solver = "dual"
    loss: Loss = "hinge"

    @property
    def is_primal(self) -> bool:
        return self.solver == "primal"


DUAL_FORM = Form()


@dataclass(frozen=True)
class LinearRows:
    """Rows in the primal form, in the place that kernel rows have in the dual form."""

    rows: MemoryRows
    loss: Loss

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows


def settle_form(asked: Form, kernel: Any, X: Any, *, reason_against: str | None, device: str) -> Form:
    """The form of a fit; `reason_against` says why a method has no primal form here, None where it has one."""
    if asked.solver == "dual":
        if asked.loss != "hinge":
            raise ValueError("solver='dual' has the hinge loss only; use solver='primal' for loss='squared_hinge'.")
        return asked
    is_linear = isinstance(kernel, str) and kernel == "linear"
    if not is_linear:
        reason_against = f"needs kernel='linear', and kernel={kernel!r} was given"
    is_asked_for = asked.solver == "primal" or asked.loss != "hinge"
    if reason_against is not None:
        if is_asked_for:
            words = "solver='primal'" if asked.solver == "primal" else f"loss={asked.loss!r}"
            raise ValueError(f"{words} {reason_against}.")
        return Form("dual", asked.loss)
    if is_asked_for:
        return Form("primal", asked.loss)
    solver = (
        choose_solver(*X.shape, is_sparse=not isinstance(X, np.ndarray))[0] if device in ("auto", "cpu") else "dual"
    )
    return Form(solver, asked.loss)


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


def machine_of(solution: DualSolution | PrimalSolution) -> dict[str, Any]:
    """What a `BinaryFit` keeps of a solution: coefficients of rows, or weights of features."""
    if isinstance(solution, PrimalSolution):
        return {"row_beta": np.empty(0), "w": solution.w}
    return {"row_beta": solution.row_beta}
