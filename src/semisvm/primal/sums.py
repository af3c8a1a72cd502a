"""One pass over the rows: the sums from which objective, gradient, curvature and the duality gap follow.

At (w, bias) with smoothing mu the pieces of the rows have dual variables alpha (see `compiled`). Their sums are

    A+, A-   of alpha over positive and negative pieces        V+, V-   of alpha x
    Q+, Q-   of the conjugates                                 H        of curvature (x, 1)(x, 1)'

    gradient       w - V+ + V-   and for the bias   A- - A+
    feasible       the dual needs A+ = A-: the larger side is scaled down to the smaller, by r+ or r-
    v              r+ V+ - r- V-
    bound          r+ A+ + r- A- - 1/2 |v|^2                    of the hinge
    smooth bound   bound - r+^2 Q+ - r-^2 Q-                    of the smoothed problem, and of the squared hinge

Both bounds hold at any (w, bias): the gap costs no pass of its own. For wide rows H is not formed; its diagonal is, and
products with it are sums of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from semisvm.primal.compiled import CONJUGATE, LOSS, N_CURVED, N_SCALARS, SMOOTH, TOTAL, add_pieces, slope_along
from semisvm.primal.problem import Prices
from semisvm.primal.rows import RowPart

NOTHING, DIAGONAL, FULL = "nothing", "diagonal", "full"  # how much of the curvature a pass adds up


@dataclass(frozen=True)
class Sums:
    """What one pass found; `packed` is the vector that was added up over the parts."""

    w: np.ndarray
    bias: float
    mu: float
    packed: np.ndarray
    curvature: str

    @property
    def _d(self) -> int:
        return len(self.w)

    @cached_property
    def norm(self) -> float:
        """1/2 |w|^2."""
        return 0.5 * float(self.w @ self.w)

    @property
    def objective(self) -> float:
        """P of the true problem."""
        return self.norm + float(self.packed[LOSS])

    @property
    def smooth_objective(self) -> float:
        """P of the smoothed problem; of the squared hinge, P itself."""
        return self.norm + float(self.packed[SMOOTH])

    @property
    def n_curved(self) -> int:
        """How many pieces have a curvature."""
        return int(self.packed[N_CURVED])

    @property
    def sum_alpha(self) -> np.ndarray:
        """A+, A-."""
        return self.packed[TOTAL : TOTAL + 2]

    @property
    def sum_alpha_x(self) -> np.ndarray:
        """V+, V- as the rows of a matrix."""
        return self.packed[N_SCALARS : N_SCALARS + 2 * self._d].reshape(2, self._d)

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of H, the bias last."""
        rest = self.packed[N_SCALARS + 2 * self._d :]
        return rest if self.curvature == DIAGONAL else self.hessian.diagonal()

    @property
    def hessian(self) -> np.ndarray:
        """H, (d + 1, d + 1), the bias last."""
        return self.packed[N_SCALARS + 2 * self._d :].reshape(self._d + 1, self._d + 1)

    @cached_property
    def gradient(self) -> np.ndarray:
        """The gradient of the smoothed objective, (d + 1,), the bias last."""
        positive, negative = self.sum_alpha_x
        return np.append(self.w - positive + negative, self.sum_alpha[1] - self.sum_alpha[0])

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """(bound, smooth bound): lower bounds of the optimum of the true and of the smoothed problem."""
        total = self.sum_alpha
        factor = np.divide(total.min(), total, out=np.zeros(2), where=total > 0)
        v = factor[0] * self.sum_alpha_x[0] - factor[1] * self.sum_alpha_x[1]
        bound = float(factor @ total) - 0.5 * float(v @ v)
        smooth = bound - float(factor**2 @ self.packed[CONJUGATE : CONJUGATE + 2])
        return (bound if self.mu > 0 else smooth), smooth


def sum_part(part: RowPart, prices: Prices, w: np.ndarray, bias: float, mu: float, curvature: str) -> np.ndarray:
    """The sums of one part, as one vector."""
    return sum_scored(part, *prices(part), part.scores(w) + bias, mu, curvature)


def sum_scored(
    part: RowPart,
    p: np.ndarray,
    q: np.ndarray,
    f: np.ndarray,
    mu: float,
    curvature: str,
    alpha: np.ndarray | None = None,
) -> np.ndarray:
    """The sums of one part whose decision values are known."""
    X, m, d = part.X, len(f), part.X.shape[1]
    alpha, curved = np.empty((2, m)), np.empty(m)
    size = {NOTHING: 0, DIAGONAL: d + 1, FULL: (d + 1) ** 2}[curvature]
    packed = np.empty(N_SCALARS + 2 * d + size)
    packed[:N_SCALARS] = add_pieces(f, p, q, mu, alpha, curved)
    packed[N_SCALARS : N_SCALARS + 2 * d] = np.asarray(
        alpha @ X if isinstance(X, np.ndarray) else (X.T @ alpha.T).T
    ).ravel()
    rest = packed[N_SCALARS + 2 * d :]
    if curvature == DIAGONAL:
        rest[:d], rest[d] = square_columns(X).T @ curved, curved.sum()
    elif curvature == FULL:
        _add_hessian(X, curved, rest.reshape(d + 1, d + 1))
    return packed


def square_columns(X: Any) -> Any:
    """Every number squared."""
    return X**2 if isinstance(X, np.ndarray) else X.multiply(X).tocsr()


def _add_hessian(X: Any, curved: np.ndarray, out: np.ndarray) -> None:
    rows = np.flatnonzero(curved)
    root = np.sqrt(curved[rows])
    d = X.shape[1]
    if isinstance(X, np.ndarray):
        Z = np.empty((len(rows), d + 1))
        np.take(X, rows, axis=0, out=Z[:, :d], mode="clip")
        Z[:, :d] *= root[:, None]
        Z[:, d] = root
        np.dot(Z.T, Z, out=out)
        return
    Z = X[rows].multiply(root[:, None]).tocsr()
    out[:d, :d] = (Z.T @ Z).toarray()
    out[d, :d] = out[:d, d] = Z.T @ root
    out[d, d] = root @ root


def curvature_times(
    part: RowPart, prices: Prices, w: np.ndarray, bias: float, mu: float, direction: np.ndarray
) -> np.ndarray:
    """H direction over one part, for rows that are not in memory."""
    alpha, curved = np.empty((2, part.X.shape[0])), np.empty(part.X.shape[0])
    add_pieces(part.scores(w) + bias, *prices(part), mu, alpha, curved)
    along = curved * (part.scores(direction[:-1]) + direction[-1])
    return np.append(part.X.T @ along, along.sum())


def slopes_along(part: RowPart, prices: Prices, points: np.ndarray, steps: np.ndarray, mu: float) -> np.ndarray:
    """Derivatives of the smoothed losses of one part at several steps from a point along a direction.

    points is (2, d + 1): the point and the direction, the bias last.
    """
    p, q = prices(part)
    f, g = (np.ascontiguousarray(values) for values in (part.X @ points[:, :-1].T + points[:, -1]).T)
    return np.array([slope_along(f, g, step, p, q, mu)[0] for step in steps])
