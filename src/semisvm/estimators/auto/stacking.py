"""Machines that know their leave-one-out scores, and the weights of an average that come from such scores.

**The least-squares SVM**, and the scores that each labeled row would get had it been left out:

    K        (l, l)  the kernel between the labeled rows
    Y        (l, c)  +1 for the rows of a class, -1 for the others, one column per class
    weight   (l,)    how many rows each row counts for
    price    (l,)    what its error costs
    r                the ridge, times the mean of the diagonal of K

    minimize  sum_i weight_i price_i |Y_i - f(x_i)|^2 + r |w|^2,     f(x) = K(x, .) a + bias

    [[K + diag(r / (weight price)), 1], [1', 0]] [a; bias] = [Y; 0],     H the inverse of that matrix

Without one row of weight 1, the score of row i is Y_i - a_i / H_ii: exact, since nothing in K depends on a label. A row
of weight w > 1 stands for w rows of which one is left out; the inverse of the larger system has the diagonal element
H_ii / w^2 + (1 - 1 / w) price_i / r at each of them, and the coefficients there are a_i / w. A row of weight below 1
is left out as a whole.

**Logistic regression** on columns, with the score 2 p - 1 of the probability p of a class, so that it has the scale of
the others:

    minimize  sum_i weight_i price_i log(1 + exp(-Y_i f(x_i))) + ridge |w|^2 / 2,     f(x) = w'x + bias

Its leave-one-out scores are those of one step of Newton's method from the solution of all rows, in closed form again.

**Does a kernel know anything of the labels?** Had the labels been dealt to the rows at random, the squared error of row
i would be expected to be the variance of the labels times

    spread_i = sum_j (B_ij / H_ii)^2,     B the part of H that belongs to the rows, so that a = B Y

A kernel of structure whose leave-one-out error is above what random labels are expected to give is believed in less,
and not at all where it is a fifth above: its structure has nothing to do with the classes.

**The weights**:

    A_j     (l, c)  the leave-one-out scores of member j on the labeled rows
    Y       (l, c)  what they should be, +1 or -1
    count   (l,)    how much each labeled row counts
    prior   (J,)    the weights where the labels say nothing, positive, with sum 1

    minimize    1/(2 c) sum_i count_i |Y_i - sum_j w_j A_ji|^2 + strength sum_j w_j log(w_j / prior_j)
    subject to  w >= 0,  sum_j w_j = 1

It is strictly convex, and the logarithm keeps every weight positive: Newton's method needs no active set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

MOST_NEWTON_STEPS = 200
SMALLEST_WEIGHT = 1e-100
STACKING_TOL = 1e-10  # of the gap
SUFFICIENT = 1e-4  # of the decrease that the slope promises
MOST_LOGISTIC_STEPS, LONGEST_STEP = 50, 4.0  # of Newton's method, the second in log-odds
MOST_LOGISTIC_DIRECTIONS = 200  # of columns: a bound on the time
SMALLEST_RIDGE = 1e-9  # of logistic regression, for classes that columns can tell apart without error


@dataclass(frozen=True)
class LeastSquaresMachine:
    """Coefficients (l, c), a bias per class (c,), the leave-one-out scores (l, c), and the spread of rows (l,)."""

    coef: np.ndarray
    bias: np.ndarray
    left_out: np.ndarray
    spread: np.ndarray

    def scores(self, kernel: np.ndarray) -> np.ndarray:
        """The scores of rows, (m, c), from their kernel values with the labeled rows, (m, l)."""
        return kernel @ self.coef + self.bias


def fit_least_squares(
    K: np.ndarray, Y: np.ndarray, weight: np.ndarray, price: np.ndarray, *, ridge: float
) -> LeastSquaresMachine:
    """Train the machine of the module's docstring."""
    diagonal = float(weight @ np.diagonal(K) / weight.sum())
    r = ridge * (diagonal if diagonal > 0 else 1.0)
    system = (K + K.T) / 2
    system[np.diag_indices_from(system)] += r / (weight * price)
    inverse = cho_solve(cho_factor(system, overwrite_a=True), np.eye(len(K)), overwrite_b=True)
    sums = inverse.sum(axis=1)
    bias = sums @ Y / sums.sum()
    coef = inverse @ (Y - bias)
    h = np.diagonal(inverse) - sums**2 / sums.sum()
    copies = np.maximum(weight, 1)
    own = (1 - 1 / copies) * price / r  # what the other copies of a row add to its place on the diagonal
    h_copy = h / copies**2 + own
    left_out = Y - coef / copies[:, None] / h_copy[:, None]
    inverse -= np.outer(sums, sums / sums.sum())
    inverse **= 2
    spread = (inverse @ (1 / copies) / copies**2 + own * price / r) / h_copy**2
    return LeastSquaresMachine(coef, bias, left_out, spread)


