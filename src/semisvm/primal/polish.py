"""The last digits of a hinge solution in memory: solve for the rows on the margin exactly.

Near the optimum each piece is past its margin (its dual variable is 0), short of it (the variable is at its price) or
on it. Given which is which, (beta, bias) of the pieces on the margin solve a linear system,

    <w, x_i> + bias = side_i    for i on the margin,     sum(beta) = 0,     w = sum_i beta_i x_i,

and the pieces that it puts on another side than assumed are moved there: a primal-dual active-set method. It ends at
the exact optimum after a few rounds from a point where few pieces are misplaced, and is given up elsewhere. Its
answer is only proposed: what counts is the gap that it has.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, solve

from semisvm.primal.rows import MemoryRows

MOST_ON_MARGIN = 1_000
MOST_REPAIRS = 12
OFF_MARGIN = 1e-9


def pieces_near_margin(p: np.ndarray, q: np.ndarray, f: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Two masks of (2 n,) pieces, positive ones first: on the margin, and short of it by at least mu."""
    short = np.concatenate([1.0 - f, 1.0 + f])
    in_use = np.concatenate([p, q]) > 0
    return in_use & (short > 0) & (short < mu), in_use & (short >= mu)


def polish(
    rows: MemoryRows, p: np.ndarray, q: np.ndarray, on: np.ndarray, full: np.ndarray
) -> tuple[np.ndarray, float, float] | None:
    """(w, bias, bound) of the exact optimum, None where it was not found; `on` and `full` say where pieces are."""
    price, n = np.concatenate([p, q]), len(p)
    side, in_use = np.repeat([1.0, -1.0], n), np.concatenate([p, q]) > 0
    found = None
    for _ in range(MOST_REPAIRS):
        places = np.flatnonzero(on)
        if not 0 < len(places) <= MOST_ON_MARGIN:
            return found
        net = side * np.where(full, price, 0.0)
        v = rows.times(net[:n] + net[n:])
        answer = _on_margin(rows, places % n, side[places], v, net.sum())
        if answer is None:
            return found
        beta, w, bias = answer
        f = rows.scores(w) + bias
        short = 1.0 - side * np.concatenate([f, f])
        alpha = side[places] * beta
        is_low, is_high = alpha < -OFF_MARGIN * price[places], alpha > (1 + OFF_MARGIN) * price[places]
        joins = in_use & ~on & np.where(full, short < -OFF_MARGIN, short > OFF_MARGIN)
        if not is_low.any() and not is_high.any():
            bound = float(np.where(full, price, 0.0).sum() + alpha.sum() - 0.5 * (w @ w))
            found = (w, bias, bound)
            if not joins.any():
                return found
        on[places[is_low | is_high]] = False
        full[places[is_high]] = True
        on |= joins
        full &= ~joins
    return found


def _on_margin(
    rows: MemoryRows, places: np.ndarray, side: np.ndarray, v: np.ndarray, total: float
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """(beta, w, bias) with the rows at these places on their margins; v and total are of the other rows."""
    X, m = rows.X[places].astype(np.float64, copy=False), len(places)
    K = X @ X.T
    K = K if isinstance(K, np.ndarray) else K.toarray()
    system = np.ones((m + 1, m + 1))
    system[:m, :m] = K
    system[np.arange(m), np.arange(m)] += 1e-13 * max(float(K.trace()) / m, 1e-300)  # rows may be equal
    system[m, m] = 0.0
    right = np.append(side - X @ v, -total)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)
            answer = solve(system, right, assume_a="sym", check_finite=False)
    except (LinAlgError, LinAlgWarning):
        return None
    if not np.isfinite(answer).all():
        return None
    beta = answer[:m]
    return beta, v + X.T @ beta, float(answer[m])
