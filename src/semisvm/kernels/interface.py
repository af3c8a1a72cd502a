"""What kernel rows are to the rest of the library: rows of a kernel matrix K between n data rows.

`KernelRows` is what every user of a kernel needs. `HostRows` adds the arrays that the CPU solver reads directly:

    values[slot[i]]  is K[i], shape (n,), where slot[i] >= 0; slot[i] = -1 where row i is not in memory
    last_used[s]     is the clock at which slot s was last used; the solver advances the clock
"""

import inspect
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from semisvm.shared_docs import with_shared_docs

Class = TypeVar("Class", bound=type)


@with_shared_docs
class KernelRows(Protocol):
    """The rows of a kernel matrix K between n data rows, wherever they are.

    Attributes
    ----------
    n_rows : int
        Number of data rows, n.
    %(kernel_values)s
    capacity : int
        Number of rows that can be in memory at the same time.
    home : str
        Name of the device that holds the rows; "cpu" for the host.

    See Also
    --------
    kernel_rows : Make the rows of any kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.kernels import KernelRows, kernel_rows, make_formula
    >>> def trace(kernel: KernelRows) -> float:
    ...     return float(kernel.diagonal.sum())
    >>> X = np.array([[1.0], [2.0]])
    >>> trace(kernel_rows(X, make_formula("linear", X)))
    5.0
    """

    n_rows: int
    dtype: np.dtype
    diagonal: np.ndarray
    capacity: int
    home: str

    def require(self, rows: np.ndarray) -> None:
        """Bring rows into memory for the solver.

        Parameters
        ----------
        rows : ndarray of int
            Indices of data rows, at most `capacity` distinct ones.
        """

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Return kernel rows as an array of the host.

        Parameters
        ----------
        rows : ndarray of int
            Indices of data rows.

        Returns
        -------
        ndarray of shape (len(rows), n_rows)
            K[rows].
        """

    def times(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients in float64; rows with coefficient 0 are not needed.

        Parameters
        ----------
        coefficients : ndarray of shape (n_rows,)
            One coefficient per data row.

        Returns
        -------
        ndarray of shape (n_rows,)
            The product, in float64.
        """

    def times_dense(self, coefficients: np.ndarray) -> np.ndarray:
        """Return K @ coefficients fast for coefficients that are mostly not 0, in the precision of the rows.

        Parameters
        ----------
        coefficients : ndarray of shape (n_rows,)
            One coefficient per data row.

        Returns
        -------
        ndarray of shape (n_rows,)
            The product, in `dtype` or float64.
        """


class HostRows(KernelRows, Protocol):
    """Kernel rows in the memory of the host, as the CPU solver reads them; the module docstring has the arrays."""

    values: np.ndarray
    slot: np.ndarray
    last_used: np.ndarray
    clock: int
    n_evicted: int
    device_copies: dict[str, Any]  # `device_rows.on_device` keeps its copies here

    @property
    def is_present(self) -> np.ndarray:
        """Which rows are in memory, shape (n,)."""

    @property
    def is_repeatable(self) -> bool:
        """Whether a row made twice is equal to the last bit."""

    def between(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return kernel values between a few rows and a few columns.

        Parameters
        ----------
        rows, columns : ndarray of int
            Indices of data rows.

        Returns
        -------
        ndarray of shape (len(rows), len(columns))
            K[rows][:, columns].
        """

    def fill_gram(self, G: np.ndarray, order: np.ndarray, n_known: int, row: np.ndarray) -> None:
        """Write kernel values between a few rows, on every core.

        Parameters
        ----------
        G : ndarray of shape (size, at least size)
            G[i, j] becomes K[row[i], row[j]] for i and j in `order`.
        order : ndarray of int
            Positions in G.
        n_known : int
            Values between the first so many positions of `order` are in G already.
        row : ndarray of int of shape (size,)
            The data row of each position.
        """

    def spread(self, rows: np.ndarray, moves: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Return the change of K @ coefficients when the coefficients of some rows move, on every core.

        Parameters
        ----------
        rows : ndarray of int of shape (m,)
            Data rows, each once.
        moves : ndarray of shape (m,)
            By how much their coefficients move.
        is_kept : ndarray of bool of shape (m,)
            Which rows to keep in memory, if they have to be made and there is room.

        Returns
        -------
        ndarray of shape (n_rows,)
            moves @ K[rows], in float64.
        """


def documented_by(protocol: type) -> Callable[[Class], Class]:
    """Give the methods of a class the sections that the protocol's docstrings have; the first line stays their own."""

    def fill(cls: Class) -> Class:
        for name, method in vars(cls).items():
            _, _, sections = (inspect.getdoc(getattr(protocol, name, None)) or "").partition("\n\n")
            if inspect.isfunction(method) and not name.startswith("_") and method.__doc__ and sections:
                method.__doc__ = f"{method.__doc__}\n\n{sections}\n"
        return cls

    return fill
