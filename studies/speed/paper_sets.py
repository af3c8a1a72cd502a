"""The four sets of the PSVM paper, with the C and gamma of its Table 2, and fixed parts of them.

Rows are drawn once by a fixed seed, so that every solver, repetition and session uses the same
ones. They are written to a file before the runs: a run then starts from the rows that it needs and
nothing else, and the cost of parsing text is neither timed nor left in its memory. Rows are CSR
float64 here; each solver converts them to the form that it is fastest on.

Nothing imports NumPy before rows are read, so that the process that starts the runs stays small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from scipy import sparse

SEED = 0
N_COMPARED = 5_000  # predictions are compared on at most this many rows
CSR_PARTS = ("data", "indices", "indptr", "shape")


@dataclass(frozen=True)
class PaperSet:
    """The parameters that a set is trained with; `studies.data.load` knows its file and its
    positive class.
    """

    C: float
    gamma: float


PAPER_SETS = {
    "adult": PaperSet(C=100.0, gamma=0.5),
    "ijcnn1": PaperSet(C=10.0, gamma=0.125),
    "mnist": PaperSet(C=10.0, gamma=0.125),
    "protein": PaperSet(C=10.0, gamma=0.25),
}


@dataclass
class PartRows:
    """What a run needs of a part: training rows with signs, and the rows to predict."""

    X: sparse.csr_matrix
    sign: np.ndarray
    compared: sparse.csr_matrix
    compared_are: str  # "held out", or "training" where the part takes every row


def count_rows(size: str, n: int) -> int:
    """Return how many of n rows a size ("10%", "all" or "600 rows") is."""
    if size == "all":
        return n
    if size.endswith("%"):
        return round(n * float(size[:-1]) / 100)
    return min(n, int(size.split()[0]))


def load_signed(name: str) -> tuple[Any, Any]:
    """Read all labeled rows of a set: X, CSR float64 (n, d), and sign, +1.0 or -1.0 (n,)."""
    import numpy as np
    from scipy import sparse

    from studies.data import load

    dataset = load(name)
    X = sparse.csr_matrix(dataset.X, dtype=np.float64)
    is_labeled = dataset.y >= 0
    return X[is_labeled], np.where(dataset.y[is_labeled] == 1, 1.0, -1.0)


def draw_part(name: str, size: str) -> PartRows:
    """Read a set and draw the rows of a part."""
    import numpy as np

    X, sign = load_signed(name)
    order = np.random.default_rng(SEED).permutation(len(sign))
    train, rest = np.split(order, [count_rows(size, len(sign))])
    # Back to the order of the file: SMO breaks ties by position, so the order is part of the
    # problem.
    train = np.sort(train)
    compared = (rest if rest.size else order)[:N_COMPARED]
    return PartRows(X[train], sign[train], X[compared], "held out" if rest.size else "training")


def write_part(name: str, size: str, path: str) -> tuple[int, int]:
    """Draw a part, write it to an .npz file, and return the shape of the training rows."""
    import numpy as np

    rows = draw_part(name, size)
    arrays = {"sign": rows.sign, "compared_are": np.array(rows.compared_are)}
    for matrix_name, matrix in (("X", rows.X), ("compared", rows.compared)):
        arrays |= {f"{matrix_name}_{part}": np.asarray(getattr(matrix, part)) for part in CSR_PARTS}
    np.savez(path, **arrays)
    return rows.X.shape


def read_part(path: str) -> PartRows:
    """Read what `write_part` wrote."""
    import numpy as np

    with np.load(path) as arrays:
        X, compared = (_read_csr(arrays, name) for name in ("X", "compared"))
        return PartRows(X, arrays["sign"], compared, str(arrays["compared_are"]))


def _read_csr(arrays: Any, name: str) -> sparse.csr_matrix:
    import numpy as np
    from scipy import sparse

    data, indices, indptr, shape = (arrays[f"{name}_{part}"] for part in CSR_PARTS)
    matrix = sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))
    # scikit-learn's SVC refuses 64-bit indices
    matrix.indices = matrix.indices.astype(np.int32)
    matrix.indptr = matrix.indptr.astype(np.int32)
    return matrix
