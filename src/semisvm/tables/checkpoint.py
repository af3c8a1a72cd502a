"""A folder that keeps the finished solves of a fit, so that a fit that was killed continues where it stopped.

    fit.json           what is being fitted (a digest of rows, labels and settings), and the memory for kernel rows
    solve-000042.npz   the solution of the 42nd solve, and a digest of its problem and of all problems before it
    rows-000003.npz    which kernel rows of the third kernel were in memory after its last solve:
                       slots, rows, last_used, clock   which rows were where, and when they were used (`kernels.rows`)
                       made, sizes                     the rows that were computed with them, batch after batch

A solution is the start of the next solve, and the kernel rows in memory influence the steps of the solver, so with both
restored the fit ends with the same model to the last bit. Kernel rows are stored only if the solver does not compute
all of them at once (beyond about 4,000 rows). With BLAS the last digit of a row depends on the other rows of the same
product, so rows are computed again in the same batches. In that case only, means of rows, which CCCP and label means
use, may still differ in the last digit: they are summed in the order in which the rows were computed.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from semisvm.device import MEGABYTE, budget_bytes
from semisvm.disk import UNFINISHED, lock_file, whole_file
from semisvm.dual import DualProblem, DualSolution, Status
from semisvm.dual.advance import WHOLE_GRAM_BYTES
from semisvm.errors import fault
from semisvm.kernels import CachedRows, GivenRows, KernelRows
from semisvm.kernels.sources import KernelSource

CHECKPOINT_MANIFEST, CHECKPOINT_LOCK = "fit.json", "lock"


class Checkpoint:
    """The finished solves of one fit in a folder: a store for `semisvm.dual.solve`.

    `cache_size` are the megabytes for kernel rows, as they were when the fit began; `n_recalled` is how many solves
    were answered from the folder.
    """

    def __init__(self, folder: Path, cache_size: float, lock: int | None = None):
        self.folder, self.cache_size = folder, cache_size
        self._unlock = None if lock is None else weakref.finalize(self, os.close, lock)
        self.number = 0
        self.n_recalled = 0
        self._chain = hashlib.blake2b(digest_size=16)
        self._numbers: weakref.WeakKeyDictionary[KernelRows, int] = weakref.WeakKeyDictionary()
        self._held: dict[int, int | None] = {}  # per kernel, the solve after which its rows were stored
        self._n_kernels = 0
        self._is_new = False  # set by the first solve that is not stored: later ones in the folder are of no use

    def recall(self, problem: DualProblem, settings: dict[str, Any]) -> DualSolution | None:
        """Return the stored solution of the next solve if it belongs to this problem and all before it were stored."""
        self.number += 1
        for part in (problem.linear, problem.lower, problem.upper, problem.row, [problem.total, settings.get("tol")]):
            self._chain.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
        found = None if self._is_new else self._read(problem)
        if found is None:
            self._is_new = True
        else:
            self.n_recalled += 1
            self._restore_rows(problem.kernel)
        return found

    def keep(self, problem: DualProblem, found: DualSolution) -> None:
        """Store a solution, and the kernel rows that it left in memory."""
        nonzero = np.flatnonzero(found.beta)
        numbers = [found.bias, found.objective, found.gap, found.n_iter, found.seconds]
        kernel = self._number_of(problem.kernel)
        _write(
            self._path("solve", self.number),
            chain=np.frombuffer(self._chain.digest(), dtype=np.uint8),
            at=nonzero,
            beta=found.beta[nonzero],
            scores=found.scores,
            numbers=np.array(numbers, dtype=np.float64),
            status=np.array(str(found.status)),
            kernel=np.array(kernel),
        )
        if depends_on_rows(problem.kernel):
            state = held_rows(problem.kernel)
            _write(self._path("rows", kernel), solve=np.array(self.number), **state)
            self._delete_rows_of_dead_kernels()

    def remove(self) -> None:
        """Delete the stored solves, the last one first and the manifest after them: killed here, a fit can resume."""
        for path in sorted(self.folder.iterdir(), reverse=True):
            if path.name in (CHECKPOINT_MANIFEST, CHECKPOINT_LOCK) or path.suffix in (".npz", UNFINISHED):
                path.unlink(missing_ok=True)
        if self._unlock is not None:
            self._unlock()
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _read(self, problem: DualProblem) -> DualSolution | None:
        kernel = self._number_of(problem.kernel)
        stored = _load_arrays(self._path("solve", self.number))
        if stored is None or stored["chain"].tobytes() != self._chain.digest() or int(stored["kernel"]) != kernel:
            return None
        if depends_on_rows(problem.kernel) and self._lacks_rows(kernel):
            return None
        beta = np.zeros(problem.n_variables)
        beta[stored["at"]] = stored["beta"]
        scores = stored["scores"]
        bias, objective, gap, n_iter, seconds = stored["numbers"].tolist()
        return DualSolution(
            beta=beta,
            scores=scores,
            gradient=scores[slice(None) if problem.row is None else problem.row] + problem.linear,
            bias=bias,
            objective=objective,
            gap=gap,
            n_iter=int(n_iter),
            status=Status(str(stored["status"])),
            seconds=seconds,
            row=problem.row,
        )

    def _lacks_rows(self, kernel: int) -> bool:
        """Whether the process was killed between writing a solution and its kernel rows: then it is solved again."""
        is_last = not self._path("solve", self.number + 1).exists()
        return is_last and self._held_after(kernel) != self.number

    def _restore_rows(self, kernel: KernelRows) -> None:
        """Compute the kernel rows that a solve had left in memory."""
        if not depends_on_rows(kernel):
            if not is_on_device(kernel):
                kernel.require(np.arange(kernel.n_rows))
            return
        number = self._number_of(kernel)
        if self._held_after(number) != self.number:
            return  # a later solve is stored, and the rows of that one will be restored
        held = _load_arrays(self._path("rows", number))
        assert held is not None
        restore_rows(kernel, held)

    def _held_after(self, kernel: int) -> int | None:
        """Return the solve after which the rows of a kernel were stored."""
        if kernel not in self._held:
            held = _load_arrays(self._path("rows", kernel))
            self._held[kernel] = None if held is None else int(held["solve"])
        return self._held[kernel]

    def _number_of(self, kernel: KernelRows) -> int:
        if kernel not in self._numbers:
            self._n_kernels += 1
            self._numbers[kernel] = self._n_kernels
            if depends_on_rows(kernel):
                kernel.source = RecordingSource(kernel.source)
        return self._numbers[kernel]

    def _delete_rows_of_dead_kernels(self) -> None:
        """Once a kernel is deleted, no solve can ask for its rows again."""
        alive = set(self._numbers.values())
        for path in self.folder.glob("rows-*.npz"):
            if int(path.stem.removeprefix("rows-")) not in alive:
                path.unlink(missing_ok=True)

    def _path(self, kind: str, number: int) -> Path:
        return self.folder / f"{kind}-{number:06d}.npz"


def open_checkpoint(folder: str | Path, digest: str, *, resume: bool) -> Checkpoint:
    """Begin a checkpoint in a folder, which is made if there is none, or with `resume` continue the one that is there.

    `digest` identifies what is being fitted. Without `resume` an existing checkpoint is an error.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise fault(folder, "this is a file, but a checkpoint needs a folder", "Choose another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise fault(folder, f"the folder can't be created ({error.strerror})", "Choose another") from None
    lock = lock_file(folder, CHECKPOINT_LOCK)
    for left in folder.glob(f".*{UNFINISHED}"):
        left.unlink(missing_ok=True)
    stored = _read_manifest(folder)
    if stored is not None and resume:
        if stored.get("digest") != digest:
            reason = "the checkpoint is of another fit: its rows, labels, settings or versions differ"
            raise fault(folder, reason, "Fit as before, or use another folder")
        return Checkpoint(folder, float(stored["cache_size"]), lock)
    if stored is not None or any(folder.glob("solve-*.npz")):
        remedy = "Continue it (`resume`), or choose another folder"
        raise fault(folder, "there is a checkpoint already", remedy)
    cache_size = budget_bytes(None) / MEGABYTE  # stored, because more or less may be free when it resumes
    with whole_file(folder / CHECKPOINT_MANIFEST, force=True) as unfinished:
        unfinished.write_text(json.dumps({"digest": digest, "cache_size": cache_size}), encoding="utf-8")
    return Checkpoint(folder, cache_size, lock)


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        stored = json.loads((folder / CHECKPOINT_MANIFEST).read_text(encoding="utf-8"))
        return stored if isinstance(stored, dict) else {}
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}


