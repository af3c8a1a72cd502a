"""Cross-validation of an SVM over a grid of C and gamma, on kernels that all cells share.

    cell    one value of C and one of gamma; in each fold one SVM (one per pair of classes)
    path    one binary problem of one fold, solved for ascending values of C

The kernel between all labeled rows is made once for each gamma. A fold is the same problem in which
the box of its held-out rows has width 0: they take no part, and their decision values come with the
solution, so that no kernel value is computed to score them. Along a path each solve starts from the
last one: coefficients at their bound move on with the bound, the others stay. (Where 2,000 and
5,000 rows were solved for ten values of C, this took a half and a sixth of the time of cold
starts.) On the CPU paths run side by side, one per core; on a device the cells of a gamma are
solved in batches.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semisvm.dual import DualProblem, DualSolution, Status
from semisvm.estimators.binary import USABLE, combine
from semisvm.estimators.problem import TrainingProblem
from semisvm.estimators.progress import Watch
from semisvm.estimators.rounds import OneSided, Task, tasks_of
from semisvm.kernels.rows import ROWS_PER_WRITE, CachedRows, GivenRows
from semisvm.kernels.threads import n_threads, on_this_thread
from semisvm.machines import MachineRows, Problem, Solution, solve_machine, solve_machines

# Problems that a device solves at once. On an H200, 250 were fastest for 10,000 rows, and 100 for
# 20,000: an array of a batch has about so many numbers.
FEWEST_IN_BATCH, MOST_IN_BATCH = 100, 250
NUMBERS_IN_BATCH = 2_500_000
# Below, most of a path is interpreted, and threads wait for each other: 200 rows on two cores took
# as long, and 1.5 times the processor time.
ROWS_WORTH_WORKERS = 500
SECONDS_BETWEEN_LOOKS = 0.2  # of the main thread at Ctrl-C, the deadline and callbacks


@dataclass(frozen=True)
class Fold:
    """Which rows are held out, and how much the others count.

    test     (n_test,) numbers of the rows that are held out
    weight   (n,) what multiplies C for each row; 0 where it does not train
    """

    test: np.ndarray
    weight: np.ndarray

    def codes(self, codes: np.ndarray) -> np.ndarray:
        """The classes of the training rows, -1 for all others."""
        return np.where(self.weight > 0, codes, -1)


@dataclass(frozen=True)
class _Path:
    """One binary problem of one fold, for some of the values of C, given by their numbers."""

    fold: int
    task: int
    cells: Sequence[int]


@dataclass
class Search:
    """The cross-validation of one problem; `run` fills the decision values.

    problem   the labeled rows, in the form that suits them
    folds     its folds
    Cs        (n_Cs,) ascending
    watch     progress, callbacks and Ctrl-C of the fit
    deadline  when to end, on the clock of `time.perf_counter`
    ended     why the search ended before all cells were solved, None where they were
    """

    problem: TrainingProblem
    folds: Sequence[Fold]
    Cs: np.ndarray
    watch: Watch
    deadline: float
    ended: Status | None = None
    n_iter: int = 0
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def run(self, gamma: Any) -> list[list[np.ndarray | None]]:
        """Return for each C and fold what `decision_function` says of the held-out rows.

        None is for cells that a limit, a callback or Ctrl-C left unsolved.
        """
        tasks = tasks_of(self.problem)
        scores = [
            [np.full((len(fold.test), len(tasks)), np.nan) for fold in self.folds] for _ in self.Cs
        ]

        def keep(path: _Path, cell: int, solution: Solution) -> None:
            self.n_iter += solution.n_iter
            if solution.status in USABLE or solution.status is Status.MAX_ITER:
                test = self.folds[path.fold].test
                scores[cell][path.fold][:, path.task] = solution.decision_values[test]
            else:
                self._end(solution.status)
            if self.watch.look(self.n_iter, solution.gap):  # callbacks may end the search
                self._end(Status.STOPPED)

        kernel = self.problem.machine_rows(self.problem.formula(gamma))
        solve = self._solve_paths
        if getattr(kernel, "home", "cpu") != "cpu":
            solve = self._solve_in_batches
        try:
            solve(tasks, kernel, keep)
        except KeyboardInterrupt:
            self._end(Status.INTERRUPTED)
        return [
            [None if np.isnan(cell).any() else self._combine(cell, tasks) for cell in by_fold]
            for by_fold in scores
        ]

    def _combine(self, scores: np.ndarray, tasks: Sequence[Task]) -> np.ndarray:
        n_classes = self.problem.labels.n_classes
        if isinstance(tasks[0], OneSided):
            scores = scores * (tasks[0].unit / 2)  # they were solved in these units
        return combine(scores, n_classes, self.problem.scheme)

    def _machine_at(
        self, task: Task, kernel: MachineRows, fold: Fold
    ) -> Callable[[float], Problem]:
        """What gives one binary problem of one fold at a C."""
        codes = fold.codes(self.problem.labels.codes)
        unit = task.problem(kernel, codes, fold.weight)
        if isinstance(unit, DualProblem):
            return unit.with_bounds_times
        return lambda C: task.problem(kernel, codes, C * fold.weight)

    def _solve_paths(self, tasks: Sequence[Task], kernel: MachineRows, keep: Callable) -> None:
        """On the CPU: side by side where the whole kernel is in memory, else by turns.

        All paths advance together, so that a search that ends early has complete cells.
        """
        if isinstance(kernel, CachedRows) and kernel.capacity == kernel.n_rows:
            for start in range(0, kernel.n_rows, ROWS_PER_WRITE):
                if time.perf_counter() > self.deadline:
                    self._end(Status.TIME_LIMIT)
                    return
                kernel.require(np.arange(start, min(start + ROWS_PER_WRITE, kernel.n_rows)))
            is_in_order = np.array_equal(kernel.slot, np.arange(kernel.n_rows))
            K = kernel.values if is_in_order else kernel.values[kernel.slot]
            if kernel.n_rows >= ROWS_WORTH_WORKERS and (n_workers := n_threads()) > 1:
                self._solve_side_by_side(tasks, K, n_workers, keep)
                return
            kernel = GivenRows(K)
        paths = self._paths(len(tasks), 1)
        waiting = deque((path, self._solve_path(path, tasks[path.task], kernel)) for path in paths)
        while waiting:
            path, steps = waiting.popleft()
            if (step := next(steps, None)) is not None:
                keep(path, *step)
                waiting.append((path, steps))

    def _solve_side_by_side(
        self, tasks: Sequence[Task], K: np.ndarray, n_workers: int, keep: Callable
    ) -> None:
        def advance(steps: Iterator[tuple[int, Solution]]) -> tuple[int, Solution] | None:
            with on_this_thread():
                return next(steps, None)

        with ThreadPoolExecutor(n_workers) as pool:
            waiting = {}
            for path in self._paths(len(tasks), n_workers):
                rows = GivenRows(K)  # the same matrix, with a clock of its own
                steps = self._solve_path(path, tasks[path.task], rows)
                waiting[pool.submit(advance, steps)] = path, steps
            try:
                while waiting:
                    done, _ = wait(waiting, SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED)
                    for future in done:
                        path, steps = waiting.pop(future)
                        if (step := future.result()) is not None:
                            keep(path, *step)
                            waiting[pool.submit(advance, steps)] = path, steps
            except BaseException:
                self._stop.set()  # or the pool would wait until all paths are solved
                raise

    def _paths(self, n_tasks: int, n_workers: int) -> list[_Path]:
        """One path per fold and binary problem, cut where there are more cores than paths."""
        n_whole = len(self.folds) * n_tasks
        n_cuts = min(len(self.Cs), max(1, n_workers // n_whole))
        return [
            _Path(fold, task, cells.tolist())
            # The largest C last: they take longest, and a path begins where it is easy.
            for cells in np.array_split(np.arange(len(self.Cs)), n_cuts)[::-1]
            for fold in range(len(self.folds))
            for task in range(n_tasks)
        ]

    def _solve_path(
        self, path: _Path, task: Task, kernel: MachineRows
    ) -> Iterator[tuple[int, Solution]]:
        """Solve one problem for ascending values of C, each from the solution of the last."""
        machine_at = self._machine_at(task, kernel, self.folds[path.fold])
        last: Solution | None = None
        last_C = 0.0
        bound = np.empty(0)
        for cell in path.cells:
            if self._stop.is_set():
                return
            C = float(self.Cs[cell])
            machine = machine_at(C)
            start: Solution | np.ndarray | None = last
            if isinstance(last, DualSolution):
                start = _moved_with_bounds(last.beta, bound, C / last_C)
            elif isinstance(machine, DualProblem) and isinstance(kernel, GivenRows):
                # Pairwise steps, which the solver takes from a given start, need two to four times
                # less time than working sets where the whole kernel is in memory (5,000 rows).
                start = np.zeros(machine.n_variables)
            last = solve_machine(machine, start, **self._limits())
            last_C = C
            if isinstance(machine, DualProblem):
                bound = np.maximum(machine.upper, -machine.lower)
            yield cell, last

    def _solve_in_batches(self, tasks: Sequence[Task], kernel: MachineRows, keep: Callable) -> None:
        """On a device: cells of similar C together, because they take similar numbers of steps."""
        order = [
            (_Path(fold, task, [cell]), cell)
            for cell in range(len(self.Cs))
            for fold in range(len(self.folds))
            for task in range(len(tasks))
        ]
        machine_at = {
            (fold, task): self._machine_at(tasks[task], kernel, self.folds[fold])
            for fold in range(len(self.folds))
            for task in range(len(tasks))
        }
        size = NUMBERS_IN_BATCH // self.problem.n_rows
        size = min(max(size, FEWEST_IN_BATCH), MOST_IN_BATCH)
        for first in range(0, len(order), size):
            batch = order[first : first + size]
            machines = [
                machine_at[path.fold, path.task](float(self.Cs[cell])) for path, cell in batch
            ]
            for (path, cell), solution in zip(
                batch, solve_machines(machines, **self._limits()), strict=True
            ):
                keep(path, cell, solution)
            if self._stop.is_set():
                return

    def _limits(self) -> dict[str, Any]:
        limits = self.problem.limits.of_solve(callback=lambda n_iter, gap: self._stop.is_set())
        if self.deadline < math.inf:
            limits["time_limit"] = self.deadline - time.perf_counter()
        return limits

    def _end(self, status: Status) -> None:
        self.ended = self.ended or status
        self._stop.set()


def _moved_with_bounds(beta: np.ndarray, bound: np.ndarray, factor: float) -> np.ndarray:
    """The coefficients for bounds that are wider by a factor: those at a bound stay at it."""
    is_bound = np.abs(beta) >= bound * (1 - 1e-9)
    return np.where(is_bound, beta * factor, beta)
