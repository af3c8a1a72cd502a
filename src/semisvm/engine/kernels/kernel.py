"""The kernel matrix K between n data rows: its rows are made when they are needed, and kept.

    rows(i)                 K[i], (len(i), n)
    block(i, j)             K[i][:, j], without whole rows
    times(c)                K @ c in float64
    spread(i, moves, keep)  moves @ K[i] in float64; those of `keep` stay in memory

`Kernel` is on the host, under a budget of bytes; rows that were used longest ago make room first.
It outlives a solve: the next problem of a sequence finds its rows. A kernel knows who solves
problems on it (`solve`). `KernelWithMeans` has the same verbs, and so has `gpu.DeviceKernel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from semisvm.engine.kernels.sources import DataSource, MatrixSource, Source, threads_worth
from semisvm.engine.parallel import in_pieces
from semisvm.engine.problem import Limits, Solution, Status

WHOLE_BYTES = 64_000_000  # a smaller matrix is made completely


class KernelVerbs:
    """What all kernels on the host do by the verbs of the module."""

    form = "dual"
    source: Source
    n_rows: int
    dtype: np.dtype
    diagonal: np.ndarray
    n_remade: int  # how many rows were made that had been in memory before
    is_repeatable: bool  # whether a row made twice is equal to the last bit

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """K[rows][:, columns] of a few rows and columns."""
        raise NotImplementedError

    def whole(self) -> np.ndarray | None:
        """All of K, where it is small; made once."""
        raise NotImplementedError

    def fill_gram(self, G: np.ndarray, row: np.ndarray, new: np.ndarray) -> None:
        """G[i, j] = G[j, i] = K[row[i], row[j]] for positions i in `new` and all j."""
        raise NotImplementedError

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """K @ coefficients; rows that are not in memory are made and not kept."""
        raise NotImplementedError

    def spread(self, rows: np.ndarray, moves: np.ndarray, keep: np.ndarray) -> np.ndarray:
        """moves @ K[rows], each row given once: the change of K @ coefficients when they move."""
        raise NotImplementedError

    def linear_rows(self) -> Any:
        """The data rows of a linear kernel, None of others."""
        return None

    def with_means(self, weights: np.ndarray, **details: Any) -> KernelVerbs:
        """This kernel with weighted means of its rows behind them; see `KernelWithMeans`."""
        from semisvm.engine.kernels.means import KernelWithMeans

        return KernelWithMeans(self, weights, **details)

    def solve(
        self, problems: Sequence[Any], starts: Sequence[Any], limits: Limits
    ) -> list[Solution]:
        """Solve problems on this kernel, one after the other.

        The SVM of a linear kernel that ends as stalled is solved in the primal form, where it can.
        """
        from semisvm.engine.dual.handover import is_handed_over, solve_in_primal_form
        from semisvm.engine.dual.solver import solve_on_host

        found = []
        for problem, start in zip(problems, starts, strict=True):
            solution = None
            if is_handed_over(start):
                solution = solve_in_primal_form(problem, replace(start, n_iter=0), limits)
            if solution is None:
                solution = solve_on_host(problem, start, limits)
                if solution.status is Status.STALLED:
                    solution = solve_in_primal_form(problem, solution, limits) or solution
            found.append(solution)
        return found


class Kernel(KernelVerbs):
    """Rows of K from a source, kept while there is room.

    values      (capacity, n_rows) the rows in memory
    slot        (n_rows,) where each row is in `values`, -1 if it is not in memory
    owner       (capacity,) the data row in each slot, -1 if the slot is free
    last_used   (capacity,) the number of the call that used it last
    """

    def __init__(self, source: Source, budget: int):
        self.source, self.budget = source, budget
        self.n_rows, self.dtype, self.diagonal = source.n_rows, source.dtype, source.diagonal
        self.is_repeatable = source.is_repeatable
        is_given = isinstance(source, MatrixSource)
        fits = budget // max(self.n_rows * self.dtype.itemsize, 1)
        self.capacity = self.n_rows if is_given else min(self.n_rows, fits)
        self.last_used = np.zeros(self.capacity, dtype=np.int64)
        self.was_made = np.zeros(self.n_rows, dtype=bool)
        self.clock = self.n_remade = 0
        self._is_whole = is_given
        if isinstance(source, MatrixSource):
            self.values = source.K
            self.slot, self.owner = np.arange(self.n_rows), np.arange(self.n_rows)
        else:
            # The system provides memory page by page, as rows are written.
            self.values = np.empty((self.capacity, self.n_rows), dtype=self.dtype)
            self.slot, self.owner = np.full(self.n_rows, -1), np.full(self.capacity, -1)

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """K[rows]: copied if all of them are in memory, otherwise made and not kept."""
        if (self.slot[rows] >= 0).all():
            return self.values[self.slot[rows]]
        out = np.empty((len(rows), self.n_rows), dtype=self.dtype)
        self._make(rows, out, np.arange(len(rows)), np.zeros(len(rows)), np.empty(0))
        return out

    @property
    def spare_bytes(self) -> int:
        """What is left of the budget; a matrix that was given is no part of it."""
        if isinstance(self.source, MatrixSource):
            return self.budget
        n_held = int((self.owner >= 0).sum())
        return self.budget - n_held * self.n_rows * self.dtype.itemsize

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if self._is_whole:
            return self.values[rows[:, None], columns]
        return self.source.values(rows, columns)

    def whole(self) -> np.ndarray | None:
        if self.n_rows**2 * self.dtype.itemsize > WHOLE_BYTES or self.capacity < self.n_rows:
            return None
        if not self._is_whole:
            everything = np.arange(self.n_rows)
            self._make(everything, self.values, everything, np.zeros(self.n_rows), np.empty(0))
            self.slot[:] = self.owner[:] = everything
            self._is_whole = True
        return self.values

    def fill_gram(self, G: np.ndarray, row: np.ndarray, new: np.ndarray) -> None:
        from semisvm.engine.kernels.loops import mirror

        is_range = new[-1] - new[0] == len(new) - 1
        ends = (int(new[0]), int(new[-1]) + 1) if is_range else (0, 0)
        self.source.gram(row[new], row, G, new, *ends)
        in_pieces(mirror, G, new, len(row), *ends, most=threads_worth(len(new) * len(row)))

    def linear_rows(self) -> Any:
        if isinstance(self.source, DataSource) and self.source.formula.name == "linear":
            return self.source.X
        return None

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(coefficients)
        absent = used[self.slot[used] < 0]
        rest = self.source.weighted_sum(absent, coefficients[absent]) if len(absent) else None
        if rest is not None:
            used = used[self.slot[used] >= 0]
        change = self.spread(used, coefficients[used], np.zeros(len(used), dtype=bool))
        return change if rest is None else change + rest

    def spread(self, rows: np.ndarray, moves: np.ndarray, keep: np.ndarray) -> np.ndarray:
        change = np.zeros(self.n_rows)
        if len(rows) == 0:
            return change
        self.clock += 1
        is_stored = self.slot[rows] >= 0
        made, keep = rows[~is_stored], np.flatnonzero(keep[~is_stored])
        stored = self.slot[rows[is_stored]]
        self.last_used[stored] = self.clock
        slots = np.full(len(made), -1)
        room = self._make_room(len(keep)) if len(keep) else keep
        slots[keep[: len(room)]] = room
        self._make(made, self.values, slots, moves[~is_stored], change, stored, moves[is_stored])
        # A row counts as present once it is complete: KeyboardInterrupt may come at any time.
        kept = slots >= 0
        self.owner[slots[kept]], self.slot[made[kept]] = made[kept], slots[kept]
        self.last_used[slots[kept]] = self.clock
        return change

    def _make(self, rows, out, slots, moves, change, *stored) -> None:
        self.n_remade += int(self.was_made[rows].sum())
        self.was_made[rows] = True
        self.source.make(rows, None, out, slots, moves, change, *stored)

    def _make_room(self, wanted: int) -> np.ndarray:
        """Free slots, after the rows that were used longest ago were dropped; none of this call."""
        free = np.flatnonzero(self.owner < 0)
        if len(free) < wanted:
            old = np.flatnonzero((self.owner >= 0) & (self.last_used < self.clock))
            oldest = old[np.argsort(self.last_used[old], kind="stable")[: wanted - len(free)]]
            self.slot[self.owner[oldest]] = -1
            self.owner[oldest] = -1
            free = np.flatnonzero(self.owner < 0)
        return free[:wanted]
