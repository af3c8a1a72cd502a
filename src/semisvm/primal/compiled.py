"""Compiled loops over the decision values of rows: losses, dual variables and curvatures of both
pieces of each row.

A smoothing mu above 0 is that of the hinge; 0 means the squared hinge, which needs none. A piece of
price c has the shortfall s = 1 - t, and

                     alpha                   curvature                    conjugate
    smoothed hinge   c clip(s / mu, 0, 1)    c / mu where 0 < s < mu      mu alpha^2 / (2 c)
    squared hinge    2 c max(s, 0)           2 c where s > 0              alpha^2 / (4 c)

The smoothed loss itself is alpha s - conjugate.
"""

import numpy as np

from semisvm.kernels.compiler import jit

# Places in the vector of scalars
LOSS = 0
SMOOTH = 1
TOTAL = 2
CONJUGATE = 4
N_CURVED = 6
N_SCALARS = 7


@jit
def add_pieces(f, p, q, mu, alpha, curvature, scalars):
    """Fill alpha (2, m) and curvature (m,); add losses, alpha and conjugates to scalars."""
    for i in range(len(f)):
        alpha[0, i] = alpha[1, i] = curvature[i] = 0.0
        for side in range(2):
            c = p[i] if side == 0 else q[i]
            if c <= 0.0:
                continue
            s = 1.0 - f[i] if side == 0 else 1.0 + f[i]
            if s <= 0.0:
                continue
            if mu <= 0.0:
                a = 2.0 * c * s
                curved = 2.0 * c
                conjugate = c * s * s
                scalars[LOSS] += conjugate
            else:
                a = c
                curved = 0.0
                if s < mu:
                    a = c * s / mu
                    curved = c / mu
                conjugate = mu * a * a / (2.0 * c)
                scalars[LOSS] += c * s
            alpha[side, i] = a
            if curved > 0.0:
                curvature[i] += curved
                scalars[N_CURVED] += 1.0
            scalars[SMOOTH] += a * s - conjugate
            scalars[TOTAL + side] += a
            scalars[CONJUGATE + side] += conjugate


@jit
def slope_along(f, g, step, p, q, mu):
    """First and second derivative by the step of the smoothed losses at f + step g."""
    slope, second = 0.0, 0.0
    for i in range(len(f)):
        value = f[i] + step * g[i]
        if p[i] > 0.0:
            s = 1.0 - value
            if s > 0.0:
                if mu <= 0.0:
                    slope -= 2.0 * p[i] * s * g[i]
                    second += 2.0 * p[i] * g[i] * g[i]
                elif s < mu:
                    slope -= p[i] * s / mu * g[i]
                    second += p[i] / mu * g[i] * g[i]
                else:
                    slope -= p[i] * g[i]
        if q[i] > 0.0:
            s = 1.0 + value
            if s > 0.0:
                if mu <= 0.0:
                    slope += 2.0 * q[i] * s * g[i]
                    second += 2.0 * q[i] * g[i] * g[i]
                elif s < mu:
                    slope += q[i] * s / mu * g[i]
                    second += q[i] / mu * g[i] * g[i]
                else:
                    slope += q[i] * g[i]
    return slope, second


# CSR rows: data, columns and starts as unsigned numbers; the numbers may be float32, sums are in
# float64


@jit
def csr_scores(data, columns, starts, w, out):
    """Fill out (m,) with <w, x> of each row."""
    for i in range(len(out)):
        score = 0.0
        for j in range(starts[i], starts[i + 1]):
            score += w[columns[j]] * data[j]
        out[i] = score


@jit
def csr_squares(data, starts, out):
    """Fill out (m,) with |x|^2 of each row."""
    for i in range(len(out)):
        total = 0.0
        for j in range(starts[i], starts[i + 1]):
            total += float(data[j]) * float(data[j])
        out[i] = total


@jit
def csr_times(data, columns, starts, net, out):
    """Add the rows to out (d,), each times its own number."""
    for i in range(len(net)):
        if net[i] != 0.0:
            for j in range(starts[i], starts[i + 1]):
                out[columns[j]] += net[i] * data[j]


