"""Dual coordinate descent with the exact bias, for sparse or wide rows in memory.

    maximize    sum(alpha) - 1/2 |w|^2 - 1/2 sum_v soft_v alpha_v^2     w = sum_v side_v alpha_v x_v
    subject to  0 <= alpha_v <= price_v,   sum_v side_v alpha_v = 0

One variable per piece of price c. The hinge has price c and soft 0, the squared hinge no upper
bound and soft 1 / (2 c). Coordinate descent can't keep the last constraint, so it is moved into the
objective (the augmented Lagrangian): with u = sum side alpha, a penalty s and the multiplier b the
decision value of a row is

    f = <w, x> + b + s u
    alpha_v <- clip(alpha_v - (side_v f - 1 + soft_v alpha_v) / (|x|^2 + s + soft_v), 0, price_v)

and b is raised by s u from time to time. Every few epochs the solution is certified: for the
objective, the best bias for w is a weighted quantile (of the squared hinge, a weighted mean of the
rows short of their margins); for the bound, the sum constraint is repaired on the variables whose
gradient is the smallest, which costs the least (of the squared hinge, by scaling the larger side
down).

Problems that need many epochs, with a large C or correlated columns, are left to Newton's method,
whose exact steps do not depend on either. Dense ones are recognized by the rate at which the gap
falls. With sparse rows this rate says little: descent is given up when it has taken about as long
as exact steps are expected to.
"""

from __future__ import annotations

import time

import numpy as np

from semisvm.dual import Status
from semisvm.primal import Watcher
from semisvm.primal.compiled import (
    BIAS,
    HIGHEST,
    IMBALANCE,
    LOWEST,
    N_STATE,
    PENALTY,
    run_epoch,
    shuffle,
)
from semisvm.primal.problem import PrimalProblem, PrimalSolution, flat_arrays, relative_gap
from semisvm.primal.rows import MemoryRows, prices_of_rows

# Epochs before the first certificate, and the most between two.
FIRST_CHECK = 4
MOST_EPOCHS_BETWEEN = 16
EPOCHS_PER_MULTIPLIER = 5  # between two changes of the multiplier b
MOST_BIAS_STEPS = 60


def solve_descent(
    problem: PrimalProblem, start: PrimalSolution | None, watcher: Watcher, budget: float = np.inf
) -> PrimalSolution:
    """Solve on rows in memory, from the dual variables of a start where it has some.

    Where more epochs than `budget` are expected to be needed, of sparse rows where they were, it is
    given up, with the status "stalled".
    """
    began = time.perf_counter()
    descent = _CoordinateDescent(problem, start)
    status = descent.run(watcher, budget)
    return PrimalSolution(
        w=descent.best_w,
        bias=descent.best_bias,
        objective=descent.objective,
        bound=descent.bound,
        gap=relative_gap(descent.objective, descent.bound),
        n_iter=watcher.n_iter,
        status=status,
        seconds=time.perf_counter() - began,
        values=descent.rows.scores(descent.best_w) + descent.best_bias,
        beta=descent.beta(),
    )