@dataclass(frozen=True)
class LogisticMachine:
    """Slopes (d, c), a bias per class (c,), and the leave-one-out scores (l, c); the spread is not known, and 0."""

    slopes: np.ndarray
    bias: np.ndarray
    left_out: np.ndarray
    spread: np.ndarray

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """The scores of rows, (m, c)."""
        return np.tanh((rows @ self.slopes + self.bias) / 2)


def fit_logistic(
    rows: np.ndarray, Y: np.ndarray, weight: np.ndarray, price: np.ndarray, *, ridge: float
) -> LogisticMachine:
    """Train logistic regression on the labeled rows, (l, d), in their main directions where there are many columns."""
    U, s, Vt = np.linalg.svd(rows, full_matrices=False)
    U, s, Vt = U[:, :MOST_LOGISTIC_DIRECTIONS], s[:MOST_LOGISTIC_DIRECTIONS], Vt[:MOST_LOGISTIC_DIRECTIONS]
    Z = np.column_stack([U * s, np.ones(len(rows))])
    scale = float((weight * price).mean())
    least = SMALLEST_RIDGE * max(1.0, float(s[0]) ** 2)
    penalty = np.append(np.full(len(s), np.clip(ridge / scale, least, 1 / SMALLEST_RIDGE)), SMALLEST_RIDGE)
    count, own = weight * price / scale, price * np.minimum(weight, 1) / scale  # `own` is what is left out
    slopes, bias, left_out = np.empty((rows.shape[1], Y.shape[1])), np.empty(Y.shape[1]), np.empty_like(Y)
    for k, y in enumerate(Y.T):
        w = np.zeros(Z.shape[1])
        for _ in range(MOST_LOGISTIC_STEPS):
            half = np.tanh(Z @ w / 2)
            gradient = Z.T @ (count * (y - half)) / 2 - penalty * w
            hessian = (Z.T * (count * (1 - half**2) / 4)) @ Z + np.diag(penalty)
            step = np.linalg.solve(hessian, gradient)
            length = float(np.abs(Z @ step).max())
            w += step / max(1.0, length / LONGEST_STEP)
            if length < 1e-8:
                break
        half = np.tanh(Z @ w / 2)
        hessian = (Z.T * (count * (1 - half**2) / 4)) @ Z + np.diag(penalty)
        reach = np.einsum("ij,ji->i", Z, np.linalg.solve(hessian, Z.T))
        without = 1 - np.minimum(reach * own * (1 - half**2) / 4, 1 - 1e-3)
        left_out[:, k] = np.tanh((Z @ w - reach * own * (y - half) / 2 / without) / 2)
        slopes[:, k], bias[k] = Vt.T @ w[:-1], w[-1]
    return LogisticMachine(slopes, bias, left_out, np.zeros(len(rows)))


@dataclass(frozen=True)
class Stacked:
    """Weights (J,), the value of the objective, how many steps were made, and how far it may be from the minimum.

    The gap is a share of the strength where that is above 1.
    """

    weights: np.ndarray
    objective: float
    n_iter: int
    gap: float


def stack(left_out: np.ndarray, Y: np.ndarray, count: np.ndarray, prior: np.ndarray, *, strength: float) -> Stacked:
    """Solve the problem of the module's docstring; `left_out` is (J, l, c)."""
    n_members, _, n_columns = left_out.shape
    by_row = np.sqrt(count / n_columns)[:, None]
    A, target = (left_out * by_row).reshape(n_members, -1), (Y * by_row).ravel()
    G, b = A @ A.T, A @ target

    def objective(w: np.ndarray) -> float:
        return float(w @ G @ w / 2 - b @ w + strength * (w @ np.log(w / prior)))

    w, gap, n_iter = prior.copy(), np.inf, 0
    while n_iter < MOST_NEWTON_STEPS:
        n_iter += 1
        gradient = G @ w - b + strength * (np.log(w / prior) + 1)
        step = _newton_step(G + np.diag(strength / w), gradient)
        decrease = float(-gradient @ step)  # twice what the quadratic model promises
        gap = decrease / 2 / max(1.0, strength)
        if gap <= STACKING_TOL:
            break
        length, before = 1.0, objective(w)
        while objective(_moved(w, length * step)) > before - SUFFICIENT * length * decrease and length > 1e-14:
            length /= 2
        w = _moved(w, length * step)
    return Stacked(w, objective(w) + float(target @ target) / 2, n_iter, max(gap, 0.0))


def _moved(w: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The weights after a step; those that shrink do so by a factor, and stay positive however long it is."""
    moved = np.where(step < 0, w * np.exp(np.minimum(step, 0) / w), w + step)
    moved = np.maximum(moved, SMALLEST_WEIGHT)
    return moved / moved.sum()


def _newton_step(hessian: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The step to the minimum of the quadratic model along which the sum stays the same."""
    n = len(gradient)
    system = np.ones((n + 1, n + 1))
    system[:n, :n], system[n, n] = hessian, 0
    return np.linalg.solve(system, np.append(-gradient, 0))[:n]