@jit
def csr_add_pieces(data, columns, starts, alpha, curvature, sums, diagonal):
    """Add alpha x to sums (2, d) and curvature x^2 to diagonal (d,), which may be empty."""
    for i in range(len(curvature)):
        first = starts[i]
        last = starts[i + 1]
        for side in range(2):
            a = alpha[side, i]
            if a != 0.0:
                for j in range(first, last):
                    sums[side, columns[j]] += a * data[j]
        c = curvature[i]
        if c != 0.0 and len(diagonal) > 0:
            for j in range(first, last):
                diagonal[columns[j]] += c * data[j] * data[j]


@jit
def csr_curvature_times(data, columns, starts, curvature, direction, out):
    """Add curvature (x, 1)(x, 1)' direction to out (d + 1,), the bias last."""
    d = len(direction) - 1
    for i in range(len(curvature)):
        if curvature[i] != 0.0:
            first = starts[i]
            last = starts[i + 1]
            along = direction[d]
            for j in range(first, last):
                along += direction[columns[j]] * data[j]
            along *= curvature[i]
            for j in range(first, last):
                out[columns[j]] += along * data[j]
            out[d] += along


# epochs of dual coordinate descent over CSR rows, or over dense ones: then `columns` is empty

# Places in the state that is carried from epoch to epoch
IMBALANCE, BIAS, PENALTY, HIGHEST, LOWEST = 0, 1, 2, 3, 4
N_STATE = 5


@jit
def run_epoch(
    order, n_active, row, side, price, soft, alpha, square, data, columns, starts, w, state
):
    """One epoch over the first `n_active` variables of `order`; returns how many are left, and the
    violation.

    Variable v is a piece of row[v] with alpha[v] in [0, price[v]] and soft[v] alpha[v]^2 / 2 in its
    objective; w and state[IMBALANCE] follow alpha. A variable at a bound whose gradient is past
    those of the last epoch goes to the end of `order` and is left out, as in LIBLINEAR.
    """
    imbalance = state[IMBALANCE]
    bias = state[BIAS]
    penalty = state[PENALTY]
    old_high = state[HIGHEST]
    old_low = state[LOWEST]
    high = -np.inf
    low = np.inf
    is_dense = len(columns) == 0 and len(data) > 0
    d = np.uint64(len(w))
    k = 0
    while k < n_active:
        v = order[k]
        i = np.uint64(row[v])
        y = side[v]
        a = alpha[v]
        c = price[v]
        first = starts[i]
        last = starts[i + np.uint64(1)]
        score = bias + penalty * imbalance
        if is_dense:
            for j in range(d):
                score += w[j] * data[first + j]
        else:
            for j in range(first, last):
                score += w[columns[j]] * data[j]
        gradient = y * score - 1.0 + soft[v] * a
        projected = gradient
        if a <= 0.0:
            if gradient > old_high:
                n_active -= 1
                order[k], order[n_active] = order[n_active], v
                continue
            projected = min(gradient, 0.0)
        elif a >= c:
            if gradient < old_low:
                n_active -= 1
                order[k], order[n_active] = order[n_active], v
                continue
            projected = max(gradient, 0.0)
        high = max(high, projected)
        low = min(low, projected)
        k += 1
        if abs(projected) > 1e-12:
            new = min(max(a - gradient / (square[i] + penalty + soft[v]), 0.0), c)
            change = y * (new - a)
            if change != 0.0:
                alpha[v] = new
                imbalance += change
                if is_dense:
                    for j in range(d):
                        w[j] += change * data[first + j]
                else:
                    for j in range(first, last):
                        w[columns[j]] += change * data[j]
    state[IMBALANCE] = imbalance
    state[HIGHEST], state[LOWEST] = high, low
    return n_active


@jit
def shuffle(order, n_active, random):
    """Shuffle the active variables in place; random holds n_active numbers in [0, 1)."""
    for k in range(n_active - 1, 0, -1):
        j = int(random[k] * (k + 1))
        order[k], order[j] = order[j], order[k]
