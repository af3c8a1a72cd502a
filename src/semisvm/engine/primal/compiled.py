"""Compiled loops of the primal form: losses and dual variables at given decision values, sums over
sparse rows, and epochs of coordinate descent.

Each row has two pieces, one per side. A piece of penalty c and margin t has the shortfall
s = 1 - t, and

                     alpha                   curvature                    conjugate
    smoothed hinge   c clip(s / mu, 0, 1)    c / mu where 0 < s < mu      mu alpha^2 / (2 c)
    squared hinge    2 c max(s, 0)           2 c where s > 0              alpha^2 / (4 c)

The smoothed loss itself is alpha s - conjugate. A smoothing mu above 0 is that of the hinge; 0
means the squared hinge, which needs none.
"""

from typing import Any, NamedTuple

import numpy as np

from semisvm.engine.jit import jit

# Places in the vector of scalars that a pass adds up; totals and conjugates have one per side.
LOSS, SMOOTH, TOTAL, CONJUGATE, N_CURVED, N_SCALARS = 0, 1, 2, 4, 6, 7
SMALLEST_VIOLATION = 1e-12  # a variable that violates optimality less than this is not moved


class Csr(NamedTuple):
    """CSR rows. Unsigned indices let the compiler skip the test for negative ones; values may be
    float32, sums are in float64.
    """

    data: Any
    columns: Any
    starts: Any


class Variables(NamedTuple):
    """The dual variables: alpha[v] in [0, most[v]] belongs to side[v] of row[v], and the objective
    has soft[v] alpha[v]^2 / 2.
    """

    row: np.ndarray
    side: np.ndarray
    most: np.ndarray
    soft: np.ndarray
    alpha: np.ndarray


@jit
def add_pieces(f, p, q, mu, alpha, curvature, scalars):
    """Fill alpha (2, m) and curvature (m,); add losses, alpha and conjugates to scalars."""
    for i in range(len(f)):
        curvature[i] = 0.0
        for k in range(2):
            alpha[k, i] = 0.0
            c = p[i] if k == 0 else q[i]
            s = 1.0 - f[i] if k == 0 else 1.0 + f[i]
            if c <= 0.0 or s <= 0.0:
                continue
            if mu <= 0.0:
                a = 2.0 * c * s
                curved = 2.0 * c
                conjugate = c * s * s
                scalars[LOSS] += conjugate
            else:
                a = c if s >= mu else c * s / mu
                curved = 0.0 if s >= mu else c / mu
                conjugate = mu * a * a / (2.0 * c)
                scalars[LOSS] += c * s
            alpha[k, i] = a
            if curved > 0.0:
                curvature[i] += curved
                scalars[N_CURVED] += 1.0
            scalars[SMOOTH] += a * s - conjugate
            scalars[TOTAL + k] += a
            scalars[CONJUGATE + k] += conjugate


@jit
def slope_along(f, g, step, p, q, mu):
    """First and second derivative by the step of the smoothed losses at f + step g."""
    slope = second = 0.0
    for i in range(len(f)):
        for k in range(2):
            c = p[i] if k == 0 else q[i]
            side = 1.0 if k == 0 else -1.0
            s = 1.0 - side * (f[i] + step * g[i])
            if c <= 0.0 or s <= 0.0:
                continue
            along = side * g[i]
            if mu <= 0.0:
                slope -= 2.0 * c * s * along
                second += 2.0 * c * along * along
            elif s < mu:
                slope -= c * s / mu * along
                second += c / mu * along * along
            else:
                slope -= c * along
    return slope, second


@jit
def csr_scores(X, w, out):
    """Fill out (m,) with <w, x> of each row."""
    for i in range(len(out)):
        score = 0.0
        for j in range(X.starts[i], X.starts[i + 1]):
            score += w[X.columns[j]] * X.data[j]
        out[i] = score


@jit
def csr_squares(X, out):
    """Fill out (m,) with |x|^2 of each row."""
    for i in range(len(out)):
        total = 0.0
        for j in range(X.starts[i], X.starts[i + 1]):
            total += float(X.data[j]) * float(X.data[j])
        out[i] = total


@jit
def csr_times(X, coefficients, out):
    """Add the rows to out (d,), each times its own coefficient."""
    for i in range(len(coefficients)):
        if coefficients[i] != 0.0:
            for j in range(X.starts[i], X.starts[i + 1]):
                out[X.columns[j]] += coefficients[i] * X.data[j]


@jit
def csr_add_pieces(X, alpha, curvature, sums, diagonal):
    """Add alpha x to sums (2, d) and curvature x^2 to diagonal (d,)."""
    for i in range(len(curvature)):
        first, last = X.starts[i], X.starts[i + 1]
        for k in range(2):
            a = alpha[k, i]
            if a != 0.0:
                for j in range(first, last):
                    sums[k, X.columns[j]] += a * X.data[j]
        c = curvature[i]
        if c != 0.0:
            for j in range(first, last):
                diagonal[X.columns[j]] += c * X.data[j] * X.data[j]


@jit
def csr_curvature_times(X, curvature, direction, out):
    """Add curvature (x, 1)(x, 1)' direction to out (d + 1,), the bias last."""
    d = len(direction) - 1
    for i in range(len(curvature)):
        if curvature[i] != 0.0:
            first, last = X.starts[i], X.starts[i + 1]
            along = direction[d]
            for j in range(first, last):
                along += direction[X.columns[j]] * X.data[j]
            along *= curvature[i]
            for j in range(first, last):
                out[X.columns[j]] += along * X.data[j]
            out[d] += along


@jit
def run_epoch(order, n_active, variables, X, squares, w, imbalance, bias, penalty, ends):
    """One epoch of coordinate descent over the first `n_active` variables of `order`; `w` follows.

    Returns how many variables are left, the sum of side alpha, and the least and the largest
    gradient. A variable at a bound whose gradient is beyond those of the last epoch, `ends`, goes
    to the end of `order` and is left out, as in LIBLINEAR.
    """
    low, high = np.inf, -np.inf
    k = 0
    while k < n_active:
        v = order[k]
        i = np.uint64(variables.row[v])
        side, a = variables.side[v], variables.alpha[v]
        most, soft = variables.most[v], variables.soft[v]
        first, last = X.starts[i], X.starts[i + np.uint64(1)]
        score = bias + penalty * imbalance
        for j in range(first, last):
            score += w[X.columns[j]] * X.data[j]
        gradient = side * score - 1.0 + soft * a
        if (a <= 0.0 and gradient > ends[1]) or (a >= most and gradient < ends[0]):
            n_active -= 1
            order[k], order[n_active] = order[n_active], v
            continue
        projected = gradient
        if a <= 0.0:
            projected = min(gradient, 0.0)
        elif a >= most:
            projected = max(gradient, 0.0)
        low, high = min(low, projected), max(high, projected)
        k += 1
        if abs(projected) > SMALLEST_VIOLATION:
            new = min(max(a - gradient / (squares[i] + penalty + soft), 0.0), most)
            change = side * (new - a)
            if change != 0.0:
                variables.alpha[v] = new
                imbalance += change
                for j in range(first, last):
                    w[X.columns[j]] += change * X.data[j]
    return n_active, imbalance, low, high


@jit
def shuffle(order, n_active, random):
    """Shuffle the active variables in place; random holds n_active numbers in [0, 1)."""
    for k in range(n_active - 1, 0, -1):
        j = int(random[k] * (k + 1))
        order[k], order[j] = order[j], order[k]
