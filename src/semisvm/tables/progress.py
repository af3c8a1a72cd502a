"""Telling how far a piece of work is: a function that whoever waits hands down, and that costs nothing otherwise.

`tell(what)` begins a stage, in words; `tell(what, done, total, unit)` says how far it is, total being None where
nobody knows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Tell = Callable[..., None]


def say_nothing(what: str, done: int | None = None, total: int | None = None, unit: str = "") -> None:
    """Be the default of every `tell`."""


class RoundsTold:
    """A scikit-learn callback that tells of the rounds of a fit and of the looks within its solves."""

    def __init__(self, tell: Tell, what: str):
        self.tell, self.what = tell, what
        self.n_rounds = 0

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """End."""

    def on_fit_task_begin(self, estimator: Any, context: Any, **facts: Any) -> None:
        """Do nothing: what is told is what is done."""

    def on_fit_task_end(self, estimator: Any, context: Any, **facts: Any) -> bool:
        """Tell of a round, or that the solver is still at it."""
        if context.task_name == "round":
            self.n_rounds += 1
        self.tell(self.what, self.n_rounds, None, "round" if self.n_rounds == 1 else "rounds")
        return False
