"""What torch makes on a device: kernel rows, and eigenvectors. Imported only where a device is
used.

The data is copied there, and rows of K are made by matrix products.

    stored[i, :n]   row i of K; rows are `stride` numbers apart, a multiple of 32, so that each
                    starts at an address that wide loads need

Products are in full float32 (or float64). In float32 they are as accurate as on the CPU; TF32 would
lose 1e-3. The whole matrix is made one band of rows at a time, from the diagonal on, and the band
is mirrored: half the products.

**Eigenvectors** by subspace iteration with a Chebyshev filter: a block of somewhat more vectors
than asked for is multiplied by a polynomial of the matrix that is small on the rest of the
spectrum,

    X <- T_k((A - c) / e) X        [c - e, c + e]: from the smallest eigenvalue to the block's

and then turned to the eigenvectors of X' A X, until the residuals are rounding errors. That is
products with many vectors at a time, which devices are made for, and it finds equal eigenvalues as
well as others (a graph of several pieces has them). The first block is drawn from a fixed seed.
Vectors agree with those of the CPU, except for their signs and for a rotation among those of equal
eigenvalues.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from semisvm.device import TensorRows, on_host
from semisvm.kernels.formula import FAR_FROM_ORIGIN, Formula
from semisvm.kernels.sources import cross_kernel
from semisvm.matrices import PickedRows, is_plain_float, is_sparse_matrix

BAND = 4096  # rows of the whole matrix made at a time
EXPONENTIAL_COLUMNS = 1024  # per program
SCORED_ON_DEVICE = 1 << 26  # kernel values of new rows at a time
ROWS_FOR_CENTER = 1024  # at least, if there are as many, that tell where rows are
LAPACK_ROWS = 1500  # up to which all eigenvectors are found
RESIDUAL = 1e-12  # of the largest eigenvalue
MOST_FILTERS, LARGEST_DEGREE, LARGEST_GAIN = 60, 60, 1e10
BOUND_STEPS = 20


def as_tensor(X: Any, dtype, device) -> Any:
    """Return rows of any kind as a dense tensor on the device."""
    kind = getattr(torch, np.dtype(dtype).name)
    X = X.tensor if isinstance(X, TensorRows) else X
    if isinstance(X, torch.Tensor):
        return X.detach().to(device=device, dtype=kind)
    if is_sparse_matrix(X):
        return _dense_tensor(X.tocsr(), kind, device)
    if hasattr(X, "__cuda_array_interface__"):
        return torch.as_tensor(X, device=device).to(kind)
    return torch.from_numpy(np.ascontiguousarray(X, dtype=dtype)).to(device)


def _dense_tensor(X, kind, device):
    """Lay a CSR matrix out dense on the device; only its non-zeros are transferred."""
    n_rows, n_columns = X.shape
    # They are widened or narrowed on the device: on the host that wakes all threads of torch.
    parts = (
        part if part.flags.writeable else part.copy() for part in (X.indptr, X.indices, X.data)
    )
    begins, columns, values = (torch.from_numpy(part).to(device) for part in parts)
    row = torch.repeat_interleave(
        torch.arange(n_rows, device=device), begins.diff(), output_size=len(columns)
    )
    dense = torch.zeros(n_rows * n_columns, dtype=kind, device=device)
    dense.index_add_(0, row * n_columns + columns, values.to(kind))  # a column may be stored twice
    return dense.view(n_rows, n_columns)


def torch_device(name: str) -> Any:
    """Return the torch device of a name that `semisvm.device.resolve` has accepted."""
    if name == "cuda":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu" if name == "interpreter" else name)


def current_device(device: Any) -> contextlib.AbstractContextManager[Any]:
    """Make a device the current one inside a block: Triton launches there."""
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    """Compute products in full float32, whatever the user allows torch elsewhere."""
    allowed = torch.get_float32_matmul_precision()
    if allowed == "highest":
        yield
        return
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(allowed)


def scores_on_device(
    X, support_vectors, coefficients: np.ndarray, formula: Formula, device: str, dtype: Any
) -> np.ndarray:
    """Score rows as `kernels.scores_of_new_rows` does, weighted and summed in float64."""
    place = torch_device(device)
    scores = np.empty((X.shape[0], len(coefficients)))
    with current_device(place):
        support = TorchDataSource(support_vectors, formula, dtype, place)
        weights = torch.from_numpy(np.ascontiguousarray(coefficients.T)).to(place)
        # Each part is one transfer from the host.
        step = max(BAND, SCORED_ON_DEVICE // max(support.n_rows, 1))
        part_of = (
            _staged(X, min(step, X.shape[0]), place) if isinstance(X, PickedRows) else X.__getitem__
        )
        for start in range(0, X.shape[0], step):
            part = slice(start, min(start + step, X.shape[0]))
            K = support.between(support.tensor(part_of(part)))
            scores[part] = (K.double() @ weights).cpu().numpy()
    return scores


def _staged(X: PickedRows, most: int, place: Any) -> Callable[[slice], Any]:
    """What returns parts of X on the device in turn, through memory that it reads directly."""
    if (
        place.type != "cuda"
        or not isinstance(X.X, np.ndarray)
        or not is_plain_float(X.X)
        or X.X.dtype != np.float32
    ):
        return X.__getitem__
    stage = torch.empty((most, X.shape[1]), dtype=torch.float32, pin_memory=True)

    def part_of(part: slice) -> Any:
        own = stage[: part.stop - part.start]
        X.write(part, own.numpy())  # the part before has been scored: its scores are on the host
        return own.to(place, non_blocking=True)

    return part_of


class TorchDataSource:
    """Rows of K from data rows on the device."""

    def __init__(self, X, formula: Formula, dtype, device):
        self.formula = formula
        self.n_rows = X.shape[0]
        self.dtype, self.device = dtype, device
        self.center = _center_if_far(X, device) if formula.name == "rbf" else None
        self.X = self.tensor(X)
        self.squares = (self.X * self.X).sum(dim=1)
        self.gamma = self.squares.new_tensor([formula.gamma])
        self.diagonal = formula.diagonal(self.squares.cpu().numpy())

    def tensor(self, X) -> Any:
        """Return rows as a tensor, moved as the rows here: float32 has few digits for far rows."""
        if self.center is None:
            return as_tensor(X, self.dtype, self.device)
        moved = as_tensor(X, np.float64, self.device) - self.center
        return moved.to(getattr(torch, np.dtype(self.dtype).name))

    def write(self, rows, out) -> None:
        """out[i, :n] = K[rows[i]]; `rows` is a tensor of int64, `out` has rows of any stride."""
        self._product(self.X[rows], out[:, : self.n_rows])
        self._finish(out, rows, 0)

    def write_all(self, out) -> None:
        """out[:n, :n] = K."""
        n = self.n_rows
        for start in range(0, n, BAND):
            stop = min(start + BAND, n)
            band = out[start:stop, start:n]
            self._product(self.X[start:stop], band, start)
            self._finish(band, torch.arange(start, stop, device=out.device), start)
            out[stop:n, start:stop] = band[:, stop - start :].T

    def between(self, new) -> Any:
        """Return the kernel values between new rows, made by `tensor`, and these, (n_new, n)."""
        values = new.new_empty((len(new), self.n_rows))
        self._product(new, values)
        # None of them is a data row.
        rows = torch.full((len(new),), -1, dtype=torch.int64, device=new.device)
        self._finish(values, rows, 0, (new * new).sum(dim=1))
        return values

    def _product(self, left, out, start: int = 0) -> None:
        with full_precision():
            torch.mm(left, self.X[start:].T, out=out)

    def _finish(self, dots, rows, first: int, squares=None) -> None:
        """Turn dot products with the data rows from `first` on into kernel values, in place."""
        formula = self.formula
        n_columns = self.n_rows - first
        if formula.name == "rbf":
            grid = (-(-n_columns // EXPONENTIAL_COLUMNS), len(rows))
            squares = self.squares[rows] if squares is None else squares, self.squares[first:]
            rbf_on_device[grid](
                dots,
                *squares,
                rows,
                self.gamma,
                first,
                n_columns,
                dots.stride(0),
                COLUMNS=EXPONENTIAL_COLUMNS,
                num_warps=4,
            )
        elif formula.name in ("poly", "sigmoid"):
            dots.mul_(formula.gamma).add_(formula.coef0)
            (
                torch.pow(dots, formula.degree, out=dots)
                if formula.name == "poly"
                else torch.tanh(dots, out=dots)
            )


@triton.jit
def rbf_on_device(
    dots, squares_left, squares_right, rows, gamma, first, n_columns, stride, COLUMNS: tl.constexpr
):
    """dots[i, j] <- exp(-gamma |x_rows[i] - x_first+j|^2) in place; one program per segment of a
    row.

    k(x, x) is exactly 1, whatever the rounding of |x|^2 + |x|^2 - 2<x, x>.
    """
    i = tl.program_id(1)
    j = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    there = j < n_columns
    at = dots + i.to(tl.int64) * stride + j
    square = tl.load(squares_left + i) + tl.load(squares_right + j, mask=there, other=0.0)
    distance = tl.maximum(square - 2.0 * tl.load(at, mask=there, other=0.0), 0.0)
    distance = tl.where(first + j == tl.load(rows + i), 0.0, distance)
    tl.store(at, tl.exp(-tl.load(gamma) * distance), mask=there)


def _center_if_far(X, device) -> Any:
    """Return the mean of some rows if they are far from the origin (`far_center`), else None."""
    is_many = X.shape[0] > ROWS_FOR_CENTER
    some = X[:: X.shape[0] // ROWS_FOR_CENTER] if is_many else X
    sample = as_tensor(some, np.float64, device)
    mean = sample.mean(dim=0)
    spread = (sample * sample).mean(dim=0).sum() - mean @ mean
    return mean if bool(mean @ mean > FAR_FROM_ORIGIN * spread) else None


class TorchMatrixSource:
    """Rows of a kernel matrix that exists already."""

    def __init__(self, K, dtype, device):
        self.K = as_tensor(K, dtype, device)
        self.n_rows = len(self.K)
        self.diagonal = self.K.diagonal().cpu().numpy()

    def write(self, rows, out) -> None:
        """out[i, :n] = K[rows[i]]."""
        out[:, : self.n_rows] = self.K[rows]

    def write_all(self, out) -> None:
        """out[:n, :n] = K."""
        out[: self.n_rows, : self.n_rows] = self.K
        self.K = out[: self.n_rows, : self.n_rows]  # one copy is enough


def make_torch_source(X, formula: Formula, dtype, device) -> TorchDataSource | TorchMatrixSource:
    """Return the source of a kernel; a user's function is called on the host, once."""
    if formula.name == "precomputed":
        return TorchMatrixSource(X, dtype, device)
    if formula.function is not None:
        return TorchMatrixSource(cross_kernel(formula, on_host(X), on_host(X)), dtype, device)
    return TorchDataSource(X, formula, dtype, device)


# ---- eigenvectors ----


def eigenpairs_on_device(
    matrix: Any, n_vectors: int, device: str
) -> tuple[np.ndarray, np.ndarray] | None:
    """What `spectrum.largest_eigenpairs` returns; None where no filter separates them."""
    place = torch_device(device)
    n = matrix.shape[0]
    width = n_vectors + max(10, n_vectors // 4)
    if n <= max(LAPACK_ROWS, 2 * width):
        values, vectors = torch.linalg.eigh(as_tensor(matrix, np.float64, place))
        return _first(values.flip(0), vectors.flip(1), n_vectors)
    A = (
        _sparse_tensor(matrix, place)
        if is_sparse_matrix(matrix)
        else as_tensor(matrix, np.float64, place)
    )
    start = np.random.default_rng(0).standard_normal((n, width))
    low = _lower_bound(A, torch.from_numpy(start[:, 0].copy()).to(place))
    values, block = _ritz_pairs(A, torch.from_numpy(start).to(place))
    for _ in range(MOST_FILTERS):
        wanted = block[:, :n_vectors]
        residual = torch.linalg.vector_norm(A @ wanted - wanted * values[:n_vectors], dim=0).max()
        if float(residual) <= RESIDUAL * float(values[0].abs()):
            return _first(values, block, n_vectors)
        values, block = _ritz_pairs(A, _filter(A, block, low, float(values[-1]), float(values[0])))
    return None


def _first(values: Any, vectors: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    return values[:count].cpu().numpy(), vectors[:, :count].contiguous().cpu().numpy()


def _sparse_tensor(matrix: Any, place: Any) -> Any:
    rows = matrix.tocsr().astype(np.float64)
    parts = (torch.from_numpy(np.asarray(part)) for part in (rows.indptr, rows.indices, rows.data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch calls its sparse rows new
        return torch.sparse_csr_tensor(*parts, size=rows.shape).to(place)


def _lower_bound(A: Any, vector: Any) -> float:
    """A number below all eigenvalues: a few steps of Lanczos, and what they may have missed."""
    basis = [vector / torch.linalg.vector_norm(vector)]
    alpha = []
    beta = []
    for _ in range(BOUND_STEPS):
        following = (A @ basis[-1][:, None])[:, 0]
        alpha.append(float(following @ basis[-1]))
        for _ in range(2):
            known = torch.stack(basis, dim=1)
            following = following - known @ (known.T @ following)
        beta.append(float(torch.linalg.vector_norm(following)))
        if beta[-1] <= RESIDUAL * abs(alpha[0]):
            break
        basis.append(following / beta[-1])
    m = len(alpha)
    T = np.diag(alpha) + np.diag(beta[: m - 1], 1) + np.diag(beta[: m - 1], -1)
    return float(np.linalg.eigvalsh(T)[0]) - beta[-1]


def _ritz_pairs(A: Any, block: Any) -> tuple[Any, Any]:
    """The eigenvalues in the space of a block, largest first, and their vectors, orthonormal."""
    basis = torch.linalg.qr(block)[0]
    product = basis.T @ (A @ basis)
    values, turn = torch.linalg.eigh((product + product.T) / 2)
    return values.flip(0), basis @ turn.flip(1)


def _filter(A: Any, block: Any, low: float, cut: float, top: float) -> Any:
    """The polynomial of the module's docstring, about 1 at the largest eigenvalue."""
    half = max((cut - low) / 2, 1e-12 * abs(top))
    center = (cut + low) / 2
    largest = max((top - center) / half, 1 + 1e-12)
    degree = int(np.clip(np.log(LARGEST_GAIN) / np.arccosh(largest), 2, LARGEST_DEGREE))
    first = scale = 1 / largest
    before = block
    now = (A @ block - center * block) * (scale / half)
    for _ in range(degree - 1):
        following = 1 / (2 / first - scale)
        after = (A @ now - center * now) * (2 * following / half) - before * (scale * following)
        before = now
        now = after
        scale = following
    return now