class _CoordinateDescent:
    """The variables, the rows as arrays, and the best certified point so far."""

    def __init__(self, problem: PrimalProblem, start: PrimalSolution | None):
        rows = problem.rows
        assert isinstance(rows, MemoryRows)
        self.rows, X = rows, rows.X
        self.p, self.q = prices_of_rows(rows, problem.prices)
        positive = np.flatnonzero(self.p > 0)
        negative = np.flatnonzero(self.q > 0)
        self.row = np.concatenate([positive, negative]).astype(np.int32)
        self.side = np.repeat([1.0, -1.0], [len(positive), len(negative)])
        self.is_squared = problem.is_squared
        self.price = np.concatenate([self.p[positive], self.q[negative]])
        self.soft = np.zeros(len(self.row))
        if self.is_squared:
            self.soft = 0.5 / self.price
            self.price = np.full(len(self.row), np.inf)
        self.arrays = flat_arrays(X)
        self.square = rows.square_norms
        self.alpha = np.zeros(len(self.row))
        self.state = np.zeros(N_STATE)
        self.state[PENALTY] = max(
            float(self.square[self.row].mean()) if len(self.row) else 1.0, 1e-12
        )
        if start is not None and start.beta is not None:
            self.alpha = np.clip(self.side * start.beta[self.row], 0.0, self.price)
        self.state[BIAS] = 0.0 if start is None else start.bias
        self.w = self.rows.times(self.beta())
        self.state[IMBALANCE] = float(self.side @ self.alpha)
        self.objective = np.inf
        self.bound = 0.0
        self.best_w = np.zeros(rows.n_features)
        self.best_bias = 0.0

    def beta(self) -> np.ndarray:
        """Signed coefficients, one per row."""
        return np.bincount(self.row, self.side * self.alpha, minlength=self.rows.n_rows)

    def run(self, watcher: Watcher, budget: float) -> Status:
        rng = np.random.default_rng(0)
        order = np.arange(len(self.row), dtype=np.int32)
        n_active = len(order)
        next_check = FIRST_CHECK
        every = FIRST_CHECK
        self.certify()
        state = self.state
        state[HIGHEST], state[LOWEST] = np.inf, -np.inf
        gap = relative_gap(self.objective, self.bound)
        if (ended := watcher.ended(gap)) is not None:
            return ended
        epochs = 0
        try:
            while True:
                shuffle(order, n_active, rng.random(n_active))
                n_active = run_epoch(
                    order,
                    n_active,
                    self.row,
                    self.side,
                    self.price,
                    self.soft,
                    self.alpha,
                    self.square,
                    *self.arrays,
                    self.w,
                    state,
                )
                watcher.n_iter += 1
                epochs += 1
                violation = state[HIGHEST] - state[LOWEST]
                if n_active == 0 or violation <= 0.1 * watcher.tol:
                    n_active = len(order)
                    state[HIGHEST], state[LOWEST] = np.inf, -np.inf
                else:
                    state[HIGHEST] = state[HIGHEST] if state[HIGHEST] > 0 else np.inf
                    state[LOWEST] = state[LOWEST] if state[LOWEST] < 0 else -np.inf
                if epochs % EPOCHS_PER_MULTIPLIER == 0:
                    state[BIAS] += state[PENALTY] * state[IMBALANCE]
                if epochs >= next_check or (
                    watcher.max_iter is not None and watcher.n_iter >= watcher.max_iter
                ):
                    self.certify()
                    before = gap
                    gap = relative_gap(self.objective, self.bound)
                    if (ended := watcher.ended(gap)) is not None:
                        return ended
                    needed = (
                        0.0
                        if self.rows.is_sparse
                        else _epochs_needed(every, before, gap, watcher.tol)
                    )
                    if epochs + needed > budget and epochs > FIRST_CHECK:
                        return Status.STALLED
                    every = min(every + 2, MOST_EPOCHS_BETWEEN)
                    next_check = epochs + every
        except KeyboardInterrupt:
            self.certify()
            return Status.INTERRUPTED

    def certify(self) -> None:
        """Note the objective at w with its best bias, and the bound of the repaired variables."""
        scores = self.rows.scores(self.w)
        find = best_bias_of_squares if self.is_squared else best_bias
        bias = find(scores, self.p, self.q)
        self._propose(self.w, bias, scores)
        alpha = self._scaled() if self.is_squared else self._balanced(scores + bias)
        change = np.bincount(self.row, self.side * (alpha - self.alpha), minlength=self.rows.n_rows)
        v = self.w + self.rows.times(change)
        value = float(alpha.sum()) - 0.5 * float(v @ v) - 0.5 * float(self.soft @ alpha**2)
        self.bound = max(self.bound, value)

    def _propose(self, w: np.ndarray, bias: float, scores: np.ndarray) -> None:
        short = (np.maximum(0, 1 - scores - bias), np.maximum(0, 1 + scores + bias))
        power = 1 + self.is_squared
        losses = self.p @ short[0] ** power + self.q @ short[1] ** power
        objective = 0.5 * float(w @ w) + float(losses)
        if objective < self.objective:
            self.objective = objective
            self.best_w = w.copy()
            self.best_bias = bias

    def _scaled(self) -> np.ndarray:
        """The variables with sum(side alpha) = 0, the larger side scaled down."""
        is_positive = self.side > 0
        total = np.array([self.alpha[~is_positive].sum(), self.alpha[is_positive].sum()])
        factor = np.divide(total.min(), total, out=np.zeros(2), where=total > 0)
        return self.alpha * factor[is_positive.astype(np.intp)]

    def _balanced(self, f: np.ndarray) -> np.ndarray:
        """alpha with sum(side alpha) = 0: the larger side gives up the smallest gradients."""
        alpha = self.alpha.copy()
        excess = float(self.side @ alpha)
        places = np.flatnonzero((self.side == np.sign(excess)) & (alpha > 0))
        gradient = np.abs(1.0 - self.side[places] * f[self.row[places]])
        places = places[np.argsort(gradient, kind="stable")]
        given = np.cumsum(alpha[places])
        n_whole = int(np.searchsorted(given, abs(excess)))
        left = abs(excess) - (given[n_whole - 1] if n_whole else 0.0)
        alpha[places[:n_whole]] = 0.0
        if n_whole < len(places):
            alpha[places[n_whole]] -= left
        return alpha


def _epochs_needed(epochs: int, before: float, gap: float, tol: float) -> float:
    """Epochs to a gap of tol, if each reduces the gap as the last ones did."""
    return epochs * np.log(gap / tol) / max(np.log(before / gap), 1e-12)


def best_bias(scores: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """The bias that minimizes the hinge losses at these scores: where the slope changes sign."""
    positive = np.flatnonzero(p > 0)
    negative = np.flatnonzero(q > 0)
    places = np.concatenate([1 - scores[positive], -1 - scores[negative]])
    if len(places) == 0:
        return 0.0
    price = np.concatenate([p[positive], q[negative]])
    order = np.argsort(places)
    slope = np.cumsum(price[order]) - p[positive].sum()
    return float(places[order[min(int(np.searchsorted(slope, 0.0)), len(order) - 1)]])


def best_bias_of_squares(scores: np.ndarray, p: np.ndarray, q: np.ndarray) -> float:
    """The bias that minimizes the squared hinge losses at these scores, by Newton's method."""
    low = -np.inf
    high = np.inf
    bias = 0.0
    for _ in range(MOST_BIAS_STEPS):
        own_p = np.where(scores + bias < 1, p, 0.0)
        own_q = np.where(scores + bias > -1, q, 0.0)
        weight = float(own_p.sum() + own_q.sum())
        slope = float(own_q @ (1 + scores + bias) - own_p @ (1 - scores - bias))
        if slope == 0 or weight == 0:
            break
        low, high = (bias, high) if slope < 0 else (low, bias)
        step = bias - slope / weight
        if not low < step < high:
            step = 0.5 * (low + high)
        if abs(step - bias) <= 1e-14 * max(1.0, abs(bias)):
            break
        bias = step
    return bias
