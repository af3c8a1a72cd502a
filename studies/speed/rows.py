"""The rows of a cell: which are trained on, and which predictions are compared on.

Rows are drawn once by a fixed seed, so that every solver, repetition and session sees the same ones. They
are written to a file before the runs: a run then starts from the rows it needs and nothing else, and
the cost of parsing text is neither timed nor left in its memory.

Rows are CSR float64 here; each solver converts them to the form it likes best.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from semisvm.datasets import load
from studies.speed.tasks import SEED, data_dir

N_COMPARED = 5_000  # predictions are compared on so many rows at most
CSR_PARTS = ("data", "indices", "indptr", "shape")


@dataclass
class CellRows:
    """What a run needs of a cell: training rows with signs, and the rows to predict."""

    X: sparse.csr_matrix
    sign: np.ndarray
    compared: sparse.csr_matrix
    compared_are: str  # "held out", or "training" where the cell takes every row


def load_task(name):
    """Read all labeled rows of a task: X, CSR float64 (n, d), and sign, +1.0 or -1.0 (n,)."""
    dataset = load(name, data_home=data_dir())
    X = sparse.csr_matrix(dataset.X, dtype=np.float64)
    is_labeled = dataset.y >= 0
    return X[is_labeled], np.where(dataset.y[is_labeled] == 1, 1.0, -1.0)


def draw_rows(cell):
    """Read the cell's task and draw its rows."""
    X, sign = load_task(cell.task)
    order = np.random.default_rng(SEED).permutation(len(sign))
    train, rest = np.split(order, [cell.n_rows(len(sign))])
    # Back into the file's order: SMO breaks ties by position, so the order is part of the problem.
    train = np.sort(train)
    compared = (rest if rest.size else order)[:N_COMPARED]
    return CellRows(X[train], sign[train], X[compared], "held out" if rest.size else "training")


def write_rows(cell, path):
    """Draw the cell's rows, write them to an .npz file, and return the shape of the training rows."""
    rows = draw_rows(cell)
    arrays = {"sign": rows.sign, "compared_are": np.array(rows.compared_are)}
    for name, matrix in (("X", rows.X), ("compared", rows.compared)):
        arrays |= {f"{name}_{part}": np.asarray(getattr(matrix, part)) for part in CSR_PARTS}
    np.savez(path, **arrays)
    return rows.X.shape


def read_rows(path):
    """Read what `write_rows` wrote."""
    with np.load(path) as arrays:
        X, compared = (_read_csr(arrays, name) for name in ("X", "compared"))
        return CellRows(X, arrays["sign"], compared, str(arrays["compared_are"]))


def _read_csr(arrays, name):
    data, indices, indptr, shape = (arrays[f"{name}_{part}"] for part in CSR_PARTS)
    matrix = sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))
    # scikit-learn's SVC refuses 64-bit indices.
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix
