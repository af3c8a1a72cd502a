"""Rows of K on a device, by matrix products; scores of new rows.

    out[i, :n]   row i of K; rows are `stride` numbers apart, a multiple of 32, so that each starts
                 at an address that wide loads need

Products are in full float32 (or float64): TF32 would lose 1e-3. The whole matrix is made one band
of rows at a time, from the diagonal on, and the band is mirrored: half the products.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from semisvm.engine.formula import Formula, far_center
from semisvm.matrices import is_sparse_matrix

BAND = 4096  # rows of the whole matrix made at a time
EXPONENTIAL_COLUMNS = 1024  # per program
ROWS_FOR_CENTER = 1024  # tell where rows are
SCORED_VALUES = 1 << 26  # kernel values of new rows at a time


def torch_device(name: str) -> Any:
    """The torch device of a name that `choose_device` has accepted."""
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
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(allowed)


def as_tensor(X: Any, dtype: Any, device: Any) -> Any:
    """Dense or CSR rows as a dense tensor; of sparse rows only the non-zeros are transferred."""
    kind = getattr(torch, np.dtype(dtype).name)
    if not is_sparse_matrix(X):
        return _sent(np.ascontiguousarray(X, dtype=dtype), device)
    begins, columns, values = (_sent(part, device) for part in (X.indptr, X.indices, X.data))
    n_rows, n_columns = X.shape
    row = torch.repeat_interleave(
        torch.arange(n_rows, device=device), begins.diff(), output_size=len(columns)
    )
    dense = torch.zeros(n_rows * n_columns, dtype=kind, device=device)
    dense.index_add_(0, row * n_columns + columns, values.to(kind))  # a column may be stored twice
    return dense.view(n_rows, n_columns)


def _sent(values: np.ndarray, device: Any) -> Any:
    """A tensor that nobody writes to; torch warns of arrays that nobody may write to."""
    return torch.from_numpy(values if values.flags.writeable else values.copy()).to(device)


class DeviceDataSource:
    """Rows of K from data rows on the device."""

    def __init__(self, X: Any, formula: Formula, dtype: Any, device: Any):
        self.formula, self.dtype, self.device = formula, np.dtype(dtype), device
        self.n_rows = X.shape[0]
        some = X[:: max(1, X.shape[0] // ROWS_FOR_CENTER)]
        center = far_center(some) if formula.name == "rbf" else None
        self.center = None if center is None else as_tensor(center, np.float64, device)
        self.X = self.tensor(X)
        self.squares = (self.X * self.X).sum(dim=1)
        self.gamma = self.squares.new_tensor([formula.gamma])
        self.diagonal = formula.diagonal(self.squares.cpu().numpy())

    def tensor(self, X: Any) -> Any:
        """Rows as a tensor, moved as the rows here: float32 has few digits for far rows."""
        if self.center is None:
            return as_tensor(X, self.dtype, self.device)
        moved = as_tensor(X, np.float64, self.device) - self.center
        return moved.to(getattr(torch, self.dtype.name))

    def write(self, rows: Any, out: Any) -> None:
        """out[i, :n] = K[rows[i]]; `rows` is a tensor of int64, `out` has rows of any stride."""
        self._product(self.X[rows], out[:, : self.n_rows])
        self._finish(out, rows, 0)

    def write_all(self, out: Any) -> None:
        """out[:n, :n] = K."""
        n = self.n_rows
        for start in range(0, n, BAND):
            stop = min(start + BAND, n)
            band = out[start:stop, start:n]
            self._product(self.X[start:stop], band, start)
            self._finish(band, torch.arange(start, stop, device=out.device), start)
            out[stop:n, start:stop] = band[:, stop - start :].T

    def between(self, new: Any) -> Any:
        """The kernel values between new rows, made by `tensor`, and these, (n_new, n)."""
        values = new.new_empty((len(new), self.n_rows))
        self._product(new, values)
        is_none_of_them = torch.full((len(new),), -1, dtype=torch.int64, device=new.device)
        self._finish(values, is_none_of_them, 0, (new * new).sum(dim=1))
        return values

    def _product(self, left: Any, out: Any, start: int = 0) -> None:
        with full_precision():
            torch.mm(left, self.X[start:].T, out=out)

    def _finish(self, dots: Any, rows: Any, first: int, squares: Any = None) -> None:
        """Turn dot products with the data rows from `first` on into kernel values, in place."""
        formula = self.formula
        if formula.name == "rbf":
            n_columns = self.n_rows - first
            grid = (-(-n_columns // EXPONENTIAL_COLUMNS), len(rows))
            squares = self.squares[rows] if squares is None else squares
            finish_rbf[grid](
                dots, squares, self.squares[first:], rows, self.gamma, first, n_columns,
                dots.stride(0), COLUMNS=EXPONENTIAL_COLUMNS, num_warps=4,
            )  # fmt: skip
        elif formula.name in ("poly", "sigmoid"):
            dots.mul_(formula.gamma).add_(formula.coef0)
            dots.pow_(formula.degree) if formula.name == "poly" else dots.tanh_()


@triton.jit
def finish_rbf(
    dots, squares_left, squares_right, rows, gamma, first, n_columns, stride, COLUMNS: tl.constexpr
):
    """dots[i, j] <- exp(-gamma |x_rows[i] - x_first+j|^2) in place; k(x, x) is exactly 1."""
    i = tl.program_id(1)
    j = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    there = j < n_columns
    at = dots + i.to(tl.int64) * stride + j
    square = tl.load(squares_left + i) + tl.load(squares_right + j, mask=there, other=0.0)
    distance = tl.maximum(square - 2.0 * tl.load(at, mask=there, other=0.0), 0.0)
    distance = tl.where(first + j == tl.load(rows + i), 0.0, distance)
    tl.store(at, tl.exp(-tl.load(gamma) * distance), mask=there)


class DeviceMatrixSource:
    """Rows of a kernel matrix that exists already."""

    formula = Formula("precomputed")

    def __init__(self, K: Any, dtype: Any, device: Any):
        self.K = K if isinstance(K, torch.Tensor) else as_tensor(K, dtype, device)
        self.dtype, self.n_rows = np.dtype(dtype), len(self.K)
        self.diagonal = self.K.diagonal().cpu().numpy()

    def write(self, rows: Any, out: Any) -> None:
        """out[i, :n] = K[rows[i]]."""
        out[:, : self.n_rows] = self.K[rows]

    def write_all(self, out: Any) -> None:
        """out[:n, :n] = K; one copy is enough."""
        out[: self.n_rows, : self.n_rows] = self.K
        self.K = out[: self.n_rows, : self.n_rows]


def make_source(
    X: Any, formula: Formula, dtype: Any, device: Any
) -> DeviceDataSource | DeviceMatrixSource:
    """The source of a kernel; a user's function is called on the host, once for all pairs."""
    if formula.name == "precomputed":
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                "A precomputed kernel must be a square matrix of shape (n_samples, n_samples) in"
                f" fit, got {X.shape}."
            )
        return DeviceMatrixSource(X, dtype, device)
    if formula.function is not None:
        return DeviceMatrixSource(formula.of_rows(X, X), dtype, device)
    return DeviceDataSource(X, formula, dtype, device)


def scores_on_device(
    X: Any, support: Any, coefficients: np.ndarray, formula: Formula, device: str, dtype: Any
) -> np.ndarray:
    """The weighted sums of kernel values between rows X and support rows, added in float64.

    coefficients   (n_outputs, n_support)
    """
    place = torch_device(device)
    scores = np.empty((X.shape[0], len(coefficients)))
    with current_device(place):
        source = DeviceDataSource(support, formula, dtype, place)
        weights = torch.from_numpy(np.ascontiguousarray(coefficients.T)).to(place)
        step = max(BAND, SCORED_VALUES // max(source.n_rows, 1))
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            K = source.between(source.tensor(X[part]))
            scores[part] = (K.double() @ weights).cpu().numpy()
    return scores
