"""Kernel rows in memory, noted so that they can be made again as they were.

    slots, rows, last_used, clock   which rows are where, and when they were used (see `kernels.rows`)
    made, sizes                     the rows that were made together with them, batch after batch

A solver with some of the kernel's rows in memory steps among those first, so they steer it. To BLAS the last digit of
a row depends on the rows beside it in the product, so rows are made again in the batches they were made in.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from semisvm.dual.pairwise import WHOLE_GRAM_BYTES
from semisvm.kernels import CachedRows, GivenRows
from semisvm.kernels.sources import KernelSource


def is_steered_by_rows(kernel: Any) -> TypeGuard[CachedRows]:
    """Whether the rows in memory decide what the solver does next; below a size it has all of them made at once."""
    if isinstance(kernel, GivenRows) or is_on_device(kernel):
        return False
    return kernel.n_rows**2 * kernel.dtype.itemsize > min(WHOLE_GRAM_BYTES, kernel.values.nbytes)


def is_on_device(kernel: Any) -> bool:
    """Whether the rows lie in the memory of a device, which has its own ways."""
    return kernel.home != "cpu"


class NotedSource(KernelSource):
    """A source of kernel rows that notes which rows it made together; `batch_of` has the batch of each row."""

    def __init__(self, source: KernelSource):
        self.source = source
        self.n_rows, self.dtype, self.diagonal = source.n_rows, source.dtype, source.diagonal
        self.batches: list[np.ndarray] = []
        self.batch_of = np.full(source.n_rows, -1, dtype=np.intp)

    @property
    def is_repeatable(self) -> bool:
        return self.source.is_repeatable

    def __getattr__(self, name: str) -> Any:  # what a source of some kind has beyond the others
        return getattr(self.__dict__["source"], name)

    def write(self, rows: np.ndarray, out: np.ndarray) -> None:
        self.source.write(rows, out)

    def write_at(self, rows: np.ndarray, values: np.ndarray, slots: np.ndarray) -> None:
        self.source.write_at(rows, values, slots)
        self.batch_of[rows] = len(self.batches)
        self.batches.append(np.array(rows))


def held_rows(kernel: CachedRows) -> dict[str, np.ndarray]:
    """What it takes to have the rows in memory again: where they are, when they were used, what they were made with."""
    slots = np.flatnonzero(kernel.owner >= 0)
    rows, source = kernel.owner[slots], kernel.source
    assert isinstance(source, NotedSource)
    made_in = [source.batches[k] for k in np.unique(source.batch_of[rows][source.batch_of[rows] >= 0])]
    return {
        "slots": slots,
        "rows": rows,
        "last_used": kernel.last_used[slots],
        "clock": np.array(kernel.clock),
        "made": np.concatenate([np.empty(0, dtype=np.intp), *made_in]),
        "sizes": np.array([len(batch) for batch in made_in], dtype=np.intp),
    }


def make_rows(kernel: CachedRows, held: dict[str, np.ndarray]) -> None:
    """Make the rows that were held, batch by batch as they were made, and put them where they were."""
    source = kernel.source
    assert isinstance(source, NotedSource)
    kernel.slot[:], kernel.owner[:] = -1, -1
    kernel.owner[held["slots"]] = held["rows"]
    kernel.slot[held["rows"]] = held["slots"]
    kernel.last_used[held["slots"]] = held["last_used"]
    kernel.clock = int(held["clock"])
    source.batches = np.split(held["made"], np.cumsum(held["sizes"])[:-1])
    for number, batch in enumerate(source.batches):
        block = np.empty((len(batch), kernel.n_rows), dtype=kernel.dtype)
        source.write(batch, block)
        source.batch_of[batch] = number
        wanted = kernel.slot[batch] >= 0
        kernel.values[kernel.slot[batch[wanted]]] = block[wanted]
