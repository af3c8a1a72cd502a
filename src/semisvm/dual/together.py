"""Several methods side by side, whose solves meet and are solved as one batch.

On a device, twenty problems on one kernel take little longer than one. A method is a sequence of solves, so twenty runs
of a method (seeds, folds, values of C) can share them: each runs in a thread of its own, a solve waits until every
run that is not finished has come to one, and then all of them are solved at once. No method knows of it.

    results = run_together([lambda seed=seed: fit(seed) for seed in range(20)])

The runs' problems must be on the same kernel rows to be solved together (`solve_many`); others are solved one by one.
On the CPU there is nothing to gain, and the runs are simply made one after the other.
"""

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from semisvm.dual.problem import DualProblem, DualSolution

Result = TypeVar("Result")

meeting: ContextVar["Meeting | None"] = ContextVar("where solves meet", default=None)


class Meeting:
    """Where solves wait for each other; `solve_all(problems, starts, settings)` answers those that are there."""

    def __init__(self, n_runs: int, solve_all: Callable[..., list[DualSolution]]):
        self.n_running, self.solve_all = n_runs, solve_all
        self.waiting: list[_Request] = []
        self.changed = threading.Condition()

    def solve(self, problem: DualProblem, start: Any, settings: dict[str, Any]) -> DualSolution:
        """Wait for the others, and for the answer."""
        request = _Request(problem, start, settings)
        with self.changed:
            self.waiting.append(request)
            self._answer_if_all_are_here()
            self.changed.wait_for(lambda: request.is_answered)
        if request.error is not None:
            raise request.error
        assert request.found is not None
        return request.found

    def leave(self) -> None:
        """A run is over: the others no longer wait for it."""
        with self.changed:
            self.n_running -= 1
            self._answer_if_all_are_here()

    def _answer_if_all_are_here(self) -> None:
        if not self.waiting or len(self.waiting) < self.n_running:
            return
        requests, self.waiting = self.waiting, []
        while requests:
            alike = [request for request in requests if request.settings == requests[0].settings]
            requests = [request for request in requests if request.settings != alike[0].settings]
            _answer(alike, self.solve_all)
        self.changed.notify_all()


class _Request:
    def __init__(self, problem: DualProblem, start: Any, settings: dict[str, Any]):
        self.problem, self.start = problem, start
        self.settings = {name: value for name, value in settings.items() if name != "callback"}
        self.found: DualSolution | None = None
        self.error: BaseException | None = None

    @property
    def is_answered(self) -> bool:
        return self.found is not None or self.error is not None


def _answer(requests: list[_Request], solve_all: Callable[..., list[DualSolution]]) -> None:
    outside = meeting.set(None)  # the solves themselves do not wait for anyone
    try:
        found = solve_all([r.problem for r in requests], [r.start for r in requests], **requests[0].settings)
    except BaseException as error:  # every run is told, wherever it is
        for request in requests:
            request.error = error
        return
    finally:
        meeting.reset(outside)
    for request, solution in zip(requests, found, strict=True):
        request.found = solution


def run_together(runs: Sequence[Callable[[], Result]]) -> list[Result]:
    """Call each function in a thread, their solves batched; return what they return, or raise what the first raised."""
    from semisvm.dual.solve import solve_many

    met = Meeting(len(runs), solve_many)
    results: list[Any] = [None] * len(runs)
    errors: list[BaseException] = []

    def run(number: int) -> None:
        meeting.set(met)
        try:
            results[number] = runs[number]()
        except BaseException as error:
            errors.append(error)
        finally:
            met.leave()

    threads = [
        threading.Thread(target=copy_context().run, args=(run, number), daemon=True) for number in range(len(runs))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
