"""A folder that remembers the finished solves of a fit, so that a fit that was killed goes on where it was.

    fit.json           what is being fitted (a digest of rows, labels and settings), and the memory for kernel rows
    solve-000042.npz   the solution of the 42nd solve, and a digest of its problem and all before it
    rows-000003.npz    which kernel rows of the third kernel are in memory, after its last solve

Each file is written under another name and renamed. A solution starts the next one, and the kernel rows in memory
steer the solver, so with both as they were the model ends up the same to the last bit. Kernel rows are noted only
where the solver does not have all of them made at once (beyond some 4,000 rows; `checkpoint_rows`). There, and only
there, means of rows, which CCCP and label means use, may still differ in the last digit: they are summed in the order
in which rows were made.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.dual import DualProblem, DualSolution, Status
from semisvm.errors import fault
from semisvm.kernels import KernelRows
from semisvm.kernels.memory import MEGABYTE, budget_bytes
from semisvm.tables.checkpoint_rows import NotedSource, held_rows, is_on_device, is_steered_by_rows, make_rows

MANIFEST = "fit.json"


class Checkpoint:
    """The memory of one fit in a folder; implements `semisvm.dual.memo.Memory`."""

    def __init__(self, folder: Path, cache_size: float):
        self.folder, self.cache_size = folder, cache_size
        self.number = 0
        self.n_recalled = 0
        self._chain = hashlib.blake2b(digest_size=16)
        self._numbers: weakref.WeakKeyDictionary[KernelRows, int] = weakref.WeakKeyDictionary()
        self._noted: dict[int, int | None] = {}  # by kernel, as found in the folder
        self._n_kernels = 0
        self._is_new = False  # set by the first solve that is not known: what is stored beyond it is of no use

    def recall(self, problem: DualProblem, settings: dict[str, Any]) -> DualSolution | None:
        """Return the stored solution of the next solve, if it is of this problem and nothing came before it."""
        self.number += 1
        for part in (problem.linear, problem.lower, problem.upper, problem.row, [problem.total, settings.get("tol")]):
            self._chain.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
        found = None if self._is_new else self._read(problem)
        if found is None:
            self._is_new = True
        else:
            self.n_recalled += 1
            self._bring_rows_back(problem.kernel)
        return found

    def keep(self, problem: DualProblem, found: DualSolution) -> None:
        """Store a solution, and the kernel rows that it left in memory."""
        nonzero = np.flatnonzero(found.beta)
        facts = [found.bias, found.objective, found.gap, found.n_iter, found.seconds]
        kernel = self._number_of(problem.kernel)
        _write(
            self._path("solve", self.number),
            chain=np.frombuffer(self._chain.digest(), dtype=np.uint8),
            at=nonzero,
            beta=found.beta[nonzero],
            scores=found.scores,
            facts=np.array(facts, dtype=np.float64),
            status=np.array(str(found.status)),
            kernel=np.array(kernel),
        )
        if is_steered_by_rows(problem.kernel):
            state = held_rows(problem.kernel)
            _write(self._path("rows", kernel), solve=np.array(self.number), **state)
            self._forget_rows_of_the_gone()

    def remove(self) -> None:
        """Forget everything: the model is saved."""
        for path in self.folder.iterdir():
            if path.name == MANIFEST or path.suffix in (".npz", ".part"):
                path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _read(self, problem: DualProblem) -> DualSolution | None:
        kernel = self._number_of(problem.kernel)
        stored = _load(self._path("solve", self.number))
        if stored is None or stored["chain"].tobytes() != self._chain.digest() or int(stored["kernel"]) != kernel:
            return None
        if is_steered_by_rows(problem.kernel) and self._lacks_rows(kernel):
            return None
        beta = np.zeros(problem.n_variables)
        beta[stored["at"]] = stored["beta"]
        scores = stored["scores"]
        bias, objective, gap, n_iter, seconds = stored["facts"].tolist()
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
        """Whether the process was killed between a solution and its kernel rows: then it is solved once more."""
        is_last = not self._path("solve", self.number + 1).exists()
        return is_last and self._held_after(kernel) != self.number

    def _bring_rows_back(self, kernel: KernelRows) -> None:
        """Make the kernel rows that a solve had left in memory; what a method makes between solves, it makes again."""
        if not is_steered_by_rows(kernel):
            if not is_on_device(kernel):
                kernel.require(np.arange(kernel.n_rows))
            return
        number = self._number_of(kernel)
        if self._held_after(number) != self.number:
            return  # a later solve is stored, and what that one left will do
        held = _load(self._path("rows", number))
        assert held is not None
        make_rows(kernel, held)

    def _held_after(self, kernel: int) -> int | None:
        """The solve that left the kernel rows that are noted."""
        if kernel not in self._noted:
            held = _load(self._path("rows", kernel))
            self._noted[kernel] = None if held is None else int(held["solve"])
        return self._noted[kernel]

    def _number_of(self, kernel: KernelRows) -> int:
        if kernel not in self._numbers:
            self._n_kernels += 1
            self._numbers[kernel] = self._n_kernels
            if is_steered_by_rows(kernel):
                kernel.source = NotedSource(kernel.source)
        return self._numbers[kernel]

    def _forget_rows_of_the_gone(self) -> None:
        """Once a kernel is gone no solve can ask for its rows again."""
        alive = set(self._numbers.values())
        for path in self.folder.glob("rows-*.npz"):
            if int(path.stem.removeprefix("rows-")) not in alive:
                path.unlink(missing_ok=True)

    def _path(self, kind: str, number: int) -> Path:
        return self.folder / f"{kind}-{number:06d}.npz"


def open_checkpoint(folder: str | Path, digest: str, *, resume: bool) -> Checkpoint:
    """Begin a checkpoint, or with `resume` go on with the one in the folder; `digest` tells what is being fitted."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise fault(folder, "this is a file, and a checkpoint needs a folder", "Choose another name")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise fault(folder, f"the folder can't be made ({error.strerror})", "Choose another") from None
    for left in folder.glob("*.part"):
        left.unlink(missing_ok=True)
    stored = _read_manifest(folder)
    if stored is not None and resume:
        if stored.get("digest") != digest:
            reason = "the checkpoint is of another fit: its rows, labels, settings or versions differ"
            raise fault(folder, reason, "Use the same command as before, or another folder")
        return Checkpoint(folder, float(stored["cache_size"]))
    if stored is not None or any(folder.glob("solve-*.npz")):
        remedy = "Go on with it by --resume, or choose another folder"
        raise fault(folder, "there is a checkpoint already", remedy)
    cache_size = budget_bytes(None) / MEGABYTE  # of this moment: when it is resumed, more or less may be free
    manifest = folder / (MANIFEST + ".part")
    manifest.write_text(json.dumps({"digest": digest, "cache_size": cache_size}), encoding="utf-8")
    os.replace(manifest, folder / MANIFEST)
    return Checkpoint(folder, cache_size)


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        stored = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return stored if isinstance(stored, dict) else {}
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}


def _write(path: Path, **arrays: Any) -> None:
    unfinished = path.with_suffix(".part")
    try:
        with open(unfinished, "wb") as stream:
            np.savez(stream, **arrays)
        os.replace(unfinished, path)
    except OSError as error:
        raise fault(path, f"can't be written ({error.strerror})", "Free some space, then go on by --resume") from None


def _load(path: Path) -> dict[str, np.ndarray] | None:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except FileNotFoundError:
        return None
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen unrelated types on bad bytes
        raise fault(path, f"the checkpoint is damaged ({error})", "Remove its folder and begin again") from None
