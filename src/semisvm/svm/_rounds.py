"""A sequence of solves of one binary problem, each from the solution before it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from semisvm.engine import Problem

from ._binary import BinaryFit


class Rounds:
    """The last solution of a `BinaryProblem` or a `DaskProblem`, and a record of every round.

    solution   the last one; a method may set it back to an earlier one
    history    one dictionary per round
    round_of   (n,) the round that gave each row its sign: 0 for labels, -1 for never
    """

    solution: Any

    def __init__(self, problem: Any):
        self.problem = problem
        self.tol = problem.engine.tol
        self.history: list[dict[str, Any]] = []
        self.round_of = np.where(problem.is_labeled, 0, -1)
        self.n_iter = 0
        self._began = time.perf_counter()

    def solve(
        self,
        svm: Problem,
        start: Any = None,
        *,
        tol: float | None = None,
    ) -> Any:
        """Solve from the last solution, or from a better start."""
        start = getattr(self, "solution", None) if start is None else start
        self.solution = self.problem.engine.solve(svm, start, tol=tol)
        self.n_iter += self.solution.n_iter
        return self.solution

    @property
    def decision_values(self) -> np.ndarray:
        """f of every row by the last solution, (n,)."""
        return self.solution.decision_values[: len(self.problem.sign)]

    @property
    def number(self) -> int:
        """Of the round that is under way."""
        return len(self.history)

    def label(self, rows: np.ndarray) -> None:
        """Note that these rows get their sign in this round."""
        self.round_of[rows] = self.number

    def done(self, **record: Any) -> None:
        """Close the round with its record; the next one begins."""
        known = {
            "problem": self.problem.name,
            "round": self.number,
            "n_iter": self.n_iter,
            "gap": self.solution.gap,
            "seconds": time.perf_counter() - self._began,
        }
        self.history.append(known | record)
        if self.problem.engine.verbose:
            print(self.history[-1], flush=True)

    def fit(self, **better: Any) -> BinaryFit:
        """What was learned: the last solution, or what the method knows better."""
        known = {"n_iter": self.n_iter, "history": self.history, "rounds": self.round_of}
        return BinaryFit.of(self.solution, **known | better)
