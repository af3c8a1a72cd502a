"""Solves that are remembered: a fit that was cut off goes on where it was, whatever its method.

Every method here is a sequence of solves and is deterministic between them. So a memory of finished solves is all that
going on takes: the method runs again from its beginning, the memory answers for the solves that were finished, and
the first one that was not is solved from there. No method knows of it.

    with remembering(memory):
        estimator.fit(X, y)
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from semisvm.dual.problem import DualProblem, DualSolution, Status

Solver = TypeVar("Solver", bound=Callable[..., DualSolution])

WORTH_KEEPING = (Status.CONVERGED, Status.STALLED)


class Memory(Protocol):
    """What remembers: asked before each solve, told after each that was finished."""

    def recall(self, problem: DualProblem, settings: dict[str, Any]) -> DualSolution | None:
        """Return the solution of the next solve in order, where it is known and is of this very problem."""

    def keep(self, problem: DualProblem, found: DualSolution) -> None:
        """Remember the solution of the problem that was asked for last."""


_memory: ContextVar[Memory | None] = ContextVar("memory of solves", default=None)


@contextmanager
def remembering(memory: Memory) -> Iterator[None]:
    """Let every solve of the block be recalled from, and kept in, a memory."""
    token = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(token)


def is_remembering() -> bool:
    """Whether solves are being remembered: those that would be made at once are then made one by one."""
    return _memory.get() is not None


def remembered(solve: Solver) -> Solver:
    """Make a solver ask the memory first, where there is one."""

    @wraps(solve)
    def solve_or_recall(problem: DualProblem, start: Any = None, **settings: Any) -> DualSolution:
        memory = _memory.get()
        if memory is None:
            return solve(problem, start, **settings)
        found = memory.recall(problem, settings)
        if found is None:
            found = solve(problem, start, **settings)
            if found.status in WORTH_KEEPING:
                memory.keep(problem, found)
        return found

    return cast(Solver, solve_or_recall)
