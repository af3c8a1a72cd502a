"""Compiled epochs of dual coordinate descent over CSR rows."""

import numpy as np

from semisvm.kernels.resources import jit

# Places in the state that is carried from epoch to epoch
IMBALANCE, BIAS, PENALTY, HIGHEST, LOWEST = 0, 1, 2, 3, 4
N_STATE = 5


@jit
def run_epoch(order, n_active, row, side, price, alpha, square, data, columns, starts, w, state):
    """One epoch over the first `n_active` variables of `order`; returns how many are left, and the violation.

    Variable v is a piece of row[v] with alpha[v] in [0, price[v]]; w and state[IMBALANCE] follow alpha. A variable at a
    bound whose gradient is past those of the last epoch goes to the end of `order` and is left out, as in LIBLINEAR.
    """
    imbalance, bias, penalty = state[IMBALANCE], state[BIAS], state[PENALTY]
    old_high, old_low = state[HIGHEST], state[LOWEST]
    high, low = -np.inf, np.inf
    k = 0
    while k < n_active:
        v = order[k]
        i, y, a, c = np.uint64(row[v]), side[v], alpha[v], price[v]
        score = bias + penalty * imbalance
        for j in range(starts[i], starts[i + np.uint64(1)]):
            score += w[columns[j]] * data[j]
        gradient = y * score - 1.0
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
        high, low = max(high, projected), min(low, projected)
        k += 1
        if abs(projected) > 1e-12:
            new = min(max(a - gradient / (square[i] + penalty), 0.0), c)
            change = y * (new - a)
            if change != 0.0:
                alpha[v] = new
                imbalance += change
                for j in range(starts[i], starts[i + np.uint64(1)]):
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