def _write(path: Path, **arrays: Any) -> None:
    remedy = "Free some space, then continue the fit (`resume`)"
    with whole_file(path, force=True, remedy=remedy) as unfinished, open(unfinished, "wb") as stream:
        np.savez(stream, **arrays)


def _load_arrays(path: Path) -> dict[str, np.ndarray] | None:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except FileNotFoundError:
        return None
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen unrelated types on bad bytes
        raise fault(path, f"the checkpoint is damaged ({error})", "Remove its folder and begin again") from None


# ---- kernel rows in memory ----


def depends_on_rows(kernel: Any) -> TypeGuard[CachedRows]:
    """Whether the rows in memory influence the solver; for small kernels it computes all of them at once."""
    if isinstance(kernel, GivenRows) or is_on_device(kernel):
        return False
    return kernel.n_rows**2 * kernel.dtype.itemsize > min(WHOLE_GRAM_BYTES, kernel.values.nbytes)


def is_on_device(kernel: Any) -> bool:
    """Whether the rows are in the memory of a device, which does not use `KernelRows` for its steps."""
    return kernel.home != "cpu"


class RecordingSource(KernelSource):
    """A source of kernel rows that records which rows were computed together; `batch_of` has the batch of each row."""

    def __init__(self, source: KernelSource):
        self.source = source
        self.n_rows, self.dtype, self.diagonal = source.n_rows, source.dtype, source.diagonal
        self.batches: list[np.ndarray] = []
        self.batch_of = np.full(source.n_rows, -1, dtype=np.intp)

    @property
    def is_repeatable(self) -> bool:
        return self.source.is_repeatable

    def __getattr__(self, name: str) -> Any:  # attributes that only some kinds of source have
        return getattr(self.__dict__["source"], name)

    def write(self, rows: np.ndarray, out: np.ndarray) -> None:
        self.source.write(rows, out)

    def write_at(self, rows: np.ndarray, values: np.ndarray, slots: np.ndarray) -> None:
        self.source.write_at(rows, values, slots)
        self.batch_of[rows] = len(self.batches)
        self.batches.append(np.array(rows))

    def between(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.source.between(rows, columns)

    def fill_gram(self, *arguments: Any) -> None:
        self.source.fill_gram(*arguments)

    # `spread` is that of all sources, through `write_at`: what it makes and keeps is recorded.


def held_rows(kernel: CachedRows) -> dict[str, np.ndarray]:
    """Return what is needed to restore the rows in memory: slots, times of use, and the batches they came from."""
    slots = np.flatnonzero(kernel.owner >= 0)
    rows, source = kernel.owner[slots], kernel.source
    assert isinstance(source, RecordingSource)
    made_in = [source.batches[k] for k in np.unique(source.batch_of[rows][source.batch_of[rows] >= 0])]
    return {
        "slots": slots,
        "rows": rows,
        "last_used": kernel.last_used[slots],
        "clock": np.array(kernel.clock),
        "made": np.concatenate([np.empty(0, dtype=np.intp), *made_in]),
        "sizes": np.array([len(batch) for batch in made_in], dtype=np.intp),
    }


def restore_rows(kernel: CachedRows, held: dict[str, np.ndarray]) -> None:
    """Compute the rows that were held, batch by batch as before, and put them in their slots."""
    source = kernel.source
    assert isinstance(source, RecordingSource)
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
