"""Compiled loops over the decision values of rows: losses, dual variables and curvatures of both pieces of each row.

A smoothing mu above 0 is that of the hinge; 0 means the squared hinge, which needs none. With s = 1 - t the shortfall
of a piece and c its price:

    smoothed hinge   alpha = c clip(s / mu, 0, 1)    curvature c / mu where 0 < s < mu    conjugate mu alpha^2 / (2 c)
    squared hinge    alpha = 2 c max(s, 0)           curvature 2 c where s > 0            conjugate alpha^2 / (4 c)

The smoothed loss itself is alpha s - conjugate.
"""

import numpy as np

from semisvm.kernels.resources import jit

# Places in the vector of scalars
LOSS, SMOOTH, TOTAL, CONJUGATE, N_CURVED, N_SCALARS = 0, 1, 2, 4, 6, 7


@jit
def add_pieces(f, p, q, mu, alpha, curvature):
    """Fill alpha (2, m) and curvature (m,); return losses, sums of alpha and of conjugates."""
    scalars = np.zeros(N_SCALARS)
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
                a, curved, conjugate = 2.0 * c * s, 2.0 * c, c * s * s
                scalars[LOSS] += conjugate
            else:
                a, curved = c, 0.0
                if s < mu:
                    a, curved = c * s / mu, c / mu
                conjugate = mu * a * a / (2.0 * c)
                scalars[LOSS] += c * s
            alpha[side, i] = a
            if curved > 0.0:
                curvature[i] += curved
                scalars[N_CURVED] += 1.0
            scalars[SMOOTH] += a * s - conjugate
            scalars[TOTAL + side] += a
            scalars[CONJUGATE + side] += conjugate
    return scalars


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
